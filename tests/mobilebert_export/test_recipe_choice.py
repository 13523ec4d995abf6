"""int8 takes the fastest recipe that passes verification, and says what became of the faster ones."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from mobilebert_export import samples
from mobilebert_export.pipeline.recipe_choice import Written, choose, recipes_of
from mobilebert_export.verification.decision_changes import DecisionChanges
from mobilebert_export.verification.verify import Verification, VerificationError
from mobilebert_models import build
from mobilebert_models.weights.four_bit import four_bit_layers
from mobilebert_quantize import recipes
from mobilebert_quantize.calibration_data import encode_calibration
from mobilebert_quantize.onnx.int8 import quantize_onnx
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_quantize.tflite.int8 import products, quantize_tflite
from mobilebert_quantize.weight_rounding import FOUR, round_weights
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher
from tests.helpers.tiny_networks import encoded, randomise, tiny
from tests.models.test_embedding_matcher import MOBILEBERT, matcher

INT8 = recipes.RECIPES["tflite-int8"]


def result(*failures):
    return Verification(300, 0.1, 0.9, 0.0, 0.9, INT8.tolerance, failures)


def choice(passes, first=INT8, write=lambda recipe: Written()):
    said, tried = [], []

    def check(recipe):
        tried.append(recipe.name)
        return result() if recipe.name == passes else result(f"{recipe.name} is bad")

    tried_in_turn = recipes.recipes_to_try(first)
    made = choose(tried_in_turn, write, check, Path("out"), said.append)
    return made, tried, "\n".join(said)


def test_the_first_recipe_that_passes_is_taken_and_no_slower_one_is_tried():
    orders = (
        ["tflite-int8", "tflite-int8-mixed", "tflite-int8-dynamic", "tflite-int8-dynamic-mixed"],
        [
            "onnx-int8",
            "onnx-int8-mixed",
            "onnx-int8-mixed-strict",
            "onnx-int8-dynamic",
            "onnx-int8-dynamic-mixed",
        ],
    )
    for order in orders:
        for place, passes in enumerate(order):
            names = order[: place + 1]
            made, tried, said = choice(passes, recipes.RECIPES[order[0]])
            assert tried == names
            assert made.recipe.name == passes
            assert [one.recipe for one in made.rejected] == names[:-1]
            assert said.count("does not pass") == len(names) - 1


def changes(p99):
    return DecisionChanges(2000, 2, 90, 0, (0.0, 0.0), 0.002, 0.01, p99, 0.3)


def choice_by_room(first, p99, changed=None):
    """`p99` and decisions `changed` of 2,000 by recipe: all pass, with more or less room, but for None."""
    said, written = [], []

    def write(recipe):
        written.append(recipe.name)
        return Written()

    def check(recipe):
        found = p99[recipe.name]
        if found is None:
            return result("is bad")
        return result().with_decisions(replace(changes(found), changed=(changed or {}).get(recipe.name, 2)))

    made = choose(recipes.recipes_to_try(first), write, check, Path("out"), said.append)
    return made, written, "\n".join(said)


def test_a_recipe_with_little_room_gives_way_to_one_with_more():
    p99 = {"onnx-int8": 0.15, "onnx-int8-mixed": 0.09, "onnx-int8-mixed-strict": 0.05}
    made, written, said = choice_by_room(recipes.RECIPES["onnx-int8"], p99)
    assert made.recipe.name == written[-1] == "onnx-int8-mixed-strict"
    assert [one.recipe for one in made.rejected] == ["onnx-int8", "onnx-int8-mixed"]
    assert "onnx-int8 passes with little margin: 99th percentile of |Δlogit| 0.150, above 0.07" in said


def test_where_none_has_room_the_first_of_equal_ones_is_taken_and_layers_stay_integer():
    p99 = {
        "onnx-int8": None,
        "onnx-int8-mixed": 0.12,
        "onnx-int8-mixed-strict": 0.1,
        "onnx-int8-dynamic": 0.11,
    }
    made, written, said = choice_by_room(recipes.RECIPES["onnx-int8"], p99)
    assert made.recipe.name == written[-1] == "onnx-int8-mixed", "the files are those of the recipe"
    assert written.count("onnx-int8-mixed") == 2
    assert [one.recipe for one in made.rejected] == [
        "onnx-int8",
        "onnx-int8-mixed-strict",
        "onnx-int8-dynamic",
    ]
    assert "onnx-int8-mixed is used" in said


@pytest.mark.parametrize(
    ("changed", "taken"),
    [((23, 18, 12), "onnx-int8-dynamic"), ((23, 12, 18), "onnx-int8-mixed-strict"), ((12, 12, 18), None)],
)
def test_where_none_has_room_the_one_that_changes_the_fewest_decisions_is_taken(changed, taken):
    names = ["onnx-int8-mixed", "onnx-int8-mixed-strict", "onnx-int8-dynamic"]
    p99 = {"onnx-int8": None} | dict.fromkeys(names, 0.06)
    by_name = dict(zip(names, changed, strict=True))
    made, written, said = choice_by_room(recipes.RECIPES["onnx-int8"], p99, by_name)
    taken = taken or names[0]  # the faster of equal ones
    assert made.recipe.name == written[-1] == taken
    assert [one.recipe for one in made.rejected] == ["onnx-int8", *(name for name in names if name != taken)]
    assert written.count(taken) == (1 if taken == names[-1] else 2)
    assert (f"{taken} is used" in said) == (taken != names[-1])


def test_what_leaves_room_changes_few_decisions_and_logits_little():
    assert changes(0.07).thin == ()
    assert len(changes(0.071).thin) == 1
    assert len(replace(changes(0.3), changed=9).thin) == 2


def test_where_none_passes_every_recipe_is_named_with_its_failures():
    with pytest.raises(VerificationError, match="300 pairs") as caught:
        choice(None)
    for name in ("tflite-int8", "tflite-int8-mixed", "tflite-int8-dynamic", "tflite-int8-dynamic-mixed"):
        assert f"{name}: {name} is bad" in str(caught.value)


def test_a_recipe_asked_for_by_name_is_never_replaced():
    for name in ("tflite-dynamic", "tflite-none", "tflite-static", "tflite-int16x8", "onnx-dynamic"):
        with pytest.raises(VerificationError, match="is bad"):
            choice(None, recipes.RECIPES[name])


def test_a_recipe_that_misses_the_accuracy_budget_is_rejected_as_one_that_fails():
    def write(recipe):
        if recipe.name == "tflite-int8":
            raise VerificationError("accuracy falls")
        return Written()

    made, _, _ = choice("tflite-int8-dynamic", write=write)
    assert made.rejected[0].failures == ("accuracy falls",)


def test_every_fallback_keeps_the_quantisation_and_the_tolerance_asked_for():
    for first in (INT8, recipes.RECIPES["onnx-int8"]):
        to_try = recipes.recipes_to_try(first)
        assert len({recipe.name for recipe in to_try}) == len(to_try) > 1
        assert {recipe.quant for recipe in to_try} == {"int8"}
        assert {recipe.tolerance for recipe in to_try} == {first.tolerance}


def of_four_bits():
    """A network with layers on a grid of four bits, and how many they are."""
    network = randomise(build(tiny("bert-base"))).eval()
    network = round_weights(network, encoded(2), FOUR).network
    return network, len(four_bit_layers(network))


def test_four_bit_weights_are_tried_with_recipes_that_keep_them_alone():
    network, layers = of_four_bits()
    assert layers > 1
    tried, left_out = recipes_of(network, INT8, budget=False)
    assert [one.name for one in tried] == ["tflite-int8-dynamic", "tflite-int8-dynamic-mixed"]
    assert [(one.recipe, one.outcome) for one in left_out] == [
        ("tflite-int8", "is not tried"),
        ("tflite-int8-mixed", "is not tried"),
    ]
    for one in left_out:
        assert f"four-bit weights of {layers} linear layers" in one.failures[0]


@pytest.mark.parametrize("architecture", ["bert-base", "mobilebert"])
def test_dynamic_ranges_among_static_ones_are_for_networks_without_layer_norm(architecture):
    tried, left_out = recipes_of(randomise(build(tiny(architecture))), INT8, budget=False)
    if architecture == "mobilebert":
        assert (tried, left_out) == (recipes.recipes_to_try(INT8), ())
        return
    assert [one.recipe for one in left_out] == ["tflite-int8-mixed"]
    assert "has LayerNorm" in left_out[0].failures[0]
    assert tried == all_but("tflite-int8-mixed")


def test_a_matcher_of_vectors_keeps_its_packed_graph_unless_static_ranges_are_asked_for_by_name_or_a_budget():
    network = matcher(MOBILEBERT, head="learned_matcher")
    tried, left_out = recipes_of(network, INT8, budget=False)
    assert [one.name for one in tried] == ["tflite-int8-dynamic", "tflite-int8-dynamic-mixed"]
    assert [one.recipe for one in left_out] == ["tflite-int8", "tflite-int8-mixed"]
    assert all("ranks candidates" in one.failures[0] for one in left_out)
    assert recipes_of(network, INT8, budget=True)[0] == recipes.recipes_to_try(INT8)
    for name in ("tflite-static", "onnx-int8"):
        asked = recipes.RECIPES[name]
        assert recipes_of(network, asked, budget=False) == (recipes.recipes_to_try(asked), ())


def all_but(name):
    return tuple(recipe for recipe in recipes.recipes_to_try(INT8) if recipe.name != name)


@pytest.mark.parametrize(
    "name", ["tflite-static", "tflite-dynamic", "tflite-int16x8", "onnx-int8", "onnx-static"]
)
def test_four_bit_weights_are_tried_with_what_was_asked_for_where_no_recipe_keeps_them_or_all_do(name):
    asked = recipes.RECIPES[name]
    assert recipes_of(of_four_bits()[0], asked, budget=False) == (recipes.recipes_to_try(asked), ())


def test_under_an_accuracy_budget_four_bit_weights_are_tried_with_static_ranges():
    tried, left_out = recipes_of(of_four_bits()[0], INT8, budget=True)
    assert [one.recipe for one in left_out] == ["tflite-int8-mixed"]
    assert tried == all_but("tflite-int8-mixed")


def variant(name):
    return {recipe.name: recipe for tried in recipes.FALLBACKS.values() for recipe in tried}[name]


@pytest.fixture(scope="module")
def calibration():
    matcher = Matcher.load(small_matcher.artefact("tflite", "none"))
    return encode_calibration(samples.calibration_pairs(), matcher.tokenizer, small_matcher.SEQ_LEN)


def test_noisy_linear_layers_of_onnx_get_dynamic_ranges_and_all_others_stay_static(tmp_path, calibration):
    """What the forms say is what the file holds."""
    mixed = variant("onnx-int8-mixed")
    source = small_matcher.artefact("onnx", "none") / "model.onnx"
    every = quantize_onnx(source, tmp_path / "a.onnx", replace(mixed, noise_limit_db=None), calibration)
    assert {form.form for form in every} == {"static"}
    limit = float(np.median([form.sqnr_db for form in every]))
    kept = every[0].number
    path = tmp_path / "b.onnx"
    forms = quantize_onnx(source, path, replace(mixed, noise_limit_db=limit), calibration, [kept])
    made = {}
    for node in onnx.load(path).graph.node:
        if node.op_type in ("MatMulIntegerToFloat", "QLinearConv"):
            made[node.name] = "dynamic" if node.input[0].endswith(".rows") else "static"
    assert {form.name: form.form for form in forms if form.form != "float"} == made
    assert {form.number for form in forms if form.form == "float"} == {kept}
    for form in forms[1:]:
        assert form.form == ("static" if form.sqnr_db >= limit else "dynamic")
    assert set(made.values()) == {"static", "dynamic"}


def test_what_is_only_added_to_floats_has_dynamic_ranges_and_is_not_rounded(tmp_path, calibration):
    """Against the file: static layers read and give int8, the others float."""
    mixed, static = variant("tflite-int8-mixed"), recipes.RECIPES["tflite-int8"]
    source = small_matcher.artefact("tflite", "none") / "model.tflite"
    made = tmp_path / "made.tflite"
    forms = quantize_tflite(source, made, mixed, calibration)
    every = quantize_tflite(source, tmp_path / "static.tflite", static, calibration)
    assert {form.form for form in every} == {"static"}
    # MobileBERT's embedding layer, the first product, is among them: float in a static file.
    assert [form.number for form in forms] == [0, *(form.number for form in every)]
    assert forms[0].form == "dynamic"
    graph, kinds = TfliteGraph.read(made), types_by_tensor(made)
    in_file = products(graph)
    dynamic = {form.name for form in forms if form.form == "dynamic"}
    for number in range(small_matcher.CONFIG.num_hidden_layers):
        # The bottleneck's input, attention's output and the layer's own.
        layer = f"Layer_{number}/"
        own = sorted(name.partition(layer)[2] for name in dynamic if layer in name)
        assert [name.partition("/")[0] for name in own] == [
            "Projection_bottleneck",
            "Projection_output",
            "_Bottleneck_bottleneck",
        ]
    for form in forms:
        op = in_file[form.number]
        wanted = "int8" if form.form == "static" else "float32"
        assert {kinds[int(op.inputs[0])], kinds[int(op.outputs[0])]} == {wanted}
        assert kinds[int(op.inputs[1])] == "int8"
    assert {graph.version(op) for op in in_file if graph.kind(op) == "FULLY_CONNECTED"} >= {12}


def types_by_tensor(path):
    from ai_edge_litert.interpreter import Interpreter

    details = Interpreter(str(path)).get_tensor_details()
    return {detail["index"]: np.dtype(detail["dtype"]).name for detail in details}


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_noisy_layers_among_dynamic_ones_stay_float(tmp_path, calibration, target):
    last = variant(f"{target}-int8-dynamic-mixed")
    quantise = {"tflite": quantize_tflite, "onnx": quantize_onnx}[target]
    source = small_matcher.artefact(target, "none") / f"model.{target}"
    made = tmp_path / f"made.{target}"
    every = quantise(source, made, replace(last, noise_limit_db=-1000.0), calibration)
    assert {form.form for form in every} == {"dynamic"}
    limit = float(np.median([form.sqnr_db for form in every]))
    forms = quantise(source, made, replace(last, noise_limit_db=limit), calibration)
    assert {form.number for form in forms if form.form == "float"} == {
        form.number for form in every if form.sqnr_db < limit
    }
    floats = {form.number for form in forms if form.form == "float"}
    assert 0 < len(floats) < len(forms)
    if target == "onnx":
        kept = {node.output[0] for node in onnx.load(made).graph.node if node.op_type in ("MatMul", "Gemm")}
        assert kept >= {form.name for form in forms if form.form == "float"}
        assert not kept & {form.name for form in forms if form.form == "dynamic"}
        return
    kinds, in_file = types_by_tensor(made), products(TfliteGraph.read(made))
    for form in forms:
        weights = kinds[int(in_file[form.number].inputs[1])]
        assert weights == ("float32" if form.number in floats else "int8")


@pytest.mark.parametrize("bias", [True, False])
def test_a_row_of_onnx_has_a_range_of_its_own(tmp_path, bias):
    """Against the definition in float64: each row rounded to 255 steps of its range, weights to 7 bits."""
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime import InferenceSession

    random = np.random.default_rng(5)
    matrix = random.normal(size=(24, 10)).astype(np.float32)
    shift = random.normal(size=10).astype(np.float32)
    rows = random.normal(size=(2, 6, 24)) * 10.0 ** random.integers(-2, 3, (2, 6, 1))
    rows[0, 0], rows[0, 1], rows[1, 2] = 0.0, 3.5, np.abs(rows[1, 2])  # constant rows, and one-sided ones
    rows = rows.astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "matrix"], ["product" if bias else "y"])]
    if bias:
        nodes.append(helper.make_node("Add", ["product", "shift"], ["y"]))
    nodes.append(helper.make_node("MatMul", ["y", "last"], ["z"]))  # the last product stays float
    tensors = {"matrix": matrix, "shift": shift, "last": np.eye(10, dtype=np.float32)}
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 6, 24])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [None, 6, 10])],
        [numpy_helper.from_array(values, name) for name, values in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "float.onnx")
    recipe = recipes.RECIPES["onnx-dynamic"]
    assert quantize_onnx(tmp_path / "float.onnx", tmp_path / "int8.onnx", recipe, None) == ()
    session = InferenceSession(tmp_path / "int8.onnx", providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": rows})[0]

    steps = np.abs(matrix.astype(np.float64)).max(0) / 64
    weights = np.round(matrix / steps) * steps
    low = rows.astype(np.float64).min(-1, keepdims=True)
    span = rows.astype(np.float64).max(-1, keepdims=True) - low
    unit = np.divide(rows - low, span, out=np.zeros(rows.shape), where=span > 0)
    rounded = low + np.round(unit * 255) / 255 * span
    expected = rounded @ weights + (shift if bias else 0)
    # A value that lies half way between two steps may go to either in float32.
    scale = np.abs(expected).max(-1, keepdims=True) + span
    assert np.max(np.abs(found - expected) / np.maximum(scale, 1)) < 5e-3
    assert np.median(np.abs(found - expected) / np.maximum(scale, 1)) < 1e-6


@pytest.mark.slow
def test_an_artefact_made_by_a_fallback_says_so(tmp_path, monkeypatch):
    """The first recipe is made to fail; io.json, recipe.json and the report are those of the second."""
    from mobilebert_export.verification import artefact_check

    real = artefact_check.verify

    def verify(model, artefact, texts, tolerance, known):
        calls.append(len(known))
        found = real(model, artefact, texts, tolerance, known)
        return result("made to fail") if len(calls) == 1 else found

    calls = []
    monkeypatch.setattr(artefact_check, "verify", verify)
    report = small_matcher.report("tflite", "int8", tmp_path / "out")
    card, recipe = (json.loads((tmp_path / "out" / name).read_text()) for name in ("io.json", "recipe.json"))
    assert calls == [0, len(card["buckets"])], "PyTorch's outputs are known the second time"
    assert report["recipe"] == recipe["recipe"]["name"] == "tflite-int8-mixed"
    assert recipe["tried"] == report["recipes_tried"]
    found = {"recipe": "tflite-int8", "failures": ["made to fail"], "outcome": "does not pass"}
    assert recipe["tried"] == [found]
    assert card["quant"] == "int8"
    assert card["minimum_runtime"] == recipe["recipe"]["minimum_runtime"] == {"tflite": "2.18"}
    assert "tflite-int8 does not pass: made to fail." in (tmp_path / "out" / "report.md").read_text()
