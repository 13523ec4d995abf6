"""The peers' script: one function in every network before anything is timed; goals decide the verdict."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import models
from android_bench.latency import Comparison
from android_bench.rounds import Candidate, Session
from models import EncoderConfig

pytestmark = pytest.mark.slow

LATENCY = Path(__file__).resolve().parents[2] / "studies" / "latency"
TINY = EncoderConfig(
    model_type="mobilebert",
    vocab_size=50,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=20,
    hidden_act="relu",
    normalization_type="no_norm",
    embedding_size=8,
    intra_bottleneck_size=12,
    num_feedforward_networks=3,
    key_query_shared_bottleneck=True,
    classifier_activation=False,
    hidden_dropout_prob=0.0,
)


def session(name: str, median: float, peak_mib: float) -> Session:
    """A session of which only the median and the peak matter."""
    return Session(
        candidate=name,
        started="2026-01-01T00:00:00+00:00",
        import_ms=50.0,
        init_ms=20.0,
        first_ms=35.0,
        warmup_ms=(median,) * 10,
        converged=True,
        steady_ms=(median,) * 10,
        base_mib=40.0,
        peak_mib=peak_mib,
        runtime="ai-edge-litert 2.3.0",
        machine={},
    )


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(LATENCY))
    yield importlib.import_module("peers")
    for name in ("peers", "peer_converters", "mobilebert_tensorflow"):
        sys.modules.pop(name, None)


def test_the_networks_that_peers_convert_compute_what_ours_does(peers, tmp_path):
    """Stock transformers and the TensorFlow graph, padding included, from the directory we save."""
    pytest.importorskip("tensorflow")
    converters = importlib.import_module("peer_converters")
    network = models.build(TINY, seed=0)
    with torch.no_grad():
        for name, values in network.named_parameters():
            if "LayerNorm" in name:
                values.uniform_(0.5, 1.5)
    models.save_pretrained(network, tmp_path / "model")
    generator = np.random.default_rng(0)
    ids, types = generator.integers(1, 50, (3, 16)), generator.integers(0, 2, (3, 16))
    mask = (np.arange(16) < np.array([[16], [9], [4]])).astype(np.int32)
    pairs = {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": types * mask}
    pairs = {name: values.astype(np.int32) for name, values in pairs.items()}
    with torch.inference_mode():
        inputs = {name: torch.from_numpy(values) for name, values in pairs.items()}
        logits = network(**inputs).numpy()
    out = tmp_path / "agreement.json"
    converters.agree(tmp_path / "model", {**pairs, "logits": logits}, out)
    assert {"transformers", "tensorflow"} <= set(out.read_text().replace('"', " ").split())
    with pytest.raises(SystemExit, match="nothing may be measured"):
        converters.agree(tmp_path / "model", {**pairs, "logits": logits + 0.001}, out)


def test_every_goal_names_artefacts_that_are_made(peers):
    converters = importlib.import_module("peer_converters")
    for runtime, goals in peers.GOALS.items():
        made = {*peers.OURS[runtime], *peers.PEERS[runtime]}
        assert {name for base, candidate, _, _ in goals for name in (base, candidate)} <= made
        assert set(peers.PEERS[runtime]) <= converters.CONVERTERS.keys()
    demanded = {(base, candidate): limit for base, candidate, _, limit in peers.GOALS["tflite"] if limit}
    assert demanded["litert-int8", "ours-int8"] == 0.70
    assert demanded["tfconverter-int8", "ours-int8"] == 0.73


def test_a_goal_is_met_or_missed_by_the_ratio_of_paired_medians(peers):
    candidates = tuple(Candidate(name, Path(name)) for name in ("base", "fast"))
    sessions = []
    for number in range(7):
        mood = 1 + 0.3 * number  # the machine slows down; the pair's ratio stays
        sessions += [session("base", 100 * mood, peak_mib=200), session("fast", 68 * mood, peak_mib=90)]
    run = Comparison("run", {}, candidates, tuple(sessions), {})
    met = peers.judge(run, "base", "fast", "time", 0.70)
    assert met["ratio"] == pytest.approx(0.68)
    assert met["interval"] == pytest.approx([0.68, 0.68])
    assert met["met"] is True
    assert peers.judge(run, "base", "fast", "time", 0.60)["met"] is False
    assert peers.judge(run, "base", "fast", "time", None)["met"] is None
    memory = peers.judge(run, "base", "fast", "peak memory", 0.50)
    assert (memory["ratio"], memory["interval"], memory["met"]) == (pytest.approx(0.45), None, True)
    page = "\n".join(peers.peers_markdown([met], {"fast": {"rms_logit_error": 0.1, "correlation": 0.9}}, 2))
    assert "| fast | base | time | 0.680 | 0.680 to 0.680 | ≤ 0.70 | met |" in page
    assert "2 thread(s)" in page
