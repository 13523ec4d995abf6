"""Promise: an exported ALBERT stores what its layers share once, in TFLite and in ONNX alike."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_models import build
from mobilebert_runtime.card import INPUT_NAMES, OUTPUT_NAME, Bucket
from tests.helpers.networks import SMALL_ALBERT as SMALL
from tests.helpers.networks import padded_batch, randomise

pytestmark = pytest.mark.slow

SEQ_LEN = 16
# Wide enough that the layers outweigh a file's own structure.
WIDE = replace(SMALL, hidden_size=256, intermediate_size=1024, num_hidden_layers=3)


def inputs():
    return {k: v[1:2].numpy().astype(np.int32) for k, v in padded_batch(vocab=60, length=SEQ_LEN).items()}


def in_torch(model):
    with torch.no_grad():
        return model(**{k: torch.from_numpy(v) for k, v in inputs().items()}).numpy()


def size(model):
    return 4 * sum(p.numel() for p in model.parameters())


def test_onnx_file_is_as_large_as_the_shared_parameters(tmp_path):
    import onnxruntime

    from mobilebert_export.onnx.writer import write_float_onnx

    model = randomise(build(WIDE, seed=0))
    write_float_onnx(model, tmp_path / "m.onnx", [Bucket(SEQ_LEN)], 20)
    assert (tmp_path / "m.onnx").stat().st_size <= 1.1 * size(model)
    assert size(model) < 0.5 * size(build(replace(WIDE, layer_sharing="none")))
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    given = {name: inputs()[name] for name in INPUT_NAMES}
    np.testing.assert_allclose(session.run(None, given)[0], in_torch(model), atol=1e-5)


def test_tflite_file_is_as_large_as_the_shared_parameters(tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    from mobilebert_export.tflite.writer import write_float_tflite

    # Norms away from the identity: the converter folds them into the maps, which must not become copies.
    model = randomise(build(WIDE, seed=0))
    write_float_tflite(model, tmp_path / "m.tflite", [Bucket(SEQ_LEN, "serving_default")])
    assert (tmp_path / "m.tflite").stat().st_size <= 1.1 * size(model)
    runner = Interpreter(str(tmp_path / "m.tflite")).get_signature_runner()
    np.testing.assert_allclose(runner(**inputs())[OUTPUT_NAME], in_torch(model), atol=1e-5)


@pytest.mark.parametrize(("vocabulary", "kind"), [("sentencepiece", "unigram"), ("wordpiece", "wordpiece")])
def test_an_albert_of_either_vocabulary_loads_for_export(vocabulary, kind, tmp_path):
    from mobilebert_export.pipeline.loading import load_model
    from mobilebert_models import save_pretrained
    from mobilebert_training.tokenizer_training import train_vocabulary
    from tests.helpers.texts import inflected_lines as text

    train_vocabulary(text(100), vocabulary, 60, tmp_path / "pieces")
    save_pretrained(build(SMALL, seed=0), tmp_path / "m", tokenizer_from=tmp_path / "pieces")
    model = load_model(str(tmp_path / "m"), task="text-classification", texts=2)
    assert model.network.config.model_type == "albert"
    assert model.tokenizer.kind == kind
