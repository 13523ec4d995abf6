"""Tables and figures of the studies' pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "–"  # not recorded


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table without a final line break; a bar inside a cell, as in |Δ|, is escaped."""
    lines = [[cell.replace("|", r"\|") for cell in row] for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_interval(
    value: float | None,
    interval: Sequence[float | None] | None,
    digits: int,
    *,
    scale: float = 1,
    signed: bool = False,
) -> str:
    """A figure and its interval, where it has bounds, each times `scale`; `NONE` where there is no figure."""
    if value is None:
        return NONE
    sign = "+" if signed else ""
    bounds = [bound for bound in interval or () if bound is not None]
    shown, *ends = (f"{scale * number:{sign}.{digits}f}" for number in (value, *bounds))
    return f"{shown} [{', '.join(ends)}]" if ends else shown


def yes_no(holds: bool) -> str:
    """A verdict in a cell."""
    return "yes" if holds else "no"
