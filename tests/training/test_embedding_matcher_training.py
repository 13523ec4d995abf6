"""Promise: the commands that know pair classifiers train, calibrate and evaluate an embedding matcher."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from torch.nn import functional as F

from mobilebert_export.command_line.program import main
from mobilebert_matching.evaluation.score_calibration import fit_settings, fit_slope_and_offset, probabilities
from mobilebert_models import MatcherSettings, build, load_pair_network, packaged_directory, save_pretrained
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import padded
from mobilebert_training.finetuning.matcher_training import train_matcher
from mobilebert_training.finetuning.matchers import build_matcher, load_matcher
from tests.helpers import small_matcher
from tests.helpers.toys import WORDS, write_pairs
from tests.models.test_embedding_matcher import CONFIG, matcher, packed, texts

HEADS = ("embedding_matcher", "learned_matcher")


def pairs_of(count, seed):
    """Pairs of the same words in another order, and of other words."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, count)
    found = []
    for label in labels:
        words = random.permutation(WORDS)
        other = random.permutation(words[:4]) if label else words[4:8]
        found.append((" ".join(words[:4]), " ".join(other)))
    return found, labels


@pytest.fixture
def folder(tmp_path):
    """Training, development and test pairs."""
    for seed, (name, count) in enumerate((("train", 160), ("dev", 60), ("test", 60))):
        write_pairs(tmp_path / f"{name}.tsv", *pairs_of(count, seed))
    return tmp_path


@pytest.fixture
def model(tmp_path, request):
    """A small embedding matcher with random weights and a real tokenizer."""
    head = getattr(request, "param", HEADS[0])
    made = build(CONFIG.__class__(**{**vars(CONFIG), "vocab_size": 30522}), head, seed=0)
    save_pretrained(
        made, tmp_path / "model", tokenizer_from=packaged_directory("minilm"), settings=MatcherSettings()
    )
    return tmp_path / "model"


def loss_of(directory, pairs, labels):
    logits = torch.from_numpy(load_matcher(directory).predict(pairs))
    return float(F.cross_entropy(logits, torch.from_numpy(labels)))


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    assert end.value.code == 0


@pytest.mark.parametrize("head", HEADS)
def test_rescaled_head_gives_rescaled_logits(head):
    network = matcher(head=head)
    left, right = texts(2)
    before = network(**packed(left, right, 40))[0][:, 1] * 2
    network.head.rescale(1.7, -0.4)
    assert torch.allclose(network(**packed(left, right, 40))[0][:, 1] * 2, 1.7 * before - 0.4, atol=1e-4)
    with pytest.raises(ValueError, match="above 0"):
        network.head.rescale(0.0, 1.0)


def test_slope_and_offset_are_those_that_drew_the_labels():
    random = np.random.default_rng(0)
    d = random.normal(size=40_000)
    labels = (random.random(len(d)) < expit(2.5 * d - 1.0)).astype(np.int64)
    logits = np.stack([-d / 2, d / 2], 1)
    slope, offset = fit_slope_and_offset(logits, labels)
    assert slope == pytest.approx(2.5, abs=0.1)
    assert offset == pytest.approx(-1.0, abs=0.1)
    settings = fit_settings(logits, labels, offset=True)
    found = probabilities(logits[:5], settings, [("a", "b")] * 5)
    np.testing.assert_allclose(found, expit(slope * d[:5] + offset), rtol=1e-6)


@pytest.mark.parametrize("apart", [False, True])
def test_slope_and_offset_are_platts_as_scikit_learn_has_them(apart):
    """Also of pairs that are told apart without an error, whose likelihood alone has no finite maximum."""
    random = np.random.default_rng(1)
    labels = np.array([0, 0, 0, 1, 1])
    d = labels * 9.0 + 3 * random.random(5) if apart else np.array([0.1, 1.2, -0.5, 0.9, 2.0])
    slope, offset = fit_slope_and_offset(np.stack([-d / 2, d / 2], 1), labels)
    minus_slope, minus_offset = _sigmoid_calibration(d, labels)
    assert slope == pytest.approx(-minus_slope, rel=1e-3)
    assert offset == pytest.approx(-minus_offset, rel=1e-3)


@pytest.mark.parametrize("model", HEADS, indirect=True)
def test_it_learns_from_pairs_and_saves_what_it_learned(folder, model):
    made = train_matcher(folder, folder / "run", arch=str(model), epochs=6, learning_rate=3e-3, threads=1)
    pairs, labels = pairs_of(60, 2)
    assert loss_of(made, pairs, labels) < loss_of(model, pairs, labels) - 0.05
    settings = MatcherSettings.load(made)
    assert len(set(settings.length_shift["added"])) == 1


@pytest.mark.parametrize("model", HEADS, indirect=True)
def test_it_begins_as_a_logistic_regression_on_its_logit(folder, model):
    begun = build_matcher(str(model))
    pairs, labels = pairs_of(200, 3)
    begun.begin(pairs, labels)
    slope, offset = fit_slope_and_offset(begun.predict(pairs), labels)
    assert slope == pytest.approx(1.0, abs=0.02)
    assert offset == pytest.approx(0.0, abs=0.02)


def test_calibrate_fits_an_offset_and_evaluate_reads_it(folder, model):
    run("calibrate", model, "--data", folder, "--force", "--threads", 1)
    run("evaluate", model, "--data", folder / "test.tsv", "--json", folder / "record.json", "--threads", 1)
    settings = MatcherSettings.load(model)
    pairs, labels = pairs_of(60, 1)  # the development pairs
    scores = probabilities(load_matcher(model).predict(pairs), settings, pairs)
    assert scores.mean() == pytest.approx(labels.mean(), abs=0.01)  # which a temperature alone can't do
    assert json.loads((folder / "record.json").read_text())["pairs"] == 60


def stored_texts(folder, count):
    """A file of different texts, and the texts."""
    random = np.random.default_rng(5)
    found = list(dict.fromkeys(" ".join(random.choice(WORDS, 5)) for _ in range(count)))
    (folder / "stored.txt").write_text("\n".join([*found, found[0]]) + "\n")
    return folder / "stored.txt", found


def refused(capfd, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    assert end.value.code == 2
    return " ".join(capfd.readouterr().err.split())


def test_calibrate_sets_a_threshold_by_stored_texts_without_labels(folder, model):
    given = MatcherSettings(temperature=0.8)
    given.save(model)
    path, found = stored_texts(folder, 80)
    run("calibrate", model, "--texts", path, "--false-matches", 0.1, "--force", "--threads", 1)
    settings = MatcherSettings.load(model)
    assert settings == replace(given, threshold=settings.threshold)
    network = load_pair_network(model)
    vectors = np.stack([network(**packed_ids(model, text))[1][0].detach().numpy() for text in found])
    np.fill_diagonal(similarity := vectors @ vectors.T, -2)
    pairs = [(text, found[other]) for text, other in zip(found, similarity.argmax(1), strict=True)]
    logits = load_matcher(model).predict(pairs)
    scores = np.sort(expit((logits[:, 1] - logits[:, 0]) / 0.8))[::-1]
    assert (scores >= settings.threshold).sum() == len(found) // 10
    assert scores[len(found) // 10] < settings.threshold < scores[len(found) // 10 - 1]


def packed_ids(model, text):
    return padded(tokens := PairTokenizer.load(model), tokens.ids([text], 128))


def test_calibrate_without_labels_refuses_what_gives_no_threshold(folder, model, capfd):
    path, found = stored_texts(folder, 80)
    before = (model / "matcher.json").read_bytes()

    def said(*options):
        return refused(capfd, "calibrate", model, *options, "--force")

    texts_, share = ("--texts", path), ("--false-matches", 0.02)
    assert "--data, --texts: give one of them" in said()
    assert "--data, --texts: give one of them" in said(*texts_, *share, "--data", folder)
    assert "--texts, --false-matches: give both" in said(*texts_)
    assert "--texts, --false-matches: give both" in said("--data", folder, *share)
    assert "--debias: needs labelled pairs" in said(*texts_, *share, "--debias")
    assert "name columns of --data" in said(*texts_, *share, "--label", "same")
    assert "--false-matches 0.9: expected more than" in said(*texts_, "--false-matches", 0.9)
    path.write_text("\n".join(found[:20] * 3) + "\n")
    assert "20 different texts; expected at least 50" in said(*texts_, *share)
    assert (model / "matcher.json").read_bytes() == before


def test_a_classifier_without_vectors_is_not_calibrated_by_texts(folder, capfd):
    path, _ = stored_texts(folder, 40)
    named = ("--texts", path, "--false-matches", 0.1)
    said = refused(capfd, "calibrate", small_matcher.model_directory(), *named, "--force")
    assert "gives no vectors of texts; give --data" in said


def test_three_classes_are_refused(model):
    with pytest.raises(ValueError, match="two classes"):
        load_pair_network(model, num_labels=3)
