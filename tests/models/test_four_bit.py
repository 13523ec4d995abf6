"""Matrices on a grid of four bits: found again from their numbers, stored exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file, save_file

from mobilebert_models import build, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import Encoder
from mobilebert_models.weights.four_bit import FourBits, find_four_bits, pack_codes, unpack_codes
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import SMALL_BERT

NAME = "encoder.layer.0.intermediate.dense.weight"


def on_grid(rows: int, columns: int, seed: int = 0) -> FourBits:
    """A random matrix whose every row reaches the end of its grid."""
    draw = torch.Generator().manual_seed(seed)
    codes = torch.randint(-7, 8, (rows, columns), generator=draw).to(torch.int8)
    codes[:, 3] = 7
    steps = torch.rand(rows, generator=draw).half().float() + 2**-10
    return FourBits(codes, steps.half().float())


def test_the_codes_of_a_matrix_are_found_again() -> None:
    made = on_grid(20, 32)
    found = find_four_bits(made.matrix())
    assert found is not None
    assert torch.equal(found.codes, made.codes)
    torch.testing.assert_close(found.steps, made.steps, rtol=1e-6, atol=0)


def test_a_row_of_zeros_has_codes_of_zero() -> None:
    matrix = on_grid(4, 32).matrix()
    matrix[2] = 0
    found = find_four_bits(matrix)
    assert found is not None
    assert torch.equal(found.matrix()[2], torch.zeros(32))


def test_other_tensors_lie_on_no_such_grid() -> None:
    matrix = on_grid(20, 32).matrix()
    off = matrix.clone()
    off[7, 9] += 0.01 * off[7].abs().max() / 7
    assert find_four_bits(off) is None
    assert find_four_bits(matrix[:, :15]) is None  # so few numbers may lie on a grid by chance
    assert find_four_bits(matrix[0]) is None
    assert find_four_bits(torch.zeros(20, 32)) is None
    assert find_four_bits(torch.randn(20, 32)) is None
    assert find_four_bits(torch.randint(-8, 9, (20, 32)).float()) is None  # 17 points


def test_two_codes_share_a_byte() -> None:
    codes = on_grid(5, 16).codes
    stored = pack_codes(codes)
    assert (stored.shape, stored.dtype) == ((5, 8), torch.uint8)
    assert int(pack_codes(torch.tensor([[-1, 3]], dtype=torch.int8))) == 0x3F
    assert torch.equal(unpack_codes(stored), codes)


def first_matrix(model: Encoder) -> torch.Tensor:
    """What is stored under `NAME`."""
    weight = cast(Any, model.layers)[0].intermediate.dense.weight
    assert isinstance(weight, torch.Tensor)
    return weight


def with_four_bits() -> Encoder:
    """A small BERT with one matrix on such a grid."""
    model = build(SMALL_BERT, None, seed=0)
    assert isinstance(model, Encoder)
    with torch.no_grad():
        weight = first_matrix(model)
        weight.copy_(on_grid(*weight.shape).matrix())
    return model


def test_a_model_directory_of_eight_bits_holds_such_a_matrix_exactly(tmp_path: Path) -> None:
    model = with_four_bits()
    save_pretrained(model, tmp_path / "m", eight_bit=True)
    stored = load_file(tmp_path / "m" / "model.safetensors")
    rows, columns = first_matrix(model).shape
    assert stored[NAME].shape == (rows, columns // 2)
    again = load_pretrained(tmp_path / "m")
    assert isinstance(again, Encoder)
    assert torch.equal(first_matrix(again), first_matrix(model))


def test_codes_without_steps_are_an_error(tmp_path: Path) -> None:
    save_pretrained(with_four_bits(), tmp_path / "m", eight_bit=True)
    path = tmp_path / "m" / "model.safetensors"
    tensors = load_file(path)
    del tensors[f"{NAME}.steps"]
    save_file(tensors, path)
    with pytest.raises(ModelError, match="damaged"):
        load_pretrained(tmp_path / "m")
