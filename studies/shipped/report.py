"""The page about the shipped matchers: what they reach, lean on and cost, beside what they are to replace.

Everything is taken from records (`records.py`); what was not recorded shows as a dash and is named
at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from studies.shipped.claims import NONE, claims
from studies.shipped.records import OTHERS, QQP, STUDENTS, TITLES, TRANSFERS, ShipRecords

PARTS = ("original", "adversarial")
FIGURES = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "f1": "F1", "auc": "AUC", "ece": "ECE"}
MODES = {"padded": "the network on padded inputs", "text": "from two strings to a score"}
_LEGEND = """Per cent but for AUC and ECE, with 95% intervals (accuracy and rates Wilson's, AUC DeLong's,
the others by bootstrap). The adversarial test holds the pairs that stay when every length-divergence
category, cut at the quartiles of the training set, is down-sampled to the overall ratio of positives to
negatives: there the category says nothing about the label."""
_BIAS_LEGEND = """The gap is TPR(CAT1) − TPR(CAT4) in points: how much more often a paraphrase is found when
both texts have about the same length. The probe is a classifier that sees word counts alone; AUC 0.5 is
chance. “Errors” asks it which pairs the matcher gets wrong, “misses” which of the errors are false
negatives, “labels” which pairs are positive: the reference for “misses”, and not quite at chance on the
adversarial test either, where the divergence is level but the lengths themselves are not."""
_BESIDE_LEGEND = """Leads in points on the original and the adversarial test. A cosine has the threshold
that is best on dev; it is no probability, hence its ECE above. MatchPyramid, BiMPM, ESIM and BERT_TINY are
those of the length-divergence study, trained on 10,000 QQP pairs; ours had all 49,628."""
_SPEED_LEGEND = """Times of {pairs} pairs, one at a time from two strings, on {threads} thread(s), all in
one process that takes turns; ratios of the same pairs' times, with 98% intervals, to {base}. A cosine needs
half of its time where one side's vectors are kept."""
_INVARIANCE_LEGEND = """Over the pairs that a perturbation changes: |Δ| of the probability, its mean with
sign, and the share of decisions that flip."""
_TRANSFER_LEGEND = """Never trained on; the threshold is the one fitted on QQP's dev set. “Constant” is the
accuracy of always giving the more frequent label."""
Json = dict[str, Any]


def markdown(records: ShipRecords, picture: Path | None = None) -> str:
    """The page.

    Args:
        records: what there is.
        picture: file name of the Pareto picture, beside the page; None where no latency was recorded.
    """
    parts = ["# The shipped matchers", "## Claims", _claims(records)]
    if names := _with(records, QQP):
        parts += ["## QQP test", _LEGEND, _overall(records, names)]
        parts += ["## By length divergence", "Original test.", _categories(records, names)]
        parts += ["## Leaning on lengths", _BIAS_LEGEND, _bias(records, names)]
    if any(name in records.evaluations for name in OTHERS):
        parts += ["## Beside what it replaces", _BESIDE_LEGEND, _beside(records)]
    if records.invariances:
        parts += ["## What should not matter", _INVARIANCE_LEGEND, _invariances(records)]
    if any(_with(records, test) for test in TRANSFERS):
        parts += ["## Transfer", _TRANSFER_LEGEND, _transfers(records)]
    if records.latencies:
        parts += ["## Cost", *([f"![accuracy against latency]({picture.name})"] if picture else [])]
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


def _claims(records: ShipRecords) -> str:
    verdicts = {True: "yes", False: "**no**", None: "not recorded"}
    return _table(
        ["claim", "wanted", "found", "holds"],
        ([*claim[:3], verdicts[claim.holds]] for claim in claims(records)),
    )


def _overall(records: ShipRecords, names: Sequence[str]) -> str:
    def lines() -> Iterator[list[str]]:
        for name in names:
            for part in PARTS:
                if found := records.test(name, part=part):
                    figures = (_figure(found, figure) for figure in FIGURES)
                    yield [TITLES[name], part, f"{found['pairs']:,}", *figures]

    return _table(["matcher", "test", "pairs", *FIGURES.values()], lines())


def _figure(record: Json, name: str) -> str:
    scale, digits = (1, 3) if name in ("auc", "ece") else (100, 2)
    return _interval(record.get(name), record.get(f"{name}_interval"), scale, digits)


def _categories(records: ShipRecords, names: Sequence[str]) -> str:
    def lines() -> Iterator[list[str]]:
        for name in names:
            categories = (records.test(name) or {})["categories"]
            for figure, title in (("accuracy", "accuracy"), ("true_positive_rate", "TPR")):
                values = (_interval(c[figure], c[f"{figure}_interval"], 100, 1) for c in categories)
                yield [TITLES[name], title, *values]

    return _table(["matcher", "", "CAT1", "CAT2", "CAT3", "CAT4"], lines())


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
                    _interval(gap["value"], (gap["low"], gap["high"]), 100, 1),
                    *(_interval(answer["auc"], answer["interval"], 1, 3) for answer in answers),
                ]

    return _table(["matcher", "test", "gap", "probe: errors", "probe: misses", "probe: labels"], lines())


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
            shown = _interval(timed["ratio"], timed["interval"], 1, 2) if timed else NONE
            yield [TITLES[name], *figures, *leads, shown]

    table = _table(
        [
            *("matcher", "accuracy, original test", "accuracy, adversarial test"),
            *(f"lead of {TITLES[own]}" for own in ours),
            "time, × ours",
        ],
        lines(),
    )
    if records.speed is None:
        return table
    speed = records.speed
    facts = {"base": TITLES[speed["base"]], "pairs": speed["pairs"], "threads": speed["threads"]}
    return f"{_SPEED_LEGEND.format(**facts)}\n\n{table}"


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
                    *(_interval(row[key], row[f"{key}_interval"], 1, 4) for key in ("median", "p95")),
                    _interval(row["shift"], row["shift_interval"], 1, 4),
                    _interval(row["flipped"], row["flipped_interval"], 100, 1),
                ]

    head = ["matcher", "perturbation", "pairs", "median of |Δ|", "p95 of |Δ|", "mean Δ", "flipped, %"]
    return _table(head, lines())


def _transfers(records: ShipRecords) -> str:
    def lines() -> Iterator[list[str]]:
        for test, title in TRANSFERS.items():
            for name in _with(records, test):
                found = records.test(name, test) or {}
                figures = (_figure(found, figure) for figure in FIGURES)
                most = max(found["positives"], found["pairs"] - found["positives"])
                constant = f"{100 * most / found['pairs']:.2f}"
                yield [title, TITLES[name], f"{found['pairs']:,}", constant, *figures]

    return _table(["data", "matcher", "pairs", "constant", *FIGURES.values()], lines())


def _costs(records: ShipRecords, stem: str) -> Iterator[str]:
    latency = records.latencies[stem]
    accuracy = {cost.name: cost for cost in records.costs(latency)}
    yield f"`{stem}.json`: {mode_title(latency)}, in one interleaved run."
    yield _table(
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


def _interval(value: float | None, interval: Sequence[float] | None, scale: int, digits: int) -> str:
    if value is None:
        return NONE
    shown = f"{scale * value:.{digits}f}"
    if interval is None:
        return shown
    return f"{shown} [{scale * interval[0]:.{digits}f}, {scale * interval[1]:.{digits}f}]"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    # A bar inside a cell, as in |Δ|, would end it.
    rows = [[cell.replace("|", r"\|") for cell in row] for row in (head, ["---"] * len(head), *lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
