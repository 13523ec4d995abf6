"""Model directories in Hugging Face's layout: config.json, model.safetensors, vocab.txt, tokenizer.json.

A matcher's directory also holds matcher.json: labels, decision threshold, temperature.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.loading.checkpoint_names import our_tensors, published_tensors
from mobilebert_models.loading.matcher_settings import MatcherSettings
from mobilebert_models.loading.sentence_modules import read_object
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.heads import PairClassifier, PretrainingHead, SpanQA, TokenClassifier, build
from mobilebert_models.networks.layers import Encoder
from mobilebert_models.weights.eight_bit import pack, unpack
from mobilebert_models.weights.word_codes import looks_coded
from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import parse_json, replacing_folder
from mobilebert_runtime.tokenizer_kinds import CONFIG_FILE, CONFIG_FILES, read_settings

ADDED_TOKENS_FILE = "added_tokens.json"
TOKENIZER_FILES = ("vocab.txt", "tokenizer.json")
# Weights of the file that a network may leave: a pooler that its head does not read, places and types of
# tokens in order, absolute positions of a DeBERTa without them, and the output table of a pretraining head,
# which is its word embeddings.
_SPARE = re.compile(
    r"(encoder\.)?(pooler\.dense\.(weight|bias)"
    r"|embeddings\.(position_ids|token_type_ids|position_embeddings\.weight))"
    r"|cls\.predictions\.decoder\.(weight|bias)"
)
_COUNTS = ("num_hidden_layers", "num_feedforward_networks")
_SIZES = ("vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings")
_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_WORDS = "word_embeddings.weight"
_LAYER = re.compile(r"\.layer\.(\d+)\.")
SENTENCEPIECE_FILE = "spiece.model"  # in the place of vocab.txt
# `transformers` calls a class by the family's name and the head's.
_FAMILIES = {
    "bert": "Bert",
    "mobilebert": "MobileBert",
    "albert": "Albert",
    "distilbert": "DistilBert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "electra": "Electra",
    "mpnet": "MPNet",
    "modernbert": "ModernBert",
    "deberta-v2": "DebertaV2",
}
_HEADS: dict[type[nn.Module], str] = {
    PairClassifier: "ForSequenceClassification",
    PretrainingHead: "ForPreTraining",
    SpanQA: "ForQuestionAnswering",
    TokenClassifier: "ForTokenClassification",
    EmbeddingMatcher: "EmbeddingMatcher",
}


# Matchers that come with the project; "shipped" means the first.
SHIPPED_MATCHERS = ("matcher-open-m", "matcher-open-s", "matcher-qqp-m", "matcher-qqp-s")


def shipped_directory(name: str = SHIPPED_MATCHERS[0]) -> Path:
    """The directory of a matcher that comes with the project."""
    return Path(__file__).parents[1] / "shipped" / name


def load_pretrained(directory: str | Path, *, num_labels: int | None = None, seed: int = 0) -> nn.Module:
    """Load a directory of ours or of `transformers` (`config.MODEL_TYPES`), in eval mode and float32.

    Word embeddings that are product codes (`mobilebert_models.weights.word_codes`) are not trained any
    further.

    The head follows from the tensors in the file and from `architectures` in config.json. With `num_labels` a
    bare encoder gets a fresh pair classifier (and a fresh pooler where the file has none), drawn from `seed`;
    so does the encoder of a pretraining head.

    Raises:
        ModelError: files are missing, damaged, or their tensors do not fit the config.
    """
    directory = Path(directory)
    config = read_config(directory)
    named = read_object(directory / "config.json").get("architectures") or [""]
    tensors = _read_tensors(directory / "model.safetensors", config)
    _check_sizes(directory, config, tensors)
    try:
        model = _empty_model(config, str(named[0]), tensors, num_labels, seed)
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
    layers = {number for name in expected for number in _LAYER.findall(name)}
    if beyond := sorted(name for name in tensors if set(_LAYER.findall(name)) - layers):
        raise ModelError(
            f"{directory}: model.safetensors holds {beyond[0]!r}, a layer that config.json does not "
            "have; correct num_hidden_layers"
        )
    if spare := sorted(name for name in tensors.keys() - expected if not _SPARE.fullmatch(name)):
        raise ModelError(
            f"{directory}: model.safetensors holds {len(spare)} tensors that the network does not take, the "
            f"first {spare[0]!r}; merge an adapter into its model, or leave out what is not needed, and save "
            "it again"
        )
    for name in sorted(expected.keys() & tensors.keys()):
        if tensors[name].dtype not in _DTYPES:
            kind = str(tensors[name].dtype).removeprefix("torch.")
            raise ModelError(f"{directory}: tensor {name!r} is {kind}; save the model in float32 or float16")
        if not tensors[name].isfinite().all():
            raise ModelError(f"{directory}: tensor {name!r} holds NaN or infinity; train or fetch it again")
        if expected[name].shape != tensors[name].shape:
            raise ModelError(
                f"{directory}: tensor {name!r} has shape {tuple(tensors[name].shape)}, "
                f"config.json asks for {tuple(expected[name].shape)}"
            )
    with torch.no_grad():
        for name, parameter in expected.items():
            parameter.copy_(tensors.get(name, parameter))
            if name.endswith(_WORDS) and looks_coded(parameter):
                parameter.requires_grad_(False)
    return model.eval()


def _check_sizes(directory: Path, config: EncoderConfig, tensors: dict[str, Tensor]) -> None:
    """Refuse sizes that no tensor of the file has, before a network of them fills the memory."""
    largest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    wanted = {name: getattr(config, name) for name in _SIZES}
    if config.model_type in ("modernbert", "deberta-v2"):  # whose positions are no table
        del wanted["max_position_embeddings"]
    if config.kronecker:  # its factors are smaller than what they make
        wanted, largest = {}, len(tensors)
    wanted |= {name: getattr(config, name) for name in _COUNTS if getattr(config, name) > len(tensors)}
    name = max(wanted, key=lambda one: wanted[one], default=None)
    if name is not None and wanted[name] > largest:
        raise ModelError(
            f"{directory}: config.json asks for {name} {wanted[name]}, more than any tensor of "
            "model.safetensors has; is it of another model?"
        )


def read_config(directory: str | Path) -> EncoderConfig:
    """The config of a model directory, without its weights.

    Raises:
        ModelError: config.json is missing, damaged, or not of one of our networks.
    """
    path = Path(directory) / "config.json"
    if not path.is_file():
        raise ModelError(f"{path}: no such file; a model directory needs config.json and model.safetensors")
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
        _refuse_quantised(values)
        return EncoderConfig.from_dict(values)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except (ValueError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise ModelError(f"{path}: not a model config ({error})") from error


def _refuse_quantised(values: Any) -> None:
    if isinstance(values, dict) and values.get("quantization_config") is not None:
        raise ModelError("has a quantization_config; save the model with its weights in float")


def load_classifier(directory: str | Path, *, num_labels: int | None = None, seed: int = 0) -> PairClassifier:
    """`load_pretrained` of a directory that must hold a pair classifier.

    Raises:
        ModelError: as there, or the directory holds an encoder without a classifier or another head.
    """
    return _classifier(load_pretrained(directory, num_labels=num_labels, seed=seed), directory)


def load_pair_network(
    directory: str | Path, *, num_labels: int | None = None, seed: int = 0
) -> PairClassifier | EmbeddingMatcher:
    """`load_pretrained` of a directory that must hold a network whose logits decide about pairs.

    Raises:
        ModelError: as there, or the directory holds another network, or an embedding matcher, which tells two
            classes apart, where `num_labels` is another number.
    """
    model = load_pretrained(directory, num_labels=num_labels, seed=seed)
    if not isinstance(model, EmbeddingMatcher):
        return _classifier(model, directory)
    if num_labels not in (None, model.num_labels):
        raise ModelError(
            f"{directory}: an embedding matcher tells two classes apart, not {num_labels}; "
            "start from a pair classifier, such as minilm"
        )
    return model


def _classifier(model: nn.Module, directory: str | Path) -> PairClassifier:
    if not isinstance(model, PairClassifier):
        raise ModelError(
            f"{directory}: holds a {type(model).__name__}, not a pair classifier; "
            "use `mobilebert train-matcher --arch minilm`"
        )
    return model


def save_pretrained(
    model: nn.Module,
    directory: str | Path,
    *,
    tokenizer_from: str | Path | None = None,
    settings: MatcherSettings | None = None,
    half: bool = False,
    eight_bit: bool = False,
    problem_type: str | None = None,
    labels: Sequence[str] = (),
) -> None:
    """Write a model directory that we and `transformers` load; an existing one is replaced at the end.

    Args:
        model: an encoder or one of the heads.
        directory: where to.
        tokenizer_from: directory whose vocab.txt (or spiece.model), tokenizer.json and, where it has them,
            its configs, added_tokens.json and spelling.txt are copied.
        settings: decision settings of a matcher.
        half: store float16.
        eight_bit: store matrices as `mobilebert_models.weights.eight_bit` does, which only `load_pretrained`
            reads.
        problem_type: of a classifier, as `transformers` writes it into config.json: how its logits are read.
        labels: of a classifier, the names of its classes in the order of the logits; without them LABEL_0, ….

    Raises:
        ModelError: `tokenizer_from` lacks a tokenizer file.
        ValueError: not as many labels as the classifier has classes.
    """
    with replacing_folder(Path(directory)) as partial:
        _write(model, partial, half, eight_bit, problem_type, labels)
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
    for name in (*CONFIG_FILES, ADDED_TOKENS_FILE, SPELLING_FILE):
        if (source / name).is_file():
            shutil.copyfile(source / name, directory / name)
    more: dict[str, Any] = {}
    if (source / SPELLING_FILE).is_file() and not read_settings(source).get("spelling"):
        more["spelling"] = True  # a copy of the directory that loses the list is refused
    said = read_object(directory / CONFIG_FILE)
    if read_object(directory / "config.json").get("model_type") == "albert" and not pieces:
        # `transformers` takes an ALBERT's vocabulary for SentencePiece's unless the file names another class.
        more |= {} if said.get("tokenizer_class") else {"tokenizer_class": "BertTokenizer"}
    if more:
        (directory / CONFIG_FILE).write_text(json.dumps(said | more, indent=2) + "\n", encoding="utf-8")


def _write(
    model: nn.Module,
    directory: Path,
    half: bool,
    eight_bit: bool,
    problem_type: str | None,
    labels: Sequence[str],
) -> None:
    config = cast(EncoderConfig, model.config)
    values: dict[str, Any] = config.to_dict()
    values["architectures"] = [_FAMILIES[config.model_type] + _HEADS.get(type(model), "Model")]
    if isinstance(model, PairClassifier | TokenClassifier):
        names = labels or [f"LABEL_{i}" for i in range(model.num_labels)]
        if len(names) != model.num_labels:
            raise ValueError(f"{len(names)} labels of a classifier of {model.num_labels} classes")
        values["id2label"] = {str(i): name for i, name in enumerate(names)}
        values["label2id"] = {name: i for i, name in enumerate(names)}
    if problem_type is not None:
        values["problem_type"] = problem_type
    (directory / "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    dtype = torch.float16 if half else torch.float32
    # What layers share is written once.
    named = {name: one.detach().to("cpu", dtype).contiguous() for name, one in model.named_parameters()}
    head = PairClassifier | TokenClassifier if config.model_type == "modernbert" else PairClassifier
    tensors = published_tensors(named, config, classifier=isinstance(model, head))
    if eight_bit:
        tensors = pack(tensors)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "model.safetensors").chmod(0o644)  # safetensors makes it readable by its owner only


def _read_tensors(path: Path, config: EncoderConfig) -> dict[str, Tensor]:
    if not path.is_file():
        raise ModelError(f"{path}: no such file; {_other_weights(path.parent)}")
    try:
        return our_tensors(unpack(load_file(path)), config)
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path}: damaged or truncated ({error}); fetch or train it again") from error


def _other_weights(directory: Path) -> str:
    """What to do where a directory has no model.safetensors."""
    for name in ("model.safetensors.index.json", "pytorch_model.bin", "tf_model.h5", "flax_model.msgpack"):
        if (directory / name).is_file():
            return f"{name} says its weights are stored otherwise; save it again, in one file of safetensors"
    return "a model directory needs config.json and model.safetensors"


def _empty_model(
    config: EncoderConfig, architecture: str, tensors: dict[str, Tensor], num_labels: int | None, seed: int
) -> nn.Module:
    """The network of the tensors; those of a bare encoder are renamed where it gets a classifier.

    Those of a pretraining head are left behind where it does.
    """
    head = _head(config, architecture, tensors)
    if head is None and num_labels is None:
        encoder = cast(Encoder, build(config, None, seed=seed))
        if not any(name.startswith("pooler.") for name in tensors):
            encoder.pooler = None
        return encoder
    if head is None:
        for name in list(tensors):
            tensors[f"encoder.{name}"] = tensors.pop(name)
        return build(config, "pair_classifier", cast(int, num_labels), seed)
    if head == "pretraining" and num_labels is not None:
        for name in [name for name in tensors if not name.startswith("encoder.")]:
            del tensors[name]
        return build(config, "pair_classifier", num_labels, seed)
    rows = tensors["classifier.weight"].shape[0] if "classifier.weight" in tensors else 2
    model = build(config, head, rows, seed)
    if (
        isinstance(model, EmbeddingMatcher)
        and head == "embedding_matcher"
        and "head.rarity.weight" in tensors
    ):
        model.head.weigh_rare_tokens()
    return model


def _head(config: EncoderConfig, architecture: str, tensors: dict[str, Tensor]) -> str | None:
    """Name of the head for `build`; None of a bare encoder, whose tensors are then called as such."""
    if any(name.startswith("embeddings.word_embeddings.") for name in tensors):
        return None
    if config.model_type == "modernbert" and architecture.endswith("ForQuestionAnswering"):
        raise ModelError(f"{architecture} is not supported; a ModernBERT is as an embedder or a classifier")
    for name, head in (
        ("head.inner.weight", "learned_matcher"),
        ("head.alone.weight", "embedding_matcher"),
        ("qa_outputs.weight", "span_qa"),
    ):
        if name in tensors:
            return head
    if architecture.endswith("ForTokenClassification"):
        return "token_classifier"
    if "classifier.weight" in tensors or architecture.endswith("ForSequenceClassification"):
        return "pair_classifier"
    if config.model_type in ("bert", "albert", "mobilebert"):
        return "pretraining"
    for name in list(tensors):  # what such a head holds besides its encoder is not read
        tensor = tensors.pop(name)
        if name.startswith("encoder."):
            tensors[name.removeprefix("encoder.")] = tensor
    return None
