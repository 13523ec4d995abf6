"""Promise of quantize/weight_rounding: weights on their grid that change outputs less than the nearest."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from mobilebert_models import build
from mobilebert_models.weights.four_bit import find_four_bits
from mobilebert_quantize.onnx.int8 import quantise_columns
from mobilebert_quantize.weight_rounding import DAMPING, round_weights, rounded, second_moments, to_nearest
from tests.helpers.tiny_networks import encoded, randomise, tiny


def matrix_and_moment(out, inner, seed, texts=400):
    """A matrix, and the second moment of correlated inputs whose mean is not zero."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((inner, inner)) / np.sqrt(inner) + np.diag(rng.uniform(0.2, 3, inner))
    inputs = rng.standard_normal((texts, inner)) @ mixing + rng.standard_normal(inner)
    weight = torch.tensor(rng.standard_normal((out, inner)), dtype=torch.float32)
    return weight, torch.tensor(inputs.T @ inputs)


def by_least_squares(weight, moment, largest):
    """The definition, slowly: round a column, solve anew for all columns that are left, go on."""
    w, h = weight.double().numpy(), moment.numpy().copy()
    h += DAMPING * np.trace(h) / len(h) * np.eye(len(h))
    order = np.argsort(-np.diag(h), kind="stable")
    steps = np.abs(w).max(axis=1) / largest
    result = np.zeros_like(w)
    for row in range(len(w)):
        done: list[int] = []
        for column in order:
            left = [k for k in order if k not in done]
            best = dict(zip(left, w[row, left], strict=True))
            if done:  # (w − q)·H·(w − q)ᵀ is least at w_left + H_left⁻¹·H_left,done·(w − q)_done
                moved = np.linalg.solve(
                    h[np.ix_(left, left)], h[np.ix_(left, done)] @ (w[row, done] - result[row, done])
                )
                best = dict(zip(left, w[row, left] + moved, strict=True))
            whole = np.clip(np.round(best[column] / steps[row]), -largest, largest)
            end = column == np.abs(w[row]).argmax()
            result[row, column] = w[row, column] if end else whole * steps[row]
            done.append(column)
    return result


@pytest.mark.parametrize(("bits", "largest"), [(8, 127), (7, 64)])
@pytest.mark.parametrize("inner", [5, 70], ids=["one block", "two blocks"])
def test_each_column_is_rounded_where_the_rest_corrects_best(bits, largest, inner):
    weight, moment = matrix_and_moment(3, inner, seed=inner)
    expected = by_least_squares(weight, moment, largest)
    np.testing.assert_allclose(rounded(weight, moment, bits).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("bits", [8, 7])
def test_a_quantiser_finds_the_same_integers(bits):
    weight, moment = matrix_and_moment(24, 96, seed=2)
    done = rounded(weight, moment, bits)
    assert torch.equal(done.abs().amax(1), weight.abs().amax(1))
    integers, steps = quantise_columns(done.T.numpy(), bits)
    np.testing.assert_allclose(integers * steps, done.T.numpy(), rtol=1e-6)


@pytest.mark.parametrize("bits", [8, 7])
def test_outputs_change_less_than_by_the_nearest_weights(bits):
    weight, moment = matrix_and_moment(24, 96, seed=3)
    exact = weight.double()
    errors = [exact - near.double() for near in (rounded(weight, moment, bits), to_nearest(weight, bits))]
    by_output, by_weight = (float(((e @ moment) * e).sum()) for e in errors)
    assert by_output < by_weight / 2


def test_four_bits_cut_rows_off_where_outputs_change_least_and_are_found_again():
    weight, moment = matrix_and_moment(24, 96, seed=4)
    weight[:, 10] *= 6  # for one large weight a row the grid would be coarse
    done = rounded(weight, moment, 4)
    found = find_four_bits(done)
    assert found is not None
    assert torch.equal(found.matrix(), done)  # steps are float16, so that storing them loses nothing
    assert torch.equal(found.steps.half().float(), found.steps)

    def error(other):
        difference = weight.double() - other.double()
        return float(((difference @ moment) * difference).sum())

    assert error(done) < error(to_nearest(weight, 4)) / 2
    assert (done.abs().amax(1) < weight.abs().amax(1)).any()


def test_rows_on_a_grid_of_four_bits_stay_there_when_eight_are_asked_for():
    model = randomise(build(tiny("bert-base"))).eval()
    four = round_weights(model, encoded(2), 4).network
    eight, seven = (round_weights(four, encoded(2), bits) for bits in (8, 7))
    assert eight.report["layers"] == 0
    assert seven.report["layers"] > 0
    assert all(torch.equal(a, b) for a, b in zip(four.parameters(), eight.network.parameters(), strict=True))


def test_moments_are_those_of_real_tokens():
    config = replace(tiny("bert-base"), hidden_size=16)  # as wide as the texts are long
    model, text = randomise(build(config)).eval(), encoded(1)
    name = next(n for n, _ in model.named_modules() if n.endswith("layer.1.attention.self.key"))
    seen = []
    handle = dict(model.named_modules())[name].register_forward_pre_hook(lambda _, x: seen.append(x[0]))
    with torch.inference_mode():
        model(*(torch.from_numpy(text[key]) for key in model.config.input_names))
    handle.remove()
    rows = seen[0][torch.from_numpy(text["attention_mask"]).bool()].double()
    assert not text["attention_mask"].all()
    found = second_moments(model, text)
    torch.testing.assert_close(found[name], rows.T @ rows, rtol=1e-4, atol=1e-4)
    assert list(found)[-1] == "classifier"
    first, *others = found
    few = second_moments(model, text, stay=others)
    assert list(few) == list(found)
    assert torch.equal(few[first], found[first])
    assert all(few[other] is None for other in others)


@pytest.mark.parametrize("name", ["bert-base", "mobilebert-tiny", "albert-base"])
def test_a_network_is_rounded_but_for_its_last_layer_and_what_shall_stay(name):
    model = randomise(build(tiny(name))).eval()
    first = next(n for n, module in model.named_modules() if isinstance(module, nn.Linear) and "query" in n)
    done = round_weights(model, encoded(2), 8, keep=[first])
    old = {n: m.weight for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    new = {n: m.weight for n, m in done.network.named_modules() if isinstance(m, nn.Linear)}
    same = {n for n in old if torch.equal(old[n], new[n])}
    assert same == {first, "classifier"}
    assert 0 < done.report["noise"] < done.report["noise_nearest"]
    assert done.report["layers"] == len(old) - 2
    again = round_weights(model, encoded(2), 8, keep=[first, "classifier"])
    assert again.report == done.report, "the last layer to run is the one that stays, asked to or not"
