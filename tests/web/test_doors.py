"""What `--layout transformers` wrote, opened by tools that know nothing of this project."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export.pipeline.transformers_layout import write_transformers_layout
from mobilebert_runtime import Matcher
from tests.helpers import small_matcher
from tests.web.conftest import absent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
TEXTS = [text for pair in PAIRS[:12] for text in pair]
SOME_PAIRS = [list(pair) for pair in PAIRS[:12]]
MODEL = "onnx/model_quantized.onnx"
NEAR = 1e-4


@pytest.fixture(scope="module")
def artefact():
    given = os.environ.get("MOBILEBERT_ONNX")
    return Path(given) if given else small_matcher.embedding_artefact("onnx", "int8")


@pytest.fixture(scope="module")
def tokenizer(artefact):
    return Matcher.load(artefact).tokenizer.without_spelling()


@pytest.fixture(scope="module")
def folder(artefact, tmp_path_factory):
    out = tmp_path_factory.mktemp("doors") / "model"
    write_transformers_layout(artefact, out)
    return out


def answers(folder, ids, types):
    """Plain ONNX Runtime on the same file and ids, padded to the longest, as these tools pad."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / MODEL), providers=["CPUExecutionProvider"])
    width = max(map(len, ids))
    rows = {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids], "token_type_ids": types}
    given = {
        name: np.array([row + [0] * (width - len(row)) for row in values]) for name, values in rows.items()
    }
    return dict(zip(["hidden", "logits"], session.run(["last_hidden_state", "logits"], given), strict=True))


def vectors(folder, tokenizer):
    encoded = tokenizer.ids(TEXTS, 64)
    hidden = answers(folder, [ids for ids, _ in encoded], [types for _, types in encoded])["hidden"][:, 0]
    return hidden / np.linalg.norm(hidden, axis=1, keepdims=True)


def test_transformers_js_gives_the_artefact_s_answers(tokenizer, folder, node, tmp_path):
    inputs = tmp_path / "inputs.json"
    inputs.write_text(json.dumps({"texts": TEXTS, "pairs": SOME_PAIRS, "dtype": "q8", "embeds": True}))
    found = node("test/transformers_door.mjs", folder, inputs)
    encoded = tokenizer.ids([tuple(pair) for pair in SOME_PAIRS], 64)
    for ids, types, (row, kinds) in zip(found["ids"], found["types"], encoded, strict=True):
        assert ids[: len(row)] == row
        assert types[: len(row)] == kinds
    expected = answers(folder, [ids for ids, _ in encoded], [types for _, types in encoded])["logits"]
    assert np.array(found["logits"]) == pytest.approx(expected, abs=NEAR)
    assert np.array(found["vectors"]) == pytest.approx(vectors(folder, tokenizer), abs=NEAR)


FASTEMBED = """
import json, sys
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
folder, size = sys.argv[1], int(sys.argv[2])
TextEmbedding.add_custom_model(
    model="ours/matcher", pooling=PoolingType.MEAN, normalization=True,
    sources=ModelSource(hf="ours/matcher"), dim=size, model_file="onnx/model_quantized.onnx",
)
model = TextEmbedding("ours/matcher", specific_model_path=folder)
print(json.dumps([vector.tolist() for vector in model.embed(json.load(sys.stdin))]))
"""


def test_fastembed_gives_the_artefact_s_vectors(tokenizer, folder):
    python = os.environ.get("FASTEMBED_PYTHON")
    if python is None:
        absent("no FASTEMBED_PYTHON, a Python that has fastembed; `make web-test` makes one")
    expected = vectors(folder, tokenizer)
    done = subprocess.run(
        [python, "-c", FASTEMBED, str(folder), str(expected.shape[1])],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert np.array(json.loads(done.stdout.splitlines()[-1])) == pytest.approx(expected, abs=NEAR)
