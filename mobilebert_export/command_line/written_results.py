"""Results on standard output: JSON, or lines of fields with a tab between them."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from mobilebert_runtime.errors import printable


def as_json(given: Any, found: Sequence[dict[str, Any]]) -> str:
    """One object: the input's texts and its results."""
    readable = (sys.stdout.encoding or "").lower().startswith("utf")
    row = {"texts": [given] if isinstance(given, str) else list(given), "results": found}
    return printable(json.dumps(row, ensure_ascii=not readable)) + "\n"


def as_lines(number: int | None, found: Sequence[dict[str, Any]]) -> str:
    """A line for each result, with the input's number in front where there is one."""
    lines = []
    for one in found:
        fields = [] if number is None else [str(number)]
        for value in one.values():
            fields += map(_field, value if isinstance(value, list) else [value])
        lines.append("\t".join(fields) + "\n")
    return "".join(lines)


def _field(value: Any) -> str:
    """A number with six digits after the point, or a text on one line."""
    return f"{value:.6f}" if isinstance(value, float) else printable(" ".join(str(value).split()))
