"""LoRA adapters (Hu et al. 2021), as peft and sentence-transformers save them: merged into their base model.

An adapter's folder holds adapter_config.json and adapter_model.safetensors; the base lies beside them, or is
what `base_model_name_or_path` names. The merged model is a folder of `transformers`, so whoever reads a model
directory reads an adapter's, too.
"""

from __future__ import annotations

import atexit
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from mobilebert_models.loading.model_settings import ADAPTER_FILE, check_adapter
from mobilebert_models.loading.sentence_modules import (
    encoder_directory,
    module_folders,
    read_cross_encoder,
    read_object,
)
from mobilebert_runtime.errors import ModelError

WEIGHTS_FILE = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_LORA = re.compile(r"(.+)\.lora_([AB])\.weight")
_HEAD = re.compile(r"classifier(\.out_proj)?\.weight")
_SUFFIXES = (".json", ".txt", ".model")
_ADVICE = "merge it with merge_and_unload of peft and save the whole model"
# `task_type` of peft → class of `transformers`.
_TASKS = {
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "FEATURE_EXTRACTION": "AutoModel",
}


def merged(folder: Path, find: Callable[[str], Path]) -> Path:
    """A model directory whose adapter is merged; the directory itself where it has none.

    The merged one is removed when the process ends. Its weights are the same bytes on every machine.

    Args:
        folder: the model directory.
        find: where a base model of that name lies.

    Raises:
        ModelError: the adapter is damaged or of a kind whose merge is not exact, or its base is not there.
    """
    where = encoder_directory(folder)
    if not (where / ADAPTER_FILE).is_file():
        return folder
    config = check_adapter(where / ADAPTER_FILE)
    tensors = _read(where)
    base = _base(where, config, find)
    model = _load(base, _class(folder, base, config, where), tensors, where)
    _merge(model, tensors, config, where)
    scratch = tempfile.mkdtemp(prefix="merged-adapter-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    out = Path(scratch) / folder.resolve().name
    inside = out / where.relative_to(folder)
    _copy_settings(folder, where, base, out, inside)
    with _quiet():
        model.save_pretrained(inside)
    return out


def _read(where: Path) -> dict[str, Tensor]:
    """The adapter's tensors, by the names of the base model's modules."""
    path = where / WEIGHTS_FILE
    if not path.is_file():
        raise ModelError(f"{path}: no such file; save the adapter again with save_pretrained")
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: damaged or truncated ({error}); fetch or train it again") from error
    for name, tensor in tensors.items():
        if not name.startswith(_PREFIX):
            raise ModelError(f"{path}: tensor {name!r} is none of an adapter; {_ADVICE}")
        if not tensor.isfinite().all():
            raise ModelError(f"{path}: tensor {name!r} holds NaN or infinity; train or fetch it again")
    return {name.removeprefix(_PREFIX): tensor.float() for name, tensor in tensors.items()}


def _base(where: Path, config: dict[str, Any], find: Callable[[str], Path]) -> Path:
    """As the libraries: a whole model beside the adapter counts before the one that it names."""
    if (where / "config.json").is_file():
        return where
    name = config.get("base_model_name_or_path")
    try:
        found = find(str(name))
    except ModelError as error:
        raise ModelError(
            f"{where / ADAPTER_FILE}: base_model_name_or_path is {name!r:.200}, and there is no such model "
            "here; write the path of the base model's folder there"
        ) from error
    return encoder_directory(found)


def _class(folder: Path, base: Path, config: dict[str, Any], where: Path) -> str:
    """The class of `transformers` that the adapter was made for."""
    if module_folders(folder):
        return _TASKS["FEATURE_EXTRACTION" if read_cross_encoder(folder) is None else "SEQ_CLS"]
    task, mapping = config.get("task_type"), config.get("auto_mapping")
    if task is None:
        named = mapping.get("base_model_class") if isinstance(mapping, dict) else None
        name = str(named or (read_object(base / "config.json").get("architectures") or [""])[0])
        ending = re.search(r"For\w+$", name)
        return f"AutoModel{ending[0] if ending else ''}"
    if task not in _TASKS:
        raise ModelError(
            f"{where / ADAPTER_FILE}: task_type is {task!r:.60}; supported are {', '.join(_TASKS)}"
        )
    return _TASKS[task]


def _load(base: Path, kind: str, tensors: dict[str, Tensor], where: Path) -> Any:
    """The base model in float32, with as many labels as the adapter's head has."""
    import transformers

    rows = [len(tensor) for name, tensor in tensors.items() if _HEAD.fullmatch(name)]
    try:
        settings = transformers.AutoConfig.from_pretrained(str(base), local_files_only=True)
        if rows and settings.num_labels != rows[0]:
            settings.num_labels = rows[0]
        with tempfile.TemporaryDirectory() as alone, _quiet():
            # Without the adapter that may lie beside: transformers would put it around the model.
            for path in base.iterdir():
                if path.is_file() and not path.name.startswith("adapter_"):
                    (Path(alone) / path.name).symlink_to(path.resolve())
            model, found = getattr(transformers, kind).from_pretrained(
                alone,
                config=settings,
                dtype=torch.float32,
                local_files_only=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(
            f"{base}: transformers can't load this base of an adapter ({lines[0][:200]})"
        ) from error
    unread = {one if isinstance(one, str) else one[0] for one in found["mismatched_keys"]}
    drawn = sorted((set(found["missing_keys"]) | unread) - tensors.keys())
    if kind == "AutoModel":  # a pooler that nothing behind it reads
        drawn = [name for name in drawn if not name.startswith("pooler.")]
    if drawn:
        raise ModelError(
            f"{where / WEIGHTS_FILE}: neither the adapter nor its base {base} has {drawn[0]!r}, so nothing "
            "says what the model answers; train it with that module in modules_to_save"
        )
    return model.eval()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars and warnings of `transformers`."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _merge(model: Any, tensors: dict[str, Tensor], config: dict[str, Any], where: Path) -> None:
    """Add scale · B A to each weight that has the two, and set the weights that the adapter has whole."""
    weights = dict(model.named_parameters())
    pairs: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if found := _LORA.fullmatch(name):
            pairs.setdefault(f"{found[1]}.weight", {})[found[2].lower()] = tensor
        elif name in weights and weights[name].shape == tensor.shape:
            weights[name].data.copy_(tensor)
        else:
            raise ModelError(
                f"{where / WEIGHTS_FILE}: {name!r} has no place in the base model, or another shape there; "
                + _ADVICE
            )
    for name, pair in pairs.items():
        module = model.get_submodule(name.removesuffix(".weight")) if name in weights else None
        if not (isinstance(module, nn.Linear) and len(pair) == 2 and _fits(module.weight, **pair)):
            raise ModelError(
                f"{where / WEIGHTS_FILE}: the matrices of {name!r} are no pair that fits a linear layer of "
                "the base model; is it the adapter of another model?"
            )
        rank = len(pair["a"])
        scale = float(config["lora_alpha"]) / (math.sqrt(rank) if config.get("use_rslora") else rank)
        module.weight.data.copy_(_sum(module.weight, scale=scale, **pair))


def _fits(weight: Tensor, a: Tensor, b: Tensor) -> bool:
    return a.dim() == b.dim() == 2 and len(a) == b.shape[1] and weight.shape == (len(b), a.shape[1])


def _sum(weight: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
    """W + scale · B A, (O, I): product by product in float64, so that no library's order of sums counts."""
    total = np.zeros(tuple(weight.shape))
    for row, column in zip(a.numpy().astype(np.float64), b.numpy().astype(np.float64).T, strict=True):
        total += column[:, None] * row[None, :]
    return torch.from_numpy((weight.detach().numpy() + scale * total).astype(np.float32))


def _copy_settings(folder: Path, where: Path, base: Path, out: Path, inside: Path) -> None:
    """All but weights: those of the adapter's folder, and the base's tokenizer where it has none."""
    inside.mkdir(parents=True)
    for source, target in {folder: out, where: inside}.items():
        _copy_files(source, target)
    for _, module in module_folders(folder):
        if module.resolve() != where.resolve():
            shutil.copytree(module, out / module.relative_to(folder))
    if not (where / "tokenizer.json").is_file():
        _copy_files(base, inside, leave=("config.json", "modules.json", "matcher.json", "README.md"))


def _copy_files(source: Path, target: Path, leave: tuple[str, ...] = ()) -> None:
    for path in source.iterdir():
        kept = path.suffix in _SUFFIXES and not path.name.startswith("adapter_")
        if kept and path.is_file() and path.name not in (*leave, "model.safetensors.index.json"):
            shutil.copyfile(path, target / path.name)
