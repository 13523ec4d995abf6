"""`mobilebert report`: pages made from recorded runs: a paper's tables, the shipped matchers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


class Study(StrEnum):
    """What can be reported."""

    LENGTH_BIAS = "length-bias"
    SHIP = "ship"


RESULTS = {Study.LENGTH_BIAS: Path("results/length_bias"), Study.SHIP: Path("results/ship")}


def report(
    study: Annotated[Study, Argument(help="Which study.")],
    results: Annotated[
        Path | None, Option(help="Folder of the records; default: results/length_bias or results/ship.")
    ] = None,
    out: Annotated[Path | None, Option(help="Folder for the report; default: the records' own.")] = None,
    force: Annotated[bool, Option("--force", help="Replace an earlier report.")] = False,
) -> None:
    """Make a page from recorded runs; what is not recorded is named as missing.

    length-bias: the tables and figures of Jiang et al. 2022 beside the paper's numbers, from cells/,
    audit.NAME.json and probing.json, as report.md, report.json, figure1.png and figure2.png.

    ship: the shipped matchers beside what they replace, from NAME.TEST.json (`mobilebert evaluate`),
    NAME.invariances.json, latency*.json (`mobilebert bench`) and speed.json, as report.md and pareto.png.
    """
    from rich.console import Console

    from studies.length_bias.recorded_runs import RecordError

    folder = results or RESULTS[study]
    if not folder.is_dir():
        made_by = (
            "`mobilebert reproduce length-bias` makes it"
            if study is Study.LENGTH_BIAS
            else "`mobilebert evaluate … --json` fills it"
        )
        raise RecordError(f"{folder}: no such folder; {made_by}")
    target = out or folder
    target.mkdir(parents=True, exist_ok=True)
    write = _length_bias if study is Study.LENGTH_BIAS else _ship
    Console(highlight=False, soft_wrap=True).print(write(folder, target, force))


def _length_bias(results: Path, folder: Path, force: bool) -> str:
    """Write the report; the line to print."""
    import json

    from matching.length_bias import category_plot as figure1
    from matching.length_bias.bias_audit import Category
    from mobilebert_runtime.files import check_output, replacing
    from studies.length_bias import figure2
    from studies.length_bias.published import DATA
    from studies.length_bias.recorded_runs import Runs, read_json
    from studies.length_bias.report import markdown, summary, tpr_panels

    for name in ("report.md", "report.json", "figure1.png", "figure2.png"):
        check_output(folder / name, force=force)
    runs = Runs.load(results / "cells")
    probing = results / "probing.json"
    found = summary(runs, read_json(probing) if probing.is_file() else None)
    audits = {
        title: [Category(c["category"], c["positive"], c["negative"]) for c in read_json(path)["categories"]]
        for name, title in DATA.items()
        if (path := results / f"audit.{name}.json").is_file()
    }
    notes, panels = [], tpr_panels(runs)
    if audits:
        with replacing(folder / "figure1.png", force=force) as partial:
            figure1.draw(audits, partial)
        notes.append("Figure 1, the training sets: ![positives, negatives and their ratio](figure1.png)")
    if panels:
        with replacing(folder / "figure2.png", force=force) as partial:
            figure2.draw(panels, partial)
        notes.append("Figure 2, adversarial test sets: ![true positive rates](figure2.png)")
    with replacing(folder / "report.json", force=force) as partial:
        partial.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with replacing(folder / "report.md", force=force) as partial:
        partial.write_text(markdown(found, notes), encoding="utf-8")
    return (
        f"{folder / 'report.md'}: {len(runs)} runs ({len(found['missing'])} of 32 cells missing), "
        f"{len(audits)} of {len(DATA)} audits, {'no probing' if found['table_3'] is None else 'probing'}"
    )


def _ship(results: Path, folder: Path, force: bool) -> str:
    """Write the page; the line to print."""
    from mobilebert_runtime.files import check_output, replacing
    from studies.shipped.pareto import draw
    from studies.shipped.records import ShipRecords
    from studies.shipped.report import markdown, mode_title

    page, picture = folder / "report.md", folder / "pareto.png"
    for path in (page, picture):
        check_output(path, force=force)
    records = ShipRecords.load(results)
    panels = {
        mode_title(latency): costs
        for latency in records.latencies.values()
        if (costs := records.costs(latency))
    }
    if panels:
        with replacing(picture, force=force) as partial:
            draw(panels, partial)
    else:
        picture.unlink(missing_ok=True)  # an earlier one would show what these records do not say
    with replacing(page, force=force) as partial:
        partial.write_text(markdown(records, picture if panels else None), encoding="utf-8")
    return (
        f"{page}: {len(records.evaluations)} matchers, {len(records.invariances)} with invariances, "
        f"{len(records.latencies)} latency runs; {len(records.missing())} records missing"
    )
