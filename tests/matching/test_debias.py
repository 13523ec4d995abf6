"""Bias-free sets: level within one example, nothing more removed a second time, order and bytes kept."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mobilebert_export.command_line import program as cli
from mobilebert_matching.data.pairs import Columns, read_pairs
from mobilebert_matching.length_bias.bias_audit import audit
from mobilebert_matching.length_bias.debiased_sets import debias, write
from mobilebert_matching.length_bias.length_divergence import listwise, pairwise, word_counts
from mobilebert_runtime.errors import DataError, OutputError

SHARED = [
    ("qqp", "train"),
    ("qqp", "test"),
    ("twitter_url", "train"),
    ("twitter_url", "test"),
    ("glue/mrpc", "train"),
]


def table(path, rows):
    """Rows of (label, words in a, words in b, query); every row's text is its own."""
    lines = [
        f"{y}\t{' '.join([f'w{i}'] * a)}\t{' '.join([f'v{i}'] * b)}\tq{q}"
        for i, (y, a, b, q) in enumerate(rows)
    ]
    path.write_text("\n".join(["label\ttext_a\ttext_b\tqid", *lines]) + "\n", encoding="utf-8")
    return path


def biased(count, seed):
    generator = np.random.default_rng(seed)
    a, b = generator.integers(2, 15, (2, count))
    labels = (generator.random(count) < 0.6 - 0.5 * np.minimum(np.abs(a - b) / np.minimum(a, b), 1)).astype(
        int
    )
    return list(
        zip(labels.tolist(), a.tolist(), b.tolist(), generator.integers(0, 40, count).tolist(), strict=True)
    )


def assert_level(found):
    """Every category is within one example of the overall ratio."""
    ratio = found.positive / found.negative
    for c in found.categories:
        assert abs(c.positive - ratio * c.negative) < 1 or abs(c.negative - c.positive / ratio) < 1, c


@pytest.mark.parametrize(("name", "split"), SHARED)
def test_shared_sets(shared_data, tmp_path, name, split):
    source, once, twice = shared_data / "data" / name / f"{split}.tsv", tmp_path / "1.tsv", tmp_path / "2.tsv"
    chosen = debias(source)
    write(chosen, once)
    before, after = audit(source), audit(once)
    assert before.score.biased
    assert not after.score.biased
    assert_level(after)
    assert abs(after.positive / after.negative - before.positive / before.negative) < 0.01
    assert len(chosen.keep) > 0.8 * chosen.pairs
    write(debias(once), twice)
    assert twice.read_bytes() == once.read_bytes()


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 9), st.integers(1, 9), st.just(0)),
        min_size=20,
        max_size=120,
    ).filter(lambda rows: 0 < sum(y for y, *_ in rows) < len(rows)),
    seed=st.integers(0, 5),
)
def test_level_and_done_after_one_run(tmp_path_factory, rows, seed):
    folder = tmp_path_factory.mktemp("d")
    source = table(folder / "p.tsv", rows)
    try:
        chosen = debias(source, seed=seed)
    except DataError:  # levelling would leave one class only; has its own test
        assume(False)
    write(chosen, folder / "1.tsv")
    after = audit(folder / "1.tsv")
    assert_level(after)
    assert not after.score.biased
    write(debias(folder / "1.tsv", seed=seed + 1), folder / "2.tsv")
    assert (folder / "2.tsv").read_bytes() == (folder / "1.tsv").read_bytes()
    lines = source.read_text(encoding="utf-8").splitlines()
    kept = (folder / "1.tsv").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line in set(kept)] == kept  # the order is the input's


def test_first_round_is_the_papers_procedure(tmp_path):
    source = table(tmp_path / "p.tsv", biased(3000, 0))
    before = audit(source)
    ratio = before.positive / before.negative
    chosen = debias(source, rounds=1)
    assert len(chosen.rounds) == 1
    for category, kept in zip(before.categories, chosen.rounds[0].after, strict=True):
        if category.ratio > ratio:
            assert kept == (round(ratio * category.negative), category.negative)
        else:
            assert kept == (category.positive, round(category.positive / ratio))
    assert len(chosen.keep) == sum(map(sum, chosen.rounds[0].after))


def test_same_seed_same_file_other_seed_other_rows(tmp_path):
    source = table(tmp_path / "p.tsv", biased(2000, 1))
    one, same, other = debias(source, seed=3), debias(source, seed=3), debias(source, seed=4)
    np.testing.assert_array_equal(one.keep, same.keep)
    assert not np.array_equal(one.keep, other.keep)
    assert (np.diff(one.keep) > 0).all()


def test_a_level_set_is_left_alone(tmp_path):
    rows = [(y, 2, words, 0) for words in (2, 3, 4, 6) for y in (0, 0, 1)] * 5
    chosen = debias(table(tmp_path / "p.tsv", rows))
    assert len(chosen.keep) == chosen.pairs == 60
    assert len(chosen.rounds) == 1


def test_quartiles_of_the_training_set(tmp_path):
    train, test = table(tmp_path / "train.tsv", biased(3000, 2)), table(tmp_path / "test.tsv", biased(500, 3))
    chosen = debias(test, quartiles_from=train)
    assert chosen.quartiles == audit(train).quartiles
    write(chosen, tmp_path / "out.tsv")
    assert_level(audit(tmp_path / "out.tsv", quartiles_from=train))


def test_lists_lose_cat4_whole_and_nothing_else(tmp_path):
    rows = biased(1200, 4)
    source = table(tmp_path / "p.tsv", rows)
    chosen = debias(source, Columns(group="qid"))
    write(chosen, tmp_path / "out.tsv")
    pairs = read_pairs(source, Columns(group="qid"))
    value = listwise(
        pairwise(word_counts(pairs.text_a), word_counts(pairs.text_b)), pairs.labels, pairs.groups
    )
    per_query = dict(zip(pairs.groups, value, strict=True))
    cut = np.quantile(list(per_query.values()), 0.75)
    kept = read_pairs(tmp_path / "out.tsv", Columns(group="qid"))
    assert kept.pairs == [pair for pair, v in zip(pairs.pairs, value, strict=True) if v <= cut]
    assert (chosen.queries, chosen.queries_kept) == (40, 30)
    assert set(kept.groups) == {query for query, v in per_query.items() if v <= cut}
    # A second run with the quartiles of the report removes nothing; fresh ones would cut a quarter again.
    (tmp_path / "report.json").write_text(json.dumps(chosen.to_json()), encoding="utf-8")
    write(
        debias(tmp_path / "out.tsv", Columns(group="qid"), quartiles_from=tmp_path / "report.json"),
        tmp_path / "twice.tsv",
    )
    assert (tmp_path / "twice.tsv").read_bytes() == (tmp_path / "out.tsv").read_bytes()


@pytest.mark.parametrize(("name", "group"), [("trecqa", "qid"), ("microblog", "topic")])
def test_shared_lists(shared_data, tmp_path, name, group):
    source = shared_data / "data" / name / "train.tsv"
    write(debias(source, Columns(group=group)), tmp_path / "out.tsv")
    assert not audit(tmp_path / "out.tsv", Columns(group=group)).score.biased


def test_bad_rows_are_not_kept_but_reported(tmp_path):
    source = table(tmp_path / "p.tsv", biased(400, 5))
    with source.open("ab") as file:
        file.write(b"1\tcaf\xe9\tx\tq\n1\tragged\n")
    chosen = debias(source)
    assert len(chosen.problems) == 2
    assert chosen.keep.max() <= 401
    assert chosen.to_json()["problems"]["total"] == 2


@pytest.mark.parametrize("labels", [[0] * 8, [1] * 8])
def test_one_class_only(tmp_path, labels):
    with pytest.raises(DataError, match="there is no ratio to level"):
        debias(table(tmp_path / "p.tsv", [(y, 2, 3, 0) for y in labels]))


def test_a_set_that_levelling_would_empty(tmp_path):
    rows = [(1, 2, 2, 0)] * 10 + [(0, 2, 9, 0)] * 10  # the divergence is the label
    with pytest.raises(DataError, match="more rows are needed"):
        debias(table(tmp_path / "p.tsv", rows))


def test_refused_outputs(tmp_path):
    source = table(tmp_path / "p.tsv", biased(300, 6))
    chosen = debias(source)
    with pytest.raises(DataError, match=r"expected the ending \.tsv"):
        write(chosen, tmp_path / "out.csv")
    with pytest.raises(DataError, match="is the input itself"):
        write(chosen, source, force=True)
    (tmp_path / "out.tsv").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="exists"):
        write(chosen, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == "mine"


def test_command(tmp_path, capsys):
    source, out = table(tmp_path / "p.tsv", biased(2000, 7)), tmp_path / "out.tsv"
    with pytest.raises(SystemExit) as stop:
        cli.main(["debias", str(source), "--out", str(out), "--seed", "5"])
    assert stop.value.code == 0
    assert "no bias found" in capsys.readouterr().out
    report = json.loads((tmp_path / "out.report.json").read_text(encoding="utf-8"))
    assert report["kept"] == len(read_pairs(out)) < report["pairs"] == 2000
    assert report["seed"] == 5
    assert report["audit_before"]["bias_score"]["contains_zero"] is False
    assert report["audit_after"]["bias_score"]["contains_zero"] is True
    with pytest.raises(SystemExit) as stop:
        cli.main(["debias", str(source), "--out", str(out)])
    assert stop.value.code == 2
    assert "exists already" in capsys.readouterr().err
