"""Promise of a deeper student: it starts near its teacher, and its groups answer to the teacher's layers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_models import build, preset
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.errors import ModelError
from mobilebert_training.distillation.losses import layer_loss, vector_losses
from mobilebert_training.initialization.deeper_student import as_teacher, group_size, ridge, start, widened
from tests.helpers.networks import spread
from tests.helpers.tiny_networks import DEEP, SHALLOW

pytestmark = pytest.mark.usefixtures("one_thread")

SHARED = replace(
    DEEP, use_bottleneck_attention=False, key_query_shared_bottleneck=True, num_feedforward_networks=4
)


def batch(seed, size=12):
    ids = torch.randint(1, 60, (size, 9), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    mask[::3, 6:] = 0
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": ids * 0}


@pytest.fixture(scope="module", params=[DEEP, SHARED], ids=["tiny", "standard"])
def pair(request):
    """A teacher and the student that starts from it."""
    master = spread(encoder_of(build(SHALLOW, None, seed=1)), 2).eval()
    return master, start(request.param, master, [batch(n) for n in range(30)], np.arange(60), 0)


def losses(master, student, held):
    with torch.no_grad():
        target = master(**held, capture=True)
        ours = as_teacher(student(**held, capture=True), master.config)
        names = ("feature_map", "attention")
        return {name: layer_loss(name, target, ours, held["attention_mask"]).item() for name in names}


def test_the_named_networks_have_four_layers_to_one_of_minilm():
    config, teacher = preset("mobilebert-tiny"), preset("minilm-l6")
    assert group_size(config, teacher) == group_size(preset("mobilebert"), teacher) == 4
    assert sum(p.numel() for p in build(config, None).parameters()) == 15_485_696  # Google's encoder
    for changed, message in (
        ({"num_hidden_layers": 20}, "expected a multiple of the teacher's 6 layers"),
        ({"num_attention_heads": 8}, "heads of 16"),
        ({"use_bottleneck_attention": False}, "such as mobilebert-tiny or mobilebert"),
        ({"normalization_type": "layer_norm"}, "such as mobilebert-tiny or mobilebert"),
    ):
        with pytest.raises(ModelError, match=message):
            group_size(replace(config, **changed), teacher)
    with pytest.raises(ModelError, match="not of mpnet with 0"):
        group_size(config, replace(teacher, model_type="mpnet", type_vocab_size=0))
    with pytest.raises(ModelError, match="at least its 768 features"):
        group_size(config, preset("bert-base"))


def test_groups_answer_to_the_teachers_layers(pair):
    master, student = pair
    held = batch(90)
    output = student(**held, capture=True)
    ours = as_teacher(output, master.config)
    assert [tuple(state.shape) for state in ours.hidden_states] == [(12, 9, 24)] * 3
    assert [tuple(score.shape) for score in ours.attention_scores] == [(12, 6, 9, 9)] * 2
    assert torch.equal(ours.hidden_states[1], output.hidden_states[4][..., :24])
    assert torch.equal(ours.attention_scores[1][:, 2:4], output.attention_scores[5])


def test_the_start_is_nearer_to_the_teacher_than_fresh_weights(pair):
    master, student = pair
    held = batch(91)
    begun = losses(master, student, held)
    fresh = losses(master, build(student.config, None, seed=0), held)
    assert begun["feature_map"] < 0.5 * fresh["feature_map"]
    assert begun["attention"] < 0.7 * fresh["attention"]  # random heads are nearly even: little to gain
    padded = {name: torch.nn.functional.pad(value, (0, 5)) for name, value in held.items()}
    with torch.no_grad():
        real = held["attention_mask"].bool()
        found, alone = student(**padded).last_hidden_state[:, :9], student(**held).last_hidden_state
        torch.testing.assert_close(found[real], alone[real])


def test_ridge_finds_a_linear_map():
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(4000, 5, generator=generator), torch.randn(3, 5, generator=generator)
    found, bias = ridge(x, x @ weight.t() + 2)
    torch.testing.assert_close(found, weight, atol=0.05, rtol=0)
    torch.testing.assert_close(bias, torch.full((3,), 2.0), atol=0.05, rtol=0)


def test_a_narrower_target_is_met_with_zeros_after_it():
    vectors = torch.nn.functional.normalize(
        torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), dim=1
    )
    similarity = vectors @ vectors.T
    assert vector_losses(widened(vectors, 7), vectors, similarity)[0].item() == pytest.approx(0, abs=1e-6)
    assert vector_losses(widened(vectors, 7).flip(1), vectors, similarity)[0].item() > 0.5
