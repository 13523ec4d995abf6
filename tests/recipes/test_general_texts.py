"""Promise: general matchers learn from different, short texts and from pairs with the right labels."""

import json
from itertools import product
from string import ascii_lowercase

import numpy as np
import pytest

import recipes.general_matchers.teachers
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.spelling import PROTECTED, SpellingCorrector
from recipes.general_matchers import texts as texts_module
from recipes.general_matchers.mine import RANKS
from recipes.general_matchers.spelling import corpus_pieces, frequent_words, known_beside, write_words
from recipes.general_matchers.teachers import (
    read_sources,
    read_text_column,
    shards_are_complete,
    write_shards,
)
from recipes.general_matchers.texts import FEWEST, source_files, usable, write_own_texts
from recipes.general_matchers.trunk import HELD, held

pytestmark = pytest.mark.usefixtures("one_thread")


def test_own_texts_are_different_short_and_in_one_order(plain, tmp_path):
    facts = [write_own_texts(plain, tmp_path / name) for name in ("one", "other")]
    found = read_text_column(tmp_path / "one/texts.tsv")
    lines = {line.strip() for line in plain.read_text().splitlines() if line.strip()}
    assert facts[0] == facts[1] == json.loads((tmp_path / "one/held_out.json").read_text())
    assert (tmp_path / "one/texts.tsv").read_bytes() == (tmp_path / "other/texts.tsv").read_bytes()
    assert set(found) < lines
    assert not {"word " * 39 + "word", "..."} & set(found)
    assert len({text.lower() for text in found}) == len(found) == facts[0]["texts"]
    assert facts[0]["dropped_because_long_or_repeated"] == len(lines) - len(found)
    assert set(read_sources(tmp_path / "one/texts.tsv")) == {"own"}
    write_own_texts(plain, tmp_path / "few", most=450)
    assert read_text_column(tmp_path / "few/texts.tsv") == found[:450]


def test_every_file_that_is_read_has_to_be_there(tmp_path):
    names = [f"data/{name}" for name in texts_module.DATA]
    names += [f"corpora/{name}" for _, name, _ in texts_module.CORPORA]
    names += [f"data/{name}/test.tsv" for name in texts_module.EVALUATED]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert {str(path.relative_to(tmp_path)) for path in source_files(tmp_path)} == set(names)
    for name in names:
        (tmp_path / name).unlink()
        with pytest.raises(DataError, match=r"\.tsv|\.txt\.xz"):
            source_files(tmp_path)
        (tmp_path / name).touch()


def test_words_of_ones_own_text_are_never_corrected(tmp_path):
    own = frequent_words(["Gruffalo and gruffalo, the gruffalo's wood", "Wood and wood: wo"])
    assert own == ["gruffalo", "wood"]  # three times each, of three letters and more
    write_words(known_beside(["wood", "buffalo"], own), tmp_path / "spelling.txt")
    assert (tmp_path / "spelling.txt").read_text() == "wood\nbuffalo\ngruffalo\n"
    corrected = SpellingCorrector.load(tmp_path).corrected
    assert corrected("the gruffalo of the wod") == "the gruffalo of the wood"
    places = ("abcdefgh", "ijklmnop", "qrstuvwxyz", ascii_lowercase)
    many = ["".join(letters) for letters in product(*places)]
    words = [f"{word}zz" for word in [*many, *(word[::-1] for word in many)]]
    assert len(words) > 1.5 * PROTECTED
    mixed = known_beside(words, ["gruffalo", words[5], words[-1]])
    assert mixed[PROTECTED - 2 : PROTECTED] == ["gruffalo", words[-1]]  # the last that are never corrected
    assert [word for word in mixed if word not in ("gruffalo", words[-1])] == words[:-1]
    mixed = known_beside(words, many[: PROTECTED // 2 + 5])
    assert mixed[PROTECTED // 2 : PROTECTED] == many[: PROTECTED // 2]
    assert mixed[-5:] == many[PROTECTED // 2 : PROTECTED // 2 + 5]


def test_words_of_texts_to_learn_from_count_more_than_those_of_corpora():
    corpus, near = ["the moon and the comet " * 10 + "the sun " * 3], ["a comet", "a sun, sun"]
    assert frequent_words(corpus) == ["the", "and", "comet", "moon", "sun"]
    assert frequent_words(corpus, near) == ["sun", "comet", "the", "and", "moon"]
    assert frequent_words(["sun"], near) == ["sun"]  # three times in both; "comet" once


def test_pieces_of_a_corpus_cut_no_word(tmp_path, monkeypatch):
    import lzma

    from recipes.general_matchers import spelling

    text = "In 1990 the cathedral was rebuilt\nby the people of the town " * 40
    with lzma.open(tmp_path / "corpus.txt.xz", "wt") as file:
        file.write(text)
    monkeypatch.setattr(spelling, "PIECE", 64)
    pieces = list(corpus_pieces([tmp_path / "corpus.txt.xz"]))
    assert len(pieces) > 10
    assert [word for piece in pieces for word in piece.split()] == text.split()


def test_shards_that_are_there_are_not_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes.general_matchers.teachers, "SHARD", 4)
    read = []

    def vectors(some):
        read.extend(some)
        return np.ones((len(some), 3))

    given, folder = [str(number) for number in range(10)], tmp_path / "teacher"
    write_shards(folder, given, vectors, stop=4)
    assert read == given[:4]
    assert not shards_are_complete(folder, 10)
    write_shards(folder, given, vectors)
    assert read == given
    assert shards_are_complete(folder, 10)


def test_few_texts_have_fewer_held_out():
    assert [held(count) for count in (FEWEST, 8 * HELD, 10**6)] == [FEWEST // 8, HELD, HELD]
    assert FEWEST - held(FEWEST) > RANKS + 1  # so every text has as many near ones
    assert usable("a text", "a text")
