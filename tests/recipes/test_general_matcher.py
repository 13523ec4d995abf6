"""Promise of the general matcher's training: made pairs are right, noise keeps words, a trunk learns."""

import itertools
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mobilebert_models import EncoderConfig, build
from mobilebert_models.networks.layers import encoder_of
from mobilebert_training.distillation.vector_targets import fit_target_map, mapped
from mobilebert_training.training_config import ResumeError
from recipes.general_matchers import stages, train_trunk
from recipes.general_matchers.batches import window
from recipes.general_matchers.edits import edited
from recipes.general_matchers.heads import TokenStates, head_logits
from recipes.general_matchers.minimal_pair_templates import ACTS, FIRMS, NAMES, PLACES, THINGS
from recipes.general_matchers.minimal_pairs import DIFFERENT, SAME, generate
from recipes.general_matchers.noise import Misspeller, is_test_word
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.prune import prune
from recipes.general_matchers.rules import caption, headline, rule_question
from recipes.general_matchers.stages import Run, Settings, run_stage
from recipes.general_matchers.trunk import Targets, sentence_vectors, vector_loss
from tests.helpers.tiny_networks import tiny

pytestmark = pytest.mark.usefixtures("one_thread")

TEXTS = ("Please believe me about tomorrow", "a", "The government of several countries", "12 + 34", "")
REAL = {"believe": "beleive", "government": "goverment", "several": "severel", "tomorrow": "tommorow"}


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("word\tmisspelling\n" + "".join(f"{word}\t{wrong}\n" for word, wrong in REAL.items()))
    return path


@pytest.mark.parametrize("side", ["train", "test"])
def test_minimal_pairs_differ_in_what_their_kind_says(side):
    pairs = list(generate(side, 40, 0))
    assert {p.kind for p in pairs} == {*DIFFERENT, *SAME}
    assert len(set(pairs)) == len(pairs) == 40 * 7
    for pair in pairs:
        left, right = pair.left.split(), pair.right.split()
        assert pair.label == (pair.kind in SAME)
        assert pair.left != pair.right
        if pair.kind in {"number", "name"}:
            assert sum(a != b for a, b in zip(left, right, strict=True)) >= 1
        if pair.kind == "number":
            changed = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
            assert all(a.isdigit() and b.isdigit() for a, b in changed)
        if pair.kind == "before_after":
            assert {"before", "after"} <= {word.lower() for word in left + right}
    assert pairs == list(generate(side, 40, 0))
    assert pairs != list(generate(side, 40, 1))


def test_sides_of_the_minimal_pairs_share_no_filler():
    for fillers in (NAMES, PLACES, FIRMS, THINGS, ACTS):
        assert not set(fillers["train"]) & set(fillers["test"])
    train = {text for p in generate("train", 40, 0) for text in (p.left, p.right)}
    assert not train & {text for p in generate("test", 40, 0) for text in (p.left, p.right)}


def test_texts_by_rule_are_whole():
    draw = generator(0)
    topics = ["Roman law", "Tea", "Chess", "Jupiter"]
    for make in (caption, lambda d: headline(d, topics), lambda d: rule_question(d, topics)):
        texts = [make(draw) for _ in range(100)]
        assert len(set(texts)) > 50
        assert not any("{" in text or not text.strip() for text in texts)


def test_a_misspelling_changes_one_word_and_keeps_the_others(words):
    misspell, draw = Misspeller(words), generator(0)
    for text in TEXTS * 20:
        wrong = misspell.one(text, draw)
        assert len(wrong.split()) == len(text.split())
        assert abs(len(wrong) - len(text)) <= 1
        changed = sum(a != b for a, b in zip(text.split(), wrong.split(), strict=True))
        assert changed <= (1 if any(len(word) >= 4 and word.isalpha() for word in text.split()) else 0)
    assert len({misspell.noisy(TEXTS[0], draw) for _ in range(30)}) > 10


def test_words_kept_for_tests_are_misspelt_in_tests_only(words):
    train, test = Misspeller(words), Misspeller(words, test=True)
    assert {*train.known, *test.known} == set(REAL)
    assert not any(is_test_word(word) for word in train.known)
    assert all(is_test_word(word) for word in test.known)


def test_target_map_keeps_cosines_and_turns_towards_the_near_teacher():
    random = np.random.default_rng(0)
    near = mapped(random.normal(size=(60, 6)), np.eye(6))
    turn = np.linalg.qr(random.normal(size=(12, 12)))[0][:6]
    wide = near @ turn  # the same vectors, in a wider space
    np.testing.assert_allclose(mapped(wide, fit_target_map(wide, near)), near, atol=1e-5)


def test_targets_of_the_near_teacher_alone_need_no_other(tmp_path):
    close = mapped(np.random.default_rng(0).normal(size=(6, 4)), np.eye(4))
    (tmp_path / "minilm").mkdir()
    np.save(tmp_path / "minilm/shard-00000000.npy", close.astype(np.float16))
    targets = Targets(tmp_path, 8, share=1.0)  # two texts have no vector yet
    assert targets.there.tolist() == [True] * 6 + [False] * 2
    np.testing.assert_allclose(targets.values[:6], close, atol=1e-3)
    np.save(tmp_path / "minilm/shard-00000006.npy", close[:2].astype(np.float16))
    targets.refresh()
    np.testing.assert_allclose(targets.values[6:], close[:2], atol=1e-3)


def test_window_holds_texts_of_like_length_and_near_ones():
    lengths = np.random.default_rng(0).integers(3, 30, 400)
    rows = np.arange(20, 400)
    plain = window(rows, lengths, 8, (0, 1))
    assert np.concatenate(plain).min() >= 20
    assert max(np.ptp(lengths[batch]) for batch in plain) < np.ptp(lengths)
    neighbours = np.where(np.arange(400)[:, None] < 200, (np.arange(400)[:, None] + [1, 2, 3]) % 400, -1)
    for batch in window(rows[rows < 190], lengths, 8, (0, 1), neighbours):
        assert np.diff(batch).min() <= 3


def test_head_of_cached_states_gives_the_logits_of_the_network():
    torch.manual_seed(0)
    config = EncoderConfig(
        model_type="albert",
        vocab_size=60,
        hidden_size=24,
        embedding_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=40,
        layer_sharing="none",
        classifier_activation=False,
    )
    model = build(config, "embedding_matcher", seed=0)
    rows = [[2, *range(5, 5 + n), 3] for n in (3, 7, 1)]
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn_like(parameter))
        states = []
        for row in rows:
            own = torch.cat(model.states(*single(row)), -1)[0]
            states.append(TokenStates(torch.tensor(row), own, model(*single(row))[1][0].numpy()))
        found = head_logits(model.head, states, np.array([0, 0, 1]), np.array([1, 2, 2]))
        for k, (left, right) in enumerate(((0, 1), (0, 2), (1, 2))):
            ids = torch.tensor([rows[left] + rows[right]])
            types = torch.tensor([[0] * len(rows[left]) + [1] * len(rows[right])])
            logits, _ = model(ids, torch.ones_like(ids), types)
            assert found[k] == pytest.approx(float(logits[0, 1] - logits[0, 0]), abs=1e-4)


def single(row):
    """Ids, mask and types of one text."""
    ids = torch.tensor([row])
    return ids, torch.ones_like(ids), torch.zeros_like(ids)


def test_edits_change_what_their_kind_says():
    texts = [
        f"In the year {n} the army of Rome went to Carthage before the war was over, near Sicily."
        for n in range(20)
    ] + ["She opened a small bakery with her sister in the old town."] * 3
    found = list(edited(texts, 5, 0))
    assert {p.kind for p in found} == {*DIFFERENT, "word_order"}
    for pair in found:
        assert pair.label == (pair.kind == "word_order")
        left, right = pair.left.lower(), pair.right.lower()
        assert left != right
        if pair.kind in ("swapped_roles", "word_order"):
            assert sorted(re.findall(r"\w+", left)) == sorted(re.findall(r"\w+", right))
        if pair.kind == "negation":
            assert ("not" in left or "n't" in left) != ("not" in right or "n't" in right)


def test_pruning_keeps_what_a_wide_enough_network_computes():
    base = EncoderConfig(
        model_type="bert",
        vocab_size=60,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=20,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    teacher = encoder_of(build(base, None, seed=1))
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    texts = [
        {
            "input_ids": torch.randint(1, 60, (8, 9), generator=torch.Generator().manual_seed(n)),
            "attention_mask": torch.ones(8, 9, dtype=torch.long),
            "token_type_ids": torch.zeros(8, 9, dtype=torch.long),
        }
        for n in range(5)
    ]
    shape = {"model_type": "albert", "layer_sharing": "none", "classifier_activation": False}
    losses = []
    for units in (6, 32):
        config = replace(base, **shape, embedding_size=24, intermediate_size=units)
        student = prune(teacher, config, np.ones(60), texts[:4], 200, 0)
        theirs, ours = (
            torch.nn.functional.normalize(net(**texts[4]).last_hidden_state.mean(1), dim=1)
            for net in (teacher, student)
        )
        losses.append(float((1 - (theirs * ours).sum(1)).mean()))
    assert losses[1] < losses[0]
    assert losses[1] < 0.05


@pytest.mark.slow
def test_a_stage_lowers_the_loss_and_resumes(tmp_path, monkeypatch):
    # A step takes a hundredth of a second, whatever the machine does.
    clock = itertools.count(0, 0.01)
    monkeypatch.setattr(stages, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    encoder = encoder_of(build(tiny("matcher-m"), None, seed=0))
    batches = [torch.randint(1, 60, (8, 6), generator=torch.Generator().manual_seed(n)) for n in range(4)]
    target = torch.nn.functional.normalize(
        torch.randn(4, 8, 32, generator=torch.Generator().manual_seed(9)), dim=-1
    )
    monkeypatch.setattr(stages, "WARM_UP", 5)
    losses = []

    def loss(index, step):
        ids = batches[index[0]]
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": ids * 0}
        value, parts = vector_loss(sentence_vectors(encoder, inputs), target[index[0]])
        losses.append(value.item())
        return value, parts

    def draw(step):
        return [np.array([n]) for n in range(4)]

    run = Run(tmp_path / "run", encoder)
    run_stage(run, "vectors", Settings(1e-2, 0.195), draw, loss, dict)
    assert run.step == 20
    kept = {name: value.clone() for name, value in encoder.state_dict().items()}
    encoder.load_state_dict(encoder_of(build(tiny("matcher-m"), None, seed=1)).state_dict())
    run = Run(tmp_path / "run", encoder)
    assert all(torch.equal(value, kept[name]) for name, value in encoder.state_dict().items())
    run_stage(run, "vectors", Settings(1e-2, 0.395), draw, loss, dict)
    assert run.step == len(losses) == 40
    assert np.mean(losses[-8:]) < 0.9 * np.mean(losses[:8])
    record = [json.loads(line) for line in (tmp_path / "run/record.jsonl").read_text().splitlines()]
    assert [line["step"] for line in record if line.get("finished")] == [20, 40]
    run = Run(tmp_path / "run", encoder)
    run_stage(run, "vectors", Settings(1e-2, 0.395), draw, loss, dict)  # its budget is used up
    assert len(losses) == 40


def test_a_trunk_is_not_trained_further_on_other_inputs(tmp_path, monkeypatch):
    def stop(*_):
        (tmp_path / "out/checkpoint.pt").write_bytes(b"begun")
        raise KeyboardInterrupt

    monkeypatch.setattr(train_trunk, "teacher_with_vocabulary", stop)
    (tmp_path / "texts.tsv").write_text("source\ttext\nmade\thow are you\n")
    config = train_trunk.TrunkConfig(tmp_path / "out", tmp_path)
    for given in (config, replace(config, vectors=900)):  # more seconds are no other run
        with pytest.raises(KeyboardInterrupt):
            train_trunk.train_trunk(given)
    with pytest.raises(ResumeError, match="other noise"):
        train_trunk.train_trunk(replace(config, noise=0.5))
    (tmp_path / "texts.tsv").write_text("source\ttext\nmade\thow were you\n")
    with pytest.raises(ResumeError, match="other texts"):
        train_trunk.train_trunk(config)
    assert (tmp_path / "out/checkpoint.pt").exists()
