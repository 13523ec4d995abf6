"""The artefact folder: whole or not there, checked file by file, and what its card must say."""

import json
from dataclasses import replace

import pytest

from mobilebert_export.pipeline.artefact_folder import new_folder, write_checksums
from mobilebert_runtime.card import FORMAT, ArtefactCard, Bucket, check_checksums, read_card
from mobilebert_runtime.errors import ArtefactError, OutputError
from tests.helpers.tiny_artefacts import onnx_model, write_artefact


@pytest.fixture
def artefact(tmp_path):
    return write_artefact(tmp_path / "matcher", "onnx", onnx_model())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_folder_appears_whole_at_the_end(tmp_path):
    out = tmp_path / "deep" / "er" / "artefact"
    with new_folder(out, force=False) as building:
        (building / "io.json").write_text("{}")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["io.json"]
    assert [path.name for path in out.parent.iterdir()] == ["artefact"]


def test_an_exception_leaves_nothing_not_even_parents(tmp_path):
    def interrupted():
        with new_folder(tmp_path / "deep" / "artefact", force=False) as building:
            (building / "io.json").write_text("{}")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_refused_and_unchanged(artefact):
    before = contents(artefact)
    with pytest.raises(OutputError, match="--force"), new_folder(artefact, force=False):
        pytest.fail("the block must not run")
    assert contents(artefact) == before


def test_force_replaces_an_artefact_only_when_the_new_one_is_done(artefact):
    before = contents(artefact)
    with pytest.raises(ValueError, match="broken"), new_folder(artefact, force=True):
        raise ValueError("broken")
    assert contents(artefact) == before
    with new_folder(artefact, force=True) as building:
        (building / "io.json").write_text("new")
        assert contents(artefact) == before
    assert contents(artefact) == {"io.json": b"new"}
    assert [path.name for path in artefact.parent.iterdir()] == [artefact.name]


def test_force_never_deletes_what_is_not_an_artefact(tmp_path):
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter1.txt").write_text("years of work")
    for out in (thesis, thesis / "chapter1.txt"):
        with pytest.raises(OutputError, match="not an artefact"), new_folder(out, force=True):
            pytest.fail("the block must not run")
    below_a_file = thesis / "chapter1.txt" / "x"
    with pytest.raises(OutputError, match="is a file"), new_folder(below_a_file, force=False):
        pytest.fail("the block must not run")
    assert (thesis / "chapter1.txt").read_text() == "years of work"


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path):
    out = tmp_path / "artefact"

    def slow():
        with new_folder(out, force=False):
            out.mkdir()
            (out / "theirs").write_text("")

    with pytest.raises(OutputError):
        slow()
    assert [path.name for path in out.iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["artefact"]


@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt", "tokenizer.json"])
def test_a_changed_a_truncated_and_a_missing_file_are_found(artefact, name):
    check_checksums(artefact)
    path = artefact / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtefactError, match="damaged"):
        check_checksums(artefact)
    path.unlink()
    with pytest.raises(ArtefactError, match="missing"):
        check_checksums(artefact)


def test_checksums_are_in_the_format_of_sha256sum_and_cover_every_file(artefact):
    lines = (artefact / "SHA256SUMS").read_text().splitlines()
    assert {line[66:] for line in lines} == {path.name for path in artefact.iterdir()} - {"SHA256SUMS"}
    assert all(line[64:66] == "  " for line in lines)
    (artefact / "SHA256SUMS").write_text("\n".join(line for line in lines if "vocab" not in line))
    with pytest.raises(ArtefactError, match=r"does not list vocab\.txt"):
        check_checksums(artefact)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": FORMAT + 1}, f"format is {FORMAT + 1}"),
        ({"length_shift": {"quartiles": [0.1, 0.2, 0.5]}}, "'added' is missing"),
        ({"length_shift": {"quartiles": [0.1, 0.5, 0.2], "added": [0, 0, 0, 0]}}, "ascending"),
        ({"length_shift": {"quartiles": [0.1, 0.2, 0.5], "added": [0, 0, 0]}}, "3 numbers"),
        ({"target": "coreml"}, "coreml"),
        ({"model_file": "../../etc/passwd"}, "passwd"),
        ({"labels": None}, "wrong type"),
        ({"positive": 2}, "positive 2"),
        ({"temperature": 0}, "temperature"),
        ({"seq_len": "many"}, "wrong type"),
        ({"buckets": [{"seq_len": "many", "signature": None}]}, "wrong type"),
        ({"buckets": 7}, "wrong type"),
        ({"buckets": [{"seq_len": 64}]}, "'signature' is missing"),
        ({"buckets": []}, "buckets of"),
        ({"buckets": [{"seq_len": length, "signature": None} for length in (64, 32)]}, "buckets of"),
        ({"buckets": [{"seq_len": length, "signature": None} for length in (64, 128)]}, "buckets of"),
        ({"inputs": []}, "inputs are not"),
    ],
)
def test_a_card_that_cannot_be_is_refused_with_the_field(artefact, change, says):
    data = json.loads((artefact / "io.json").read_text()) | change
    (artefact / "io.json").write_text(json.dumps(data))
    with pytest.raises(ArtefactError, match=says):
        read_card(artefact)


def test_every_field_of_a_card_is_required(artefact):
    data = json.loads((artefact / "io.json").read_text())
    for name in data:
        (artefact / "io.json").write_text(json.dumps({k: v for k, v in data.items() if k != name}))
        with pytest.raises(ArtefactError):
            read_card(artefact)


def test_the_smallest_bucket_that_holds_a_pair_is_chosen(artefact):
    card = replace(read_card(artefact), buckets=(Bucket(16, "seq_16"), Bucket(64, "seq_64")))
    assert card.seq_len == 64
    assert [card.bucket(tokens).seq_len for tokens in (3, 16, 17, 64, 65)] == [16, 16, 64, 64, 64]


def test_a_card_survives_its_json(artefact):
    card = read_card(artefact)
    assert ArtefactCard.from_json(json.loads(json.dumps(card.to_json())), artefact) == card
    names = [entry["name"] for entry in card.to_json()["inputs"]]
    assert names == ["input_ids", "attention_mask", "token_type_ids"]


def test_no_folder_no_card_and_a_broken_card_say_so(tmp_path, artefact):
    with pytest.raises(ArtefactError, match="no such artefact folder"):
        read_card(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtefactError, match="not an artefact folder"):
        read_card(tmp_path / "empty")
    (artefact / "io.json").write_text('{"format": 1,')
    with pytest.raises(ArtefactError, match="can't be read as JSON"):
        read_card(artefact)
    write_checksums(artefact)
    with pytest.raises(ArtefactError, match="can't be read as JSON"):
        check_checksums(artefact)
