"""The gate: red for slowdowns and growth, green only for sound measurements; records, history, commands."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from android_bench.gate import gate_report, history
from android_bench.gate import verdict as rules
from android_bench.gate.verdict import GateError, Side, gate
from android_bench.measuring import latency, model_facts, statistics
from android_bench.measuring import latency_report as report
from android_bench.measuring.latency import BenchError, Comparison, name_candidates
from android_bench.measuring.latency_record import Record
from android_bench.measuring.rounds import Candidate, Session
from android_bench.profiling import instructions
from mobilebert_export.command_line.program import main
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.card import read_card
from tests.helpers.tiny_artefacts import onnx_model, write_artefact

QUIET = {"others": 0.01, "steal": 0.0, "quota": 0.0, "thermal_events": 0.0, "mhz": 2000.0, "probe_ms": 5.0}
MACHINE = {
    "id": "abc",
    "cpu": "Some CPU",
    "flags": ["avx2"],
    "cores": 2,
    "memory_gib": 8,
    "architecture": "x86_64",
    "system": "Linux",
    "kernel": "6",
}
FACTS = {
    "target": "onnx",
    "quant": "int8",
    "seq_len": 128,
    "buckets": [128],
    "bytes": 10_000_000,
    "operator_count": 300,
    "macs": 700_000_000,
    "xnnpack": {"delegated_operators": 270, "all_operators": 300},
}


def record(slowdown=0.0, sessions=7, noise=0.01, seed=0, **changes) -> Record:
    """A run of "base" and "candidate" with given session noise; `changes` replace fields of the run."""
    generator = np.random.default_rng(seed)
    found = []
    for number in statistics.interleaved(2, sessions):
        level = 30 * (1 + slowdown * number) * np.exp(noise * generator.normal())
        found.append(
            Session(
                candidate=("base", "candidate")[number],
                started="2026-01-01T00:00:00+00:00",
                import_ms=50.0,
                init_ms=20.0,
                first_ms=35.0,
                warmup_ms=(31.0,) * 10,
                converged=True,
                steady_ms=tuple(level * (1 + 0.01 * generator.normal(size=20))),
                base_mib=40.0,
                peak_mib=90.0,
                runtime="onnxruntime 1.31.1",
                machine=QUIET,
            )
        )
    candidates = Candidate("base", Path("a")), Candidate("candidate", Path("b"))
    settings = {"sessions": sessions, "seconds": 1.0, "mode": "padded", "repeated_sessions": 0}
    run = Comparison("run", MACHINE, candidates, tuple(found), settings)
    facts = {"base": FACTS, "candidate": FACTS}
    return Record(replace(run, **changes), facts, "0123456789ab", "2026-01-01T00:00:00+00:00")


def judge(one: Record, other: Record | None = None):
    return gate(Side(one, "base"), Side(other or one, "candidate"))


def with_sessions(one: Record, change) -> Record:
    """The record with `change(number, session)` applied to every session."""
    changed = tuple(change(n, session) for n, session in enumerate(one.comparison.sessions))
    return replace(one, comparison=replace(one.comparison, sessions=changed))


def test_equal_passes_and_slower_is_red():
    assert judge(record()).verdict == "pass"
    judge(record()).require_pass()
    red = judge(record(slowdown=0.08))
    assert red.verdict == "regression"
    assert red.timing.p < 0.01
    low, high = red.timing.interval
    assert low < 1.08 < high
    with pytest.raises(GateError, match="regression: median latency") as caught:
        red.require_pass()
    assert caught.value.exit_code == 1
    assert judge(record(slowdown=-0.2)).verdict == "pass", "faster is fine"
    assert judge(record(slowdown=0.02, noise=0.001)).verdict == "pass", "significant, but less than 3%"


@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        ("few", lambda: record(sessions=6), "6 \\+ 6 sessions; 7 \\+ 7 are needed"),
        ("noisy", lambda: record(noise=0.15), "a slowdown of 8% is not ruled out"),
        (
            "hot",
            lambda: touch(thermal_events=2.0),
            "candidate: machine troubled in 1 of 7 .*2 thermal events",
        ),
        ("shared", lambda: touch(others=0.9), "others took 90% of a core"),
        ("stolen", lambda: touch(steal=0.2), "steal took 20%"),
        ("limited", lambda: touch(quota=0.3), "quota took 30%"),
        ("slow clock", lambda: touch(probe_ms=7.0), "processor 40% slower than for the others"),
        ("in turn", lambda: in_turn(record()), "not interleaved"),
    ],
)
def test_unsound_measurements_are_never_green(name, make, reason):
    verdict = judge(make())
    assert verdict.verdict == "inconclusive", name
    assert re.search(reason, "; ".join(verdict.reasons))
    with pytest.raises(GateError, match="inconclusive"):
        verdict.require_pass()


def touch(**facts) -> Record:
    """One session of the candidate ran in a troubled time."""
    return with_sessions(record(), lambda n, one: replace(one, machine=QUIET | facts) if n == 5 else one)


def in_turn(one: Record) -> Record:
    """All of base, then all of candidate: drift would look like a change."""
    ordered = sorted(one.comparison.sessions, key=lambda session: session.candidate)
    return replace(one, comparison=replace(one.comparison, sessions=tuple(ordered)))


def test_unsettled_warm_up_threads_and_mode_are_doubts():
    unsettled = with_sessions(record(), lambda n, one: replace(one, converged=n != 3))
    assert judge(unsettled).verdict == "inconclusive"
    more = Candidate("base", Path("a")), Candidate("candidate", Path("b"), threads=2)
    assert "1 and 2 threads" in judge(record(candidates=more)).reasons
    text = record(settings=record().comparison.settings | {"mode": "text"})
    assert judge(record(), text).verdict == "inconclusive"


def test_two_machines_or_two_runs_are_inconclusive_even_when_slower():
    other = record(slowdown=0.5, machine=MACHINE | {"id": "def", "cpu": "Other CPU"})
    verdict = judge(record(), other)
    assert verdict.verdict == "inconclusive"
    assert "two machines: Some CPU and Other CPU" in verdict.reasons
    assert judge(record(), record(run="another")).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"bytes": 10_300_000}, "bytes 10,000,000 → 10,300,000"),
        ({"macs": 710_000_000}, "multiply–accumulates"),
        ({"xnnpack": {"delegated_operators": 260, "all_operators": 300}}, "share of operators in XNNPACK"),
        ({"instructions": {"inference": 215_000_000}}, "instructions per inference"),
        (
            {"arm_instructions": {"cortex-a710": {"inference": 71_000_000}}},
            "instructions per inference on Cortex-A710",
        ),
    ],
)
def test_facts_are_red_whatever_the_clock_says(change, what):
    base = FACTS | {"instructions": {"inference": 200_000_000}}
    base |= {"arm_instructions": {"cortex-a710": {"inference": 65_000_000}}}
    noisy = replace(record(sessions=3), facts={"base": base, "candidate": base | change})
    verdict = judge(noisy)
    assert verdict.verdict == "regression"
    assert re.search(what, verdict.reasons[0])
    back = replace(noisy, facts={"base": base | change, "candidate": base})
    assert judge(back).verdict == "inconclusive", "less is fine, but three sessions are still too few"


def test_facts_that_neither_side_has_are_left_out_and_others_are_never_green():
    without = FACTS | {"macs": None, "xnnpack": None}
    facts, unknown = rules.compare_facts(without, without)
    assert ([fact.what for fact in facts], unknown) == (["bytes"], [])
    one = replace(record(), facts={"base": FACTS, "candidate": without})
    assert judge(one).verdict == "inconclusive"
    assert len(judge(one).reasons) == 2
    other = FACTS | {"target": "tflite", "xnnpack": None}
    assert judge(replace(record(), facts={"base": FACTS, "candidate": other})).verdict == "pass"


NOTHING = (None, float("nan"), float("inf"), -1.0, 0, "", "30", [], {}, True)


def damaged_records():
    """Records whose candidate or base lacks one figure, or has what is none; and which figure."""
    for value in NOTHING:
        for name in ("init_ms", "first_ms", "base_mib", "peak_mib", "steady_ms"):
            figure = (20.0, value) if name == "steady_ms" else value
            yield f"{name} {value!r}", {name: figure}, None
        yield f"bytes {value!r}", {}, {"bytes": value}
    for value in NOTHING:
        yield f"probe_ms {value!r}", {"machine": QUIET | {"probe_ms": value}}, None
        if value != 0:
            yield f"others {value!r}", {"machine": QUIET | {"others": value}}, None
            yield f"converged {value!r}", {"converged": value}, None
    yield "no samples", {"steady_ms": ()}, None
    yield "no memory for the model", {"peak_mib": 40.0}, None
    yield "no machine", {"machine": {}}, None
    for value in (*NOTHING[1:5], "", True):
        yield f"macs {value!r}", {}, {"macs": value}
        yield (
            f"all_operators {value!r}",
            {},
            {"xnnpack": {"delegated_operators": 270, "all_operators": value}},
        )
    yield "no facts", {}, "nothing"
    yield "xnnpack of another shape", {}, {"xnnpack": [270, 300]}
    yield "instructions of one side", {}, {"instructions": {"inference": 10}}


DAMAGED = list(damaged_records())


def test_at_least_sixty_damaged_records_are_tried():
    assert len(DAMAGED) >= 60


@pytest.mark.parametrize("side", ["base", "candidate"])
@pytest.mark.parametrize(("name", "figures", "facts"), DAMAGED, ids=[name for name, *_ in DAMAGED])
def test_no_damaged_or_missing_figure_passes(name, figures, facts, side):
    """A candidate twice as slow, and one as quick as the base: neither may be green."""
    if name == "converged True":
        return
    for slowdown in (1.0, 0.0):
        one = record(slowdown)
        at = next(n for n, session in enumerate(one.comparison.sessions) if session.candidate == side)
        one = with_sessions(
            one, lambda n, session, at=at: replace(session, **figures) if n == at else session
        )
        if facts == "nothing":
            one = replace(one, facts={key: value for key, value in one.facts.items() if key != side})
        elif facts:
            one = replace(one, facts=one.facts | {side: FACTS | facts})
        assert judge(one).verdict != "pass"
        assert judge(one).reasons


def test_sessions_of_one_side_alone_or_of_none_are_never_green():
    one = record()
    for kept in ((), ("base",), ("candidate",)):
        sessions = tuple(found for found in one.comparison.sessions if found.candidate in kept)
        assert judge(replace(one, comparison=replace(one.comparison, sessions=sessions))).verdict != "pass"
    for machine in ({}, MACHINE | {"id": None}):
        assert judge(record(machine=machine)).verdict == "inconclusive"


def candidate_with(change):
    return with_sessions(
        record(), lambda _, one: replace(one, **change(one)) if one.candidate == "candidate" else one
    )


def test_a_slow_first_answer_and_more_memory_are_red():
    slow = judge(candidate_with(lambda one: {"init_ms": 2 * one.init_ms}))
    assert slow.verdict == "regression"
    assert "first answer +36.4%" in slow.reasons[0]
    assert judge(candidate_with(lambda one: {"first_ms": 1.05 * one.first_ms})).verdict == "pass"
    large = judge(candidate_with(lambda one: {"peak_mib": one.peak_mib + 5}))
    assert large.verdict == "regression"
    assert large.reasons == ("peak memory in MiB 50.0 → 55.0",)
    assert judge(candidate_with(lambda one: {"peak_mib": one.peak_mib + 1.5})).verdict == "pass"


def test_limits_are_the_callers():
    five, larger = record(slowdown=0.05, noise=0.001), FACTS | {"bytes": 10_300_000}
    assert judge(five).verdict == "regression"
    assert judge(record(slowdown=0.05, noise=0.15)).verdict != "pass"
    loose, strict = rules.Limits(slower=0.1, larger=0.05), rules.Limits(slower=0.001, larger=0)
    sides = Side(five, "base"), Side(five, "candidate")
    assert gate(*sides, loose).verdict == "pass"
    assert gate(*sides, strict).verdict == "regression"
    grown = replace(record(), facts={"base": FACTS, "candidate": larger})
    assert gate(Side(grown, "base"), Side(grown, "candidate"), loose).verdict == "pass"
    assert judge(grown).verdict == "regression"


def test_pages_of_a_program_that_is_in_no_checkout_name_no_commit():
    one = replace(record(), commit=None)
    page = report.bench_markdown(one)
    assert "None" not in page
    assert "Commit" not in page
    assert f"Measured {one.date}" in page
    assert f"Commit abc, {one.date}" in report.bench_markdown(replace(one, commit="abc"))


def test_padded_inputs_say_nothing_of_other_buckets():
    one = record()
    for buckets in ([32, 64, 128], None):
        other = replace(one, facts={"base": FACTS, "candidate": FACTS | {"buckets": buckets}})
        assert judge(other).verdict == "inconclusive"
        assert "longest bucket alone" in judge(other).reasons[0]


@pytest.mark.slow
def test_a_candidate_without_small_buckets_is_found(tmp_path):
    """Of a real network; in the longest bucket the two are as fast as each other."""
    from tests.helpers import small_matcher

    whole = small_matcher.artefact("tflite", "none")
    card = read_card(whole)
    assert len(card.buckets) > 1
    less = shutil.copytree(whole, tmp_path / "less")
    longest = replace(card, buckets=card.buckets[-1:]).to_json()
    (less / "io.json").write_text(json.dumps(longest))
    write_checksums(less)
    base, candidate = name_candidates([whole, less])
    record, verdict = rules.run_gate(base, candidate, seconds=0.3, retries=0)
    assert verdict.timing.ratio > 1.2
    assert verdict.verdict != "pass"
    assert record.facts["base"]["buckets"] != record.facts["candidate"]["buckets"]
    _, same = rules.run_gate(base, base, seconds=0.3, retries=0)
    assert 0.9 < same.timing.ratio < 1.1


def test_a_mix_holds_what_fills_every_bucket_and_pairs_of_many_lengths(tmp_path):
    folders = [write_artefact(tmp_path / name, "onnx", onnx_model()) for name in ("one", "other")]
    card = json.loads((folders[1] / "io.json").read_text())
    card["buckets"] = [{"seq_len": length, "signature": None} for length in (16, 40, 64)]
    (folders[1] / "io.json").write_text(json.dumps(card))
    write_checksums(folders[1])
    mix = latency.mixed_inputs(folders, latency.PAIRS)
    rows = [latency.encode_mix(folder, mix) for folder in folders]
    tokens = [int(row["attention_mask"].sum()) for row in rows[0]]
    assert tokens[-3:] == [16, 40, 64]
    assert len(set(tokens)) > 5
    assert {row["input_ids"].shape for row in rows[0]} == {(1, 64)}
    assert {row["input_ids"].shape[1] for row in rows[1]} == {16, 40, 64}
    assert all(
        (a["input_ids"][0, :n] == b["input_ids"][0, :n]).all() for a, b, n in zip(*rows, tokens, strict=True)
    )


def test_self_test_judges_real_processes(tmp_path):
    """Two sessions a side show that the injection arrives; the verdict on so few must be "inconclusive".

    It is so large that no load of the machine hides it; test_latency.py proves the share itself.
    """
    folder = write_artefact(tmp_path / "tiny", "onnx", onnx_model())
    result = rules.self_test(folder, rounds=0, slowdown=20.0, sessions=2, seconds=0.02, retries=0)
    (run,) = result["runs"]
    assert run["timing"]["ratio"] > 4
    assert (run["verdict"], run["expected"], result["as_expected"]) == ("inconclusive", "regression", False)
    paths = gate_report.write_self_test(result, tmp_path / "gate" / "self-test")
    assert [path.name for path in paths] == ["self-test.json", "self-test.md", "self-test.png"]
    assert json.loads(paths[0].read_text()) == json.loads(json.dumps(result))


def test_run_is_extended_once_when_it_cannot_tell(tmp_path, monkeypatch):
    noisy, clear = record(noise=0.15).comparison, record(seed=4, noise=0.001).comparison
    stages = iter([noisy, clear])
    monkeypatch.setattr(rules, "measure", lambda *_, **__: next(stages))
    monkeypatch.setattr(Record, "of", lambda run, **_: replace(record(), comparison=run))
    found, verdict = rules.run_gate(*noisy.candidates)
    assert found.comparison.settings["extended"]
    assert len(found.comparison.sessions) == 28
    assert verdict.timing.sessions == (14, 14)


def test_facts_of_a_real_model(tmp_path):
    pytest.importorskip("onnx")
    facts = model_facts.model_facts(write_artefact(tmp_path / "tiny", "onnx", onnx_model(width=8)))
    assert facts["operators"]["MatMul"] == 2
    assert facts["operator_count"] == 6
    assert facts["macs"] == 64 * 8 + 8 * 2
    assert facts["bytes"] < facts["folder_bytes"]
    assert model_facts.multiplications("FULLY_CONNECTED", [(1, 128, 384), (192, 384)], (1, 128, 192)) == (
        128 * 192 * 384
    )
    assert model_facts.multiplications("CONV_2D", [(1, 1, 128, 128), (512, 1, 3, 128)], (1, 1, 128, 512)) == (
        128 * 512 * 3 * 128
    )


def test_callgrind_page_is_read_for_the_runtime_only():
    page = """
372,292,800 (32.23%)  ???:xnn_f32_gemm_ukernel [/env/ai_edge_litert/libpywrap_litert_common.so]
      1,000 ( 0.01%)  ???:xnn_f32_gemm_ukernel'2 [/env/ai_edge_litert/libpywrap_litert_common.so]
 66,683,356 ( 5.77%)  /src/ceval.c:_PyEval_EvalFrameDefault'2 [/usr/lib/libpython3.11.so.1.0]
         12 ( 0.00%)  ???:Ort::Run(char const*) [/env/onnxruntime/capi/onnxruntime_pybind11_state.so]
"""
    assert instructions.read_profile(page) == {
        "xnn_f32_gemm_ukernel": 372_293_800,
        "Ort::Run(char const*)": 12,
    }


def test_record_survives_a_file_and_is_drawn(tmp_path):
    for number, slowdown in enumerate((0.0, 0.1)):
        one = replace(record(slowdown), date=f"2026-01-0{number + 1}T00:00:00+00:00")
        paths = report.write_bench(one, tmp_path / "bench" / f"run{number}")
        back = Record.read(paths[0])
        assert (back.facts, back.date, back.commit) == (one.facts, one.date, one.commit)
        assert back.comparison.sessions == one.comparison.sessions
        assert all(path.stat().st_size > 500 for path in paths)
        assert "| candidate |" in paths[1].read_text()
    page = history.write_history(tmp_path / "bench", tmp_path / "history.html").read_text()
    assert page.count("<svg") == 2
    assert page.count("<circle") == 4
    assert "<script" not in page
    assert "http" not in page
    with pytest.raises(BenchError, match="exists"):
        history.write_history(tmp_path / "bench", tmp_path / "history.html")
    with pytest.raises(BenchError, match="exists"):
        report.write_bench(record(), tmp_path / "bench" / "run0")
    with pytest.raises(BenchError, match="no records"):
        history.write_history(tmp_path, tmp_path / "other.html")


def test_history_keeps_machines_apart_and_escapes(tmp_path):
    strange = replace(record(machine=MACHINE | {"id": "x", "cpu": "<b>"}), commit="<i>", date="<u>2026-11")
    page = history.render([record(), strange])
    assert page.count("<svg") == 4
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<u>" not in page


def run_main(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(one) for one in arguments])
    return int(caught.value.code or 0)


def test_command_line(tmp_path, capsys):
    folder = write_artefact(tmp_path / "tiny", "onnx", onnx_model())
    quick = ("--sessions", 1, "--seconds", 0.01, "--retries", 0)
    assert run_main("bench", folder, *quick, "--out", tmp_path / "r" / "one") == 0
    assert (tmp_path / "r" / "one.png").is_file()
    assert "p50 ms" in capsys.readouterr().out
    assert run_main("gate", folder, folder, *quick, "--out", tmp_path / "g") == 1
    written = json.loads((tmp_path / "g.json").read_text())
    assert written["gate"]["verdict"] == "inconclusive"
    assert "Infinity" not in (tmp_path / "g.json").read_text(), "other programs read it too"
    assert "1 + 1 sessions" in capsys.readouterr().err
    assert run_main("gate", f"{tmp_path / 'g.json'}#base", f"{tmp_path / 'g.json'}#candidate") == 1
    assert run_main("bench", "history", tmp_path / "r") == 0
    assert (tmp_path / "r" / "history.html").is_file()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench", "nowhere"), "nowhere"),
        (("bench", "TINY", "--mode", "random"), "expected one of padded, mix, text"),
        (("bench", "TINY", "--seq-len", 128), "made for 64 tokens, not 128"),
        (("bench", "TINY", "--python", "/no/such/bin/python"), "no such program"),
        (("bench", "history", "nowhere"), "no records"),
        (("gate", "TINY"), "give BASE and CANDIDATE"),
        (("gate", "a.json", "b.json"), "unreadable"),
    ],
)
def test_bad_requests_are_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    folder = write_artefact(tmp_path / "tiny", "onnx", onnx_model())
    quick = () if arguments[1] == "history" else ("--sessions", 1, "--seconds", 0.01)
    assert run_main(*(folder if one == "TINY" else one for one in arguments), *quick) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("mobilebert: ")
    assert message in said
