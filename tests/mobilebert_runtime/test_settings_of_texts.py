"""Promise: prompts, similarities and the side where a text is cut are as the libraries have them."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import EMBEDDING
from mobilebert_runtime.card_parts import SIMILARITIES, Embedding
from mobilebert_runtime.errors import ArtefactError, DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_runtime.vector_index import Index
from tests.helpers import tiny_tasks, tokenizer_kinds
from tests.helpers.texts import fuzzed_lines

PROMPTS = {"query": "query: ", "document": "", "task": "Instruct: find it\nText: "}
TEXTS = [line for line in fuzzed_lines(60, seed=8) if line.strip()]


def embedder(folder, **settings):
    return load(tiny_tasks.write(folder, EMBEDDING, "roberta", embedding=Embedding(24, False, **settings)))


def test_prompts_stand_before_texts_by_name_and_by_default(tmp_path):
    plain = embedder(tmp_path / "plain")
    model = embedder(tmp_path / "model", prompts=PROMPTS, default_prompt="task")
    assert model.prompts == PROMPTS
    for prompt, text in PROMPTS.items():
        expected = plain.embed([text + one for one in TEXTS])
        np.testing.assert_array_equal(model.embed(TEXTS, prompt=prompt), expected)
        np.testing.assert_array_equal(model.encode(TEXTS, prompt_name=prompt), expected)
    np.testing.assert_array_equal(model.embed(TEXTS), model.embed(TEXTS, prompt="task"))
    np.testing.assert_array_equal(model.encode_query(TEXTS), model.embed(TEXTS, prompt="query"))
    np.testing.assert_array_equal(model.encode_document(TEXTS[0]), plain.embed(TEXTS[:1])[0])
    with pytest.raises(DataError, match="the model has no prompt 'question'; it has query, document, task"):
        model.embed(TEXTS, prompt="question")
    with pytest.raises(DataError, match="no prompt 'query'; it has none"):
        plain.embed(TEXTS, prompt="query")


def test_a_search_uses_the_prompts_of_queries_and_documents(tmp_path):
    model = embedder(tmp_path / "model", prompts={"query": "q ", "passage": "p "})
    index = model.index(TEXTS, "float16")
    expected = Index.build(model.embed(TEXTS, prompt="passage"), TEXTS, "float16", model.fingerprint).nearest(
        model.embed([TEXTS[3]], prompt="query")[0], 5
    )
    assert [hit.place for hit in model.search(TEXTS[3], index, 5)] == [hit.place for hit in expected]


@pytest.mark.parametrize("kind", ["int8", "float16"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_search_ranks_as_sentence_transformers(similarity, kind, tmp_path):
    from sentence_transformers.util import SimilarityFunction

    model = embedder(tmp_path / "model", similarity=similarity)
    vectors = model.embed(TEXTS)
    assert np.ptp(np.linalg.norm(vectors, axis=1)) > 1  # so that a dot product is no cosine
    index = model.index(TEXTS, kind)
    index.save(tmp_path / "index")
    index = Index.load(tmp_path / "index")
    theirs = SimilarityFunction.to_similarity_fn(similarity)(vectors, vectors).numpy()
    scale = np.abs(theirs).max()
    for row in range(0, len(TEXTS), 7):
        hits = index.nearest(vectors[row], len(TEXTS))
        found = np.array([hit.score for hit in sorted(hits, key=lambda hit: hit.place)])
        np.testing.assert_allclose(found, theirs[row], atol=0.02 * scale)
        near = model.search(TEXTS[row], index, 1)[0]
        assert theirs[row][near.place] >= theirs[row].max() - 0.02 * scale


def test_an_index_says_how_it_is_compared(tmp_path):
    model = embedder(tmp_path / "model", similarity="dot")
    model.index(TEXTS).save(tmp_path / "index")
    path = tmp_path / "index" / "index.json"
    about = json.loads(path.read_text())
    assert about["similarity"] == "dot"
    for wrong, says in (
        ({"similarity": "angle"}, "'angle' is not known"),
        ({"norm": 1}, "'norm' is not known"),
    ):
        path.write_text(json.dumps(about | wrong))
        write_checksums(path.parent)
        with pytest.raises(ArtefactError, match=says):
            Index.load(path.parent)
    with pytest.raises(DataError, match="similarity 'angle' is unknown"):
        Index.build(np.ones((1, 3), np.float32), ["a"], similarity="angle")
    with pytest.raises(DataError, match="above 65504; take the kind int8"):
        Index.build(np.full((1, 3), 1e5, np.float32), ["a"], "float16", similarity="dot")


@pytest.mark.parametrize("name", tokenizer_kinds.KINDS)
def test_texts_lose_their_first_tokens_where_the_card_says_so(name, tmp_path):
    folder = tokenizer_kinds.write(name, tmp_path / name)
    tokenizer = PairTokenizer.read(folder / "tokenizer.json", truncation_side="left")
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_padding()
    pairs = [*zip(TEXTS, reversed(TEXTS), strict=True), ("moon " * 99, "a b"), ("a", "moon " * 99)]
    for length in (5, 12, 30):
        theirs.enable_truncation(length, direction="left")
        for one, (ids, types) in zip(pairs, tokenizer.ids(pairs, length), strict=True):
            assert (ids, types) == (theirs.encode(*one).ids, theirs.encode(*one).type_ids)
        for text, (ids, _) in zip(TEXTS, tokenizer.ids(TEXTS, length), strict=True):
            assert ids == theirs.encode(text).ids


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"similarity": "angle"}, "similarity 'angle' is none of cosine, dot, euclidean, manhattan"),
        ({"prompts": {"a": "b"}, "default_prompt": "c"}, "default_prompt 'c' is none of the prompts"),
        ({"prompts": {"": "b"}}, "needs a name of 1 to 64"),
        ({"prompts": {"a": "b" * 4001}}, "at most 4000"),
        ({"prompts": {str(i): "b" for i in range(65)}}, "at most 64"),
    ],
)
def test_settings_of_vectors_that_can_not_be_are_refused(settings, says):
    with pytest.raises(ArtefactError, match=says):
        Embedding(24, False, **settings)
