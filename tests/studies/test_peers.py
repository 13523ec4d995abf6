"""The peers' script: one function in every network before anything is timed; ratios are of paired medians."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import mobilebert_models
from android_bench.measuring.latency import Comparison
from android_bench.measuring.rounds import Candidate, Session
from mobilebert_models import EncoderConfig
from studies.latency import peers

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
def converters(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as the peers' environment sees it: beside its folder's files, not in a package."""
    monkeypatch.syspath_prepend(str(LATENCY))
    yield importlib.import_module("peer_converters")
    for name in ("peer_converters", "mobilebert_tensorflow"):
        sys.modules.pop(name, None)


def test_the_networks_that_peers_convert_compute_what_ours_does(converters, tmp_path):
    """Stock transformers and the TensorFlow graph, padding included, from the directory we save."""
    pytest.importorskip("tensorflow")
    network = mobilebert_models.build(TINY, seed=0)
    with torch.no_grad():
        for name, values in network.named_parameters():
            if "LayerNorm" in name:
                values.uniform_(0.5, 1.5)
    mobilebert_models.save_pretrained(network, tmp_path / "model")
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


def test_every_ratio_is_of_artefacts_that_are_made(converters):
    for runtime, compared in peers.COMPARED.items():
        made = {*peers.OURS[runtime], *peers.PEERS[runtime]}
        assert {name for base, candidate, _ in compared for name in (base, candidate)} <= made
        assert set(peers.PEERS[runtime]) <= converters.CONVERTERS.keys()


def test_a_ratio_is_that_of_paired_medians():
    candidates = tuple(Candidate(name, Path(name)) for name in ("base", "fast"))
    sessions = []
    for number in range(7):
        drift = 1 + 0.3 * number  # the machine slows down; the pair's ratio stays
        sessions += [session("base", 100 * drift, peak_mib=200), session("fast", 68 * drift, peak_mib=90)]
    run = Comparison("run", {}, candidates, tuple(sessions), {})
    time = peers.compare(run, "base", "fast", "time")
    assert time["ratio"] == pytest.approx(0.68)
    assert time["interval"] == pytest.approx([0.68, 0.68])
    memory = peers.compare(run, "base", "fast", "peak memory")
    assert (memory["ratio"], memory["interval"]) == (pytest.approx(0.45), None)
    page = peers.peers_markdown([time], {"fast": {"rms_logit_error": 0.1, "correlation": 0.9}}, 2)
    assert "| fast | base | time | 0.680 [0.680, 0.680] |" in page
    assert "2 thread(s)" in page
