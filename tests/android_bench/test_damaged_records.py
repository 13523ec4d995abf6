"""Promise: a damaged record of a candidate twice as slow never passes, and is refused in one line or judged.

Cases are drawn with fixed seeds. A traceback fails.
"""

import json
import random

import pytest

from android_bench.gate.gate_report import gate_markdown
from android_bench.gate.history import write_history
from android_bench.gate.verdict import Side, gate
from android_bench.measuring.latency import BenchError
from tests.android_bench.test_gate import record

VALUES = (
    None,
    True,
    False,
    -1,
    0,
    1,
    10**30,
    10**400,
    0.5,
    float("nan"),
    "",
    "x",
    "<b>",
    [],
    [1],
    {},
    {"a": 1},
)
TEXTS = (b"", b"\xff", b"\x00", b"[" * 5000, b"{", b"1" * 400, b"1e400", b"null", b'"format": 1,')


def damaged(draw):
    """The bytes of a record's file in which one thing is changed, and the change."""
    values = json.loads(json.dumps(record(slowdown=1.0).to_json()))
    if draw.random() < 0.3:
        content = json.dumps(values).encode()
        at = draw.randrange(len(content))
        text = draw.choice(TEXTS)
        return content[:at] + text + content[at + draw.randrange(40) :], f"text {text[:9]!r} at {at}"
    at, name = values, draw.choice(sorted(values))
    while isinstance(at[name], (dict, list)) and at[name] and draw.random() < 0.85:
        at = at[name]
        name = draw.choice(sorted(at)) if isinstance(at, dict) else draw.randrange(len(at))
    if draw.random() < 0.2:
        del at[name]
        return json.dumps(values).encode(), f"{name} removed"
    at[name] = draw.choice(VALUES)
    return json.dumps(values).encode(), f"{name}: {str(at[name])[:30]}"


def run_cases(folder, seeds):
    folder = folder / "records"
    folder.mkdir()
    counts = {"refused": 0, "judged": 0}
    path = folder / "run.json"
    for seed in seeds:
        content, said = damaged(random.Random(seed))
        path.write_bytes(content)
        try:
            sides = [Side.read(f"{path}#{name}") for name in ("base", "candidate")]
            verdict = gate(*sides)
            assert verdict.verdict != "pass"
            assert verdict.reasons
            gate_markdown(verdict)
            write_history(folder, folder.parent / "page.html", force=True)
        except BenchError:
            counts["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, {said}: {type(error).__name__}: {error}") from error
        else:
            counts["judged"] += 1
    return counts


def test_some_damaged_records_never_pass(tmp_path):
    counts = run_cases(tmp_path, range(80))
    assert min(counts.values()) > 10


@pytest.mark.slow
def test_damaged_records_never_pass(tmp_path):
    counts = run_cases(tmp_path, range(1000, 1600))
    print(f"gate records: {counts}")
    assert min(counts.values()) > 100
