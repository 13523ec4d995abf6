"""The options of `mobilebert export`, each declared once with its help text, and their checks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict

from mobilebert_export.pipeline.targets import DEFAULT_OPSET, Target
from mobilebert_quantize.recipes import TFLITE_VERSIONS, WORD_BITS, Recipe, find_recipe, for_oldest_runtimes
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.card_parts import MOST_BUCKETS
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.signature import read_secret_key

OPSETS = range(18, 21)
# Sequence lengths of an artefact, as far as they are below --seq-len; real pairs have about 30 tokens.
DEFAULT_BUCKETS = (16, 32, 64, 128)
SHORTEST = 8
VERIFY_PAIRS = 2000
FEWEST_VERIFY_PAIRS = 200
ARTEFACT_LAYOUT, TRANSFORMERS_LAYOUT = LAYOUTS = ("artefact", "transformers")


def parse_buckets(text: str) -> tuple[int, ...]:
    """Sequence lengths from a command line, such as "16,32,64,128"."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"--buckets {text!r}: expected numbers such as 16,32,64,128") from None


@dataclass(frozen=True)
class ExportRequest:
    """The options of an export; `config_command` makes the command line from these fields."""

    out: Annotated[Path, "Artefact folder to make; must not exist."]
    model: Annotated[str, "Model directory, or 'shipped'."] = "shipped"
    positive: Annotated[
        str | None, "Class that means a match, where the model's class names do not say so."
    ] = None
    task: Annotated[
        str | None, "What the model does, where its files do not say: text-matching or text-classification."
    ] = None
    texts: Annotated[int | None, "Texts that a text classifier reads: 1, or 2 for a pair."] = None
    target: Annotated[str, "tflite or onnx."] = "tflite"
    layout: Annotated[
        str, "artefact; transformers: a folder for transformers.js, fastembed and others, with --target onnx."
    ] = ARTEFACT_LAYOUT
    quant: Annotated[
        str,
        "none, fp16 (weights); calibrated int16x8, int8: dynamic, static, or whichever passes (int8).",
    ] = "int8"
    word_bits: Annotated[
        int, "Bits per value of the word embeddings: 8, or 4 or 2 as product codes; not with none or fp16."
    ] = Recipe.word_bits
    minimum_runtime: Annotated[
        str | None,
        "Oldest TFLite that must read the file, 2.14 or 2.18; default: what the fastest file needs.",
    ] = None
    seq_len: Annotated[
        int | None,
        "Tokens; longer pairs are truncated, shorter ones padded; default: 128, or what the model takes.",
    ] = None
    buckets: Annotated[
        tuple[int, ...] | None,
        "Sequence lengths up to --seq-len; a pair runs in the smallest that holds it. [16,32,64,128]",
        parse_buckets,
    ] = None
    calibration: Annotated[
        Path | None, "TSV of text pairs for int8 ranges; default: the bundled samples."
    ] = None
    max_accuracy_drop: Annotated[
        float | None,
        "Points that quantising may cost on --pairs; harmful products stay float until it holds.",
    ] = None
    pairs: Annotated[Path | None, "Labelled pairs for --max-accuracy-drop."] = None
    verify_pairs: Annotated[int, "Pairs made from the bundled text to count changed decisions on."] = (
        VERIFY_PAIRS
    )
    text_a: Annotated[str | None, "Column of the first texts in --calibration."] = None
    text_b: Annotated[str | None, "Column of the second texts."] = None
    atol: Annotated[float | None, "Largest |Δlogit| against PyTorch; default: the recipe's."] = None
    opset: Annotated[int, "ONNX operator set, 18 to 20."] = DEFAULT_OPSET
    threads: Annotated[int, "CPU threads of the latency measurement."] = 1
    measure: Annotated[bool, "Measure the latency of the float and the quantised file."] = True
    simplify: Annotated[bool, "Exact rewrites before conversion; for int8 also equalised ranges."] = True
    kronecker: Annotated[
        str, "Kronecker layers: factored, materialised, or auto: whatever is faster, layer by layer."
    ] = "auto"
    sign: Annotated[Path | None, "Sign with this minisign key, made by `minisign -G -W`."] = None
    force: Annotated[bool, "Replace an artefact folder that exists."] = False

    def __post_init__(self) -> None:
        """Take the name of a file for its path, and a list of lengths for a tuple."""
        for name in ("out", "calibration", "pairs", "sign"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, Path(value))
        if self.buckets is not None:
            object.__setattr__(self, "buckets", tuple(self.buckets))

    def recipe(self) -> Recipe:
        """The quantisation recipe, after all checks that need no file.

        Raises:
            OptionError: an option is unknown, out of range, or contradicts another.
        """
        recipe = self._for_runtime(find_recipe(self.target, self.quant))
        if self.word_bits not in WORD_BITS:
            raise OptionError(
                f"--word-bits {self.word_bits}: expected one of {', '.join(map(str, WORD_BITS))}"
            )
        if self.word_bits != Recipe.word_bits and not recipe.integer_operators:
            raise OptionError(
                f"--word-bits {self.word_bits}: --quant {self.quant} keeps the word embeddings in float; "
                "expected dynamic, int8, static or int16x8"
            )
        recipe = replace(recipe, word_bits=self.word_bits)
        self._check_buckets()
        self._check_layout()
        if self.max_accuracy_drop is not None and not recipe.static_ranges:
            raise OptionError(
                "--max-accuracy-drop: only --quant int8, static and int16x8 can be mixed with float, "
                f"not {recipe.name}"
            )
        if self.calibration is not None and not recipe.needs_calibration:
            raise OptionError(
                "--calibration applies only to --quant dynamic, int8, static and int16x8; "
                f"{recipe.name} measures no ranges"
            )
        if self.opset not in OPSETS:
            raise OptionError(f"--opset {self.opset}: expected {OPSETS.start} to {OPSETS.stop - 1}")
        if self.threads < 1:
            raise OptionError(f"--threads {self.threads}: expected at least 1")
        if self.verify_pairs < FEWEST_VERIFY_PAIRS:
            raise OptionError(f"--verify-pairs {self.verify_pairs}: expected at least {FEWEST_VERIFY_PAIRS}")
        if self.sign is not None:
            read_secret_key(self.sign)  # before the work; used after it
        if self.atol is None:
            return recipe
        if not self.atol > 0:
            raise OptionError(f"--atol {self.atol}: expected a number above 0")
        return replace(recipe, tolerance=replace(recipe.tolerance, max_abs_logit=self.atol))

    def _check_buckets(self) -> None:
        if self.buckets is None:
            return
        given = ",".join(map(str, self.buckets))
        ascending = self.buckets == tuple(sorted(set(self.buckets)))
        if not ascending or not self.buckets or self.buckets[0] < SHORTEST:
            raise OptionError(
                f"--buckets {given}: expected different lengths in ascending order, each at least {SHORTEST}"
            )
        if len(self.buckets) > MOST_BUCKETS:
            raise OptionError(f"--buckets: {len(self.buckets)} lengths; at most {MOST_BUCKETS} fit in a file")
        if self.seq_len is not None and self.buckets[-1] != self.seq_len:
            raise OptionError(f"--buckets {given}: the last must be --seq-len, {self.seq_len}")

    def _check_layout(self) -> None:
        """What `mobilebert_export.pipeline.transformers_layout` can't do is refused before the work."""
        if self.layout not in LAYOUTS:
            raise OptionError(f"--layout {self.layout}: expected {' or '.join(LAYOUTS)}")
        if self.layout == ARTEFACT_LAYOUT:
            return
        if self.target != "onnx":
            raise OptionError(f"--layout {self.layout}: is of .onnx files; give --target onnx")
        if self.sign is not None:
            raise OptionError(f"--sign: an artefact is signed, and --layout {self.layout} makes none")
        if len(self.card_buckets(DEFAULT_BUCKETS[-1])) < 2:
            raise OptionError(
                f"--layout {self.layout}: one sequence length makes a file of that length alone; "
                "give more --buckets"
            )

    def _for_runtime(self, recipe: Recipe) -> Recipe:
        """The recipe for files that --minimum-runtime reads; as it is without one."""
        version = self.minimum_runtime
        if version is None:
            return recipe
        if version not in TFLITE_VERSIONS:
            raise OptionError(f"--minimum-runtime {version}: expected {' or '.join(TFLITE_VERSIONS)}")
        if self.target != "tflite":
            raise OptionError(
                f"--minimum-runtime {version}: applies to TFLite only; "
                f"leave it out with --target {self.target}"
            )
        return for_oldest_runtimes(recipe) if version == TFLITE_VERSIONS[0] else recipe

    def card_buckets(self, longest: int) -> tuple[Bucket, ...]:
        """The sequence lengths in ascending order; only a .tflite file has a signature for each.

        Args:
            longest: what the model takes.
        """
        lengths = self.buckets
        if lengths is None:
            most = self.seq_len or min(DEFAULT_BUCKETS[-1], longest)
            lengths = (*(length for length in DEFAULT_BUCKETS if length < most), most)
        target = Target(self.target)
        return tuple(Bucket(length, target.signature(length)) for length in lengths)


class ExportOptions(TypedDict, total=False):
    """What `mobilebert_export.export` takes by keyword: fields of `ExportRequest`, which explains them."""

    positive: str | None
    task: str | None
    texts: int | None
    target: str
    layout: str
    quant: str
    word_bits: int
    minimum_runtime: str | None
    seq_len: int | None
    buckets: Sequence[int] | None
    calibration: str | Path | None
    max_accuracy_drop: float | None
    pairs: str | Path | None
    verify_pairs: int
    text_a: str | None
    text_b: str | None
    atol: float | None
    opset: int
    threads: int
    measure: bool
    simplify: bool
    kronecker: str
    sign: str | Path | None
    force: bool
