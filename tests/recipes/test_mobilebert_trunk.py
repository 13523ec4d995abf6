"""Promise of matcher-open-m's recipe: it resumes, refuses other inputs, begins near its teacher."""

import ast
import copy
import inspect
import itertools
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mobilebert_models import EncoderConfig, build, load_pretrained, preset, save_pretrained
from mobilebert_models.config import KroneckerRule
from mobilebert_models.weights.word_codes import find_codes
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.training_config import ResumeError
from recipes.general_matchers.decision import natural_pairs as nat
from recipes.general_matchers.decision import training_rules
from recipes.general_matchers.decision.measure import drawn_labels
from recipes.general_matchers.decision.natural_pairs import DIFFERENT, SAME, natural_pairs
from recipes.general_matchers.decision.pairs import DomainPair, misspelt
from recipes.general_matchers.decision.thresholds import best_accuracy, by_domain, equal_error
from recipes.general_matchers.decision.train import mined_pairs, to_examples
from recipes.general_matchers.decision.training_rules import CHANGED, KEPT
from recipes.general_matchers.near import neighbours
from recipes.general_matchers.noise import Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.pool import Pool, write_pool
from recipes.mobilebert_trunk import other_starts, train
from recipes.mobilebert_trunk.start import warm_start
from recipes.mobilebert_trunk.train import Settings, Training, input_hash, rate_factor
from recipes.mobilebert_trunk.watch import agreement
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM

TEACHER = EncoderConfig(
    vocab_size=30522,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=6,
    intermediate_size=32,
    max_position_embeddings=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
SHAPE = replace(
    preset("matcher-m"),
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=6,
    intermediate_size=20,
    intra_bottleneck_size=12,
    embedding_size=8,
    max_position_embeddings=64,
    classifier_activation=False,
)
WORDS = tuple("abcdefghijklmnopqrstuvwxyz")


def texts(count, seed=0):
    draw = generator(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(count)]


def by_words(size):
    """A teacher whose vectors say which words a text has."""
    table = torch.randn(len(WORDS), size, generator=torch.Generator().manual_seed(size))

    def encode(found):
        return torch.stack([table[[WORDS.index(w) for w in text.split()]].mean(0) for text in found])

    return encode


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A folder with a pool and a teacher, and a call that makes a training of it."""
    for name, value in {"HELD": 64, "BEGIN": 1, "FITTED_ON": 200, "SAVED": 0.0, "NOTED": 5}.items():
        monkeypatch.setattr(train, name, value)
    # A clock that goes on where it is read: as many steps fit into a second on every machine.
    clock = itertools.count(0, 0.02)
    monkeypatch.setattr(train, "time", SimpleNamespace(process_time=lambda: next(clock)))
    monkeypatch.setattr("recipes.general_matchers.pool.SHARD", 400)
    monkeypatch.setattr(train, "SHARD", 400)
    tokenizer = PairTokenizer.load(MINILM)
    write_pool([("made", text) for text in texts(900)], tmp_path / "run/pool", tokenizer)
    torch.manual_seed(0)
    save_pretrained(spread(build(TEACHER, None, seed=0), 0), tmp_path / "teacher", tokenizer_from=MINILM)
    monkeypatch.setattr(train, "Pool", lambda folder, tokens: Pool(folder, tokens, (24, 40)))

    def make(inputs="these", start=None, read_beside=False, **settings):
        given = Settings(size=32, layers=1.0, **settings)
        readers = (by_words(24), by_words(40))
        run = tmp_path / "run"
        return Training(
            run, None, tmp_path / "teacher", lambda: readers, SHAPE, given, inputs, start, read_beside
        )

    return make


def notes(training):
    return [json.loads(line) for line in (training.out / "record.jsonl").read_text().splitlines()]


def test_a_run_learns_resumes_where_it_was_and_refuses_other_inputs(begun):
    first = begun()
    first.run(4.0)
    figures = [line["dev"] for line in notes(first) if "dev" in line]
    assert figures[-1]["held_cosine"] > figures[0]["held_cosine"] + 0.05
    assert figures[-1]["held_order"] > figures[0]["held_order"]
    table = first.student.embeddings.word_embeddings.weight.clone()
    assert find_codes(table) is not None, "words are codes once layers are no longer compared"
    again = begun()
    assert (again.step, again.seen, again.used) == (first.step, first.seen, first.used)
    for ours, theirs in zip(again.student.parameters(), first.student.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert again.optimiser.state_dict()["state"].keys() == first.optimiser.state_dict()["state"].keys()
    assert again.pool.read == first.pool.read
    again.run(5.0)
    assert again.step > first.step
    for encoder in (again.student, again.averaged):
        assert torch.equal(encoder.embeddings.word_embeddings.weight, table), "codes stay"
    with pytest.raises(ResumeError, match="holds a run on other texts, teachers, shape or settings"):
        begun(inputs="others")


def test_a_run_takes_what_another_process_lets_the_teachers_read(begun, tmp_path):
    with pytest.raises(DataError, match=r"0 texts are read; training begins at 400"):
        begun(read_beside=True)
    beside = Pool(tmp_path / "run/pool", PairTokenizer.load(MINILM), (24, 40))
    beside.read_shard(by_words(24), by_words(40))
    run = begun(read_beside=True)
    run.run(0.5)
    assert (run.pool.read, run.near_of, run.reading) == (400, 400, 0.0)
    beside.read_shard(by_words(24), by_words(40))
    run.run(1.0)
    assert (run.pool.read, run.near_of, run.reading) == (800, 800, 0.0)
    assert len(run.near) == 800


@pytest.mark.parametrize("kind", ["rewritten", "factored"])
def test_a_run_may_begin_from_another_network_of_the_teachers_shape(kind, begun, tmp_path, monkeypatch):
    monkeypatch.setattr(other_starts, "HELD", 64)
    monkeypatch.setattr(other_starts, "FITTED_ON", 96)
    rules = (KroneckerRule("*.intermediate.dense", 8, 4, 2), KroneckerRule("*.layer.?.output.dense", 4, 8, 2))
    monkeypatch.setattr(other_starts, "RULES", rules)
    teacher = load_pretrained(tmp_path / "teacher")
    pool = Pool(tmp_path / "run/pool", PairTokenizer.load(MINILM), (24, 40))
    begins = getattr(other_starts, kind)(copy.deepcopy(teacher), pool)
    if kind == "rewritten":
        assert (begins.config.normalization_type, begins.config.hidden_act) == ("no_norm", "relu")
    else:
        assert begins.config.kronecker == rules
    save_pretrained(begins, tmp_path / "begins", tokenizer_from=MINILM)
    run = begun(start=tmp_path / "begins")
    for ours, theirs in zip(run.student.parameters(), begins.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert not (run.out / "start").exists()
    assert torch.isfinite(run.student(**run.pool.batch(np.arange(4))).last_hidden_state).all()


def test_every_input_changes_the_hash(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    known = input_hash(Settings(), SHAPE, [tmp_path / "a"])
    assert input_hash(Settings(), SHAPE, [tmp_path / "a"]) == known
    others = (
        input_hash(Settings(seed=1), SHAPE, [tmp_path / "a"]),
        input_hash(Settings(), replace(SHAPE, embedding_size=12), [tmp_path / "a"]),
        input_hash(Settings(), SHAPE, [tmp_path / "b"]),
    )
    assert len({known, *others}) == 4


def test_the_rate_has_a_plateau_that_more_hours_prolong():
    assert rate_factor(0, 0.0, 100.0) == pytest.approx(1 / train.WARM_UP)
    assert rate_factor(1000, 79.0, 100.0) == 1
    assert rate_factor(1000, 90.0, 100.0) == pytest.approx(0.5)
    assert rate_factor(1000, 90.0, 200.0) == 1
    assert rate_factor(1000, 101.0, 100.0) == 0


def test_a_warm_start_is_nearer_to_every_layer_of_its_teacher_than_fresh_weights(tmp_path):
    tokenizer = PairTokenizer.load(MINILM)
    write_pool([("made", text) for text in texts(300)], tmp_path, tokenizer)
    pool = Pool(tmp_path, tokenizer, (24, 40))
    teacher = spread(build(TEACHER, None, seed=0), 0).eval()
    batches = [pool.batch(rows) for rows in np.array_split(np.arange(200), 5)]
    counts = np.bincount(pool.ids, minlength=30522)
    begun = warm_start(SHAPE, teacher, batches, counts, 0).eval()
    fresh = build(SHAPE, None, seed=0).eval()
    batch = pool.batch(np.arange(200, 300))
    real = batch["attention_mask"] > 0
    with torch.no_grad():
        wanted, ours, other = (n(**batch, capture=True).hidden_states for n in (teacher, begun, fresh))
    for depth, states in enumerate(zip(wanted, ours, other, strict=True)):
        one, two, three = (state[real] for state in states)
        near, far = (F.mse_loss(found, one) / one.var() for found in (two, three))
        assert near < 0.6 * far, depth


def test_neighbours_are_the_nearest_others():
    vectors = F.normalize(torch.randn(500, 16, generator=torch.Generator().manual_seed(0)), dim=-1).numpy()
    vectors[1] = vectors[0]
    found = neighbours(vectors)
    assert not (found == np.arange(500)[:, None]).any()
    assert found[0, 0] == 1
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -2)
    hit = [len({*found[i]} & {*np.argsort(-similarity[i])[:8]}) for i in range(500)]
    assert np.mean(hit) > 5  # cells are searched, not all texts


def test_agreement_is_one_for_the_targets_themselves_and_less_for_others():
    target = F.normalize(torch.randn(80, 8, generator=torch.Generator().manual_seed(0)), dim=-1).numpy()
    noisy = target + 0.5 * np.random.default_rng(0).normal(size=target.shape)
    noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
    same, other = (agreement(v, target, target @ target.T) for v in (target, noisy))
    assert same == {"held_cosine": 1.0, "held_order": pytest.approx(1.0)}
    assert other["held_cosine"] < 0.95
    assert other["held_order"] < 0.95


def test_the_threshold_of_equal_error_is_where_both_rates_meet_in_the_mean_of_domains():
    scores = np.array([0.1, 0.2, 0.3, 0.6, 0.4, 0.7, 0.8, 0.9] * 50)
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1] * 50)
    threshold = equal_error(scores, labels, np.array(["one"] * 400))
    assert 0.3 < threshold <= 0.6
    found = scores >= threshold
    assert abs((found & (labels == 0)).sum() / 200 - (~found & (labels == 1)).sum() / 200) <= 0.25
    assert best_accuracy(scores, labels) == pytest.approx(7 / 8)
    shifted = np.concatenate([scores, scores + 2])
    record = by_domain(shifted, np.tile(labels, 2), np.repeat(["low", "high"], 400))
    assert record["low"]["auc"] == record["high"]["auc"] == pytest.approx(15 / 16)
    assert record["low"]["accuracy"] == 0.5 < record["low"]["best"]  # the other domain's threshold


def test_natural_pairs_differ_in_what_their_kind_says_and_no_sentence_is_used_twice():
    sentences = [
        "The ship left Rotterdam on January 12 with 250 crates on board.",
        "A parcel of 5 kg needs two stamps, which you buy at the counter.",
        "Napoleon defeated Wellington in a story that nobody believes.",
        "Flights with meals are always late when it rains in the north.",
        "The A380 is the largest plane that the airport can take.",
        "The bridge was designed by Lovelace in a hurry.",
        "When the river rises again, the old harbour closes its gates.",
        "We do not know the colour of the car that was required.",
        "How do I change my address in the app",
    ]
    found = list(natural_pairs(sentences, 40, 0))
    originals = [p.left if p.left in sentences else p.right for p in found]
    assert len(set(originals)) == len(originals) == len(found) >= 7
    assert {p.label for p in found if p.kind in DIFFERENT} == {0}
    assert {p.label for p in found if p.kind in SAME} == {1}
    by_kind = {p.kind: {p.left, p.right} for p in found}
    roles = "Wellington defeated Napoleon in a story that nobody believes."
    assert roles in by_kind["roles"]
    assert "Lovelace designed the bridge in a hurry." in by_kind["passive"]
    assert "The old harbour closes its gates when the river rises again." in by_kind["clause"]
    assert any("What do I have to do to change" in text for text in by_kind["request"])


def swapped_words(module):
    """Words and phrases that a module's calls of `swaps` put in each other's place."""
    calls = (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call))
    named = (call for call in calls if getattr(call.func, "id", "") == "swaps")
    given = (node.value for call in named for node in ast.walk(call) if isinstance(node, ast.Constant))
    return {word for pair in given for word in re.split("[/>]", pair)}


def test_rules_of_training_share_no_word_with_those_of_the_test():
    theirs, ours = swapped_words(nat), swapped_words(training_rules)
    assert len(theirs) > 100
    assert len(ours) > 200
    assert not theirs & ours


def test_rules_of_training_change_what_is_said_or_keep_it():
    sentences = [
        "The tower is 5 metres from the old mill.",
        "Armstrong helped Aldrin on the way down.",
        "The report is already complete in this form.",
        "The men stood near the public fountain.",
        "They could not find the harbour.",
        "Oranges grow in Spain and Italy.",
        "Some 12,500 bees live there.",
        "We shall choose a shop that is quiet.",
        "please send the parcel tomorrow",
    ]
    found = list(natural_pairs(sentences, 60, 0, CHANGED, KEPT))
    originals = [p.left if p.left in sentences else p.right for p in found]
    assert len(set(originals)) == len(originals) == len(found) >= 7
    both = {p.label: {text for q in found if q.label == p.label for text in (q.left, q.right)} for p in found}
    assert "Aldrin helped Armstrong on the way down." in both[0]
    assert any("couldn't find" in text for text in both[1])
    assert any("12500" in text for text in both[1])


def test_mined_pairs_are_near_texts_of_those_given_with_the_wider_teachers_cosine(tmp_path):
    write_pool([("made", text) for text in texts(300)], tmp_path, tokenizer := PairTokenizer.load(MINILM))
    pool = Pool(tmp_path, tokenizer, (24, 40))
    for values, size in ((pool.near, 24), (pool.wide, 40)):
        values[:] = F.normalize(by_words(size)(pool.texts), dim=-1).numpy()
    rows = np.arange(100, 300)
    pairs, cosines = mined_pairs(pool, rows, 400, 0)
    place = {text: k for k, text in enumerate(pool.texts)}
    at = np.array([[place[a], place[b]] for a, b in pairs])
    assert at.min() >= 100
    assert len(np.unique(at, axis=0)) == len(at) > 200
    np.testing.assert_allclose(cosines, (pool.wide[at[:, 0]] * pool.wide[at[:, 1]]).sum(1), atol=2e-2)
    assert cosines.mean() > (pool.wide[rows] @ pool.wide[rows].T).mean() + 0.1


def test_domains_and_their_labels_count_alike_and_near_texts_as_much_as_all_of_them():
    draw = np.random.default_rng(0)
    labelled = [
        DomainPair(domain, int(draw.random() < share), (f"{domain} {k}", f"a text {k}" + " more" * (k % 4)))
        for domain, share, count in (("one", 0.8, 300), ("two", 0.3, 50))
        for k in range(count)
    ]
    soft = ([(f"near {k}", f"by {k}") for k in range(40)], draw.random(40))
    found, read = to_examples(labelled, soft, 8.0, -5.0)
    assert found.weights.mean() == pytest.approx(1)
    labels = np.array([pair.label for pair in labelled])
    totals = [
        found.weights[:350][(found.domains[:350] == d) & (labels == k)].sum()
        for d in ("one", "two")
        for k in (0, 1)
    ]
    np.testing.assert_allclose(totals, totals[0])
    assert found.weights[350:].sum() == pytest.approx(sum(totals))
    assert found.targets[350] == pytest.approx(8 * soft[1][0] - 5)
    assert np.array_equal(np.flatnonzero(found.soft), np.arange(350, 390))
    assert read[found.places[350][1]] == "by 0"


def test_labels_are_drawn_as_often_as_their_log_odds_say():
    drawn = drawn_labels(np.repeat([-2.0, 0.0, 1.0], 1000), draws=4).reshape(4, 3, 1000)
    np.testing.assert_allclose(drawn.mean((0, 2)), [0.119, 0.5, 0.731], atol=0.03)
    assert not np.array_equal(drawn[0], drawn[1])


def test_a_misspelt_pair_is_the_same_only_beside_its_own_text():
    found = list(misspelt(texts(50), Misspeller(None), 40, generator(0)))
    assert len(found) == 40
    assert {pair.label for pair in found} == {0, 1}
    for pair in found:
        left, right = (set(text.lower().split()) for text in pair.texts)
        if pair.label:
            assert len(left - right) <= 2
