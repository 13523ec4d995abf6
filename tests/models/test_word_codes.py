"""Product codes of a word table: found again from its numbers, stored exactly, not trained any further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from mobilebert_models import build, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import Encoder
from mobilebert_models.weights.word_codes import SMALLEST_TABLE, find_codes, product_codes
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import SMALL_BERT

ROWS = SMALLEST_TABLE + 100


def coded_encoder() -> Encoder:
    """A small BERT whose word embeddings are product codes of two bits a number."""
    model = build(replace(SMALL_BERT, vocab_size=ROWS), None, seed=0)
    assert isinstance(model, Encoder)
    words = model.embeddings.word_embeddings.weight
    with torch.no_grad():
        words.copy_(product_codes(words, torch.ones(ROWS), 4).table())
    return model


@pytest.mark.parametrize(("size", "decibels"), [(2, 19.0), (4, 9.0)])
def test_codes_keep_most_of_a_table_and_are_found_again(size: int, decibels: float) -> None:
    table = torch.randn(ROWS, 16, generator=torch.Generator().manual_seed(0))
    words = product_codes(table, torch.ones(ROWS), size)
    error = (words.table() - table).square().sum()
    assert 10 * torch.log10(table.square().sum() / error) > decibels
    found = find_codes(words.table())
    assert found is not None
    assert found.codes.shape == (ROWS, 16 // size)
    assert torch.equal(found.table(), words.table())


def test_rows_that_weigh_more_are_kept_better() -> None:
    table = torch.randn(ROWS, 8, generator=torch.Generator().manual_seed(0))
    weight = torch.ones(ROWS)
    weight[:300] = 1000.0
    error = (product_codes(table, weight, 4).table() - table).square().mean(1)
    assert error[:300].mean() < 0.5 * error[300:].mean()


def test_other_tables_are_no_codes() -> None:
    coded = coded_encoder().embeddings.word_embeddings.weight.detach().clone()
    assert find_codes(coded) is not None
    assert find_codes(coded[: SMALLEST_TABLE - 1]) is None  # codebooks would be as large as the table
    assert find_codes(torch.randn(ROWS, 16)) is None
    assert find_codes(torch.randint(-127, 128, (ROWS, 16)).float()) is None  # whole numbers, no codes
    assert find_codes(torch.zeros(ROWS, 16)) is None


def test_eight_bits_store_codes_exactly_and_loading_freezes_them(tmp_path: Path) -> None:
    model = coded_encoder()
    save_pretrained(model, tmp_path / "m", eight_bit=True)
    stored = load_file(tmp_path / "m" / "model.safetensors")
    assert stored["embeddings.word_embeddings.weight"].shape == (ROWS, SMALL_BERT.hidden_size // 4)
    again = load_pretrained(tmp_path / "m")
    assert isinstance(again, Encoder)
    words, wanted = again.embeddings.word_embeddings.weight, model.embeddings.word_embeddings.weight
    assert torch.equal(words, wanted)
    assert not words.requires_grad
    assert all(p.requires_grad for name, p in again.named_parameters() if "word_embeddings" not in name)


def test_codes_without_a_codebook_are_an_error(tmp_path: Path) -> None:
    save_pretrained(coded_encoder(), tmp_path / "m", eight_bit=True)
    path = tmp_path / "m" / "model.safetensors"
    tensors = load_file(path)
    del tensors["embeddings.word_embeddings.weight.codebook"]
    save_file(tensors, path)
    with pytest.raises(ModelError, match="damaged"):
        load_pretrained(tmp_path / "m")
