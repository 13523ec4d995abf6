"""What sentence-transformers writes beside a model: its modules, and the settings of a cross-encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilebert_models.networks.sentence_embedder import POOLINGS, DenseLayer, SentenceModules
from mobilebert_runtime.card_parts import SIMILARITIES
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import parse_json

_BEHIND_DENSE = {"Identity": "identity", "Tanh": "tanh"}
_OF_CROSS_ENCODERS = {"Identity": "identity", "Sigmoid": "sigmoid", "Softmax": "softmax"}
# Older versions have one key per way of pooling.
_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


# Older versions called the Transformer module's config by the network's type; the first that is there counts.
_TRANSFORMER_CONFIGS = (
    "sentence_bert_config.json",
    *(f"sentence_{name}_config.json" for name in ("roberta", "distilbert", "albert", "xlm-roberta")),
)


@dataclass(frozen=True)
class CrossEncoderSettings:
    """What sentence-transformers knows of a cross-encoder."""

    # "identity", "sigmoid" or "softmax"; None where it names none, so that the default holds.
    activation: str | None


@dataclass(frozen=True)
class TransformerSettings:
    """What sentence-transformers knows of an encoder beside its own files."""

    max_seq_length: int | None  # tokens; None where nothing is said


def encoder_directory(directory: Path) -> Path:
    """Where a model directory has its config.json and weights: in itself, or in what modules.json names."""
    modules = _modules(directory)
    if not modules or (directory / "config.json").is_file():
        return directory
    return directory / modules[0][1]


def read_sentence_modules(directory: Path) -> SentenceModules | None:
    """The modules behind the encoder of a sentence-transformers folder; None where it is none.

    Raises:
        ModelError: the folder is damaged, or has a module or a way of pooling that is not supported.
    """
    modules = _modules(directory)
    if modules is None or read_cross_encoder(directory) is not None:
        return None
    kinds = [kind for kind, _ in modules]
    where = directory / "modules.json"
    if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Dense", "Normalize"}:
        raise ModelError(
            f"{where}: the modules are {', '.join(kinds)}; supported are Transformer, Pooling, then Dense "
            "and Normalize"
        )
    if "Normalize" in kinds[:-1]:
        raise ModelError(f"{where}: Normalize is not the last module")
    dense = tuple(_dense(directory / path) for kind, path in modules if kind == "Dense")
    own = directory / "config_sentence_transformers.json"
    said = read_object(own)
    return SentenceModules(
        _pooling(directory / modules[1][1]),
        dense,
        kinds[-1] == "Normalize",
        truncate_dim=_positive_or_none(said, "truncate_dim", own),
        similarity=_similarity(said, own),
        **_prompts(said, own),
    )


def transformer_settings(directory: Path) -> TransformerSettings:
    """The settings of the first module of a sentence-transformers folder; of other directories none.

    Raises:
        ModelError: a file is damaged.
    """
    modules = _modules(directory)
    if not modules:
        return TransformerSettings(None)
    paths = (directory / modules[0][1] / name for name in _TRANSFORMER_CONFIGS)
    path = next((path for path in paths if path.is_file()), directory / _TRANSFORMER_CONFIGS[0])
    return TransformerSettings(_positive_or_none(read_object(path), "max_seq_length", path))


def module_folders(directory: Path) -> list[tuple[str, Path]]:
    """Kind and folder of every module of a sentence-transformers folder, in order."""
    return [(kind, directory / path) for kind, path in _modules(directory) or []]


def read_cross_encoder(directory: Path) -> CrossEncoderSettings | None:
    """The settings of a cross-encoder that sentence-transformers saved; None where it did not.

    Raises:
        ModelError: a file is damaged, or the activation is not supported.
    """
    path = directory / "config_sentence_transformers.json"
    own, config = read_object(path), {}
    if own.get("model_type") == "CrossEncoder":
        name = own.get("activation_fn")
        for key in ("default_prompt_name", "prompts"):
            if own.get(key):
                raise ModelError(
                    f"{path}: {key} {own[key]!r:.60} of a cross-encoder is not applied; set it to null and "
                    "write the prompt into the texts"
                )
    else:
        config = read_object(directory / "config.json")
        inside = config.get("sentence_transformers")
        if inside is None and "sbert_ce_default_activation_function" not in config:
            return None
        name = config.get("sbert_ce_default_activation_function")
        name = inside.get("activation_fn", name) if isinstance(inside, dict) else name
    named = None if name is None else _activation("activation_fn", name, _OF_CROSS_ENCODERS, directory)
    return CrossEncoderSettings(named)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is no such file.

    Raises:
        ModelError: it is damaged or no object.
    """
    if not path.is_file():
        return {}
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: damaged ({error})") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path}: not a JSON object")
    return values


def _modules(directory: Path) -> list[tuple[str, str]] | None:
    """Kind and folder of every module, in order."""
    path = directory / "modules.json"
    if not path.is_file():
        return None
    try:
        rows = sorted(parse_json(path.read_text(encoding="utf-8")), key=lambda row: row["idx"])
        return [(str(row["type"]).rpartition(".")[2], str(row["path"])) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{path}: not the list of modules of sentence-transformers ({error})") from error


def _positive_or_none(values: dict[str, Any], name: str, path: Path) -> int | None:
    value = values.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ModelError(f"{path}: {name} is {value!r:.60}; expected a whole number above 0")
    return value


def _similarity(values: dict[str, Any], path: Path) -> str:
    name = values.get("similarity_fn_name") or SIMILARITIES[0]
    if name not in SIMILARITIES:
        raise ModelError(
            f"{path}: similarity_fn_name is {name!r:.60}; expected one of {', '.join(SIMILARITIES)}"
        )
    return str(name)


def _prompts(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Prompts as sentence-transformers resolves them: it knows "query" and "document" without any file."""
    given, default = values.get("prompts") or {}, values.get("default_prompt_name")
    if not isinstance(given, dict) or not all(one is None or isinstance(one, str) for one in given.values()):
        raise ModelError(f"{path}: prompts is {given!r:.60}; expected texts by their names")
    prompts = {name: text or "" for name, text in ({"query": "", "document": ""} | given).items()}
    if default is not None and default not in prompts:
        raise ModelError(
            f"{path}: default_prompt_name is {default!r:.60}; expected one of {', '.join(prompts)}"
        )
    # Nothing is said where none puts anything before a text.
    return {"prompts": prompts, "default_prompt": default} if any(prompts.values()) else {}


def _pooling(folder: Path) -> tuple[str, ...]:
    values = read_object(folder / "config.json")
    given = values.get("pooling_mode")
    if given is None:
        modes = [name for key, name in _POOLING_KEYS.items() if values.get(key)]
    else:
        modes = [given] if isinstance(given, str) else list(given)
    if not modes or set(modes) - set(POOLINGS):
        raise ModelError(
            f"{folder / 'config.json'}: pooling by {', '.join(map(str, modes)) or 'nothing'}; supported are "
            f"{', '.join(POOLINGS)}"
        )
    return tuple(modes)


def _dense(folder: Path) -> DenseLayer:
    path = folder / "config.json"
    values = read_object(path)
    named = values.get("activation_function", "torch.nn.modules.activation.Tanh")
    activation = _activation("activation_function", named, _BEHIND_DENSE, path)
    try:
        sizes = int(values["in_features"]), int(values["out_features"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: no dense layer's config ({error})") from error
    return DenseLayer(folder, *sizes, bool(values.get("bias", True)), activation)


def _activation(key: str, name: object, known: Mapping[str, str], where: Path) -> str:
    """Short name of an activation of PyTorch, written as a path of Python: the library trusts no other."""
    package, _, short = str(name).rpartition(".")
    if not package.startswith("torch.") or short not in known:
        raise ModelError(
            f"{where}: {key} is {name!r:.100}, which is not supported; expected {', '.join(known)} of "
            "torch.nn"
        )
    return known[short]
