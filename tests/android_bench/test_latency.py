"""The latency bench: interleaving, separated phases, raw ordered samples, honest errors."""

import itertools
import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from android_bench.measuring import latency, machine, rounds, worker
from android_bench.measuring.latency import BenchError
from android_bench.measuring.rounds import MeasurementError
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.errors import ArtefactError
from tests.conftest import ROOT
from tests.helpers.tiny_artefacts import SEQ_LEN, VOCABULARY

RESULTS = ROOT / "results"


def test_two_runtimes_take_turns_in_one_run(onnx_artefact, tflite_artefact):
    seen = []
    result = latency.compare(
        [onnx_artefact, tflite_artefact], sessions=2, seconds=0.05, progress=lambda *step: seen.append(step)
    )
    order = [session.candidate for session in result.sessions]
    assert order == ["tiny-onnx", "tiny-tflite", "tiny-tflite", "tiny-onnx"]
    assert seen == [(2, 4), (4, 4)], "a round is a session of each"
    assert [session.runtime.split()[0] for session in result.sessions[:2]] == [
        "onnxruntime",
        "ai-edge-litert",
    ]
    for session in result.sessions:
        assert min(session.init_ms, session.first_ms, session.import_ms) > 0
        assert len(session.warmup_ms) >= 10
        assert len(session.steady_ms) >= 10
        assert 0 < session.base_mib < session.peak_mib < 2000
    summary = result.summary("tiny-onnx")
    assert summary["p50_ms"] <= summary["p90_ms"] <= summary["p99_ms"]
    there, back = result.ratio("tiny-onnx", "tiny-tflite"), result.ratio("tiny-tflite", "tiny-onnx")
    assert there == pytest.approx(1 / back)
    with pytest.raises(BenchError, match="it has tiny-onnx, tiny-tflite"):
        result.of("int8")


def test_record_survives_json_with_every_sample(onnx_artefact):
    result = latency.compare([onnx_artefact, onnx_artefact], sessions=1, seconds=0.01)
    assert result.names == ("tiny-onnx", "tiny-onnx#2")
    data = json.loads(json.dumps(result.to_json()))
    back = latency.Comparison.from_json(data)
    assert back.sessions == result.sessions
    assert back.machine == result.machine
    assert "/" not in data["candidates"][0]["folder"] + data["candidates"][0]["python"], (
        "no path of this machine"
    )
    with pytest.raises(BenchError, match="not a record"):
        latency.Comparison.from_json({"run": 1})


def test_workers_of_a_round_take_turns(onnx_artefact, tmp_path):
    """Both are alive at once, yet no inference of one falls into a turn of the other."""
    candidates = latency.name_candidates([onnx_artefact, onnx_artefact])
    np.savez(tmp_path / "inputs.npz", **latency.encode(onnx_artefact, latency.PAIRS))
    task = {"mode": "padded", "inputs": str(tmp_path / "inputs.npz")}
    first, second = rounds.run_round(candidates, [task, task], seconds=4 * rounds.TURN_S)
    assert (first.candidate, second.candidate) == ("tiny-onnx", "tiny-onnx#2")
    for session in (first, second):
        # Four turns of TURN_S: the samples fill them, and nothing but them.
        assert sum(session.steady_ms) <= 1e3 * (4 * rounds.TURN_S) + 4 * max(session.steady_ms)
        assert len(session.steady_ms) >= worker.MIN_STEADY


def test_a_worker_that_falls_silent_is_stopped(onnx_artefact, monkeypatch):
    monkeypatch.setattr(rounds, "ANSWER_LIMIT_S", 0.05)
    with pytest.raises(MeasurementError, match="no answer within"):
        latency.compare([onnx_artefact], sessions=1, seconds=0)


def test_trouble_is_told_by_counters_and_within_the_round(onnx_artefact):
    session = latency.compare([onnx_artefact], sessions=1, seconds=0).sessions[0]
    calm = session.machine | {"others": 0.0, "steal": 0.0, "quota": 0.0, "thermal_events": 0, "probe_ms": 1.0}

    def told(usual_ms: float = 1.0, **facts: float) -> list[str]:
        return rounds.noise_reasons(replace(session, machine=calm | facts, converged=True), usual_ms)

    assert told() == []
    assert told(usual_ms=0.5) == ["processor 100% slower than for the others"]
    assert told(probe_ms=2.0, usual_ms=2.0) == [], "a slow moment that the whole round shared"
    assert told(steal=0.3) == ["steal took 30% of a core"]
    assert told(thermal_events=2) == ["2 thermal events"]


def test_injected_slowdown_is_what_it_says(monkeypatch):
    """On a clock of its own, which ticks when it is read or when the call takes its 10 s."""
    now = itertools.count()
    spent = 0.0

    def call(seconds: float) -> None:
        nonlocal spent
        spent += seconds

    clock = SimpleNamespace(perf_counter=lambda: spent + 1e-3 * next(now))
    monkeypatch.setattr(worker, "time", clock)
    for share in (0.0, 0.08, 1.0):
        once = worker._timed(call, [10.0], share)
        assert once() == pytest.approx(10_000 * (1 + share), abs=5)


def test_injected_slowdown_reaches_the_measuring_process(onnx_artefact):
    """So large that no load of the machine hides it: the share is proved above, here its way."""
    base = latency.name_candidates([onnx_artefact])[0]
    slow = latency.with_slowdown(base, 20.0)
    result = latency.measure([base, slow], sessions=2, seconds=0.1)
    assert slow.name == "tiny-onnx+2000%"
    assert result.ratio(base.name, slow.name) > 4


def test_text_mode_times_the_whole_call(onnx_artefact):
    candidate = latency.name_candidates([onnx_artefact])
    settings = {"sessions": 1, "seconds": 0.02}
    padded = latency.measure(candidate, mode="padded", **settings).medians("tiny-onnx")[0]
    text = latency.measure(candidate, mode="text", **settings).medians("tiny-onnx")[0]
    assert text > padded, "tokenising costs something"


def test_worker_imports_what_an_application_imports(onnx_artefact, tmp_path):
    np.savez(tmp_path / "inputs.npz", **latency.encode(onnx_artefact, latency.PAIRS))
    task = {
        "folder": str(onnx_artefact),
        "mode": "padded",
        "threads": 1,
        "seconds": 0.0,
        "slowdown": 0.0,
        "inputs": str(tmp_path / "inputs.npz"),
    }
    code = (
        f"import sys; from android_bench.measuring.worker import session; session({task!r});"
        "heavy = {'torch', 'tensorflow', 'scipy', 'matplotlib', 'rich', 'onnx'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_inputs_are_real_text_padded_to_the_artefact(onnx_artefact):
    arrays = latency.encode(onnx_artefact, latency.PAIRS)
    lengths = arrays["attention_mask"].sum(1)
    assert arrays["input_ids"].shape == (len(latency.PAIRS), SEQ_LEN)
    assert arrays["input_ids"].max() < len(VOCABULARY)
    assert lengths.min() < 20
    assert SEQ_LEN - 4 < lengths.max() <= SEQ_LEN
    assert (arrays["input_ids"][arrays["attention_mask"] == 0] == 0).all()
    assert arrays["token_type_ids"].max() == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "io.json").unlink(),
        lambda folder: (folder / "io.json").write_text("{"),
        lambda folder: (folder / "io.json").write_text('{"format": 1, "target": "coreml"}'),
    ],
)
def test_broken_folder_is_one_line(tmp_path, onnx_artefact, damage):
    folder = shutil.copytree(onnx_artefact, tmp_path / "artefact")
    damage(folder)
    with pytest.raises(ArtefactError) as caught:
        latency.name_candidates([folder])
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_broken_model_and_bad_requests(tmp_path, onnx_artefact):
    folder = shutil.copytree(onnx_artefact, tmp_path / "artefact")
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ArtefactError, match=r"model\.onnx: damaged"):
        latency.compare([folder], sessions=1, seconds=0)
    write_checksums(folder)
    with pytest.raises(MeasurementError, match="refuses it") as caught:
        latency.compare([folder], sessions=1, seconds=0)
    assert "\n" not in str(caught.value)
    with pytest.raises(BenchError, match=f"are \\(N, {SEQ_LEN}\\)"):
        latency.compare([onnx_artefact], inputs={"input_ids": np.ones((2, 8))})
    with pytest.raises(BenchError, match="nothing to measure"):
        latency.compare([onnx_artefact], sessions=0)
    with pytest.raises(BenchError, match="threads is 0"):
        latency.compare([onnx_artefact], threads=0)


def test_machine_passport_is_stable_and_anonymous():
    first, second = machine.describe(), machine.describe()
    assert first == second
    assert first["cores"] >= 1
    assert len(first["id"]) == 12
    watch = machine.Watch()
    for _ in range(2):
        with watch:
            time.sleep(0.01)
    facts = watch.facts()
    assert set(facts) == {"others", "steal", "quota", "thermal_events", "mhz", "probe_ms"}
    assert facts["probe_ms"] > 0


def test_programs_on_cores_that_are_not_ours_do_not_trouble_us(monkeypatch):
    def busy_on(cores):
        monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: cores)
        return machine._counters()["busy"] * machine.TICKS

    # /proc/stat: all cores, then each; user nice system idle iowait irq softirq steal guest guest_nice
    stat = "cpu 107 2 0 50 0 0 0 3 0 0\ncpu0 7 0 0 45 0 0 0 1 0 0\ncpu1 100 2 0 5 0 0 0 2 0 0\nintr 9"
    monkeypatch.setattr(machine, "_read", lambda path: stat if path == "/proc/stat" else None)
    assert busy_on({0}) == pytest.approx(7)
    assert busy_on({0, 1}) == pytest.approx(109)


def test_peak_memory_is_the_workers_own(onnx_artefact):
    ballast = np.ones(60_000_000)  # 458 MiB of the parent must not be charged to the worker
    session = latency.compare([onnx_artefact], sessions=1, seconds=0).sessions[0]
    assert session.peak_mib < 300 < ballast.nbytes / 2**20


def test_every_recorded_run_can_still_be_read():
    records = [path for path in sorted(RESULTS.rglob("*.json")) if '"steady_ms"' in path.read_text()]
    assert len(records) > 10
    for path in records:
        run = latency.Comparison.from_json(json.loads(path.read_text()))
        assert {session.candidate for session in run.sessions} == set(run.names), path.name
