"""What folding and equalisation do to int8 TFLite: matcher-qqp-m, also with its norms scaled.

    python -m studies.latency.equalisation_effect ../shared/data/qqp/test.tsv --out results/quantize

Every variant is converted, quantised with the int8 recipe on the bundled calibration pairs and run on the
first pairs of the file; its logits are compared with those of the PyTorch model.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from typer import Argument, Option

import mobilebert_models
from mobilebert_export import samples
from mobilebert_export.console import silenced
from mobilebert_export.tflite.writer import describe_tflite, write_float_tflite
from mobilebert_matching.data.labelled_pairs import read_labelled
from mobilebert_matching.evaluation.score_calibration import probabilities
from mobilebert_quantize.algebra import simplify
from mobilebert_quantize.algebra.streams import find_streams
from mobilebert_quantize.algebra.work import count_work
from mobilebert_quantize.calibration_data import encode_calibration
from mobilebert_quantize.equalisation import equalise
from mobilebert_quantize.recipes import find_recipe
from mobilebert_quantize.tflite.int8 import quantize_tflite
from mobilebert_runtime.card import INPUT_NAMES, OUTPUT_NAME, Bucket
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from studies.common.markdown import table
from studies.common.plots import panels, save
from studies.common.records import write_text
from studies.common.script import command_line, run

SIGNATURE = "serving_default"


def scale_norms(network: Any, seed: int = 0, reach: float = 30.0) -> Any:
    """Scale every NoNorm per channel by factors in [1/reach, reach], in place; undo them around it.

    The function stays the same. A network like this can come out of any training, for nothing in its loss
    tells one basis of a stream from another.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for stream in find_streams(network):
            before = None
            for version in stream.versions:
                size = version.writer.bias
                factor = reach ** (2 * torch.rand(size.shape, generator=generator, dtype=size.dtype) - 1)
                if before is not None:
                    version.writer.weight.mul_(before[:, None])
                    version.writer.bias.mul_(before)
                version.norm.weight.mul_(factor if before is None else factor / before)  # type: ignore[operator]
                version.norm.bias.mul_(factor)  # type: ignore[operator]
                for reader in version.readers:
                    reader.weight.div_(factor)
                before = factor
    return network


def variants(calibration: dict[str, NDArray[np.int32]]) -> Iterator[tuple[str, Any]]:
    """Name and network of everything that is compared."""
    shipped = mobilebert_models.load_pretrained(mobilebert_models.shipped_directory("matcher-qqp-m"))
    scaled = scale_norms(
        mobilebert_models.load_pretrained(mobilebert_models.shipped_directory("matcher-qqp-m"))
    )
    for name, network in (("shipped", shipped), ("norms scaled by 1/30 to 30", scaled)):
        yield f"{name}: as trained", network
        folded = simplify(network).network
        yield f"{name}: folded", folded
        yield f"{name}: folded and equalised", equalise(folded, calibration).network


def measure(
    network: Any,
    encoded: dict[str, NDArray[np.int32]],
    calibration: dict[str, NDArray[np.int32]],
    seq_len: int,
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Logits of the int8 file, and its operators."""
    from ai_edge_litert.interpreter import Interpreter

    with tempfile.TemporaryDirectory() as scratch, silenced():
        plain, small = Path(scratch) / "float.tflite", Path(scratch) / "int8.tflite"
        write_float_tflite(network, plain, (Bucket(seq_len, SIGNATURE),))
        quantize_tflite(plain, small, find_recipe("tflite", "int8"), calibration)
        interpreter = Interpreter(str(small), num_threads=1)
        interpreter.allocate_tensors()
        run = interpreter.get_signature_runner(SIGNATURE)
        rows = [
            run(**{name: encoded[name][i : i + 1] for name in INPUT_NAMES})[OUTPUT_NAME]
            for i in range(len(encoded["input_ids"]))
        ]
        graphs = {"float32": describe_tflite(plain), "int8": describe_tflite(small)}
        operators = {
            kind: {"operators": graph.operators, "partitions": graph.xnnpack.partitions}
            for kind, graph in graphs.items()
        }
    return np.concatenate(rows), operators


def main(
    file: Annotated[Path, Argument(metavar="PAIRS", help="Labelled pairs.")],
    out: Annotated[Path, Option(help="Folder for equalisation.json, .md and .png.")],
    count: Annotated[int, Option(min=1, help="The first so many pairs.")] = 800,
    seq_len: Annotated[int, Option(min=1, help="Tokens of a pair.")] = 64,
) -> None:
    """Measure int8 files with and without folding and equalisation."""
    directory = mobilebert_models.shipped_directory("matcher-qqp-m")
    tokenizer, settings = PairTokenizer.load(directory), mobilebert_models.MatcherSettings.load(directory)
    everything = read_labelled(file)
    pairs, labels = everything.pairs[:count], everything.labels[:count]
    encoded = tokenizer.encode(pairs, seq_len)
    calibration = encode_calibration(samples.calibration_pairs(), tokenizer, seq_len)

    def decide(logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        return probabilities(logits, settings, pairs) >= settings.threshold

    shipped = mobilebert_models.load_pretrained(directory)
    with torch.inference_mode():
        tensors = [torch.from_numpy(encoded[name]).split(16) for name in INPUT_NAMES]
        expected = torch.cat([shipped(*batch) for batch in zip(*tensors, strict=True)]).numpy()
    found = []
    for name, network in variants(calibration):
        logits, operators = measure(network, encoded, calibration, seq_len)
        work = count_work(network, seq_len)
        error = logits - expected
        found.append(
            {
                "variant": name,
                "rms_logit_error": float(np.sqrt((error**2).mean())),
                "max_logit_error": float(np.abs(error).max()),
                "label_agreement": float((decide(logits) == decide(expected)).mean()),
                "accuracy": float((decide(logits) == labels).mean()),
                "macs": work.macs,
                "graphs": operators,
            }
        )
    out.mkdir(parents=True, exist_ok=True)
    record = {
        "command": command_line(),
        "pairs": len(labels),
        "seq_len": seq_len,
        "float_accuracy": float((decide(expected) == labels).mean()),
        "variants": found,
    }
    write_json(out / "equalisation.json", record)
    write_text(out / "equalisation.md", to_markdown(record))
    draw(record, out / "equalisation.png")


def to_markdown(record: dict[str, Any]) -> str:
    """The record as a page."""
    lines = [
        "# int8 with and without folding and equalisation",
        "",
        f"int8 TFLite against PyTorch, {record['pairs']} pairs, {record['seq_len']} tokens.",
        f"Accuracy in float: {record['float_accuracy']:.2%}. `{record['command']}`",
        "",
    ]
    head = [
        "variant",
        "rms Δlogit",
        "max",
        "same label",
        "accuracy",
        "MACs",
        "MUL / ADD / all operators, float",
    ]
    rows = []
    for one in record["variants"]:
        kinds = one["graphs"]["float32"]["operators"]
        counts = f"{kinds.get('MUL', 0)} / {kinds.get('ADD', 0)} / {sum(kinds.values())}"
        errors = f"{one['rms_logit_error']:.4f}", f"{one['max_logit_error']:.3f}"
        shares = f"{one['label_agreement']:.2%}", f"{one['accuracy']:.2%}"
        rows.append([one["variant"], *errors, *shares, f"{one['macs'] / 1e6:.0f} M", counts])
    return "\n".join([*lines, table(head, rows), ""])


def draw(record: dict[str, Any], path: Path) -> None:
    """The rms error of the logits per variant, logarithmic."""
    names = [one["variant"] for one in record["variants"]]
    errors = [one["rms_logit_error"] for one in record["variants"]]
    figure, ((axes,),) = panels(8, 3)
    axes.scatter(errors, names, color=["#4477aa"] * 3 + ["#ee6677"] * 3)
    for name, error in zip(names, errors, strict=True):
        axes.annotate(f"{error:.3f}", (error, name), xytext=(8, -4), textcoords="offset points")
    axes.set(xscale="log", xlabel="rms error of int8 logits", xlim=(min(errors) / 2, max(errors) * 3))
    axes.grid(axis="x", alpha=0.3)
    axes.invert_yaxis()
    save(figure, path)


if __name__ == "__main__":
    run(main)
