"""Exact algebra: less work, the same function, proved in float64; no norm in the artefact."""

import numpy as np
import pytest
import torch
from torch import nn

import mobilebert_models
from mobilebert_export.onnx.writer import describe_onnx, write_float_onnx
from mobilebert_export.tflite.writer import describe_tflite, write_float_tflite
from mobilebert_models import build
from mobilebert_models.config import KroneckerRule
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.networks.layers import NoNorm
from mobilebert_quantize.algebra import PASSES, simplify
from mobilebert_quantize.algebra.proof import AlgebraError, outputs_of, relative_difference
from mobilebert_quantize.algebra.streams import Multiply
from mobilebert_quantize.algebra.work import count_work
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.errors import OptionError
from tests.helpers import small_matcher
from tests.helpers.tiny_networks import encoded, randomise, tiny
from tests.models.test_embedding_matcher import MOBILEBERT, matcher, packed, texts

SHAPES = ("bert-base", "ib-bert-large", "mobilebert", "mobilebert-table1", "mobilebert-tiny")
SHAPES += ("mobilebert-without-opt", "matcher-m", "albert-base", "rewritten-bert")
SAMPLED = [
    name if name in ("mobilebert", "rewritten-bert") else pytest.param(name, marks=pytest.mark.slow)
    for name in SHAPES
]
HEADS = ("pair_classifier", "regression", "pretraining", "span_qa")


@pytest.mark.parametrize("special", [False, True], ids=["γ in [0.6, 1.6]", "some γ zero, tiny or negative"])
@pytest.mark.parametrize("name", SAMPLED)
def test_every_pass_is_an_identity_in_float64(name, special):
    for seed, head in enumerate(HEADS):
        model = randomise(build(tiny(name), head).double(), seed, special)
        before = outputs_of(model, encoded())
        assert max(float(output.std()) for output in before) > 1e-4, "a constant output proves nothing"
        for one in PASSES:  # alone …
            rewritten = simplify(model, passes=[one])
            assert relative_difference(before, outputs_of(rewritten.network, encoded())) < 1e-10, one
        rewritten = simplify(model, proof=encoded())  # … and after one another
        assert relative_difference(before, outputs_of(rewritten.network, encoded())) < 1e-10
        assert all(done.relative_difference < 1e-10 for done in rewritten.passes)
        assert relative_difference(before, outputs_of(model, encoded())) == 0, "the input was touched"


def test_shipped_matcher_is_the_same_function_at_full_size():
    model = mobilebert_models.load_pretrained(mobilebert_models.shipped_directory("matcher-qqp-m"))
    generator = np.random.default_rng(0)
    ids = generator.integers(1000, 30000, (2, 64)).astype(np.int32)
    mask = np.ones_like(ids)
    mask[1, 30:] = 0
    rewritten = simplify(
        model,
        proof={"input_ids": ids, "attention_mask": mask, "token_type_ids": (ids > 15000).astype(np.int32)},
    )
    assert [done.name for done in rewritten.passes] == list(PASSES)
    assert all(done.relative_difference < 1e-10 for done in rewritten.passes)
    before, after = count_work(model, 64), count_work(rewritten.network, 64)
    assert after.macs < 0.89 * before.macs, "all but keys and values of one layer of six is gone"
    assert after.operators["mul"] == 3  # padded words, the token-type column, the mask's value
    assert not any(isinstance(part, NoNorm | Multiply) for part in rewritten.network.modules())


@pytest.mark.parametrize("head", ["embedding_matcher", "learned_matcher"])
def test_a_matcher_of_vectors_on_a_mobilebert_trunk_stays_the_same_function(head):
    model = matcher(MOBILEBERT, head=head).double()
    left, right = texts(2)
    proof = {name: ids.numpy().astype(np.int32) for name, ids in packed(left, right, 40).items()}
    rewritten = simplify(model, proof=proof)
    assert all(done.relative_difference < 1e-10 for done in rewritten.passes)
    kept = [name for name, part in rewritten.network.named_modules() if isinstance(part, NoNorm)]
    depth = model.config.num_hidden_layers
    read = [f"encoder.encoder.layer.{after - 1}.output.bottleneck.LayerNorm" for after in (depth // 2, depth)]
    assert kept == read, "what the head reads as it is, but for the embedding output, whose writer takes all"


def test_a_zero_or_tiny_scale_leaves_one_explicit_multiplication_and_no_shift():
    model = build(tiny("mobilebert-table1")).double()
    inner = model.encoder.layers[1].ffn[0].output.LayerNorm
    for value in (0.0, 1e-9):
        with torch.no_grad():
            inner.weight[3] = value
        rewritten = simplify(model)
        left = [part for part in rewritten.network.modules() if isinstance(part, Multiply)]
        assert len(left) == 1
        assert not any(isinstance(part, NoNorm) for part in rewritten.network.modules())


def test_a_rewritten_bert_has_no_norm_left_and_its_tables_are_untouched():
    model = randomise(build(tiny("rewritten-bert"), "pair_classifier").double())
    network = simplify(model).network
    assert not any(isinstance(part, NoNorm | Multiply) for part in network.modules())
    for one, other in zip(
        model.encoder.embeddings.parameters(), network.encoder.embeddings.parameters(), strict=False
    ):
        assert torch.equal(one, other)


def test_layer_norms_lose_their_shift_and_the_last_one_its_scale():
    network = simplify(randomise(build(tiny("bert-base")).double())).network
    norms = [part for part in network.modules() if isinstance(part, nn.LayerNorm)]
    assert all(norm.bias is None for norm in norms)
    assert [norm.weight is None for norm in norms] == [False] * (len(norms) - 1) + [True]


def test_only_heads_that_read_one_row_get_one_row():
    for head in HEADS:
        model = build(tiny("mobilebert"), head)
        rows = simplify(model).network.encoder.last_rows
        assert rows == (1 if head in ("pair_classifier", "regression") else None)
        assert model.encoder.last_rows is None


def test_kronecker_layers_are_left_alone_with_a_reason():
    dense = randomise(build(tiny("mobilebert")).double())
    rules = (
        KroneckerRule("encoder.layer.1.ffn.*.intermediate.dense", 2, 2),
        KroneckerRule("*.self.key", 4, 4),
    )
    factored, _ = compress(dense, rules)
    rewritten = simplify(factored, proof=encoded())
    report = {done.name: done for done in rewritten.passes}
    assert any(
        "encoder.layer.1.bottleneck.input: a Kronecker" in why for why in report["fold-no-norm"].skipped
    )
    assert report["fold-no-norm"].changed["norms folded"] > 0
    assert report["drop-key-bias"].changed == {"key biases dropped": 3}


def test_a_wrong_identity_is_found(monkeypatch):
    def wrong(network):
        with torch.no_grad():
            network.classifier.bias.add_(1e-7)
        return {}, []

    monkeypatch.setitem(PASSES, "drop-key-bias", wrong)
    with pytest.raises(AlgebraError, match="drop-key-bias"):
        simplify(randomise(build(tiny("mobilebert")).double()), proof=encoded())


def test_an_unknown_pass_names_the_known_ones():
    with pytest.raises(OptionError, match="fold-no-norm"):
        simplify(build(tiny("mobilebert")), passes=["fold-norms"])


@pytest.mark.parametrize("target", [pytest.param("tflite", marks=pytest.mark.slow), "onnx"])
def test_exported_graph_has_no_norm_left(target, tmp_path):
    """γ and β are gone from the file: what multiplies and adds is listed one by one."""
    model = mobilebert_models.load_pretrained(small_matcher.model_directory())
    layers, stacked = small_matcher.CONFIG.num_hidden_layers, small_matcher.CONFIG.num_feedforward_networks
    found = []
    for network in (model, simplify(model).network):
        path = tmp_path / f"{len(found)}.{target}"
        if target == "tflite":
            write_float_tflite(network, path, (Bucket(32, "serving_default"),))
            operators = describe_tflite(path).operators
            found.append((operators["MUL"], operators["ADD"]))
        else:
            write_float_onnx(network, path, (Bucket(32),), 20)
            operators = describe_onnx(path).operators
            found.append((operators["Mul"], operators["Add"]))
    norms = 1 + layers * (2 + 1 + stacked + 1)  # embeddings; bottlenecks, attention, networks, way out
    (products, sums), (products_left, sums_left) = found
    if target == "tflite":
        # What is left: padded words, the token-type column, the mask's value; the sums of positions, and per
        # layer of the mask and of every residual. (The converter itself folds a norm without a residual.)
        assert (products_left, sums_left) == (3, 1 + layers * (1 + 2 + stacked))
        return
    assert products_left == products - norms - layers + 1  # every γ and 1/√D gone; a token-type column more
    # β of every norm, the token types, and the biases of keys and values, which here are sums as well.
    assert sums_left == sums - norms - 1 - 2 * layers


def test_a_spread_limit_leaves_explicit_multiplications_and_no_channel_drifts_further_than_it():
    model = build(tiny("mobilebert")).double()
    wide = torch.linspace(0.5, 1.5, model.encoder.config.hidden_size, dtype=torch.float64)
    owners = [layer.output.bottleneck for layer in model.encoder.layers]
    with torch.no_grad():
        for owner in owners:
            owner.LayerNorm.weight.copy_(wide)

    def explicit(limit):
        rewritten = simplify(model, spread_limit=limit).network
        assert relative_difference(outputs_of(model, encoded()), outputs_of(rewritten, encoded())) < 1e-10
        return sum(isinstance(part, Multiply) for part in rewritten.modules())

    assert len(owners) > 2
    found = [explicit(limit) for limit in (9.5, 3.5, 2.5)]  # a norm spreads by 3, two by 9; the last is free
    assert found == [(len(owners) - 1) // 3, (len(owners) - 1) // 2, len(owners) - 1]
