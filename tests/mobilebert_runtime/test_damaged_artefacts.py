"""Promise of the runtime: a damaged artefact with corrected checksums is refused, or scores alike.

`make test-slow` prints the counts that docs/reliability.md shows.
"""

import os
import random
import shutil
from collections import Counter

import pytest

from android_bench.sample_pairs import PAIRS
from mobilebert_runtime import signature
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.matcher import Matcher
from tests.helpers.artefact_mutations import DECISIONS, Reader, mutate

SMALL, LARGE = 60, 1100  # mutations of each target
SCORED = [list(pair) for pair in PAIRS[:6]]


def tried(artefact, tmp_path, count, public_key=""):
    """Counts of verdicts, and what must not be."""
    reader = Reader(SCORED, public_key)
    counts, wrong = Counter(), []
    folder = tmp_path / "damaged"
    expected = Reader(SCORED)
    before = expected.read(artefact)["scores"]
    expected.close()
    for seed in range(count):
        shutil.copytree(artefact, folder)
        said = mutate(folder, random.Random(seed))
        found = reader.read(folder)
        shutil.rmtree(folder)
        in_model = said.startswith("model bytes")
        verdict = found["verdict"]
        if verdict == "accepted" and found["scores"] != before:
            verdict = "accepted, other scores"
            decision = said.startswith(tuple(f"io.json {name}" for name in DECISIONS))
            if not (in_model or decision) or found["nan"]:
                wrong.append((seed, said, found))
        if verdict in ("hung", "traceback") or (verdict == "crashed" and not in_model):
            wrong.append((seed, said, found))
        counts["model" if in_model else "other files", verdict] += 1
    reader.close()
    return counts, wrong


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_damage_with_corrected_checksums(target, request, tmp_path):
    counts, wrong = tried(request.getfixturevalue(f"{target}_artefact"), tmp_path, SMALL)
    assert not wrong
    assert sum(counts.values()) == SMALL
    assert sum(n for (_, verdict), n in counts.items() if verdict == "refused") > SMALL / 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_much_damage_with_corrected_checksums(target, request, tmp_path, capsys):
    counts, wrong = tried(request.getfixturevalue(f"{target}_artefact"), tmp_path, LARGE)
    with capsys.disabled():
        print(f"\n{target}, {LARGE} mutations, {len(wrong)} wrong")
        for (file, verdict), number in sorted(counts.items()):
            print(f"| {target} | {file} | {verdict} | {number} |")
    assert not wrong


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_no_damage_passes_a_signature(target, request, tmp_path):
    pytest.importorskip("cryptography", reason="not run: no cryptography; the extra `sign` brings it")
    from tests.helpers.minisign_keys import write_keys

    secret, public = write_keys(tmp_path / "keys")
    artefact = tmp_path / "signed"
    shutil.copytree(request.getfixturevalue(f"{target}_artefact"), artefact)
    signature.sign(artefact, secret)
    Matcher.load(artefact, public_key=public)
    for seed in range(SMALL):
        folder = tmp_path / f"damaged-{seed}"
        shutil.copytree(artefact, folder)
        said = mutate(folder, random.Random(seed))
        with pytest.raises(ArtefactError):  # noqa: PT012 (what was accepted is shown)
            Matcher.load(folder, public_key=public)
            pytest.fail(said)
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", os.devnull, f"{os.devnull}/x"])
def test_odd_folder_names_are_refused(name):
    with pytest.raises(ArtefactError, match="no such artefact folder"):
        Matcher.load(name)
