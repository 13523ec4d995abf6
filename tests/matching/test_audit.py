"""The audit against brute force and the recorded ratios of real sets; the interval against simulation."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mobilebert_export.command_line import program as cli
from mobilebert_matching.data import table_files as records
from mobilebert_matching.data.pairs import Columns, Reason
from mobilebert_matching.length_bias import bias_audit as auditing
from mobilebert_matching.length_bias.bias_audit import audit, somers_d
from mobilebert_matching.length_bias.length_divergence import LARGE_NUMBER, Quartiles, listwise, pairwise
from mobilebert_runtime.errors import DataError

# Positives per negative, CAT1 to CAT4, from the README of the shared data. Its figures for Microblog are
# those of all 60 topics, training and test together; TrecQA's .12499 is rounded up there.
SHARED_RATIOS = {
    ("qqp", None): (0.75, 0.80, 0.61, 0.31),
    ("twitter_url", None): (0.49, 0.40, 0.30, 0.27),
    ("trecqa", "qid"): (0.15, 0.14, 0.13, 0.11),
    ("microblog", "topic"): (0.18, 0.10, 0.07, 0.08),
}


def write(path, rows, header="label\ttext_a\ttext_b\tqid"):
    """Rows of (label, words in a, words in b, query)."""
    lines = [f"{y}\t{' '.join(['w'] * a)}\t{' '.join(['v'] * b)}\tq{q}" for y, a, b, q in rows]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def random_rows(count, seed, bias=0.0):
    """Pairs whose positives are rarer (bias > 0) the more their lengths differ."""
    generator = np.random.default_rng(seed)
    a, b = generator.integers(2, 15, (2, count))
    chance = 0.4 - bias * np.minimum(np.abs(a - b) / np.minimum(a, b), 1)
    labels = (generator.random(count) < chance).astype(int)
    return list(
        zip(labels.tolist(), a.tolist(), b.tolist(), generator.integers(0, 25, count).tolist(), strict=True)
    )


@pytest.mark.parametrize(("name", "group"), list(SHARED_RATIOS))
def test_ratios_of_the_shared_training_sets(shared_data, tmp_path, name, group):
    path = shared_data / "data" / name / "train.tsv"
    if name == "microblog":
        joined = tmp_path / "all.tsv"
        joined.write_bytes(path.read_bytes() + (path.parent / "test.tsv").read_bytes().split(b"\n", 1)[1])
        path = joined
    found = audit(path, Columns(group=group))
    assert len(found.problems) == 0
    np.testing.assert_allclose([c.ratio for c in found.categories], SHARED_RATIOS[name, group], atol=0.00502)
    assert found.score.value > 0  # the paper's direction


def test_microblog_training_set(shared_data):
    found = audit(shared_data / "data" / "microblog" / "train.tsv", Columns(group="topic"))
    assert [(c.positive, c.negative) for c in found.categories] == [
        (1175, 8424),
        (932, 9152),
        (713, 8917),
        (702, 9363),
    ]
    assert (found.queries, found.undefined_queries) == (51, 1)


@settings(deadline=None, max_examples=30)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 9), st.integers(1, 9), st.integers(0, 4)),
        min_size=2,
        max_size=40,
    ).filter(lambda rows: 0 < sum(y for y, *_ in rows) < len(rows)),
    block=st.integers(10, 400),
    group=st.sampled_from([None, "qid"]),
)
def test_streaming_audit_equals_the_definitions_on_the_whole_table(tmp_path_factory, rows, block, group):
    path = write(tmp_path_factory.mktemp("a") / "p.tsv", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "BLOCK_BYTES", block)
        patch.setattr(auditing, "MERGE_AT", 3)
        found = audit(path, Columns(group=group))
    labels, a, b, query = (np.array(column) for column in zip(*rows, strict=True))
    value = pairwise(a, b)
    per_example = value
    if group:
        value = listwise(value, labels, query.tolist())
        per_example = [value[query == q][0] for q in np.unique(query)]
    cuts = np.quantile(per_example, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(found.quartiles.as_list(), cuts, rtol=1e-12, atol=1e-12)
    category = found.quartiles.category(value)
    for c in found.categories:
        assert c.positive == ((category == c.category) & (labels == 1)).sum()
        assert c.negative == ((category == c.category) & (labels == 0)).sum()
    pairs = [(p, n) for p in category[labels == 1] for n in category[labels == 0]]
    wins = np.mean([(n > p) - float(n < p) for p, n in pairs])
    assert found.score.value == pytest.approx(wins, abs=1e-12)
    assert found.score.low <= found.score.value <= found.score.high


def test_score_is_somers_d_of_scipy():
    rows = np.array(random_rows(500, 1, bias=0.2))
    labels, value = rows[:, 0], pairwise(rows[:, 1], rows[:, 2])
    category = Quartiles.of(value).category(value)
    counts = np.stack([labels == 0, labels == 1]).astype(int)
    # Somers' D is asymmetric: the label is the independent variable.
    assert somers_d(category, counts, clustered=False).value == pytest.approx(
        -stats.somersd(labels, category).statistic
    )


def test_score_ends_of_the_scale():
    tied, apart = np.array([[3, 3], [2, 2]]), np.array([[0, 5], [5, 0]])  # negatives, positives
    assert somers_d(np.array([1, 4]), apart, clustered=False).value == 1
    assert somers_d(np.array([4, 1]), apart, clustered=False).value == -1
    level = somers_d(np.array([1, 4]), tied, clustered=False)
    assert level.value == 0
    assert not level.biased


@pytest.mark.parametrize("clustered", [False, True])
def test_one_positive_says_nothing(clustered):
    found = somers_d(np.array([1, 2, 4]), np.array([[18, 3, 4], [0, 0, 1]]), clustered=clustered)
    assert (found.low, found.high) == (-1, 1)
    few = somers_d(np.array([1, 2, 4]), np.array([[18, 3, 4], [1, 0, 1]]), clustered=clustered)
    assert few.high - few.low > 1


@pytest.mark.parametrize("clustered", [False, True])
def test_interval_covers_the_true_score_about_95_times_in_100(clustered):
    generator = np.random.default_rng(7)
    covered = 0
    chances = np.array([0.45, 0.4, 0.35, 0.25])
    # The score of the population: categories are equally frequent.
    positive, negative = chances / chances.sum(), (1 - chances) / (1 - chances).sum()
    true = sum(positive[i] * negative[j] * np.sign(j - i) for i in range(4) for j in range(4))
    for _ in range(300):
        level = generator.integers(0, 4, 120)
        if clustered:  # 120 queries of 10 documents, whose share of positives also differs by query
            share = np.clip(chances[level] + generator.normal(0, 0.12, 120), 0, 1)
            positives = generator.binomial(10, share)
            counts = np.stack([10 - positives, positives])
        else:
            label = generator.random(120) < chances[level]
            counts = np.stack([~label, label]).astype(int)
        found = somers_d(level, counts, clustered=clustered)
        covered += found.low <= true <= found.high
    assert 0.91 <= covered / 300 <= 0.99


def test_ignoring_the_queries_would_make_the_interval_too_narrow():
    level = np.repeat([1, 2, 3, 4], 10)
    counts = np.stack([np.tile([0, 40], 20), np.tile([40, 0], 20)])
    rows, queries = (somers_d(level, counts, clustered=clustered) for clustered in (False, True))
    assert queries.high - queries.low > 5 * (rows.high - rows.low)


def test_a_bias_that_rises_and_falls_is_seen_by_the_homogeneity_test(tmp_path):
    # 10 % positive in CAT1 and CAT4, 50 % between.
    rows = []
    for words, positives in ((2, 10), (4, 50), (6, 50), (8, 10)):
        rows += [(int(i < positives), 2, words, 0) for i in range(100)]
    found = audit(write(tmp_path / "p.tsv", rows))
    assert not found.score.biased
    assert found.homogeneity_p < 1e-9


def test_groups_without_a_positive_are_counted_and_put_in_cat4(tmp_path):
    rows = [(0, 2, 9, 0), (0, 2, 3, 0)]  # no positive
    rows += [(1, 2, 9, 1)]  # no negative
    rows += [(1, 2, 2, 2), (0, 2, 4, 2)]  # a mean of zero
    for query in range(3, 12):
        rows += [(1, 2, 3, query), (0, 2, query + 2, query)]
    found = audit(write(tmp_path / "p.tsv", rows), Columns(group="qid"))
    assert (found.queries, found.undefined_queries) == (12, 3)
    assert len(found.problems) == 0
    assert found.quartiles.third < LARGE_NUMBER
    assert found.categories[3].positive == 2 + 0
    assert found.categories[3].negative == 3


@pytest.mark.parametrize(
    ("rows", "missing"), [([(0, 2, 3, 0)] * 5, "positive"), ([(1, 2, 3, 0)] * 5, "negative")]
)
def test_one_class_only(tmp_path, rows, missing):
    with pytest.raises(DataError, match=f"no {missing} pair among 5") as error:
        audit(write(tmp_path / "p.tsv", rows))
    assert error.value.exit_code == 2


def test_unlabelled_file(tmp_path):
    with pytest.raises(DataError, match="no known label column"):
        audit(write(tmp_path / "p.tsv", [(1, 2, 3, 0)], header="gold\ttext_a\ttext_b\tqid"))


def test_quartiles_of_a_training_set_or_of_a_report(tmp_path):
    train, test = (
        write(tmp_path / "a.tsv", random_rows(400, 1)),
        write(tmp_path / "b.tsv", random_rows(90, 2)),
    )
    cuts = audit(train).quartiles
    assert audit(test).quartiles != cuts
    given = audit(test, quartiles_from=train)
    assert given.quartiles == cuts
    report = tmp_path / "report.json"
    report.write_text(json.dumps(audit(train).to_json()), encoding="utf-8")
    assert audit(test, quartiles_from=report).categories == given.categories
    with pytest.raises(DataError, match="pairwise quartiles"):
        audit(test, Columns(group="qid"), quartiles_from=report)
    report.write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="no quartiles in it"):
        audit(test, quartiles_from=report)
    for wrong in ([3, 2, 1], [1, float("nan"), 2], [-1, 0, 1]):
        report.write_text(json.dumps({"mode": "pairwise", "quartiles": wrong}), encoding="utf-8")
        with pytest.raises(DataError, match="not in order"):
            audit(test, quartiles_from=report)


def test_formats_agree(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = random_rows(300, 5, bias=0.2)
    one = audit(write(tmp_path / "p.tsv", rows))
    lines = (tmp_path / "p.tsv").read_text(encoding="utf-8").splitlines()
    names, *fields = [line.split("\t") for line in lines]
    pq.write_table(
        pa.Table.from_pylist([dict(zip(names, f, strict=True)) for f in fields]), tmp_path / "p.parquet"
    )
    (tmp_path / "p.csv").write_text("\n".join(line.replace("\t", ",") for line in lines), encoding="utf-8")
    for ending in (".parquet", ".csv"):
        other = audit(tmp_path / f"p{ending}")
        assert (other.categories, other.score) == (one.categories, one.score)


# --- the command ---


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main([str(argument) for argument in arguments])
    return stop.value.code


def test_command(tmp_path, capsys):
    path = write(tmp_path / "p.tsv", random_rows(2000, 3, bias=0.25))
    with path.open("a", encoding="utf-8") as file:
        file.write("1\tonly two fields\n")
    assert run("audit", path, "--json", tmp_path / "a.json", "--png", tmp_path / "a.png") == 0
    shown = capsys.readouterr()
    assert "biased" in shown.out
    assert "line 2002 (2 fields, the header has 4)" in shown.out
    assert shown.err == ""  # the progress bar is for terminals
    record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [sorted(c) for c in record["categories"]] == [["category", "negative", "positive", "ratio"]] * 4
    assert sum(c["positive"] + c["negative"] for c in record["categories"]) == record["pairs"] == 2000
    assert record["bias_score"]["contains_zero"] is False
    assert record["problems"]["by_reason"][Reason.RAGGED]["lines"] == [2002]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run("audit", path, "--json", tmp_path / "a.json") == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "no such file"),
        ("", [], "the file is empty"),
        ("label\ttext_a\ttext_b\n1\ta\tb\n", ["--label", "gold"], "no column 'gold'"),
        ("label\ttext_a\ttext_b\nyes\ta\tb\n", [], "line 2 ('yes')"),
        ("label\ttext_a\ttext_b\n0\ta\tb\nx\tc\td\n", [], "line 3 ('x')"),
    ],
)
def test_command_on_bad_input_is_one_line_and_exit_code_2(tmp_path, capsys, content, arguments, message):
    path = tmp_path / "p.tsv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert run("audit", path, *arguments) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_figure_has_a_bar_for_every_count_and_a_point_for_every_ratio(tmp_path, monkeypatch):
    from matplotlib import pyplot as plt

    from mobilebert_matching.length_bias.category_plot import draw

    kept = []
    monkeypatch.setattr(plt, "close", kept.append)
    found = audit(write(tmp_path / "p.tsv", random_rows(400, 3, bias=0.25)))
    draw({"one": found.categories, "two": found.categories}, tmp_path / "f.png")
    left, right = kept[0].axes[0], kept[0].axes[2]
    heights = [bar.get_height() for bar in left.patches]
    assert heights == [c.positive for c in found.categories] + [c.negative for c in found.categories]
    np.testing.assert_allclose(right.lines[0].get_ydata(), [c.ratio for c in found.categories])
    monkeypatch.undo()
    plt.close(kept[0])
