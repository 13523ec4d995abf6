"""An index that Python wrote, read by the web package: the same texts in the same order, or a refusal."""

import json

import numpy as np
import pytest

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime import Embedder, Index
from mobilebert_runtime.card import EMBEDDING
from tests.helpers import tiny_tasks

pytestmark = pytest.mark.timeout(600)
TEXTS = [f"Text {i}, “quoted”\u2028 – {'é' * (i % 3)}" for i in range(60)]


@pytest.fixture
def vectors():
    return np.random.default_rng(1).normal(size=(len(TEXTS), 24)).astype(np.float32)


@pytest.fixture
def read(node, vectors, tmp_path):
    queries = np.random.default_rng(2).normal(size=(20, 24)).astype(np.float32)
    file = tmp_path / "queries.json"
    given = {"queries": queries.tolist(), "vectors": vectors.tolist(), "texts": TEXTS, "topK": 7}
    file.write_text(json.dumps(given))
    return queries, lambda folder: node("dist-test/node_index.js", folder, file)


@pytest.mark.parametrize("kind", ["int8", "float16"])
def test_the_same_texts_are_nearest(kind, vectors, read, tmp_path):
    queries, run = read
    index = Index.build(vectors, TEXTS, kind)
    index.save(tmp_path / "index")
    said = run(tmp_path / "index")
    for query, found, built in zip(queries, said["found"], said["built"], strict=True):
        expected = index.nearest(query, 7)
        assert [hit["place"] for hit in found] == [hit.place for hit in expected]
        assert [hit["text"] for hit in found] == [hit.text for hit in expected]
        assert [hit["score"] for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)
        if kind == "int8":
            assert [hit["place"] for hit in built] == [hit.place for hit in expected]


@pytest.mark.parametrize("file", ["vectors.npy", "scales.npy", "texts.jsonl", "index.json", "SHA256SUMS"])
def test_a_damaged_index_is_refused(file, vectors, read, tmp_path):
    Index.build(vectors, TEXTS).save(tmp_path / "index")
    path = tmp_path / "index" / file
    path.write_bytes(path.read_bytes()[:-3])
    _, run = read
    assert file in run(tmp_path / "index")["refused"]


@pytest.fixture
def search(node, tmp_path):
    """An encoder, and what the web package's `search` with its artefact says of an index."""
    artefact = tiny_tasks.write(tmp_path / "artefact", EMBEDDING)
    file = tmp_path / "asked.json"
    file.write_text(json.dumps({"artefact": str(artefact), "texts": TEXTS, "topK": 3}))
    return Embedder.load(artefact), lambda folder: node("dist-test/node_index.js", folder, file)


def test_the_encoder_that_made_an_index_searches_it(search, tmp_path):
    embedder, run = search
    index = embedder.index(TEXTS)
    index.save(tmp_path / "index")
    said = run(tmp_path / "index")
    assert said["encoder"] == embedder.fingerprint
    for text, found, built in zip(TEXTS, said["found"], said["built"], strict=True):
        expected = embedder.search(text, index, 3)
        for hits in (found, built):
            assert hits[0]["place"] == expected[0].place
            assert [hit["score"] for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-5)


@pytest.mark.parametrize(
    ("encoder", "said"), [(None, "does not say what made it"), ("0" * 64, "was made by another artefact")]
)
def test_an_index_of_other_vectors_is_refused(encoder, said, search, tmp_path):
    embedder, run = search
    Index.build(embedder.embed(TEXTS), TEXTS, encoder=encoder).save(tmp_path / "index")
    refusal = run(tmp_path / "index")["refused"]
    assert said in refusal
    assert "build it again" in refusal


@pytest.mark.parametrize("about", [{"format": 2, "encoder": None}, {"encoder": None}, {"format": 1}, []])
def test_what_is_told_of_an_index_is_checked(about, vectors, read, tmp_path):
    Index.build(vectors, TEXTS).save(tmp_path / "index")
    (tmp_path / "index/index.json").write_text(json.dumps(about))
    write_checksums(tmp_path / "index")
    _, run = read
    assert "index.json" in run(tmp_path / "index")["refused"]
