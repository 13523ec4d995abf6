"""Weights that are trained as what a small file can hold: words as product codes, matrices in four bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from mobilebert_models.networks.layers import Encoder
from mobilebert_models.weights.four_bit import LARGEST, SMALLEST_STEP, cut_steps
from mobilebert_models.weights.word_codes import WordCodes, find_codes
from mobilebert_runtime.errors import ModelError

Layers = Literal["none", "feed-forward", "all"]  # whose weights are in four bits


class CodedWords(nn.Module):
    """A word embedding whose rows name entries of codebooks; the codes stay, the codebooks are trained.

    Args:
        words: (V, E) table that `mobilebert_models.weights.word_codes` finds codes in.

    Attributes:
        codes: uint8 (V, G).
        codebook: (G, 256, E/G).

    Raises:
        ModelError: the table has no codes.
    """

    codes: Tensor

    def __init__(self, words: Tensor) -> None:
        super().__init__()
        found = find_codes(words.detach().float())
        if found is None:
            raise ModelError("word embeddings without product codes: there are no codebooks to be trained")
        self.register_buffer("codes", found.codes)
        self.codebook = nn.Parameter(found.codebook.float() * found.scale)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, S) → (B, S, E)."""
        groups, entries, _ = self.codebook.shape
        offsets = torch.arange(groups, device=ids.device) * entries
        rows = nn.functional.embedding(self.codes[ids].long() + offsets, self.codebook.flatten(0, 1))
        return rows.flatten(-2)

    def table(self) -> Tensor:
        """The table (V, E) of codebooks in eight bits, in which `find_codes` finds the codes again."""
        return WordCodes.of_codebook(self.codes.cpu(), self.codebook.detach().float().cpu()).table()


class FourBitRows(nn.Module):
    """A matrix as its rows are in four bits; gradients pass as if nothing were rounded (Bengio et al. 2013).

    A row's grid ends at a fixed share of its largest weight, so that one of its codes is ±7 at all times.

    Args:
        rows: of the matrix.

    Attributes:
        on: whether anything is rounded.
        share: (rows, 1), where a row's grid ends.
    """

    share: Tensor

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.on = False
        self.register_buffer("share", torch.ones(rows, 1))

    def forward(self, weight: Tensor) -> Tensor:
        """(rows, columns) → the same."""
        if not self.on:
            return weight
        with torch.no_grad():
            steps = (weight.abs().amax(1, keepdim=True) / LARGEST * self.share).half().float()
            steps = steps.clamp(min=SMALLEST_STEP)
            grid = (weight / steps).round().clamp(-LARGEST, LARGEST) * steps
        return weight + (grid - weight).detach()

    def get_extra_state(self) -> dict[str, bool]:
        """For a checkpoint."""
        return {"on": self.on}

    def set_extra_state(self, state: dict[str, bool]) -> None:
        """Of a checkpoint."""
        self.on = state["on"]


def make_trainable(encoder: Encoder, four_bits: Iterable[str]) -> None:
    """Train an encoder's codebooks from now on, and let the linear layers at these paths be rounded later."""
    encoder.embeddings.word_embeddings = CodedWords(encoder.embeddings.word_embeddings.weight)
    for name in four_bits:
        layer = cast(nn.Linear, encoder.get_submodule(name))
        parametrize.register_parametrization(layer, "weight", FourBitRows(layer.out_features))


def linear_layers(encoder: nn.Module, which: Layers) -> list[str]:
    """Paths of a network's linear layers: none of them, those outside of attention, or all."""
    found = [name for name, module in encoder.named_modules() if isinstance(module, nn.Linear)]
    if which == "feed-forward":
        found = [name for name in found if ".attention." not in name]
    return [] if which == "none" else found


def begin_rounding(encoder: Encoder, batch: dict[str, Tensor]) -> None:
    """Round from here on; where each row's grid ends follows from what its layer reads of a batch."""
    layers = dict(_rounded_layers(encoder))
    power: dict[str, Tensor] = {}
    real = batch["attention_mask"].bool()

    def watch(name: str, layer: nn.Module) -> Any:
        def hook(_module: nn.Module, inputs: tuple[Tensor]) -> None:
            power[name] = inputs[0][real].double().square().mean(0)

        return layer.register_forward_pre_hook(hook)

    handles = [watch(name, layer) for name, layer in layers.items()]
    with torch.no_grad():
        encoder(**batch)
    for handle in handles:
        handle.remove()
    for name, layer in layers.items():
        weight = layer.weight.detach().double()
        whole = weight.abs().amax(1, keepdim=True) / LARGEST
        rows = _rows(layer)
        rows.share.copy_(cut_steps(weight, power[name]) / whole.clamp(min=SMALLEST_STEP))
        rows.on = True


def is_rounding(encoder: Encoder) -> bool:
    """Whether `begin_rounding` has been called, also before an interruption."""
    return any(_rows(layer).on for _, layer in _rounded_layers(encoder))


def make_ordinary(encoder: Encoder) -> None:
    """Make a trained encoder an ordinary one again, its weights where they were rounded to."""
    words = cast(CodedWords, encoder.embeddings.word_embeddings).table()
    encoder.embeddings.word_embeddings = nn.Embedding.from_pretrained(
        words, freeze=True, padding_idx=encoder.config.pad_token_id
    )
    for _, layer in list(_rounded_layers(encoder)):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)


def _rounded_layers(encoder: Encoder) -> Iterator[tuple[str, nn.Linear]]:
    for name, module in encoder.named_modules():
        if isinstance(module, nn.Linear) and parametrize.is_parametrized(module, "weight"):
            yield name, module


def _rows(layer: nn.Linear) -> FourBitRows:
    return cast(FourBitRows, cast(Any, layer.parametrizations)["weight"][0])
