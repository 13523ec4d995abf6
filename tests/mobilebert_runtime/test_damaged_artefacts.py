"""Promise of the runtime: a damaged artefact with corrected checksums is refused, or scores alike.

`make test-slow` prints the counts that docs/reliability.md shows.
"""

import json
import os
import random
import shutil
from collections import Counter

import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export.pipeline.artefact_folder import write_checksums
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


CARDS = [
    ('"threshold": 0.5', '"threshold": NaN', "NaN is not JSON"),
    ('"threshold": 0.5', '"threshold": 5', "threshold 5 is not from 0 to 1"),
    ('"threshold": 0.5', '"threshold": -5', "threshold -5 is not from 0 to 1"),
    ('"threshold": 0.5', '"threshold": true', "'threshold' has the wrong type"),
    ('"temperature": 1.0', '"temperature": Infinity', "Infinity is not JSON"),
    ('"temperature": 1.0', '"temperature": 1e999', "temperature inf is not from"),
    ('"temperature": 1.0', '"temperature": 1e-320', "temperature .* is not from"),
    (
        '"length_shift": null',
        '"length_shift": {"quartiles": [0, 1, 2], "added": [0, 0, 0, 1e9]}',
        "added .* not from",
    ),
    ('"length_shift": null', '"length_shift": {"quartiles": [2, 1, 0], "added": [0, 0, 0, 0]}', "ascending"),
    ('"inputs": [', '"inputs": null, "others": [', "'inputs' has the wrong type"),
    ('"outputs": [', '"outputs": ["x", ', "outputs are not"),
    ('"labels": ["different", "same"]', '"labels": ["same", "same"]', "not all different"),
    ('"labels": ["different", "same"]', '"labels": ["", "same"]', "is not a text"),
    ('"quant": "none"', f'"quant": {"[" * 20_000}', "can't be read as JSON"),
    ('"seq_len": 64', '"seq_len": 100000', "seq_len 100000 is not from 3"),
    ('"minimum_runtime": {}', '"minimum_runtime": {"onnxruntime": "newest"}', "not a version"),
    ('"lowercase": true', '"lowercase": false', "not a cased BERT's WordPiece"),
]


@pytest.mark.parametrize(("old", "new", "says"), CARDS, ids=[new[:40] for _, new, _ in CARDS])
def test_a_card_with_a_field_out_of_range_is_refused_by_its_name(onnx_artefact, tmp_path, old, new, says):
    folder = tmp_path / "damaged"
    shutil.copytree(onnx_artefact, folder)
    text = (folder / "io.json").read_text()
    assert old in text
    (folder / "io.json").write_text(text.replace(old, new))
    write_checksums(folder)
    with pytest.raises(ArtefactError, match=says):
        Matcher.load(folder)


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_a_token_that_the_network_does_not_have_is_refused_when_it_is_met(target, request, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(request.getfixturevalue(f"{target}_artefact"), folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    vocabulary["model"]["vocab"]["beyond"] = len(vocabulary["model"]["vocab"])
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))
    write_checksums(folder)
    with pytest.raises(ArtefactError, match=r"its entries are not those of vocab\.txt"):
        Matcher.load(folder)
    with (folder / "vocab.txt").open("a") as file:
        file.write("beyond\n")
    write_checksums(folder)
    matcher = Matcher.load(folder)
    with pytest.raises(ArtefactError, match="can't run the network"):
        matcher.score([("beyond", "beyond")])
