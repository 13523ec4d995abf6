"""Promise of span question answering: official figures on hand-made cases, windows that lose no answer."""

import itertools
import json

import numpy as np
import pytest

from mobilebert_matching.data.squad import Question, find_split, read_squad, windows
from mobilebert_matching.evaluation.squad_metrics import best_threshold, evaluate, exact_match, f1, normalise
from mobilebert_models import EncoderConfig, build
from mobilebert_runtime.errors import DataError
from mobilebert_training.finetuning.squad_finetuning import answer, best_span, finetune_squad, squad_figures
from mobilebert_training.training_config import TrainingConfig
from tests.helpers.texts import MINILM

SMALL = EncoderConfig(
    hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, hidden_dropout_prob=0.0
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat, sat.", "cat sat"),
        ("a an the", ""),
        ("Theatre and anode", "theatre and anode"),
        ("U.S. Army", "us army"),
        ("well-known (1999)", "wellknown 1999"),
        ("«Élan»", "«élan»"),
    ],
)
def test_normalisation(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("gold", "found", "exact", "expected"),
    [
        ("the Eiffel Tower", "Eiffel tower.", 1.0, 1.0),
        ("in the year 1999", "1999", 0.0, 2 * (1 / 1) * (1 / 3) / (1 + 1 / 3)),
        ("red red blue", "red blue blue", 0.0, 2 / 3),  # bags: one red, one blue
        ("north", "south", 0.0, 0.0),
        ("", "", 1.0, 1.0),
        ("", "something", 0.0, 0.0),
        ("something", "", 0.0, 0.0),
        ("the", "a", 1.0, 1.0),  # articles only: no words in either
    ],
)
def test_one_answer(gold, found, exact, expected):
    assert exact_match(gold, found) == exact
    assert f1(gold, found) == pytest.approx(expected)


def test_version_1_takes_the_best_gold_answer_and_a_missing_prediction_is_wrong():
    golds = {"a": ["Paris", "in Paris, France"], "b": ["blue"], "c": ["one two"]}
    figures = evaluate(golds, {"a": "in Paris", "b": "blue"})
    assert figures["exact"] == pytest.approx(1 / 3)
    assert figures["f1"] == pytest.approx((2 * 2 / (2 + 3) + 1) / 3)
    assert figures["total"] == 3


GOLDS = {"a": ["cat"], "b": [], "c": ["a red dog"], "d": []}
FOUND = {"a": "cat", "b": "nonsense", "c": "dog", "d": "more"}
NOTHING = {"a": -3.0, "b": 2.0, "c": 0.5, "d": -1.0}


def test_version_2_threshold_and_parts():
    figures = evaluate(GOLDS, FOUND, NOTHING, threshold=0.0)
    # b and c exceed the threshold and are "no answer": right for b, wrong for c; d is answered: wrong.
    assert figures["exact"] == pytest.approx(2 / 4)
    assert (figures["exact_has_answer"], figures["exact_no_answer"]) == (1 / 2, 1 / 2)
    high = evaluate(GOLDS, FOUND, NOTHING, threshold=1.0)
    assert high["f1"] == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)


def test_best_threshold_is_the_best_of_all_thresholds():
    scores = {key: max([f1(gold, FOUND[key]) for gold in GOLDS[key]] or [0.0]) for key in GOLDS}
    tried = {
        cut: np.mean([float(not GOLDS[k]) if NOTHING[k] > cut else scores[k] for k in GOLDS])
        for cut in [-np.inf, *NOTHING.values()]
    }
    best, at = best_threshold(GOLDS, FOUND, scores, NOTHING)
    assert best == pytest.approx(max(tried.values()))
    assert tried[at] == pytest.approx(best)


def squad_json(folder, questions, name):
    paragraphs = [
        {
            "context": q.context,
            "qas": [
                {
                    "id": q.key,
                    "question": q.question,
                    "is_impossible": not q.answers,
                    "answers": [
                        {"text": t, "answer_start": s} for t, s in zip(q.answers, q.starts, strict=True)
                    ],
                }
            ],
        }
        for q in questions
    ]
    path = folder / name
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}))
    return path


def toy_questions(count, seed=0, none_every=0):
    """The answer is the only number among the words; learnable by a small network in a few steps."""
    rng = np.random.default_rng(seed)
    words = ["red", "blue", "rice", "river", "phone", "swim", "money", "green", "tower", "glass"]
    out = []
    for i in range(count):
        body = list(rng.choice(words, 8))
        if none_every and i % none_every == 0:
            out.append(Question(f"q{i}", "how many?", " ".join(body) + ".", (), ()))
            continue
        body[int(rng.integers(0, 8))] = number = str(rng.choice(["four", "seven", "nine"]))
        context = " ".join(body) + "."
        out.append(Question(f"q{i}", "how many?", context, (number,), (context.index(number),)))
    return out


def test_reading_gives_back_what_was_written(tmp_path):
    questions = toy_questions(6, none_every=3)
    squad_json(tmp_path, questions, "dev-v2.0.json")
    assert read_squad(find_split(tmp_path, "dev")) == questions


def test_every_answer_lies_wholly_in_some_window_and_spans_give_its_text():
    rng = np.random.default_rng(1)
    questions = []
    for i in range(20):
        words = [f"w{n}" for n in rng.integers(0, 999, 150)]
        at = int(rng.integers(0, 145))
        context = " ".join(words)
        text = " ".join(words[at : at + 4])
        questions.append(Question(str(i), "what?", context, (text,), (len(" ".join(words[:at])) + bool(at),)))
    parts = windows(MINILM, questions, max_len=96)
    assert len(parts) > 2 * len(questions)
    assert max(len(part.ids) for part in parts) <= 96
    found = set()
    for part in parts:
        question = questions[part.question]
        first, last = part.target(question)
        if (first, last) != (0, 0):
            text = question.context[part.spans[first][0] : part.spans[last][1]]
            assert text == question.answers[0]
            found.add(part.question)
    assert found == set(range(20))


def test_best_span_equals_a_loop_over_all_spans():
    (part,) = windows(MINILM, toy_questions(1))
    rng = np.random.default_rng(2)
    for _ in range(20):
        logits = rng.normal(size=(len(part.ids), 2)).astype(np.float32)
        allowed = [i for i, span in enumerate(part.spans) if span]
        score, (begin, end) = max(
            (float(logits[i, 0] + logits[j, 1]), (part.spans[i][0], part.spans[j][1]))
            for i, j in itertools.product(allowed, allowed)
            if i <= j
        )
        found = best_span(part, logits)
        assert found[0] == pytest.approx(score)
        assert found[1] == (begin, end)


def test_learns_where_the_answer_is_and_when_there_is_none(tmp_path):
    data = {"train": toy_questions(96, none_every=4), "dev": toy_questions(32, seed=1, none_every=4)}
    model = build(SMALL, "span_qa", seed=0)
    config = TrainingConfig(epochs=8, batch_size=16, learning_rate=5e-3)
    before = squad_figures(model, MINILM, data["dev"], 64)
    found = finetune_squad(model, MINILM, data, config, tmp_path, 64)
    assert found["dev"]["f1"] > max(0.6, before["f1"] + 0.2)
    assert found["dev"]["best_f1"] >= found["dev"]["f1"]
    texts, _ = answer(model, MINILM, data["dev"][1:2], 64)
    assert texts["q1"] in data["dev"][1].context


def test_bad_files_are_named_errors(tmp_path):
    with pytest.raises(DataError, match="0 files train"):
        find_split(tmp_path, "train")
    path = tmp_path / "train.json"
    path.write_text("[]")
    with pytest.raises(DataError, match="not a SQuAD file"):
        read_squad(path)
    path.write_text('{"data": []}')
    with pytest.raises(DataError, match="no question"):
        read_squad(path)
    squad_json(tmp_path, [Question("q", "what?", "a b", ("b",), (0,))], "train.json")
    with pytest.raises(DataError, match="'q': no 'b' at character 0"):
        read_squad(path)
