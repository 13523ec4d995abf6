"""Promise: the score is the probability that two texts match, whatever order a model has its classes in."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers

from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_export.pipeline.card import artefact_card
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.verification.accuracy_budget import accuracy
from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_models import MatcherSettings
from mobilebert_models.loading.labels import positive_index
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.matcher import Matcher
from tests.conftest import ROOT
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs

PAIRS = toy_pairs(12)[0]


def directory(folder, names, outputs=None, positions=64):
    """A model directory of `transformers`, of random weights, with these class names; None: unnamed."""
    config = transformers.BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
        num_labels=outputs or len(names or "01"),
        initializer_range=0.4,  # probabilities that differ from pair to pair
    )
    if names:
        config.id2label = dict(enumerate(names))
        config.label2id = {name: i for i, name in enumerate(names)}
    torch.manual_seed(0)
    network = transformers.BertForSequenceClassification(config)
    network.save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer.json"):
        shutil.copyfile(MINILM / name, folder / name)
    return folder


def probabilities_of(folder, name):
    """What the pipeline of `transformers` says of one class, by its name."""
    classify = transformers.pipeline(
        "text-classification",
        model=transformers.AutoModelForSequenceClassification.from_pretrained(folder),
        tokenizer=transformers.BertTokenizerFast(tokenizer_file=str(folder / "tokenizer.json")),
        top_k=None,
    )
    answers = [classify({"text": a, "text_pair": b}) for a, b in PAIRS]
    return np.array([{one["label"]: one["score"] for one in answer}[name] for answer in answers])


def card_of(folder, positive=None):
    request = ExportRequest(out=folder / "out", model=str(folder), seq_len=64)
    model = load_model(str(folder), positive=positive)
    return artefact_card(model, request.recipe(), request.card_buckets(model.longest))


@pytest.mark.parametrize(
    ("names", "positive"),
    [
        (("duplicate", "not_duplicate"), "duplicate"),
        (("not_duplicate", "duplicate"), "duplicate"),
        (("non-paraphrase", "Paraphrase"), "Paraphrase"),
        (("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), "ENTAILMENT"),
        (("not_entailment", "entailment"), "entailment"),
        (("is duplicate", "is not duplicate"), "is duplicate"),
    ],
)
def test_the_positive_class_is_found_by_its_name(names, positive, tmp_path):
    folder = directory(tmp_path, names)
    card = card_of(folder)
    assert card.labels == names
    assert names[card.positive] == positive
    expected = probabilities_of(folder, positive)
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(open_scorer(str(folder), 1).score(PAIRS), expected, atol=1e-5)


def test_an_artefact_whose_first_class_is_the_match_scores_as_the_pipeline_does(tmp_path):
    folder, out = directory(tmp_path / "model", ("duplicate", "not_duplicate")), tmp_path / "artefact"
    export(ExportRequest(out=out, model=str(folder), target="onnx", quant="none", seq_len=64, buckets=(64,)))
    written = json.loads((out / "io.json").read_text())
    assert (written["labels"], written["positive"]) == (["duplicate", "not_duplicate"], 0)
    expected = probabilities_of(folder, "duplicate")
    np.testing.assert_allclose(Matcher.load(out).score(PAIRS), expected, atol=1e-4)
    # In labelled pairs 1 is a match, whatever the number of the class that means one.
    labels = (expected >= written["threshold"]).astype(np.int64)
    assert 0 < labels.sum() < len(labels)
    assert accuracy(out, LabelledPairs(PAIRS, labels)) == 100
    assert accuracy(out, LabelledPairs(PAIRS, 1 - labels)) == 0
    with pytest.raises(OptionError, match="was made for 'duplicate'"):
        open_scorer(str(out), 1, positive="not_duplicate")


def test_names_that_do_not_say_which_class_matches_need_an_answer(tmp_path):
    asked = (None, ("LABEL_0", "LABEL_1"), ("NEGATIVE", "POSITIVE"), ("duplicate", "same"))
    for number, names in enumerate(asked):
        folder = directory(tmp_path / str(number), names)
        listed = ", ".join(names or ("LABEL_0", "LABEL_1"))
        with pytest.raises(
            OptionError, match=rf"2 labels \({listed}\), .*; a matcher's class names in config.json"
        ):
            card_of(folder)
        with pytest.raises(OptionError, match=rf"the classes \({listed}\) .*; name them in config.json"):
            MatcherSettings.load(folder)
        with pytest.raises(OptionError, match=f"--positive 'match': the classes are {listed}"):
            card_of(folder, "match")
        for index, name in enumerate(listed.split(", ")):
            assert card_of(folder, name).positive == index


def test_our_own_directories_keep_what_matcher_json_says(tmp_path):
    folder = directory(tmp_path, ("LABEL_0", "LABEL_1"))
    MatcherSettings(threshold=0.3).save(folder)
    card = card_of(folder)
    assert (card.labels, card.positive, card.threshold) == (("different", "same"), 1, 0.3)
    assert card_of(folder, "same") == card
    with pytest.raises(OptionError, match="was fitted for 'same'"):
        card_of(folder, "different")


def test_class_names_that_do_not_fit_the_classifier_are_refused(tmp_path):
    folder = directory(tmp_path, ("different", "same"))
    config = json.loads((folder / "config.json").read_text())
    for given, message in (
        ({"0": "a", "1": "same", "2": "b"}, "config.json names 3 labels, the classifier has 2"),
        ({"0": "same", "1": "same"}, "does not name every class from 0 up, each differently"),
        ({"1": "a", "2": "same"}, "does not name every class from 0 up, each differently"),
        ("same", "no class names can be read"),
    ):
        (folder / "config.json").write_text(json.dumps(config | {"id2label": given}))
        with pytest.raises(ModelError, match=message):
            card_of(folder)


def test_a_model_that_takes_fewer_tokens_than_the_default_needs_no_length(tmp_path):
    model = str(directory(tmp_path / "model", ("different", "same"), positions=96))
    request = ExportRequest(out=tmp_path / "out", model=model)
    loaded = load_model(model)
    assert artefact_card(loaded, request.recipe(), request.card_buckets(loaded.longest)).seq_len == 96


def test_the_example_asks_which_of_unnamed_classes_matches(tmp_path):
    """`examples/export_your_model.py` ends in one line, before any work."""
    model = directory(tmp_path / "model", None)
    command = [sys.executable, ROOT / "examples/export_your_model.py", model, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "LABEL_0, LABEL_1" in done.stderr
    assert "which class means a match" in done.stderr
    assert not (tmp_path / "out").exists()


def test_negations_are_not_their_positive():
    for name in (
        "not_duplicate",
        "non-paraphrase",
        "unrelated",
        "not equivalent",
        "dissimilar",
        "no",
        "false",
    ):
        with pytest.raises(OptionError):
            positive_index((name, "other"))
