"""The two runtimes that artefacts are for: how a file of each is written, quantised and described."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_export.tflite.writer import Delegation
    from mobilebert_export.verification.network_outputs import Encoded
    from mobilebert_quantize.product_noise import ProductForm
    from mobilebert_quantize.recipes import Recipe
    from mobilebert_runtime.card import Bucket

    Buckets = Sequence[Bucket]

# Default operator set: the newest that the oldest supported ONNX Runtime (1.17) reads.
DEFAULT_OPSET = 20


@dataclass(frozen=True)
class Graph:
    """What a model file computes with, as report.json says it."""

    operators: dict[str, int]  # by kind, the most frequent first
    versions: dict[str, int]  # what decides the oldest runtime
    xnnpack: Delegation | None = None  # of a .tflite file

    def to_json(self) -> dict[str, object]:
        """Plain data; `xnnpack` where there is any."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Target(ABC):
    """A runtime; the steps of an export that depend on it are methods."""

    def signature(self, seq_len: int) -> str | None:
        """Name of the graph of a sequence length, None where one graph has all lengths."""
        del seq_len
        return None

    @abstractmethod
    def write_float(
        self, network: nn.Module, path: Path, buckets: Buckets, outputs: Sequence[str], recipe: Recipe
    ) -> None:
        """Write the float32 file of a network in eval mode, made to be quantised by `recipe`."""

    def quantise(
        self,
        source: Path,
        path: Path,
        recipe: Recipe,
        calibration: Encoded | None,
        kept: Collection[int] = (),
    ) -> tuple[ProductForm, ...]:
        """Quantise a float file; products with the numbers `kept` stay in float.

        Returns:
            How each product is computed, where the recipe has static ranges.
        """
        if recipe.weights == "float16":
            from mobilebert_quantize.half_precision import halve

            halve(source, path)
            return ()
        return self._quantiser()(source, path, recipe, calibration, kept)

    @abstractmethod
    def _quantiser(self) -> Callable[..., tuple[ProductForm, ...]]:
        """What quantises to integers, with the arguments of `quantise`."""

    @abstractmethod
    def product_widths(self, path: Path) -> list[int]:
        """Last axis of the result of each product of a float file."""

    @abstractmethod
    def describe(self, path: Path) -> Graph:
        """What a file computes with."""


class Tflite(Target):
    """TensorFlow Lite, today LiteRT: a graph with a signature for each sequence length."""

    def signature(self, seq_len: int) -> str:
        """A name for each length."""
        return f"seq_{seq_len}"

    def write_float(
        self, network: nn.Module, path: Path, buckets: Buckets, outputs: Sequence[str], recipe: Recipe
    ) -> None:
        """Through litert-torch."""
        from mobilebert_export.tflite.writer import write_float_tflite

        write_float_tflite(network, path, buckets, outputs, batch_axis=recipe.activation_bits != 16)

    def _quantiser(self) -> Callable[..., tuple[ProductForm, ...]]:
        from mobilebert_quantize.tflite.int8 import quantize_tflite

        return quantize_tflite

    def product_widths(self, path: Path) -> list[int]:
        """Of the largest graph."""
        from mobilebert_quantize.tflite.int8 import product_widths

        return product_widths(path)

    def describe(self, path: Path) -> Graph:
        """Operators, and the part of them that XNNPACK takes over."""
        from mobilebert_export.tflite.writer import describe_tflite

        return Graph(*describe_tflite(path))


@dataclass(frozen=True)
class Onnx(Target):
    """ONNX Runtime: one graph whose token axis is free."""

    opset: int = DEFAULT_OPSET

    def write_float(
        self, network: nn.Module, path: Path, buckets: Buckets, outputs: Sequence[str], recipe: Recipe
    ) -> None:
        """Through torch.onnx; the file is the same for every recipe."""
        del recipe
        from mobilebert_export.onnx.writer import write_float_onnx

        write_float_onnx(network, path, buckets, self.opset, outputs)

    def _quantiser(self) -> Callable[..., tuple[ProductForm, ...]]:
        from mobilebert_quantize.onnx.int8 import quantize_onnx

        return quantize_onnx

    def product_widths(self, path: Path) -> list[int]:
        """By shape inference."""
        from mobilebert_quantize.onnx.int8 import product_widths

        return product_widths(path)

    def describe(self, path: Path) -> Graph:
        """Operators, and the versions that decide which runtime can load them."""
        from mobilebert_export.onnx.writer import describe_onnx

        return Graph(*describe_onnx(path))


def find_target(name: str, opset: int = DEFAULT_OPSET) -> Target:
    """The target of a name that `mobilebert_quantize.recipes.find_recipe` knows."""
    return Tflite() if name == "tflite" else Onnx(opset)
