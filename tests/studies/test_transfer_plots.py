"""Promise of the plots: they show the models' own distributions, and the numbers beside them are Eq. 3."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib import image

from mobilebert_models import EncoderConfig, build, save_pretrained
from mobilebert_runtime.errors import DataError, OptionError, OutputError
from mobilebert_training.distillation.losses import attention_transfer
from studies.transfer import attention, curves
from studies.transfer.attention import AttentionMaps, attention_maps, compare, divergence
from tests.helpers.networks import randomise
from tests.helpers.texts import MINILM

SMALL = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
PAIR = ("reset a phone", "restore my phone")


def maps(seed):
    return attention_maps(randomise(build(SMALL, None, seed=seed)), MINILM, PAIR)


def test_maps_are_the_encoders_distributions():
    found = maps(0)
    assert found.tokens[0] == "[CLS]"
    assert found.tokens.count("[SEP]") == 2
    assert [layer.shape for layer in found.layers] == [(4, len(found.tokens), len(found.tokens))] * 2
    for layer in found.layers:
        np.testing.assert_allclose(layer.sum(-1), 1, rtol=1e-5)


def test_the_diagonal_is_the_attention_transfer_loss():
    scores = torch.randn(2, 4, 9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2
    teacher, student = scores.softmax(-1).numpy()
    expected = attention_transfer(scores[:1], scores[1:], torch.ones(1, 9)).item()
    assert np.diagonal(divergence(teacher, student)).mean() == pytest.approx(expected, rel=1e-9)
    assert np.allclose(np.diagonal(divergence(teacher, teacher)), 0, atol=1e-12)


def test_a_student_with_reordered_heads_is_recognised():
    teacher = maps(0)
    order = [2, 0, 3, 1]
    student = AttentionMaps(teacher.tokens, [layer[order] for layer in teacher.layers])
    for row in compare(teacher, student, [1, 2]):
        assert row["best_head_number"] == [order.index(head) + 1 for head in range(4)]
        assert max(row["best_head"]) == pytest.approx(0, abs=1e-9)
        assert min(row["same_head"]) > 1e-6


@pytest.fixture
def directories(tmp_path):
    for name, seed in (("teacher", 0), ("student", 1)):
        save_pretrained(randomise(build(SMALL, seed=seed)), tmp_path / name, tokenizer_from=MINILM)
    return {name: str(tmp_path / name) for name in ("teacher", "student")}


def test_command_draws_attention_and_writes_its_numbers(directories, tmp_path):
    out = tmp_path / "a.png"
    attention.main(out=out, **directories, pair=PAIR, layers="1,2", heads=2)
    assert image.imread(out).shape[0] > 200
    record = json.loads((tmp_path / "a.json").read_text())
    assert (record["teacher"], record["student"]) == ("teacher", "student")
    assert [row["layer"] for row in record["layers"]] == [1, 2]
    assert str(tmp_path) not in json.dumps(record)
    with pytest.raises(OutputError, match="exists"):
        attention.main(out=out, **directories, pair=PAIR, layers="1")
    with pytest.raises(OptionError, match="both models have layers 1 to 2"):
        attention.main(out=tmp_path / "b.png", **directories, pair=PAIR, layers="3")
    with pytest.raises(OptionError, match="'x': expected numbers"):
        attention.main(out=tmp_path / "b.png", **directories, pair=PAIR, layers="x")
    assert not (tmp_path / "b.png").exists()


def test_other_tokens_are_a_named_error():
    teacher = maps(0)
    with pytest.raises(OptionError, match="one vocabulary"):
        compare(teacher, replace(teacher, tokens=["a", *teacher.tokens[1:]]), [1])


def test_command_draws_curves_of_records(tmp_path):
    record = {
        "stage": "joint",
        "curve": [{"step": s, "loss": 1 / s, "attention": 0.5 / s} for s in (50, 100, 150)],
        "evaluations": [{"step": 150, "dev_accuracy": 0.8}],
    }
    (tmp_path / "joint.json").write_text(json.dumps(record))
    curves.main([tmp_path / "joint.json"] * 2, out=tmp_path / "c.png")
    one = image.imread(tmp_path / "c.png").shape
    curves.main([tmp_path / "joint.json"], out=tmp_path / "d.png")
    assert one[1] > 1.5 * image.imread(tmp_path / "d.png").shape[1]
    for text, message in (("{}", "not a training record"), ('{"curve": []}', "no point")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(DataError, match=message):
            curves.main([tmp_path / "bad.json"], out=tmp_path / "e.png")
