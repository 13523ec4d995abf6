"""A static linear layer that is only read in 8 bits makes them itself, as ONNX Runtime's convolution."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from mobilebert_quantize.onnx.int8 import quantise_columns, quantize_onnx
from mobilebert_quantize.recipes import RECIPES

INNER, WIDE = 12, 20
RECIPE = RECIPES["onnx-int8"]
CALIBRATION = np.random.default_rng(1).normal(0, 1, (40, 6, INNER)).astype(np.float32)


def network(path: Path, *, activation: bool, extra: bool = False, zeros: bool = False, rank: int = 3) -> Path:
    """Two linear layers with a bias, perhaps a ReLU between them, and the last one, which stays float."""
    draw = np.random.default_rng(0)
    shapes = {"one": (INNER, WIDE), "two": (WIDE, INNER), "last": (INNER, 2)}
    weights = {name: draw.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    biases = {name: draw.normal(0, 0.5, shape[1]).astype(np.float32) for name, shape in shapes.items()}
    if zeros:
        weights["one"][:, :3] = 0
        weights["one"][0, 2] = 1e-12
    constants, nodes, source = [], [], "x"
    for name, weight in weights.items():
        constants += [
            numpy_helper.from_array(weight, f"{name}.w"),
            numpy_helper.from_array(biases[name], f"{name}.b"),
        ]
        nodes.append(helper.make_node("MatMul", [source, f"{name}.w"], [f"{name}.product"]))
        nodes.append(helper.make_node("Add", [f"{name}.product", f"{name}.b"], [source := f"{name}.sum"]))
        if name == "one" and activation:
            nodes.append(helper.make_node("Relu", [source], [source := "one.relu"]))
    inner = "one.relu" if activation else "one.sum"
    results = ["last.sum"]
    if extra:  # somebody else reads the first layer's result
        nodes.append(helper.make_node("Neg", [inner], ["extra"]))
        results.append("extra")
    axes = ["batch", "tokens"][: rank - 1]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*axes, INNER])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


def quantised(tmp_path: Path, **form: object) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The float network and its int8 form."""
    source, made = network(tmp_path / "float.onnx", **form), tmp_path / "int8.onnx"
    rows = CALIBRATION[:, 0] if form.get("rank") == 2 else CALIBRATION
    quantize_onnx(source, made, RECIPE, {"x": rows})
    return onnx.load(source), onnx.load(made)


def answers(proto: onnx.ModelProto, x: np.ndarray, names: list[str] | None = None) -> list[np.ndarray]:
    proto = onnx.ModelProto.FromString(proto.SerializeToString())
    known = {output.name for output in proto.graph.output}
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names or () if name not in known)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(names, {"x": x})


def kinds(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def values(proto: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


@pytest.mark.parametrize("activation", [True, False])
def test_its_8_bits_are_those_of_exact_sums(activation, tmp_path) -> None:
    """Whole numbers and float64 beside the runtime, for several batches and lengths."""
    plain, made = quantised(tmp_path, activation=activation)
    assert kinds(made)[:3] == ["QuantizeLinear", "QLinearConv", "MatMulIntegerToFloat"]
    assert "Relu" not in kinds(made)
    name = "one.relu" if activation else "one.sum"
    known, floats = values(made), values(plain)
    weight, steps = quantise_columns(floats["one.w"], RECIPE.weight_bits)
    step, zero = known["x.step"].astype(float), int(known["x.zero"])
    out, middle = known[f"{name}.step"].astype(float), int(known[f"{name}.zero"])
    assert (middle == 0) == activation
    for rows, tokens in ((1, 6), (3, 1), (2, 17)):
        x = np.random.default_rng(rows).normal(0, 1, (rows, tokens, INNER)).astype(np.float32)
        whole = np.clip(np.rint(x / step) + zero, 0, 255).astype(int)
        unit = step * steps.astype(float)  # of a sum
        sums = (whole - zero) @ weight.astype(int) + np.rint(floats["one.b"] / unit)
        exact = np.clip(sums * unit / out + middle, 0, 255)
        (found,) = answers(made, x, [f"{name}.uint8"])
        assert np.abs(found - exact).max() < 0.5001
        assert ((found > 0) & (found < 255)).mean() > 0.3
        (wanted,), (result,) = answers(plain, x), answers(made, x, ["last.sum"])
        assert np.corrcoef(wanted.ravel(), result.ravel())[0, 1] > 0.999


def test_columns_without_weights_keep_their_bias(tmp_path) -> None:
    """A bias beside weights of zero, or of next to nothing, fits in 32 bits."""
    plain, made = quantised(tmp_path, activation=False, zeros=True)
    assert "QLinearConv" in kinds(made)
    x = CALIBRATION[:2]
    (found,) = answers(made, x, ["one.sum.uint8"])
    known = values(made)
    step, zero = float(known["one.sum.step"]), int(known["one.sum.zero"])
    wanted = np.broadcast_to(values(plain)["one.b"][:3], (2, 6, 3))
    assert np.abs((found[..., :3].astype(int) - zero) * step - wanted).max() <= step / 2 + 1e-6


@pytest.mark.parametrize("form", [{"extra": True}, {"rank": 2}], ids=["read in float", "no axis of tokens"])
def test_otherwise_the_result_is_float(form, tmp_path) -> None:
    plain, made = quantised(tmp_path, activation=True, **form)
    assert kinds(made).count("MatMulIntegerToFloat") == 2
    assert "QLinearConv" not in kinds(made)
    x = CALIBRATION[:, 0] if form.get("rank") == 2 else CALIBRATION
    wanted, result = answers(plain, x)[0], answers(made, x)[0]
    assert np.corrcoef(wanted.ravel(), result.ravel())[0, 1] > 0.999
