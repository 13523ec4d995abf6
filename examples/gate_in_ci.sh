#!/usr/bin/env bash
# Fail a build whose artefact is slower or larger than the base's.
#
#   bash examples/gate_in_ci.sh BASE CANDIDATE [flags of `mobilebert gate`]
#
# Both artefacts must be exported before and are measured in one run on one machine; times from different runs or
# machines are never compared. Exit code: 0 no slowdown of 8%, 1 slower, larger or inconclusive, 2 bad input.
# A busy machine is inconclusive: it gets one more try.
set -euo pipefail
base=$1 candidate=$2
shift 2

verdict() { python -c 'import json, sys; print(json.load(open("gate.json"))["gate"]["verdict"])'; }

for _ in 1 2; do
    code=0
    mobilebert gate "$base" "$candidate" --out gate --force "$@" || code=$?
    if [ "$code" -ne 1 ] || [ "$(verdict)" != inconclusive ]; then exit "$code"; fi
done
exit 1
