"""What the records of the shipped matchers say, one line each, from the records alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from studies.common.markdown import NONE, with_interval
from studies.common.records import Json
from studies.shipped.records import OTHERS, STUDENTS, TITLES, ShipRecords

PARTS = ("original", "adversarial")


class Finding(NamedTuple):
    """One line: what was measured and what came out; `NONE` where a record is missing."""

    what: str
    found: str


def findings(records: ShipRecords) -> list[Finding]:
    """Every line, whether its records are there or not."""
    parts = (_beside, _integers, _gap, _debiased, _probe, _swap)
    return [Finding(*line) for part in parts for line in part(records)]


def _beside(records: ShipRecords) -> Iterator[tuple[str, str]]:
    for name, part in product(STUDENTS, PARTS):
        own = records.test(name, part=part)
        others = {title: records.test(other, part=part) for other, title in OTHERS.items()}
        known = {title: found["accuracy"] for title, found in others.items() if found}
        shown = NONE
        if own is not None and known:
            best = max(known, key=lambda title: known[title])
            shown = f"{_percent(own)}; best other {100 * known[best]:.2f}% ({best})"
        what = f"{name}: accuracy, {part} test, against {len(known)} of {len(OTHERS)} others"
        yield what, shown


def _integers(records: ShipRecords) -> Iterator[tuple[str, str]]:
    for name in STUDENTS:
        small, whole = records.test(f"{name}.int8"), records.test(name)
        shown = f"{100 * (small['accuracy'] - whole['accuracy']):+.2f} points" if small and whole else NONE
        yield f"{name}: accuracy, int8 minus float", shown


def _gap(records: ShipRecords) -> Iterator[tuple[str, str]]:
    for name, part in product(STUDENTS, PARTS):
        own, before = (_gap_of(records.test(one, part=part)) for one in (name, f"{name}.original"))
        shown = NONE
        if own is not None and before is not None:
            share = f" ({abs(own / before):.0%} of it)" if before else ""
            shown = f"{own:+.3f}; trained on the original set {before:+.3f}{share}"
        yield f"{name}: recall gap TPR(CAT1) − TPR(CAT4), {part} test", shown


def _debiased(records: ShipRecords) -> Iterator[tuple[str, str]]:
    for name in STUDENTS:
        own, before = records.test(name), records.test(f"{name}.original")
        shown = NONE
        if own is not None and before is not None:
            accuracy = with_interval(before["accuracy"], before["accuracy_interval"], 2, scale=100)
            shown = f"{_percent(own)}; trained on the original set {accuracy}"
        yield f"{name}: accuracy with debiased training, original test", shown


def _probe(records: ShipRecords) -> Iterator[tuple[str, str]]:
    questions = {"error": "pairs are errors", "false_negative": "errors are false negatives"}
    for name, (question, what) in product(STUDENTS, questions.items()):
        found = records.test(name, part="adversarial")
        probe = found["length_probe"] if found else {}
        answer = probe.get(question)
        shown = NONE
        if answer is not None and answer["auc"] is not None:
            shown = f"AUC {answer['auc']:.3f}, {'at chance' if answer['at_chance'] else 'not at chance'}"
            blind = probe.get("length_blind")  # not in older records
            if question == "false_negative" and blind and blind["auc"] is not None:
                by_chance = with_interval(blind["auc"], blind["interval"], 3)
                shown += f"; {by_chance} for errors drawn without regard to length"
        yield f"{name}: lengths predict which {what}, adversarial test", shown


def _swap(records: ShipRecords) -> Iterator[tuple[str, str]]:
    for name in STUDENTS:
        rows = records.invariances.get(name, {}).get("perturbations", [])
        median = next((row["median"] for row in rows if row["name"] == "swap" and row["changed"]), None)
        yield f"{TITLES[name]}: a and b swapped, median |Δ score|", with_interval(median, None, 4)


def _percent(record: Json) -> str:
    return f"{100 * record['accuracy']:.2f}%"


def _gap_of(record: Json | None) -> float | None:
    return record["tpr_gap"]["value"] if record and "tpr_gap" in record else None
