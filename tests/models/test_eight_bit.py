"""Stored weights in eight bits: each block within half a step of its values; models read them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from mobilebert_models import build, load_pretrained, save_pretrained
from mobilebert_models.weights.eight_bit import BLOCK, pack, unpack
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import SMALL_BERT, padded_batch


def test_values_are_within_half_a_step_of_their_block() -> None:
    draw = torch.Generator().manual_seed(0)
    weight = torch.randn(32, 96, generator=draw) * torch.logspace(-1, 2, 32)[:, None]
    found = unpack(pack({"w": weight}))["w"]
    for block, stored in zip(weight.reshape(-1, BLOCK), found.reshape(-1, BLOCK), strict=True):
        step = block.abs().max() / 127
        assert (block - stored).abs().max() <= step * 0.5 + block.abs().max() * 2**-11


def test_vectors_and_odd_sizes_stay_float16() -> None:
    tensors = {"bias": torch.randn(128), "odd": torch.randn(3, 5), "zero": torch.zeros(2, 64)}
    stored = pack(tensors)
    assert {name: t.dtype for name, t in stored.items() if not name.endswith(".scales")} == {
        "bias": torch.float16,
        "odd": torch.float16,
        "zero": torch.int8,
    }
    again = unpack(stored)
    assert set(again) == set(tensors)
    assert torch.equal(again["odd"], tensors["odd"].half())
    assert torch.equal(again["zero"], tensors["zero"])


def test_model_directory_of_eight_bits_is_read_and_half_the_size(tmp_path: Path) -> None:
    model = build(SMALL_BERT, seed=0)
    save_pretrained(model, tmp_path / "half", half=True)
    save_pretrained(model, tmp_path / "eight", eight_bit=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "eight")]
    assert sizes[1] < 0.65 * sizes[0]
    batch = padded_batch(vocab=60, length=12)
    with torch.inference_mode():
        wanted, found = (load_pretrained(tmp_path / name)(**batch) for name in ("half", "eight"))
    assert (wanted - found).abs().max() < 0.05 * wanted.abs().max()


def test_missing_scales_are_an_error(tmp_path: Path) -> None:
    save_pretrained(build(SMALL_BERT, seed=0), tmp_path / "m", eight_bit=True)
    path = tmp_path / "m" / "model.safetensors"
    tensors = load_file(path)
    del tensors[next(name for name in tensors if name.endswith(".scales"))]
    save_file(tensors, path)
    with pytest.raises(ModelError, match="damaged"):
        load_pretrained(tmp_path / "m")
