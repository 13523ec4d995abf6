"""Promise of `mobilebert bench import`: what the page measured is a record that history draws."""

import json

import pytest

from android_bench.gate.history import write_history
from android_bench.measuring.latency import BenchError
from android_bench.measuring.latency_record import Record
from android_bench.phone.web_result import import_web_result, is_web_result
from mobilebert_export.command_line import program as cli
from mobilebert_runtime.files import file_sha256

PHONE = "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile"


def result(artefact):
    """As web/site/measure.ts writes it."""
    power = {"charging": False, "battery": 0.8, "pressure": "nominal"}
    return {
        "runner": "web",
        "artefact": artefact.name,
        "checksums": file_sha256(artefact / "SHA256SUMS"),
        "seq_len": 32,
        "threads": 4,
        "backend": "threads",
        "cross_origin_isolated": True,
        "started": "2026-11-28T10:00:00.000Z",
        "browser": {
            "user_agent": PHONE,
            "platform": "Android",
            "mobile": True,
            "cores": 8,
            "model": "Pixel 8",
        },
        "before": power,
        "after": power | {"pressure": "serious"},
        "record": {
            "runtime": "LiteRT.js wasm",
            "init_ms": 900.5,
            "first_ms": 50,
            "warmup_ms": [12.5, 11],
            "converged": True,
            "steady_ms": [10, 12.5, 11],
        },
    }


def write(path, data):
    path.write_text(json.dumps(data))
    return path


def test_it_becomes_a_record_that_history_draws(onnx_artefact, tmp_path):
    path = write(tmp_path / "result.json", result(onnx_artefact))
    with pytest.raises(SystemExit) as ended:
        cli.main(["bench", "import", str(path), str(onnx_artefact), "--out", str(tmp_path / "records/web")])
    assert ended.value.code == 0
    record = Record.read(tmp_path / "records/web.json")
    assert record.comparison.machine["cpu"] == "Chrome on Android Pixel 8"
    assert record.comparison.summary(onnx_artefact.name)["p50_ms"] == 11
    assert record.comparison.troubles()  # the browser told of pressure
    assert "not told" in (tmp_path / "records/web.md").read_text()
    page = write_history(tmp_path / "records", tmp_path / "history.html").read_text()
    assert "32-token browser" in page
    assert "Chrome on Android Pixel 8" in page


def test_the_app_s_results_are_still_told_from_the_page_s(tmp_path):
    assert not is_web_result(write(tmp_path / "app.json", {"runner": "app"}))
    assert not is_web_result(write(tmp_path / "list.json", [1]))
    assert not is_web_result(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"checksums": "0" * 64}, "another artefact"),
        ({"backend": "magic"}, "backend 'magic'"),
        ({"threads": 0}, "threads 0 is not from 1"),
        ({"record": {"runtime": "x"}}, "'steady_ms' is missing"),
        ({"browser": []}, "'browser' has the wrong type"),
    ],
)
def test_what_is_no_such_result_is_refused_by_its_field(onnx_artefact, tmp_path, change, says):
    path = write(tmp_path / "result.json", result(onnx_artefact) | change)
    with pytest.raises(BenchError, match=says):
        import_web_result(path, onnx_artefact)
