"""`--layout transformers`: the artefact's answers from a folder that other tools open."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.transformers_layout import check_layout, write_transformers_layout
from mobilebert_runtime import Embedder, LengthShift, Matcher, read_card
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.matcher import positive_probability
from tests.helpers import small_matcher

NEAR = 1e-5


@pytest.fixture(scope="module")
def artefact():
    return small_matcher.embedding_artefact("onnx", "int8")


@pytest.fixture(scope="module")
def folder(artefact, tmp_path_factory):
    out = tmp_path_factory.mktemp("layout") / "model"
    write_transformers_layout(artefact, out)
    return out


def test_a_plain_onnx_runtime_gives_the_artefact_s_answers(artefact, folder):
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(
        str(folder / "onnx/model_quantized.onnx"), providers=["CPUExecutionProvider"]
    )
    assert {one.type for one in session.get_inputs()} == {"tensor(int64)"}
    assert [one.name for one in session.get_outputs()] == ["last_hidden_state", "logits"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    matcher, embedder = Matcher.load(artefact), Embedder.load(artefact)
    plain = replace(matcher.card, temperature=1.0)  # which is in the graph
    for pair in PAIRS[:12]:
        hidden, logits = answers(session, tokenizer.encode(*pair), matcher.card)
        score = positive_probability(logits, plain, [0.0])
        assert score == pytest.approx(matcher.score([pair]), abs=NEAR)
        assert (hidden == hidden[:, :1]).all()
        hidden, _ = answers(session, tokenizer.encode(pair[0]), matcher.card)
        assert hidden.mean(axis=1)[0] == pytest.approx(embedder.embed([pair[0]])[0], abs=NEAR)


def answers(session, encoded, card):
    """Of one input, padded as the artefact pads it: in integers padding may round another way."""
    count = len(encoded.ids)
    width = card.bucket(count).seq_len
    rows = {"input_ids": encoded.ids, "attention_mask": [1] * count, "token_type_ids": encoded.type_ids}
    given = {name: np.array([row + [0] * (width - count)]) for name, row in rows.items()}
    return session.run(["last_hidden_state", "logits"], given)


def test_the_configs_tell_what_the_tools_ask(folder, artefact):
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "bert"
    assert config["id2label"] == {"0": "different", "1": "same"}
    assert config["mobilebert"] == json.loads((artefact / "io.json").read_text())
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    assert tokenizer["tokenizer_class"] == "BertTokenizer"
    assert tokenizer["model_max_length"] == read_card(artefact).seq_len
    assert json.loads((folder / "special_tokens_map.json").read_text())["cls_token"] == "[CLS]"
    assert not (folder / "spelling.txt").exists()


def test_what_these_tools_cannot_do_is_refused(artefact, tmp_path):
    card = read_card(artefact)
    one_length = replace(card, buckets=(Bucket(64),))
    shifted = replace(card, length_shift=LengthShift((0.0, 1.0, 2.0), (0.0, 0.0, 0.0, 1.0)))
    for wrong, says in (
        (replace(card, target="tflite"), "is a tflite file"),
        (one_length, "one sequence length"),
        (shifted, "length shift"),
    ):
        with pytest.raises(OptionError, match=says):
            check_layout(wrong)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"target": "tflite"}, "give --target onnx"),
        ({"target": "onnx", "layout": "hub"}, "expected artefact or transformers"),
        ({"target": "onnx", "buckets": (64,), "seq_len": 64}, "give more --buckets"),
        ({"target": "onnx", "sign": Path("key")}, "--sign"),
    ],
)
def test_an_impossible_request_is_refused_before_the_work(given, says, tmp_path):
    request = ExportRequest(**{"out": tmp_path / "out", "layout": "transformers"} | given)
    with pytest.raises(OptionError, match=says):
        request.recipe()
