"""Promise of io.json: every task's card survives its JSON, and one that can't be is refused, read or made."""

import copy
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TASKS,
    TOKEN_CLASSIFICATION,
    ArtefactCard,
    Bucket,
)
from mobilebert_runtime.card_parts import BERT_TEMPLATE, Embedding, Template, TokenizerCard
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.matcher import positive_probability
from tests.helpers.artefact_mutations import VALUES

IO = Path("folder/io.json")
ROBERTA = TokenizerCard(
    kind="byte-level-bpe",
    lowercase=None,
    pad_id=1,
    template=Template(("<s>", "$A", "</s>"), ("<s>", "$A", "</s>", "</s>", "$B", "</s>")),
)
UNIGRAM = replace(ROBERTA, kind="unigram")
WORDPIECE = TokenizerCard(pad_id=0)
BASE = ArtefactCard(
    target="tflite",
    quant="int8",
    model_file="model.tflite",
    buckets=(Bucket(16, "seq_16"), Bucket(64, "seq_64")),
    labels=("different", "same"),
    attention_mask_value=-60.0,
    minimum_runtime={"tflite": "2.14"},
    tokenizer=WORDPIECE,
    positive=1,
)
IDS_AND_MASK = ("input_ids", "attention_mask")
SHIFT = LengthShift((0.0, 0.5, 1.0), (0.5, 0.0, -0.25, -1.0))
CARDS = {
    "matcher": replace(BASE, length_shift=SHIFT, temperature=2.0),
    "matcher of one logit": replace(
        BASE, labels=("score",), positive=0, activation="sigmoid", temperature=2.0, length_shift=SHIFT
    ),
    "matcher of a plain logit": replace(
        BASE, labels=("score",), positive=0, activation="identity", threshold=-3.5
    ),
    "matcher with vectors": replace(BASE, embedding=Embedding(32, normalized=False)),
    "matcher by BPE": replace(BASE, inputs=IDS_AND_MASK, tokenizer=ROBERTA),
    "classes": replace(
        BASE, task=CLASSIFICATION, texts=1, labels=("a", "b", "c"), inputs=IDS_AND_MASK, positive=0
    ),
    "multi-label": replace(BASE, task=CLASSIFICATION, activation="sigmoid", positive=0),
    "regression": replace(BASE, task=CLASSIFICATION, activation="identity", labels=("x",), positive=0),
    "entities": replace(
        BASE, task=TOKEN_CLASSIFICATION, texts=1, labels=("O", "B-X", "I-X"), tokenizer=UNIGRAM, positive=0
    ),
    "answers": replace(
        BASE, task=QUESTION_ANSWERING, labels=(), activation=None, stride=32, tokenizer=ROBERTA, positive=0
    ),
    "vectors": replace(
        BASE,
        task=EMBEDDING,
        texts=1,
        labels=(),
        activation=None,
        embedding=Embedding(384, normalized=True),
        tokenizer=replace(WORDPIECE, template=Template(BERT_TEMPLATE.single, None)),
        positive=0,
    ),
}
SHAPES = {
    CLASSIFICATION: {"logits": [1, 3]},
    TOKEN_CLASSIFICATION: {"logits": [1, 64, 3]},
    QUESTION_ANSWERING: {"logits": [1, 64, 2]},
    EMBEDDING: {"embedding": [1, 384]},
}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_of_every_task_survives_its_json(name):
    card = CARDS[name]
    data = json.loads(json.dumps(card.to_json()))
    assert data["format"] == 1
    assert ArtefactCard.from_json(data, IO) == card
    for place in (data, data["tokenizer"], *filter(None, [data["embedding"]])):
        place["of later"] = 1
        with pytest.raises(ArtefactError, match="'of later' is not known to this version"):
            ArtefactCard.from_json(data, IO)
        del place["of later"]
    decides = {"positive", "threshold", "temperature", "length_shift"}
    assert decides & data.keys() == (decides if card.task == MATCHING else set())
    assert ("context" in data) is (card.task == QUESTION_ANSWERING)


@pytest.mark.parametrize("name", ["classes", "entities", "answers", "vectors"])
def test_outputs_have_the_names_and_shapes_of_the_task(name):
    card = CARDS[name]
    expected = SHAPES[card.task]
    assert {one["name"]: one["shape"] for one in card.to_json()["outputs"]} == expected


def test_all_tasks_are_tried():
    assert {card.task for card in CARDS.values()} == set(TASKS)


@pytest.mark.parametrize("version", [*range(-1, 1), *range(2, 10), "1", 1.0, True, None])
def test_a_card_of_another_format_is_refused(version):
    with pytest.raises(ArtefactError, match=r"folder.io\.json.*format"):
        ArtefactCard.from_json(BASE.to_json() | {"format": version}, IO)


def fields_of(data, path=()):
    """Paths of every member of the objects in a card, but not inside minimum_runtime, which may be empty."""
    for key, value in data.items():
        yield (*path, key)
        if isinstance(value, dict) and key != "minimum_runtime":
            yield from fields_of(value, (*path, key))


@pytest.mark.parametrize("name", CARDS)
def test_every_field_of_every_card_is_required(name):
    whole = CARDS[name].to_json()
    for path in fields_of(whole):
        data = copy.deepcopy(whole)
        holder = data
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        with pytest.raises(ArtefactError, match=r"folder.io\.json.*" + path[-1]):
            ArtefactCard.from_json(data, IO)


IMPOSSIBLE = [
    ("matcher of one logit", {"activation": "softmax"}, "1 labels do not fit"),
    ("regression", {"activation": "softmax"}, "1 labels do not fit"),
    ("classes", {"activation": "tanh"}, "activation 'tanh'"),
    ("classes", {"activation": None}, "activation None"),
    ("classes", {"embedding": Embedding(8, normalized=True)}, "embedding"),
    ("classes", {"labels": ()}, "0 labels do not fit"),
    ("answers", {"labels": ("start", "end")}, "2 labels do not fit"),
    ("answers", {"stride": None}, "context"),
    ("answers", {"stride": 64}, "stride"),
    ("answers", {"texts": 1}, "texts is 1"),
    ("entities", {"activation": "sigmoid"}, "activation 'sigmoid'"),
    ("entities", {"texts": 2}, "texts is 2"),
    ("vectors", {"embedding": None}, "embedding is missing"),
    ("vectors", {"texts": 2}, "texts is 2"),
    ("classes", {"texts": 2, "tokenizer": CARDS["vectors"].tokenizer}, "template pair is missing"),
    ("classes", {"inputs": ("input_ids", "token_type_ids")}, "inputs are not"),
    ("matcher of one logit", {"positive": 1}, "positive 1"),
    ("matcher of one logit", {"threshold": 1.5}, "threshold 1.5"),
    ("matcher of a plain logit", {"temperature": 2.0}, "temperature"),
    ("matcher of a plain logit", {"length_shift": SHIFT}, "length_shift"),
    ("matcher of a plain logit", {"threshold": float("inf")}, "threshold inf"),
    ("matcher with vectors", {"activation": "sigmoid"}, "needs one label"),
]


@pytest.mark.parametrize(("name", "change", "says"), IMPOSSIBLE)
def test_a_card_that_cannot_be_is_neither_made_nor_read(name, change, says):
    with pytest.raises(ArtefactError, match=says):
        replace(CARDS[name], **change)
    unchecked = copy.copy(CARDS[name])
    for field, value in change.items():
        object.__setattr__(unchecked, field, value)
    with pytest.raises(ArtefactError, match=r"folder.io\.json"):
        ArtefactCard.from_json(unchecked.to_json(), IO)


def test_an_unknown_task_is_neither_made_nor_read():
    with pytest.raises(ArtefactError, match="task 'summarization' is none of text-matching"):
        replace(BASE, task="summarization")
    with pytest.raises(ArtefactError, match="task 'summarization' is none of text-matching"):
        ArtefactCard.from_json(CARDS["classes"].to_json() | {"task": "summarization"}, IO)


@pytest.mark.parametrize(
    ("single", "pair", "says"),
    [
        (["[CLS]"], None, "single"),
        (["$A", "$A"], None, "single"),
        (["$B"], None, "single"),
        (["$A"], ["$B", "$A"], "pair"),
        (["$A"], ["$A"], "pair"),
        (["$A", *["[SEP]"] * 9], None, "more than 8"),
        (["$A:0"], None, "shortest form"),
    ],
)
def test_a_template_that_cannot_be_is_refused(single, pair, says):
    with pytest.raises(ArtefactError, match=says):
        Template(tuple(single), pair and tuple(pair))


def test_a_longer_form_of_a_template_reads_as_the_shortest():
    data = CARDS["matcher with vectors"].to_json()
    data["tokenizer"]["template"]["single"] = ["[CLS]:0", "$A:0", "[SEP]:0"]
    assert ArtefactCard.from_json(data, IO) == CARDS["matcher with vectors"]


@pytest.mark.parametrize("name", CARDS)
def test_any_damage_is_refused_by_name_or_changes_a_value_within_its_range(name):
    """A card that is read after all says what it was given: written again, it is what was read."""
    whole, draw = CARDS[name].to_json(), random.Random(name)
    refused = read = 0
    for _ in range(400):
        data = copy.deepcopy(whole)
        *way, last = draw.choice(list(fields_of(whole)))
        holder = data
        for key in way:
            holder = holder[key]
        value = draw.choice([*VALUES, float("inf")])
        holder[last] = 1e30 if value == 10**30 else value  # no float has the digits of 10³⁰
        try:
            card = ArtefactCard.from_json(data, IO)
        except ArtefactError as error:
            refused += str(error).startswith(str(IO))
        else:
            read += 1
            again = card.to_json()
            assert again == {key: data[key] for key in again}, last
    assert refused + read == 400
    assert refused > 200


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize(
    "value", [10**400, -(10**400), 10**9, "\x1b[31mred", "a\x00b", "same\n", "\u202etxt"]
)
def test_huge_numbers_and_control_characters_are_refused_by_their_field(name, value):
    whole = CARDS[name].to_json()
    for path in fields_of(whole):
        data = copy.deepcopy(whole)
        holder = data
        for key in path[:-1]:
            holder = holder[key]
        if isinstance(holder[path[-1]], (dict, bool)) or holder[path[-1]] is None:
            continue
        listed = isinstance(holder[path[-1]], list) and path[-1] not in ("inputs", "outputs", "buckets")
        holder[path[-1]] = [value] if listed else value
        if path[-1] in ("threshold", "temperature", "pad_id", "size") and value == 10**9:
            continue  # within the range of a plain logit's threshold, or of an id
        with pytest.raises(ArtefactError, match=r"folder.io\.json") as caught:
            ArtefactCard.from_json(data, IO)
        assert str(caught.value).isprintable()


def test_one_logit_is_never_a_softmax():
    card, logits = CARDS["matcher of one logit"], np.array([[-3.0], [0.5]], np.float32)
    expected = 1 / (1 + np.exp(-(logits[:, 0] / 2.0 + np.array([0.25, -1.0]))))
    np.testing.assert_allclose(positive_probability(logits, card, [0.25, -1.0]), expected, rtol=1e-6)
    plain = CARDS["matcher of a plain logit"]
    np.testing.assert_array_equal(positive_probability(logits, plain, [0.0, 0.0]), logits[:, 0])
