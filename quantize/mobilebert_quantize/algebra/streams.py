"""Residual streams of an encoder: linear layers add to them, norms transform them, linear layers read them.

A stream has versions. The first is norm(writer(h)), every later one norm(previous + writer(h)). Whoever reads
a version is linear, so a version may be kept in other coordinates: x = scale ∘ x̃ + shift. That is one exact
change of basis, and both the folding of norms and the equalisation of ranges are choices of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from mobilebert_models import PairClassifier, PretrainingHead, SpanQA
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import Encoder, NoNorm, encoder_of


class Multiply(nn.Module):
    """An explicit element-wise factor: what is left of a NoNorm whose γ can't be moved away."""

    def __init__(self, factor: Tensor) -> None:
        super().__init__()
        self.factor = nn.Parameter(factor)

    def forward(self, hidden: Tensor) -> Tensor:
        """(…, size) → (…, size)."""
        return hidden * self.factor


@dataclass(frozen=True)
class Version:
    """A stream between two writes.

    Attributes:
        owner: the module whose `LayerNorm` is the norm after the write.
        writer: the linear layer that writes; None where only `tables` do (BERT's embeddings).
        readers: every linear layer that reads this version.
        tables: embedding tables that are added beside the writer; without a writer, the position table first,
            and none of them where one is a Kronecker table or the head's, too: then they stay as they are.
        open: read by something that is not a linear layer too, so it must keep its basis.
    """

    owner: Any
    writer: Any
    readers: tuple[Any, ...]
    tables: tuple[Any, ...] = ()
    open: bool = False

    @property
    def norm(self) -> nn.Module:
        """The norm after the write; `nn.Identity` where it has been folded."""
        return cast(nn.Module, self.owner.LayerNorm)


@dataclass(frozen=True)
class Stream:
    """One residual stream, or a linear map that is only read (a stream of one version).

    Attributes:
        name: where it begins, as a module path.
        versions: in the order of the forward pass.
    """

    name: str
    versions: tuple[Version, ...]

    @property
    def dense(self) -> bool:
        """Whether all its layers are plain linear ones; the columns of a Kronecker sum can't be rescaled."""
        return all(
            layer is None or isinstance(layer, nn.Linear)
            for version in self.versions
            for layer in (version.writer, *version.readers)
        )

    @property
    def norms(self) -> list[nn.Module]:
        """The norm of every version."""
        return [version.norm for version in self.versions]


@dataclass(frozen=True)
class Basis:
    """Coordinates of a version: x = scale ∘ x̃ + shift; both (size,).

    Attributes:
        multiply: factor that stays in the graph as an explicit multiplication; None for none.
        add: what stays in the graph as an explicit addition after it, of an open version; None for none.
    """

    scale: Tensor
    shift: Tensor
    multiply: Tensor | None = None
    add: Tensor | None = None

    @classmethod
    def plain(cls, like: Tensor, multiply: Tensor | None = None, add: Tensor | None = None) -> Basis:
        """The coordinates that an open version must keep: x itself, of the size of `like`."""
        return cls(torch.ones_like(like), torch.zeros_like(like), multiply, add)


def find_streams(network: nn.Module) -> list[Stream]:
    """Every stream of a network in the order of the forward pass: the feature map first.

    Only of the families whose layers have weights of their own: a layer that is run many times (ALBERT's)
    reads and writes every version with the same matrices, so no version can have a basis of its own.
    """
    encoder = encoder_of(network)
    find = _FAMILIES.get(encoder.config.model_type)
    tied = isinstance(network, PretrainingHead)
    last, depths = _head_readers(network), _open_depths(network)
    return [] if find is None else list(find(encoder, last, depths, tied))


def change_basis(stream: Stream, bases: Sequence[Basis]) -> None:
    """Rewrite the layers of a stream, in place, for new coordinates of its versions. Their norms vanish.

    With x = s ∘ x̃ + t before a write, x' = s' ∘ x̃' + t' after it and x' = γ ∘ (x + W·h + b) + β,

        x̃' = m ∘ (x̃ + W̃·h + b̃),   W̃ = W / s,   b̃ = (b + t - u) / s,   m = γ ∘ s / s',   t' = β + γ ∘ u.

    Without an explicit factor m is 1, that is s' = γ ∘ s; u = (t' - β) / γ, and 0 where t' = β. An explicit
    addition takes β's place: x̃' + β with t' = 0 is the same x'. The first version has nothing to add to:
    there γ and β go into the writer, whatever the basis; where there is no writer, s' or m is γ, and t' = β
    or is added. A reader W·x + b becomes (W ∘ s)·x̃ + (b + W·t). A true LayerNorm must see its true input:
    its version before has s = 1; its own γ and β are the basis after it or stay in it.

    Args:
        stream: from `find_streams`; `dense`.
        bases: one per version. Scales of successive versions must satisfy the relation above.
    """
    before: Basis | None = None
    with torch.no_grad():
        for version, basis in zip(stream.versions, bases, strict=True):
            if isinstance(version.norm, nn.LayerNorm):
                if before is not None:
                    version.writer.bias.add_(before.shift)
                version.owner.LayerNorm = _layer_norm(version.norm, basis)
            elif before is None:
                _write_first(version, basis)
            else:
                _write_next(version, before, basis)
            for reader in version.readers:
                read(reader, basis.scale, basis.shift)
            before = basis


def read(reader: nn.Linear, scale: Tensor, shift: Tensor) -> None:
    """Let W·x + b read x̃ where x = scale ∘ x̃ + shift, in place."""
    with torch.no_grad():
        if bool(shift.any()):
            constant = reader.weight @ shift
            reader.bias = nn.Parameter(constant if reader.bias is None else reader.bias + constant)
        reader.weight.mul_(scale)


def affine(norm: nn.Module, like: Tensor) -> tuple[Tensor, Tensor]:
    """γ and β of a norm that is an affine map; `like` gives size, dtype and device."""
    if isinstance(norm, NoNorm):
        return norm.weight.detach(), norm.bias.detach()
    factor = norm.factor.detach() if isinstance(norm, Multiply) else torch.ones_like(like)
    return factor, torch.zeros_like(like)


def _write_first(version: Version, basis: Basis) -> None:
    gamma, beta = affine(version.norm, basis.scale)
    version.owner.LayerNorm = _remainder(basis)
    if basis.multiply is not None:
        return
    ratio, shift = gamma / basis.scale, (beta - basis.shift) / basis.scale
    for table in version.tables:
        table.weight.mul_(ratio)
    if version.writer is not None:
        version.writer.weight.mul_(ratio[:, None])
        version.writer.bias.copy_(ratio * version.writer.bias + shift)
    elif version.tables:
        version.tables[0].weight.add_(shift)  # a position is added to every row


def _write_next(version: Version, before: Basis, basis: Basis) -> None:
    gamma, beta = affine(version.norm, basis.scale)
    offset = basis.shift - beta if basis.add is None else basis.shift + basis.add - beta
    u = torch.where(offset == 0, torch.zeros_like(offset), offset / gamma)
    version.writer.weight.div_(before.scale[:, None])
    version.writer.bias.copy_((version.writer.bias + before.shift - u) / before.scale)
    version.owner.LayerNorm = _remainder(basis)


def _remainder(basis: Basis) -> nn.Module:
    """What is left of a norm."""
    if basis.multiply is None:
        return nn.Identity()
    if basis.add is None:
        return Multiply(basis.multiply)
    rest = NoNorm(len(basis.add)).to(basis.add.dtype)
    rest.weight, rest.bias = nn.Parameter(basis.multiply), nn.Parameter(basis.add)
    return rest


def _layer_norm(norm: nn.LayerNorm, basis: Basis) -> nn.LayerNorm:
    """The norm with γ / scale and without β; without γ too where the scale is γ."""
    new = nn.LayerNorm(norm.normalized_shape, eps=norm.eps, elementwise_affine=False)
    if norm.weight is not None and not torch.equal(norm.weight, basis.scale):
        new.weight = nn.Parameter(norm.weight / basis.scale)
    return new


def _head_readers(network: nn.Module) -> tuple[Any, ...] | None:
    """The linear layers that read the last feature map; None for a bare encoder, whose output it is."""
    encoder = encoder_of(network)
    pooler = None if encoder.pooler is None else encoder.pooler.dense
    if isinstance(network, PairClassifier):
        return (network.classifier if pooler is None else pooler,)
    if isinstance(network, SpanQA):
        return (network.qa_outputs,)
    if isinstance(network, PretrainingHead):
        transform: Any = network.cls["predictions"]
        return (transform.transform.dense, network.cls["seq_relationship"] if pooler is None else pooler)
    return None


def _open_depths(network: nn.Module) -> frozenset[int]:
    """Layers after which the feature map is read as it is, by a head or as the output; 0: before them all."""
    depth = len(encoder_of(network).layers)
    if isinstance(network, EmbeddingMatcher):
        return frozenset((0, depth // 2, depth))
    return frozenset() if _head_readers(network) is not None else frozenset((depth,))


def _bottleneck_streams(
    encoder: Encoder, last: tuple[Any, ...] | None, depths: frozenset[int], _tied: bool
) -> Iterator[Stream]:
    """The feature map, then per block its inner stream and, if there is one, the shared key-query input."""
    layers: list[Any] = encoder.layers
    embeddings = encoder.embeddings
    tables = [embeddings.position_embeddings]
    if hasattr(embeddings, "token_type_embeddings"):
        tables.append(embeddings.token_type_embeddings)
    writes = [(embeddings, embeddings.embedding_transformation, tuple(tables))]
    writes += [(layer.output.bottleneck, layer.output.bottleneck.dense, ()) for layer in layers]
    readers = [*(_block_readers(layer) for layer in layers), last or ()]
    feature_map = (
        Version(owner, writer, read_by, added, open=depth in depths)
        for depth, ((owner, writer, added), read_by) in enumerate(zip(writes, readers, strict=True))
    )
    yield Stream("embeddings", tuple(feature_map))
    for number, layer in enumerate(layers):
        yield from _block_streams(layer, f"encoder.layer.{number}")


def _block_readers(layer: Any) -> tuple[Any, ...]:
    """What reads the feature map."""
    bottleneck, attention = layer.bottleneck, layer.attention.self
    if bottleneck.reduced_attention:
        return (bottleneck.input.dense,)
    if bottleneck.attention is not None:
        return bottleneck.input.dense, bottleneck.attention.dense, attention.value
    return bottleneck.input.dense, attention.query, attention.key, attention.value


def _block_streams(layer: Any, name: str) -> Iterator[Stream]:
    bottleneck, attention = layer.bottleneck, layer.attention.self
    first = (attention.query, attention.key, attention.value) if bottleneck.reduced_attention else ()
    # Every feed-forward network: who reads, who writes.
    networks = [*layer.ffn, layer]
    wide = [network.intermediate.dense for network in networks]
    versions = [Version(bottleneck.input, bottleneck.input.dense, first)]
    owners = [layer.attention.output, *(network.output for network in networks)]
    readers = [*wide, layer.output.bottleneck.dense]
    versions += [
        Version(owner, owner.dense, (reader,)) for owner, reader in zip(owners, readers, strict=True)
    ]
    yield Stream(f"{name}.bottleneck.input", tuple(versions))
    if bottleneck.attention is not None and not bottleneck.reduced_attention:
        shared = bottleneck.attention
        yield Stream(
            f"{name}.bottleneck.attention",
            (Version(shared, shared.dense, (attention.query, attention.key)),),
        )


def _bert_streams(
    encoder: Encoder, last: tuple[Any, ...] | None, depths: frozenset[int], tied: bool
) -> Iterator[Stream]:
    layers: list[Any] = encoder.layers
    embeddings = encoder.embeddings
    words = embeddings.word_embeddings
    tables: tuple[Any, ...] = (embeddings.position_embeddings, embeddings.token_type_embeddings, words)
    free = isinstance(words, nn.Embedding) and not tied
    readers: list[tuple[Any, ...]] = []
    owners: list[Any] = []
    for layer in layers:
        readers += [(layer.attention.self.query, layer.attention.self.key, layer.attention.self.value)]
        readers += [(layer.intermediate.dense,)]
        owners += [layer.attention.output, layer.output]
    versions = [Version(embeddings, None, readers[0], tables if free else (), open=0 in depths)]
    versions += [
        Version(owner, owner.dense, read_by, open=writes % 2 == 0 and writes // 2 in depths)
        for writes, (owner, read_by) in enumerate(zip(owners, [*readers[1:], last or ()], strict=True), 1)
    ]
    yield Stream("embeddings", tuple(versions))


_FAMILIES = {"bert": _bert_streams, "mobilebert": _bottleneck_streams}
