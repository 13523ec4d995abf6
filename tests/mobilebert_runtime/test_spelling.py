"""Promise of spelling.txt: unknown words at one edit of a frequent one are put right, the rest stays."""

import json
import random
import string
from dataclasses import replace
from pathlib import Path

import pytest

import models
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.errors import ArtefactError, ModelError
from mobilebert_runtime.spelling import CORRECTIONS, SpellingCorrector
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers.tiny_artefacts import onnx_model, write_artefact

WORDS = ["what", "weather", "whether", "moon", "with", "banana", "comet", "paris", "heat", "cold"]
CORRECTOR = SpellingCorrector(WORDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wxat weathr", "what weather"),  # replaced, dropped
        ("waht moonn", "what moon"),  # swapped, doubled
        ("Waht is Whather", "what is weather"),  # the first word; a long one; the more frequent of two
        ("the Comef, the comef", "the Comef, the comet"),  # a short capitalised word is a name
        ("MOOM mOOm", "MOOM mOOm"),
        ("moom. moom moom.", "moon. moon moon."),
        ('"moom" (moom) [moom]', '"moon" (moon) [moon]'),
        ("moom's moom-moom moom.com moom3 émoom #moom", "moom's moom-moom moom.com moom3 émoom #moom"),
        ("mon wha", "mon wha"),  # three letters
        ("bananananana", "bananananana"),
        ("", ""),
        ("🌙 moom 🌙", "🌙 moon 🌙"),
    ],
)
def test_what_is_corrected(text: str, expected: str) -> None:
    assert CORRECTOR.corrected(text) == expected


def edits_apart(a: str, b: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours (optimal string alignment)."""
    cost = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            cost[i][j] = min(cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (not same))
            if i > 1 and j > 1 and a[i - 2 : i] == b[j - 1] + b[j - 2]:
                cost[i][j] = min(cost[i][j], cost[i - 2][j - 2] + 1)
    return cost[-1][-1]


def test_corrections_are_those_of_a_brute_force_search() -> None:
    draw = random.Random(0)
    words = list({"".join(draw.choices("abc", k=draw.randint(4, 6))) for _ in range(60)})
    corrector = SpellingCorrector(words)
    changed = 0
    for _ in range(400):
        word = "".join(draw.choices("abc", k=draw.randint(4, 7)))
        near = [known for known in words if edits_apart(word, known) == 1]
        expected = word if word in words or not near else near[0]
        assert corrector.corrected(word) == expected
        changed += expected != word
    assert changed > 100


def test_only_frequent_words_are_corrections() -> None:
    letters = string.ascii_lowercase
    filler = [f"{a}{b}{c}zzzz" for a in letters for b in letters for c in letters + letters.upper()]
    corrector = SpellingCorrector([*filler[: CORRECTIONS - 1], "moon", "comet"])
    assert corrector.corrected("moom comef") == "moon comef"
    assert corrector.corrected("comet") == "comet"


def test_far_in_a_text_nothing_is_corrected() -> None:
    text = "moom " * 1000
    assert CORRECTOR.corrected(text) == "moon " * 820 + "moom " * 180  # 4,100 characters have begun


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected 1 to 500,000 lines"),
        ("moon", "expected 1 to 500,000 lines"),
        ("moon\nMoon\n", "line 2 is 'Moon'"),
        ("moon\ncomet\nmoon\n", "line 3 is 'moon'"),
        ("moon\nsun\n", "line 2 is 'sun'"),
        ("moon\n\n", "line 2 is ''"),
    ],
)
def test_damaged_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "spelling.txt").write_bytes(content.encode())
    with pytest.raises(ArtefactError, match=message):
        SpellingCorrector.load(tmp_path)


def write_words(folder: Path) -> None:
    (folder / "spelling.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")


def test_the_tokenizer_of_a_model_directory_reads_corrected_texts(tmp_path: Path) -> None:
    shipped = models.find_directory("shipped")
    (tmp_path / "tokenizer.json").write_bytes((shipped / "tokenizer.json").read_bytes())
    plain = PairTokenizer.load(tmp_path)
    write_words(tmp_path)
    corrected = PairTokenizer.load(tmp_path)
    right, wrong = ("the moon", "what weather"), ("the moom", "waht weather")
    assert plain.ids([right], 16) != plain.ids([wrong], 16)
    assert corrected.ids([wrong, "the moom"], 16) == plain.ids([right, "the moon"], 16)
    assert corrected.spans("the moom", 16) == plain.spans("the moom", 16)
    (tmp_path / "spelling.txt").write_text("Moon\n")
    with pytest.raises(ModelError, match="line 1"):
        PairTokenizer.load(tmp_path)


def with_spelling(folder: Path) -> ArtefactCard:
    """Add spelling.txt to an artefact folder and its card."""
    from mobilebert_export.artefact_folder import write_checksums

    card = ArtefactCard.from_json(json.loads((folder / "io.json").read_text()), folder)
    card = replace(card, tokenizer=replace(card.tokenizer, spelling=True))
    (folder / "io.json").write_text(json.dumps(card.to_json()))
    write_words(folder)
    write_checksums(folder)
    return card


def test_an_artefact_answers_a_misspelt_pair_as_the_right_one(tmp_path: Path) -> None:
    folder = write_artefact(tmp_path / "artefact", "onnx", onnx_model())
    before = load(folder).score([("moon", "what"), ("moom", "waht")])  # type: ignore[attr-defined]
    assert json.loads((folder / "io.json").read_text())["format"] == 4
    card = with_spelling(folder)
    assert json.loads((folder / "io.json").read_text())["format"] == 5
    assert ArtefactCard.from_json(card.to_json(), folder) == card
    after = load(folder).score([("moon", "what"), ("moom", "waht")])  # type: ignore[attr-defined]
    assert after[0] == after[1] == before[0]
    (folder / "spelling.txt").unlink()
    with pytest.raises(ArtefactError, match=r"spelling\.txt"):
        load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spelling": None}, "spelling"),
        ({"spelling": "words.txt"}, "spelling is 'words.txt', not 'spelling.txt'"),
        ({"lowercase": False}, "spelling does not fit"),
    ],
)
def test_cards_that_contradict_themselves_are_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    values = with_spelling(write_artefact(tmp_path / "artefact", "onnx", onnx_model())).to_json()
    values["tokenizer"] |= change
    with pytest.raises(ArtefactError, match=message):
        ArtefactCard.from_json(values, Path("io.json"))


def test_model_directories_keep_it(tmp_path: Path) -> None:
    config = models.EncoderConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    source = tmp_path / "source"
    source.mkdir()
    for name in ("vocab.txt", "tokenizer.json"):
        (source / name).write_text("{}")
    write_words(source)
    models.save_pretrained(models.build(config, None), tmp_path / "copy", tokenizer_from=source)
    assert (tmp_path / "copy/spelling.txt").read_text() == (source / "spelling.txt").read_text()
