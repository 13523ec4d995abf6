"""Accuracy over parameters, bytes and latency: Kronecker factors against low-rank ones, and their teacher.

    python -m studies.kronecker.curve --runs runs/kronecker --results results/kronecker \
        --teacher runs/teacher/model --test ../shared/data/qqp/test.tsv --pairs ../shared/data/qqp/dev.tsv

Exports every trained student (studies.kronecker.table6) as float and int8 TFLite, as the cost
model chooses, factored and multiplied out (what the cost model chooses everywhere is the same file),
measures all of them in one interleaved run and writes curve.json, curve.md and curve-latency.png. With
`--pairs`, int8 may cost a student half a point on them: products go back to float until it holds. Accuracy is
that of the files as the cost model chooses them, each in its own runtime. Artefacts that are there are not
made again.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Option

from android_bench.measuring.latency import compare
from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_export.verification.verify import VerificationError
from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_labelled
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from studies.common.markdown import table
from studies.common.plots import panels, save
from studies.common.records import read_folder, read_json, write_text
from studies.common.script import command_line, console, run
from studies.kronecker.out_of_domain import figures

LOWERINGS = ("auto", "factored", "materialised")
QUANTS = ("none", "int8")
# Latency is that of the longest, padded.
LENGTHS = (32, 128)
# Points of accuracy that int8 may cost.
DROP = 0.5


def export_all(
    name: str, model: Path, out: Path, lowerings: tuple[str, ...], pairs: Path | None, console: Console
) -> list[dict[str, Any]]:
    """An artefact for each number format and lowering; a refused one is a row with the reason."""
    found = []
    for quant in QUANTS:
        chosen: set[str] = set()
        for form in lowerings:
            if chosen == {form}:
                continue
            folder = out / f"{name}-{quant}-{form}"
            row = {"cell": name, "quant": quant, "form": form, "folder": folder.name}
            if not folder.is_dir():
                request = ExportRequest(
                    out=folder, model=str(model), quant=quant, buckets=LENGTHS, kronecker=form, measure=False
                )
                if quant != "none" and pairs is not None:
                    request = replace(request, max_accuracy_drop=DROP, pairs=pairs)
                try:
                    export(request, console.print)
                except VerificationError as error:
                    found.append(row | {"failed": str(error).partition(": ")[2]})
                    continue
            report = read_json(folder / "report.json")
            layers = [layer["form"] for layer in report["kronecker"]]
            if form == "auto":
                chosen = set(layers)
            found.append(
                row
                | {
                    "bytes": report["bytes"]["model"],
                    "label_agreement": report["verification"]["label_agreement"],
                    "factored_layers": layers.count("factored"),
                    "layers": len(layers),
                }
            )
    return found


def accuracy(folder: Path, test: LabelledPairs) -> float:
    """Of an artefact, at its own threshold."""
    scorer = open_scorer(str(folder), 1)
    scores = scorer.score_all(test.pairs, lambda *_: None)
    return float(figures(test.labels, scores, scorer.threshold)["accuracy"])


def main(
    runs: Annotated[
        Path, Option(help="Folder of the trained students, as studies.kronecker.table6 leaves it.")
    ],
    results: Annotated[Path, Option(help="Folder of the records, and for curve.json, .md and .png.")],
    teacher: Annotated[Path, Option(help="The teacher's model directory.")],
    test: Annotated[Path, Option(help="Labelled test pairs.")],
    pairs: Annotated[
        Path | None, Option(help="Labelled development pairs: int8 may cost half a point.")
    ] = None,
    artefacts: Annotated[Path, Option(help="Where the artefacts are, or are made.")] = Path(
        "artefacts/kronecker"
    ),
    beside: Annotated[list[Path] | None, Option(help="Another artefact folder (repeat for more).")] = None,
    run_names: Annotated[
        list[str] | None, Option("--run", help="Name of a record; default: all of seed 0.")
    ] = None,
    sessions: Annotated[int, Option(help="Interleaved sessions per artefact, a process each.")] = 5,
    seconds: Annotated[float, Option(help="Steady measurement per session.")] = 1.0,
) -> None:
    """Export every trained student in float and int8, factored and multiplied out; measure and draw them."""
    artefacts.mkdir(parents=True, exist_ok=True)
    others, progress = beside or [], console()
    cells = read_folder(results / "cells")
    names = run_names or [name.removesuffix(".json") for name in cells if name.endswith(".seed0.json")]
    if missing := [name for name in names if f"{name}.json" not in cells]:
        raise DataError(f"{results / 'cells'}: no record named {missing[0]}")
    records = {name: cells[f"{name}.json"] for name in names}
    rows = export_all("teacher", teacher, artefacts, ("auto",), None, progress)
    for name in names:
        rows += export_all(name, runs / name / "model", artefacts, LOWERINGS, pairs, progress)
    measured, labelled = [row for row in rows if "failed" not in row], read_labelled(test)
    timed = compare(
        [*(artefacts / row["folder"] for row in measured), *others],
        sessions=sessions,
        seconds=seconds,
    )
    base = "teacher-none-auto"
    for row in measured:
        row["ms"] = timed.summary(row["folder"])["p50_ms"]
        row["time_of_float_teacher"] = timed.ratio(base, row["folder"])
        if row["cell"] in records:
            row["parameters"] = records[row["cell"]]["parameters"]
        if row["form"] == "auto":
            row["accuracy"] = accuracy(artefacts / row["folder"], labelled)
            row["kept"] = row["accuracy"] / measured[0]["accuracy"]
    beside_rows = [
        {"folder": path.name, "bytes": sum(f.stat().st_size for f in path.glob("model.*"))}
        | {"ms": timed.summary(path.name)["p50_ms"], "time_of_float_teacher": timed.ratio(base, path.name)}
        for path in others
    ]
    result = {
        "command": command_line(),
        "machine": timed.machine,
        "sessions": len(timed.sessions),
        "troubled_sessions": len(timed.troubles()),
        "rows": rows,
        "beside": beside_rows,
    }
    write_json(results / "curve.json", result)
    write_text(results / "curve.md", to_markdown(result))
    draw(measured, results / "curve-latency.png")


def to_markdown(result: dict[str, Any]) -> str:
    """The rows as a page."""
    lines = [
        "# Kronecker and low-rank factors: accuracy, size, latency",
        "",
        f"`{result['command']}`",
        "",
    ]
    head = ["model", "numbers", "form", "parameters", "MB", "time / float teacher", "accuracy"]
    rows = []
    for row in result["rows"]:
        if "failed" in row:
            rows.append([row["cell"], row["quant"], row["form"], row["failed"], *[""] * 4])
            continue
        scored, counted = "accuracy" in row, "parameters" in row
        chosen = f", {row['factored_layers']} of {row['layers']} factored" if row["layers"] else ""
        size, time = f"{row['bytes'] / 1e6:.1f}", f"{row['time_of_float_teacher']:.2f}"
        parameters = f"{row['parameters']:,}" if counted else ""
        accuracies = [f"{row['accuracy']:.4f}", f"{row['kept']:.1%}"] if scored else ["", ""]
        rows.append([row["cell"], row["quant"], row["form"] + chosen, parameters, size, time, *accuracies])
    for row in result["beside"]:
        figures = [f"{row['bytes'] / 1e6:.1f}", f"{row['time_of_float_teacher']:.2f}"]
        rows.append([row["folder"], "", "", "", *figures, "", ""])
    return "\n".join([*lines, table([*head, "of the teacher's"], rows), ""])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Accuracy over latency, a colour a model, a marker a number format."""
    figure, ((axes,),) = panels(7.5, 4.5)
    cells = sorted({row["cell"] for row in rows})
    for number, cell in enumerate(cells):
        for quant, marker in zip(QUANTS, ("o", "s"), strict=True):
            points = [r for r in rows if r["cell"] == cell and r["quant"] == quant and r["form"] == "auto"]
            if not points:
                continue
            axes.scatter(
                [row["time_of_float_teacher"] for row in points],
                [100 * row["accuracy"] for row in points],
                marker=marker,
                color=f"C{number}",
                label=f"{cell}, {'float' if quant == 'none' else quant}",
            )
    axes.set(xlabel="time / float teacher, as the cost model chooses", ylabel="test accuracy, %")
    axes.legend(fontsize="x-small")
    save(figure, path)


if __name__ == "__main__":
    run(main)
