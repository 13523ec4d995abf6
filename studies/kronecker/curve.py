"""Accuracy over parameters, bytes and latency: Kronecker forms against low-rank ones, and their teacher.

    python -m studies.kronecker.curve --runs runs/kronecker --results results/kronecker \
        --teacher runs/teacher/model --test ../shared/data/qqp/test.tsv --pairs ../shared/data/qqp/dev.tsv

Exports every trained model of a cell (`mobilebert reproduce kronecker`) as float and int8 TFLite, as the cost
model chooses, factored and multiplied out (a form that the cost model chooses everywhere is the same file),
measures all of them in one interleaved run and writes curve.json, curve.md and curve-latency.png. With
`--pairs`, int8 may cost a student half a point on them: products go back to float until it holds. Accuracy is
that of the files as the cost model chooses them, each in its own runtime. Artefacts that are there are not
made again.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from android_bench.latency import compare
from matching.data.labelled_pairs import LabelledPairs, read_labelled
from mobilebert_export.exporter import ExportRequest, export
from mobilebert_export.scoring import open_scorer
from mobilebert_export.verification import VerificationError
from mobilebert_runtime.files import write_json
from studies.kronecker.out_of_domain import figures

FORMS = ("auto", "factored", "materialised")
QUANTS = ("none", "int8")
# Latency is that of the longest, padded.
LENGTHS = (32, 128)
# Points of accuracy that int8 may cost.
DROP = 0.5


def export_all(
    name: str, model: Path, out: Path, forms: tuple[str, ...], pairs: Path | None, console: Console
) -> list[dict[str, Any]]:
    """An artefact for each number format and form; one that fails verification is a row with the reason."""
    found = []
    for quant in QUANTS:
        chosen: set[str] = set()
        for form in forms:
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
                    export(request, console)
                except VerificationError as error:
                    found.append(row | {"failed": str(error).partition(": ")[2]})
                    continue
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
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


def main() -> None:
    """Export, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--artefacts", type=Path, default=Path("artefacts/kronecker"))
    parser.add_argument("--beside", type=Path, action="append", default=[], help="other artefact folders")
    parser.add_argument("--cell", action="append", help="names of records; default: all of seed 0")
    parser.add_argument("--test", type=Path, required=True, help="labelled test pairs")
    parser.add_argument("--pairs", type=Path, help="labelled development pairs")
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    chosen = parser.parse_args()
    chosen.artefacts.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    names = chosen.cell or sorted(p.stem for p in (chosen.results / "cells").glob("*.seed0.json"))
    records = {n: json.loads((chosen.results / "cells" / f"{n}.json").read_text("utf-8")) for n in names}
    rows = export_all("teacher", chosen.teacher, chosen.artefacts, ("auto",), None, console)
    for name in names:
        rows += export_all(name, chosen.runs / name / "model", chosen.artefacts, FORMS, chosen.pairs, console)
    measured, test = [row for row in rows if "failed" not in row], read_labelled(chosen.test)
    run = compare(
        [*(chosen.artefacts / row["folder"] for row in measured), *chosen.beside],
        sessions=chosen.sessions,
        seconds=chosen.seconds,
    )
    base = "teacher-none-auto"
    for row in measured:
        row["ms"] = run.summary(row["folder"])["p50_ms"]
        row["time_of_float_teacher"] = run.ratio(base, row["folder"])
        if row["cell"] in records:
            row["parameters"] = records[row["cell"]]["parameters"]
        if row["form"] == "auto":
            row["accuracy"] = accuracy(chosen.artefacts / row["folder"], test)
            row["kept"] = row["accuracy"] / measured[0]["accuracy"]
    beside = [
        {"folder": path.name, "bytes": sum(f.stat().st_size for f in path.glob("model.*"))}
        | {"ms": run.summary(path.name)["p50_ms"], "time_of_float_teacher": run.ratio(base, path.name)}
        for path in chosen.beside
    ]
    result = {
        "command": " ".join(["python", *sys.argv]),
        "machine": run.machine,
        "sessions": len(run.sessions),
        "troubled_sessions": len(run.troubles()),
        "rows": rows,
        "beside": beside,
    }
    write_json(chosen.results / "curve.json", result)
    (chosen.results / "curve.md").write_text(to_markdown(result), encoding="utf-8")
    draw(measured, chosen.results / "curve-latency.png")


def to_markdown(result: dict[str, Any]) -> str:
    """The rows as a page."""
    lines = [
        "# Kronecker and low-rank forms: accuracy, size, latency",
        "",
        f"`{result['command']}`",
        "",
        "| model | numbers | form | parameters | MB | time / float teacher | accuracy | of the teacher's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        if "failed" in row:
            lines.append(f"| {row['cell']} | {row['quant']} | {row['form']} | {row['failed']} | | | | |")
            continue
        scored, counted = "accuracy" in row, "parameters" in row
        chosen = f", {row['factored_layers']} of {row['layers']} factored" if row["layers"] else ""
        lines.append(
            f"| {row['cell']} | {row['quant']} | {row['form']}{chosen} | "
            f"{format(row['parameters'], ',') if counted else ''} | {row['bytes'] / 1e6:.1f} | "
            f"{row['time_of_float_teacher']:.2f} | {format(row['accuracy'], '.4f') if scored else ''} | "
            f"{format(row['kept'], '.1%') if scored else ''} |"
        )
    lines += [
        f"| {row['folder']} | | | | {row['bytes'] / 1e6:.1f} | {row['time_of_float_teacher']:.2f} | | |"
        for row in result["beside"]
    ]
    return "\n".join([*lines, ""])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Accuracy over latency, a colour a model, a marker a number format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
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
    axes.set(xlabel="time / float teacher, form chosen by the cost model", ylabel="test accuracy, %")
    axes.legend(fontsize="x-small")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
