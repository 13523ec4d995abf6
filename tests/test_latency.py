"""The latency bench: interleaving, separated phases, raw ordered samples, honest errors."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from android_bench import latency, machine
from android_bench.latency import BenchError, WorkerError

SEQ_LEN, VOCABULARY = 16, 50
NAMES = ("input_ids", "attention_mask", "token_type_ids")


def write_artefact(folder: Path, target: str, model: bytes) -> Path:
    folder.mkdir()
    file = "model.onnx" if target == "onnx" else "model.tflite"
    (folder / file).write_bytes(model)
    entry = {"dtype": "int32", "shape": [1, SEQ_LEN]}
    io = {
        **{"format": 1, "target": target, "quant": "none", "model_file": file, "seq_len": SEQ_LEN},
        **{"inputs": [{"name": name, **entry} for name in NAMES], "outputs": [{"name": "logits"}]},
    }
    (folder / "io.json").write_text(json.dumps(io))
    return folder


def onnx_model() -> bytes:
    """Embedding, mask, mean, linear: reads all three inputs; an id outside the vocabulary is an error."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(0)
    ints = [helper.make_tensor_value_info(name, TensorProto.INT32, [1, SEQ_LEN]) for name in NAMES]
    weights = {"table": generator.normal(size=(VOCABULARY, 8)), "linear": generator.normal(size=(8, 2))}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"]),
        helper.make_node("Add", ["attention_mask", "token_type_ids"], ["both"]),
        helper.make_node("Cast", ["both"], ["scale"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["scale", "squeezed"], ["pooled"]),
        helper.make_node("MatMul", ["pooled", "linear"], ["logits"]),
        helper.make_node("Squeeze", ["embedded", "zero"], ["squeezed"]),
    ]
    nodes.insert(3, nodes.pop())
    tensors = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    tensors.append(numpy_helper.from_array(np.array([0]), "zero"))
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 2])
    graph = helper.make_graph(nodes, "tiny", ints, [out], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


@pytest.fixture(scope="session")
def onnx_artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime")
    return write_artefact(tmp_path_factory.mktemp("bench") / "tiny-onnx", "onnx", onnx_model())


@pytest.fixture(scope="session")
def tflite_artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    litert_torch = pytest.importorskip("litert_torch")
    import torch

    class Tiny(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(VOCABULARY, 8)
            self.linear = torch.nn.Linear(8, 2)

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
        ) -> torch.Tensor:
            scale = (attention_mask + 0.5 * token_type_ids)[..., None]  # (1, S) → (1, S, 1)
            return self.linear((self.table(input_ids) * scale).sum(1))

    example = {name: torch.ones(1, SEQ_LEN, dtype=torch.int32) for name in NAMES}
    folder = tmp_path_factory.mktemp("bench")
    litert_torch.convert(Tiny().eval(), sample_kwargs=example).export(str(folder / "tiny.tflite"))
    return write_artefact(folder / "tiny-tflite", "tflite", (folder / "tiny.tflite").read_bytes())


@pytest.fixture(scope="session")
def feeds() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    ids = generator.integers(1, VOCABULARY, (6, SEQ_LEN)).astype(np.int32)
    mask = (np.arange(SEQ_LEN) < generator.integers(4, SEQ_LEN, (6, 1))).astype(np.int32)
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}


def test_two_runtimes_take_turns_in_one_run(onnx_artefact, tflite_artefact, feeds):
    seen = []
    result = latency.compare(
        [onnx_artefact, tflite_artefact], sessions=2, seconds=0.05, inputs=feeds, progress=lambda *n: seen.append(n)
    )
    assert [session.contender for session in result.sessions] == ["tiny-onnx", "tiny-tflite", "tiny-tflite", "tiny-onnx"]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {contender.runtime for contender in result.contenders} == {"onnxruntime", "litert"}
    for session in result.sessions:
        assert min(session.init_ms, session.first_ms, session.import_ms) > 0
        assert len(session.warmup_ms) >= 10
        assert len(session.steady_ms) >= 10
        assert 0 < session.base_mib < session.peak_mib < 2000
    summary = result.summary("tiny-onnx")
    assert summary["p50_ms"] <= summary["p90_ms"] <= summary["p99_ms"]
    assert result.ratio("tiny-onnx", "tiny-tflite") == pytest.approx(1 / result.ratio("tiny-tflite", "tiny-onnx"))


def test_record_survives_json_with_every_sample(onnx_artefact, feeds):
    result = latency.compare([onnx_artefact, onnx_artefact], sessions=1, seconds=0.01, inputs=feeds)
    assert [contender.name for contender in result.contenders] == ["tiny-onnx", "tiny-onnx#2"]
    data = json.loads(json.dumps(result.to_json()))
    back = latency.Comparison.from_json(data)
    assert back.sessions == result.sessions
    assert back.machine == result.machine
    assert str(onnx_artefact.parent) not in json.dumps(data), "a record names no path of this machine"


def test_injected_slowdown_is_what_it_says(onnx_artefact, feeds):
    base = latency.contenders([onnx_artefact])[0]
    slow = latency.with_slowdown(base, 1.0)
    result = latency.measure([base, slow], sessions=2, seconds=0.1, inputs=feeds)
    assert slow.name == "tiny-onnx+100%"
    assert result.ratio(base.name, slow.name) > 1.3


def test_worker_imports_no_framework(onnx_artefact, feeds, tmp_path):
    np.savez(tmp_path / "inputs.npz", **feeds)
    task = {"folder": str(onnx_artefact), "runtime": "onnxruntime", "threads": 1, "seconds": 0.0, "slowdown": 0.0}
    code = (
        "import sys; from android_bench.worker import session;"
        f"session({task | {'inputs': str(tmp_path / 'inputs.npz')}!r});"
        "loaded = {'torch', 'tensorflow', 'scipy', 'matplotlib', 'rich'} & set(sys.modules); sys.exit(str(loaded) if loaded else 0)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_default_text_is_real_and_padded(tmp_path, onnx_artefact):
    wordpiece = pytest.importorskip("matching.wordpiece")
    models = pytest.importorskip("models")
    shipped = models.shipped_directory()
    if not (shipped / "tokenizer.json").is_file():
        pytest.skip("no shipped matcher yet")
    folder = shutil.copytree(onnx_artefact, tmp_path / "artefact")
    for file in ("vocab.txt", "tokenizer.json"):
        shutil.copy(shipped / file, folder / file)
    io = json.loads((folder / "io.json").read_text()) | {"seq_len": 64}
    (folder / "io.json").write_text(json.dumps(io))
    arrays = latency.encode(folder, None)
    vocabulary = len((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    lengths = arrays["attention_mask"].sum(1)
    assert arrays["input_ids"].shape == (len(latency.PAIRS), 64)
    assert arrays["input_ids"].max() < vocabulary
    assert lengths.min() < 20 < 60 < lengths.max() <= 64
    assert wordpiece is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "io.json").unlink(), "not an artefact folder"),
        (lambda folder: (folder / "io.json").write_text("{"), "not an artefact folder"),
        (lambda folder: (folder / "model.onnx").unlink(), "which is not there"),
        (lambda folder: (folder / "io.json").write_text('{"target": "coreml", "model_file": "model.onnx"}'), "coreml"),
    ],
)
def test_broken_folder_is_one_line(tmp_path, onnx_artefact, change, message):
    folder = shutil.copytree(onnx_artefact, tmp_path / "artefact")
    change(folder)
    with pytest.raises(BenchError, match=message) as caught:
        latency.contenders([folder])
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_truncated_model_and_wrong_inputs(tmp_path, onnx_artefact, feeds):
    folder = shutil.copytree(onnx_artefact, tmp_path / "artefact")
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(WorkerError, match="worker exit 1") as caught:
        latency.compare([folder], sessions=1, seconds=0, inputs=feeds)
    assert "\n" not in str(caught.value)
    with pytest.raises(BenchError, match=r"must be \(N, 16\)"):
        latency.compare([onnx_artefact], inputs={name: array[:, :8] for name, array in feeds.items()})
    with pytest.raises(BenchError, match="nothing to measure"):
        latency.compare([onnx_artefact], sessions=0)


def test_machine_passport_is_stable_and_anonymous():
    first, second = machine.describe(), machine.describe()
    assert first == second
    assert first["cores"] >= 1
    assert len(first["id"]) == 12
    watch = machine.Watch().stop()
    assert set(watch) == {"others", "steal", "quota", "thermal_events", "mhz", "probe_ms"}
    assert watch["probe_ms"] > 0


def test_peak_memory_is_the_workers_own(onnx_artefact, feeds):
    ballast = np.ones(60_000_000)  # 480 MB in the parent must not be charged to the worker
    session = latency.compare([onnx_artefact], sessions=1, seconds=0, inputs=feeds).sessions[0]
    assert session.peak_mib < 300 < ballast.nbytes / 2**20
