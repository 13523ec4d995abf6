"""The two runtimes that artefacts are for: how a file of each is written, quantised and described."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


@dataclass(frozen=True)
class Target:
    """TensorFlow Lite (today LiteRT) or ONNX Runtime: the steps of an export that depend on it."""

    name: str  # "tflite" or "onnx"
    opset: int = DEFAULT_OPSET  # operator set of an ONNX file

    @property
    def is_tflite(self) -> bool:
        """Whether it is TensorFlow Lite."""
        return self.name == "tflite"

    def signature(self, seq_len: int) -> str | None:
        """Name of the graph of a sequence length in a .tflite file; an ONNX graph has all lengths."""
        return f"seq_{seq_len}" if self.is_tflite else None

    def write_float(
        self,
        network: nn.Module,
        path: Path,
        buckets: Sequence[Bucket],
        outputs: Sequence[str],
        recipe: Recipe,
    ) -> None:
        """Write the float32 file of a network in eval mode, made to be quantised by `recipe`."""
        if self.is_tflite:
            from mobilebert_export.tflite.writer import write_float_tflite

            write_float_tflite(network, path, buckets, outputs, batch_axis=recipe.activation_bits != 16)
        else:
            from mobilebert_export.onnx.writer import write_float_onnx

            write_float_onnx(network, path, buckets, self.opset, outputs)

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
        if self.is_tflite:
            from mobilebert_quantize.tflite.int8 import quantize_tflite

            return quantize_tflite(source, path, recipe, calibration, kept)
        from mobilebert_quantize.onnx.int8 import quantize_onnx

        return quantize_onnx(source, path, recipe, calibration, kept)

    def product_widths(self, path: Path) -> list[int]:
        """Last axis of the result of each product of a float file."""
        if self.is_tflite:
            from mobilebert_quantize.tflite.int8 import product_widths
        else:
            from mobilebert_quantize.onnx.int8 import product_widths
        return product_widths(path)

    def describe(self, path: Path) -> Graph:
        """What a file computes with; of a .tflite file also the part that XNNPACK takes over."""
        if self.is_tflite:
            from mobilebert_export.tflite.writer import describe_tflite

            return Graph(*describe_tflite(path))
        from mobilebert_export.onnx.writer import describe_onnx

        return Graph(*describe_onnx(path))
