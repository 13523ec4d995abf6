"""What a shipped matcher has to prove, each line judged from the records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from studies.shipped.records import OTHERS, TITLES, ShipRecords

SMALL = ("matcher-m", "matcher-s")
# Accuracy on the QQP test in per cent: the goal with a GPU, and the least that a CPU has to reach.
ACCURACY = {
    "teacher": (88.5, 86.0),
    "teacher.symmetric": (88.5, 86.0),
    "matcher-m": (86.5, 85.0),
    "matcher-s": (85.0, 84.0),
}
INT8_POINTS = 0.2  # of accuracy that int8 may cost
GAP_SHARE = 0.5  # of the true-positive-rate gap that the same student has after training on the original set
SWAP_MEDIAN = 0.01  # |Δ score|
NONE = "–"  # not recorded


class Claim(NamedTuple):
    """One line: what is wanted, what was found, and whether that is enough (None: not recorded)."""

    what: str
    wanted: str
    found: str
    holds: bool | None


def claims(records: ShipRecords) -> list[Claim]:
    """Every line, whether its records are there or not."""
    parts: tuple[Callable[[ShipRecords], Iterator[Claim]], ...] = (
        _accuracy,
        _integers,
        _gap,
        _no_loss,
        _probe,
        _beats,
        _swap,
    )
    return [claim for part in parts for claim in part(records)]


def _accuracy(records: ShipRecords) -> Iterator[Claim]:
    for name, bars in ACCURACY.items():
        found = records.test(name)
        for kind, wanted in zip(("goal", "floor"), bars, strict=True):
            shown = NONE if found is None else f"{100 * found['accuracy']:.2f}%"
            holds = None if found is None else 100 * found["accuracy"] >= wanted
            yield Claim(f"{TITLES[name]}: accuracy, {kind}", f"≥ {wanted:.1f}%", shown, holds)


def _integers(records: ShipRecords) -> Iterator[Claim]:
    for name in SMALL:
        found = _differ(records, f"{name}.int8", name)
        holds = None if found is None else abs(found) <= INT8_POINTS
        yield Claim(f"{name}: int8 less float", f"within {INT8_POINTS} points", _points(found), holds)


def _gap(records: ShipRecords) -> Iterator[Claim]:
    for name in SMALL:
        for part in ("original", "adversarial"):
            what = f"{name}: TPR(CAT1) − TPR(CAT4), {part} test"
            wanted = f"at most {GAP_SHARE:.0%} of that after training on the original set"
            own, before = (_gap_of(records, one, part) for one in (name, f"{name}.original"))
            if own is None or before is None:
                yield Claim(what, wanted, NONE, None)
            else:
                shown = (
                    f"{own:+.3f} against {before:+.3f}: {abs(own / before):.0%}"
                    if before
                    else f"{own:+.3f} against 0"
                )
                yield Claim(what, wanted, shown, abs(own) <= GAP_SHARE * abs(before))


def _no_loss(records: ShipRecords) -> Iterator[Claim]:
    for name in SMALL:
        what, wanted = f"{name}: no loss on the original test by debiasing", "not below the interval"
        own, before = records.test(name), records.test(f"{name}.original")
        if own is None or before is None:
            yield Claim(what, wanted, NONE, None)
        else:
            low, high = before["accuracy_interval"]
            shown = f"{100 * own['accuracy']:.2f}%, interval {100 * low:.2f} to {100 * high:.2f}%"
            yield Claim(what, wanted, shown, own["accuracy"] >= low)


def _probe(records: ShipRecords) -> Iterator[Claim]:
    for name in SMALL:
        found = records.test(name, part="adversarial")
        for question, what in (
            ("error", "which pairs are errors"),
            ("false_negative", "which errors are false negatives"),
        ):
            answer = found["length_probe"][question] if found else None
            shown = NONE if answer is None or answer["auc"] is None else f"AUC {answer['auc']:.3f}"
            yield Claim(
                f"{name}: lengths predict {what}, adversarial test",
                "at chance",
                shown,
                None if answer is None else answer["at_chance"],
            )


def _beats(records: ShipRecords) -> Iterator[Claim]:
    for name, part in product(SMALL, ("original", "adversarial")):
        own = records.test(name, part=part)
        others = {title: records.test(other, part=part) for other, title in OTHERS.items()}
        known = {title: found["accuracy"] for title, found in others.items() if found}
        if own is None or not known:
            yield Claim(f"{name}: {part} test, against the others", "above all", NONE, None)
            continue
        best = max(known, key=lambda title: known[title])
        above = own["accuracy"] > known[best]
        yield Claim(
            f"{name}: {part} test, against the {len(known)} of {len(OTHERS)} recorded others",
            "above all",
            f"{100 * own['accuracy']:.2f}%; best other {100 * known[best]:.2f}% ({best})",
            # To have lost to one is enough to know; to have won takes all of them.
            above if len(known) == len(OTHERS) or not above else None,
        )


def _swap(records: ShipRecords) -> Iterator[Claim]:
    for name in (name + way for name in SMALL for way in ("", ".symmetric")):
        rows = records.invariances.get(name, {}).get("perturbations", [])
        median = next((row["median"] for row in rows if row["name"] == "swap" and row["changed"]), None)
        yield Claim(
            f"{TITLES[name]}: a and b swapped, median |Δ score|",
            f"≤ {SWAP_MEDIAN}",
            NONE if median is None else f"{median:.4f}",
            None if median is None else median <= SWAP_MEDIAN,
        )


def _differ(records: ShipRecords, name: str, other: str) -> float | None:
    """Points of accuracy between two records."""
    one, two = records.test(name), records.test(other)
    return None if one is None or two is None else 100 * (one["accuracy"] - two["accuracy"])


def _gap_of(records: ShipRecords, name: str, part: str) -> float | None:
    found = records.test(name, part=part)
    return found["tpr_gap"]["value"] if found and "tpr_gap" in found else None


def _points(value: float | None) -> str:
    return NONE if value is None else f"{value:+.2f} points"
