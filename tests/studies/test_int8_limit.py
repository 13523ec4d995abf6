"""The share of the int8 limit: multiply–accumulates over the peak, and every millisecond in one group."""

import pytest

from android_bench.profiling.operator_profile import Row
from studies.latency import int8_limit
from studies.latency.int8_limit import BETWEEN, OTHER, group_of, limit_row
from tests.helpers.small_matcher import artefact


def test_a_limit_is_work_over_the_peak_and_the_groups_add_up_to_the_inference():
    rows = [
        Row("Fully Connected (NC, QS8, QC8W) GEMM", True, 360, 6.0, 0.75),
        Row("Fully Connected (NC, F32) GEMM", True, 2, 0.25, 0.03),
        Row("Batch Matrix Multiply (NC, F32) GEMM", True, 48, 0.75, 0.1),
        Row("CAST", False, 2, 0.5, 0.06),
    ]
    found = limit_row("file", {"macs": 2_400_000_000, "seq_len": 128}, 10.0, rows, peak=480.0)
    assert found["limit_ms"] == pytest.approx(5.0)
    assert found["share"] == pytest.approx(0.5)
    assert found["groups"]["int8 linear layers"] == 6.0
    assert found["groups"]["float linear layers"] == 0.25
    assert found["groups"][OTHER] == 0.5
    assert found["groups"][BETWEEN] == pytest.approx(2.5)
    assert sum(found["groups"].values()) == pytest.approx(10.0)
    assert found["operators"] == 412


def test_dynamic_ranges_are_int8_products_too():
    assert group_of("Fully Connected (NC, QDU8, F32, QC8W) GEMM") == "int8 linear layers"
    assert group_of("Convert (NC, QS8, QC8)") == "conversions between int8 and float"


@pytest.mark.slow
def test_a_file_is_measured_and_a_record_is_not_replaced_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr(int8_limit, "WARM_UP", 2)
    monkeypatch.setattr(int8_limit, "RUNS", 5)
    out = tmp_path / "limit"
    int8_limit.main([artefact("tflite", "int8")], out)
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    assert "share of the limit" in page
    assert "int8 linear layers" in page
    with pytest.raises(Exception, match=r"limit\.json"):
        int8_limit.main([artefact("tflite", "int8")], out)
