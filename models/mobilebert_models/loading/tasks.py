"""What a model directory is for: its task, found in its files, never guessed.

matcher.json                        → text-matching
a CrossEncoder's folder             → text-matching (one logit) or text-classification of pairs
modules.json with a pooling         → sentence-embedding
…ForTokenClassification             → token-classification
…ForQuestionAnswering               → question-answering
…ForSequenceClassification          → by its class names or by what the user says
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mobilebert_models.loading.labels import match_indices, positive_index, read_labels
from mobilebert_models.loading.matcher_settings import MatcherSettings
from mobilebert_models.loading.sentence_modules import (
    CrossEncoderSettings,
    SentenceModules,
    encoder_directory,
    read_cross_encoder,
    read_object,
    read_sentence_modules,
)
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TASKS,
    TOKEN_CLASSIFICATION,
)
from mobilebert_runtime.errors import ModelError, OptionError

# Endings of `architectures` in config.json, and the tasks that such a network can do.
_HEADS: dict[str, tuple[str, ...]] = {
    "ForSequenceClassification": (MATCHING, CLASSIFICATION),
    "ForTokenClassification": (TOKEN_CLASSIFICATION,),
    "ForQuestionAnswering": (QUESTION_ANSWERING,),
}
_SUPPORTED = (
    "classifiers of texts, of pairs and of tokens, span question answering, and sentence-transformers folders"
)


@dataclass(frozen=True)
class ModelTask:
    """What a model does, and how its outputs are read."""

    name: str  # of `TASKS`
    texts: int  # of one input: 1 or 2
    labels: tuple[str, ...] = ()  # in the order of the logits; none for answers and embeddings
    activation: str | None = None  # "softmax", "sigmoid" or "identity", where there are labels
    settings: MatcherSettings | None = None  # of text-matching
    modules: SentenceModules | None = None  # of sentence-embedding


def read_task(
    directory: Path, *, task: str | None = None, texts: int | None = None, positive: str | None = None
) -> ModelTask:
    """The task of a model directory.

    Args:
        directory: of the model.
        task: what the user says it is; needed where a classifier's files do not say what it classifies.
        texts: how many texts an input has, as the user says.
        positive: class that means a match, as the user says.

    Raises:
        ModelError: a kind of model that is not supported, or damaged files.
        OptionError: what the user says contradicts the files, or is needed and missing.
    """
    directory = Path(directory)
    if task is not None and task not in TASKS:
        raise OptionError(f"--task {task!r} is unknown; expected one of {', '.join(TASKS)}")
    if texts not in (None, 1, 2):
        raise OptionError(f"--texts {texts}: expected 1 or 2")
    found = _find(directory, task, texts, positive)
    if texts not in (None, found.texts):
        raise OptionError(f"--texts {texts}: {directory} is a model for {found.name} and reads {found.texts}")
    if positive is not None and found.name != MATCHING:
        raise OptionError(f"--positive {positive!r}: {directory} is a model for {found.name}")
    return found


def _find(directory: Path, task: str | None, texts: int | None, positive: str | None) -> ModelTask:
    if (directory / "matcher.json").is_file():
        _require(directory, task, (MATCHING,))
        saved = MatcherSettings.load(directory, positive)
        activation = "softmax" if len(saved.labels) > 1 else "sigmoid"
        return ModelTask(MATCHING, 2, saved.labels, activation, saved)
    if (modules := read_sentence_modules(directory)) is not None:
        _require(directory, task, (EMBEDDING,))
        return ModelTask(EMBEDDING, 1, modules=modules)
    if (settings := read_cross_encoder(directory)) is not None:
        _require(directory, task, (MATCHING, CLASSIFICATION))
        return _cross_encoder(directory, settings, task, positive)
    return _by_head(directory, task, texts, positive)


def _cross_encoder(
    directory: Path, settings: CrossEncoderSettings, task: str | None, positive: str | None
) -> ModelTask:
    labels = read_labels(encoder_directory(directory))
    named = settings.activation
    if len(labels) > 1:
        if named == "sigmoid" and task == MATCHING:
            raise OptionError(f"--task {task}: {directory} gives each of its labels a probability of its own")
        # Identity is what the library names where nothing was asked for: logits, read by their softmax.
        activation = "sigmoid" if named == "sigmoid" else "softmax"
        return _classifier(labels, task or CLASSIFICATION, 2, activation, positive)
    if named == "softmax":
        raise ModelError(f"{directory}: activation_fn is Softmax, which makes its one logit 1 for every pair")
    # What sentence-transformers does with one logit unless it is told otherwise.
    return _classifier(labels, task or MATCHING, 2, named or "sigmoid", positive)


def _by_head(directory: Path, task: str | None, texts: int | None, positive: str | None) -> ModelTask:
    config = read_object(directory / "config.json")
    head = _head(directory, config)
    _require(directory, task, _HEADS[head])
    if head == "ForQuestionAnswering":
        return ModelTask(QUESTION_ANSWERING, 2)
    labels = read_labels(directory)
    if head == "ForTokenClassification":
        return ModelTask(TOKEN_CLASSIFICATION, 1, labels, "softmax")
    return _sequence_classifier(directory, labels, config.get("problem_type"), task, texts, positive)


def _head(directory: Path, config: dict[str, object]) -> str:
    """The head that config.json names, a key of `_HEADS`."""
    if not config:
        raise ModelError(
            f"{directory / 'config.json'}: no such file; a model directory needs config.json and "
            "model.safetensors"
        )
    named = config.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else "unnamed"
    head = next((ending for ending in _HEADS if name.endswith(ending)), None)
    if head is None:
        raise ModelError(
            f"{directory}: holds the architecture {name!r} of model_type {config.get('model_type')!r}, "
            f"which has no supported head; supported are {_SUPPORTED}"
        )
    return head


def _require(directory: Path, task: str | None, possible: Sequence[str]) -> None:
    if task is not None and task not in possible:
        raise OptionError(f"--task {task}: {directory} is a model for {' or '.join(possible)}")


def _sequence_classifier(
    directory: Path,
    labels: tuple[str, ...],
    problem: object,
    task: str | None,
    texts: int | None,
    positive: str | None,
) -> ModelTask:
    activation = _activation(directory, labels, problem)
    if task is None and problem != "multi_label_classification":
        says_match = len(labels) > 1 and len(match_indices(labels)) == 1
        if texts == 1:
            task = CLASSIFICATION
        elif positive is not None or says_match:
            task = MATCHING
    if task == MATCHING and activation == "sigmoid" and len(labels) > 1:
        raise OptionError(f"--task {task}: {directory} gives each of its labels a probability of its own")
    if task == MATCHING:
        return _within(directory, labels, task, activation, positive)
    if task == CLASSIFICATION and texts is not None:
        return ModelTask(CLASSIFICATION, texts, labels, activation)
    error = OptionError(
        f"{directory}: a classifier of {_listed(labels)}, whose files do not say whether it reads one text "
        f"or a pair, and which class means a match; a matcher's class names in config.json (id2label) say so"
    )
    raise error.or_with(
        f"say it ({CLASSIFICATION} of 1 or 2 texts, or {MATCHING})", "--task", "--texts", "--positive"
    )


def _within(
    directory: Path, labels: tuple[str, ...], task: str, activation: str, positive: str | None
) -> ModelTask:
    """`_classifier` of pairs, with the directory in front of its errors."""
    try:
        return _classifier(labels, task, 2, activation, positive)
    except OptionError as error:
        raise OptionError(f"{directory}: {error}") from None


def _classifier(
    labels: tuple[str, ...], task: str, texts: int, activation: str, positive: str | None
) -> ModelTask:
    if task == CLASSIFICATION:
        return ModelTask(task, texts, labels, activation)
    index = positive_index(labels, positive) if len(labels) > 1 or positive is not None else 0
    # Of a logit by itself: where its sigmoid is a half.
    settings = MatcherSettings(labels, index, threshold=0.0 if activation == "identity" else 0.5)
    return ModelTask(task, texts, labels, activation, settings)


def _activation(directory: Path, labels: tuple[str, ...], problem: object) -> str:
    """How the text-classification pipeline of `transformers` reads the logits."""
    if problem == "regression":
        return "identity"
    if problem == "multi_label_classification" or len(labels) == 1:
        return "sigmoid"
    if problem in (None, "single_label_classification"):
        return "softmax"
    raise ModelError(
        f"{directory / 'config.json'}: problem_type is {problem!r}; expected regression, "
        "single_label_classification or multi_label_classification"
    )


def _listed(labels: tuple[str, ...]) -> str:
    shown = ", ".join(labels[:5]) + (", …" if len(labels) > 5 else "")
    return f"{len(labels)} label{'s' * (len(labels) > 1)} ({shown})"
