#!/usr/bin/env bash
# From labelled pairs to a verified int8 matcher of your own.
#
#   bash examples/train_on_your_pairs.sh DATA OUT [flags of `mobilebert ship`]
#
# DATA holds train.tsv, dev.tsv and test.tsv with the columns label (0 or 1), text_a, text_b. An interrupted run
# resumes when the same command is given again.
set -euo pipefail
data=$1 out=$2
shift 2

mobilebert audit "$data/train.tsv"                                          # does length give the label away?
mobilebert ship --data "$data" --out "$out" --matcher matcher-s "$@"        # teacher, student, int8, figures
mobilebert match --artefact "$out"/matcher-s-*/ "How old is the Moon?" "What is the age of the Moon?"
