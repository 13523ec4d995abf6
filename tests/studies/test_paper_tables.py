"""Paper mode: the printed tables' networks, exported once, and ratios that are what the medians say."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from android_bench.measuring import statistics
from android_bench.measuring.external_model import ExternalModel, describe, open_model
from android_bench.measuring.latency import BenchError, encode
from mobilebert_export.console import progress_console
from mobilebert_models import EncoderConfig, build, inventory, save_pretrained
from studies.common import script
from studies.latency import paper_models, trained_weights, without_xnnpack
from studies.latency import paper_tables as paper
from studies.latency.paper_table import main
from tests.helpers.tiny_artefacts import SEQ_LEN, onnx_model, write_artefact

TINY_BERT = EncoderConfig(
    model_type="bert",
    vocab_size=30522,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The folders of Table 7, each with the same tiny network, as if they had been exported before."""
    pytest.importorskip("onnxruntime")
    inputs = {name: (name, "int32") for name in ("input_ids", "attention_mask", "token_type_ids")}
    for name in paper.artefact_names(paper.TABLES["7"]):
        folder = write_artefact(tmp_path / "cache" / name, "onnx", onnx_model())
        (folder / "io.json").unlink()
        ExternalModel("onnx", name.split("-")[-1], "model.onnx", SEQ_LEN, inputs).write(folder)
    return tmp_path / "cache"


def test_tables_hold_what_is_printed():
    """MobileBERT Tables 4 and 7: 192, 167, 92 and 62 ms; BERT_BASE 342, tiny 40."""
    seven, ablation = paper.TABLES["7"], paper.TABLES["models"]
    assert [row.published_ms for row in seven.rows] == [192, 167, 92, 62]
    assert [row.published_ms for row in ablation.rows] == [342, 62, 40, None]
    configs = paper_models.table_configs()
    assert {row.name for table in paper.TABLES.values() for row in table.rows} == configs.keys()
    shapes = {
        (config.normalization_type, config.hidden_act): name
        for name, config in configs.items()
        if name in {row.name for row in seven.rows}
    }
    assert shapes == {
        ("layer_norm", "gelu"): "layernorm-gelu",
        ("layer_norm", "relu"): "layernorm-relu",
        ("no_norm", "gelu"): "nonorm-gelu",
        ("no_norm", "relu"): "mobilebert",
    }
    # Only the operations differ: Table 7's networks have the same matrices, and LayerNorm as many weights.
    sizes = {inventory(configs[row.name])["parameters"]["total"] for row in seven.rows}
    assert len(sizes) == 1
    # KroneckerBERT Table 1: about 14M parameters in the row for a compression of 8.
    kronecker = inventory(configs["kroneckerbert-8"])["parameters"]["total"]
    assert 13e6 < kronecker < 15e6
    with pytest.raises(BenchError, match="expected one of 7, models"):
        paper.find_table("8")


def test_command_measures_the_cache_and_sets_the_printed_ratios_beside(cache, tmp_path, capsys):
    out = tmp_path / "table-7"
    request = ["--table", "7", "--cache", str(cache), "--out", str(out)]
    with pytest.raises(SystemExit) as done:
        script.run(main, [*request, "--sessions", "1", "--seconds", "0", "--retries", "0"])
    assert done.value.code == 0
    data = json.loads(out.with_suffix(".json").read_text())
    assert data["paper"]["base"] == "mobilebert"
    rows = {row["label"]: row for row in data["paper"]["rows"]}
    assert rows["LayerNorm & GELU"]["published"] == pytest.approx(192 / 62)
    summary = data["summary"]
    for quant in ("none", "int8"):
        expected = (
            summary[f"nonorm-gelu-{quant}"]["median_of_sessions_ms"]
            / summary[f"mobilebert-{quant}"]["median_of_sessions_ms"]
        )
        assert rows["NoNorm & GELU"]["here"][quant]["ratio"] == pytest.approx(expected)
        assert rows["NoNorm & ReLU"]["here"][quant]["ratio"] == 1
    page = out.with_suffix(".md").read_text()
    assert "| NoNorm & ReLU | 62 | 1.00 | 1.00 | 1.00 |" in page
    assert "Pixel 4" in capsys.readouterr().out
    assert out.with_suffix(".png").stat().st_size > 1000
    with pytest.raises(SystemExit) as refused:
        script.run(main, request)
    assert refused.value.code == 2


def test_a_network_is_exported_once_in_float_and_int8(tmp_path, monkeypatch):
    pytest.importorskip("litert_torch")
    tiny = EncoderConfig(
        model_type="mobilebert",
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        hidden_act="relu",
        normalization_type="no_norm",
        embedding_size=16,
        intra_bottleneck_size=16,
        key_query_shared_bottleneck=True,
    )
    table = replace(paper.TABLES["7"], rows=(paper.PaperRow("mobilebert", "tiny", 1.0),))
    monkeypatch.setattr(paper_models, "table_configs", lambda: {"mobilebert": tiny})
    folders = paper_models.export_table(table, tmp_path / "cache", progress_console())
    assert [folder.name for folder in folders] == ["mobilebert-none", "mobilebert-int8"]
    answers = []
    for folder in folders:
        assert isinstance(describe(folder), ExternalModel)
        feed = {name: array[:1] for name, array in encode(folder, [("a cat", "the cat")]).items()}
        answers.append(open_model(folder, 1).run(feed)["logits"])
        assert json.loads((folder / "report.json").read_text())["graph"]["xnnpack"]["partitions"] >= 1
    np.testing.assert_allclose(answers[0], answers[1], atol=0.02)
    assert len(list((tmp_path / "cache").iterdir())) == 2, "nothing temporary is left"
    before = [(folder / "model.tflite").stat().st_mtime_ns for folder in folders]
    paper_models.export_table(table, tmp_path / "cache", progress_console())
    assert [(folder / "model.tflite").stat().st_mtime_ns for folder in folders] == before


def test_trained_weights_are_measured_beside_random_ones(tmp_path, capsys):
    pytest.importorskip("litert_torch")
    trained = build(TINY_BERT, seed=5)
    for parameter in trained.parameters():
        parameter.data.add_(0.01)  # no bias of a trained network is zero
    save_pretrained(trained, tmp_path / "model")
    out = tmp_path / "weights"
    request = [str(tmp_path / "model"), "--out", str(out), "--cache", str(tmp_path / "cache")]
    with pytest.raises(SystemExit) as done:
        script.run(trained_weights.main, [*request, "--sessions", "1", "--seconds", "0", "--retries", "0"])
    assert done.value.code == 0
    data = json.loads(out.with_suffix(".json").read_text())
    for quant in ("none", "int8"):
        medians = [
            data["summary"][f"{name}-{quant}"]["median_of_sessions_ms"] for name in ("random", "trained")
        ]
        assert data["trained_over_random"][quant]["ratio"] == pytest.approx(medians[1] / medians[0])
    assert "trained / random" in out.with_suffix(".md").read_text()
    assert data["facts"]["random-none"]["operators"] == data["facts"]["trained-none"]["operators"]
    # The two files hold other weights.
    random, trained = (tmp_path / "cache" / f"{name}-none/model.tflite" for name in ("random", "trained"))
    assert random.read_bytes() != trained.read_bytes()
    with pytest.raises(SystemExit) as refused:
        script.run(trained_weights.main, request)
    assert refused.value.code == 2


def test_kernels_are_timed_in_turns_and_compared_with_the_last_row(tmp_path):
    pytest.importorskip("litert_torch")
    console = progress_console()
    cache = tmp_path / "cache"
    deep = replace(TINY_BERT, num_hidden_layers=2)
    paper_models.export_network(partial(build, deep, seed=0), "layernorm-gelu", cache, console)
    paper_models.export_network(partial(build, TINY_BERT, seed=0), "mobilebert", cache, console)
    for same in ("layernorm-relu", "nonorm-gelu"):
        shutil.copytree(cache / "mobilebert-none", cache / f"{same}-none")
    out = tmp_path / "kernels"
    with pytest.raises(SystemExit) as done:
        script.run(without_xnnpack.main, [str(cache), "--out", str(out), "--rounds", "5"])
    assert done.value.code == 0
    data = json.loads(out.with_suffix(".json").read_text())
    assert {(kernels, name) for kernels, name, _ in data["ms"]} == {
        (kernels, row.name) for kernels in ("XNNPACK", "TFLite's own") for row in paper.TABLES["7"].rows
    }
    times = {(kernels, name): ms for kernels, name, ms in data["ms"]}
    for kernels, found in data["ratios"].items():
        assert found["NoNorm & ReLU"]["ratio"] == 1
        expected = statistics.ratio(times[kernels, "mobilebert"], times[kernels, "layernorm-gelu"])
        assert found["LayerNorm & GELU"]["ratio"] == pytest.approx(expected)
    assert "| LayerNorm & GELU |" in out.with_suffix(".md").read_text()
