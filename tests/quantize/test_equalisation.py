"""Promise of quantize/equalisation: the same function, channels that share an int8 range fairly."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_models import build, load_pretrained
from mobilebert_models.kronecker.factor_shapes import low_rank_rules, shape_rules
from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding, KroneckerLinear
from mobilebert_models.networks.layers import NoNorm, input_names
from mobilebert_quantize.algebra import simplify
from mobilebert_quantize.algebra.norms import INT8_SPREAD_LIMIT, fold_no_norm
from mobilebert_quantize.algebra.proof import outputs_of, relative_difference
from mobilebert_quantize.algebra.streams import Multiply
from mobilebert_quantize.equalisation import equalise, measure_channels
from mobilebert_quantize.kronecker_costs import costs_of
from mobilebert_quantize.kronecker_lowering import lower
from mobilebert_quantize.recipes import find_recipe
from studies.latency.equalisation_effect import scale_norms
from tests.helpers.published_models import padded_batch, published
from tests.helpers.tiny_networks import encoded, randomise, tiny
from tests.models.test_embedding_matcher import MOBILEBERT, matcher, packed, texts


@pytest.mark.parametrize("special", [False, True], ids=["γ in [0.6, 1.6]", "some γ zero, tiny or negative"])
@pytest.mark.parametrize(
    "name",
    ["bert-base", "rewritten-bert", "mobilebert", "mobilebert-tiny", "mobilebert-without-opt", "albert-base"],
)
def test_equalisation_is_an_identity_in_float64(name, special):
    for head in ("pair_classifier", "pretraining"):
        model = randomise(build(tiny(name), head).double(), 3, special)
        folded = simplify(model).network
        equalised = equalise(folded, encoded(1)).network
        assert relative_difference(outputs_of(model, encoded()), outputs_of(equalised, encoded())) < 1e-10
        unfolded = equalise(model, encoded(1)).network
        assert relative_difference(outputs_of(model, encoded()), outputs_of(unfolded, encoded())) < 1e-10


@pytest.mark.parametrize("kind", ["mpnet", "modernbert", "deberta-v2"])
def test_positions_in_the_scores_stay_what_they_are(kind, tmp_path):
    """Keys whose scores hang on places too can be neither centred nor scaled by channels."""
    published(kind, "ForSequenceClassification", seed=2).save_pretrained(tmp_path)
    model = load_pretrained(tmp_path).double()
    batch = {k: v.numpy() for k, v in padded_batch(model.config, seed=3).items() if k in input_names(model)}
    folded = simplify(model, proof=batch).network
    assert relative_difference(outputs_of(model, batch), outputs_of(folded, batch)) < 1e-10
    for network in (model, folded):
        equalised = equalise(network, batch).network
        assert relative_difference(outputs_of(model, batch), outputs_of(equalised, batch)) < 1e-10


@pytest.mark.parametrize("spread", [INT8_SPREAD_LIMIT, math.inf])
def test_states_that_a_head_compares_keep_their_coordinates(spread):
    model = randomise(matcher(MOBILEBERT, head="learned_matcher").double(), 5)
    batch = {name: ids.numpy().astype(np.int32) for name, ids in packed(*texts(2), 40).items()}
    folded = copy.deepcopy(model)
    fold_no_norm(folded, spread)
    left = [part for part in folded.modules() if isinstance(part, Multiply)]
    assert bool(left) == (spread < math.inf), "with explicit multiplications and without"
    equalised = equalise(folded, batch)
    assert equalised.report["streams"]["groups"] > 0
    for network in (folded, equalised.network):
        assert relative_difference(outputs_of(model, batch), outputs_of(network, batch)) < 1e-10


def test_scaled_norms_leave_no_trace():
    """The promise that recovers a badly scaled model: the result does not depend on the basis."""
    model = randomise(build(tiny("mobilebert")).double())
    scaled = scale_norms(randomise(build(tiny("mobilebert")).double()))
    assert relative_difference(outputs_of(model, encoded()), outputs_of(scaled, encoded())) < 1e-10
    networks = [equalise(simplify(network).network, encoded(1)).network for network in (model, scaled)]
    assert not any(isinstance(part, NoNorm | Multiply) for part in networks[1].modules())
    found = [measure_channels(network, encoded(1)) for network in networks]
    for name, (inputs, _) in found[0].items():
        ours, theirs = inputs.reach, found[1][name][0].reach
        # One step serves the whole tensor: a common factor is nothing to it.
        torch.testing.assert_close(ours / ours.max(), theirs / theirs.max(), rtol=1e-6, atol=1e-9)


def test_the_stream_of_a_rewritten_bert_shares_its_range_better_unless_the_head_reads_the_words():
    model = randomise(build(tiny("rewritten-bert")).double())
    with torch.no_grad():  # one channel of the feature map a hundred times the others
        for table in model.encoder.embeddings.children():
            if isinstance(table, torch.nn.Embedding):
                table.weight[:, 7] *= 100
        model.encoder.layers[0].attention.self.query.weight[:, 7] /= 100
        model.encoder.layers[0].attention.self.key.weight[:, 7] /= 100
        model.encoder.layers[0].attention.self.value.weight[:, 7] /= 100
    streams = equalise(simplify(model).network, encoded(1)).report["streams"]
    assert streams["noise_after"] < 0.5 * streams["noise_before"]
    tied = build(tiny("rewritten-bert"), "pretraining").double()
    assert equalise(simplify(tied).network, encoded(1)).report["streams"]["groups"] == 0


@pytest.mark.parametrize("low_rank", [True, False])
@pytest.mark.parametrize("words", [1, 4], ids=["one product a word", "four products a word"])
def test_products_of_factored_layers_share_their_ranges_better_and_compute_the_same(low_rank, words):
    dense = tiny("bert-base")
    width = dense.hidden_size
    rules = (
        low_rank_rules(dense, 6, words)
        if low_rank
        else shape_rules(dense, (width // 2, width // 2), (4, 2), width // words, 3, words)
    )
    model = randomise(build(replace(dense, kronecker=rules), "pair_classifier").double())
    with torch.no_grad():  # one product with a first factor ten thousand times the others, as small a second
        for part in model.modules():
            if isinstance(part, KroneckerLinear):
                large, small = (
                    (part.factor_b, part.factor_a) if part.b_first else (part.factor_a, part.factor_b)
                )
                large[1] *= 1e4
                small[1] /= 1e4
            elif isinstance(part, KroneckerEmbedding) and words > 1:
                part.factor_a[:, 1] *= 1e4
                part.factor_b[1] /= 1e4
    lowered, _ = lower(model.eval(), "factored", costs_of(find_recipe("tflite", "int8")), [8])
    done = equalise(simplify(lowered).network, encoded(1))
    assert relative_difference(outputs_of(model, encoded()), outputs_of(done.network, encoded())) < 1e-10
    found = done.report["products"]
    layers = [part for part in model.modules() if isinstance(part, KroneckerLinear)]
    assert found["groups"] == len(layers) + (words > 1)
    assert found["noise_after"] < 0.1 * found["noise_before"]


def test_hidden_units_and_keys_share_their_ranges_better():
    model = randomise(build(tiny("mobilebert")).double())
    with torch.no_grad():  # one hidden unit ten thousand times the others, and as small a column behind it
        block = model.encoder.layers[0]
        block.intermediate.dense.weight[5] *= 1e4
        block.intermediate.dense.bias[5] = 1e4
        block.output.dense.weight[:, 5] /= 1e4
    folded = simplify(model).network
    done = equalise(folded, encoded(1))
    assert done.report["hidden units"]["noise_after"] < 0.1 * done.report["hidden units"]["noise_before"]
    before, after = measure_channels(folded, encoded(1)), measure_channels(done.network, encoded(1))
    key = "encoder.encoder.layer.0.attention.self.key"
    centre = after[key][1].centre.abs().max() / after[key][1].reach.max()
    assert float(centre) < 1e-12
    assert float(before[key][1].centre.abs().max()) > 0
    assert np.isfinite(done.report["streams"]["noise_after"])
