"""Promise of spelling.txt: unknown or rare words at one edit of a frequent one are put right, others stay.

In a pair, a known word of the other text comes first.
"""

import itertools
import json
import random
import shutil
import string
from pathlib import Path

import pytest

import mobilebert_models
from mobilebert_export.command_line.program import main
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.errors import ArtefactError, DataError, ModelError, OptionError
from mobilebert_runtime.spelling import PROTECTED, RARER, SpellingCorrector
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers.own_words import add_spelling
from tests.helpers.tiny_artefacts import onnx_model, write_artefact

WORDS = ["what", "weather", "whether", "moon", "with", "banana", "comet", "paris", "heat", "cold"]
CORRECTOR = SpellingCorrector(WORDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wjat weathr", "what weather"),  # a key beside, dropped
        ("waht moonn", "what moon"),  # swapped, doubled
        ("Waht is Whather", "what is weather"),  # the first word; a long one; the more frequent of two
        ("the Comey, the comey", "the comet, the comet"),
        ("the Mon, the mon", "the Mon, the moon"),  # a short capitalised word is a name
        ("hWat mOom WHhat wHTa wHat", "what moon what wHTa wHat"),  # the shift key; known words stay
        ("MOOM mOOm", "MOOM mOOm"),
        ("moom. moom moom.", "moon. moon moon."),
        ('"moom" (moom) [moom] moom-moom', '"moon" (moon) [moon] moon-moon'),
        ("moom's moom't moom.com moom3 émoom #moom", "moon's moom't moom.com moom3 émoom #moom"),
        ("mon wha ha", "moon what ha"),  # two letters
        ("bananananana", "bananananana"),
        ("", ""),
        ("🌙 moom 🌙", "🌙 moon 🌙"),
    ],
)
def test_what_is_corrected(text: str, expected: str) -> None:
    assert CORRECTOR.corrected(text) == expected


KEYS = {key: (row, at) for row, keys in enumerate(("qwe", "asd", "zx")) for at, key in enumerate(keys)}


def factor(wrong: str, right: str) -> int | None:
    """How many times rarer than a dropped letter the edit is that makes `wrong` of `right`; None of two."""
    if len(wrong) == len(right):
        return replaced_or_swapped(wrong, right)
    longer, shorter = sorted((wrong, right), key=len, reverse=True)
    places = [at for at in range(len(longer)) if longer[:at] + longer[at + 1 :] == shorter]
    if len(longer) != len(shorter) + 1 or not places:
        return None
    first = 2 if places == [0] else 1  # without one of two equal letters, the second may be the one
    return first * (16 if longer == wrong and len(places) == 1 else 1)


def replaced_or_swapped(wrong: str, right: str) -> int | None:
    differ = [at for at in range(len(right)) if wrong[at] != right[at]]
    if len(differ) == 2 and differ[1] == differ[0] + 1:
        one, other = differ
        return 1 if (wrong[one], wrong[other]) == (right[other], right[one]) else None
    if len(differ) != 1:
        return None
    (row, column), (other_row, other) = (KEYS[word[differ[0]]] for word in (wrong, right))
    # A row of keys lies half a key to the right of the row above it.
    beside = abs((other + other_row / 2) - (column + row / 2)) <= 1 and abs(row - other_row) <= 1
    return (2 if beside else 16) * (2 if differ[0] == 0 else 1)


def test_corrections_are_those_of_a_brute_force_search() -> None:
    draw = random.Random(0)
    letters = "".join(KEYS)
    words = list(dict.fromkeys("".join(draw.choices(letters, k=draw.randint(3, 6))) for _ in range(6000)))
    corrector = SpellingCorrector(words)
    changed, kinds = 0, set()
    for word in ["".join(draw.choices(letters, k=draw.randint(3, 7))) for _ in range(400)]:
        factors = [(line, factor(word, known)) for line, known in enumerate(words, 1)]
        found = [(line * kind, line) for line, kind in factors if kind is not None]
        expected = word
        if word not in words and found and min(found)[0] <= 1000 * 2 ** len(word):
            expected = words[min(found)[1] - 1]
            kinds.add(min(found)[0] // min(found)[1])
        assert corrector.corrected(word) == expected, word
        changed += expected != word
    assert 100 < changed < 400
    assert kinds >= {1, 2, 4, 16}


def filler(count: int) -> list[str]:
    """Words that are at no edit of those of the tests."""
    letters = string.ascii_lowercase
    found = (f"{a}{b}{c}{d}zzzz" for a in letters for b in letters for c in letters for d in letters[:10])
    return [word for word, _ in zip(found, range(count), strict=False)]


def test_frequent_words_stay_and_rare_ones_give_way_to_words_that_are_far_more_frequent() -> None:
    more = filler(PROTECTED + 10_000)
    corrector = SpellingCorrector(["moon", *more[: PROTECTED - 2], "mono", "mooon", *more[PROTECTED - 2 :]])
    assert corrector.corrected("mono moon") == "mono moon"  # the last line that is protected
    assert corrector.corrected("mooon the Mooon") == "moon the Mooon"  # names that are known stay
    line = PROTECTED + 1
    for before in (line // RARER - 1, line // RARER):
        words = [*more[:before], "comet", *more[before : PROTECTED - 1], "comett"]
        expected = "comet" if before < line // RARER else "comett"
        assert SpellingCorrector(words).corrected("comett") == expected


@pytest.mark.parametrize(
    ("wrong", "right", "letters"), [("moonn", "moon", 5), ("Moonn", "moon", 4), ("mon", "moon", 3)]
)
def test_how_far_down_the_list_a_correction_may_stand(wrong: str, right: str, letters: int) -> None:
    more = filler(40_000)
    text = f"the {wrong}"
    for before in (1000 * 2**letters - 1, 1000 * 2**letters):
        corrector = SpellingCorrector([*more[:before], right])
        assert corrector.corrected(text) == (f"the {right}" if before < 1000 * 2**letters else text)


@pytest.mark.parametrize(
    ("a", "b", "read_a", "read_b"),
    [
        ("whather", "the whether", "whether", "the whether"),  # by itself the more frequent "weather"
        ("whather", "the whetther", "whether", "the whether"),  # where the other is misspelt too
        ("Whather", "Whether in Paris", "whether", "Whether in Paris"),
        ("mon the Mon", "moon", "moon the Mon", "moon"),  # a short capitalised word is a name
        ("bamama", "bamama banana", "bamama", "bamama banana"),  # what both texts say
        ("bamamas", "banana", "bamamas", "banana"),  # three edits
        ("bamama", "banana", "banana", "banana"),
        ("lanama", "banana", "lanama", "banana"),  # the first letter
        ("hheeat", "heat", "heat", "heat"),
        ("heeatt whta", "heat what", "heat what", "heat what"),
        ("cometts", "comett", "comet", "comet"),  # what the other text was corrected to
        ("qqpear", "qqpears", "qqpear", "qqpears"),  # an unknown word helps no other
        ("cold heat", "hold cheat", "cold heat", "cold heat"),
        ("warm", "", "warm", ""),
        ("moom", "a Moom", "moom", "a Moom"),  # a word that stands in both texts is meant
        ("moom comey", "moom comet", "moom comet", "moom comet"),
        ("qqpear bananna", "qqpear banana", "qqpear banana", "qqpear banana"),
    ],
)
def test_what_is_corrected_in_a_pair(a: str, b: str, read_a: str, read_b: str) -> None:
    assert CORRECTOR.corrected_pair(a, b) == (read_a, read_b)
    assert CORRECTOR.corrected_pair(b, a) == (read_b, read_a)


def edits_apart(one: str, other: str) -> int:
    """Optimal string alignment by its recurrence."""
    table = [[max(i, j) for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i, j in itertools.product(range(1, len(one) + 1), range(1, len(other) + 1)):
        replaced = table[i - 1][j - 1] + (one[i - 1] != other[j - 1])
        table[i][j] = min(replaced, table[i - 1][j] + 1, table[i][j - 1] + 1)
        if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
            table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def test_help_of_the_other_text_is_that_of_a_brute_force_search() -> None:
    draw = random.Random(1)
    words = list(dict.fromkeys("".join(draw.choices("qwa", k=draw.randint(5, 9))) for _ in range(600)))
    corrector, counts = SpellingCorrector(words), [0, 0, 0]
    for _ in range(600):
        wrong = "".join(draw.choices("qwa", k=draw.randint(5, 9)))
        others = draw.sample(words, 12)
        expected, edits = corrector.corrected(wrong), 0
        near = {one: kind for one in others if (kind := factor(wrong, one)) is not None and one != wrong}
        assert set(near) == {one for one in others if edits_apart(wrong, one) == 1}
        far = [one for one in others if edits_apart(wrong, one) == 2 and one[0] == wrong[0]]
        if wrong not in words and near:
            products = {one: ((words.index(one) + 1) * kind, words.index(one)) for one, kind in near.items()}
            expected, edits = min(products, key=products.__getitem__), 1
        elif wrong not in words and expected == wrong and far and len(wrong) > 5:
            expected, edits = min(far, key=words.index), 2
        assert corrector.corrected_pair(wrong, " ".join(others))[0] == expected, (wrong, others)
        counts[edits] += 1
    assert min(counts) > 20


def test_a_frequent_or_rare_known_word_does_not_become_one_of_the_other_text() -> None:
    corrector = SpellingCorrector(["moon", *filler(PROTECTED), "mooon"])
    assert corrector.corrected_pair("mooon", "moon")[0] == "moon"  # as by itself
    corrector = SpellingCorrector([*filler(PROTECTED), "moon", "mooon"])
    assert corrector.corrected_pair("mooon", "moon") == ("mooon", "moon")


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
        ("moon\nsu\n", "line 2 is 'su'"),
        ("moon\n\n", "line 2 is ''"),
        ("moon\r\ncomet\r\n", r"line 1 is 'moon\\r'"),
    ],
)
def test_damaged_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "spelling.txt").write_bytes(content.encode())
    with pytest.raises(ArtefactError, match=message):
        SpellingCorrector.load(tmp_path)


def write_words(folder: Path) -> None:
    (folder / "spelling.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")


def test_the_tokenizer_of_a_model_directory_reads_corrected_texts(tmp_path: Path) -> None:
    shipped = mobilebert_models.find_directory("shipped")
    (tmp_path / "tokenizer.json").write_bytes((shipped / "tokenizer.json").read_bytes())
    plain = PairTokenizer.load(tmp_path)
    write_words(tmp_path)
    corrected = PairTokenizer.load(tmp_path)
    right, wrong = ("the moon", "what weather"), ("the moom", "waht weather")
    beside, far = ("the banana", "a banana"), ("the bamama", "a banana")
    assert plain.ids([right], 16) != plain.ids([wrong], 16)
    assert corrected.ids([wrong, far, "the moom"], 16) == plain.ids([right, beside, "the moon"], 16)
    assert corrected.without_spelling().ids([wrong], 16) == plain.ids([wrong], 16)
    assert corrected.spans("the moom", 16) == plain.spans("the moom", 16)
    (tmp_path / "spelling.txt").write_text("Moon\n")
    with pytest.raises(ModelError, match="line 1"):
        PairTokenizer.load(tmp_path)


@pytest.mark.parametrize("name", mobilebert_models.SHIPPED_MATCHERS)
def test_shipped_matchers_read_a_misspelt_pair_as_the_right_one(name: str) -> None:
    tokenizer = PairTokenizer.load(mobilebert_models.shipped_directory(name))
    right = ("How do I learn to swim?", "What is the best way to learn swimming?")
    wrong = ("How do I lern to swwim?", "Waht is the best way to laern swimmming?")
    assert tokenizer.ids([wrong], 64) == tokenizer.ids([right], 64)
    assert tokenizer.without_spelling().ids([wrong], 64) != tokenizer.ids([right], 64)


def test_own_words_stay_as_they_are_typed() -> None:
    corrector = CORRECTOR.keeping(["Moom, Comey", "banana"])
    assert corrector.corrected("moom Moom whather comey") == "moom Moom weather comey"
    assert corrector.corrected_pair("the moom", "moon whta") == ("the moom", "moon what")
    assert CORRECTOR.corrected("moom") == corrector.keeping([]).corrected("moon") == "moon"


def test_an_artefact_leaves_own_words_alone_or_corrects_nothing(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    folder = write_artefact(tmp_path / "artefact", "onnx", onnx_model())
    with pytest.raises(OptionError, match="the artefact corrects no words"):
        load(folder, words=["moom"])
    add_spelling(folder, WORDS)
    asked = [("moom waht", "what")]
    plain, own, off = load(folder), load(folder, words=["Moom"]), load(folder, spelling=False)
    read = [model.tokenizer.corrected(asked)[0] for model in (plain, own, off)]
    assert read == [("moon what", "what"), ("moom what", "what"), ("moom waht", "what")]
    assert len({model.fingerprint for model in (plain, own, off)}) == 3  # an index of one is not another's
    assert load(folder, words=["Moom"]).fingerprint == own.fingerprint
    assert load(folder, words=[]).fingerprint != off.fingerprint  # the one corrects, the other does not
    first, second = (load(folder, words=some) for some in (["Moom", "Comey"], ["comey moom", "H2O"]))
    assert first.fingerprint == second.fingerprint  # which leave the same words alone
    with pytest.raises(OptionError, match="which spelling=False turns off"):
        load(folder, words=["moom"], spelling=False)
    for empty in ("", " \u2003"):
        with pytest.raises(DataError, match="words: entry 2 is empty; leave it out"):
            load(folder, words=["moom", empty])
    words = tmp_path / "words.txt"
    words.write_text("Moom\nComey\n")
    match = ["match", "moom waht", "what", "--artefact", str(folder)]
    scores = {}
    for options in ((), ("--words", str(words)), ("--no-spelling",)):
        with pytest.raises(SystemExit) as end:
            main([*match, *options])
        assert end.value.code == 0
        scores[options] = float(capfd.readouterr().out.split("\t")[0])
    found = [float(model.score(asked)[0]) for model in (plain, own, off)]  # type: ignore[attr-defined]
    assert list(scores.values()) == pytest.approx(found, abs=1e-6)
    assert len(set(found)) > 1
    with pytest.raises(SystemExit) as end:
        main([*match, "--words", str(words), "--no-spelling"])
    assert end.value.code == 2
    assert (
        "--words: says what is not corrected, and --no-spelling turns correction off"
        in capfd.readouterr().err
    )


def test_an_artefact_answers_a_misspelt_pair_as_the_right_one(tmp_path: Path) -> None:
    folder = write_artefact(tmp_path / "artefact", "onnx", onnx_model())
    before = load(folder).score([("moon", "what"), ("moom", "waht")])  # type: ignore[attr-defined]
    card = add_spelling(folder, WORDS)
    assert json.loads((folder / "io.json").read_text())["tokenizer"]["spelling"] == "spelling.txt"
    assert ArtefactCard.from_json(card.to_json(), folder) == card
    after = load(folder).score([("moon", "what"), ("moom", "waht")])  # type: ignore[attr-defined]
    assert after[0] == after[1] == before[0]
    (folder / "spelling.txt").unlink()
    with pytest.raises(ArtefactError, match=r"spelling\.txt"):
        load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spelling": True}, "wrong type"),
        ({"spelling": "words.txt"}, "spelling is 'words.txt', not 'spelling.txt'"),
        ({"lowercase": False}, "spelling does not fit"),
    ],
)
def test_cards_that_contradict_themselves_are_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    values = add_spelling(write_artefact(tmp_path / "artefact", "onnx", onnx_model()), WORDS).to_json()
    values["tokenizer"] |= change
    with pytest.raises(ArtefactError, match=message):
        ArtefactCard.from_json(values, Path("io.json"))


def test_model_directories_keep_it(tmp_path: Path) -> None:
    config = mobilebert_models.EncoderConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    source = tmp_path / "source"
    source.mkdir()
    for name in ("vocab.txt", "tokenizer.json"):
        (source / name).write_text("{}")
    write_words(source)
    mobilebert_models.save_pretrained(
        mobilebert_models.build(config, None), tmp_path / "copy", tokenizer_from=source
    )
    assert (tmp_path / "copy/spelling.txt").read_text() == (source / "spelling.txt").read_text()
    assert json.loads((tmp_path / "copy/tokenizer_config.json").read_text()) == {"spelling": True}
    (source / "tokenizer_config.json").write_text('{"model_max_length": 64}')
    mobilebert_models.save_pretrained(
        mobilebert_models.build(config, None), tmp_path / "other", tokenizer_from=source
    )
    assert json.loads((tmp_path / "other/tokenizer_config.json").read_text()) == {
        "model_max_length": 64,
        "spelling": True,
    }


@pytest.mark.parametrize("name", mobilebert_models.SHIPPED_MATCHERS)
def test_a_directory_that_has_lost_the_list_is_refused(name: str, tmp_path: Path) -> None:
    """It would answer misspelt texts otherwise, and say nothing."""
    folder = tmp_path / "copy"
    shutil.copytree(
        mobilebert_models.shipped_directory(name), folder, ignore=shutil.ignore_patterns("*.safetensors")
    )
    assert PairTokenizer.load(folder).spelling is not None
    (folder / "spelling.txt").unlink()
    with pytest.raises(ModelError, match=r"spelling\.txt: no such file, and tokenizer_config\.json says"):
        PairTokenizer.load(folder)
    (folder / "tokenizer_config.json").write_text('{"spelling": 1}')
    with pytest.raises(ModelError, match="spelling is 1, neither true nor false"):
        PairTokenizer.load(folder)
