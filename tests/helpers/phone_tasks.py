"""Artefacts of every task, and what Python answers to fuzzed inputs: vectors for the phone's Java."""

import json
import random

from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
)
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.vector_index import Index
from tests.helpers import tiny_tasks
from tests.helpers.phone_tokenizers import utf16
from tests.helpers.texts import fuzzed_lines

ROWS = 3_000
# Name: task, tokenizer, and what the card says otherwise.
ARTEFACTS = {
    "matching": (MATCHING, "bert", {}),
    "matching-one-logit": (
        MATCHING,
        "mpnet",
        {
            "labels": ("same",),
            "activation": "sigmoid",
            "temperature": 1.5,
            "embedding": Embedding(16, normalized=False),
        },
    ),
    "regression": (
        MATCHING,
        "roberta",
        {"labels": ("likeness",), "activation": "identity", "threshold": 2.5},
    ),
    "classes": (CLASSIFICATION, "bert", {}),
    "classes-of-pairs": (CLASSIFICATION, "roberta", {"texts": 2, "activation": "sigmoid"}),
    "names": (TOKEN_CLASSIFICATION, "bert", {}),
    "names-bpe": (TOKEN_CLASSIFICATION, "roberta", {}),
    "answers": (QUESTION_ANSWERING, "mpnet", {}),
    "answers-bpe": (QUESTION_ANSWERING, "roberta", {}),
    "vectors": (EMBEDDING, "bert", {}),
    "classes-cut-left": (CLASSIFICATION, "bert", {"truncation_side": "left"}),
    "pairs-cut-left": (
        CLASSIFICATION,
        "roberta",
        {"texts": 2, "activation": "sigmoid", "truncation_side": "left"},
    ),
    "vectors-prompts": (
        EMBEDDING,
        "roberta",
        {
            "embedding": Embedding(
                24,
                normalized=False,
                prompts={"query": "query: ", "passage": "Texte —\n", "task": "Find: "},
                default_prompt="task",
            )
        },
    ),
}


def write_artefacts(folder):
    """The artefacts alone."""
    return {
        name: tiny_tasks.write(folder / name, task, kind, **fields)
        for name, (task, kind, fields) in ARTEFACTS.items()
    }


def write_golden(folder):
    """Each artefact with expected.json."""
    for number, (name, place) in enumerate(write_artefacts(folder).items()):
        rows = ANSWERS[ARTEFACTS[name][0]](load(place), number)
        (place / "expected.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def _lines(seed):
    """Fuzzed lines without those that no tokenizer finds a word in."""
    return [line for line in fuzzed_lines(ROWS + 400, seed=30 + seed) if line.strip()][:ROWS]


def _pairs(seed):
    lines = _lines(seed)
    return list(zip(lines, reversed(lines), strict=True))


def _matching(model, seed):
    pairs = _pairs(seed)
    return [
        {"a": a, "b": b, "scores": [float(score)], "label": model.label(score)}
        for (a, b), score in zip(pairs, model.score(pairs), strict=True)
    ]


def _classes(model, seed):
    texts = _pairs(seed) if model.card.texts == 2 else _lines(seed)
    rows = []
    for text, scores in zip(texts, model.scores(texts), strict=True):
        a, b = text if isinstance(text, tuple) else (text, None)
        rows.append({"a": a, "b": b, "scores": [float(score) for score in scores]})
    return rows


def _spans(text, spans):
    places = utf16(text)
    return [[one.label, one.score, places[one.start], places[one.end]] for one in spans]


def _names(model, seed):
    texts = _lines(seed)
    found = zip(texts, model.tag(texts), model.entities(texts), strict=True)
    return [
        {"a": text, "tags": _spans(text, tags), "entities": _spans(text, entities)}
        for text, tags, entities in found
    ]


def _answers(model, seed):
    """Contexts of one line or several; an input that Python refuses is refused by the phone."""
    lines, draw = _lines(seed), random.Random(seed)
    rows = []
    for line in lines:
        context = " ".join(draw.choices(lines, k=draw.choice([1, 1, 2, 6])))
        row = {"a": line, "b": context, "most": draw.choice([1, 3]), "none": draw.random() < 0.5}
        try:
            found = model.answers(line, context, row["most"], may_be_none=row["none"])
        except DataError:
            rows.append(row | {"answers": None})
            continue
        places = utf16(context)
        rows.append(
            row | {"answers": [[one.text, one.score, places[one.start], places[one.end]] for one in found]}
        )
    return rows


def _vectors(model, seed):
    texts = _lines(seed)
    asked = {"vector": model.embed(texts)}
    if model.prompts:
        asked |= {
            "query": model.encode_query(texts),
            "document": model.encode_document(texts),
            "named": model.embed(texts, prompt="passage"),
        }
    return [
        {"a": text} | {name: [float(value) for value in vectors[row]] for name, vectors in asked.items()}
        for row, text in enumerate(texts)
    ]


ANSWERS = {
    MATCHING: _matching,
    CLASSIFICATION: _classes,
    TOKEN_CLASSIFICATION: _names,
    QUESTION_ANSWERING: _answers,
    EMBEDDING: _vectors,
}


def write_faq(folder, questions, queries, kinds=("int8", "float16")):
    """An embedder, a matcher, an index of questions in each kind, and Python's search + rank of queries."""
    embedder = load(tiny_tasks.write(folder / "embedder", EMBEDDING))
    matcher = load(tiny_tasks.write(folder / "matcher", MATCHING, "roberta"))
    vectors = embedder.embed(questions)
    for kind in kinds:
        index = Index.build(vectors, questions, kind, embedder.fingerprint)
        index.save(folder / kind)
        rows = []
        for query in queries:
            near = embedder.search(query, index, 10)
            ranked = matcher.rank(query, [hit.text for hit in near], 3)
            rows.append(
                {
                    "query": query,
                    "near": [[hit.place, hit.score] for hit in near],
                    "ranked": [[near[hit.place].place, hit.score] for hit in ranked],
                }
            )
        (folder / f"{kind}.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
