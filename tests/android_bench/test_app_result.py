"""Promise of `mobilebert bench import`: the app's result is a record that history draws, or is refused."""

import json

import pytest

from android_bench.gate.history import write_history
from android_bench.measuring.latency import BenchError
from android_bench.measuring.latency_record import Record
from android_bench.phone.app_result import import_result
from mobilebert_export.command_line import program as cli
from mobilebert_runtime.files import file_sha256


def result(artefact):
    """As BenchInstrumentation writes it."""
    return {
        "runner": "app",
        "artefact": artefact.name,
        "checksums": file_sha256(artefact / "SHA256SUMS"),
        "threads": 4,
        "seq_len": 64,
        "sustained_performance": False,
        "core_note": "4 of 8 cores are fast; the system places the threads",
        "before": {"battery_percent": 80, "battery_celsius": 30.1, "plugged": False, "thermal": 0},
        "after": {"battery_percent": 80, "battery_celsius": 31.0, "plugged": False, "thermal": 0},
        "phone": {
            "brand": "google",
            "model": "Pixel 8",
            "fingerprint": "google/shiba",
            "sdk": 34,
            "cores": 9,
        },
        "record": {
            "init_ms": 30.5,
            "first_ms": 50,
            "warmup_ms": [12.5, 11],
            "converged": True,
            "steady_ms": [10, 12.5, 11],
            "runtime": "LiteRT 2.3.0",
            "base_mib": 100,
            "peak_mib": 140.5,
            "pss_mib": 90,
        },
        "nonce": "1",
    }


def write(path, data):
    path.write_text(json.dumps(data))
    return path


def test_it_becomes_a_record_that_history_draws(onnx_artefact, tmp_path, capsys):
    path = write(tmp_path / "result.json", result(onnx_artefact))
    command = ["bench", "import", str(path), str(onnx_artefact), "--out", str(tmp_path / "records/farm")]
    with pytest.raises(SystemExit) as ended:
        cli.main(command)
    assert ended.value.code == 0
    record = Record.read(tmp_path / "records/farm.json")
    summary = record.comparison.summary(onnx_artefact.name)
    assert (summary["p50_ms"], summary["first_ms"], summary["peak_mib"]) == (11, 50, 140.5)
    assert record.comparison.machine["cpu"] == "google Pixel 8"
    assert record.comparison.settings["runner"] == "app"
    assert record.comparison.settings["emulated"] is False
    assert not record.comparison.troubles()
    page = write_history(tmp_path / "records", tmp_path / "history.html").read_text()
    assert "google Pixel 8" in page
    assert "LiteRT 2.3.0" in page


def test_a_hot_phone_and_an_emulator_are_told(onnx_artefact, tmp_path):
    data = result(onnx_artefact)
    data["after"]["thermal"] = 2
    data["phone"]["fingerprint"] = "google/sdk_gphone64_arm64/emu64a"
    record = import_result(write(tmp_path / "result.json", data), onnx_artefact)
    assert record.comparison.settings["emulated"] is True
    assert "2 thermal events" in record.comparison.troubles()[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"runner": "shell"}, "runner"),
        ({"checksums": "0" * 64}, "another artefact"),
        ({"threads": 0}, "threads"),
        ({"record": {}}, "steady_ms"),
        ({"phone": []}, "phone"),
        ({"sustained_performance": 1}, "sustained_performance"),
    ],
)
def test_what_is_no_result_is_refused(onnx_artefact, tmp_path, change, said):
    path = write(tmp_path / "result.json", result(onnx_artefact) | change)
    with pytest.raises(BenchError, match=said):
        import_result(path, onnx_artefact)


@pytest.mark.parametrize("value", [-1, "10", True, 1e300, None])
def test_a_time_that_is_none_is_refused(onnx_artefact, tmp_path, value):
    data = result(onnx_artefact)
    data["record"]["steady_ms"][1] = value
    with pytest.raises(BenchError, match="steady_ms"):
        import_result(write(tmp_path / "result.json", data), onnx_artefact)


def test_a_file_cut_short_is_refused(onnx_artefact, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result(onnx_artefact))[:-20])
    with pytest.raises(BenchError, match="can't be read as JSON"):
        import_result(path, onnx_artefact)
