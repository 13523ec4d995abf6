"""Promise of the decision's command: from trunk to matcher, whose record says what the matcher does."""

import json

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_matching.evaluation.metrics import auc
from mobilebert_models import MatcherSettings, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.decision import measure
from recipes.general_matchers.decision import train as command
from recipes.general_matchers.decision.natural_pairs import NaturalPair
from recipes.general_matchers.decision.pairs import DomainPair
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.pool import Pool, write_pool
from recipes.general_matchers.teachers import LOG_ODDS
from studies.common.script import run
from tests.helpers.small_matcher import embedding_model
from tests.helpers.toys import WORDS

SIZES = (16, 24)


def sentences(count, seed):
    draw = generator(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(count)]


def pairs(count, domain, seed):
    """The first word at the end, or half of the words replaced."""
    draw = generator(f"{seed} {domain}")
    for k, text in enumerate(sentences(count, seed)):
        words = text.split()
        others = [draw.choice([other for other in WORDS if other != word]) for word in words]
        changed = [*words[1:], words[0]] if k % 2 else [*words[::2], *others[1::2]]
        yield DomainPair(domain, k % 2, (text, " ".join(changed)))


def natural(*_, **__):
    return [NaturalPair("made", p.label, *p.texts) for p in pairs(80, "natural", 9)]


def by_words(size):
    """A teacher whose vectors say which words a text has, and something else besides."""

    def draw(name):
        return torch.randn(size, generator=torch.Generator().manual_seed(generator(name).randrange(2**40)))

    def encode(texts):
        return torch.stack([sum(map(draw, text.split())) / 2 + draw(text) for text in texts])

    return encode


@pytest.fixture(params=["matcher", "trunk"])
def begun(request, tmp_path, monkeypatch):
    """A model directory, a pool that both teachers have read, and data as the recipe's sources give it."""
    folder = tmp_path / "model"
    whole = load_pretrained(embedding_model())
    saved = whole if request.param == "matcher" else encoder_of(whole)
    save_pretrained(saved, folder, tokenizer_from=embedding_model())
    tokenizer = PairTokenizer.load(folder)
    write_pool([("made", text) for text in sentences(400, 0)], tmp_path / "pool", tokenizer)
    pool = Pool(tmp_path / "pool", tokenizer, SIZES)
    for values, size in zip((pool.near, pool.wide), SIZES, strict=True):
        values[:] = F.normalize(by_words(size)(pool.texts), dim=-1).numpy()
        values.flush()
    (tmp_path / "pool/read.json").write_text('{"read": 400}', encoding="utf-8")
    given = {
        "Pool": lambda folder, tokens: Pool(folder, tokens, SIZES),
        "HELD": 128,
        "load_mpnet": lambda _: by_words(SIZES[1]),
        "check_mpnet": lambda _: None,
        "pool_files": lambda _: [],
        "training_pairs": lambda *_: [*pairs(300, "mnli", 1), *pairs(300, "intents", 2)],
    }
    for name, value in given.items():
        monkeypatch.setattr(command, name, value)
    chosen_by = {
        "development_pairs": lambda *_: [*pairs(80, "mnli", 3), *pairs(80, "intents", 4)],
        "unused_sentences": lambda *_: [],
        "natural_pairs": natural,
    }
    for name, value in chosen_by.items():
        monkeypatch.setattr(measure, name, value)
    return folder, tmp_path


def trained(begun, *more):
    """The command's exit code."""
    model, folder = begun
    options = {"model": model, "pool": folder / "pool", "mpnet": folder, "out": folder / "out"}
    options |= {"mined": 300, "mined-texts": 200, "epochs": 8}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with pytest.raises(SystemExit) as end:
        run(command.main, [*words, *more])
    return end.value.code


def test_from_trunk_to_a_matcher_that_scores_as_its_record_says(begun, capfd):
    folder = begun[1]
    assert trained(begun) == 0
    record = json.loads((folder / "out/record.json").read_text(encoding="utf-8"))
    assert record["pairs"] == {"mnli": 300, "intents": 300}
    assert 0 < record["mined"] <= 300
    assert record["read"] == 400
    assert isinstance(load_pretrained(folder / "out/matcher").head, LearnedDecision)
    settings = MatcherSettings.load(folder / "out/matcher")
    assert {"threshold": settings.threshold, "length_shift": settings.length_shift}.items() <= record[
        "settings"
    ].items()
    assert 0 < settings.threshold < 1
    assert all(record["learned"][domain]["auc"] > 0.8 for domain in ("mnli", "intents", "natural"))
    asked = list(pairs(80, "natural", 9))  # of two equally long texts, so that all get the same shift
    scores = open_scorer(str(folder / "out/matcher"), 1).score([pair.texts for pair in asked])
    found = auc(np.array([pair.label for pair in asked]), scores)
    assert found == pytest.approx(record["learned"]["natural"]["auc"], abs=0.01)  # it is written in 8 bits
    made = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    assert trained(begun) == 2
    assert "--force" in capfd.readouterr().err
    assert {path: path.read_bytes() for path in made} == made


def test_texts_alone_teach_no_label_of_a_data_set_and_give_the_threshold(begun, monkeypatch):
    asked, made = [], [*pairs(300, "edits", 1)]
    monkeypatch.setattr(command, "training_pairs", lambda _, data, *rest: asked.append(data) or made)
    assert trained(begun, "--texts-alone") == 0
    assert asked == [None]
    record = json.loads((begun[1] / "out/record.json").read_text(encoding="utf-8"))
    assert record["pairs"] == {"edits": 300}
    assert record["teacher"] == list(LOG_ODDS["mpnet"])
    assert set(record["accuracy"]) == {"mnli", "intents", "natural"}  # they are measured on
