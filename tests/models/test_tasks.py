"""Promise: what a model is for is read from its files; where they do not say, the user is asked."""

import json

import pytest

from mobilebert_models import MatcherSettings, read_task
from mobilebert_models.loading.sentence_modules import DenseLayer, SentenceModules
from mobilebert_runtime.errors import ModelError, OptionError

SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"


def directory(folder, architecture, labels=None, **config):
    """A model directory without weights."""
    values = {"model_type": "bert", "architectures": [architecture]} | config
    if labels:
        values["id2label"] = {str(i): name for i, name in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def classifier(folder, labels, **config):
    return directory(folder, "BertForSequenceClassification", labels, **config)


def facts(found):
    return found.name, found.texts, found.labels, found.activation


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (("duplicate", "not_duplicate"), 0),
        (("LABEL_0", "paraphrase"), 1),
        (("contradiction", "entailment", "neutral"), 1),
    ],
)
def test_one_class_name_that_says_match_makes_a_matcher(labels, positive, tmp_path):
    found = read_task(classifier(tmp_path, labels))
    assert facts(found) == ("text-matching", 2, labels, "softmax")
    assert (found.settings.positive, found.settings.threshold) == (positive, 0.5)


@pytest.mark.parametrize(
    "labels",
    [("NEGATIVE", "POSITIVE"), ("no", "yes"), ("0", "1"), None, ("same", "equal"), ("a", "b", "c"), ("a",)],
)
def test_names_that_do_not_say_it_are_asked_about(labels, tmp_path):
    folder = classifier(tmp_path, labels)
    with pytest.raises(OptionError, match="do not say whether it reads one text or a pair"):
        read_task(folder)
    shown = labels or ("LABEL_0", "LABEL_1")
    activation = "sigmoid" if len(shown) == 1 else "softmax"
    for texts in (1, 2):
        found = read_task(folder, task="text-classification", texts=texts)
        assert facts(found) == ("text-classification", texts, shown, activation)
    assert read_task(folder, texts=1).name == "text-classification"
    assert read_task(folder, task="text-matching", positive=shown[0]).settings.positive == 0
    assert read_task(folder, positive=shown[-1]).name == "text-matching"


def test_an_answer_means_a_match_where_the_user_says_it_is_a_matcher(tmp_path):
    assert read_task(classifier(tmp_path, ("no", "yes")), task="text-matching").settings.positive == 1
    with pytest.raises(OptionError, match="do not say which one means a match"):
        read_task(classifier(tmp_path, ("NEGATIVE", "POSITIVE")), task="text-matching")


@pytest.mark.parametrize(
    ("problem", "labels", "activation"),
    [
        ("regression", ("score",), "identity"),
        ("regression", ("x", "y"), "identity"),
        ("multi_label_classification", ("a", "b"), "sigmoid"),
        ("single_label_classification", ("a", "b"), "softmax"),
        (None, ("a",), "sigmoid"),
    ],
)
def test_the_activation_is_that_of_the_problem_type(problem, labels, activation, tmp_path):
    folder = classifier(tmp_path, labels, problem_type=problem)
    found = read_task(folder, task="text-classification", texts=1)
    assert facts(found) == ("text-classification", 1, labels, activation)


def test_one_logit_may_be_a_matcher(tmp_path):
    found = read_task(classifier(tmp_path, ("x",), problem_type="regression"), task="text-matching")
    assert (found.activation, found.settings.threshold) == ("identity", 0.0)
    found = read_task(classifier(tmp_path, ("x",)), task="text-matching")
    assert (found.activation, found.settings.threshold, found.settings.positive) == ("sigmoid", 0.5, 0)


@pytest.mark.parametrize(
    ("settings", "activation"),
    [
        ({"sentence_transformers": {"activation_fn": SIGMOID}}, "sigmoid"),
        ({"sentence_transformers": {"activation_fn": IDENTITY}}, "identity"),
        ({"sentence_transformers": {"version": "4.1.0"}}, "sigmoid"),
        ({"sbert_ce_default_activation_function": IDENTITY}, "identity"),
    ],
)
def test_a_cross_encoder_of_one_logit_is_a_matcher(settings, activation, tmp_path):
    found = read_task(classifier(tmp_path, ("LABEL_0",), **settings))
    assert facts(found) == ("text-matching", 2, ("LABEL_0",), activation)


def test_a_cross_encoder_of_several_logits_classifies_pairs(tmp_path):
    folder = classifier(tmp_path, ("contradiction", "entailment"), sentence_transformers={"version": "4"})
    assert facts(read_task(folder))[:2] == ("text-classification", 2)
    assert read_task(folder, task="text-matching").settings.positive == 1


def test_the_activation_of_several_logits_is_the_one_that_files_name(tmp_path):
    folder = classifier(tmp_path, ("a", "b", "c"), sentence_transformers={"activation_fn": SIGMOID})
    assert read_task(folder).activation == "sigmoid"
    with pytest.raises(OptionError, match="gives each of its labels a probability of its own"):
        read_task(folder, task="text-matching", positive="a")


@pytest.mark.parametrize("name", ["torch.nn.modules.activation.Tanh", "mine.Identity", "Sigmoid"])
def test_an_activation_that_the_library_does_not_apply_is_refused(name, tmp_path):
    folder = classifier(tmp_path, ("x",), sentence_transformers={"activation_fn": name})
    with pytest.raises(ModelError, match=r"activation_fn is .* not supported; expected Identity, Sigmoid"):
        read_task(folder)


def test_a_softmax_of_one_logit_is_refused(tmp_path):
    named = {"activation_fn": "torch.nn.modules.activation.Softmax"}
    folder = classifier(tmp_path, ("x",), sentence_transformers=named)
    with pytest.raises(ModelError, match="which makes its one logit 1 for every pair"):
        read_task(folder)


def test_a_matcher_of_ours_is_what_matcher_json_says(tmp_path):
    folder = classifier(tmp_path, ("LABEL_0", "LABEL_1"))
    MatcherSettings(threshold=0.3).save(folder)
    found = read_task(folder)
    assert facts(found) == ("text-matching", 2, ("different", "same"), "softmax")
    assert found.settings.threshold == 0.3
    with pytest.raises(OptionError, match="is a model for text-matching"):
        read_task(folder, task="text-classification")


def test_heads_of_tokens_and_spans_say_what_they_are(tmp_path):
    folder = directory(tmp_path, "ElectraForTokenClassification", ("O", "PER"))
    assert facts(read_task(folder)) == ("token-classification", 1, ("O", "PER"), "softmax")
    with pytest.raises(OptionError, match=r"--texts 2: .* is a model for token-classification and reads 1"):
        read_task(folder, texts=2)
    folder = directory(tmp_path, "RobertaForQuestionAnswering")
    assert facts(read_task(folder)) == ("question-answering", 2, (), None)
    with pytest.raises(OptionError, match=r"--task text-matching: .* is a model for question-answering"):
        read_task(folder, task="text-matching")
    with pytest.raises(OptionError, match=r"--positive 'x': .* is a model for question-answering"):
        read_task(folder, positive="x")


@pytest.mark.parametrize("name", ["BertForMaskedLM", "BertModel", "GPT2LMHeadModel", "BertForMultipleChoice"])
def test_another_head_is_named_with_what_is_supported(name, tmp_path):
    with pytest.raises(ModelError, match=rf"holds the architecture '{name}' .*; supported are classifiers"):
        read_task(directory(tmp_path, name))


def embedder(folder, kinds, pooling, dense=None):
    rows = [
        {
            "idx": i,
            "path": "" if kind == "Transformer" else f"{i}_{kind}",
            "type": f"sentence_transformers.{kind}",
        }
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(rows))
    for i, kind in enumerate(kinds[1:], start=1):
        values = pooling if kind == "Pooling" else dense or {}
        (folder / f"{i}_{kind}").mkdir(exist_ok=True)
        (folder / f"{i}_{kind}" / "config.json").write_text(json.dumps(values))
    return directory(folder, "BertModel")


def test_modules_of_sentence_transformers_make_an_embedder(tmp_path):
    dense = {"in_features": 8, "out_features": 4, "activation_function": IDENTITY}
    old = {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": False}
    folder = embedder(tmp_path, ["Transformer", "Pooling", "Dense", "Normalize"], old, dense)
    layer = DenseLayer(folder / "2_Dense", 8, 4, bias=True, activation="identity")
    found = read_task(folder)
    assert (found.name, found.texts) == ("sentence-embedding", 1)
    assert found.modules == SentenceModules(("cls", "max"), (layer,), normalized=True)
    folder = embedder(tmp_path, ["Transformer", "Pooling"], {"pooling_mode": "mean"})
    assert read_task(folder).modules == SentenceModules(("mean",))


@pytest.mark.parametrize(
    ("kinds", "pooling", "message"),
    [
        (
            ["Transformer", "Pooling"],
            {"pooling_mode": "lasttoken"},
            "pooling by lasttoken; supported are cls",
        ),
        (["Transformer", "Pooling"], {}, "pooling by nothing"),
        (
            ["Transformer", "Pooling", "LSTM"],
            {"pooling_mode": "cls"},
            "Transformer, Pooling, LSTM; supported",
        ),
        (
            ["Transformer", "Pooling", "Normalize", "Dense"],
            {"pooling_mode": "cls"},
            "Normalize is not the last",
        ),
    ],
)
def test_modules_that_are_not_supported_are_named(kinds, pooling, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        read_task(embedder(tmp_path, kinds, pooling))


def test_what_the_user_says_is_checked(tmp_path):
    folder = classifier(tmp_path, ("different", "same"))
    with pytest.raises(OptionError, match="--task 'matching' is unknown; expected one of text-matching"):
        read_task(folder, task="matching")
    with pytest.raises(OptionError, match=r"--texts 3: expected 1 or 2"):
        read_task(folder, texts=3)
    with pytest.raises(OptionError, match=r"--texts 1: .* is a model for text-matching and reads 2"):
        read_task(folder, task="text-matching", texts=1)
