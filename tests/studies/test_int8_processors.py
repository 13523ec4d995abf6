"""Promise of the table of processors: each answers the same pairs once; its row counts what it answered."""

import json
import sys

import numpy as np
import pytest

from android_bench.measuring import machine
from mobilebert_export import samples
from mobilebert_export.pipeline.loading import load_source
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.matcher import Matcher
from studies.shipped import int8_processors as study
from tests.helpers.small_matcher import artefact, model_directory, report

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """An empty folder of answers, two pairs a shard; the small matcher in place of a shipped one."""
    monkeypatch.setattr(
        study, "load_source", lambda made, folder, _: load_source(made, folder, str(model_directory()))
    )
    monkeypatch.setattr(study, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(study, "SHARD", 2)
    return tmp_path


def test_a_row_compares_what_a_place_answered(kept):
    folder, out = artefact("onnx", "int8"), kept / "table"
    study.main([folder], out, [study.HERE], count=5)
    (row,) = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert row["changes"]["pairs"] == 5
    assert row["flags"] == machine.describe()["flags"]
    assert row["largest_difference_to_here"] == 0
    pairs = samples.generated_pairs(5)
    difference = np.abs(study.reference(folder, pairs) - Matcher.load(folder).logits(pairs)).max(axis=1)
    assert row["changes"]["max_logit"] == pytest.approx(difference.max(), rel=1e-3)
    assert "| 5 |" in out.with_suffix(".md").read_text()


def test_a_stopped_run_goes_on_and_reports_the_pairs_that_are_there(kept):
    folder, out = artefact("onnx", "int8"), kept / "table"
    study.answers(folder, study.HERE, samples.generated_pairs(5), 0)
    study.main([folder], out, [study.HERE], count=5, minutes=0)
    (row,) = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert row["changes"]["pairs"] == 2
    shard = next((kept / "kept").rglob("0-2-*.json"))
    first = shard.stat().st_mtime_ns
    study.main([folder], out, [study.HERE], count=5)
    (row,) = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert row["changes"]["pairs"] == 5
    assert shard.stat().st_mtime_ns == first, "the first shard was computed once"
    assert not list((kept / "kept").rglob("*.task"))


def test_rows_of_other_files_and_places_stay_and_those_of_a_replaced_file_do_not(kept):
    folder, out = artefact("onnx", "int8"), kept / "table"
    study.main([folder], out, [study.HERE], count=3)
    first = json.loads(out.with_suffix(".json").read_text())
    own = first["rows"][0]
    other, elsewhere = own | {"model": "another"}, own | {"place": study.OLDEST}
    tflite, before = own | {"target": "tflite"}, elsewhere | {"model_sha256": "of an earlier file"}
    first |= {"command": "the first", "rows": [other, elsewhere, tflite, before, own]}
    out.with_suffix(".json").write_text(json.dumps(first))
    study.main([folder], out, [study.HERE], count=5, add=True)
    found = json.loads(out.with_suffix(".json").read_text())
    assert found["rows"][:-1] == [other, elsewhere, tflite]
    assert found["rows"][-1]["model_sha256"] == own["model_sha256"]
    assert found["rows"][-1]["changes"]["pairs"] == 5
    assert [run["command"] for run in found["earlier"]] == ["the first"]
    assert "| another, ONNX |" in out.with_suffix(".md").read_text()


def test_a_file_that_the_oldest_runtime_refuses_has_its_reason_in_the_place_of_figures(kept, monkeypatch):
    """An interpreter without tflite-runtime stands for one that does not know an operator."""
    monkeypatch.setattr(study, "oldest_python", lambda: sys.executable)
    folder, out = artefact("tflite", "int8"), kept / "table"
    study.main([folder], out, [study.HERE, study.OLDEST], count=2)
    here, oldest = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert here["changes"]["pairs"] == 2
    assert "No module named 'tflite_runtime'" in oldest["refused"]
    assert "changes" not in oldest
    assert f"“{oldest['refused']}”" in out.with_suffix(".md").read_text()


def test_a_row_names_the_places_that_gave_its_pairs_the_same_logits(kept, monkeypatch):
    """tflite-runtime stands in for a processor: with this interpreter it answers as here, bit for bit."""
    folder, out = artefact("onnx", "int8"), kept / "table"
    pairs = samples.generated_pairs(4)
    monkeypatch.setattr(study, "oldest_python", lambda: sys.executable)
    study.answers(folder, study.OLDEST, pairs, 0)
    study.main([folder], out, [study.HERE], count=4)
    here, oldest = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert oldest["same_answers"] == [study.HERE]
    assert here["same_answers"] == [], "it has two pairs of these four"
    shard = next((kept / "kept").rglob(f"{study.OLDEST}-*/0-2-*.json"))
    answer = json.loads(shard.read_text())
    answer["logits"][1][0] += 1e-6
    shard.write_text(json.dumps(answer))
    study.main([folder], out, [study.HERE], count=4)
    assert json.loads(out.with_suffix(".json").read_text())["rows"][1]["same_answers"] == []


def test_logits_of_pytorch_are_those_of_what_is_read(kept):
    folder, pairs = artefact("onnx", "int8"), samples.generated_pairs(2)
    first = study.reference(folder, pairs)
    assert np.abs(first[0] - first[1]).max() > 0.01
    np.testing.assert_allclose(study.reference(folder, pairs[::-1]), first[::-1], atol=1e-5)


def test_an_unknown_processor_is_refused(kept):
    with pytest.raises(OptionError, match="'pentium'"):
        study.main([artefact("onnx", "int8")], kept / "table", ["pentium"])


def test_a_file_for_the_oldest_runtime_is_told_from_the_usual_one(kept):
    folder, out = kept / "oldest", kept / "table"
    report("tflite", "dynamic", folder, minimum_runtime="2.14")
    study.main([folder, artefact("tflite", "dynamic")], out, [study.HERE], count=2)
    names = [study._file(row) for row in json.loads(out.with_suffix(".json").read_text())["rows"]]
    assert names == [f"{names[1]} of convolutions", names[1]]
