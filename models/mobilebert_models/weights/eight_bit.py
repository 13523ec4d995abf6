"""Weights in eight bits for storage: blocks of 64 neighbours as int8 with one float16 scale each.

A matrix is stored under its own name as int8, its scales under that name and `.scales`; vectors stay float16.
A word embedding table that is product codes (`mobilebert_models.weights.word_codes`) is stored as these,
uint8, with `.codebook` and `.scale`, exactly; a matrix on a grid of four bits
(`mobilebert_models.weights.four_bit`) as its codes, two a byte, with `.steps` in float16. What is loaded is
float32 again: nothing computes in this format.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from mobilebert_models.weights.four_bit import FourBits, find_four_bits, pack_codes, unpack_codes
from mobilebert_models.weights.word_codes import WordCodes, find_codes

BLOCK = 64
SCALES = ".scales"
CODEBOOK, SCALE = ".codebook", ".scale"
STEPS = ".steps"
_LARGEST = 127
_SMALLEST_SCALE = 2.0**-24  # of float16, so that no block divides by zero


def pack(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Codes are stored as such, matrices whose size divides by `BLOCK` in eight bits, the rest in float16."""
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if (found := find_codes(tensor.float())) is not None:
            out[name], out[name + CODEBOOK] = found.codes, found.codebook
            out[name + SCALE] = torch.tensor(found.scale, dtype=torch.float16)
            continue
        if (rows := find_four_bits(tensor)) is not None and tensor.shape[1] % 2 == 0:
            out[name], out[name + STEPS] = pack_codes(rows.codes), rows.steps.half()
            continue
        if tensor.dim() < 2 or tensor.numel() % BLOCK:
            out[name] = tensor.half().contiguous()
            continue
        blocks = tensor.float().reshape(-1, BLOCK)
        scales = (blocks.abs().amax(1) / _LARGEST).clamp(min=_SMALLEST_SCALE).half()
        whole = (blocks / scales.float()[:, None]).round().clamp(-_LARGEST, _LARGEST)
        out[name] = whole.to(torch.int8).reshape(tensor.shape).contiguous()
        out[name + SCALES] = scales
    return out


def is_packed(names: Iterable[str]) -> bool:
    """Do a file's tensors have the parts that `pack` writes beside a matrix?"""
    known = set(names)
    return any(
        name.endswith(part) and name.removesuffix(part) in known
        for name in known
        for part in (SCALES, CODEBOOK, STEPS)
    )


def unpack(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """What `pack` stored, in float32; tensors of other files as they are.

    Raises:
        ValueError: an int8 tensor without fitting scales, codes without a fitting codebook or steps.
    """
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        parts = (SCALES, CODEBOOK, SCALE, STEPS)
        if any(name.endswith(p) and name.removesuffix(p) in tensors for p in parts):
            continue
        if (steps := tensors.get(name + STEPS)) is not None:
            if tensor.dtype is not torch.uint8 or tensor.dim() != 2 or steps.shape != tensor.shape[:1]:
                raise ValueError(f"tensor {name!r} is four-bit codes without a step for each of its rows")
            out[name] = FourBits(unpack_codes(tensor), steps.float()).matrix()
        elif tensor.dtype is torch.uint8:
            book, scale = tensors.get(name + CODEBOOK), tensors.get(name + SCALE)
            if book is None or scale is None or book.dim() != 3 or len(book) != tensor.shape[1]:
                raise ValueError(f"tensor {name!r} is codes without a codebook for each of its columns")
            out[name] = WordCodes(tensor, book, float(scale)).table()
        elif tensor.dtype is torch.int8:
            scales = tensors.get(name + SCALES)
            if scales is None or scales.numel() * BLOCK != tensor.numel():
                raise ValueError(f"tensor {name!r} is int8 without a scale for each {BLOCK} of its values")
            out[name] = (tensor.reshape(-1, BLOCK).float() * scales.float()[:, None]).reshape(tensor.shape)
        else:
            out[name] = tensor
    return out
