"""The audit finds the product that int8 breaks; a budget puts it, and nothing needless, back to float."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import mobilebert_models
from mobilebert_export import samples
from mobilebert_export.command_line.program import main
from mobilebert_export.verification.accuracy_budget import AccuracyGoal, meet_budget
from mobilebert_export.verification.network_outputs import reference_logits
from mobilebert_export.verification.verify import VerificationError
from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_quantize import recipes
from mobilebert_quantize.product_audit import ProductLoss, audit_products, quantise_range, quantise_rows
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_quantize.tflite.int8 import embedding_layers, products
from mobilebert_runtime.card import INPUT_NAMES
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import small_matcher
from tests.models.test_embedding_matcher import matcher, packed, texts

pytestmark = pytest.mark.slow

RECIPE = recipes.RECIPES["tflite-int8"]


class TwoLayers(nn.Module):
    """Three linear layers on the one-hot first id of each pair; the last makes the logits."""

    config = SimpleNamespace(input_names=INPUT_NAMES)

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.last = nn.Linear(8, 2)

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = nn.functional.one_hot(input_ids[:, 0].long(), 8).float()
        return self.last(self.second(self.first(x)))


def encoded(count):
    ids = np.arange(count, dtype=np.int32)[:, None] % 8
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def test_each_product_is_quantised_alone_as_computed_by_hand():
    model, data = TwoLayers().eval(), encoded(8)
    found = audit_products(model, data, RECIPE)
    assert [product.name for product in found.products] == ["first", "second"]
    assert found.computed == 3
    with torch.inference_mode():
        x = torch.eye(8)
        hidden = model.first(x)
        exact = model.last(model.second(hidden))
        weight = quantise_rows(model.second.weight, 8)
        lowest, highest = min(hidden.min().item(), 0), max(hidden.max().item(), 0)
        result = nn.functional.linear(quantise_range(hidden, lowest, highest, 8), weight, model.second.bias)
        true = model.second(hidden)
        result = quantise_range(result, min(true.min().item(), 0), max(true.max().item(), 0), 8)
        expected = (model.last(result) - exact).square().mean().sqrt().item()
    assert found.products[1].rms_logit == pytest.approx(expected, rel=1e-4)


def test_signal_to_noise_is_that_of_uniform_steps():
    """A uniform tensor over the whole range of b bits has 20·log₁₀(2^b) dB: 48.2 for 8 bits."""
    values = torch.linspace(0, 1, 200_001, dtype=torch.float64)
    noise = (quantise_range(values, 0.0, 1.0, 8) - values).square().mean()
    assert 10 * torch.log10(values.square().mean() / noise) == pytest.approx(
        20 * np.log10(255) + 10 * np.log10(12 / 3), abs=0.1
    )


def test_the_product_with_an_outlier_channel_is_the_worst():
    model = TwoLayers().eval()
    with torch.no_grad():
        # One channel a thousand times wider than the others, undone by the reader: the same function.
        model.first.weight[3] *= 1000
        model.first.bias[3] *= 1000
        model.second.weight[:, 3] /= 1000
    found = audit_products(model, encoded(8), RECIPE)
    worst = found.worst_first()[0]
    losses = {loss.role: loss.sqnr_db for loss in worst.tensors}
    calm = audit_products(TwoLayers().eval(), encoded(8), RECIPE)
    assert worst.rms_logit > 20 * calm.worst_first()[0].rms_logit
    assert losses
    assert (
        audit_products(model, encoded(8), recipes.RECIPES["tflite-int16x8"]).rms_logit < found.rms_logit / 5
    )


def test_the_audit_leaves_out_what_the_file_keeps_float():
    """Attention's products, and the layer that reads words side by side: found in both by what was joined."""
    graph = TfliteGraph.read(small_matcher.artefact("tflite", "none") / "model.tflite")
    attention = [op for op in products(graph) if graph.kind(op) == "BATCH_MATMUL"]
    floats = {id(product) for product in (*attention, *embedding_layers(graph))}
    in_file = {number for number, product in enumerate(products(graph)) if id(product) in floats}
    directory = small_matcher.model_directory()
    encoded_pairs = PairTokenizer.load(directory).encode(samples.calibration_pairs()[:4], 32)
    found = audit_products(mobilebert_models.load_pretrained(directory), encoded_pairs, RECIPE)
    left_out = set(range(found.computed - 1)) - {product.number for product in found.products}
    assert left_out == in_file
    assert len(in_file) == 2 * small_matcher.CONFIG.num_hidden_layers + 1


def test_an_embedding_matchers_head_is_audited():
    """Its layers join two states of a word, which attention precedes: none of them stays in float."""
    model = matcher()
    left, right = texts(2)
    encoded_pair = {name: tensor.numpy() for name, tensor in packed(left, right, 40).items()}
    found = audit_products(model, encoded_pair, RECIPE)
    audited = {product.name: product.kind for product in found.products}
    assert audited["head.context"] == audited["head.matter"] == "linear"
    assert "embedding" not in audited.values()


def losses(count):
    return [
        ProductLoss(number, f"p{number}", "linear", 8, (), 1.0 - number / 100, 0.0) for number in range(count)
    ]


@pytest.mark.parametrize("needed", [1, 2, 3, 5, 11])
def test_the_fewest_products_that_meet_the_budget_go_back(monkeypatch, needed):
    written = [()]
    monkeypatch.setattr(
        "mobilebert_export.verification.accuracy_budget.accuracy",
        lambda folder, labelled: 80.0 if folder == "plain" or len(written[-1]) >= needed else 70.0,
    )
    labelled = LabelledPairs([("a", "b")] * 4, np.zeros(4, int))
    found = meet_budget("plain", "int8", written.append, lambda: losses(11), AccuracyGoal(labelled, 0.2))
    assert len(found.kept_float) == len(written[-1]) == needed
    assert found.kept_float[0] == "p0 (linear)"
    assert (found.float32_accuracy, found.accuracy_before, found.accuracy) == (80.0, 70.0, 80.0)


def test_a_budget_that_is_met_changes_nothing_and_one_out_of_reach_fails(monkeypatch):
    labelled = LabelledPairs([("a", "b")] * 4, np.zeros(4, int))
    monkeypatch.setattr(
        "mobilebert_export.verification.accuracy_budget.accuracy",
        lambda folder, _: {"plain": 80.0, "int8": 79.9}[folder],
    )
    found = meet_budget("plain", "int8", pytest.fail, pytest.fail, AccuracyGoal(labelled, 0.2))
    assert found.kept_float == ()
    with pytest.raises(VerificationError, match="all 11 products in float") as caught:
        meet_budget("plain", "int8", lambda _: None, lambda: losses(11), AccuracyGoal(labelled, 0.05))
    assert caught.value.exit_code == 1


def adversarial(folder):
    """The small matcher with a network that matters more; four of its hidden channels 3,000 times wider."""
    model = mobilebert_models.load_pretrained(small_matcher.model_directory())
    layer = model.encoder.layers[1]
    with torch.no_grad():
        layer.output.dense.weight *= 30
        # The reader undoes the widening: in float the function is the same with and without.
        layer.intermediate.dense.weight[:4] *= 3000
        layer.intermediate.dense.bias[:4] *= 3000
        layer.output.dense.weight[:, :4] /= 3000
    settings = mobilebert_models.MatcherSettings(threshold=0.0)
    mobilebert_models.save_pretrained(
        model, folder, tokenizer_from=str(small_matcher.model_directory()), settings=settings
    )
    return folder


def test_an_export_with_adversarial_ranges_is_repaired_and_says_how(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "mobilebert_export.verification.decision_changes.MAX_CHANGED", 1.0
    )  # the budget alone decides
    monkeypatch.setattr("mobilebert_export.verification.decision_changes.MAX_CLEAR_CHANGED", 1.0)
    directory = adversarial(tmp_path / "model")
    pairs = samples.verification_pairs()
    tokenizer = PairTokenizer.load(directory)
    encoded_pairs = tokenizer.encode(pairs, small_matcher.SEQ_LEN)
    logits = reference_logits(mobilebert_models.load_pretrained(directory), encoded_pairs)
    # The float model's own decisions are the labels, at a threshold in the widest gap of the middle.
    margins = np.sort(logits[:, 1] - logits[:, 0])
    middle = np.arange(len(pairs) // 4, 3 * len(pairs) // 4)
    gap = middle[np.argmax(np.diff(margins)[middle])]
    border = (margins[gap] + margins[gap + 1]) / 2
    mobilebert_models.MatcherSettings(threshold=float(1 / (1 + np.exp(-border)))).save(directory)
    rows = "".join(
        f"{int(right - wrong > border)}\t{a}\t{b}\n"
        for (wrong, right), (a, b) in zip(logits, pairs, strict=True)
    )
    (tmp_path / "labelled.tsv").write_text("label\ttext_a\ttext_b\n" + rows)
    report = small_matcher.report(
        "tflite",
        "int8",
        tmp_path / "out",
        model=str(directory),
        buckets=(small_matcher.SEQ_LEN,),
        simplify=False,  # equalisation would undo what was done to this network
        max_accuracy_drop=1.5,
        pairs=tmp_path / "labelled.tsv",
    )
    budget = report["budget"]
    assert budget["float32_accuracy"] - budget["accuracy_before"] > 1.5
    assert budget["float32_accuracy"] - budget["accuracy"] <= 1.5
    assert any("layer.1" in name for name in budget["kept_float"])
    assert 0 < len(budget["kept_float"]) < budget["products"] / 2
    assert json.loads((tmp_path / "out" / "recipe.json").read_text())["budget"] == budget
    assert budget["kept_float"][0] in (tmp_path / "out" / "report.md").read_text()


def test_the_command_writes_json_and_a_picture(tmp_path, capsys):
    arguments = ["quantize-audit", str(small_matcher.model_directory()), "--out", str(tmp_path / "audit")]
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--seq-len", "32", "--limit", "16"])
    assert not done.value.code
    assert "rms" in capsys.readouterr().out
    data = json.loads((tmp_path / "audit" / "audit.json").read_text())
    errors = [product["rms_logit"] for product in data["products"]]
    assert errors == sorted(errors, reverse=True)
    assert data["pairs"] == 16
    assert (tmp_path / "audit" / "audit.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 2
