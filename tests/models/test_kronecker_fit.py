"""Kronecker factor fitting: no factors of the same shape err less in what a layer returns."""

import json

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

import mobilebert_models
from mobilebert_export.command_line.program import main
from mobilebert_models import EncoderConfig, build
from mobilebert_models.config import KroneckerRule
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.kronecker.factor_fit import _UNSEEN, Inputs, fit_kronecker, measure_inputs
from mobilebert_models.kronecker.factor_shapes import WORDS, low_rank_rules, shape_rules
from mobilebert_models.kronecker.factored_layers import kronecker_sum, nearest_kronecker
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import KRONECKER_BATCH as BATCH
from tests.helpers.networks import SMALL_KRONECKER as SMALL
from tests.helpers.networks import randomise
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs, write_pairs

sides = st.integers(1, 4)


def drawn(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reads(n, seed, tokens=200):
    """Correlated vectors (tokens, n) of a mean that is not zero, and their sums."""
    x = drawn(tokens, n, seed=seed) @ drawn(n, n, seed=seed + 1) + 3 * drawn(n, seed=seed + 2)
    inputs = Inputs(nn.Linear(n, 1))
    for part in x.split(64):
        inputs.add(part)
    return x, inputs


@settings(max_examples=30, deadline=None)
@example(m1=2, n1=4, m2=2, n2=2, rank=2, seed=2)  # unseen directions weigh here
@given(m1=sides, n1=sides, m2=sides, n2=sides, rank=st.integers(1, 3), seed=st.integers(0, 99))
def test_no_other_a_for_the_same_b_errs_less_and_the_nearest_products_err_more(m1, n1, m2, n2, rank, seed):
    rank = min(rank, m1 * n1, m2 * n2)
    weight = drawn(m1 * m2, n1 * n2, seed=seed)
    x, inputs = reads(n1 * n2, seed + 1)
    a, b, shift, _, error = fit_kronecker(weight, inputs, m1, n1, rank)
    torch.testing.assert_close(shift, (weight - kronecker_sum(a, b)) @ x.mean(0))
    # What is minimised: outputs of the centred vectors, and of one more vector along every axis.
    centred = x - x.mean(0)
    unseen = (_UNSEEN * len(x) * centred.square().mean()).sqrt() * torch.eye(n1 * n2, dtype=x.dtype)
    read = torch.cat([centred, unseen])

    def errs(a, b):
        left = (weight - kronecker_sum(a, b)) @ read.t()
        return float(left.norm() / (weight @ read.t()).norm())

    assert error == pytest.approx(errs(a, b), rel=1e-6, abs=1e-6)
    near_a, near_b, _ = nearest_kronecker(weight, m1, n1, rank)
    assert error <= errs(near_a, near_b) * (1 + 1e-6) + 1e-6
    # Brute force: the outputs are linear in A, so the best A for this B is a least-squares problem.
    columns = [
        (read.numpy() @ np.kron(unit.reshape(m1, n1), b[k].numpy()).T).ravel()
        for k in range(rank)
        for unit in np.eye(m1 * n1)
    ]
    wanted = (read @ weight.t()).numpy().ravel()
    columns = np.stack(columns, 1)
    best = wanted - columns @ np.linalg.lstsq(columns, wanted)[0]
    assert error <= np.linalg.norm(best) / np.linalg.norm(wanted) * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_low_rank_error_is_the_tail_of_the_singular_values_of_the_centred_outputs(rank):
    weight = drawn(9, 6, seed=0)
    x, inputs = reads(6, 1, tokens=500)
    covariance = np.cov(x.numpy().T, bias=True)
    # What keeps directions that no input uses from being forgotten.
    covariance += 1e-4 * np.trace(covariance) / 6 * np.eye(6)
    root = scipy.linalg.sqrtm(covariance)
    sigma = np.linalg.svd(weight.numpy() @ root, compute_uv=False)
    expected = np.sqrt((sigma[rank:] ** 2).sum() / (sigma**2).sum())
    a, b, _, _, error = fit_kronecker(weight, inputs, 9, 1, rank)
    assert error == pytest.approx(expected, rel=1e-9)
    sizes = [torch.linalg.vector_norm(f, dim=(1, 2)) for f in (a, b)]
    torch.testing.assert_close(*sizes, msg="weight decay is to take from both factors alike")


def test_inputs_without_a_preferred_direction_give_the_nearest_products():
    weight = drawn(6, 8, seed=0)
    inputs = Inputs(nn.Linear(8, 1))
    inputs.add(torch.cat([torch.eye(8), -torch.eye(8)]))
    nearest = nearest_kronecker(weight, 3, 2, 2)
    fitted = fit_kronecker(weight, inputs, 3, 2, 2)
    assert fitted.output_error == pytest.approx(nearest.error, rel=1e-4)
    torch.testing.assert_close(kronecker_sum(*fitted[:2]), kronecker_sum(*nearest[:2]), atol=2e-2, rtol=0)
    assert not fitted.shift.abs().max() > 1e-9, "a mean of zero shifts nothing"


@pytest.mark.parametrize(("n1", "rank"), [(1, 3), (2, 1), (2, 3)])
def test_words_that_are_read_more_often_are_kept_better(n1, rank):
    table = drawn(12, 8, seed=0)
    inputs = Inputs(nn.Embedding(12, 8))
    often, seldom = torch.arange(3).repeat(500), torch.arange(12).repeat(5)
    for ids in (often, seldom):
        inputs.add(ids)
    a, b, _, _, error = fit_kronecker(table, inputs, 12, n1, rank)
    left = (table - kronecker_sum(a, b)).square().sum(1)
    near = (table - kronecker_sum(*nearest_kronecker(table, 12, n1, rank)[:2])).square().sum(1)
    assert left[:3].sum() < near[:3].sum()
    read = inputs.total
    assert (read * left).sum() <= (read * near).sum()
    expected = ((read * left).sum() / (read * table.square().sum(1)).sum()).sqrt()
    assert error == pytest.approx(float(expected), rel=1e-2)


@pytest.fixture(scope="module")
def dense():
    return randomise(build(SMALL, None, seed=0)).eval()


def test_measured_inputs_are_those_of_real_tokens(dense):
    found = measure_inputs(dense, [BATCH, BATCH])
    assert set(found) == {name for name in found if name.startswith("encoder.") or name == WORDS}
    mask = BATCH["attention_mask"].bool()
    with torch.no_grad():
        hidden = dense(**BATCH, capture=True).hidden_states[1][mask].double()
    query = found["encoder.layer.1.attention.self.query"]
    assert query.tokens == 2 * int(mask.sum())
    torch.testing.assert_close(query.mean, hidden.mean(0), rtol=0, atol=1e-6)
    torch.testing.assert_close(query.covariance, torch.cov(hidden.t(), correction=0), rtol=0, atol=1e-5)
    expected = 2 * torch.bincount(BATCH["input_ids"][mask], minlength=60).double()
    torch.testing.assert_close(found[WORDS].total, expected)
    assert not dense.encoder["layer"][0]._forward_pre_hooks


@pytest.mark.parametrize(
    "rules", [shape_rules(SMALL, (24, 24), (8, 2), 4, rank=2), low_rank_rules(SMALL, 6, 12)]
)
def test_a_fitted_model_reports_true_errors_and_is_nearer_to_the_dense_one(dense, rules):
    inputs = measure_inputs(dense, [BATCH])
    fitted, layers = compress(dense, rules, inputs=inputs)
    nearest, _ = compress(dense, rules)
    mask = BATCH["attention_mask"].bool()
    with torch.no_grad():
        theirs, ours, before = (
            m(**BATCH, capture=True).hidden_states[-1][mask] for m in (dense, fitted, nearest)
        )
    assert (ours - theirs).square().mean() < (before - theirs).square().mean()
    for layer in layers:
        weight = dense.get_submodule(layer.name).weight
        module = fitted.get_submodule(layer.name)
        words = layer.name == WORDS
        whole = module.weight if words else kronecker_sum(module.factor_a, module.factor_b)
        left = torch.linalg.vector_norm(weight - whole) / torch.linalg.vector_norm(weight)
        assert layer.error == pytest.approx(left.item(), rel=1e-4)
        assert 0 < layer.output_error < 1


@pytest.mark.parametrize("shape", [(6, 1, 2), (3, 2, 1)])
def test_an_all_zero_matrix_is_fitted_without_error(shape):
    fitted = fit_kronecker(torch.zeros(6, 4), reads(4, 0)[1], *shape)
    assert (fitted.error, fitted.output_error) == (0.0, 0.0)
    assert not kronecker_sum(fitted.a, fitted.b).any()
    assert not fitted.shift.any()


def test_what_cannot_be_fitted_is_a_named_error(dense):
    with pytest.raises(ModelError, match="no text to fit the factors to"):
        measure_inputs(dense, [])
    inputs = measure_inputs(dense, [BATCH])
    with pytest.raises(ModelError, match=r"pooler\.dense: its inputs were not measured"):
        compress(dense, [KroneckerRule("pooler.dense", 24, 24)], inputs=inputs)
    wide = torch.zeros(4, 3000)
    with pytest.raises(ModelError, match="4,500 numbers at a time, at most 4,096; take fewer products"):
        fit_kronecker(wide, Inputs(nn.Linear(3000, 4)), 2, 2, 3)


def test_command_fits_factors_to_the_pairs_of_a_file(tmp_path, capsys):
    config = EncoderConfig(**{**SMALL.__dict__, "vocab_size": 30522, "max_position_embeddings": 64})
    mobilebert_models.save_pretrained(
        randomise(build(config, seed=0)), tmp_path / "dense", tokenizer_from=MINILM
    )
    write_pairs(tmp_path / "pairs.tsv", *toy_pairs(20))

    def run(*arguments):
        given = ["--model", tmp_path / "dense", "--calibration", tmp_path / "pairs.tsv", *arguments]
        with pytest.raises(SystemExit) as end:
            main(["factorize", *map(str, given)])
        return end.value.code

    report = tmp_path / "report.json"
    assert run("--preset", "8", "--out", tmp_path / "student", "--json", report) == 0
    layers = json.loads(report.read_text())["layers"]
    assert all(0 < layer["output_error"] < 1 for layer in layers)
    assert mobilebert_models.load_pretrained(tmp_path / "student").config.kronecker
    capsys.readouterr()
    assert run("--preset", "8", "--dry-run") == 2
    assert "--calibration fits weights; leave out --dry-run" in capsys.readouterr().err
