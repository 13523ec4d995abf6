"""Promise of a sustained run's report: when a phone became slower, and what its battery lost."""

import dataclasses

import pytest

from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.latency_record import Record
from android_bench.measuring.rounds import Candidate, Session
from android_bench.phone import sustained
from android_bench.phone.condition import Condition
from android_bench.phone.phone_bench import PhoneRun

COOL = Condition(80, 30.0, plugged=False, thermal=0, governors=())


def run_of(milliseconds, after=COOL):
    """Parts of each artefact by their median latency, the artefacts in turns."""
    candidates = tuple(Candidate(name, None) for name in milliseconds)
    names = [name for _ in next(iter(milliseconds.values())) for name in milliseconds]
    left = {name: iter(values) for name, values in milliseconds.items()}
    sessions = tuple(
        Session(name, "", 0, 1, 1, (), True, (next(left[name]),) * 100, 1, 1, "a runtime", {})
        for name in names
    )
    comparison = Comparison("run", {}, candidates, sessions, {"resumed_before": [1]})
    record = Record(comparison, {}, None, "")
    conditions = (COOL,) * (len(sessions) - 1)
    return PhoneRun(record, None, False, (COOL, *conditions), (*conditions, after), 0.0, 1.0, {})


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h", 3600)])
def test_times_are_read(text, seconds):
    assert sustained.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "0m", "-1m", "1.5h", "25h", "10 m", "9999999s"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(BenchError, match="90s, 10m or 1h"):
        sustained.seconds_of(text)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([10, 10.5, 10.9], "within 10%"),
        ([10, 12, 10], "within 10%"),  # slower for a while is no throttling
        ([10, 10, 12, 13], "from its part 3 on, 30% at the end"),
        ([10, 12, 10, 12], "from its part 4 on, 20% at the end"),
    ],
)
def test_throttling_begins_where_it_stays_slower(parts, said):
    assert said in "\n".join(sustained.table(run_of({"a": parts})))


def test_each_part_has_its_throughput_and_the_resumed_one_its_mark():
    rows = [line for line in sustained.table(run_of({"a": [10, 20]})) if "| a |" in line]
    assert rows[0].startswith("| 1 | a | 100.0 | 10.00 | 10.00 | none | 80% |")
    assert rows[1].startswith("| 2, resumed | a | 50.0 | 20.00 | 20.00 |")


def test_ranks_at_the_start_and_at_the_end():
    lines = sustained.table(run_of({"fast": [10, 30], "steady": [20, 20]}))
    assert "Fastest first, at the start: fast < steady; at the end: steady < fast." in lines


def test_battery_drain_is_for_a_thousand_inferences():
    lines = sustained.table(run_of({"a": [10, 10]}, dataclasses.replace(COOL, battery_percent=78)))
    assert "Battery: 2% for 200 inferences, 10.000% for 1,000." in lines
    charging = sustained.table(run_of({"a": [10, 10]}, dataclasses.replace(COOL, plugged=True)))
    assert any("no drain can be given" in line for line in charging)
