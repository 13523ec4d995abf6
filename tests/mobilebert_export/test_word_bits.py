"""Word embeddings as product codes in exported files: exact, smaller, the same for both targets."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mobilebert_export.pipeline.targets import Target
from mobilebert_models import MatcherSettings, build, save_pretrained
from mobilebert_quantize.recipes import find_recipe, recipes_to_try
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher

WORDS, WIDTH = 30522, 32
FILES = {"tflite": "model.tflite", "onnx": "model.onnx"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Path]:
    """The small matcher with word embeddings of eight and of four bits a number, for both targets."""
    out = {}
    for target, name in FILES.items():
        for bits in (8, 4):
            out[target, bits] = tmp_path_factory.mktemp("words") / name
            recipe = replace(find_recipe(target, "dynamic"), word_bits=bits)
            source = small_matcher.artefact(target, "none") / name
            Target(target).quantise(source, out[target, bits], recipe, None)
    return out


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_four_bits_halve_the_table_in_the_file(files: dict[tuple[str, int], Path], target: str) -> None:
    eight, four = (files[target, bits].stat().st_size for bits in (8, 4))
    scales, zeros, codebooks = 4 * WORDS, 8 * WORDS * (target == "tflite"), 256 * WIDTH
    assert eight - four == pytest.approx(WORDS * WIDTH / 2 + scales + zeros - codebooks, abs=5_000)


def test_the_runtime_looks_up_exactly_the_words_of_the_codes(files: dict[tuple[str, int], Path]) -> None:
    import onnx
    from ai_edge_litert.tools import flatbuffer_utils as fb
    from onnx import numpy_helper

    path = files["tflite", 4]
    graph, model = TfliteGraph.read(path), fb.read_model(str(path))
    interpreter, ids = small_matcher.run_keeping_tensors(path, graph.signature)
    (gather,) = (op for op in graph.operators if graph.kind(op) == "GATHER")
    (lookup,) = (
        op
        for op in graph.operators
        if graph.kind(op) == "EMBEDDING_LOOKUP" and graph.shape(op.inputs[1]) == [256 * WIDTH // 2, 2]
    )
    tensors = model.subgraphs[0].tensors
    codes, books = (
        np.frombuffer(bytes(model.buffers[tensors[number].buffer].data), kind)
        for number, kind in ((gather.inputs[0], np.uint8), (lookup.inputs[1], np.int8))
    )
    scale = tensors[lookup.inputs[1]].quantization.scale[0]
    codes, parts = codes.reshape(WORDS, -1), books.reshape(WIDTH // 2, 256, 2)
    expected = parts[np.arange(WIDTH // 2), codes[ids[0]]] * scale
    found = interpreter.get_tensor(int(lookup.outputs[0])).reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)

    stored = {t.name.split(".")[-1]: t for t in onnx.load(files["onnx", 4]).graph.initializer}
    others = numpy_helper.to_array(stored["codebook"]).reshape(parts.shape)
    for group in range(WIDTH // 2):  # the entries may stand in another order
        there = others[group][numpy_helper.to_array(stored["codes"])[:, group]]
        np.testing.assert_array_equal(there, parts[group][codes[:, group]])


@pytest.mark.parametrize("target", [pytest.param("tflite", marks=pytest.mark.slow), "onnx"])
def test_a_table_that_is_codes_is_stored_as_they_are(target: str, tmp_path: Path) -> None:
    folder = small_matcher.coded_artefact(target)
    assert (folder / FILES[target]).stat().st_size < 0.5 * WORDS * WIDTH  # a byte for four numbers
    pairs = [("How do I learn French?", "What is the best way to learn French?"), ("a", "b")]
    assert np.isfinite(Matcher.load(folder).logits(pairs)).all()


def test_every_recipe_that_is_tried_has_the_bits_that_were_asked_for() -> None:
    asked = replace(find_recipe("tflite", "int8"), word_bits=2)
    assert [recipe.word_bits for recipe in recipes_to_try(asked)] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("quant", "bits", "message"),
    [("int8", 3, "expected one of 8, 4, 2"), ("none", 4, "keeps the word embeddings in float")],
)
def test_bits_that_cannot_be_had_are_refused_at_once(
    tmp_path: Path, quant: str, bits: int, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        small_matcher.report("tflite", quant, tmp_path / "out", word_bits=bits)
    assert not (tmp_path / "out").exists()


def test_a_network_without_a_large_table_is_refused(tmp_path: Path) -> None:
    model = build(replace(small_matcher.CONFIG, embedding_size=33), seed=0)
    tokenizer = small_matcher.model_directory()
    save_pretrained(model, tmp_path / "odd", tokenizer_from=tokenizer, settings=MatcherSettings())
    with pytest.raises(OptionError, match="columns divide by 2"):
        small_matcher.report("tflite", "int8", tmp_path / "out", model=str(tmp_path / "odd"), word_bits=4)
    assert not (tmp_path / "out").exists()
