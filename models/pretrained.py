"""Model directories in Hugging Face's layout: config.json, model.safetensors, vocab.txt, tokenizer.json.

A matcher's directory also holds matcher.json: labels, decision threshold, temperature.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import replacing_folder
from models import albert
from models.config import EncoderConfig
from models.heads import PairClassifier, PretrainingHead, SpanQA, build
from models.labels import positive_index, read_labels

TOKENIZER_FILES = ("vocab.txt", "tokenizer.json")
SENTENCEPIECE_FILE = "spiece.model"  # in the place of vocab.txt
# `transformers` calls a class by the family's name and the head's.
_FAMILIES = {"bert": "Bert", "mobilebert": "MobileBert", "albert": "Albert"}
_HEADS = {
    PairClassifier: "ForSequenceClassification",
    PretrainingHead: "ForPreTraining",
    SpanQA: "ForQuestionAnswering",
}


@dataclass(frozen=True)
class MatcherSettings:
    """How a pair classifier's logits become a decision; lies beside the weights as matcher.json."""

    labels: tuple[str, ...] = ("different", "same")
    # Index of the label whose probability is the score.
    positive: int = 1
    # Smallest score that counts as a match, chosen on development data.
    threshold: float = 0.5
    # Logits are divided by it before the softmax (Guo et al. 2017), fitted on development data.
    temperature: float = 1.0
    # Added to the positive label's log-odds: the JSON object of the runtime's `LengthShift`.
    length_shift: dict[str, list[float]] | None = None

    def __post_init__(self) -> None:
        if self.length_shift is not None:
            sizes = {name: len(values) for name, values in self.length_shift.items()}
            if sizes != {"quartiles": 3, "added": 4}:
                raise ValueError(f"length_shift has {sizes}, not three quartiles and four numbers to add")

    @classmethod
    def load(cls, directory: Path, positive: str | None = None) -> MatcherSettings:
        """Read matcher.json; a directory without one has the classes that its config.json names.

        Args:
            directory: of the model.
            positive: name of the label that means a match, where its name does not say so.

        Raises:
            ModelError: a file cannot be read.
            OptionError: `positive` is no label or not that of matcher.json, or is needed and missing.
        """
        path = Path(directory) / "matcher.json"
        if not path.is_file():
            labels = read_labels(Path(directory))
            try:
                return cls(labels, positive_index(labels, positive))
            except OptionError as error:
                raise OptionError(f"{directory}: {error}") from None
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            found = cls(**(values | {"labels": tuple(values["labels"])}))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError(f"{path}: not a matcher.json ({error}); retrain or restore it") from error
        if positive not in (None, found.labels[found.positive]):
            raise OptionError(
                f"--positive {positive!r}: {path} was fitted for {found.labels[found.positive]!r}"
            )
        return found

    def save(self, directory: Path) -> None:
        """Write matcher.json."""
        self.write(Path(directory) / "matcher.json")

    def write(self, path: Path) -> None:
        """Write what `load` reads, under another name."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


# Matchers that come with the project, the one that "shipped" means first.
SHIPPED_MATCHERS = ("matcher-m", "matcher-s")


def shipped_directory(name: str = SHIPPED_MATCHERS[0]) -> Path:
    """The directory of a matcher that comes with the project."""
    return Path(__file__).parent / "shipped" / name


def load_pretrained(directory: str | Path, *, num_labels: int | None = None, seed: int = 0) -> nn.Module:
    """Load a directory of ours or of `transformers` (bert, albert, mobilebert), in eval mode and float32.

    The head follows from the tensors in the file. With `num_labels` a bare encoder gets a fresh pair
    classifier (and a fresh pooler where the file has none), drawn from `seed`.

    Raises:
        ModelError: files are missing, damaged, or their tensors do not fit the config.
    """
    directory = Path(directory)
    config = read_config(directory)
    tensors = _read_tensors(directory / "model.safetensors", config)
    try:
        model = _empty_model(config, tensors, num_labels, seed)
    except ModelError as error:
        raise ModelError(f"{directory / 'config.json'}: {error}") from error
    expected = dict(model.named_parameters())  # a tensor that layers share has one name here
    fresh = {
        k for k in expected if num_labels is not None and k.startswith(("classifier.", "encoder.pooler."))
    }
    missing = sorted(expected.keys() - tensors.keys() - fresh)
    if missing:
        raise ModelError(
            f"{directory}: model.safetensors lacks {len(missing)} tensors, the first {missing[0]!r}; "
            "is config.json of another model?"
        )
    for name in expected.keys() & tensors.keys():
        if expected[name].shape != tensors[name].shape:
            raise ModelError(
                f"{directory}: tensor {name!r} has shape {tuple(tensors[name].shape)}, "
                f"config.json asks for {tuple(expected[name].shape)}"
            )
    with torch.no_grad():
        for name, parameter in expected.items():
            parameter.copy_(tensors.get(name, parameter))
    return model.eval()


def read_config(directory: str | Path) -> EncoderConfig:
    """The config of a model directory, without its weights.

    Raises:
        ModelError: config.json is missing, damaged, or not of one of our networks.
    """
    path = Path(directory) / "config.json"
    if not path.is_file():
        raise ModelError(f"{path}: no such file; a model directory needs config.json and model.safetensors")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return EncoderConfig.from_dict(values)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{path}: not a model config ({error})") from error


def load_classifier(directory: str | Path, *, num_labels: int | None = None, seed: int = 0) -> PairClassifier:
    """`load_pretrained` of a directory that must hold a pair classifier.

    Raises:
        ModelError: as there, or the directory holds an encoder without a classifier or another head.
    """
    model = load_pretrained(directory, num_labels=num_labels, seed=seed)
    if not isinstance(model, PairClassifier):
        raise ModelError(
            f"{directory}: holds a {type(model).__name__}, not a pair classifier; use train-matcher"
        )
    return model


def save_pretrained(
    model: nn.Module,
    directory: str | Path,
    *,
    tokenizer_from: str | Path | None = None,
    settings: MatcherSettings | None = None,
    half: bool = False,
) -> None:
    """Write a model directory that we and `transformers` load; an existing one is replaced at the end.

    Args:
        model: an encoder or one of the heads.
        directory: where to.
        tokenizer_from: directory whose vocab.txt (or spiece.model) and tokenizer.json are copied.
        settings: decision settings of a matcher.
        half: store float16.

    Raises:
        ModelError: `tokenizer_from` lacks a tokenizer file.
    """
    with replacing_folder(Path(directory)) as partial:
        _write(model, partial, half)
        if tokenizer_from is not None:
            _copy_tokenizer(Path(tokenizer_from), partial)
        if settings is not None:
            settings.save(partial)


def _copy_tokenizer(source: Path, directory: Path) -> None:
    pieces = (source / SENTENCEPIECE_FILE).is_file()
    for name in (SENTENCEPIECE_FILE, "tokenizer.json") if pieces else TOKENIZER_FILES:
        if not (source / name).is_file():
            raise ModelError(
                f"{source / name}: no such file; a model directory needs vocab.txt and tokenizer.json"
            )
        shutil.copyfile(source / name, directory / name)


def _write(model: nn.Module, directory: Path, half: bool) -> None:
    config = cast(EncoderConfig, model.config)
    values: dict[str, Any] = config.to_dict()
    values["architectures"] = [_FAMILIES[config.model_type] + _HEADS.get(type(model), "Model")]
    if isinstance(model, PairClassifier):
        values["id2label"] = {str(i): f"LABEL_{i}" for i in range(model.num_labels)}
        values["label2id"] = {f"LABEL_{i}": i for i in range(model.num_labels)}
    (directory / "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    tensors = {
        _published_name(k, config): v.detach()
        .to("cpu", torch.float16 if half else torch.float32)
        .contiguous()
        for k, v in model.named_parameters()  # what layers share is written once
    }
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "model.safetensors").chmod(0o644)  # safetensors makes it readable by its owner only


def _published_name(name: str, config: EncoderConfig) -> str:
    """Our heads hold their backbone as `encoder.`; published ones as `bert.`, `albert.` or `mobilebert.`."""
    head, _, rest = name.partition(".")
    inside_head = head == "encoder" and not rest.startswith("layer.")
    prefix, inner = (f"{config.model_type}.", rest) if inside_head else ("", name)
    return prefix + (albert.published_name(inner, config) if config.model_type == "albert" else inner)


def _read_tensors(path: Path, config: EncoderConfig) -> dict[str, Tensor]:
    if not path.is_file():
        raise ModelError(f"{path}: no such file; a model directory needs config.json and model.safetensors")
    try:
        raw = load_file(path)
    except SafetensorError as error:
        raise ModelError(f"{path}: damaged or truncated ({error}); fetch or train it again") from error
    tensors = {}
    for name, tensor in raw.items():
        # Checkpoints converted from TensorFlow call a norm's scale gamma and its shift beta.
        ours = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        prefix = f"{config.model_type}."
        outer, inner = ("encoder.", ours.removeprefix(prefix)) if ours.startswith(prefix) else ("", ours)
        tensors[outer + (albert.our_name(inner, config) if config.model_type == "albert" else inner)] = tensor
    return tensors


def _empty_model(
    config: EncoderConfig, tensors: dict[str, Tensor], num_labels: int | None, seed: int
) -> nn.Module:
    bare = any(name.startswith("embeddings.word_embeddings.") for name in tensors)
    if bare and num_labels is not None:
        for name in list(tensors):
            tensors[f"encoder.{name}"] = tensors.pop(name)
        return build(config, "pair_classifier", num_labels, seed)
    if bare:
        return build(config, None, seed=seed)
    if "classifier.weight" in tensors:
        return build(config, "pair_classifier", tensors["classifier.weight"].shape[0], seed)
    if "qa_outputs.weight" in tensors:
        return build(config, "span_qa", seed=seed)
    return build(config, "pretraining", seed=seed)
