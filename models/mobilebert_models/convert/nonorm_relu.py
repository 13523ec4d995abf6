"""LayerNorm → NoNorm and GELU → ReLU in a trained BERT (MobileBERT section 3.3), by least squares.

Neither swap is exact: a NoNorm cannot divide by each token's own deviation. What a closed form can do is done
here, layer by layer on calibration text: every new parameter is the least-squares answer to what the original
network has at that place, given what the layers already rewritten deliver. Recovering the rest takes training
(`mobilebert_training.distillation.rewrite_recovery`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from mobilebert_models.networks.bert import Bert, BertLayer
from mobilebert_models.networks.heads import PairClassifier, build
from mobilebert_models.networks.layers import NoNorm, additive_mask
from mobilebert_runtime.errors import ModelError

# Ridge strength relative to the mean square of the activations: directions without data keep their weights.
RIDGE = 1e-2


@dataclass(frozen=True)
class Fit:
    """How well one rewritten module reproduces the original's output on the calibration text."""

    module: str
    # Share of the target's variance that is missed, with the original's parameters and with the fitted ones.
    before: float
    after: float


def rewrite(
    model: PairClassifier,
    batches: Sequence[Mapping[str, Tensor]],
    *,
    norm: str = "no_norm",
    activation: str = "relu",
    ridge: float = RIDGE,
) -> tuple[PairClassifier, list[Fit]]:
    """A copy of a pair classifier with other norms, another activation, or both.

    Replaced norms get the γ and β, and after a replaced activation the linear map that reads it gets the
    weights, that are best on the calibration text. Nothing else changes: embeddings, attention, the widening
    maps, pooler and classifier are the original's, bit for bit.

    Args:
        model: over a plain BERT with layer norms; not changed.
        batches: calibration text: input_ids, attention_mask and token_type_ids, each (B, S).
        norm: "no_norm", or "layer_norm" to keep them.
        activation: "relu", or another to swap to; the model's own keeps it.
        ridge: pull of the refitted maps towards the original's weights.

    Returns:
        The copy in eval mode, and one `Fit` a changed module in the order of the network.

    Raises:
        ModelError: the encoder is no plain BERT with layer norms, or there is no calibration text.
    """
    config = model.config
    if config.model_type != "bert" or config.normalization_type != "layer_norm" or config.kronecker:
        raise ModelError("rewrite: expected a dense model_type 'bert' with layer_norm; this one has neither")
    if not batches:
        raise ModelError("rewrite: no calibration text; give at least one batch")
    new = replace(config, normalization_type=norm, hidden_act=activation)
    copy = cast(PairClassifier, build(new, "pair_classifier", model.num_labels))
    copy.load_state_dict(model.state_dict())  # the two norms name their parameters alike
    with torch.no_grad():
        fits = _Fitter(cast(Bert, model.eval().encoder), cast(Bert, copy.encoder), batches, ridge).fit()
    return copy, fits


def fit_no_norm(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """γ and β, each (C,), with the least Σ (γ ∘ h + β − y)²: one regression line a channel.

    Args:
        inputs: parts of h, each (N, C).
        targets: the same parts of y.
    """
    count = sum(len(part) for part in inputs)
    x_mean, y_mean = (_sum(parts) / count for parts in (inputs, targets))
    covariance, variance = torch.zeros_like(x_mean), torch.zeros_like(x_mean)
    for x, y in zip(inputs, targets, strict=True):
        centred = x.double() - x_mean
        covariance += (centred * (y.double() - y_mean)).sum(0)
        variance += centred.square().sum(0)
    # A channel that never moves has no slope.
    gamma = torch.where(variance > 0, covariance / variance.clamp_min(1e-300), 0.0)
    return gamma, y_mean - gamma * x_mean


def fit_linear(
    linear: nn.Linear, inputs: Sequence[Tensor], targets: Sequence[Tensor], ridge: float
) -> tuple[Tensor, Tensor]:
    """Weight (O, I) and bias (O,) with the least mean squared error, pulled towards those of `linear`.

    Minimises Σ ‖W·x + b − y‖² / N + ridge · s · ‖W − W₀‖², s the mean variance of an input; b is free.

    Args:
        linear: gives W₀.
        inputs: parts of x, each (N, I).
        targets: the same parts of y, each (N, O).
        ridge: strength of the pull.
    """
    old = linear.weight.double()
    count = sum(len(part) for part in inputs)
    x_mean, y_mean = (_sum(parts) / count for parts in (inputs, targets))
    gram, cross = old.new_zeros(old.shape[1], old.shape[1]), torch.zeros_like(old)
    for x, y in zip(inputs, targets, strict=True):
        # Products in the precision of the activations, sums over the batches in double.
        centred = (x.double() - x_mean).to(x.dtype)
        residual = (y.double() - y_mean).to(x.dtype) - centred @ old.t().to(x.dtype)
        gram += (centred.t() @ centred).double() / count
        cross += (residual.t() @ centred).double() / count
    strength = ridge * gram.diagonal().mean()
    step = torch.linalg.solve(gram + strength * torch.eye(len(gram), dtype=gram.dtype), cross.t())
    weight = old + step.t()
    return weight, y_mean - weight @ x_mean


def _sum(parts: Sequence[Tensor]) -> Tensor:
    """Parts (N, C) summed over all their rows in double precision: (C,)."""
    return torch.stack([part.double().sum(0) for part in parts]).sum(0)


class _Fitter:
    """Both networks side by side, one layer at a time, over all batches."""

    def __init__(
        self, original: Bert, copy: Bert, batches: Sequence[Mapping[str, Tensor]], ridge: float
    ) -> None:
        self.original, self.copy, self.ridge = original, copy, ridge
        self.batches = batches
        self.real = [batch["attention_mask"].bool() for batch in batches]  # padding does not count
        value = original.config.attention_mask_value
        self.masks = [additive_mask(b["attention_mask"], value, torch.float32) for b in batches]
        self.fits: list[Fit] = []

    def fit(self) -> list[Fit]:
        sums = [
            self.original.embeddings.sum(batch["input_ids"], batch["token_type_ids"])
            for batch in self.batches
        ]
        x = [self.original.embeddings.LayerNorm(part) for part in sums]
        mine = self._norm("embeddings.LayerNorm", sums, x)
        for depth, (theirs, ours) in enumerate(zip(self.original.layers, self.copy.layers, strict=True)):
            x, mine = self._layer(
                f"encoder.layer.{depth}", cast(BertLayer, theirs), cast(BertLayer, ours), x, mine
            )
        return self.fits

    def _layer(
        self, name: str, theirs: BertLayer, ours: BertLayer, x: list[Tensor], mine: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The layer's output in the original, from `x`, and in the copy, from `mine`."""
        x = [theirs.attention.output(self._context(theirs, part, m), part) for part, m in self._masked(x)]
        sums = [
            ours.attention.output.dense(self._context(ours, part, m)) + part for part, m in self._masked(mine)
        ]
        mine = self._norm(f"{name}.attention.output.LayerNorm", sums, x)
        wide = [ours.intermediate(part) for part in mine]
        wanted = [theirs.output.dense(theirs.intermediate(part)) + part for part in x]
        if self.copy.config.hidden_act != self.original.config.hidden_act:
            # The map also takes over what the residual brings along of earlier errors.
            missing = [whole - residual for whole, residual in zip(wanted, mine, strict=True)]
            self._linear(f"{name}.output.dense", wide, missing)
        x = [theirs.output.LayerNorm(part) for part in wanted]
        sums = [ours.output.dense(part) + residual for part, residual in zip(wide, mine, strict=True)]
        return x, self._norm(f"{name}.output.LayerNorm", sums, x)

    def _masked(self, parts: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
        return list(zip(parts, self.masks, strict=True))

    @staticmethod
    def _context(layer: BertLayer, x: Tensor, mask: Tensor) -> Tensor:
        return layer.attention.self(x, x, x, mask)[0]

    def _norm(self, name: str, sums: list[Tensor], wanted: list[Tensor]) -> list[Tensor]:
        """Fit the copy's norm, if it is a new one, and return what it makes of `sums`."""
        module: Any = self.copy.get_submodule(name)
        if isinstance(module, NoNorm):
            before = self._missed([module(part) for part in sums], wanted)
            gamma, beta = fit_no_norm(self._rows(sums), self._rows(wanted))
            module.weight.copy_(gamma)
            module.bias.copy_(beta)
            after = self._missed([module(part) for part in sums], wanted)
            self.fits.append(Fit(name, before, after))
        return [module(part) for part in sums]

    def _linear(self, name: str, inputs: list[Tensor], wanted: list[Tensor]) -> None:
        module = cast(nn.Linear, self.copy.get_submodule(name))
        before = self._missed([module(part) for part in inputs], wanted)
        weight, bias = fit_linear(module, self._rows(inputs), self._rows(wanted), self.ridge)
        module.weight.copy_(weight)
        module.bias.copy_(bias)
        self.fits.append(Fit(name, before, self._missed([module(part) for part in inputs], wanted)))

    def _rows(self, parts: list[Tensor]) -> list[Tensor]:
        return [part[real] for part, real in zip(parts, self.real, strict=True)]  # (B, S, C) → (N, C)

    def _missed(self, found: list[Tensor], wanted: list[Tensor]) -> float:
        y, z = torch.cat(self._rows(wanted)).double(), torch.cat(self._rows(found)).double()
        return float((y - z).square().sum() / (y - y.mean(0)).square().sum())
