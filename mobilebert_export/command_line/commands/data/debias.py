"""`mobilebert debias`: write a set whose labels the length divergence does not give away."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.commands.data.audit import show
from mobilebert_export.console import reading


def debias(
    *,
    file: Annotated[Path, opt.INPUT_FILE, Argument(help="TSV (no quoting), CSV, JSON Lines or Parquet.")],
    out: Annotated[Path, opt.OUTPUT_FILE, Option(help="The set to write, in the format of the input.")],
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    group: opt.Group = None,
    positive_label: opt.PositiveLabel = None,
    quartiles_from: opt.QuartilesFrom = None,
    seed: opt.Seed = 0,
    rounds: Annotated[
        int | None,
        opt.COUNT,
        Option(help="Passes at most; 1 as in the paper. Default: until no bias is left."),
    ] = None,
    report: Annotated[
        Path | None, opt.OUTPUT_FILE, Option(help="JSON report; default: OUT with .report.json.")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Write an adversarial (bias-free) set and audit it.

    Pairs: every length-divergence category is down-sampled to the overall ratio of positives to negatives.
    Lists (--group): the queries of CAT4 are discarded. Rows keep their order and their bytes.
    """
    import json

    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.pairs import Columns
    from mobilebert_matching.length_bias.bias_audit import audit
    from mobilebert_matching.length_bias.debiased_sets import debias as choose
    from mobilebert_matching.length_bias.debiased_sets import write
    from mobilebert_runtime.files import check_output, replacing

    report = report or out.with_suffix(".report.json")
    check_output(report, force=force)
    columns = Columns(text_a, text_b, label, group)
    asked: Any = {"positive": positive_label, "quartiles_from": quartiles_from}
    with reading(f"reading {file.name}") as progress:
        before = audit(file, columns, **asked, progress=progress)
    with reading(f"choosing from {file.name}") as progress:
        chosen = choose(file, columns, **asked, seed=seed, rounds=rounds, progress=progress)
    write(chosen, out, force=force)
    with reading(f"auditing {out.name}") as progress:
        after = audit(out, columns, **asked, progress=progress)
    record = chosen.to_json() | {
        "out": str(out),
        "audit_before": before.to_json(),
        "audit_after": after.to_json(),
    }
    with replacing(report, force=force) as partial:
        partial.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    console = Terminal(highlight=False, soft_wrap=True)
    show(before, console)
    show(after, console)
    lists = "" if chosen.queries is None else f" ({chosen.queries_kept:,} of {chosen.queries:,} queries)"
    console.print(
        f"kept {len(chosen.keep):,} of {chosen.pairs:,} pairs{lists} → {out}",
        markup=False,
    )
