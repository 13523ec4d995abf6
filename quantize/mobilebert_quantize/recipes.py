"""Quantisation recipes: a table by name, each with the tolerances that its artefact must meet.

A recipe is data. It is written into the artefact as recipe.json, so that a number measured later can be
traced to what was done. A name that is not in the table is an error, never another recipe.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from mobilebert_runtime.errors import OptionError

TARGETS = ("tflite", "onnx")
QUANTS = ("none", "fp16", "dynamic", "int8", "static", "int16x8")
WORD_BITS = (8, 4, 2)


@dataclass(frozen=True)
class Tolerance:
    """Tolerances of the verification against the PyTorch model; beyond them the export fails.

    Measured on at least 200 padded text pairs.
    """

    # Largest |Δlogit|; None where a recipe changes logits by design and only decisions and order are held.
    max_abs_logit: float | None
    # Share of pairs that get the same label; None where what a changed label costs is held instead.
    min_label_agreement: float | None
    # Spearman rank correlation of scores: a label's log-odds, or a logit of tokens or of a span's ends.
    min_rank_agreement: float
    # Share of right answers that changed labels would lose if the PyTorch model's probabilities are right.
    max_expected_loss: float = 0.002
    # Cosine of the two vectors of a text, where the network returns one.
    min_cosine: float = 0.98
    # Spearman rank correlation where graded scores are the answer: cosines of pairs' vectors, a regression's
    # values.
    min_cosine_rank: float = 0.99


@dataclass(frozen=True)
class Recipe:
    """One way from the float graph to the file that ships."""

    target: str
    quant: str
    # Of linear layers: "float32", "float16" (widened when the file is loaded) or "int8", one symmetric scale
    # per output channel.
    weights: str
    # "float32", "int8-dynamic" (a range per row, found at run time), "int8-static", "uint8-static" or
    # "int16-static" (ranges from calibration).
    activations: str
    # "float32"; "float16"; "int8-rows": int8 with a scale per row, which the runtime multiplies in;
    # "int8-scaled": the same numbers, but the scales are a table of their own, which the oldest runtimes can
    # look up too. In an int8 recipe a table that is product codes (`mobilebert_models.weights.word_codes`)
    # is stored as these.
    embeddings: str
    # The operators that compute in integers, as the target calls them; with static ranges all others stay
    # float, and so does the last linear layer: its outputs are the logits.
    integer_operators: tuple[str, ...]
    tolerance: Tolerance
    # Oldest runtime that the file was loaded in; tests/mobilebert_export/test_export_runtimes.py repeats it.
    minimum_runtime: dict[str, str]
    # Of an int8 matrix: 8 uses all steps, 7 only those from −64 to 64.
    weight_bits: int = 8
    # Results of integer operators stay float, and a bias is added exactly.
    float_results: bool = False
    # The linear layer that reads neighbouring words side by side (MobileBERT's embedding) stays float: its
    # rounded results would be noise in every later layer (decision 007).
    float_embedding_layer: bool = False
    # Of a way to the same quantisation that is tried where the recipe before it fails verification.
    variant: str = ""
    # Linear layers that int8 would give less signal over noise than this
    # (`mobilebert_quantize.product_noise`), dB, get the next finer form: dynamic ranges where others have
    # static ones, float where others have dynamic ones.
    noise_limit_db: float | None = None
    # Among static ranges: linear layers that read floats and whose results are only added to floats have
    # ranges found at run time, and float results. What the streams collect is not rounded (decision 030).
    dynamic_into_sums: bool = False
    # Of a number of the word embeddings: 8, or 4 or 2 as product codes.
    word_bits: int = 8
    # Linear layers with ranges found at run time are convolutions, which the oldest runtimes multiply right
    # (`mobilebert_quantize.tflite.convolutions`); they have no four-bit weights.
    as_convolutions: bool = False

    @property
    def name(self) -> str:
        """TARGET-QUANT, and the variant where it is one."""
        return "-".join(filter(None, (self.target, self.quant, self.variant)))

    @property
    def static_ranges(self) -> bool:
        """Whether integer operators have activation ranges from calibration."""
        return self.activations.endswith("-static")

    @property
    def holds_four_bits(self) -> bool:
        """Whether files keep four-bit weights in four bits (`mobilebert_quantize.tflite.four_bit`)."""
        return self.target == "tflite" and self.activations == "int8-dynamic" and not self.as_convolutions

    @property
    def keeps_noisy_layers_float(self) -> bool:
        """Whether layers with much noise are float, rather than have ranges found at run time."""
        return self.noise_limit_db is not None and not self.static_ranges

    @property
    def needs_ranges(self) -> bool:
        """Whether activation ranges must be measured on text: to compute with, or to find noisy layers."""
        return self.static_ranges or self.noise_limit_db is not None

    @property
    def needs_calibration(self) -> bool:
        """Whether text must be read: for ranges, or to round weights by what they are multiplied with."""
        return self.needs_ranges or self.weights == "int8"

    @property
    def activation_bits(self) -> int:
        """Width of an activation in the operators that compute in integers; 32 in a float recipe."""
        return {"float32": 32, "int16-static": 16}.get(self.activations, 8)

    def computes_in_integers(self, kind: str) -> bool:
        """Whether products of a kind are integer ones.

        Args:
            kind: "linear", "embedding" (a linear layer that reads words side by side) or "matmul" (of two
                activations, which no recipe computes in integers).
        """
        if kind == "matmul" or (kind == "embedding" and self.float_embedding_layer):
            return False
        return bool(self.integer_operators)

    def to_json(self) -> dict[str, Any]:
        """The recipe part of recipe.json."""
        return {"name": self.name} | asdict(self)


# Float rounding differs between kernels: 1e-4 is 20 times what is seen (5e-6) and far below a decision.
_FLOAT = Tolerance(
    max_abs_logit=1e-4,
    min_label_agreement=0.995,
    min_rank_agreement=0.9999,
    min_cosine=0.99999,
    min_cosine_rank=0.9999,
)
# A float16 weight is off by 1/2,048 of itself at most.
_FLOAT16 = Tolerance(
    max_abs_logit=0.05,
    min_label_agreement=0.995,
    min_rank_agreement=0.999,
    min_cosine=0.9999,
    min_cosine_rank=0.999,
)
# A label may change where the model itself is in doubt; what matters is what that costs (decision 021).
# Where the order of cosines agreed to .994, STS-B fell by .33 points, at .998 by .15 (results/any_encoder).
_INT8 = Tolerance(
    max_abs_logit=None, min_label_agreement=None, min_rank_agreement=0.99, min_cosine_rank=0.997
)
# TFLite 2.14 knows no per-channel dynamic range of linear layers: it computed wrong numbers silently until
# the file said that it needs newer operators (quantize/mobilebert_quantize/tflite/int8.py). LiteRT 1.0
# (TFLite 2.18) is right.
TFLITE_VERSIONS = ("2.14", "2.18")
_TFLITE, _TFLITE_DYNAMIC = ({"tflite": version} for version in TFLITE_VERSIONS)
_ONNX = {"onnxruntime": "1.17"}
# Linear layers hold nearly all multiplications and bytes; what lies between stays float:
# - the mask: a padded key's score (-60) would take most of an int8 sum's 256 steps from the real scores;
# - softmax, which XNNPACK does not have in int8: the graph would fall apart into partitions;
# - the scores that softmax reads: in the shipped matcher's first layer one int8 step is 0.38, and a score one
#   step higher gets 1.46 times the weight (decision 007);
# - residual sums and norms: float ones take the rms error of the shipped matcher's logits from 0.20 to 0.05,
#   at no cost in time that could be measured.
_TFLITE_ROW_RANGES = Recipe(
    target="tflite",
    quant="dynamic",
    weights="int8",
    activations="int8-dynamic",
    embeddings="int8-rows",
    integer_operators=("FULLY_CONNECTED",),
    tolerance=_INT8,
    minimum_runtime=_TFLITE_DYNAMIC,
)
_TFLITE_STATIC = replace(
    _TFLITE_ROW_RANGES,
    quant="int8",
    activations="int8-static",
    embeddings="int8-scaled",
    minimum_runtime=_TFLITE,
    float_embedding_layer=True,
)
_ONNX_ROW_RANGES = Recipe(
    target="onnx",
    quant="dynamic",
    weights="int8",
    activations="int8-dynamic",
    embeddings="int8-rows",
    integer_operators=("MatMul", "Gemm", "Gather"),
    tolerance=_INT8,
    minimum_runtime=_ONNX,
    weight_bits=7,
    float_results=True,
)
RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("tflite", "none", "float32", "float32", "float32", (), _FLOAT, _TFLITE),
        Recipe("tflite", "fp16", "float16", "float32", "float16", (), _FLOAT16, _TFLITE),
        _TFLITE_ROW_RANGES,
        _TFLITE_STATIC,
        # For accelerators with such kernels, and where int8 activations lose too much. XNNPACK has
        # none: it is slower than float on a processor.
        replace(_TFLITE_STATIC, quant="int16x8", activations="int16-static", float_embedding_layer=False),
        Recipe("onnx", "none", "float32", "float32", "float32", (), _FLOAT, _ONNX),
        Recipe("onnx", "fp16", "float16", "float32", "float16", (), _FLOAT16, _ONNX),
        _ONNX_ROW_RANGES,
        replace(_ONNX_ROW_RANGES, quant="int8", activations="uint8-static"),
    )
}

# What int8 tries first, by a name of its own: nothing else is tried in its place.
RECIPES |= {f"{target}-static": replace(RECIPES[f"{target}-int8"], quant="static") for target in TARGETS}

# In a network with LayerNorm and GELU, products whose results have a few channels a hundred times wider than
# the others have 15 dB with static ranges, those that read such a stream 25, the rest more (decision 018).
NOISE_LIMIT_DB = 28.0
# A limit with more room: with it an ONNX file of matcher-open-m changed .35% of decisions, with 28 dB .65%.
STRICT_NOISE_LIMIT_DB = 31.0
# The table of scales that static ranges have beside the words' rows: 8 bytes less a row than a quantised
# tensor's scales and zero points.
_TFLITE_ROWS = replace(
    _TFLITE_ROW_RANGES, quant="int8", variant="dynamic", embeddings=_TFLITE_STATIC.embeddings
)
_ONNX_ROWS = replace(_ONNX_ROW_RANGES, quant="int8", variant="dynamic")
_TFLITE_MIXED = replace(
    _TFLITE_STATIC,
    variant="mixed",
    dynamic_into_sums=True,
    float_embedding_layer=False,
    minimum_runtime=_TFLITE_DYNAMIC,
)
# What int8 tries when a recipe fails verification, the fastest first.
FALLBACKS: dict[str, tuple[Recipe, ...]] = {
    "tflite-int8": (
        _TFLITE_MIXED,
        _TFLITE_ROWS,
        replace(_TFLITE_ROWS, variant="dynamic-mixed", noise_limit_db=NOISE_LIMIT_DB),
    ),
    "onnx-int8": (
        replace(RECIPES["onnx-int8"], variant="mixed", noise_limit_db=NOISE_LIMIT_DB),
        replace(RECIPES["onnx-int8"], variant="mixed-strict", noise_limit_db=STRICT_NOISE_LIMIT_DB),
        _ONNX_ROWS,
        replace(_ONNX_ROWS, variant="dynamic-mixed", noise_limit_db=NOISE_LIMIT_DB),
    ),
}


def recipes_to_try(recipe: Recipe, *, keep_four_bits: bool = False) -> tuple[Recipe, ...]:
    """A recipe, and those that are tried in its place, the fastest first, with its tolerance and bits.

    Args:
        recipe: what was asked for.
        keep_four_bits: leave out those whose files would hold four-bit weights in eight, where any keep them.
    """
    tolerance, bits = recipe.tolerance, recipe.word_bits
    others = FALLBACKS.get(recipe.name, ())
    if recipe.as_convolutions:
        others = tuple(map(for_oldest_runtimes, others))
    every = (recipe, *(replace(other, tolerance=tolerance, word_bits=bits) for other in others))
    keeping = tuple(one for one in every if one.holds_four_bits)
    return keeping if keep_four_bits and keeping else every


def for_oldest_runtimes(recipe: Recipe) -> Recipe:
    """The TFLite recipe for files that TFLite 2.14 reads; those that stand in for it are changed with it."""
    rows = {"int8-rows": "int8-scaled"}.get(recipe.embeddings, recipe.embeddings)
    return replace(recipe, as_convolutions=True, embeddings=rows, minimum_runtime=_TFLITE)


def find_recipe(target: str, quant: str) -> Recipe:
    """The recipe of a target and a quantisation.

    Raises:
        OptionError: naming what is known.
    """
    if target not in TARGETS:
        raise OptionError(f"--target {target!r} is unknown; expected one of {', '.join(TARGETS)}")
    if quant not in QUANTS:
        raise OptionError(f"--quant {quant!r} is unknown; expected one of {', '.join(QUANTS)}")
    if f"{target}-{quant}" not in RECIPES:
        has = ", ".join(recipe.quant for recipe in RECIPES.values() if recipe.target == target)
        raise OptionError(f"--quant {quant}: {target} has no such recipe, only {has}")
    return RECIPES[f"{target}-{quant}"]
