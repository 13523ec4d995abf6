"""Promise of quantize/kronecker*.py: either form computes what the layer does; the cheaper one is taken."""

import itertools
import json
import re
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

from mobilebert_models import build
from mobilebert_models.config import KroneckerRule
from mobilebert_models.kronecker.factor_shapes import low_rank_rules, shape_rules
from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding, KroneckerLinear
from mobilebert_quantize.kronecker_costs import COSTS, OperatorCosts, costs_of, factored_work, linear_work
from mobilebert_quantize.kronecker_lowering import FactoredLookup, TwoStepLinear, lower, materialise
from mobilebert_quantize.recipes import RECIPES
from mobilebert_runtime.errors import ModelError
from tests.conftest import ROOT
from tests.helpers.networks import KRONECKER_BATCH as BATCH
from tests.helpers.networks import SMALL_KRONECKER as SMALL
from tests.helpers.networks import randomise

CHEAP_PRODUCTS = OperatorCosts(fixed=1.0, mac=0.0, row=0.0, result=0.0, move=0.0)
COSTLY_PRODUCTS = OperatorCosts(fixed=0.0, mac=1.0, row=0.0, result=0.0, move=0.0)
sides = st.integers(1, 6)


@settings(max_examples=60, deadline=None)
@given(sides, sides, sides, sides, st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 99))
def test_both_forms_of_a_linear_layer_equal_torch_kron(m1, n1, m2, n2, rank, bias, b_first, seed):
    assume(rank <= min(m1 * n1, m2 * n2))
    torch.manual_seed(seed)
    layer = KroneckerLinear(n1 * n2, m1 * m2, m1, n1, rank, bias=bias).double()
    layer.b_first = b_first
    if bias:
        nn.init.normal_(layer.bias)
    whole = sum(torch.kron(a, b) for a, b in zip(layer.factor_a, layer.factor_b, strict=True))
    torch.testing.assert_close(materialise(layer), whole, rtol=1e-12, atol=1e-12)
    x = torch.randn(2, 3, n1 * n2, dtype=torch.float64)
    expected = x @ whole.t() + (layer.bias if bias else 0.0)
    form = TwoStepLinear(layer)
    torch.testing.assert_close(form(x), expected, rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(form(x[0, 0]), expected[0, 0], rtol=1e-11, atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(st.integers(8, 9), sides, sides, st.integers(1, 6), st.integers(0, 99))
def test_a_factored_lookup_equals_the_table_for_few_and_many_products(words, n1, n2, rank, seed):
    assume(rank <= min(words * n1, n2))
    torch.manual_seed(seed)
    layer = KroneckerEmbedding(words, n1 * n2, n1, rank, padding_idx=0).double()
    table = sum(torch.kron(layer.factor_a[:, i], layer.factor_b[i : i + 1]) for i in range(rank))
    ids = torch.randint(0, words, (2, 5))
    for form in (layer, FactoredLookup(layer)):
        torch.testing.assert_close(form(ids), table[ids], rtol=1e-12, atol=1e-12)
    hidden = torch.randn(4, n1 * n2, dtype=torch.float64)
    torch.testing.assert_close(layer.scores(hidden), hidden @ table.t(), rtol=1e-11, atol=1e-11)


def factored(rules):
    return randomise(build(replace(SMALL, kronecker=tuple(rules)), seed=0))


@pytest.mark.parametrize("form", ["factored", "materialised", "auto"])
@pytest.mark.parametrize(
    "rules",
    [
        shape_rules(SMALL, (24, 24), (8, 2), 6),
        shape_rules(SMALL, (12, 16), (32, 16), 8, rank=3, words_rank=2),
        low_rank_rules(SMALL, 5, 7),
    ],
)
def test_a_lowered_network_is_the_network_without_a_kronecker_module(form, rules):
    network = factored(rules)
    before = {k: v.clone() for k, v in network.state_dict().items()}
    lowered, entries = lower(network, form, COSTS["tflite-none"], [12])
    torch.testing.assert_close(lowered(**BATCH), network(**BATCH), rtol=1e-4, atol=1e-5)
    assert not [p for p in lowered.modules() if isinstance(p, KroneckerLinear | KroneckerEmbedding)]
    assert all(torch.equal(v, before[k]) for k, v in network.state_dict().items())
    assert len(entries) == 1 + 2 * 6
    if form != "auto":
        assert {entry.form for entry in entries} == {form}
        weights = sum(getattr(entry, f"{form}_weights") for entry in entries)
        kinds = (nn.Linear, nn.Embedding, TwoStepLinear, FactoredLookup)
        ours = {id(p) for e in entries for p in lowered.encoder.get_submodule(e.name).parameters()}
        counted = sum(p.numel() for p in lowered.parameters() if id(p) in ours and p.dim() > 1)
        assert counted == weights
        assert all(isinstance(lowered.encoder.get_submodule(e.name), kinds) for e in entries)


def test_a_dense_network_is_returned_as_it_is():
    network = build(SMALL, seed=0)
    assert lower(network, "auto", CHEAP_PRODUCTS, [8]) == (network, [])


def test_the_cheaper_of_two_made_up_costs_is_chosen_layer_by_layer():
    # Attention: a third of the products. Feed-forward: four products of large factors, more than the matrix.
    network = factored(
        [
            KroneckerRule("*.attention.self.*", 24, 8, 1),
            KroneckerRule("*.intermediate.dense", 32, 24, 4),
            KroneckerRule("embeddings.word_embeddings", 60, 6),
        ]
    )

    def forms(costs, form="auto"):
        _, entries = lower(network, form, costs, [16, 32])
        for entry in entries:
            if form == "auto" and "word" not in entry.name:
                faster = "factored" if entry.factored_us < entry.materialised_us else "materialised"
                assert entry.form == faster
        return {entry.name.split(".")[-2 if "dense" in entry.name else -1]: entry.form for entry in entries}

    attention = dict.fromkeys(("query", "key", "value"))
    words = {"word_embeddings": "factored"}
    # Where only multiplications cost, fewer of them are faster; where only operators cost, one is.
    assert (
        forms(COSTLY_PRODUCTS)
        == dict.fromkeys(attention, "factored") | {"intermediate": "materialised"} | words
    )
    assert forms(CHEAP_PRODUCTS) == dict.fromkeys((*attention, "intermediate"), "materialised") | words
    assert set(forms(COSTLY_PRODUCTS, "materialised").values()) == {"materialised"}


@pytest.mark.parametrize("b_first", [True, False])
@pytest.mark.parametrize(
    "sizes", [s for s in itertools.product((1, 3), (1, 2), (1, 4), (1, 5)) if s != (1, 1, 1, 1)]
)
def test_counts_of_the_cost_model_are_those_of_the_operators_that_run(sizes, b_first):
    """Against the sizes of the tensors that PyTorch's own graph computes."""
    m1, n1, m2, n2 = sizes
    rank, tokens = min(2, m1 * n1, m2 * n2), 7
    layer = KroneckerLinear(n1 * n2, m1 * m2, m1, n1, rank)
    layer.b_first = b_first
    graph = torch.export.export(TwoStepLinear(layer).eval(), (torch.randn(1, tokens, n1 * n2),)).graph
    written = {"linear": [], "transpose": [], "add": []}
    for node in graph.nodes:
        for kind, found in written.items():
            if node.op == "call_function" and f"aten.{kind}." in str(node.target):
                value = node.meta["val"]
                found.append((value.numel(), node.args[0].meta["val"].shape[-1], value.shape[-1]))
    work = factored_work(tokens, sizes, rank, b_first=b_first)
    assert work.results == sum(numel for numel, *_ in written["linear"])
    assert work.rows == sum(numel // width for numel, _, width in written["linear"])
    assert work.macs == sum(numel * inner for numel, inner, _ in written["linear"])
    assert work.moved == sum(numel for numel, *_ in written["transpose"] + written["add"])
    assert work.operators == sum(map(len, written.values()))


def test_work_of_a_matrix_and_of_a_low_rank_one():
    assert linear_work(10, 6, 4).macs == 240
    low_rank = factored_work(10, (4, 1, 1, 6), 2, b_first=True)
    assert (low_rank.macs, low_rank.moved, low_rank.operators) == (10 * 2 * (6 + 4), 0, 2)


def test_costs_are_those_of_the_record_and_name_the_faster_form_of_nearly_all_measured_layers():
    record = json.loads((ROOT / "results" / "kronecker" / "operators.json").read_text())
    assert record["machine"]["cpu"]
    for name, found in record["recipes"].items():
        assert asdict(COSTS[name]) == found["costs"]
        times = {(row["layer"], row["form"]): row["us"] for row in found["times"]}
        lost = best_time = right = count = 0
        for (layer, form), us in times.items():
            if form == "whole":
                continue
            n, m, tokens = map(int, re.match(r"(\d+)→(\d+), (\d+)", layer).groups())
            rank, m1, n1, m2, n2 = map(int, re.findall(r"\d+", form))
            b_first = KroneckerLinear(n, m, m1, n1, rank).b_first
            factored = COSTS[name].factored(tokens, (m1, n1, m2, n2), rank, b_first=b_first)
            is_faster = us < times[layer, "whole"]
            right += is_faster == (factored < COSTS[name].linear(tokens, n, m))
            if is_faster != (factored < COSTS[name].linear(tokens, n, m)):
                lost += abs(us - times[layer, "whole"])
            best_time += min(us, times[layer, "whole"])
            count += 1
        assert right >= count - 2
        assert lost < 0.01 * best_time


def test_every_recipe_has_measured_costs_and_no_other_form_is_known():
    assert set(COSTS) == {name for name in RECIPES if "fp16" not in name and "static" not in name}
    for recipe in RECIPES.values():
        costs = costs_of(recipe)
        assert min(costs.fixed, costs.mac, costs.row, costs.result, costs.move) >= 0
        assert costs.linear(128, 384, 384) > costs.linear(32, 384, 384) > 0
    network = factored(shape_rules(SMALL, (24, 24), (8, 2), 6))
    with pytest.raises(ModelError, match="'fast' is unknown; expected one of auto, factored"):
        lower(network, "fast", CHEAP_PRODUCTS, [8])
    assert ModelError.exit_code == 2
