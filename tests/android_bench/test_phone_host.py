"""Promise of android_bench/phone: on a real adbd every way a run can go wrong has the right outcome."""

import json
import os
from pathlib import Path

import pytest

from android_bench.gate.history import write_history
from android_bench.measuring.latency_record import Record
from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime.matcher import Matcher
from tests.helpers.phones import require, run_lab
from tests.helpers.tiny_artefacts import onnx_model, write_artefact

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = (
    *("no_device", "happy", "dies", "ends_early", "crashes", "truncated", "replayed", "tampered_on_device"),
    *("tampered_here", "disk_full", "wrong_abi", "two_devices", "offline", "hot", "sustained"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    return write_artefact(tmp_path_factory.mktemp("artefact") / "tiny", "onnx", onnx_model())


@pytest.fixture(scope="module")
def found(folder, artefact):
    (adbd,) = require("adbd")
    pairs = [list(pair) for pair in PAIRS[:3]]
    return run_lab(folder, SCENARIOS, artefact=str(artefact), adbd=str(adbd), pairs=pairs)


def test_a_run_is_a_record_that_the_gate_reads(found, folder):
    assert found["happy"]["code"] == 0, found["happy"]
    record = Record.read(folder / "happy.json")
    assert record.comparison.names == ("tiny", "twin")
    assert [one.candidate for one in record.comparison.sessions] == ["tiny", "twin", "twin", "tiny"]
    assert record.comparison.settings["runner"] == "shell"
    assert record.comparison.settings["emulated"] is False
    assert record.comparison.machine["cpu"] == "nobody Stand-in"
    assert "emulated" not in found["happy"]["out"]


def test_the_json_has_the_shape_of_androidx_benchmark(found, folder):
    data = json.loads((folder / "happy.json").read_text())
    assert data["context"]["build"]["version"] == {"codename": "REL", "sdk": 34}
    assert data["context"]["cpuCoreCount"] == os.cpu_count()
    names = [one["name"] for one in data["benchmarks"]]
    assert names == ["tiny", "twin"]
    one = data["benchmarks"][0]
    assert {"params", "className", "totalRunTimeNs", "warmupIterations", "repeatIterations"} <= one.keys()
    assert {"thermalThrottleSleepSeconds", "profilerOutputs"} <= one.keys()
    time_ns = one["metrics"]["timeNs"]
    assert time_ns["minimum"] <= time_ns["median"] <= time_ns["maximum"]
    sampled = one["sampledMetrics"]["inferenceNs"]
    assert sum(map(len, sampled["runs"])) == one["repeatIterations"]
    assert sampled["P50"] <= sampled["P90"] <= sampled["P95"] <= sampled["P99"]
    assert data["mobilebert"]["before"][0]["battery_percent"] == 95
    assert data["mobilebert"]["before"][0]["thermal"] == 0
    assert not any("cpufreq" in name for name in data["mobilebert"]["before"][0]["governors"])


def test_devices_and_match(found, artefact):
    line = found["happy"]["devices"]["out"].strip().split("\t")
    assert line[1:4] == ["device", "nobody Stand-in", "API 34"]
    score, label = found["happy"]["match"]["out"].strip().split("\t")
    matcher = Matcher.load(artefact)
    expected = float(matcher.score([PAIRS[0]])[0])
    assert float(score) == pytest.approx(expected, abs=1e-6)
    assert label == matcher.label(expected)


def test_the_bundle_is_installed_once_and_nothing_is_overwritten(found):
    assert found["happy"]["installed_once"]
    assert found["happy"]["refused"]["code"] == 2
    assert "--force" in found["happy"]["refused"]["error"]


@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        ("no_device", 2, "no device; plug one in"),
        ("dies", 1, ""),
        ("ends_early", 1, "did not end (no end line)"),
        ("crashes", 1, "stopped with 139"),
        ("truncated", 1, "cut short or changed"),
        ("replayed", 1, "did not end (no end line)"),
        ("tampered_on_device", 1, "ArtefactError"),
        ("tampered_here", 2, "model.onnx"),
        ("disk_full", 1, "no space for large.tar"),
        ("wrong_abi", 2, "is for armeabi-v7a; the bundle needs"),
        ("offline", 2, "offline"),
    ],
)
def test_what_goes_wrong_has_its_own_outcome(found, scenario, code, words):
    assert found[scenario]["code"] == code, found[scenario]
    assert words in found[scenario]["error"]
    assert found[scenario]["out"] == ""


def test_an_empty_list_of_devices_says_what_to_do(found):
    assert found["no_device"]["devices"]["code"] == 2
    assert "USB debugging" in found["no_device"]["devices"]["error"]


def test_a_device_that_dies_is_named_and_fails_at_once(found):
    assert "127.0.0.1:" in found["dies"]["error"]
    assert "lost during" in found["dies"]["error"] or "did not end" in found["dies"]["error"]


def test_nothing_is_left_behind_on_a_full_disk(found):
    assert found["disk_full"]["left"] == []


def test_two_devices_need_a_serial(found):
    two = found["two_devices"]
    assert (two["ambiguous"]["code"], two["chosen"]["code"], two["unknown"]["code"]) == (2, 0, 2)
    assert "2 devices" in two["ambiguous"]["error"]
    assert "--serial" in two["ambiguous"]["error"]
    assert "no device nobody" in two["unknown"]["error"]


def test_a_hot_device_cools_first_and_a_heated_session_is_repeated(found):
    hot = found["hot"]
    assert hot["cooled"]["code"] == hot["again"]["code"] == 0
    assert hot["before"][0]["thermal"] == 0
    assert hot["repeated"] == 1
    assert hot["never"]["code"] == hot["empty"]["code"] == 1
    assert "still at thermal status emergency" in hot["never"]["error"]
    assert "battery at 7%" in hot["empty"]["error"]


def test_a_sustained_run_that_was_killed_goes_on_and_history_draws_it(found, folder, tmp_path):
    one = found["sustained"]
    assert one["code"] == 0, one
    record = Record.read(folder / "sustained.json")
    sessions, settings = record.comparison.sessions, record.comparison.settings
    assert len(sessions) == 3
    assert 1 <= len(one["kept"]) < 3
    for kept, session in zip(one["kept"], sessions, strict=False):
        assert kept["session"]["steady_ms"] == list(session.steady_ms)
    assert settings["resumed_before"] == [len(one["kept"])]
    assert not one["left"]
    page = (folder / "sustained.md").read_text()
    assert "emulated: no latency claim" in page
    rows = [line for line in page.splitlines() if line[2:3].isdigit() and "| tiny |" in line]
    assert len(rows) == 3
    assert [row for row in rows if "resumed" in row] == [rows[len(one["kept"])]]
    assert "no drain can be given" in page  # the stand-in is charging
    (tmp_path / "records").mkdir()
    (tmp_path / "records/sustained.json").write_text((folder / "sustained.json").read_text())
    assert "nobody Stand-in" in write_history(tmp_path / "records", tmp_path / "history.html").read_text()
    assert one["without_out"]["code"] == 2
    assert "--out" in one["without_out"]["error"]
