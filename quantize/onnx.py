"""Float ONNX → int8 ONNX with ONNX Runtime's quantiser.

Activations and weights are both *signed* int8. Unsigned activations (U8S8) are faster on x86 without VNNI,
but their products saturate in 16 bits there: such a file gives other answers on a desktop than on a phone.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quantize.recipes import Recipe

# An extra option of the quantiser: results of products stay float, so that the bias is added exactly.
_FLOAT_RESULTS = {"OpTypesToExcludeOutputQuantization": ["MatMul", "Gemm"]}


def quantize_onnx(
    source: Path, target: Path, recipe: Recipe, calibration: Mapping[str, NDArray[np.int32]] | None
) -> None:
    """Write the quantised form of a float .onnx file.

    Args:
        source: float model.
        target: file to write.
        recipe: one of `quantize.recipes.RECIPES` with target "onnx".
        calibration: encoded pairs, int32 (N, seq_len) by input name; needed when `recipe.needs_calibration`.
    """
    from onnxruntime import quantization as ort

    if not recipe.needs_calibration:
        # Dynamic activations are always unsigned; with 7-bit weights their products can't saturate either.
        ort.quantize_dynamic(
            source,
            target,
            op_types_to_quantize=list(recipe.integer_operators),
            per_channel=True,
            reduce_range=True,
            weight_type=ort.QuantType.QInt8,
        )
        return

    class Reader(ort.CalibrationDataReader):
        """Batches of one pair."""

        def __init__(self, encoded: Mapping[str, NDArray[np.int32]]) -> None:
            self._rows: Iterator[dict[str, NDArray[np.int32]]] = iter(
                {name: values[row : row + 1] for name, values in encoded.items()}
                for row in range(len(next(iter(encoded.values()))))
            )

        def get_next(self) -> dict[str, NDArray[np.int32]] | None:
            return next(self._rows, None)

    ort.quantize_static(
        source,
        target,
        Reader(calibration or {}),
        quant_format=ort.QuantFormat.QDQ,
        op_types_to_quantize=list(recipe.integer_operators),
        per_channel=True,
        activation_type=ort.QuantType.QInt8,
        weight_type=ort.QuantType.QInt8,
        extra_options=_FLOAT_RESULTS,
    )
