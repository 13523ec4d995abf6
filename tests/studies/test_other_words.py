"""Promise: a trunk gets words of today, and the mean of two trunks is one in every weight, in few bits."""

import random
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from mobilebert_models import EncoderConfig, build, load_pretrained, save_pretrained
from mobilebert_models.weights.four_bit import four_bit_layers
from mobilebert_models.weights.word_codes import WordCodes, find_codes, product_codes
from mobilebert_runtime.errors import ModelError, OutputError, ToolError
from mobilebert_training.initialization.cut_vocabulary import kept_entries, write_cut_tokenizer
from recipes.general_matchers.phrase_questions import read_words
from studies.general_matcher import mean_of_trunks as means
from studies.general_matcher import other_words, words
from tests.helpers.networks import TOY, spread
from tests.helpers.texts import MINILM

pytestmark = pytest.mark.usefixtures("one_thread")

ENTRIES = 4300
# By Zipf frequency, the most frequent first: one too frequent, one too short, others not of small letters.
ZIPF = {
    "the": 7.7,
    "so": 5.5,
    "laptop": 5.0,
    "don't": 4.9,
    "café": 4.8,
    "2019": 4.7,
    "selfie": 3.0,
    "glaive": 2.9,
}


def frequency(word):
    return 10 ** (ZIPF.get(word, 1.0) - 9)


PACKAGE = SimpleNamespace(
    iter_wordlist=lambda language, wordlist: iter(ZIPF),
    zipf_frequency=lambda word, language, wordlist: ZIPF[word],
    word_frequency=lambda word, language, wordlist: frequency(word),
)


@pytest.fixture
def package(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", PACKAGE)


def whole():
    return (MINILM / "vocab.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The parent, a trunk that reads a part of its vocabulary, another trained from it, and texts."""
    folder = tmp_path_factory.mktemp("trunks")
    parent = spread(build(TOY, None, seed=0), 0)
    save_pretrained(parent, folder / "parent", tokenizer_from=MINILM)
    kept = kept_entries(MINILM, {}, ENTRIES)
    write_cut_tokenizer(MINILM, kept, folder / "tokenizer")
    rows = parent.embeddings.word_embeddings.weight.detach()[kept]
    first = product_codes(rows, torch.ones(ENTRIES), 4)
    draw = torch.Generator().manual_seed(0)
    for seed, name in enumerate(("one", "two")):
        trunk = spread(build(replace(TOY, vocab_size=ENTRIES), None, seed=seed), seed)
        book = first.codebook.float() + seed * torch.randn(first.codebook.shape, generator=draw) * 20
        table = WordCodes.of_codebook(first.codes, book * first.scale).table()
        trunk.embeddings.word_embeddings = nn.Embedding.from_pretrained(table, freeze=True)
        trunk.pooler = None
        save_pretrained(trunk, folder / name, tokenizer_from=folder / "tokenizer")
    texts = random.Random(0)
    entries = [entry for entry in whole()[3000:4000] if entry.isalpha()]
    lines = [" ".join(texts.choices(entries, k=6)) for _ in range(1100)]
    (folder / "texts.tsv").write_text("source\ttext\n" + "".join(f"a\t{line}\n" for line in lines))
    return folder


@pytest.mark.parametrize("main", [words.main, partial(other_words.main, "no-such-trunk")])
def test_without_wordfreq_its_command_is_told_before_any_work(main, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wordfreq", None)  # as if it were not installed
    with pytest.raises(ToolError, match="pip install wordfreq==3"):
        main(out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("package")
def test_words_that_are_neither_rare_nor_in_every_sentence_are_written(tmp_path):
    out = tmp_path / "words.tsv"
    words.main(out)
    assert read_words(out) == {"laptop": 100_000, "selfie": 1000}
    with pytest.raises(OutputError, match="exists"):
        words.main(out)
    words.main(out, force=True)


def test_words_beyond_the_first_sixty_thousand_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(words, "LOOKED_AT", 4)
    assert words.frequent_words(PACKAGE) == [("laptop", 100_000)]


def test_a_blend_of_counts_is_one_of_their_shares():
    found = other_words.blend({1: 3.0, 2: 1.0}, {2: 10.0, 5: 30.0}, 0.7)
    assert found == {1: pytest.approx(0.525), 2: pytest.approx(0.25), 5: pytest.approx(0.225)}


@pytest.mark.usefixtures("package")
def test_a_trunk_gets_the_frequent_words_of_both_lists(folders, tmp_path):
    out = tmp_path / "out"
    asked = {"trunk": str(folders / "one"), "parent": str(folders / "parent"), "cache": folders}
    other_words.main(out=out, size=ENTRIES, **asked)
    found, before = (
        (load_pretrained(path), (path / "vocab.txt").read_text(encoding="utf-8").splitlines())
        for path in (out, folders / "one")
    )
    asked_for = {"laptop", "2019"} | {*(folders / "texts.tsv").read_text().split()} & {*whole()}
    assert asked_for <= {*found[1]}
    assert "laptop" not in before[1]
    assert len(found[1]) == ENTRIES == found[0].config.vocab_size
    tables = [model.embeddings.word_embeddings.weight for model, _ in (found, before)]
    row = {entry: number for number, entry in enumerate(before[1])}
    stays = [number for number, entry in enumerate(found[1]) if entry in row]
    assert 0 < len(stays) < ENTRIES
    step = tables[1].abs().max() / 127  # the row of the largest number may have gone
    moved = tables[0][stays] - tables[1][[row[found[1][number]] for number in stays]]
    assert moved.abs().max() <= step / 2
    assert find_codes(tables[0]) is not None
    with pytest.raises(OutputError, match="exists"):
        other_words.main(out=out, size=ENTRIES, **asked)


@pytest.mark.usefixtures("package")
def test_entries_that_the_parent_lacks_are_an_error(folders, tmp_path):
    with pytest.raises(ModelError, match="that the parent's vocabulary lacks"):
        other_words.main(str(folders / "parent"), tmp_path / "out", str(folders / "one"), folders)


def test_a_mean_is_one_in_every_weight_and_in_few_bits(folders, tmp_path):
    names = [str(folders / name) for name in ("one", "two")]
    means.main(*names, tmp_path / "out", 0.25, folders)
    one, two, found = (dict(load_pretrained(path).named_parameters()) for path in (*names, tmp_path / "out"))
    written = load_pretrained(tmp_path / "out")
    rounded = four_bit_layers(written)
    assert len(rounded) == 12
    table = "embeddings.word_embeddings.weight"
    assert found.keys() == one.keys()
    for name, value in found.items():
        wanted = 0.25 * one[name] + 0.75 * two[name]
        if name == table:
            error = wanted.abs().max() / 127 / 2 * 1.01
        elif name.removesuffix(".weight") in rounded:
            error = wanted.abs().amax(1, keepdim=True) / 3  # 15 steps, the grid's end may be cut
        else:
            error = wanted.abs().max() / 250  # an eighth bit, or float16
        assert ((value - wanted).abs() <= error).all(), name
    ours, theirs = find_codes(found[table]), find_codes(one[table])
    for group in range(ours.codes.shape[1]):
        pairs = {*zip(ours.codes[:, group].tolist(), theirs.codes[:, group].tolist(), strict=True)}
        assert len(pairs) == len(theirs.codes[:, group].unique())
    assert (tmp_path / "out/vocab.txt").read_bytes() == (folders / "one/vocab.txt").read_bytes()
    with pytest.raises(OutputError, match="exists"):
        means.main(*names, tmp_path / "out", 0.5, folders)


def test_all_of_one_trunk_is_that_trunk(folders):
    one, two, again = (load_pretrained(folders / name) for name in ("one", "two", "one"))
    mean = means.mean_of_trunks(one, two, 1.0)
    for (name, value), wanted in zip(mean.named_parameters(), again.parameters(), strict=True):
        assert torch.allclose(value, wanted, atol=1e-6), name


def test_vectors_that_the_first_has_made_equal_are_their_mean():
    table, codes = torch.arange(12.0).reshape(3, 4), torch.tensor([[0, 5], [0, 9], [7, 9]], dtype=torch.uint8)
    wanted = np.array([[2, 3, 2, 3], [2, 3, 8, 9], [8, 9, 8, 9]])
    np.testing.assert_allclose(means.coded(table, codes), wanted, atol=9 / 127 / 2 * 1.01)


def test_trunks_that_have_no_mean_are_errors(folders, tmp_path):
    one = load_pretrained(folders / "one")
    shape = replace(TOY, vocab_size=ENTRIES)
    narrow = build(replace(shape, intermediate_size=16), None, seed=0)
    with pytest.raises(ModelError, match=r"intermediate\.dense\.bias: \(32,\) and \(16,\)"):
        means.mean_of_trunks(one, narrow, 0.5)
    deep = build(replace(shape, num_hidden_layers=3), None, seed=0)
    with pytest.raises(ModelError, match="missing and"):
        means.mean_of_trunks(one, deep, 0.5)
    plain = build(shape, None, seed=0)
    with pytest.raises(ModelError, match="without product codes"):
        means.mean_of_trunks(one, plain, 0.5)
    for size, seed in ((4, 5), (2, 0)):  # other codes, and codes of other columns
        rows = torch.randn(ENTRIES, 24, generator=torch.Generator().manual_seed(seed))
        strange = product_codes(rows, torch.ones(ENTRIES), size).table()
        plain.embeddings.word_embeddings.weight = nn.Parameter(strange, requires_grad=False)
        with pytest.raises(ModelError, match="other product codes"):
            means.mean_of_trunks(one, plain, 0.5)
    with pytest.raises(ModelError, match="other vocabularies"):
        means.main(str(folders / "one"), str(folders / "parent"), tmp_path / "out", 0.5, folders)


PARENT = 6000  # rows of the parent's table


@pytest.fixture(scope="module")
def coded():
    """An encoder whose words have 200 codes a group, the parent's table, and which of its rows they are."""
    draw = np.random.default_rng(0)
    parent = torch.from_numpy(draw.normal(size=(PARENT, 8))).float()
    held = draw.permutation(PARENT)[:4200].tolist()
    config = EncoderConfig(
        vocab_size=4200, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    encoder = build(config, None, seed=0)
    codes = torch.from_numpy(draw.integers(0, 200, (4200, 2)))
    book = torch.from_numpy(draw.normal(size=(2, 256, 4))).float()  # nothing like the parent's rows
    rows = WordCodes.of_codebook(codes, book).table()
    encoder.embeddings.word_embeddings.weight = torch.nn.Parameter(rows, requires_grad=False)
    return encoder, parent, held


def test_a_new_entry_takes_the_codes_of_the_parents_nearest_rows(coded):
    """By brute force in float64, over vectors and not over numbers of codes."""
    encoder, parent, held = coded
    before = encoder.embeddings.word_embeddings.weight.clone()
    parent = parent.clone()
    new = sorted(set(range(PARENT)) - set(held))[:60]
    parent[new[0]] = 0  # where the mean of no rows at all would be
    kept = sorted([*held[:4100], *new])
    other = other_words.with_other_entries(encoder, parent, held, kept)
    found, table = other.embeddings.word_embeddings.weight, before.numpy()
    assert other.config.vocab_size == len(found) == other.embeddings.word_embeddings.num_embeddings == 4160
    for group in (slice(0, 4), slice(4, 8)):
        members = {}
        for row, i in enumerate(held):
            members.setdefault(tuple(table[row, group].tolist()), []).append(
                parent[i, group].double().numpy()
            )
        vectors, means = list(members), np.array([np.mean(rows, 0) for rows in members.values()])
        for number, i in enumerate(kept):
            if i in new:
                nearest = np.square(means - parent[i, group].double().numpy()).sum(1).argmin()
                assert tuple(found[number, group].tolist()) == vectors[nearest], i
    stays = {i: row for row, i in enumerate(held)}
    for number, i in enumerate(kept):
        assert i in new or torch.equal(found[number], before[stays[i]])
    assert find_codes(found) is not None
    assert torch.equal(encoder.embeddings.word_embeddings.weight, before), "the encoder must stay as it is"
    assert encoder.config.vocab_size == 4200
    for (name, a), b in zip(other.named_parameters(), encoder.parameters(), strict=True):
        assert "word_embeddings" in name or torch.equal(a, b)


def test_words_without_codes_or_of_another_width_are_errors(coded):
    encoder, parent, held = coded
    with pytest.raises(ModelError, match="8 columns, the parent's of 6"):
        other_words.with_other_entries(encoder, parent[:, :6], held, held)
    plain = build(encoder.config, None, seed=0)
    with pytest.raises(ModelError, match="without product codes"):
        other_words.with_other_entries(plain, parent, held, held)


def test_codes_are_found_again_where_the_row_of_the_largest_number_goes(coded):
    encoder, parent, held = coded
    before = encoder.embeddings.word_embeddings.weight
    largest = before.abs().amax(1)
    gone = {i for row, i in enumerate(held) if largest[row] == largest.max()}
    kept = [i for i in held if i not in gone]
    found = other_words.with_other_entries(encoder, parent, held, kept).embeddings.word_embeddings.weight
    assert found.abs().max() < before.abs().max()
    codes = find_codes(found).codes
    row = {i: number for number, i in enumerate(held)}
    stays = [row[i] for i in kept]
    assert (found - before[stays]).abs().max() <= largest.max() / 127 / 2
    theirs = find_codes(before).codes[stays]
    for ours, old in zip(codes.t(), theirs.t(), strict=True):
        assert len({*zip(ours.tolist(), old.tolist(), strict=True)}) == len(old.unique())
