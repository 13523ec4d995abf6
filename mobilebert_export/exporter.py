"""From a model directory to a verified artefact folder: the whole path, in order.

    check the request → load → rewrite exactly → write the float file → quantise → run and compare → measure
    → report → rename

Nothing is visible under the final name until every step has passed.
"""

import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from matching.data.pairs import read_texts
from mobilebert_export import samples
from mobilebert_export.accuracy_budget import meet_budget, read_budget_pairs
from mobilebert_export.artefact_folder import check_output, new_folder, write_checksums
from mobilebert_export.console import silenced, step
from mobilebert_export.exact_rewrites import PROOF_PAIRS, Rewritten, choose_forms, rewrite
from mobilebert_export.export_report import write_report
from mobilebert_export.verification import Verification, VerificationError, verify
from mobilebert_runtime.card import MODEL_FILES, ArtefactCard, Bucket, read_recipe
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import file_sha256, write_json
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.signature import read_secret_key, sign
from mobilebert_runtime.tokenizer import PairTokenizer
from quantize.calibration_data import encode_calibration
from quantize.recipes import Recipe, Tolerance, find_recipe

if TYPE_CHECKING:
    from quantize.product_audit import ProductLoss

# Default operator set: the newest that the oldest supported ONNX Runtime (1.17) reads.
DEFAULT_OPSET = 20
OPSETS = range(18, 21)
# Sequence lengths of an artefact, as far as they are below --seq-len; real pairs have about 30 tokens.
DEFAULT_BUCKETS = (16, 32, 64, 128)
SHORTEST = 8
# Pairs that products are audited on; a pass over them per product.
AUDIT_PAIRS = 16


@dataclass(frozen=True)
class ExportRequest:
    """What the user asks `mobilebert export` for."""

    out: Path
    model: str = "shipped"  # as in `models.find_directory`
    target: str = "tflite"
    quant: str = "int8"
    seq_len: int = 128
    buckets: tuple[int, ...] | None = None  # sequence lengths, the longest being seq_len; None: the default
    calibration: Path | None = None  # TSV of pairs; the bundled ones when None
    text_a: str | None = None  # its columns, where their names are not known ones
    text_b: str | None = None
    atol: float | None = None  # replaces the recipe's largest |Δlogit|
    opset: int = DEFAULT_OPSET
    force: bool = False
    simplify: bool = True  # exact rewrites, and equalised ranges for int8
    kronecker: str = "auto"  # form of Kronecker layers: auto, factored or materialised
    max_accuracy_drop: float | None = None  # points that quantising may cost on `pairs`
    pairs: Path | None = None  # labelled
    threads: int = 1  # of the latency measurement
    sign: Path | None = None  # minisign secret key without a password
    measure: bool = True  # the float/quantised latency pair; about ten seconds


@dataclass(frozen=True)
class LoadedModel:
    """A PyTorch pair classifier and what belongs to it."""

    network: Any
    settings: Any  # models.MatcherSettings
    tokenizer: PairTokenizer
    directory: Path
    source: dict[str, str]  # name and SHA-256 of the weights, for recipe.json


def export(request: ExportRequest, console: Console) -> dict[str, Any]:
    """Carry out a request and return the report (the content of report.json).

    Raises:
        Exception: with `exit_code` 2 for anything wrong in the request, the model directory or the
            calibration file, before anything is written; with `exit_code` 1 (`VerificationError`) when the
            artefact does not agree with the PyTorch model. The output folder is then as it was.
    """
    check_output(request.out, force=request.force)
    recipe = _recipe(request)
    pairs = _calibration_pairs(request, recipe)
    with step(console, "Load the PyTorch model"):
        model = load_model(request.model)
        card = _card(request, model, recipe)
        labelled = read_budget_pairs(request.pairs, request.max_accuracy_drop, card)
        calibration = encode_calibration(pairs, model.tokenizer, request.seq_len) if pairs else None
    lengths = [bucket.seq_len for bucket in card.buckets]
    lowered, forms = choose_forms(model.network, request.kronecker, recipe, lengths)
    if request.kronecker != "auto" and not forms:
        raise OptionError(f"--kronecker {request.kronecker}: {request.model} has no Kronecker layers")
    rewritten = Rewritten(lowered, None)
    if request.simplify:
        with step(console, "Rewrite exactly"):
            proof = model.tokenizer.encode(samples.verification_pairs()[:PROOF_PAIRS], request.seq_len)
            rewritten = rewrite(lowered, recipe, proof, calibration)
    budget = None
    with new_folder(request.out, force=request.force) as folder, tempfile.TemporaryDirectory() as scratch:
        float_card = replace(card, quant="none")
        plain = folder if recipe.quant == "none" else Path(scratch) / "float32"
        plain.mkdir(exist_ok=True)
        with step(console, f"Convert to float {request.target}"), silenced():
            write_float(rewritten.network, plain / card.model_file, request, card.buckets)
        _complete(plain, float_card, model)
        if recipe.quant != "none":

            def write_quantised(keep_float: Collection[int] = ()) -> None:
                quantise(plain / card.model_file, folder / card.model_file, recipe, calibration, keep_float)
                _complete(folder, card, model)

            with step(console, f"Quantise: {recipe.name}"), silenced():
                write_quantised()
            if labelled and calibration and request.max_accuracy_drop is not None:
                with step(console, f"Accuracy on {len(labelled.pairs)} labelled pairs"), silenced():
                    budget = meet_budget(
                        plain,
                        folder,
                        write_quantised,
                        lambda: _worst_first(rewritten.network, plain / card.model_file, calibration, recipe),
                        labelled,
                        request.max_accuracy_drop,
                    )
        source = {
            "pairs": len(pairs),
            "from": request.calibration.name if request.calibration else "bundled samples",
        }
        write_json(
            folder / "recipe.json",
            {"recipe": recipe.to_json(), "model": model.source, "calibration": source if pairs else None}
            | ({"budget": budget.to_json()} if budget else {})
            | ({"opset": request.opset} if request.target == "onnx" else {}),
        )
        write_checksums(folder)
        checked = samples.verification_pairs()
        with step(console, f"Compare with PyTorch on {len(checked)} pairs"), silenced():
            result = verify(model.network, Matcher.load(folder), checked, recipe.tolerance)
        require_passed(result, request.out)
        latency = None
        if request.measure and plain is not folder:
            with step(console, "Measure float and quantised, interleaved"):
                latency = measure_pair(plain, folder, request.threads)
        with step(console, "Report"), silenced():
            report = write_report(
                folder,
                plain,
                card=card,
                recipe=recipe,
                model=model.source,
                result=result,
                latency=latency,
                budget=budget,
                rewrites=rewritten.report,
                kronecker=forms,
            )
        write_checksums(folder)
        sign(folder, request.sign)
    return report


def verify_artefact(
    directory: Path,
    model_name: str | None,
    pairs: list[tuple[str, str]] | None,
    threads: int,
    console: Console,
) -> Verification:
    """Compare an existing artefact with its PyTorch model, on the tolerances in its recipe.json.

    Raises:
        OptionError: the model is not the one the artefact was made from, or can't be told.
        ArtefactError: the artefact is damaged.
    """
    with silenced():
        matcher = Matcher.load(directory, threads)
    made = read_recipe(directory)
    source = model_name or shipped_source(made, directory)
    pairs = samples.verification_pairs() if pairs is None else pairs
    with step(console, "Load the PyTorch model"):
        model = load_model(source)
    if model.source["sha256"] != made["model"]["sha256"]:
        raise OptionError(
            f"{model.directory}: its weights (SHA-256 {model.source['sha256'][:12]}…) are not those "
            f"{directory} was made from ({made['model']['sha256'][:12]}…); give the right --model"
        )
    tolerance = Tolerance(**made["recipe"]["tolerance"])
    with step(console, f"Compare with PyTorch on {len(pairs)} pairs"), silenced():
        return verify(model.network, matcher, pairs, tolerance)


def shipped_source(made: dict[str, Any], artefact: str | Path) -> str:
    """The name of the shipped matcher that an artefact's recipe.json says it was made from.

    Raises:
        OptionError: it was made from another model.
    """
    import models

    name = str(made["model"]["name"])
    if name not in models.SHIPPED_MATCHERS:
        raise OptionError(f"{artefact}: made from {name!r}; give its directory with --model")
    return name


def load_model(name: str) -> LoadedModel:
    """Load a model by its directory or name; the errors are those of `models` and of the tokenizer."""
    import models

    directory = models.find_directory(name)
    network = models.load_pretrained(directory)
    if not isinstance(network, models.PairClassifier):
        kind = type(network).__name__
        raise OptionError(f"{directory}: holds a {kind}, not a pair classifier; fine-tune it on pairs first")
    settings = models.MatcherSettings.load(directory)
    if network.num_labels != len(settings.labels):
        raise OptionError(
            f"{directory}: matcher.json names {len(settings.labels)} labels, "
            f"the classifier has {network.num_labels}"
        )
    tokenizer = PairTokenizer.load(directory)
    if not (directory / "vocab.txt").is_file():
        raise OptionError(
            f"{directory}: no vocab.txt; an artefact's runtimes split text by WordPiece, not SentencePiece: "
            "train this model on `mobilebert train-tokenizer --kind wordpiece`, or export the network alone "
            "with mobilebert_export.tflite_writer.write_float_tflite"
        )
    if tokenizer.vocab_size > network.config.vocab_size:
        raise OptionError(
            f"{directory}: tokenizer.json has {tokenizer.vocab_size} entries, "
            f"the model {network.config.vocab_size}"
        )
    digest = file_sha256(directory / "model.safetensors")
    # The folder's name, not its path: an artefact tells nobody where it was made.
    source = {"name": directory.resolve().name, "sha256": digest}
    return LoadedModel(network, settings, tokenizer, directory, source)


def write_float(network: Any, path: Path, request: ExportRequest, buckets: tuple[Bucket, ...]) -> None:
    """The float file of the request's target."""
    if request.target == "tflite":
        from mobilebert_export.tflite_writer import write_float_tflite

        write_float_tflite(network, path, buckets)
    else:
        from mobilebert_export.onnx_writer import write_float_onnx

        write_float_onnx(network, path, buckets, request.opset)


def quantise(
    source: Path,
    target: Path,
    recipe: Recipe,
    calibration: dict[str, NDArray[np.int32]] | None,
    keep_float: Collection[int] = (),
) -> None:
    """The quantised file of a recipe; products with these numbers stay in float."""
    if recipe.target == "tflite":
        from quantize.tflite_int8 import quantize_tflite

        quantize_tflite(source, target, recipe, calibration, keep_float)
    else:
        from quantize.onnx_int8 import quantize_onnx

        quantize_onnx(source, target, recipe, calibration, keep_float)


def _worst_first(
    network: Any, plain: Path, calibration: dict[str, NDArray[np.int32]], recipe: Recipe
) -> "list[ProductLoss]":
    """The products of a network by falling harm, after checking that the file computes the same ones."""
    from quantize.product_audit import audit

    step_size = max(1, len(calibration["input_ids"]) // AUDIT_PAIRS)
    some = {name: values[::step_size][:AUDIT_PAIRS] for name, values in calibration.items()}
    found = audit(network, some, recipe)
    if recipe.target == "tflite":
        from quantize.tflite_int8 import product_widths
    else:
        from quantize.onnx_int8 import product_widths
    widths = product_widths(plain)
    if len(widths) != found.computed or any(widths[one.number] != one.width for one in found.products):
        raise OptionError(
            f"{network.config.model_type}: the converter reordered this network's products, so none can be "
            "kept in float; export without --max-accuracy-drop"
        )
    return found.worst_first()


def measure_pair(plain: Path, quantised: Path, threads: int) -> dict[str, Any]:
    """Latency of the float and the quantised artefact, interleaved in one run: ms, and their ratio."""
    from android_bench.latency import compare

    run = compare([plain, quantised], threads=threads, inputs=samples.verification_pairs()[:24])
    first, second = (candidate.name for candidate in run.candidates)
    return {
        "threads": threads,
        "float32": run.summary(first),
        "quantised": run.summary(second),
        "ratio": run.ratio(first, second),
        "machine": run.machine,
        "sessions": len(run.sessions),
        "troubled_sessions": len(run.troubles()),
    }


def require_passed(result: Verification, where: Path) -> None:
    """Raise `VerificationError` when a tolerance was broken."""
    if result.failures:
        raise VerificationError(
            f"{where}: differs from the PyTorch model on {result.pairs} pairs: {'; '.join(result.failures)}"
        )


def _recipe(request: ExportRequest) -> Recipe:
    recipe = find_recipe(request.target, request.quant)
    if request.buckets is not None:
        lengths = list(request.buckets)
        if lengths != sorted(set(lengths)) or not lengths or lengths[0] < SHORTEST:
            raise OptionError(
                f"--buckets {_joined(lengths)}: expected different lengths in ascending order, each at least "
                f"{SHORTEST}"
            )
        if lengths[-1] != request.seq_len:
            raise OptionError(f"--buckets {_joined(lengths)}: the last must be --seq-len, {request.seq_len}")
    if request.max_accuracy_drop is not None and not recipe.needs_calibration:
        raise OptionError(
            f"--max-accuracy-drop: only --quant int8 and int16x8 can be mixed with float, not {recipe.name}"
        )
    if request.opset not in OPSETS:
        raise OptionError(f"--opset {request.opset}: expected {OPSETS.start} to {OPSETS.stop - 1}")
    if request.threads < 1:
        raise OptionError(f"--threads {request.threads}: expected at least 1")
    if request.sign is not None:
        read_secret_key(request.sign)  # before the work; used after it
    if request.atol is None:
        return recipe
    if not request.atol > 0:
        raise OptionError(f"--atol {request.atol}: expected a number above 0")
    tolerance: Tolerance = replace(recipe.tolerance, max_abs_logit=request.atol)
    return replace(recipe, tolerance=tolerance)


def parse_buckets(text: str) -> tuple[int, ...]:
    """Sequence lengths from a command line, such as "16,32,64,128"."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"--buckets {text!r}: expected numbers such as 16,32,64,128") from None


def _joined(lengths: list[int]) -> str:
    return ",".join(map(str, lengths))


def _calibration_pairs(request: ExportRequest, recipe: Recipe) -> list[tuple[str, str]]:
    if request.calibration is None:
        return samples.calibration_pairs() if recipe.needs_calibration else []
    pairs = read_texts(request.calibration, request.text_a, request.text_b)
    if not recipe.needs_calibration:
        raise OptionError(
            f"--calibration is only read by --quant int8 and int16x8; {recipe.name} measures no ranges"
        )
    return pairs


def _card(request: ExportRequest, model: LoadedModel, recipe: Recipe) -> ArtefactCard:
    config = model.network.config
    if not SHORTEST <= request.seq_len <= config.max_position_embeddings:
        raise OptionError(
            f"--seq-len {request.seq_len}: this model takes {SHORTEST} to {config.max_position_embeddings}"
        )
    return ArtefactCard(
        target=recipe.target,
        quant=recipe.quant,
        model_file=MODEL_FILES[recipe.target],
        buckets=_buckets(request),
        labels=tuple(model.settings.labels),
        positive=model.settings.positive,
        threshold=model.settings.threshold,
        temperature=model.settings.temperature,
        attention_mask_value=config.attention_mask_value,
        lowercase=_lowercases(model.tokenizer),
        minimum_runtime=recipe.minimum_runtime,
        length_shift=LengthShift.from_json(model.settings.length_shift),
    )


def _buckets(request: ExportRequest) -> tuple[Bucket, ...]:
    """The request's sequence lengths in ascending order; only a .tflite file has a signature for each."""
    lengths = request.buckets
    if lengths is None:
        lengths = (*(length for length in DEFAULT_BUCKETS if length < request.seq_len), request.seq_len)
    return tuple(
        Bucket(length, f"seq_{length}" if request.target == "tflite" else None) for length in lengths
    )


def _lowercases(tokenizer: PairTokenizer) -> bool:
    return tokenizer.ids([("A", "A")], 8) == tokenizer.ids([("a", "a")], 8)


def _complete(folder: Path, card: ArtefactCard, model: LoadedModel) -> None:
    """Add what makes a model file an artefact that `Matcher.load` opens."""
    for name in ("vocab.txt", "tokenizer.json"):
        shutil.copyfile(model.directory / name, folder / name)
    write_json(folder / "io.json", card.to_json())
    write_checksums(folder)
