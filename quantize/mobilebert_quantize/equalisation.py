"""Range equalisation: the free scales and shifts of a network, chosen for the least int8 error.

An int8 tensor has one step for all its channels, so the widest channel sets the error of all. But a channel
may be made narrower here and its readers' weights larger there, without any change of the function:

- a stream may be kept as x = s ∘ x̃ (`mobilebert_quantize.algebra.streams`), one scale for all its versions;
- ReLU(d·x) = d·ReLU(x) for d > 0: one scale per hidden unit of a feed-forward network;
- (q / d)ᵀ(d ∘ k) = qᵀk, and softmax ignores a constant added to every key: a scale per channel of a head, and
  a shift of the keys;
- a column of the word table may be divided by what the convolution's columns are multiplied with;
- every product A ⊗ B of a factored layer is (A·d) ⊗ (B/d): what lies between the two maps has free scales.

All of it is folded into weights: nothing is left to do at run time. A scale is the geometric mean of what the
activations and what the weights ask for (`balancing_scale`); it does not depend on the basis it starts from,
so a model whose norms were scaled channel by channel comes out like one whose norms were not.

Streams and values could be shifted as well, which would centre every channel. It was measured and left out:
with all channels reaching equally far to both sides, one of them exceeds its calibrated extreme in nearly
every new text and is clipped (docs/decisions/010).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mobilebert_models.networks.layers import NoNorm, input_names
from mobilebert_quantize.algebra.attention import attentions
from mobilebert_quantize.algebra.streams import (
    Basis,
    Multiply,
    Stream,
    Version,
    affine,
    change_basis,
    encoder_of,
    find_streams,
    read,
)
from mobilebert_quantize.kronecker_lowering import FactoredLookup, TwoStepLinear

INT8_STEPS = 255
SYMMETRIC_STEPS = 127
# Least share of the largest range · weight that a channel's range is chosen for.
FLOOR = 0.05
_BATCH = 16


@dataclass(frozen=True)
class ChannelRange:
    """What calibration saw of a tensor, per channel: lowest, highest, mean square; each (size,)."""

    low: Tensor
    high: Tensor
    power: Tensor

    @property
    def centre(self) -> Tensor:
        """The middle of the range."""
        return (self.low + self.high) / 2

    @property
    def reach(self) -> Tensor:
        """The largest magnitude."""
        return torch.maximum(-self.low, self.high)

    def over(self, scale: Tensor) -> ChannelRange:
        """The range of x / scale, scale > 0."""
        return ChannelRange(self.low / scale, self.high / scale, self.power / scale**2)

    def shifted(self, shift: Tensor) -> ChannelRange:
        """The range of x - shift. The mean square is bounded by that of the centred range."""
        low, high = self.low - shift, self.high - shift
        return ChannelRange(low, high, torch.minimum(self.power, torch.maximum(low.abs(), high.abs()) ** 2))


@dataclass(frozen=True)
class QuantisedTensor:
    """A tensor that int8 rounds, and the linear layers that carry the error on.

    Attributes:
        range: of what is rounded before the readers.
        readers: weights (out, size), each with the mean squares of its outputs, (out,).
        added: ranges of results that are rounded on their way into this tensor and stay in it.
    """

    range: ChannelRange
    readers: tuple[tuple[Tensor, Tensor], ...]
    added: tuple[ChannelRange, ...] = ()


@dataclass
class Equalised:
    """An equalised network and, per group of tensors, the predicted relative noise before and after."""

    network: Any
    report: dict[str, Any] = field(default_factory=dict)


# Input and output of a layer, by its id; kept up to date while layers are rewritten.
Measured = dict[int, tuple[ChannelRange, ChannelRange]]


def equalise(network: nn.Module, calibration: Mapping[str, NDArray[np.int32]]) -> Equalised:
    """A new network with the same inputs and outputs whose tensors suit int8; the one given is untouched.

    Args:
        network: from `mobilebert_quantize.algebra.simplify`, in eval mode. A NoNorm that is still there, a
            LayerNorm, a Kronecker layer or a GELU takes its tensors out of what can be equalised.
        calibration: encoded pairs, int32 (N, S) by input name; ranges are measured on all of them.
    """
    ranges = measure_channels(network, calibration)
    work = copy.deepcopy(network).double().eval()
    seen = dict(work.named_modules())
    found = {id(seen[name]): value for name, value in ranges.items()}
    groups: dict[str, list[tuple[float, float]]] = {}
    for kind, rewrite in _REWRITES.items():
        groups[kind] = list(rewrite(work, found))
    dtype = next(network.parameters()).dtype
    report = {
        kind: {
            "groups": len(pairs),
            "noise_before": float(sum(before for before, _ in pairs)),
            "noise_after": float(sum(after for _, after in pairs)),
        }
        for kind, pairs in groups.items()
    }
    return Equalised(work.to(dtype), report)


def measure_channels(
    network: nn.Module, calibration: Mapping[str, NDArray[np.int32]]
) -> dict[str, tuple[ChannelRange, ChannelRange]]:
    """Channel ranges of the input and the output of every plain linear layer, float64, by module path."""
    found: dict[str, tuple[ChannelRange, ChannelRange]] = {}
    rows: dict[str, int] = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor], Tensor], None]:
        def hook(_module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
            parts = [value.detach().reshape(-1, value.shape[-1]).double() for value in (inputs[0], output)]
            new = [ChannelRange(p.amin(0), p.amax(0), (p * p).sum(0)) for p in parts]
            if name in found:
                new = [_joined(old, more) for old, more in zip(found[name], new, strict=True)]
            found[name] = (new[0], new[1])
            rows[name] = rows.get(name, 0) + len(parts[0])

        return hook

    handles = [
        module.register_forward_hook(watch(name))
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear)
    ]
    tensors = [torch.from_numpy(calibration[n]) for n in input_names(network)]
    with torch.inference_mode():
        for batch in zip(*(tensor.split(_BATCH) for tensor in tensors), strict=True):
            network(*batch)
    for handle in handles:
        handle.remove()
    return {name: (_mean(pair[0], rows[name]), _mean(pair[1], rows[name])) for name, pair in found.items()}


def _joined(a: ChannelRange, b: ChannelRange) -> ChannelRange:
    return ChannelRange(torch.minimum(a.low, b.low), torch.maximum(a.high, b.high), a.power + b.power)


def _mean(found: ChannelRange, rows: int) -> ChannelRange:
    return ChannelRange(found.low.clone(), found.high.clone(), found.power / rows)


def predicted_noise(tensors: Sequence[QuantisedTensor], scale: Tensor) -> Tensor:
    """Noise that int8 leaves at the readers' outputs when x = scale ∘ x̃, over their signal; a sum of powers.

    Rounding to a step Δ is noise of variance Δ²/12. A tensor of size C with step Δ brings Δ²/12·‖W∘s‖² to a
    reader; its weights, one symmetric step Δₒ per row, bring Σₒ Δₒ²/12·Σ E[x̃²]. What is rounded before it is
    added to a stream is there for every later reader.
    """
    total = scale.new_zeros(())
    carried = scale.new_zeros(())
    for tensor in tensors:
        for part in tensor.added:
            carried = carried + _step(part, scale, symmetric=False) ** 2
        noise = carried + _step(tensor.range, scale, symmetric=False) ** 2
        power = (tensor.range.power / scale**2).sum()
        for weight, signal in tensor.readers:
            scaled = weight * scale
            rows = scaled.abs().amax(1) / SYMMETRIC_STEPS
            total = total + (noise * (scaled**2).sum() + (rows**2).sum() * power) / (12 * signal.sum())
    return total


def _step(found: ChannelRange, scale: Tensor, *, symmetric: bool) -> Tensor:
    low, high = (found.low / scale).amin().clamp(max=0), (found.high / scale).amax().clamp(min=0)
    return torch.maximum(-low, high) / SYMMETRIC_STEPS if symmetric else (high - low) / INT8_STEPS


def balancing_scale(tensors: Sequence[QuantisedTensor]) -> Tensor:
    """√(range / largest weight of the readers) per channel, geometric means over tensors of one scale.

    It gives a channel the same share of the tensor's range as its column has of the weights' (Nagel et al.
    2019, Eq. 11; the same as SmoothQuant's Eq. 4 with α = 1/2). A row counts relative to what it computes,
    so that the basis of what it writes does not matter. Where range · weight, which no basis changes, is next
    to nothing, it counts as `FLOOR` of the largest: such a channel may become active on the next text.
    """
    scale = torch.zeros_like(tensors[0].range.low)
    for tensor in tensors:
        columns = [(w / _positive(p).sqrt()[:, None]).abs().amax(0) for w, p in tensor.readers]
        weight = torch.stack([_positive(column).log() for column in columns]).mean(0).exp()
        product = tensor.range.reach * weight
        product = _positive(torch.maximum(product, FLOOR * product.max()))
        scale += (product.log() / 2 - weight.log()) / len(tensors)
    return scale.exp()


def _noises(tensors: Sequence[QuantisedTensor], scale: Tensor) -> tuple[float, float]:
    """Predicted noise as the tensors were, and in the new scale."""
    return float(predicted_noise(tensors, torch.ones_like(scale))), float(predicted_noise(tensors, scale))


def _positive(values: Tensor) -> Tensor:
    """Values that have a logarithm: at least 1e-12 of the largest."""
    return values.clamp_min(max(1e-12 * float(values.max()), torch.finfo(torch.float32).tiny))


def _streams(network: nn.Module, found: Measured) -> Iterator[tuple[float, float]]:
    """Scale every stream whose norms are folded; an explicit multiplication begins a new scale.

    A stream that begins in tables that must stay as they are keeps its scale. So do the versions from one
    explicit multiplication to the next where one of them is open.
    """
    for stream in find_streams(network):
        folded = all(
            isinstance(version.norm, nn.Identity | Multiply)
            or (version.open and isinstance(version.norm, NoNorm))
            for version in stream.versions
        )
        first = stream.versions[0]
        stays = first.writer is None and not first.tables
        if not folded or not stream.dense or stays:
            continue
        scales: list[Tensor] = []
        for part in _segments(stream):
            free = not any(version.open for version in part)
            tensors = [_read_tensor(version, found) for version in part if version.readers and free]
            size = stream.versions[-1].writer.bias
            scale = balancing_scale(tensors) if tensors else torch.ones_like(size)
            yield _noises(tensors, scale)
            scales += [scale] * len(part)
        bases = []
        for number, (version, scale) in enumerate(zip(stream.versions, scales, strict=True)):
            multiply = add = None
            if number and not isinstance(version.norm, nn.Identity):
                factor, shift = affine(version.norm, scale)
                multiply = factor * scales[number - 1] / scale
                add = shift if version.open else None
            bases.append(Basis(scale, torch.zeros_like(scale), multiply, add))
        change_basis(stream, bases)
        for version, scale in zip(stream.versions, [scales[0], *scales], strict=False):
            if version.writer is not None:
                _note_output(version.writer, scale, found)


def _segments(stream: Stream) -> list[tuple[Version, ...]]:
    """The versions between explicit multiplications."""
    versions = stream.versions
    starts = [k for k, version in enumerate(versions) if k == 0 or not isinstance(version.norm, nn.Identity)]
    return [versions[a:b] for a, b in zip(starts, [*starts[1:], len(versions)], strict=True)]


def _read_tensor(version: Version, found: Measured) -> QuantisedTensor:
    readers = tuple(_reader(reader, found) for reader in version.readers)
    added = () if version.writer is None else (found[id(version.writer)][1],)
    return QuantisedTensor(found[id(version.readers[0])][0], readers, added)


def _reader(reader: nn.Linear, found: Measured) -> tuple[Tensor, Tensor]:
    return reader.weight.detach().clone(), found[id(reader)][1].power


def _hidden_units(network: nn.Module, found: Measured) -> Iterator[tuple[float, float]]:
    """Scale every ReLU network's hidden units: rows of the first matrix by 1/d, columns of the next by d."""
    if encoder_of(network).config.hidden_act != "relu":
        return
    for layer in encoder_of(network).layers:
        for block in (*getattr(layer, "ffn", ()), layer):
            first, second = block.intermediate.dense, block.output.dense
            if not (isinstance(first, nn.Linear) and isinstance(second, nn.Linear)):
                continue
            tensor = QuantisedTensor(found[id(second)][0], (_reader(second, found),))
            scale = balancing_scale([tensor])
            _write(first, scale, found)
            read(second, scale, torch.zeros_like(scale))
            yield _noises([tensor], scale)


def _keys(network: nn.Module, found: Measured) -> Iterator[tuple[float, float]]:
    """Centre the keys, which leaves softmax unchanged, and share the ranges between keys and queries."""
    for _, attention, _ in attentions(network):
        query, key = attention.query, attention.key
        if not (attention.by_content and isinstance(query, nn.Linear) and isinstance(key, nn.Linear)):
            continue
        seen = found[id(key)][1]
        centred = seen.shifted(seen.centre)
        asked = found[id(query)][1]
        # Cross-layer equalisation for two tensors: both reach √(reach of q · reach of k).
        scale = (_positive(asked.reach) / _positive(centred.reach)).sqrt()
        noises = _product_noise(asked, centred, torch.ones_like(scale)), _product_noise(asked, centred, scale)
        _add_bias(key, -seen.centre)
        _write(query, scale, found)
        _write(key, 1 / scale, found)
        yield noises


def _product_noise(asked: ChannelRange, keys: ChannelRange, scale: Tensor) -> float:
    """Relative noise of qᵀk, q = scale ∘ q̃ and k = k̃ / scale, both rounded."""
    noise = _step(asked, scale, symmetric=False) ** 2 * (keys.power * scale**2).sum()
    noise = noise + _step(keys, 1 / scale, symmetric=True) ** 2 * (asked.power / scale**2).sum()
    return float(noise / (12 * (asked.power * keys.power).sum()))


def _words(network: nn.Module, found: Measured) -> Iterator[tuple[float, float]]:
    """Scale the columns of the word table; a padded word must stay zero, so there is no shift."""
    embeddings = encoder_of(network).embeddings
    reader = getattr(embeddings, "embedding_transformation", None)
    if not isinstance(reader, nn.Linear) or not isinstance(embeddings.word_embeddings, nn.Embedding):
        return
    if not hasattr(network, "classifier") and not hasattr(network, "qa_outputs"):
        return  # a language-model head reads the table too
    table = embeddings.word_embeddings.weight
    size = table.shape[1]
    seen, signal = found[id(reader)][0], found[id(reader)][1].power
    # One matrix per neighbour; (H, 3E [+ 1]) → three of (H, E).
    blocks = reader.weight.detach()[:, : 3 * size].clone().split(size, dim=1)
    columns = ChannelRange(table.detach().amin(0), table.detach().amax(0), seen.power[size : 2 * size])
    tensor = QuantisedTensor(columns, tuple((block, signal) for block in blocks), (columns,))
    scale = balancing_scale([tensor])
    with torch.no_grad():
        table.div_(scale)
        reader.weight[:, : 3 * size].mul_(scale.repeat(3))
    yield _noises([tensor], scale)


def _products(network: nn.Module, found: Measured) -> Iterator[tuple[float, float]]:
    """Scale each product of a factored layer or lookup: one scale for all that lies between its two maps."""
    for module in encoder_of(network).modules():
        if not isinstance(module, TwoStepLinear | FactoredLookup) or module.rank == 1:
            continue
        rank, reader = module.rank, module.second if isinstance(module, TwoStepLinear) else module.rows
        seen, weight = found[id(reader)][0], reader.weight.detach().clone()
        if isinstance(module, FactoredLookup):
            table = module.table.weight.detach().reshape(-1, rank)
            seen = ChannelRange(table.amin(0), table.amax(0), seen.power)
        # The products are the innermost axis of what the second map reads, (…, q·r).
        low, high, power = (x.reshape(-1, rank) for x in (seen.low, seen.high, seen.power))
        between = ChannelRange(low.amin(0), high.amax(0), power.mean(0))
        rows = weight.shape[1] // rank
        readers = weight.reshape(-1, rank), found[id(reader)][1].power.repeat_interleave(rows)
        tensor = QuantisedTensor(between, (readers,))
        scale = balancing_scale([tensor])
        with torch.no_grad():
            reader.weight.mul_(scale.repeat(rows))
            if isinstance(module, TwoStepLinear):
                module.first.weight.div_(scale.repeat(len(module.first.weight) // rank)[:, None])
            else:
                module.table.weight.div_(scale.repeat(module.columns))
        yield _noises([tensor], scale)


def _write(layer: nn.Linear, scale: Tensor, found: Measured) -> None:
    """Let a layer write x̃ where x = scale ∘ x̃."""
    with torch.no_grad():
        layer.weight.div_(scale[:, None])
        if layer.bias is not None:
            layer.bias.div_(scale)
    _note_output(layer, scale, found)


def _note_output(layer: nn.Linear, scale: Tensor, found: Measured) -> None:
    inputs, output = found[id(layer)]
    found[id(layer)] = inputs, output.over(scale)


def _add_bias(layer: nn.Linear, value: Tensor) -> None:
    layer.bias = nn.Parameter(value if layer.bias is None else layer.bias.detach() + value)


_REWRITES: dict[str, Callable[[nn.Module, Measured], Iterator[tuple[float, float]]]] = {
    "streams": _streams,
    "hidden units": _hidden_units,
    "queries and keys": _keys,
    "word table": _words,
    "products": _products,
}
