"""Promise of `phone bench --estimate`: what was expected stands beside what was measured."""

import json

import pytest

from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.rounds import Candidate, Session
from android_bench.phone.estimate import Estimate
from mobilebert_export.command_line.program import main

DATA = {
    "artefacts": {"a": {"quant": "none"}, "b": {"quant": "int8"}},
    "modelled": {
        "Cortex-A55": {"a": {"cycles": 400}, "b": {"cycles": 200}},
        "Cortex-X3": {"a": {"cycles": 100}, "b": {"cycles": 40}},
    },
}


@pytest.fixture
def estimate(tmp_path):
    """A file as the study writes it."""
    path = tmp_path / "arm-kernels.json"
    path.write_text(json.dumps(DATA))
    return path


def run_of(**milliseconds):
    """Seven sessions of each artefact in turns."""
    sessions = [
        Session(name, "", 0, 1, 1, (), True, (ms,) * 10, 1, 1, "a runtime", {})
        for _ in range(7)
        for name, ms in milliseconds.items()
    ]
    candidates = tuple(Candidate(name, None) for name in milliseconds)
    return Comparison("run", {}, candidates, tuple(sessions), {})


def test_measured_and_expected_stand_side_by_side(estimate):
    run = run_of(plain=20.0, whole=9.0, ranges=10.0)
    lines = Estimate.read(estimate).table(run, {"plain": "none", "whole": "int8", "ranges": "dynamic"})
    assert lines[0] == "| time relative to plain | measured | expected, Cortex-A55 | expected, Cortex-X3 |"
    assert lines[2:4] == ["| whole | 0.45 | 0.50 | 0.40 |", "| ranges | 0.50 | – | – |"]


@pytest.mark.parametrize("quants", [["int8"], ["none"], ["none", "none", "int8"], ["none", "fp16"]])
def test_nothing_to_compare_is_an_error(estimate, quants):
    with pytest.raises(BenchError, match="with one in float; these are"):
        Estimate.read(estimate).require(quants)


def test_another_file_is_refused(tmp_path, capsys):
    for text in ("[]", "{}", "no JSON", json.dumps(DATA | {"artefacts": {}})):
        (tmp_path / "file.json").write_text(text)
        with pytest.raises(BenchError, match="no estimate of"):
            Estimate.read(tmp_path / "file.json")
    with pytest.raises(SystemExit) as caught:
        main(["phone", "bench", str(tmp_path), "--estimate", str(tmp_path / "file.json")])
    assert caught.value.code == 2
    assert "no estimate of" in capsys.readouterr().err
