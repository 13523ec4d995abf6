"""The page about the matchers for Quora's questions, compared with what they replace.

    python -m studies.shipped.report

Everything is taken from records; what was not recorded shows as a dash and is named at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_runtime.errors import DataError
from studies.common.markdown import NONE, table, with_interval
from studies.common.records import Json, check_outputs, write_text
from studies.common.script import Force, run
from studies.shipped.findings import findings
from studies.shipped.pareto import draw
from studies.shipped.records import OTHERS, QQP, STUDENTS, TITLES, TRANSFERS, ShipRecords

PARTS = ("original", "adversarial")
FIGURES = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "f1": "F1", "auc": "AUC", "ece": "ECE"}
MODES = {"padded": "the network on padded inputs", "text": "from two strings to a score"}
_LEGEND = """Per cent except AUC and ECE, with 95% intervals (accuracy and rates Wilson's, AUC DeLong's,
the others by bootstrap). The adversarial test holds the pairs that stay when every length-divergence
category, cut at the quartiles of the training set, is down-sampled to the overall ratio of positives to
negatives: there the category says nothing about the label."""
_BIAS_LEGEND = """The gap is TPR(CAT1) − TPR(CAT4) in points: how much more often a paraphrase is found when
both texts have about the same length. The probe is a classifier that sees word counts alone; AUC 0.5 is
chance. “Errors” asks it which pairs the matcher gets wrong, “misses” which of the errors are false
negatives, “labels” which pairs are positive: the reference for “misses”, and not quite at chance on the
adversarial test either, where the divergence is level but the lengths themselves are not."""
_BESIDE_LEGEND = """Leads are points on the original and the adversarial test. A cosine uses the threshold
that is best on dev; it is not a probability, hence its ECE below. MatchPyramid, BiMPM, ESIM and BERT_TINY are
those of the length-divergence study, trained on 10,000 QQP pairs; ours had all 49,628."""
_SPEED_LEGEND = """Times of {pairs} pairs, one at a time from two strings, on {threads} thread(s), alternately
in one process; ratios of the same pairs' times, with 98% intervals, to {base}. A cosine needs half of that
time if the vectors of one side are stored."""
_INVARIANCE_LEGEND = """Over the pairs that a perturbation changes: |Δ| of the probability, its mean with
sign, and the share of decisions that flip."""
_TRANSFER_LEGEND = """Never trained on; the threshold is the one fitted on QQP's dev set. “Constant” is the
accuracy of always giving the more frequent label."""


def main(
    results: Annotated[Path, Option(help="Folder of the records.")] = Path("results/ship"),
    out: Annotated[Path | None, Option(help="Folder for the report; default: the records' own.")] = None,
    force: Force = False,
) -> None:
    """Make report.md and pareto.png; what is not recorded is named as missing.

    From NAME.TEST.json (`mobilebert evaluate`), NAME.invariances.json (`mobilebert invariances`),
    latency*.json (`mobilebert bench`) and speed.json (studies.shipped.matcher_speed).
    """
    if not results.is_dir():
        raise DataError(f"{results}: no such folder; `mobilebert evaluate … --json` fills it")
    folder = out or results
    folder.mkdir(parents=True, exist_ok=True)
    page, plot = folder / "report.md", folder / "pareto.png"
    check_outputs(page, plot, force=force)
    records = ShipRecords.load(results)
    costs = {mode_title(latency): records.costs(latency) for latency in records.latencies.values()}
    measured = {title: found for title, found in costs.items() if found}
    if measured:
        draw(measured, plot)
    else:
        plot.unlink(missing_ok=True)  # an earlier one would show what these records do not say
    write_text(page, markdown(records, plot if measured else None))
    print(  # noqa: T201
        f"{page}: {len(records.evaluations)} matchers, {len(records.invariances)} with invariances, "
        f"{len(records.latencies)} latency runs; {len(records.missing())} records missing"
    )


def markdown(records: ShipRecords, plot: Path | None = None) -> str:
    """The page.

    Args:
        records: what there is.
        plot: file name of the Pareto plot, beside the page; None where no latency was recorded.
    """
    parts = ["# The matchers for Quora's questions"]
    if any(name in records.evaluations for name in OTHERS):
        parts += ["## Compared with what they replace", _BESIDE_LEGEND, _beside(records)]
    parts += ["## What was found", table(["measured", "found"], findings(records))]
    if names := _with(records, QQP):
        parts += ["## QQP test", _LEGEND, _overall(records, names)]
        parts += ["## By length divergence", "Original test.", _categories(records, names)]
        parts += ["## Dependence on lengths", _BIAS_LEGEND, _bias(records, names)]
    if records.invariances:
        parts += ["## What should not matter", _INVARIANCE_LEGEND, _invariances(records)]
    if any(_with(records, test) for test in TRANSFERS):
        parts += ["## Transfer", _TRANSFER_LEGEND, _transfers(records)]
    if records.latencies:
        parts += ["## Cost", *([f"![accuracy against latency]({plot.name})"] if plot else [])]
        parts += [text for stem in records.latencies for text in _costs(records, stem)]
    absent = records.missing()
    parts += ["## Not recorded", ", ".join(f"`{name}`" for name in absent) + "." if absent else "Nothing."]
    return "\n\n".join(parts) + "\n"


def mode_title(latency: Json) -> str:
    """What a latency run timed, for a heading."""
    first = next(iter(latency["candidates"]))
    return f"{MODES[latency['settings']['mode']]}, {first['threads']} thread(s)"


def _with(records: ShipRecords, test: str) -> list[str]:
    return [name for name in records.evaluations if records.test(name, test) is not None]


def _overall(records: ShipRecords, names: Sequence[str]) -> str:
    def lines() -> Iterator[list[str]]:
        for name in names:
            for part in PARTS:
                if found := records.test(name, part=part):
                    figures = (_figure(found, figure) for figure in FIGURES)
                    yield [TITLES[name], part, f"{found['pairs']:,}", *figures]

    return table(["matcher", "test", "pairs", *FIGURES.values()], lines())


def _figure(record: Json, name: str) -> str:
    scale, digits = (1, 3) if name in ("auc", "ece") else (100, 2)
    return with_interval(record.get(name), record.get(f"{name}_interval"), digits, scale=scale)


def _categories(records: ShipRecords, names: Sequence[str]) -> str:
    def lines() -> Iterator[list[str]]:
        for name in names:
            categories = (records.test(name) or {})["categories"]
            for figure, title in (("accuracy", "accuracy"), ("true_positive_rate", "TPR")):
                values = (with_interval(c[figure], c[f"{figure}_interval"], 1, scale=100) for c in categories)
                yield [TITLES[name], title, *values]

    return table(["matcher", "", "CAT1", "CAT2", "CAT3", "CAT4"], lines())


def _bias(records: ShipRecords, names: Sequence[str]) -> str:
    def lines() -> Iterator[list[str]]:
        for name in names:
            for part in PARTS:
                found = records.test(name, part=part)
                if found is None or "tpr_gap" not in found:
                    continue
                gap, probe = found["tpr_gap"], found["length_probe"]
                answers = (probe[question] for question in ("error", "false_negative", "label"))
                yield [
                    TITLES[name],
                    part,
                    with_interval(gap["value"], (gap["low"], gap["high"]), 1, scale=100),
                    *(with_interval(answer["auc"], answer["interval"], 3) for answer in answers),
                ]

    return table(["matcher", "test", "gap", "probe: errors", "probe: misses", "probe: labels"], lines())


def _beside(records: ShipRecords) -> str:
    ours = [name for name in STUDENTS if records.test(name)]
    measured = records.speed["matchers"] if records.speed else {}

    def lines() -> Iterator[list[str]]:
        for name in (*ours, *OTHERS):
            found = [records.test(name, part=part) for part in PARTS]
            if found[0] is None:
                continue
            figures = (NONE if record is None else _figure(record, "accuracy") for record in found)
            leads = (
                NONE if name == own else " / ".join(_lead(records, own, name, part) for part in PARTS)
                for own in ours
            )
            # A network takes the same time whatever it was trained on.
            timed = measured.get(name) or measured.get(name.replace(".adversarial", ".original"))
            shown = with_interval(timed["ratio"], timed["interval"], 2) if timed else NONE
            yield [TITLES[name], *figures, *leads, shown]

    rows = table(
        [
            *("matcher", "accuracy, original test", "accuracy, adversarial test"),
            *(f"lead of {TITLES[own]}" for own in ours),
            "time, × ours",
        ],
        lines(),
    )
    if records.speed is None:
        return rows
    speed = records.speed
    about = {"base": TITLES[speed["base"]], "pairs": speed["pairs"], "threads": speed["threads"]}
    return f"{_SPEED_LEGEND.format(**about)}\n\n{rows}"


def _lead(records: ShipRecords, own: str, other: str, part: str) -> str:
    mine, theirs = records.test(own, part=part), records.test(other, part=part)
    return f"{100 * (mine['accuracy'] - theirs['accuracy']):+.2f}" if mine and theirs else NONE


def _invariances(records: ShipRecords) -> str:
    def lines() -> Iterator[list[str]]:
        for name, record in records.invariances.items():
            for row in record["perturbations"]:
                start = [TITLES[name], row["what"], f"{row['changed']:,}"]
                if not row["changed"]:
                    yield [*start, *[NONE] * 4]
                    continue
                yield [
                    *start,
                    *(with_interval(row[key], row[f"{key}_interval"], 4) for key in ("median", "p95")),
                    with_interval(row["shift"], row["shift_interval"], 4),
                    with_interval(row["flipped"], row["flipped_interval"], 1, scale=100),
                ]

    head = ["matcher", "perturbation", "pairs", "median of |Δ|", "p95 of |Δ|", "mean Δ", "flipped, %"]
    return table(head, lines())


def _transfers(records: ShipRecords) -> str:
    def lines() -> Iterator[list[str]]:
        for test, title in TRANSFERS.items():
            for name in _with(records, test):
                found = records.test(name, test) or {}
                figures = (_figure(found, figure) for figure in FIGURES)
                most = max(found["positives"], found["pairs"] - found["positives"])
                constant = f"{100 * most / found['pairs']:.2f}"
                yield [title, TITLES[name], f"{found['pairs']:,}", constant, *figures]

    return table(["data", "matcher", "pairs", "constant", *FIGURES.values()], lines())


def _costs(records: ShipRecords, stem: str) -> Iterator[str]:
    latency = records.latencies[stem]
    accuracy = {cost.name: cost for cost in records.costs(latency)}
    yield f"`{stem}.json`: {mode_title(latency)}, in one interleaved run."
    yield table(
        ["artefact", "p50 ms", "p90 ms", "peak MiB", "model MB", "accuracy"],
        (
            [
                name,
                *(f"{summary[key]:.2f}" for key in ("p50_ms", "p90_ms", "peak_mib")),
                f"{latency['facts'][name]['bytes'] / 1e6:.2f}",
                f"{100 * accuracy[name].accuracy:.2f}" if name in accuracy else NONE,
            ]
            for name, summary in latency["summary"].items()
        ),
    )


if __name__ == "__main__":
    run(main)
