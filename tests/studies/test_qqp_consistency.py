"""Consistency training of the matchers for Quora's questions."""

import json
import lzma

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from mobilebert_matching.data.labelled_pairs import read_split
from mobilebert_models import load_classifier
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, predict_logits
from recipes.general_matchers.minimal_pairs import generate
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller, is_test_word
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.texts import held_out_intents
from studies.qqp_teacher import consistency
from studies.qqp_teacher.consistency import (
    CLINC,
    DIFFERENT,
    MINIMAL,
    SAME,
    made_pairs,
    minimal_pairs,
    misspelt,
    opinion,
)
from tests.helpers.small_matcher import model_directory

WORDS = [
    "because",
    "receive",
    "separate",
    "weather",
    "believe",
    "calendar",
    "necessary",
    "tomorrow",
    "banana",
]
HEADER = "label\tquestion1\tquestion2\n"


@pytest.fixture
def data(tmp_path):
    """A folder of data sets: three of them, small."""
    folder = tmp_path / "data"
    for place in ("typos", "intents/clinc150", "qqp"):
        (folder / place).mkdir(parents=True)
    (tmp_path / "corpora").mkdir()
    said = "The Sun is one of many stars in 7 places. It gives light to planets such as Mars, which it warms."
    with lzma.open(tmp_path / consistency.WIKIPEDIA, "wt") as file:
        file.write(f"Sun\n{said}\n")
    lines = [f"{word}\t{word[:2] + word[3:]}\n" for word in WORDS]
    (folder / MISSPELLINGS).write_text("word\tmisspelling\n" + "".join(lines))
    intents = [f"what about matter {n % 60} or {n}\tintent {n % 60}\n" for n in range(240)]
    (folder / CLINC).write_text("text\tintent\n" + "".join(intents))
    for name, first, count in (("train", 0, 60), ("dev", 60, 40), ("test", 100, 8)):
        rows = [
            f"{n % 2}\tWhy is {WORDS[n % 9]} number {n} so nice?\tWhy is {WORDS[(n + n % 2) % 9]} {n} nice?\n"
            for n in range(first, first + count)
        ]
        (folder / "qqp" / f"{name}.tsv").write_text(HEADER + "".join(rows))
    return folder


def test_texts_beside_themselves_are_the_same_and_others_different(data):
    pairs, told = made_pairs(data.parent, ["How so?", "Why not?"], generator(0))
    assert len(pairs) == len(told) > 1900
    for (left, right), log_odds in zip(pairs, told, strict=True):
        assert log_odds == (SAME if left == right else DIFFERENT)
    numbers = [(int(a), int(b)) for a, b in pairs if a.isdigit() and b.isdigit() and a != b]
    assert sum(0 < b - a < 10 for a, b in numbers) > consistency.NUMBERS / 2
    texts = {text for pair in pairs for text in pair}
    assert {"How so?", "Why not?"} <= texts
    assert any(text.startswith("It gives light") for text in texts)
    assert {word for word in WORDS if not is_test_word(word)} <= texts
    assert not {word for word in WORDS if is_test_word(word)} & texts
    held_out = set(held_out_intents(data))
    assert held_out
    asked = [text for text in texts if text.startswith("what about")]
    assert asked
    assert not {f"intent {text.split()[3]}" for text in asked} & held_out
    assert any(left.isdigit() and right.isdigit() for left, right in pairs if left != right)
    assert pairs == made_pairs(data.parent, ["How so?", "Why not?"], generator(0))[0]


def test_minimal_pairs_are_of_training_templates_and_of_the_questions_and_lie_beside_themselves():
    questions = [f"Why did Anna meet {name} before {year}?" for name in ("Ben", "Cleo") for year in (90, 91)]
    pairs, told = minimal_pairs(questions, 0)
    assert len(pairs) == len(told)
    themselves = np.array([left == right for left, right in pairs])
    assert (told[themselves] == SAME).all()
    assert {left for left, right in pairs if left == right} <= {a for a, b in pairs if a != b}
    changed = [pair for pair in pairs if pair[0] != pair[1]]
    assert changed[: 7 * MINIMAL] == [(pair.left, pair.right) for pair in generate("train", MINIMAL, 0)]
    assert not set(changed) & {(pair.left, pair.right) for pair in generate("test", MINIMAL, 0)}
    assert set(told[: 7 * MINIMAL]) == {SAME, DIFFERENT}
    lower = {question.lower() for question in questions}
    edited = changed[7 * MINIMAL :]
    assert edited
    assert all(lower & {left.lower(), right.lower()} for left, right in edited)
    assert (told[7 * MINIMAL : len(changed)] == DIFFERENT).all(), (
        "of these questions only facts can be changed"
    )


def test_half_of_the_pairs_are_misspelt_in_one_text_or_both(data):
    draw, misspell = generator(0), Misspeller(data / MISSPELLINGS)
    pair = ("Why is a banana necessary?", "Do you believe in tomorrow?")
    found = [misspelt(pair, misspell, draw) for _ in range(2000)]
    changed = np.array([[one != other for one, other in zip(pair, new, strict=True)] for new in found])
    assert changed.any(1).mean() == pytest.approx(consistency.MISSPELT, abs=0.04)
    assert changed.all(1).mean() == pytest.approx(consistency.MISSPELT / 2, abs=0.04)
    assert changed[:, 0].mean() == pytest.approx(changed[:, 1].mean(), abs=0.04)


def test_an_opinion_is_the_mean_of_both_orders_and_is_kept(data, tmp_path, monkeypatch):
    directory, pairs = model_directory(), read_split(data / "qqp", "train").pairs
    found = opinion(str(directory), pairs, tmp_path / "cache")
    network, tokenizer = load_classifier(directory), PairTokenizer.load(directory)
    orders = (pairs, [(b, a) for a, b in pairs])
    logits = sum(predict_logits(network, tokenizer, order, seq_len=TRAIN_LENGTH) for order in orders) / 2
    wanted = logits[:, 1] - logits[:, 0]
    assert np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max()  # its products may be bfloat16
    monkeypatch.setattr(consistency, "log_odds", None)
    np.testing.assert_array_equal(opinion(str(directory), pairs, tmp_path / "cache"), found)
    with pytest.raises(TypeError):
        opinion(str(directory), pairs[1:], tmp_path / "cache")
    with pytest.raises(TypeError):
        opinion(str(model_directory(1)), pairs, tmp_path / "cache")


@pytest.mark.slow
def test_a_run_learns_and_takes_another_share_without_training_again(data, tmp_path, monkeypatch):
    for name, fewer in (("NUMBERS", 20), ("SYMBOLS", 20), ("MINIMAL", 2)):
        monkeypatch.setattr(consistency, name, fewer)
    start, out = str(model_directory()), tmp_path / "run"

    def train(kept, force):
        consistency.main(
            out,
            start=start,
            teacher=[start, str(model_directory(1))],
            data=data / "qqp",
            cache=tmp_path / "cache",
            rate=1e-3,
            epochs=8.0,
            mined=10,
            kept=kept,
            force=force,
        )
        return load_file(out / "model/model.safetensors"), json.loads((out / "task.json").read_text())

    half, record = train(0.5, force=False)
    assert record["metadata"]["teachers"] == [start, str(model_directory(1))]
    pairs = [(text, text) for text in ("7", "banana", "\u2192", "What about matter 3 or 4?")]
    before, tokenizer = load_classifier(model_directory()), PairTokenizer.load(model_directory())
    after = load_classifier(out / "model")
    was, now = (predict_logits(network, tokenizer, pairs) for network in (before, after))
    assert ((now[:, 1] - now[:, 0]) > (was[:, 1] - was[:, 0])).all()
    monkeypatch.setattr(torch.optim.AdamW, "step", None)  # nothing is trained any more
    all_new, again = train(0.0, force=True)
    assert again["seconds"] == record["seconds"]
    assert any(not torch.equal(tensor, all_new[name]) for name, tensor in half.items())
