"""Promise: questions about the phrases of English sentences, in groups of two phrases in two forms.

Words of a list stand among the phrases, rare ones more often than they occur.
"""

import random
import string
from collections import Counter

import pytest

from mobilebert_runtime.errors import DataError
from recipes.general_matchers.phrase_questions import (
    ACTIONS,
    CIRCUMSTANCES,
    FACTS,
    FEWEST,
    ONE_WORD,
    TEMPERED,
    THINGS,
    TWO_WORDS,
    WORD_AT_END,
    WORD_BEFORE,
    PhraseQuestions,
    base_verbs,
    own,
    phrase,
    read_words,
    spelt,
)

VERBS = ("build", "find", "keep", "leave", "paint", "repair")
OBJECTS = ("old bridge", "red boat", "wooden house", "garden wall")


def sentences():
    draw = random.Random(0)
    found = []
    for _ in range(3 * FEWEST):
        for verb in VERBS:
            what, name = draw.choice(OBJECTS), draw.choice(("Ann Lee", "Tom", "Berlin"))
            found.append(f"They could {verb} the {what} near the river, but {name} was late.")
            found.append(f"It is not hard to {verb} his {what} because of the rain.")
        found.append("The boat could often leave.")
        found.append("The old river is known for its many boats.")
    return found


def spoken(question):
    """Without what `spelt` may have done to it, but for a circumstance at its end."""
    return question.rstrip("?").lower()


def test_verbs_are_what_follows_modal_verbs_and_to():
    assert base_verbs(sentences()) == sorted(VERBS)  # not "often"
    assert base_verbs(sentences()[:10]) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("become a member of the council which met twice", "become a member of the council"),
        ("leave the city in the", "leave the city"),
        ("one two three four five six seven eight nine", "one two three four five six seven eight"),
        ("stay", "stay"),
    ],
)
def test_a_phrase_ends_before_a_clause_and_not_in_an_article(text, wanted):
    assert phrase(text) == wanted


def test_an_action_becomes_that_of_whoever_asks():
    assert own("show her friends the way to them") == "show my friends the way to someone"


def test_phrases_are_what_the_sentences_say():
    made = PhraseQuestions(sentences())
    assert {action.split()[0] for action in made.actions} == set(VERBS)
    assert "repair my garden wall" in {*made.actions} | {
        a[: len("repair my garden wall")] for a in made.actions
    }
    assert {"Ann Lee", "Tom", "Berlin", "rain"} & set(made.things) >= {"Ann Lee", "Tom", "Berlin"}
    assert ("the old river", "is", "known for its many boats") in made.facts


def test_a_group_is_two_phrases_in_two_forms_and_drawn_by_the_seed_alone():
    made = PhraseQuestions(sentences())
    groups = [made.group(random.Random(seed)) for seed in range(200)]
    assert groups == [made.group(random.Random(seed)) for seed in range(200)]
    assert all(len(group) == 4 for group in groups)
    texts = [text for group in groups for text in group]
    assert not any(character in text for text in texts for character in "{}")
    assert 0.02 < sum(text == text.lower() for text in texts) / len(texts) < 0.3
    assert 0.7 < sum(text.endswith("?") for text in texts) / len(texts) < 1
    actions = made._crossed(("How do I {v}?", "Why do people {v}?"), made.actions[:3], random.Random(1))
    starts = [
        next(form for form in ("How do I ", "Why do people ") if text.startswith(form)) for text in actions
    ]
    rests = [text.removeprefix(start) for text, start in zip(actions, starts, strict=True)]
    assert starts[0] == starts[2] != starts[1] == starts[3]
    assert rests[0] == rests[1]
    assert rests[2] == rests[3]


def test_every_form_names_what_it_is_about():
    for forms, slots in ((ACTIONS, "vwgc"), (THINGS, "nmgc"), (FACTS, ("s", "r", "be", "Be"))):
        for form in forms:
            names = {name for _, name, _, _ in string.Formatter().parse(form) if name}
            assert names <= set(slots), form
            assert names & {"v", "n", "s", "r"}, form
        assert len(set(forms)) == len(forms)


def test_spelling_changes_the_end_and_the_case_alone():
    for seed in range(100):
        text = spelt("How do I Build it?", random.Random(seed))
        rest = spoken(text).removeprefix("how do i build it")
        assert rest == "" or rest[1:] in {where.lower() for where in CIRCUMSTANCES}


@pytest.mark.parametrize("lines", [[], ["Die Sonne scheint heute."] * 50])
def test_sentences_without_phrases_are_refused(lines):
    with pytest.raises(DataError, match="expected some thousands, in English"):
        PhraseQuestions(lines)


LISTED = {"blog": 90_000.0, "laptop": 3000.0, "crypto": 100.0, "selfie": 2.0}  # no words of the sentences


def test_words_are_drawn_by_a_power_of_their_frequency():
    made, draw, count = PhraseQuestions(sentences(), LISTED), random.Random(0), 20_000
    found = Counter(made.word(draw) for _ in range(count))
    times = {word: frequency**TEMPERED for word, frequency in LISTED.items()}
    for word, part in times.items():
        assert found[word] / count == pytest.approx(part / sum(times.values()), abs=0.012)
    assert found["selfie"] / found["blog"] > 100 * LISTED["selfie"] / LISTED["blog"]


def test_things_are_words_or_follow_one_and_actions_end_in_one():
    made, draw, count = PhraseQuestions(sentences(), LISTED), random.Random(0), 6000
    starts = {action.rpartition(" ")[0] for action in made.actions}
    kinds = Counter()
    for _ in range(count):
        first, _, rest = made._thing(draw).partition(" ")
        listed = first in LISTED
        after = "word" if rest in LISTED else "thing" if rest in made.things else "none" if not rest else "no"
        kinds[(listed, after if listed else "")] += 1
        start, _, last = made._action(draw).rpartition(" ")
        assert start in starts
        kinds[last in LISTED] += 1
    wanted = {(True, "none"): ONE_WORD, (True, "word"): TWO_WORDS, (True, "thing"): WORD_BEFORE}
    wanted |= {(False, ""): 1 - sum(wanted.values()), True: WORD_AT_END, False: 1 - WORD_AT_END}
    assert {kind: pytest.approx(kinds[kind] / count, abs=0.03) for kind in kinds} == wanted


def test_groups_ask_about_words_and_without_a_list_about_phrases_alone():
    plain, empty, made = (PhraseQuestions(sentences(), words) for words in (None, {}, LISTED))
    draws = [random.Random(seed) for seed in range(300)]
    groups = [made.group(draw) for draw in draws]
    assert groups == [made.group(random.Random(seed)) for seed in range(300)]

    def named(group):
        return {word for word in LISTED for text in group if word in text.lower()}

    assert {word for group in groups for word in named(group)} == set(LISTED)
    assert 0.5 < sum(bool(named(group)) for group in groups) / 300 < 0.9
    without = [plain.group(random.Random(seed)) for seed in range(300)]
    assert without == [empty.group(random.Random(seed)) for seed in range(300)]
    assert not any(named(group) for group in without)
    draw = random.Random(0)
    assert {plain._thing(draw) for _ in range(500)} <= set(plain.things)
    assert {plain._action(draw) for _ in range(500)} <= set(plain.actions)
    with pytest.raises(IndexError):
        plain.word(draw)


def test_words_are_read_with_their_frequencies(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("blog\t90000\nselfie\t0.5\n", encoding="utf-8")
    assert read_words(path) == {"blog": 90_000.0, "selfie": 0.5}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("blog\t3\nselfie\n", "line 2: expected WORD, a tab"),
        ("blog\tmany\n", "line 1: expected WORD, a tab"),
        ("blog 3\n", "line 1: expected WORD, a tab"),
        ("\t3\n", "frequencies above 0"),
        ("", "frequencies above 0"),
        ("blog\t3\nselfie\t0\n", "frequencies above 0"),
        ("blog\t-1\n", "frequencies above 0"),
        ("blog\tnan\n", "frequencies above 0"),
        ("blog\tinf\n", "frequencies above 0"),
    ],
)
def test_other_files_than_lists_of_words_are_refused(lines, said, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(DataError, match=said) as error:
        read_words(path)
    assert str(path) in str(error.value)


def test_a_list_of_words_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"no\.tsv"):
        read_words(tmp_path / "no.tsv")
