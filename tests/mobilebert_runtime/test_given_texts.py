"""Promise of the runtime: texts are read by position, whatever holds them, or they are refused."""

import warnings

import numpy as np
import pytest

import mobilebert_runtime
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TASKS,
    TOKEN_CLASSIFICATION,
)
from mobilebert_runtime.errors import DataError, UnreadableWarning
from mobilebert_runtime.texts import as_texts, read_as_one
from tests.helpers import tiny_tasks

TEXTS = ["moon", "what is the moon", "age of the moon", "old"]
PAIRS = list(zip(TEXTS, reversed(TEXTS), strict=True))


class Series:
    """A column of pandas as far as we read one: labels of its own, which may be anything."""

    def __init__(self, values, labels):
        self.values, self.labels = list(values), list(labels)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, label):
        return self.values[self.labels.index(label)]

    def __iter__(self):
        return iter(self.values)

    def to_numpy(self):
        found = np.empty(len(self.values), object)
        found[:] = self.values
        return found


class DataFrame(Series):
    """A table of pandas: to iterate over it gives the names of its columns."""

    def __iter__(self):
        return iter(self.labels)

    def to_numpy(self):
        return np.array(self.values, object)


def holders(entries, width):
    """The same entries in everything that has an order."""
    yield list(entries)
    yield tuple(entries)
    yield iter(entries)
    yield (one for one in entries)
    yield dict.fromkeys(range(len(entries)), 0) and dict(enumerate(entries)).values()
    yield Series(entries, reversed(range(len(entries))))
    yield Series(entries, ["x"] * len(entries))
    rows = [[one] if width == 1 else list(one) for one in entries]
    yield DataFrame(rows, ["first", "second"][:width])
    array = np.array(entries)
    yield array
    yield array.astype(object)
    if width == 2:
        yield [list(one) for one in entries]
        yield zip(*zip(*entries, strict=True), strict=True)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("tasks")
    return {task: mobilebert_runtime.load(tiny_tasks.write(root / task, task)) for task in TASKS}


def calls(models):
    """Every method that takes texts, and how many an entry has."""
    matcher, classifier = models[MATCHING], models[CLASSIFICATION]
    yield lambda given: matcher.score(given).tolist(), 2
    yield lambda given: matcher.predict(given).tolist(), 2
    yield lambda given: matcher.logits(given).tolist(), 2
    yield lambda given: matcher.unreadable(given).tolist(), 2
    yield lambda given: matcher.rank(TEXTS[0], given), 1
    for call in (classifier.classify, classifier.scores, classifier.logits):
        yield lambda given, call=call: str(call(given)), classifier.card.texts
    yield models[TOKEN_CLASSIFICATION].tag, 1
    yield models[TOKEN_CLASSIFICATION].entities, 1
    yield models[QUESTION_ANSWERING].answer, 2
    embedder = models[EMBEDDING]
    yield lambda given: embedder.embed(given).tolist(), 1
    yield lambda given: embedder.encode(given).tolist(), 1
    yield lambda given: embedder.search(TEXTS[0], embedder.index(given), 2), 1


def test_every_method_reads_every_sequence_by_position(models):
    for call, width in calls(models):
        entries = TEXTS if width == 1 else PAIRS
        expected = call(list(entries))
        for given in holders(entries, width):
            assert call(given) == expected, type(given)


NO_SEQUENCES = [
    "moon",
    b"moon",
    {"moon": 1},
    {"moon"},
    frozenset({"moon"}),
    7,
    None,
    np.array("moon"),
    np.array([1.0, np.nan]),
    ["moon", float("nan")],
    ["moon", None],
    [b"moon"],
    ["\ud83d"],
    [["moon"], ["old", "x", "y"]],
    DataFrame([["moon", "old", "x"]], ["a", "b", "c"]),
    DataFrame([[1]], ["a"]),
    np.array([[["moon"]]]),
]


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("given", NO_SEQUENCES, ids=lambda given: f"{given!r:.20}")
def test_what_has_no_order_or_is_no_text_is_refused(given, width):
    with pytest.raises(DataError):
        as_texts(given, width)


def test_columns_of_pandas_itself_are_read_by_position():
    pandas = pytest.importorskip("pandas", reason="not run: no pandas; the toolkit does without")
    column = pandas.Series(TEXTS, index=[3, 2, 1, 0])
    assert as_texts(column, 1) == TEXTS
    assert as_texts(column.astype("string"), 1) == TEXTS
    frame = pandas.DataFrame(PAIRS, columns=["b", "a"])
    assert as_texts(frame, 2) == PAIRS
    assert as_texts(frame[["b"]], 1) == TEXTS
    with pytest.raises(DataError, match="entry 1"):
        as_texts(frame, 1)
    with pytest.raises(DataError, match="entry 2 is nan"):
        as_texts(pandas.Series(["moon", np.nan], dtype=object), 1)


def test_encode_and_predict_take_one_or_many(models):
    embedder, matcher = models[EMBEDDING], models[MATCHING]
    vectors = embedder.embed(TEXTS)
    assert embedder.encode(TEXTS[1]).shape == (embedder.size,)
    np.testing.assert_array_equal(embedder.encode(TEXTS[1]), vectors[1])
    np.testing.assert_array_equal(embedder.encode(TEXTS), vectors)
    lengths = np.linalg.norm(embedder.encode(TEXTS, normalize_embeddings=True), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-6)
    scores = matcher.score(PAIRS)
    for pair in (PAIRS[0], list(PAIRS[0])):
        found = matcher.predict(pair)
        assert (found, found.shape) == (scores[0], ())
    np.testing.assert_array_equal(matcher.predict(PAIRS), scores)


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("moon 👍", "moon 👎", True),
        ("I feel 😀", "I feel 😡", True),
        ("ฉันรักคุณ", "ฉันเกลียดคุณ", True),
        ("x" * 200, "y" * 200, True),
        ("moon " * 100, "moon " * 100 + "old", True),
        ("\u200b", "\u200d", True),
        ("moon 👍", "moon 👍", False),
        ("moon 👍", "Moon  👍", False),
        ("Résumé of the moon", "resume of the moon", False),
        ("moon 👍", "old 👎", False),
        ("moon", "old", False),
    ],
)
def test_different_texts_of_equal_tokens_are_never_called_the_same(a, b, alike, models):
    matcher = models[MATCHING]
    assert matcher.unreadable([(a, b), (b, a), (a, a)]).tolist() == [alike, alike, False]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scores = matcher.score([(a, a), (a, b)])
        both = matcher.score([(a, b)], symmetric=True)
        matcher.rank(a, [b])
    assert {warning.category for warning in said} == ({UnreadableWarning} if alike else set())
    assert {warning.filename for warning in said} == ({__file__} if alike else set())
    if alike:
        assert float(scores[1]) < matcher.card.threshold
        assert float(both[0]) < matcher.card.threshold
        assert "entry 2: " in str(said[0].message)


def test_a_text_of_the_index_that_is_read_as_the_query_is_said(models):
    embedder = models[EMBEDDING]
    with pytest.warns(UnreadableWarning, match="as the same tokens"):
        embedder.search("moon 👍", embedder.index(["moon 👎", "old"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedder.search("moon 👍", embedder.index(["Moon 👍", "old"]))


@pytest.mark.parametrize("pair", [("", ""), ("", "moon"), ("moon", " \t\n"), ("\u3000", "moon")])
def test_empty_texts_of_a_pair_are_refused_as_on_the_command_line(pair, models):
    matcher = models[MATCHING]
    for call in (matcher.score, matcher.logits, matcher.predict, matcher.unreadable):
        with pytest.raises(DataError, match=r"entry 2: its (first|second) text is empty"):
            call([("moon", "old"), pair])


@pytest.mark.parametrize("query", ["", " \t"])
def test_an_empty_query_is_called_the_query(query, models):
    for texts in (["moon", "old"], []):
        with pytest.raises(DataError, match=r"^the query is empty; give a text$"):
            models[MATCHING].rank(query, texts)


def test_read_as_one_forgives_what_tokenizers_drop_and_nothing_else():
    assert read_as_one("Straße  №1", "STRASSE no1")
    assert read_as_one("❤️ it", "❤ it")
    assert not read_as_one("กา", "กี")
    assert not read_as_one("2", "3")


def test_the_package_says_what_it_is(models):
    assert mobilebert_runtime.__version__.count(".") == 2
    assert set(mobilebert_runtime.__all__) <= set(dir(mobilebert_runtime))
    assert all(getattr(mobilebert_runtime, name) is not None for name in mobilebert_runtime.__all__)
    index = models[EMBEDDING].index(TEXTS)
    assert len(index) == len(TEXTS)
    assert "4 texts" in repr(index)
    for task, model in models.items():
        assert type(model).__name__ in repr(model)
        assert task in repr(model)
