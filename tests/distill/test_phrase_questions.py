"""Promise: questions about the phrases of English sentences, in groups of two phrases in two forms."""

import random
import string

import pytest

from distill.general.phrase_questions import (
    ACTIONS,
    CIRCUMSTANCES,
    FACTS,
    FEWEST,
    THINGS,
    PhraseQuestions,
    base_verbs,
    own,
    phrase,
    spelt,
)
from mobilebert_runtime.errors import DataError

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
    actions = made._crossed(("How do I {v}?", "Why do people {v}?"), made.actions, random.Random(1))
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
