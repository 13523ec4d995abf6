"""Promise of `mobilebert export` for Kronecker models: either form answers as PyTorch does, and is told."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

import mobilebert_models
from mobilebert_export import samples
from mobilebert_export.command_line.program import main
from mobilebert_export.verification.network_outputs import reference_logits
from mobilebert_models.kronecker.factor_shapes import low_rank_rules, shape_rules
from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding, KroneckerLinear
from mobilebert_quantize.recipes import find_recipe
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher
from tests.helpers.texts import MINILM

pytestmark = pytest.mark.slow

LENGTH = 32
CONFIG = mobilebert_models.EncoderConfig(
    hidden_size=48,
    num_hidden_layers=1,
    num_attention_heads=4,
    intermediate_size=96,
    max_position_embeddings=64,
)
RULES = {
    "kronecker": shape_rules(CONFIG, (24, 24), (8, 2), 6),
    "low-rank": low_rank_rules(CONFIG, 12, 16),
}


@functools.cache
def directory(rules):
    """Random factors, large enough that answers differ from pair to pair; all get one label (threshold 0)."""
    model = mobilebert_models.build(replace(CONFIG, kronecker=RULES[rules]), seed=0)
    for name, part in model.encoder.named_modules():
        if isinstance(part, KroneckerEmbedding):
            part.initialise(0.3)
        elif isinstance(part, KroneckerLinear):
            reads_context = "value" in name or "attention.output" in name
            part.initialise((3.0 if reads_context else 1.0) * CONFIG.hidden_size**-0.5)
    with torch.no_grad():
        model.encoder.pooler.dense.weight.mul_(5)
        model.classifier.weight.mul_(10)
    folder = small_matcher.scratch() / f"kronecker-{rules}"
    settings = mobilebert_models.MatcherSettings(threshold=0.0)
    mobilebert_models.save_pretrained(model, folder, tokenizer_from=MINILM, settings=settings)
    return folder


@functools.cache
def exported(rules, target, quant, form):
    """The artefact and its report; the export itself has compared 200 pairs with PyTorch."""
    out = small_matcher.scratch() / f"{rules}-{target}-{quant}-{form}"
    options = {"model": str(directory(rules)), "seq_len": LENGTH, "buckets": (LENGTH,), "kronecker": form}
    report = small_matcher.report(target, quant, out, **options)
    return out, report


def logits(folder):
    matcher = Matcher.load(folder)
    return matcher.logits_of(matcher.tokenizer.encode(samples.verification_pairs()[:24], LENGTH))


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_float_files_of_both_forms_equal_pytorch(target):
    network = mobilebert_models.load_pretrained(directory("kronecker"))
    found = []
    for form in ("factored", "materialised"):
        folder, report = exported("kronecker", target, "none", form)
        assert {layer["form"] for layer in report["kronecker"]} == {form}
        assert report["verification"]["max_abs_logit"] <= find_recipe(target, "none").tolerance.max_abs_logit
        found.append(logits(folder))
        encoded = Matcher.load(folder).tokenizer.encode(samples.verification_pairs()[:24], LENGTH)
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)
    np.testing.assert_allclose(found[0], reference_logits(network, encoded), atol=1e-4)
    sizes = [
        exported("kronecker", target, "none", f)[1]["bytes"]["model"] for f in ("factored", "materialised")
    ]
    assert sizes[0] < 0.3 * sizes[1]


@pytest.mark.parametrize(
    ("rules", "target", "quant"),
    [("kronecker", "tflite", "int8"), ("low-rank", "onnx", "int8"), ("low-rank", "onnx", "dynamic")],
)
def test_int8_files_of_factors_pass_their_recipes_tolerance(rules, target, quant):
    """Of factors with ranges by row one reads what the other makes: each tensor needs a name of its own."""
    folder, report = exported(rules, target, quant, "factored")
    assert report["verification"]["passed"]
    assert report["bytes"]["model"] < 0.5 * report["bytes"]["float32"]
    assert len(report["kronecker"]) == 1 + 6
    assert "multiplied out" in (folder / "report.md").read_text()


def test_both_factors_and_what_lies_between_are_int8_and_no_product_has_a_batch_axis():
    folder, _ = exported("kronecker", "tflite", "int8", "factored")
    graph = TfliteGraph.read(folder / "model.tflite")
    linear = [op for op in graph.operators if graph.kind(op) == "FULLY_CONNECTED"]
    # Two for each of 6 factored layers, pooler and classifier; attention has the only matrix products.
    assert len(linear) == 2 * 6 + 2
    assert sum(graph.kind(op) == "BATCH_MATMUL" for op in graph.operators) == 2
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(folder / "model.tflite"), experimental_preserve_all_tensors=True)
    details = {detail["name"]: detail for detail in interpreter.get_tensor_details()}
    for op in linear[:-1]:
        kinds = {np.dtype(details[graph.name(t)]["dtype"]).name for t in (*op.inputs[:2], *op.outputs)}
        assert kinds == {"int8"}
        scales = details[graph.name(op.inputs[1])]["quantization_parameters"]["scales"]
        assert len(scales) == details[graph.name(op.inputs[1])]["shape"][0], "one scale per output channel"
    tables = [d for d in details.values() if d["dtype"] == np.int8 and d["shape"][0] == CONFIG.vocab_size]
    assert {tuple(d["shape"]) for d in tables} == {(CONFIG.vocab_size, 6)}, "words stay factored, in int8"


def test_auto_takes_the_faster_form_by_the_cost_model_of_its_recipe():
    _, report = exported("low-rank", "onnx", "int8", "auto")
    for layer in report["kronecker"]:
        if "word_embeddings" in layer["name"]:
            assert layer["form"] == "factored"
        else:
            faster = layer["factored_us"] < layer["materialised_us"]
            assert layer["form"] == ("factored" if faster else "materialised")


def test_unknown_form_and_a_model_without_kronecker_layers_are_errors(tmp_path, capsys):
    for model, form, message in (
        (directory("kronecker"), "fast", "fast: unknown; expected one of auto, factored, materialised"),
        (small_matcher.model_directory(), "factored", "has no Kronecker layers"),
    ):
        with pytest.raises(SystemExit) as end:
            main(
                [
                    "export",
                    "--model",
                    str(model),
                    "--kronecker",
                    form,
                    "--seq-len",
                    "32",
                    "--out",
                    str(tmp_path / "a"),
                ]
            )
        assert end.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())
        assert not (tmp_path / "a").exists()
