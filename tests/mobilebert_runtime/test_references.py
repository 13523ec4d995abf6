"""Exported models of every task answer as the pipelines of `transformers` and sentence-transformers do."""

import json

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedTokenizerFast,
    TextClassificationPipeline,
    TokenClassificationPipeline,
)

from mobilebert_export import samples
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_runtime import load
from mobilebert_runtime.results import Answer
from tests.helpers.model_directories import embedder_directory, model_directory

pytestmark = pytest.mark.slow
SEQ_LEN = 48
TEXTS = [text for pair in samples.verification_pairs()[:20] for text in pair]
PAIRS = list(zip(TEXTS[::2], TEXTS[1::2], strict=True))
NEAR = 1e-4


def exported(directory, out, **options):
    """The artefact of a model, for ONNX Runtime, in float."""
    request = {"target": "onnx", "quant": "none", "seq_len": SEQ_LEN, "buckets": (16, SEQ_LEN)}
    export(
        ExportRequest(out=out, model=str(directory), measure=False, **request, **options),
    )
    return load(out)


def tokenizer_of(directory):
    return PreTrainedTokenizerFast.from_pretrained(directory, model_max_length=SEQ_LEN)


CLASSES = ["text-classification", "multi-label", "regression", "one-logit"]


@pytest.mark.parametrize("kind", ["distilbert", "roberta"])
@pytest.mark.parametrize("task", CLASSES)
def test_classes_are_those_of_the_pipeline(tmp_path, kind, task):
    folder = model_directory(tmp_path / "model", kind, task)
    model = exported(folder, tmp_path / "artefact", task="text-classification", texts=1)
    pipeline = TextClassificationPipeline(
        model=AutoModelForSequenceClassification.from_pretrained(folder),
        tokenizer=tokenizer_of(folder),
        device="cpu",
    )
    expected = pipeline(TEXTS, top_k=None, truncation=True)
    for found, wanted in zip(model.classify(TEXTS), expected, strict=True):
        assert found == pytest.approx({one["label"]: one["score"] for one in wanted}, abs=NEAR)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_entities_are_those_of_the_pipeline(tmp_path, kind):
    folder = model_directory(tmp_path / "model", kind, "token-classification")
    model = exported(folder, tmp_path / "artefact")
    pipeline = TokenClassificationPipeline(
        model=AutoModelForTokenClassification.from_pretrained(folder),
        tokenizer=tokenizer_of(folder),
        aggregation_strategy="simple",
        device="cpu",
    )
    for text, found in zip(TEXTS, model.entities(TEXTS), strict=True):
        expected = pipeline(text)
        assert [(one.label, one.start, one.end) for one in found] == [
            (one["entity_group"], one["start"], one["end"]) for one in expected
        ]
        scores = [one["score"] for one in expected]
        np.testing.assert_allclose([one.score for one in found], scores, atol=NEAR)


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("bert", ["input_ids", "token_type_ids", "attention_mask"]),
        ("bert", ["input_ids", "attention_mask"]),
        ("roberta", ["input_ids", "attention_mask"]),
    ],
)
def test_answers_are_the_best_spans_of_the_models_logits(tmp_path, kind, inputs):
    """The reference: transformers' windows, the logits of what its tokenizer gives, each span tried."""
    folder = model_directory(tmp_path / "model", kind, "question-answering")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_input_names": inputs}))
    reader = exported(folder, tmp_path / "artefact")
    tokenizer, network = tokenizer_of(folder), AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    context = " ".join(TEXTS[:16])
    for question in (text[:10] for text in TEXTS[16:24]):
        windows = tokenizer(
            question,
            context,
            truncation="only_second",
            stride=reader.card.stride,
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        assert len(windows["input_ids"]) > 3
        with torch.no_grad():
            logits = network(**{name: windows[name] for name in inputs})
        best = Answer("", 0.0, 0, 0)
        for i in range(len(windows["input_ids"])):
            places = [n for n, which in enumerate(windows.sequence_ids(i)) if which == 1]
            kept = [0, *places]
            starts = dict(zip(kept, logits.start_logits[i][kept].double().softmax(0).tolist(), strict=True))
            ends = dict(zip(kept, logits.end_logits[i][kept].double().softmax(0).tolist(), strict=True))
            for first in places:
                for last in range(first, min(first + 15, places[-1] + 1)):
                    if starts[first] * ends[last] > best.score:
                        words = windows.token_to_word(i, first), windows.token_to_word(i, last)
                        start = windows.word_to_chars(i, words[0], 1).start
                        end = windows.word_to_chars(i, words[1], 1).end
                        best = Answer(context[start:end], starts[first] * ends[last], start, end)
        [found] = reader.answer([(question, context)])
        assert found.score == pytest.approx(best.score, abs=NEAR)
        assert found[2:] == best[2:]


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize(("pooling", "dense"), [("mean", None), ("cls", 24), ("max", None)])
def test_vectors_are_those_of_sentence_transformers(tmp_path, kind, pooling, dense):
    import sentence_transformers as st

    folder = embedder_directory(tmp_path / "model", kind, pooling, dense, normalized=pooling != "max")
    model = exported(folder, tmp_path / "artefact")
    theirs = st.SentenceTransformer(str(folder), device="cpu")
    theirs.max_seq_length = SEQ_LEN
    np.testing.assert_allclose(model.embed(TEXTS), theirs.encode(TEXTS), atol=NEAR)
    assert model.card.embedding.normalized is (pooling != "max")


@pytest.mark.parametrize("kind", ["electra", "roberta"])
def test_one_logit_is_what_a_cross_encoder_predicts(tmp_path, kind):
    import sentence_transformers as st

    plain = model_directory(tmp_path / "plain", kind, "one-logit")
    config = json.loads((plain / "tokenizer_config.json").read_text())
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if kind == "electra" else [])]
    (plain / "tokenizer_config.json").write_text(json.dumps(config | {"model_input_names": inputs}))
    theirs = st.CrossEncoder(str(plain), max_length=SEQ_LEN, device="cpu")
    theirs.save_pretrained(str(tmp_path / "model"))
    model = exported(tmp_path / "model", tmp_path / "artefact")
    logits = theirs.predict(PAIRS, activation_fn=torch.nn.Identity())
    assert np.ptp(logits) > 100 * NEAR
    np.testing.assert_allclose(model.logits(PAIRS)[:, 0], logits, atol=NEAR)
    np.testing.assert_allclose(model.score(PAIRS), theirs.predict(PAIRS), atol=NEAR)
    hits = model.rank(PAIRS[0][0], TEXTS[1:9])
    ranked = theirs.rank(PAIRS[0][0], TEXTS[1:9])
    assert [hit.score for hit in hits] == pytest.approx([one["score"] for one in ranked], abs=NEAR)
