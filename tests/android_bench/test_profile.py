"""The operator profile: the runtime's own times, every operator once, beside an unprofiled inference."""

import pytest

from android_bench.measuring import latency
from android_bench.measuring.latency_record import Record
from android_bench.measuring.latency_report import bench_markdown
from android_bench.measuring.rounds import MeasurementError
from android_bench.profiling import operator_profile as profile
from android_bench.profiling.litert_profiler import ProfiledModel
from mobilebert_runtime.errors import ArtefactError
from tests.helpers.tiny_artefacts import SEQ_LEN, write_artefact


def test_tflite_profile_looks_inside_xnnpack(tflite_artefact):
    found = profile.profile(tflite_artefact)
    kinds = {row.kind: row for row in found.rows}
    assert found.runtime.startswith("ai-edge-litert")
    inside = [row for row in found.rows if row.delegated]
    assert any("Fully Connected" in row.kind for row in inside)
    assert not kinds["EMBEDDING_LOOKUP"].delegated
    assert kinds["EMBEDDING_LOOKUP"].count == 1
    _check_sums(found)


def test_onnx_profile_names_the_operators_that_ran(onnx_artefact):
    found = profile.profile(onnx_artefact)
    counts = {row.kind: row.count for row in found.rows}
    assert found.runtime.startswith("onnxruntime")
    # Two matrix products, one table, one cast; ONNX Runtime may fuse or drop what only moves values.
    assert counts["Gather"] == 1
    assert counts["Cast"] == 1
    assert sum(count for kind, count in counts.items() if "MatMul" in kind) == 2
    _check_sums(found)


def _check_sums(found: profile.Profile) -> None:
    assert sum(row.share for row in found.rows) == pytest.approx(1, abs=0.01)
    assert [row.ms for row in found.rows] == sorted((row.ms for row in found.rows), reverse=True)
    assert sum(row.ms for row in found.rows) < found.profiled_ms


def test_an_interruption_of_each_inference_changes_no_row():
    runs = [
        [("Add", True, 1.0), ("Softmax", False, 6.0), ("Add", True, 200.0)],
        [("Add", True, 1.0), ("Softmax", False, 60.0), ("Add", True, 3.0)],
        [("Add", True, 100.0), ("Softmax", False, 6.0), ("Add", True, 3.0)],
    ]
    softmax, add = profile.summarise(runs)
    assert (softmax.kind, softmax.delegated, softmax.count, softmax.ms) == ("Softmax", False, 1, 6.0)
    assert (add.kind, add.delegated, add.count, add.ms) == ("Add", True, 2, 4.0)
    assert add.share == pytest.approx(0.4)
    with pytest.raises(ValueError, match="shorter"):
        profile.summarise([runs[0], runs[1][:2]])


def test_trace_is_cut_into_inferences_by_time_even_where_nodes_have_no_name():
    def node(kind, start, duration):
        return {"name": "_kernel_time", "ts": start, "dur": duration, "args": {"op_name": kind}}

    trace = [
        node("MatMul", 12, 2000),
        node("MatMul", 3000, 1000),
        {"name": "model_run", "ts": 10, "dur": 4990},
        {"name": "session_initialization", "ts": 0, "dur": 5},
        node("Add", 6000, 500),
        {"name": "model_run", "ts": 5500, "dur": 4000},
        {"name": "process_name", "args": {}},
    ]
    assert list(profile.read_trace(trace)) == [
        [("MatMul", False, 2.0), ("MatMul", False, 1.0)],
        [("Add", False, 0.5)],
    ]


def test_record_and_page_carry_the_profile(onnx_artefact):
    run = latency.compare([onnx_artefact], sessions=1, seconds=0)
    record = Record.of(run, profiled=True)
    assert Record.from_json(record.to_json()).facts == record.facts
    page = bench_markdown(record)
    assert "onnxruntime" in page
    assert "| Gather | 1 |" in page
    assert "own profile" not in bench_markdown(Record.of(run))


def test_errors_name_the_folder_and_the_reason(tmp_path, onnx_artefact, tflite_artefact):
    with pytest.raises(ArtefactError, match="no such artefact folder"):
        profile.profile(tmp_path / "nothing")
    broken = write_artefact(tmp_path / "broken", "tflite", b"not a model")
    with pytest.raises(MeasurementError, match="LiteRtCreateModelFromFile failed") as caught:
        profile.profile(broken)
    assert "\n" not in str(caught.value)
    with pytest.raises(
        MeasurementError, match=f"no signature of the model has inputs of {SEQ_LEN + 1} tokens"
    ):
        ProfiledModel(tflite_artefact / "model.tflite", SEQ_LEN + 1, 1)
