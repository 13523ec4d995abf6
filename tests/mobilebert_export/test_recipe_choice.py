"""int8 takes the fastest recipe that passes verification, and says what became of the faster ones."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from mobilebert_export import samples
from mobilebert_export.recipe_choice import Checked, Written, choose
from mobilebert_export.verification import Verification, VerificationError
from mobilebert_runtime.matcher import Matcher
from quantize import recipes
from quantize.calibration_data import encode_calibration
from quantize.onnx_int8 import quantize_onnx
from quantize.tflite_graph import TfliteGraph
from quantize.tflite_int8 import products, quantize_tflite
from tests.helpers import small_matcher

INT8 = recipes.RECIPES["tflite-int8"]


def result(*failures):
    return Verification(300, 0.1, 0.9, 0.9, INT8.tolerance, failures)


def choice(passes, first=INT8, write=lambda recipe: Written()):
    said, tried = StringIO(), []

    def check(recipe):
        tried.append(recipe.name)
        return Checked(result() if recipe.name == passes else result(f"{recipe.name} is bad"))

    made = choose(first, write, check, Path("out"), Console(file=said, width=200))
    return made, tried, said.getvalue()


def test_the_first_recipe_that_passes_is_taken_and_no_slower_one_is_tried():
    for passes, names in {
        "tflite-int8": ["tflite-int8"],
        "tflite-int8-mixed": ["tflite-int8", "tflite-int8-mixed"],
        "tflite-int8-mixed-28db": ["tflite-int8", "tflite-int8-mixed", "tflite-int8-mixed-28db"],
        "tflite-int8-dynamic": [
            "tflite-int8",
            "tflite-int8-mixed",
            "tflite-int8-mixed-28db",
            "tflite-int8-dynamic",
        ],
    }.items():
        made, tried, said = choice(passes)
        assert tried == names
        assert made.recipe.name == passes
        assert [one.recipe for one in made.rejected] == names[:-1]
        assert said.count("does not pass") == len(names) - 1


def test_where_none_passes_every_recipe_is_named_with_its_failures():
    with pytest.raises(VerificationError, match="300 pairs") as caught:
        choice(None)
    for name in ("tflite-int8", "tflite-int8-mixed", "tflite-int8-mixed-28db", "tflite-int8-dynamic"):
        assert f"{name}: {name} is bad" in str(caught.value)


def test_a_recipe_asked_for_by_name_is_never_replaced():
    for name in ("tflite-dynamic", "tflite-none", "tflite-int16x8", "onnx-dynamic"):
        with pytest.raises(VerificationError, match="is bad"):
            choice(None, recipes.RECIPES[name])


def test_a_recipe_that_misses_the_accuracy_budget_is_rejected_as_one_that_fails():
    def write(recipe):
        if recipe.name == "tflite-int8":
            raise VerificationError("accuracy falls")
        return Written()

    made, _, _ = choice("tflite-int8-mixed", write=write)
    assert made.rejected[0].failures == ("accuracy falls",)


def test_every_fallback_keeps_the_quantisation_and_the_tolerance_asked_for():
    for first in (INT8, recipes.RECIPES["onnx-int8"]):
        to_try = recipes.recipes_to_try(first)
        assert len({rung.name for rung in to_try}) == 4
        assert {rung.quant for rung in to_try} == {"int8"}
        assert {rung.tolerance for rung in to_try} == {first.tolerance}


@pytest.fixture(scope="module")
def calibration():
    matcher = Matcher.load(small_matcher.artefact("tflite", "none"))
    return encode_calibration(samples.calibration_pairs(), matcher.tokenizer, small_matcher.SEQ_LEN)


def test_noisy_linear_layers_get_dynamic_ranges_and_all_others_stay_static(tmp_path, calibration):
    """What the forms say is what the file holds: float inputs of dynamic products, int8 ones of static."""
    from dataclasses import replace

    from ai_edge_litert.interpreter import Interpreter

    mixed = recipes.FALLBACKS["tflite-int8"][0]
    source = small_matcher.artefact("tflite", "none") / "model.tflite"
    every = quantize_tflite(source, tmp_path / "a.tflite", replace(mixed, noise_limit_db=None), calibration)
    assert {form.form for form in every} == {"static"}
    limit = float(np.median([form.sqnr_db for form in every]))
    path = tmp_path / "mixed.tflite"
    forms = quantize_tflite(source, path, replace(mixed, noise_limit_db=limit), calibration)
    graph, interpreter = TfliteGraph.read(path), Interpreter(str(path))
    kinds = {detail["index"]: np.dtype(detail["dtype"]).name for detail in interpreter.get_tensor_details()}
    in_file = products(graph)
    expected = {"static": ("int8", "int8"), "dynamic": ("float32", "int8"), "float": ("float32", "float32")}
    for form in forms:
        op = in_file[form.number]
        assert form.form == ("static" if form.sqnr_db >= limit else form.form)
        assert (kinds[int(op.inputs[0])], kinds[int(op.inputs[1])]) == expected[form.form], form
    assert {form.form for form in forms} >= {"static", "dynamic"}
    from mobilebert_export.tflite_writer import describe_tflite

    found = describe_tflite(path)
    assert found["xnnpack"]["partitions"] == 1
    assert set(found["xnnpack"]["left_out"]) <= {"EMBEDDING_LOOKUP", "RESHAPE", "CAST", "DEQUANTIZE"}
    assert found["versions"]["FULLY_CONNECTED"] >= 12, "runtimes that misread it must refuse it"


def test_noisy_linear_layers_of_onnx_stay_float(tmp_path, calibration):
    from dataclasses import replace

    import onnx

    mixed = recipes.FALLBACKS["onnx-int8"][0]
    source = small_matcher.artefact("onnx", "none") / "model.onnx"
    every = quantize_onnx(source, tmp_path / "a.onnx", mixed, calibration)
    limit = float(np.median([form.sqnr_db for form in every]))
    forms = quantize_onnx(source, tmp_path / "b.onnx", replace(mixed, noise_limit_db=limit), calibration)
    integer = [node for node in onnx.load(tmp_path / "b.onnx").graph.node if node.domain == "com.microsoft"]
    static = [form.name for form in forms if form.form == "static"]
    assert 0 < len(static) < len(forms)
    assert {name.removesuffix(".weight") for node in integer for name in [node.input[1]]} == set(static)


@pytest.mark.slow
def test_an_artefact_made_by_a_fallback_says_so(tmp_path, monkeypatch):
    """The first recipe is made to fail; io.json, recipe.json and the report are those of the second."""
    from mobilebert_export import exporter

    real = exporter.verify

    def verify(model, matcher, pairs, tolerance):
        calls.append(tolerance)
        return result("made to fail") if len(calls) == 1 else real(model, matcher, pairs, tolerance)

    calls = []
    monkeypatch.setattr(exporter, "verify", verify)
    report = small_matcher.report("tflite", "int8", tmp_path / "out")
    card, recipe = (json.loads((tmp_path / "out" / name).read_text()) for name in ("io.json", "recipe.json"))
    assert report["recipe"] == recipe["recipe"]["name"] == "tflite-int8-mixed"
    assert recipe["tried"] == report["recipes_tried"]
    assert recipe["tried"] == [{"recipe": "tflite-int8", "failures": ["made to fail"]}]
    assert card["quant"] == "int8"
    assert card["minimum_runtime"] == recipe["recipe"]["minimum_runtime"] == {"tflite": "2.18"}
    assert "tflite-int8 did not pass: made to fail." in (tmp_path / "out" / "report.md").read_text()
