"""`mobilebert report`: a paper's tables and figures from recorded runs, beside the printed numbers."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


class Study(StrEnum):
    """What can be reported."""

    LENGTH_BIAS = "length-bias"


def report(
    study: Annotated[Study, Argument(help="Which study.")],
    results: Annotated[
        Path, Option(help="Folder of the records: cells/, audit.NAME.json, probing.json.")
    ] = Path("results/length_bias"),
    out: Annotated[Path | None, Option(help="Folder for the report; default: the records' own.")] = None,
    force: Annotated[bool, Option("--force", help="Replace an earlier report.")] = False,
) -> None:
    """Remake the tables and figures of Jiang et al. 2022 from recorded runs, beside the paper's numbers.

    Writes report.md, report.json, figure1.png (from the audits) and figure2.png (true positive rates). Runs
    that are not recorded are named as missing.
    """
    import json

    from rich.console import Console

    from matching import figure1, figure2
    from matching.audit import Category
    from matching.length_bias_report import markdown, summary, tpr_panels
    from matching.output import check_output, replacing
    from matching.published import DATA
    from matching.recorded_runs import RecordError, Runs, read_json

    folder = out or results
    if not results.is_dir():
        raise RecordError(f"{results}: no such folder; `mobilebert reproduce {study}` makes it")
    folder.mkdir(parents=True, exist_ok=True)
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
    Console(highlight=False, soft_wrap=True).print(
        f"{folder / 'report.md'}: {len(runs)} runs ({len(found['missing'])} of 32 cells missing), "
        f"{len(audits)} of {len(DATA)} audits, {'no probing' if found['table_3'] is None else 'probing'}"
    )
