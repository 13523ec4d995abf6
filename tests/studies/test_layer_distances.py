"""Promise: the study of ALBERT's Figure 1 measures what `transformers` returns layer by layer."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_models import build, load_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_training.pretraining.corpus import Packing
from mobilebert_training.pretraining.corpus import build as build_corpus
from mobilebert_training.pretraining.stages import keep
from studies.common import script
from studies.transfer.ablation import _config
from studies.transfer.layer_distances import held_out, layer_distances, main
from studies.transfer.scales import SCALES
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distances")
    (folder / "text.txt").write_text(text(120))
    return build_corpus([folder / "text.txt"], MINILM, folder / "built", Packing(seq_len=16))


@pytest.fixture(scope="module")
def models(tmp_path_factory, corpus):
    """Two pretrained networks as `studies.transfer.ablation` keeps them, one shared and one not."""
    folder = tmp_path_factory.mktemp("networks")
    for name in ("albert-depth-4", "albert-depth-4-none"):
        network = build(_config(SCALES["toy"], name, corpus), "pretraining", seed=3)
        keep(network, folder / name, tokenizer_from=corpus.folder)
    return [folder / name / "model" for name in ("albert-depth-4", "albert-depth-4-none")]


def test_distances_and_angles_are_those_of_transformers(corpus, models):
    from transformers import AlbertModel

    ids = held_out(corpus, 40)
    theirs = AlbertModel.from_pretrained(models[0]).eval()
    with torch.inference_mode():
        states = theirs(ids, output_hidden_states=True).hidden_states
    distances, angles = layer_distances(encoder_of(load_pretrained(models[0])), ids)
    assert len(distances) == len(states) - 1 == 8
    for layer in range(8):
        before, after = (state.reshape(-1, 16).double().numpy() for state in states[layer : layer + 2])
        assert distances[layer] == pytest.approx(np.linalg.norm(after - before, axis=1).mean(), rel=1e-5)
        cosine = (before * after).sum(1) / np.linalg.norm(before, axis=1) / np.linalg.norm(after, axis=1)
        assert angles[layer] == pytest.approx(np.degrees(np.arccos(cosine)).mean(), rel=1e-4)


def test_command_writes_the_record_and_the_drawing(tmp_path, corpus, models):
    out = tmp_path / "distances.json"
    arguments = [*map(str, models), "--corpus", str(corpus.folder), "--out", str(out), "--sequences", "8"]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    assert done.value.code == 0
    record = json.loads(out.read_text())
    assert (record["sequences"], record["tokens"]) == (8, 16)
    assert {name: found["groups"] for name, found in record["models"].items()} == {
        "albert-depth-4": 1,
        "albert-depth-4-none": 8,
    }
    assert all(len(found["angle"]) == 8 for found in record["models"].values())
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_network_of_another_vocabulary_is_refused(tmp_path, corpus):
    config = replace(_config(SCALES["toy"], "albert-all", corpus), vocab_size=99)
    keep(build(config, "pretraining", seed=0), tmp_path / "other", tokenizer_from=corpus.folder)
    arguments = [
        str(tmp_path / "other/model"),
        "--corpus",
        str(corpus.folder),
        "--out",
        str(tmp_path / "o.json"),
    ]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    assert done.value.code == 2
