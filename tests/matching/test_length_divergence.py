"""Eq. (1)–(4) against a transcription with exact fractions, and the categories against numpy's quartiles."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilebert_matching.length_bias import length_divergence as ld

WORDS = st.lists(st.sampled_from(["a", "bc", "d-e", "ß", "語", "'s"]), min_size=1, max_size=12)
SPACE = st.sampled_from([" ", "  ", "\t", "\u00a0", "\u2003", "\u3000", "\x1c", "\x85", " \r "])
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(1, 9), st.integers(1, 9)),
    min_size=1,
    max_size=40,
)


def eq1(l1, l2):
    return Fraction(abs(l1 - l2), min(l1, l2))


def eq3(rows):
    """Rows of one query as (label, words in Q, words in d), as the paper writes it."""
    means = []
    for sign in (1, 0):
        of_sign = [eq1(lq, ldoc) for label, lq, ldoc in rows if label == sign]
        if not of_sign:
            return None
        means.append(sum(of_sign) / len(of_sign))
    if 0 in means:
        return None
    return abs(means[0] - means[1]) / min(means)


@given(WORDS, st.data())
def test_words_are_runs_without_white_space(words, data):
    text = "".join(data.draw(SPACE) + word for word in words) + data.draw(SPACE)
    assert ld.word_counts([text]).tolist() == [len(words)]


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 500)), min_size=1))
def test_pairwise(lengths):
    a, b = np.array(lengths).T
    expected = [eq1(x, y) for x, y in lengths]
    found = ld.pairwise(a, b)
    assert found.tolist() == [float(value) for value in expected]
    np.testing.assert_array_equal(found, ld.pairwise(b, a))
    assert len(set(expected)) == len(set(found.tolist()))  # ties stay ties


def test_table_1_of_the_paper():
    np.testing.assert_allclose(ld.pairwise([10, 15], [22, 19]), [1.2, 4 / 15])


def test_pairwise_refuses_an_empty_text():
    with pytest.raises(ld.DataError, match="pair 1 has a text without words"):
        ld.pairwise([3, 0], [2, 5])


@settings(deadline=None)
@given(ROWS, st.integers(1, 7))
def test_listwise(rows, cut):
    groups = [f"q{query}" for query, *_ in rows]
    labels = np.array([label for _, label, *_ in rows])
    divergence = ld.pairwise([lq for *_, lq, _ in rows], [l_doc for *_, l_doc in rows])
    found = ld.listwise(divergence, labels, groups)
    for group, value in zip(groups, found, strict=True):
        exact = eq3([(label, lq, ldoc) for query, label, lq, ldoc in rows if f"q{query}" == group])
        assert value == pytest.approx(
            ld.LARGE_NUMBER if exact is None else float(exact), rel=1e-12, abs=1e-12
        )
    parts = ld.QueryLists()
    for start in range(0, len(rows), cut):
        here = slice(start, start + cut)
        parts.add(groups[here], labels[here], divergence[here])
    firsts = [groups.index(group) for group in dict.fromkeys(groups)]
    np.testing.assert_array_equal(parts.divergence(), found[firsts])  # bit for bit, however it is cut
    assert parts.counts.sum() == len(rows)


def test_the_large_number():
    # No relevant document; no irrelevant one; a mean of zero; both means zero; a query with a value.
    rows = [
        *[("none", 0, 1.0), ("none", 0, 2.0)],
        *[("only", 1, 1.0)],
        *[("zero", 1, 0.0), ("zero", 0, 1.0)],
        *[("both", 1, 0.0), ("both", 0, 0.0)],
        *[("fine", 1, 1.0), ("fine", 0, 3.0), ("fine", 0, 5.0)],
    ]
    groups, labels, divergence = (list(column) for column in zip(*rows, strict=True))
    lists = ld.QueryLists()
    lists.add(groups, np.array(labels), np.array(divergence))
    assert lists.divergence().tolist() == [ld.LARGE_NUMBER] * 4 + [3.0]


@given(
    st.lists(st.tuples(st.sampled_from([0, 0.1, 0.25, 1 / 3, 0.5, 1, 7, 1e9]), st.integers(0, 6)), min_size=1)
)
def test_quartiles_of_counted_values(counted):
    values, counts = (np.array(column) for column in zip(*counted, strict=True))
    if not counts.sum():
        with pytest.raises(ld.DataError, match="no examples"):
            ld.Quartiles.of(values, counts)
        return
    expected = np.quantile(np.repeat(values, counts), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(ld.Quartiles.of(values, counts).as_list(), expected, rtol=1e-12)


def test_a_tie_belongs_to_the_category_below():
    cuts = ld.Quartiles(0.1, 0.2, 0.3)
    assert cuts.category([0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.31]).tolist() == [1, 1, 2, 2, 3, 3, 4]


def test_all_values_equal_are_all_in_the_first_category():
    assert ld.Quartiles.of([2.0] * 9).category([2.0] * 9).tolist() == [1] * 9


def test_a_query_without_a_value_is_in_the_last_category_even_when_most_are():
    values = np.array([0.1, ld.LARGE_NUMBER, ld.LARGE_NUMBER, ld.LARGE_NUMBER])
    assert ld.Quartiles.of(values).category(values).tolist() == [1, 4, 4, 4]


def test_quarters_are_quarters_without_ties():
    values = np.random.default_rng(0).random(400)
    assert np.bincount(ld.Quartiles.of(values).category(values)).tolist() == [0, 100, 100, 100, 100]
