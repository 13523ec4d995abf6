"""Promise of `mobilebert invariances`: a perturbation changes what it says, the figures are what they say."""

import itertools
import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilebert_export.command_line.program import main
from mobilebert_matching.evaluation.perturbations import (
    PADDING,
    PERTURBATIONS,
    Perturbation,
    invariances,
    perturb,
    quantile_interval,
    sample,
)
from mobilebert_matching.length_bias.length_divergence import word_counts
from mobilebert_runtime.errors import DataError
from tests.helpers.tiny_artefacts import PAIRS, onnx_model, write_artefact

BY_NAME = {one.name: one for one in PERTURBATIONS}
TEXTS = st.text(alphabet="abcDEF éß?!',.-“0 ", max_size=40).filter(lambda text: text.split())
PAIR_LISTS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4)


def changed(pairs, name, seed=0):
    """(before, after) of every pair."""
    return list(zip(pairs, perturb(pairs, BY_NAME[name], seed), strict=True))


def differing(before, after):
    """The sides that a perturbation of one text touched; at most one."""
    sides = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(sides) <= 1
    return sides


@settings(deadline=None, max_examples=60)
@given(PAIR_LISTS, st.integers(0, 99))
def test_each_perturbation_changes_what_it_says_and_nothing_else(pairs, seed):
    for (a, b), after in changed(pairs, "swap", seed):
        assert after == (b, a)
    for words in (1, 3):
        for before, after in changed(pairs, f"pad {words}", seed):
            ((old, new),) = differing(before, after)
            assert new == " ".join([old, *PADDING[:words]])
    for (a, b), after in changed(pairs, "pad both", seed):
        assert after == (f"{a} please thanks kindly", f"{b} please thanks kindly")
    for name, change in (("lower case", str.lower), ("upper case", str.upper)):
        assert all(after == tuple(map(change, before)) for before, after in changed(pairs, name, seed))
    for before, after in changed(pairs, "more punctuation", seed):
        assert after == tuple(text + "." for text in before)
    for before, after in changed(pairs, "no punctuation", seed):
        for old, new in zip(before, after, strict=True):
            assert new in (old, "".join(c for c in old if unicodedata.category(c)[0] != "P"))
            assert new.split()


@settings(deadline=None, max_examples=120)
@given(PAIR_LISTS, st.integers(0, 99))
def test_a_typo_touches_the_inside_of_one_word_of_one_text(pairs, seed):
    for before, after in changed(pairs, "letters swapped", seed):
        for old, new in differing(before, after):
            places = [i for i, (x, y) in enumerate(zip(old, new, strict=True)) if x != y]
            i, j = places
            assert j == i + 1
            assert (old[i], old[j]) == (new[j], new[i])
            assert all(old[k].isalpha() for k in (i - 1, i, j, j + 1))  # inside a word
    for before, after in changed(pairs, "letter dropped", seed):
        for old, new in differing(before, after):
            drops = [i for i in range(len(old)) if old[:i] + old[i + 1 :] == new]
            assert drops
            assert any(all(old[k].isalpha() for k in (i - 1, i, i + 1)) for i in drops)


def test_a_typo_is_made_wherever_a_word_allows_it():
    pairs = [("category cat lunar?", "category cat lunar?")] * 40
    for name in ("letters swapped", "letter dropped"):
        found = [differing(before, after) for before, after in changed(pairs, name)]
        assert sum(map(len, found)) == 40
        assert {old for ((old, _),) in filter(None, found)} == {"category cat lunar?"}
        assert all(new.split()[1] == "cat" for ((_, new),) in filter(None, found))
        assert len({new for ((_, new),) in filter(None, found)}) > 3
        assert not any(differing(*both) for both in changed([("a bc def", "x1y2z3 ?")], name))


def test_a_change_depends_on_seed_and_row_alone():
    pairs = [(f"{a} again", b) for a, b in PAIRS]
    for one in PERTURBATIONS:
        first = perturb(pairs, one, seed=5)
        assert first == perturb(pairs, one, seed=5)
        others = [("other words here", "more of them"), *pairs[1:]]
        assert perturb(others, one, seed=5)[1:] == first[1:]
    assert perturb(pairs, BY_NAME["letter dropped"], 5) != perturb(pairs, BY_NAME["letter dropped"], 6)


def test_the_sample_is_drawn_once_and_keeps_the_order():
    pairs = [(str(i), str(-i)) for i in range(50)]
    some = sample(pairs, 20, seed=1)
    assert len(set(some)) == 20
    assert some == sorted(some, key=pairs.index) == sample(pairs, 20, seed=1) != sample(pairs, 20, seed=2)
    assert sample(pairs, 80) == pairs


def by_length(pairs):
    """A matcher that sees nothing but lengths."""
    a, b = (word_counts(side) for side in zip(*pairs, strict=True))
    return 1 / (1 + np.abs(a - b) / np.minimum(a, b))


def test_a_blind_matcher_moves_by_nothing_where_it_is_blind():
    pairs = [("How old is the Moon?", "Moon age"), ("What is this", "what is THIS")] * 20
    found = {row["name"]: row for row in invariances(by_length, pairs, 0.6)["perturbations"]}
    for name in ("swap", "lower case", "upper case", "more punctuation", "letters swapped"):
        row = found[name]
        assert row["changed"] > 0
        assert row["median"] == row["p95"] == row["shift"] == row["flipped"] == 0
        assert row["flipped_interval"][1] > 0
    assert found["pad 1"]["flipped"] > 0
    assert found["pad 3"]["p95"] > found["pad 1"]["median"] > 0


def test_figures_against_a_count_by_hand():
    def first_letters(pairs):
        return np.array([(ord(a[0]) - ord("a")) / 10 for a, _ in pairs])

    pairs = [("a", "b"), ("c", "a"), ("d", "k"), ("e", "e")]  # 0 → .1, .2 → 0, .3 → 1, .4 unchanged
    (row,) = invariances(first_letters, pairs, 0.3, perturbations=[BY_NAME["swap"]])["perturbations"]
    assert row["changed"] == 3
    assert row["median"] == pytest.approx(0.2)
    assert row["shift"] == pytest.approx((0.1 - 0.2 + 0.7) / 3)
    assert row["flipped"] == 0  # .3 is at the threshold and stays above it
    (row,) = invariances(first_letters, pairs, 0.1, perturbations=[BY_NAME["swap"]])["perturbations"]
    assert row["flipped"] == pytest.approx(2 / 3)


def test_the_identity_changes_no_pair():
    identity = Perturbation("identity", "nothing", lambda pair, _: pair)
    found = invariances(by_length, PAIRS, 0.5, perturbations=[identity])
    assert found["perturbations"] == [{"name": "identity", "what": "nothing", "changed": 0}]
    with pytest.raises(DataError, match="no pairs") as caught:
        invariances(by_length, [], 0.5)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_quantile_intervals_hold_the_quantile(share):
    rng = np.random.default_rng(0)
    held = sum(
        low <= share <= high for low, high in (quantile_interval(rng.random(120), share) for _ in range(400))
    )
    assert held >= 0.93 * 400
    assert held < 400 or share == 0.95


def test_command_prints_and_records(tmp_path, capsys):
    artefact = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    data = tmp_path / "pairs.tsv"
    rows = ["sentence1\tsentence2", *("\t".join(pair) for pair in PAIRS)]
    data.write_text("\n".join(rows) + "\n", encoding="utf-8")
    request = ["invariances", str(artefact), "--data", str(data), "--pairs", "5", "--threads", "1"]
    records = []
    for flags in ([], ["--symmetric"]):
        out = tmp_path / f"record{len(flags)}.json"
        with pytest.raises(SystemExit) as done:
            main([*request, *flags, "--json", str(out)])
        assert done.value.code == 0
        records.append(json.loads(out.read_text()))
        shown = capsys.readouterr().out
        assert all(name in shown for name in BY_NAME)
    plain, symmetric = ({row["name"]: row for row in record["perturbations"]} for record in records)
    assert [record["symmetric"] for record in records] == [False, True]
    assert records[0]["pairs"] == 5
    assert list(plain) == list(BY_NAME)
    assert plain["lower case"]["p95"] == 0  # its tokenizer lowers the case
    assert plain["swap"]["p95"] > 0 == symmetric["swap"]["p95"]
    for name in itertools.chain(BY_NAME):
        assert plain[name]["changed"] == symmetric[name]["changed"]
    with pytest.raises(SystemExit) as done:
        main([*request, "--json", str(tmp_path / "record0.json")])
    assert done.value.code == 2
