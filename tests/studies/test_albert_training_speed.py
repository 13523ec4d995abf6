"""Promise: the study of ALBERT's training speed compares steps of both networks, in turns."""

import json

import pytest

import mobilebert_models
from mobilebert_models import EncoderConfig
from studies.common import script
from studies.latency.albert_training_speed import main


def test_the_record_says_how_much_longer_one_takes(tmp_path, monkeypatch):
    small = {"vocab_size": 2000, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
    presets = {
        "bert-large": EncoderConfig(model_type="bert", num_hidden_layers=2, **small),
        "albert-large": EncoderConfig(model_type="albert", num_hidden_layers=1, embedding_size=16, **small),
    }
    monkeypatch.setattr(mobilebert_models, "preset", presets.__getitem__)
    out = tmp_path / "speed.json"
    with pytest.raises(SystemExit) as done:
        script.run(main, [str(out), "--rounds", "3"])
    assert done.value.code == 0
    record = json.loads(out.read_text())
    assert [len(times) for times in record["seconds"].values()] == [3, 3]
    ratios = sorted(
        slow / fast
        for slow, fast in zip(record["seconds"]["bert-large"], record["seconds"]["albert-large"], strict=True)
    )
    assert record["speedup"]["median"] == pytest.approx(ratios[1])
    assert (record["speedup"]["lowest"], record["speedup"]["highest"]) == pytest.approx(
        (ratios[0], ratios[2])
    )
    with pytest.raises(SystemExit) as refused:
        script.run(main, [str(out)])
    assert refused.value.code == 2
