"""Factored layers equal torch.kron, start nearest, train as dense ones do."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from mobilebert_models.kronecker.factored_layers import (
    KroneckerEmbedding,
    KroneckerLinear,
    flops_of_orders,
    nearest_kronecker,
)
from mobilebert_training.trainer import parameter_groups
from tests.helpers.networks import materialise

sides = st.integers(1, 6)
ranks = st.integers(1, 4)


def linear(m1, n1, m2, n2, rank, *, bias=True):
    assume(rank <= min(m1 * n1, m2 * n2))
    layer = KroneckerLinear(n1 * n2, m1 * m2, m1, n1, rank, bias=bias).double()
    if bias:
        nn.init.normal_(layer.bias)
    return layer


@settings(max_examples=40, deadline=None)
@given(sides, sides, sides, sides, ranks, st.booleans(), st.booleans(), st.integers(0, 99))
def test_linear_and_its_gradients_equal_torch_kron_in_both_orders(m1, n1, m2, n2, rank, bias, b_first, seed):
    torch.manual_seed(seed)
    layer = linear(m1, n1, m2, n2, rank, bias=bias)
    layer.b_first = b_first
    x = torch.randn(2, 3, n1 * n2, dtype=torch.float64, requires_grad=True)
    inputs = [x, *layer.parameters()]
    ours, reference = layer(x), x @ materialise(layer).t() + (layer.bias if bias else 0.0)
    torch.testing.assert_close(ours, reference, rtol=1e-12, atol=1e-12)
    direction = torch.randn_like(ours)
    for got, expected in zip(
        torch.autograd.grad(ours, inputs, direction),
        torch.autograd.grad(reference, inputs, direction),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-11, atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 9), sides, sides, ranks, st.integers(0, 99))
def test_embedding_its_table_and_its_gradients_equal_torch_kron(words, n1, n2, rank, seed):
    assume(rank <= min(words * n1, n2))
    torch.manual_seed(seed)
    layer = KroneckerEmbedding(words, n1 * n2, n1, rank, padding_idx=0).double()
    table = sum(torch.kron(layer.factor_a[:, i], layer.factor_b[i : i + 1]) for i in range(rank))
    ids = torch.randint(0, words, (2, 5))
    ours, reference = layer(ids), table[ids]
    torch.testing.assert_close(ours, reference, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(layer.weight, table, rtol=1e-12, atol=1e-12)
    direction = torch.randn_like(ours) * (ids != 0)[..., None]  # the pad row takes no gradient
    both = [torch.autograd.grad(y, list(layer.parameters()), direction) for y in (ours, reference)]
    for got, expected in zip(*both, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-11, atol=1e-11)


def test_pad_row_starts_at_zero_and_takes_no_gradient():
    layer = KroneckerEmbedding(5, 6, 3, padding_idx=0)
    assert not layer(torch.tensor([0])).any()
    layer(torch.tensor([0, 2])).sum().backward()
    assert not layer.factor_a.grad[0].any()
    assert layer.factor_a.grad[2].any()


@settings(max_examples=40, deadline=None)
@given(sides, sides, sides, sides, ranks, st.integers(0, 99))
def test_nearest_error_equals_the_tail_of_the_singular_values(m1, n1, m2, n2, rank, seed):
    assume(rank <= min(m1 * n1, m2 * n2))
    weight = torch.randn(m1 * m2, n1 * n2, generator=torch.Generator().manual_seed(seed)).double()
    a, b, error = nearest_kronecker(weight, m1, n1, rank)
    rest = weight - sum(torch.kron(x, y) for x, y in zip(a, b, strict=True))
    # The patches of Eq. 3, cut out one by one.
    patches = [
        weight[i * m2 : (i + 1) * m2, j * n2 : (j + 1) * n2].flatten() for i in range(m1) for j in range(n1)
    ]
    sigma = np.linalg.svd(torch.stack(patches).numpy(), compute_uv=False)
    tail = np.linalg.norm(sigma[rank:])
    assert float(rest.norm()) == pytest.approx(tail, abs=1e-10)
    assert error == pytest.approx(tail / float(weight.norm()), abs=1e-12)


def test_rank_one_svd_is_the_special_case_of_a_column_and_a_row():
    weight = torch.randn(7, 5, dtype=torch.float64)
    a, b, _ = nearest_kronecker(weight, m1=7, n1=1)  # m2 = 1, n2 = 5
    u, s, v = torch.linalg.svd(weight)
    assert (a.shape, b.shape) == ((1, 7, 1), (1, 1, 5))
    torch.testing.assert_close(a[0] @ b[0], s[0] * torch.outer(u[:, 0], v[0]), rtol=1e-12, atol=1e-12)


def test_full_sum_is_exact_and_a_zero_matrix_has_no_error():
    weight = torch.randn(6, 8, dtype=torch.float64)
    a, b, error = nearest_kronecker(weight, 3, 4, rank=4)
    torch.testing.assert_close(sum(map(torch.kron, a, b)), weight)
    assert error < 1e-12
    assert nearest_kronecker(torch.zeros(4, 4), 2, 2).error == 0.0


@pytest.mark.parametrize("shape", [(16, 2, 12, 24), (2, 16, 24, 12), (24, 24, 2, 2), (4, 30, 6, 2)])
@pytest.mark.parametrize("rank", [1, 4])
def test_the_cheaper_order_of_eq_7_is_taken_and_torch_counts_our_flops(shape, rank):
    m1, n1, m2, n2 = shape
    layer = KroneckerLinear(n1 * n2, m1 * m2, m1, n1, rank)
    b_first, a_first = flops_of_orders(*shape)
    assert layer.b_first == (b_first <= a_first)
    counted = []
    for order in (layer.b_first, not layer.b_first):
        layer.b_first = order
        with FlopCounterMode(display=False) as counter:
            layer(torch.randn(3, 5, n1 * n2))
        counted.append(counter.get_total_flops())
    assert counted[0] == 2 * layer.macs * 15
    assert counted[0] <= counted[1]
    # Eq. 7 counts additions and multiplications apart: one addition less for every inner product.
    inner_products = m2 * (n1 + m1) if b_first <= a_first else m1 * (n2 + m2)
    assert counted[0] == 15 * rank * (min(b_first, a_first) + inner_products)


# ---- in training and in other number formats


def test_weight_decay_takes_factors_not_biases_and_a_step_lowers_the_loss():
    torch.manual_seed(0)
    layer, x, y = KroneckerLinear(12, 8, 2, 3, 2), torch.randn(64, 12), torch.randn(64, 8)
    groups = parameter_groups([(parameter, 1.0) for parameter in layer.parameters()], 0.1)
    decayed, free = groups
    assert {id(p) for p in decayed["params"]} == {id(layer.factor_a), id(layer.factor_b)}
    assert [id(p) for p in free["params"]] == [id(layer.bias)]
    optimiser = torch.optim.AdamW(groups, lr=0.01)
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        losses.append(nn.functional.mse_loss(layer(x), y))
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < losses[0]


def test_factors_of_the_nearest_products_are_balanced():
    a, b, _ = nearest_kronecker(torch.randn(12, 20), 3, 4, rank=3)
    torch.testing.assert_close(a.flatten(1).norm(dim=1), b.flatten(1).norm(dim=1))


def test_initialisation_has_the_deviation_asked_for():
    torch.manual_seed(0)
    layer = KroneckerLinear(600, 400, 20, 20, 4)
    layer.initialise(0.02)
    assert materialise(layer).std().item() == pytest.approx(0.02, rel=0.1)


@pytest.mark.parametrize("b_first", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_and_autocast_return_what_a_linear_returns(dtype, b_first):
    layer, x = KroneckerLinear(12, 8, 2, 3, 2), torch.randn(5, 12)
    layer.b_first = b_first
    with torch.autocast("cpu", dtype=dtype):
        assert layer(x).dtype == nn.Linear(12, 8)(x).dtype == dtype
        words = KroneckerEmbedding(9, 8, 4)(torch.arange(3))
        assert words.dtype == nn.Embedding(9, 8)(torch.arange(3)).dtype
    full = layer(x)
    torch.testing.assert_close(layer.to(dtype)(x.to(dtype)).float(), full, rtol=0.1, atol=0.1)


def test_empty_and_flat_inputs_keep_their_shape():
    layer = KroneckerLinear(12, 8, 2, 3)
    assert layer(torch.randn(12)).shape == (8,)
    assert layer(torch.randn(0, 4, 12)).shape == (0, 4, 8)
    assert KroneckerEmbedding(9, 8, 4)(torch.tensor(3)).shape == (8,)
