"""Four-bit weights in exported files: the runtime multiplies exactly these."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from mobilebert_export import samples
from mobilebert_models import EncoderConfig, MatcherSettings, build, load_pretrained, save_pretrained
from mobilebert_models.weights.four_bit import find_four_bits, four_bit_layers, unpack_codes
from mobilebert_quantize.four_bit_layers import round_as
from mobilebert_quantize.tflite.four_bit import four_bit_codes
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_quantize.weight_rounding import FOUR, round_weights
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import small_matcher
from tests.helpers.tiny_networks import randomise

CONFIG = EncoderConfig(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=192,
    max_position_embeddings=128,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model directory with layers in four bits, and its TFLite artefact."""
    out = tmp_path_factory.mktemp("four")
    tokenizer = small_matcher.model_directory()
    text = PairTokenizer.load(tokenizer).encode(samples.verification_pairs()[:40], 64)
    model = randomise(build(CONFIG)).eval()
    model = round_weights(model, text, FOUR, keep=not_feed_forward(model)).network
    settings = MatcherSettings()
    save_pretrained(model, out / "model", tokenizer_from=tokenizer, settings=settings, eight_bit=True)
    small_matcher.report("tflite", "dynamic", out / "artefact", model=str(out / "model"))
    return out / "model", out / "artefact"


def not_feed_forward(model: torch.nn.Module) -> list[str]:
    """The pooler is among them: a norm that nothing else reads is folded into it."""
    return [name for name, _ in model.named_modules() if ".attention." in name or "pooler" in name]


def stored_matrices(path: Path) -> dict[bool, list[np.ndarray]]:
    """The linear layers' matrices, in the order they run: by whether they are in four bits, their numbers."""
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.tools import flatbuffer_utils as fb

    graph, model = TfliteGraph.read(path), fb.read_model(str(path))
    found: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for op in graph.operators:
        if graph.kind(op) != "FULLY_CONNECTED":
            continue
        tensor = model.subgraphs[0].tensors[op.inputs[1]]
        data = torch.frombuffer(bytearray(model.buffers[tensor.buffer].data), dtype=torch.uint8)
        four = tensor.type == schema.TensorType.INT4
        codes = unpack_codes(data.reshape(tensor.shape[0], -1)) if four else data.view(torch.int8)
        numbers = codes.reshape(tuple(tensor.shape)).numpy() * np.asarray(tensor.quantization.scale)[:, None]
        found[four].append(numbers)
    return found


def test_feed_forward_matrices_are_in_four_bits_and_their_numbers_are_the_models(
    folders: tuple[Path, Path],
) -> None:
    model = load_pretrained(folders[0])
    stored = stored_matrices(folders[1] / "model.tflite")
    wanted = [
        module.weight.detach()
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and find_four_bits(module.weight) is not None
    ]
    assert len(stored[True]) == len(wanted) == 2 * CONFIG.num_hidden_layers
    assert len(stored[False]) >= 4 * CONFIG.num_hidden_layers
    for found, exact in zip(stored[True], wanted, strict=True):
        np.testing.assert_allclose(found, exact.numpy(), rtol=1e-5, atol=0)


def test_int8_has_ranges_found_at_run_time_at_once_and_says_so(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    """Its four-bit matrices are those of --quant dynamic, number by number."""
    report = small_matcher.report("tflite", "int8", tmp_path / "out", model=str(folders[0]))
    assert report["recipe"] == "tflite-int8-dynamic"
    assert report["recipes_tried"] == []
    left_out = report["recipes_not_tried"]
    assert [(one["recipe"], one["outcome"]) for one in left_out] == [
        ("tflite-int8", "is not tried"),
        ("tflite-int8-mixed", "is not tried"),
    ]
    assert json.loads((tmp_path / "out" / "recipe.json").read_text())["not_tried"] == left_out
    for one in left_out:
        said = f"{one['recipe']} is not tried: {one['failures'][0]}."
        assert said in (tmp_path / "out" / "report.md").read_text()
    found, dynamic = (stored_matrices(folder / "model.tflite") for folder in (tmp_path / "out", folders[1]))
    assert found[True]
    for mine, other in zip(found[True], dynamic[True], strict=True):
        np.testing.assert_array_equal(mine, other)


def test_every_kernel_computes_what_pytorch_does(folders: tuple[Path, Path]) -> None:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    matcher = Matcher.load(folders[1])
    pairs = samples.verification_pairs()[:20]
    encoded = matcher.tokenizer.encode(pairs, small_matcher.SEQ_LEN)
    model = load_pretrained(folders[0])
    with torch.inference_mode():
        wanted = model(*(torch.from_numpy(encoded[name]) for name in model.config.input_names)).numpy()
    for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter = Interpreter(
            str(folders[1] / "model.tflite"), experimental_op_resolver_type=resolver, num_threads=1
        )
        run = interpreter.get_signature_runner(f"seq_{small_matcher.SEQ_LEN}")
        found = [
            run(**{name: values[row : row + 1] for name, values in encoded.items()})["logits"][0]
            for row in range(len(pairs))
        ]
        # Activations are rounded to eight bits; weights read as other numbers would leave nothing alike.
        assert np.abs(np.array(found) - wanted).max() < 0.1 * np.ptp(wanted, axis=0).max()


def test_what_was_trained_further_is_rounded_where_its_origin_was(folders: tuple[Path, Path]) -> None:
    origin, trained = load_pretrained(folders[0]), load_pretrained(folders[0])
    with torch.no_grad():
        for parameter in trained.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    assert four_bit_layers(origin)
    assert not four_bit_layers(trained)
    text = PairTokenizer.load(folders[0]).encode(samples.verification_pairs()[:40], 64)
    again = round_as(origin, trained, text)
    assert four_bit_layers(again) == four_bit_layers(origin)
    for (name, found), given in zip(again.named_parameters(), trained.parameters(), strict=True):
        assert torch.equal(found, given) != (name.removesuffix(".weight") in four_bit_layers(origin))


def test_only_fifteen_of_the_points_of_eight_bits_are_four_bits() -> None:
    codes = np.random.default_rng(0).integers(-7, 8, (6, 32)).astype(np.int8)
    codes[:, 0] = 7
    values = np.round(codes * (127 / 7)).astype(np.int8)
    found = four_bit_codes(values)
    assert found is not None
    np.testing.assert_array_equal(found, codes)
    values[3, 5] += 1
    assert four_bit_codes(values) is None
    assert four_bit_codes(values[:2, :31]) is None  # two codes share a byte
