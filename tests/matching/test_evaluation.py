"""Promise of `mobilebert evaluate`: every figure with its interval, on the test and on its bias-free part."""

import json
import re

import numpy as np
import pytest

from mobilebert_export.command_line.program import main
from mobilebert_export.evaluation.evaluation_page import to_markdown
from mobilebert_matching.data.labelled_pairs import read_labelled
from mobilebert_matching.evaluation import metrics
from mobilebert_matching.evaluation.bias_measures import RecallGapError, length_probe, require_recall_gap
from mobilebert_matching.evaluation.confidence_intervals import calibration_interval, classification_intervals
from mobilebert_matching.evaluation.pair_evaluation import evaluate
from mobilebert_matching.length_bias.debiased_sets import debias, level
from mobilebert_matching.length_bias.length_divergence import Quartiles, pairwise, word_counts
from mobilebert_runtime.errors import DataError
from tests.helpers.tiny_artefacts import WORDS, onnx_model, write_artefact
from tests.helpers.toys import write_pairs


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Of the probe, which tests/matching/test_bias.py looks at: most of the time here."""
    monkeypatch.setitem(length_probe.__kwdefaults__, "draws", 3)


def biased_pairs(count, seed=0):
    """Pairs whose label depends on how far their lengths are apart, and a matcher that half knows it."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, (count, 2))
    pairs = [tuple(" ".join(rng.choice(WORDS, n)) for n in row) for row in lengths]
    divergence = pairwise(*lengths.T)
    labels = (rng.random(count) < 0.6 - 0.4 * np.tanh(divergence)).astype(np.int64)
    probabilities = 1 / (1 + np.exp(-(1.5 * (2 * labels - 1) + 1.5 * rng.normal(size=count))))
    return pairs, labels, probabilities


def test_adversarial_test_in_memory_is_the_one_chosen_from_the_file(tmp_path):
    train = write_pairs(tmp_path / "train.tsv", *biased_pairs(400, seed=1)[:2])
    test = write_pairs(tmp_path / "test.tsv", *biased_pairs(600, seed=2)[:2])
    pairs, labels = read_labelled(test)
    divergence = pairwise(*(word_counts(side) for side in zip(*pairs, strict=True)))
    train_divergence = pairwise(
        *(word_counts(side) for side in zip(*read_labelled(train).pairs, strict=True))
    )
    cuts = Quartiles.of(train_divergence)
    chosen = {seed: level(divergence, labels == 1, cuts, seed=seed)[0] for seed in (0, 7)}
    for seed, rows in chosen.items():
        from_file = debias(test, quartiles_from=train, seed=seed).keep
        np.testing.assert_array_equal(rows + 2, from_file)  # line 1 is the header
    assert not np.array_equal(chosen[0], chosen[7])


def test_every_category_of_the_adversarial_test_has_the_overall_ratio():
    pairs, labels, probabilities = biased_pairs(2000)
    found = evaluate(pairs, labels, probabilities, 0.5)
    fair = found["adversarial"]

    def ratios(record):
        return [c["positives"] / (c["pairs"] - c["positives"]) for c in record["categories"]]

    overall = fair["positives"] / (fair["pairs"] - fair["positives"])
    assert max(ratios(found)) > 2 * min(ratios(found))
    np.testing.assert_allclose(ratios(fair), overall, rtol=0.03)
    assert sum(c["pairs"] for c in fair["categories"]) == fair["pairs"] < found["pairs"] == 2000
    # Here the labels follow the lengths, on the fair test they do not.
    assert found["length_probe"]["label"]["auc"] > 0.6
    assert fair["length_probe"]["label"]["at_chance"]


def test_figures_of_the_adversarial_test_are_those_of_its_pairs():
    pairs, labels, probabilities = biased_pairs(900)
    divergence = pairwise(*(word_counts(side) for side in zip(*pairs, strict=True)))
    cuts = Quartiles(0.1, 0.5, 1.5)
    found = evaluate(pairs, labels, probabilities, 0.4, cuts, seed=3)
    rows, _ = level(divergence, labels == 1, cuts, seed=3)
    assert found["quartiles"] == [0.1, 0.5, 1.5]
    assert found["adversarial"]["seed"] == 3
    assert found["adversarial"]["auc"] == metrics.auc(labels[rows], probabilities[rows])
    assert found["adversarial"]["accuracy"] == np.mean((probabilities[rows] >= 0.4) == labels[rows])
    first = (cuts.category(divergence)[rows] == 1) & (labels[rows] == 1)
    rate = found["adversarial"]["categories"][0]["true_positive_rate"]
    assert rate == np.mean(probabilities[rows][first] >= 0.4)


def test_f1_is_that_of_the_positive_class_by_hand():
    labels = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    predictions = np.array([1, 1, 0, 1, 0, 0, 0, 0])  # TP 2, FN 1, FP 1
    assert metrics.f1(labels, predictions) == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert metrics.f1(labels, np.zeros(8, int)) == 0
    with pytest.raises(metrics.DataError, match="expected 0 and 1"):
        metrics.f1(labels * 2, predictions)


def test_intervals_agree_with_resampled_pairs():
    _, labels, probabilities = biased_pairs(500)
    predictions = (probabilities >= 0.5).astype(int)
    got = classification_intervals(labels, predictions, probabilities)
    for name, statistic in (
        ("accuracy", lambda r: metrics.accuracy(labels[r], predictions[r])),
        ("balanced_accuracy", lambda r: metrics.balanced_accuracy(labels[r], predictions[r])),
        ("f1", lambda r: metrics.f1(labels[r], predictions[r])),
        ("f1_macro", lambda r: metrics.f1_macro(labels[r], predictions[r])),
        ("auc", lambda r: metrics.auc(labels[r], probabilities[r])),
    ):
        want = metrics.bootstrap(statistic, 500, resamples=100)
        np.testing.assert_allclose(got[name], want, rtol=0, atol=0.02, err_msg=name)


def test_the_calibration_interval_holds_the_true_error_where_percentiles_do_not():
    def draw(rng, count):
        logit = rng.normal(-0.7, 2.5, count)
        labels = (rng.random(count) < 1 / (1 + np.exp(-logit))).astype(int)
        return labels, 1 / (1 + np.exp(-1.1 * logit))  # a little too sure of itself

    def percentiles(labels, said):
        return metrics.bootstrap(
            lambda r: metrics.expected_calibration_error(labels[r], said[r]), len(labels), resamples=50
        )

    rng = np.random.default_rng(0)
    truth = metrics.expected_calibration_error(*draw(rng, 1_000_000))
    samples = [draw(rng, 1500) for _ in range(16)]
    for labels, said in samples:
        low, high = calibration_interval(labels, said)
        assert 0 <= low <= metrics.expected_calibration_error(labels, said) <= high
    held, held_by_percentiles = (
        sum(low <= truth <= high for low, high in (interval(*one) for one in samples))
        for interval in (calibration_interval, percentiles)
    )
    assert held >= 13
    assert held_by_percentiles < held


def test_one_class_has_no_adversarial_test_and_says_why():
    pairs, labels, probabilities = biased_pairs(50)
    found = evaluate(pairs, np.ones_like(labels), probabilities, 0.5)
    assert found["adversarial"] is None
    assert "no negative pair among 50" in found["adversarial_missing"]
    assert found["auc"] is None
    assert "auc_interval" not in found
    json.dumps(found, allow_nan=False)
    with pytest.raises(DataError, match="these pairs: no positive pair"):
        level(np.zeros(5), np.zeros(5, bool))


def test_command_shows_both_tests_and_records_them(tmp_path, capsys):
    artefact = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    train = write_pairs(tmp_path / "train.tsv", *biased_pairs(300, seed=1)[:2])
    test = write_pairs(tmp_path / "test.tsv", *biased_pairs(300, seed=2)[:2])
    request = ["evaluate", str(artefact), "--data", str(test), "--train", str(train)]
    with pytest.raises(SystemExit) as done:
        main([*request, "--threads", "1", "--json", str(tmp_path / "record.json")])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["matcher"] == "matcher"
    assert record["data"] == f"{tmp_path.name}/test.tsv"
    assert str(tmp_path) not in json.dumps(record)
    assert record["quartiles"] == debias(train).rounds[0].quartiles.as_list()
    for found in (record, record["adversarial"]):
        assert f"{found['f1']:.4f} [{found['f1_interval'][0]:.4f}" in shown
        assert f"{found['tpr_gap']['value']:.4f}" in shown
        assert f"{found['length_probe']['error']['auc']:.4f}" in shown
    with pytest.raises(SystemExit) as done:
        main([*request, "--json", str(tmp_path / "record.json")])
    assert done.value.code == 2
    assert "--force" in capsys.readouterr().err


def test_the_recall_gap_gate_is_red_beyond_its_bound_on_either_side_and_where_there_is_no_gap(
    tmp_path, capsys
):
    artefact = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    pairs, labels, _ = biased_pairs(300, seed=2)
    divergence = pairwise(*(word_counts(side) for side in zip(*pairs, strict=True)))
    far = Quartiles.of(divergence).category(divergence) == 4

    def exit_code(data, *options):
        record = tmp_path / "record.json"
        with pytest.raises(SystemExit) as done:
            main(["evaluate", str(artefact), "--data", str(data), "--json", str(record), *options, "--force"])
        return done.value.code, json.loads(record.read_text())["tpr_gap"]["value"], capsys.readouterr().err

    test = write_pairs(tmp_path / "test.tsv", pairs, labels)
    code, gap, _ = exit_code(test)
    assert code == 0
    assert abs(gap) > 0.001  # else both bounds below are one
    points = 100 * abs(gap)
    assert exit_code(test, "--max-recall-gap", f"{points + 0.01}")[0] == 0
    code, again, said = exit_code(test, "--max-recall-gap", f"{points - 0.01}")
    assert (code, again) == (1, gap)  # recorded all the same
    shown = re.search(r"TPR CAT1 − CAT4 is ([+−-][\d.]+) points, --max-recall-gap allows ([\d.]+)", said)
    assert float(shown[1]) == pytest.approx(100 * gap, abs=0.05)
    assert abs(float(shown[1])) > float(shown[2])
    no_far = write_pairs(tmp_path / "no_far.tsv", pairs, np.where(far, 0, labels))
    assert exit_code(no_far)[:2] == (0, None)
    code, _, said = exit_code(no_far, "--max-recall-gap", "100")
    assert code == 1
    assert "CAT4 0 pairs of label 1, too few to judge it; give --data with at least 10 in each" in said
    for sign in (-1, 1):
        require_recall_gap(sign * 0.059, 6, (10, 10))
        with pytest.raises(RecallGapError):
            require_recall_gap(sign * 0.061, 6, (10, 10))


def test_the_bound_of_the_recall_gap_is_allowed_and_a_message_shows_what_is_beyond_it():
    require_recall_gap(1 - 0.86, 14, (50, 50))  # a little more than .14 as a float
    for gap, says in (
        (0.0604, "is +6.04 points, --max-recall-gap allows 6"),
        (-0.060000001, "is -6.0000001 points, --max-recall-gap allows 6"),
        (0.31, "is +31.0 points, --max-recall-gap allows 6"),
    ):
        with pytest.raises(RecallGapError, match=re.escape(says) + "$"):
            require_recall_gap(gap, 6, (50, 50))


@pytest.mark.parametrize("positives", [(1, 1), (9, 500), (500, 9)])
def test_the_recall_gap_gate_is_red_where_pairs_are_too_few_to_judge_by(positives):
    first, last = positives
    with pytest.raises(RecallGapError, match=f"CAT1 has {first} and CAT4 {last} pairs of label 1, too few"):
        require_recall_gap(0.0, 100, positives)


def test_few_pairs_show_no_interval_and_fail_the_gate(tmp_path, capsys):
    artefact = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    test = write_pairs(tmp_path / "test.tsv", *biased_pairs(60, seed=2)[:2])
    record = tmp_path / "record.json"
    with pytest.raises(SystemExit) as done:
        main(
            ["evaluate", str(artefact), "--data", str(test), "--json", str(record), "--max-recall-gap", "100"]
        )
    assert done.value.code == 1
    found = json.loads(record.read_text())
    assert (found["tpr_gap"]["low"], found["tpr_gap"]["high"]) == (None, None)
    first, *_, last = (category["positives"] for category in found["categories"])
    said = capsys.readouterr()
    assert f"CAT1 has {first} and CAT4 {last} pairs of label 1, too few" in said.err
    assert f"{found['tpr_gap']['value']:.4f} [too few pairs]" in said.out
    assert f"| {found['tpr_gap']['value']:.3f} (too few pairs) |" in to_markdown(found)


def test_the_output_says_what_cut_the_categories(tmp_path, capsys):
    artefact = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    data = write_pairs(tmp_path / "test.tsv", *biased_pairs(40, seed=2)[:2])
    train = write_pairs(tmp_path / "train.tsv", *biased_pairs(40, seed=3)[:2])
    record, named = tmp_path / "record.json", f"{tmp_path.name}/train.tsv"
    for options, kept, shown in (([], None, "the data itself"), (["--train", str(train)], named, named)):
        request = ["evaluate", str(artefact), "--data", str(data), "--json", str(record), "--force"]
        with pytest.raises(SystemExit) as done:
            main([*request, *options])
        assert done.value.code == 0
        assert json.loads(record.read_text())["quartiles_from"] == kept
        assert f"cuts of CAT1 to CAT4: from {shown}\n" in capsys.readouterr().out


def test_a_positive_label_that_no_pair_has_is_refused(tmp_path, capsys):
    artefact = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    data = write_pairs(tmp_path / "test.tsv", *biased_pairs(40)[:2])
    with pytest.raises(SystemExit) as done:
        main(["evaluate", str(artefact), "--data", str(data), "--positive-label", "nope"])
    assert done.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "test.tsv: no row has the positive label 'nope'; name one that is there: '0', '1'" in said.err


def test_labels_of_three_classes_are_refused_before_anything_is_scored(tmp_path, capsys, monkeypatch):
    pairs, labels, _ = biased_pairs(30)
    data = write_pairs(tmp_path / "test.tsv", pairs, np.r_[labels[:-1], 2])
    monkeypatch.setattr(
        "mobilebert_export.evaluation.scoring.open_scorer", lambda *_, **__: pytest.fail("opened")
    )
    with pytest.raises(SystemExit) as done:
        main(["evaluate", str(write_artefact(tmp_path / "m", "onnx", onnx_model())), "--data", str(data)])
    assert done.value.code == 2
    assert "test.tsv: labels reach 2; a match is 1" in capsys.readouterr().err
