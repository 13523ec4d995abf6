"""Promise of the index: what was saved is what is searched, and a damaged folder is refused."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime import ArtefactError, Embedder, Index, Matcher
from mobilebert_runtime.card import EMBEDDING
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.errors import DataError, ModelError, OutputError
from mobilebert_runtime.files import file_sha256
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import tiny_tasks

TEXTS = ["plain", "two\nlines", "\u2028odd\x85", "é" * 300, "", "last"]


def vectors(count=6, size=16, seed=0):
    return np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)


@pytest.mark.parametrize("kind", ["int8", "float16"])
def test_an_index_survives_its_folder(tmp_path, kind):
    made = Index.build(vectors(), TEXTS, kind)
    made.save(tmp_path / "index")
    read = Index.load(tmp_path / "index")
    assert read.texts == TEXTS
    assert read.vectors.dtype == kind
    query = vectors(1, seed=1)[0]
    assert read.nearest(query, 4) == made.nearest(query, 4)
    with pytest.raises(OutputError, match="exists"):
        made.save(tmp_path / "index")
    made.save(tmp_path / "index", force=True)


@pytest.mark.parametrize(("kind", "near"), [("int8", 0.02), ("float16", 0.002)])
def test_scores_are_cosines_whatever_the_blocks(kind, near, monkeypatch):
    rows, query = vectors(1000), vectors(1, seed=1)[0]
    texts = [str(i) for i in range(1000)]
    hits = Index.build(rows, texts, kind).nearest(query, 1000)
    expected = rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    np.testing.assert_allclose([hit.score for hit in hits], expected[[hit.place for hit in hits]], atol=near)
    assert sorted(hit.place for hit in hits) == list(range(1000))
    monkeypatch.setattr("mobilebert_runtime.vector_index.BLOCK", 7)
    again = Index.build(rows, texts, kind).nearest(query, 1000)
    np.testing.assert_allclose([hit.score for hit in again], [hit.score for hit in hits], atol=1e-5)


def test_what_has_no_direction_or_no_text_is_refused():
    rows = vectors()
    with pytest.raises(DataError, match="5 texts for 6 vectors"):
        Index.build(rows, TEXTS[:5])
    with pytest.raises(DataError, match="'int4' is unknown"):
        Index.build(rows, TEXTS, "int4")
    rows[2] = 0
    with pytest.raises(DataError, match="no direction"):
        Index.build(rows, TEXTS)
    index = Index.build(vectors(), TEXTS)
    with pytest.raises(DataError, match="no direction"):
        index.nearest(np.zeros(16, np.float32))
    with pytest.raises(DataError, match="1 or more"):
        index.nearest(rows[0], 0)
    with pytest.raises(DataError, match=r"has the shape \(15,\); the texts' have \(16,\)"):
        index.nearest(rows[0][:15])


def test_an_index_of_another_encoder_or_of_none_is_refused(tmp_path):
    texts = ["moon", "what is the moon"]
    mine, same = (tiny_tasks.write(tmp_path / name, EMBEDDING) for name in ("mine", "same"))
    folders = {
        "size": tiny_tasks.write(tmp_path / "size", EMBEDDING, embedding=Embedding(8, normalized=False)),
        "tokenizer": tiny_tasks.write(tmp_path / "tokenizer", EMBEDDING, "roberta"),
        "model": shutil.copytree(mine, tmp_path / "model"),
        "card": shutil.copytree(mine, tmp_path / "card"),
    }
    with (folders["model"] / "model.onnx").open("ab") as file:
        file.write(b"\xa2\x06\x01x")  # a field of protobuf that nobody reads
    card = json.loads((folders["card"] / "io.json").read_text()) | {"quant": "int8"}
    (folders["card"] / "io.json").write_text(json.dumps(card))
    for name in ("model", "card"):
        write_checksums(folders[name])
    embedder = Embedder.load(mine)
    embedder.index(texts).save(tmp_path / "index")
    index = Index.load(tmp_path / "index")
    assert index.encoder == embedder.fingerprint
    assert [hit.place for hit in embedder.search("moon", index)] == [0, 1]
    assert Embedder.load(same).search("moon", index) == embedder.search("moon", index)
    for name, folder in folders.items():
        other = Embedder.load(folder)
        with pytest.raises(ArtefactError, match=r"made by another artefact.*build it again"):
            other.search("moon", index)
        assert other.fingerprint != embedder.fingerprint, name
    with pytest.raises(ArtefactError, match=r"does not say.*build it again"):
        embedder.search("moon", Index.build(embedder.embed(texts), texts))


def test_a_fingerprint_is_of_the_checksum_lines_of_what_makes_the_answers(tmp_path):
    folder = tiny_tasks.write(tmp_path / "a", EMBEDDING)
    lines = (folder / "SHA256SUMS").read_text().splitlines(keepends=True)
    used = [line for line in lines if line[66:].strip() in ("io.json", "model.onnx", "tokenizer.json")]
    assert len(used) == 3
    digest = hashlib.sha256("".join(sorted(used, key=lambda line: line[66:])).encode()).hexdigest()
    assert Embedder.load(folder).fingerprint == digest


def test_no_cosine_is_above_one():
    for kind in ("int8", "float16"):
        for seed in range(20):
            rows = vectors(50, 384, seed)
            index = Index.build(rows, ["x"] * 50, kind)
            scores = [hit.score for row in rows for hit in index.nearest(row, 1)]
            assert max(scores) <= 1
            assert min(scores) > 0.99


def test_saving_by_force_deletes_an_index_and_nothing_else(tmp_path):
    index = Index.build(vectors(), TEXTS)
    mine = tmp_path / "photos"
    mine.mkdir()
    (mine / "holiday.jpg").write_bytes(b"x")
    index.save(tmp_path / "index")
    (tmp_path / "index" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "file").write_text("mine")
    for name in ("photos", "index", "link", "file"):
        with pytest.raises(OutputError, match="is not replaced; choose another name"):
            index.save(tmp_path / name, force=True)
    assert (mine / "holiday.jpg").read_bytes() == b"x"
    assert (tmp_path / "index" / "notes.txt").exists()
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    index.save(tmp_path / "empty", force=True)
    assert len(Index.load(tmp_path / "empty")) == len(TEXTS)


def damaged(folder, name, content):
    """Change a file and correct its checksum."""
    if content is None:
        (folder / name).unlink()
    elif isinstance(content, np.ndarray):
        np.save(folder / name, content, allow_pickle=content.dtype == object)
    else:
        (folder / name).write_bytes(content)
    files = [path for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS"]
    (folder / "SHA256SUMS").write_text("".join(f"{file_sha256(one)}  {one.name}\n" for one in files))


DAMAGE = [
    ("vectors.npy", None, "does not list vectors.npy"),
    ("index.json", None, "does not list index.json; build the index again"),
    ("index.json", b'{"format": 2, "encoder": null}', "another format"),
    ("index.json", b'{"format": 1}', "'encoder' is missing"),
    ("index.json", b'{"format": 1, "encoder": 5}', "wrong type"),
    ("index.json", b"[]", "not an object"),
    ("vectors.npy", b"", "damaged"),
    ("vectors.npy", b"\x93NUMPY\x01\x00junk", "damaged"),
    ("vectors.npy", vectors(), "no array of int8 or float16"),
    ("vectors.npy", np.array([{}], object), "damaged"),
    ("vectors.npy", np.zeros(6, np.int8), "no array of int8 or float16"),
    ("vectors.npy", np.zeros((5, 16), np.int8), "6 texts for 5 vectors"),
    ("scales.npy", None, "does not list scales.npy"),
    ("scales.npy", np.zeros(5, np.float32), "5 scales for 6 vectors"),
    ("scales.npy", np.full(6, np.nan, np.float32), "not finite"),
    ("texts.jsonl", b'"one"\n', "1 texts for 6 vectors"),
    ("texts.jsonl", b"[1]\n" * 6, "not a text"),
    ("texts.jsonl", b"\xff\n" * 6, "can't be read"),
    ("texts.jsonl", b"{\n" * 6, "damaged"),
]


@pytest.mark.parametrize(("name", "content", "says"), DAMAGE)
def test_a_damaged_index_is_refused_though_its_checksums_are_right(tmp_path, name, content, says):
    folder = tmp_path / "index"
    Index.build(vectors(), TEXTS).save(folder)
    damaged(folder, name, content)
    with pytest.raises(ArtefactError, match=says):
        Index.load(folder)


def test_a_changed_byte_is_found_by_its_checksum(tmp_path):
    folder = tmp_path / "index"
    Index.build(vectors(), TEXTS).save(folder)
    (folder / "texts.jsonl").write_text(json.dumps("x") + "\n")
    with pytest.raises(ArtefactError, match=r"texts\.jsonl: damaged"):
        Index.load(folder)
    with pytest.raises(ArtefactError, match="no such index"):
        Index.load(tmp_path / "nowhere")


@pytest.mark.parametrize("load", [Index.load, PairTokenizer.load, Matcher.load])
def test_a_name_that_is_too_long_for_a_file_is_one_that_is_not_there(load):
    with pytest.raises((ArtefactError, ModelError), match="no such"):
        load("x" * 300)
