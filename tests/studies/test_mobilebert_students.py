"""Promise of MobileBERT's study on an accelerator: a deeper student learns while its teachers read along."""

import itertools
import json
import random
from dataclasses import replace
from types import SimpleNamespace

import torch

import recipes.general_matchers.train_students
from mobilebert_models import build, load_embedder, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import encoder_of
from recipes.general_matchers.train_students import TrunkTraining, train_students
from recipes.general_matchers.trunk import sentence_vectors
from studies.general_matcher.train_mobilebert import DeeperConfig
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM
from tests.helpers.tiny_networks import DEEP, SHALLOW


def test_a_deeper_student_learns_of_layers_first_while_its_teachers_read_along(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes.general_matchers.train_students, "NOTED", 2)
    # A tenth of a second at every look: as many steps on a busy machine as on an idle one.
    clock = itertools.count(step=0.1)
    monkeypatch.setattr(
        recipes.general_matchers.train_students, "time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    near = replace(SHALLOW, vocab_size=30522, max_position_embeddings=64)
    for name, size in (("near", 24), ("wide", 48)):
        encoder = spread(build(replace(near, hidden_size=size), None, seed=size), size)
        save_pretrained(encoder, tmp_path / name, tokenizer_from=MINILM)
    words = ("tea", "law", "chess", "river", "moon", "stone", "garden", "letter", "winter", "doctor")
    draw = random.Random(0)
    texts = [" ".join(draw.sample(words, 5)) for _ in range(240)]
    lines = "".join(f"questions\t{text} {k}\n" for k, text in enumerate(texts))
    (tmp_path / "texts.tsv").write_text("source\ttext\n" + lines)
    (tmp_path / "sentences.txt").write_text("".join(f"{text} here\n" for text in texts[:50]))
    shape = replace(DEEP, vocab_size=30522, max_position_embeddings=64)
    config = TrunkTraining(
        out=tmp_path / "run",
        cache=tmp_path,
        sentences=tmp_path / "sentences.txt",
        near=tmp_path / "near",
        wide=tmp_path / "wide",
        students=[DeeperConfig("deep", shape, str(tmp_path / "near"), rate=2e-3)],
        seconds=5,
        size=16,
        workers=0,
    )
    train_students(replace(config, seconds=0.01))
    train_students(config)
    begun, *steps, done = map(json.loads, (config.out / "record.jsonl").read_text().splitlines())
    assert done["held_cosine"]["deep"] > begun["held_cosine"]["deep"]
    *_, layers = zip(*(step["losses"]["deep"] for step in steps), strict=True)
    assert layers[0] > 0
    assert layers[-1] == 0
    trunk = config.out / "deep" / "trunk"
    ids = torch.randint(1, 60, (12, 9), generator=torch.Generator().manual_seed(94))
    held = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": ids * 0}
    with torch.no_grad():
        found = load_embedder(trunk)(**held)
        torch.testing.assert_close(found, sentence_vectors(encoder_of(load_pretrained(trunk)), held))
