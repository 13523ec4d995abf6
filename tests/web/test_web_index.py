"""An index that Python wrote, read by the web package: the same texts in the same order, or a refusal."""

import json

import numpy as np
import pytest

from mobilebert_runtime import Index

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
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


@pytest.mark.parametrize("file", ["vectors.npy", "scales.npy", "texts.jsonl", "SHA256SUMS"])
def test_a_damaged_index_is_refused(file, vectors, read, tmp_path):
    Index.build(vectors, TEXTS).save(tmp_path / "index")
    path = tmp_path / "index" / file
    path.write_bytes(path.read_bytes()[:-3])
    _, run = read
    assert file in run(tmp_path / "index")["refused"]
