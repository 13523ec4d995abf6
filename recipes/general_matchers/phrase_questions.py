"""Generates questions in common forms about what sentences of an English corpus name and say.

Phrases are cut out by patterns and need not make sense in a form: teachers say what a question means.
Questions come in groups of two phrases in two forms: some differ in their words alone, some in their form.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from mobilebert_runtime.errors import DataError
from recipes.general_matchers.rules import COUNTRIES, GROUPS

FEWEST = 20  # times that a word follows a modal verb in a corpus before it counts as a verb
LONGEST = 8  # words of a phrase
ABOUT_ACTIONS, ABOUT_THINGS = 0.4, 0.45  # shares of the groups; the rest asks about facts
MORE = 0.25  # share of questions with one more circumstance
LOWER, UNMARKED = 0.07, 0.05  # shares of questions in lower case, and without their mark
OTHER = 0.2  # share of questions whose circumstance is not the one before
ONE_WORD, TWO_WORDS, WORD_BEFORE = 0.25, 0.2, 0.15  # shares of things that are words of a list, or follow one
WORD_AT_END = 0.5  # share of actions whose last word is one of a list
TEMPERED = 0.35  # power of a word's frequency by which it is drawn: common ones are in all sentences anyway
_MODAL = r"\b(?:can|could|will|would|should|must|may|might|cannot|didn't|don't) "
_NO_VERBS = {
    "a", "all", "also", "always", "an", "and", "as", "at", "be", "been", "both", "but", "by", "do", "even",
    "ever", "first", "further", "go", "had", "has", "have", "he", "her", "his", "i", "in", "it", "its",
    "just", "most", "my", "never", "no", "not", "now", "of", "often", "one", "only", "or", "our", "rather",
    "she", "soon", "still", "than", "that", "the", "their", "then", "there", "they", "this", "thus", "to",
    "too", "us", "we", "well", "with", "you", "your",
}  # fmt: skip
_AFTER_MODAL, _AFTER_TO = re.compile(_MODAL + r"(?:not )?([a-z]+)\b"), re.compile(r"\bto ([a-z]+)\b")
_THEIR, _THEM = re.compile(r"\b(?:his|her|their|its|thy)\b"), re.compile(r"\b(?:him|them|thee)\b")
_CLAUSE = re.compile(r" (?:which|who|whom|that|but|because|while|although|whereas|and|where|when|if|so)\b.*$")
_LOOSE_END = re.compile(
    r"(?: (?:the|a|an|this|his|her|its|their|my|our|of|in|into|to|for|with|by|on|at|from|and|or|as|than))+$"
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z'-]+(?:(?: of| the| de)? [A-Z][a-z'-]+){0,3}")
_NOUN = re.compile(
    r"\b(?:the|a|an|some|any|many) ((?:[a-z'-]+ ){0,2}[a-z'-]{3,}) "
    r"(?:of|in|for|on|with|was|is|are|were|to|from|by|that|which|at|as|has|had)\b"
)
_FACT = re.compile(
    r"^(The [\w' -]{3,40}?|[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3}) "
    r"(is|are|was|were|can|could|will|has|had|does|did) ([^.;:()\"]{8,70})\.$"
)
_NO_SUBJECT = re.compile(r"^(?:It|He|She|They|There|This|That|These|Those|We|You|I|In|On|At|For|What|Who)\b")

ACTIONS = (
    "How do I {v}?",
    "How can I {v}?",
    "How can you {v}?",
    "How could I {v} {c}?",
    "How does one {v}?",
    "How would you {v}?",
    "What is the best way to {v}?",
    "What's the best way to {v}?",
    "What is the easiest way to {v}?",
    "What are the best ways to {v}?",
    "What is the fastest way to {v} {c}?",
    "What are some good ways to {v}?",
    "Is it possible to {v}?",
    "Is there any way to {v}?",
    "Is it a good idea to {v}?",
    "Is it worth it to {v}?",
    "Is it illegal to {v} {c}?",
    "Is it wrong to {v}?",
    "Is it hard to {v}?",
    "Can I {v}?",
    "Can I {v} {c}?",
    "Can you {v} {c}?",
    "Can anyone {v}?",
    "Should I {v}?",
    "Should I {v} or {w}?",
    "Why should I {v}?",
    "Why do people {v}?",
    "Why do some people {v}?",
    "Why do {g} {v}?",
    "Why don't more people {v}?",
    "Why can't I {v}?",
    "Why would anyone {v}?",
    "Why is it so difficult to {v}?",
    "What happens if you {v}?",
    "What would happen if I {v}?",
    "What should I do to {v}?",
    "What do I need to {v}?",
    "What does it take to {v}?",
    "What does it feel like to {v}?",
    "What is it like to {v}?",
    "What are the benefits of learning to {v}?",
    "What are some tips to {v}?",
    "What are the steps to {v}?",
    "Which is the best app to {v}?",
    "Which book should I read to {v}?",
    "Where can I {v} {c}?",
    "Where is the best place to {v}?",
    "When should you {v}?",
    "Who was the first to {v}?",
    "How long does it take to {v}?",
    "How much does it cost to {v} {c}?",
    "How often should you {v}?",
    "How old do you have to be to {v}?",
    "How likely am I to {v}?",
    "Do you have to {v} to {w}?",
    "Do {g} {v}?",
    "Does anyone want to {v}?",
    "I want to {v}. What should I do?",
    "I can't {v}. What can I do?",
    "I am a student. How do I {v}?",
)
THINGS = (
    "What is {n}?",
    "What is {n} and how does it work?",
    "What exactly is {n}?",
    "What are {n}?",
    "What does {n} mean?",
    "What do you think of {n}?",
    "What is the meaning of {n}?",
    "What is the purpose of {n}?",
    "What is the difference between {n} and {m}?",
    "What's the difference between {n} and {m}?",
    "What are the differences between {n} and {m}?",
    "What is better, {n} or {m}?",
    "What is the relationship between {n} and {m}?",
    "What is the best {n} {c}?",
    "What is the best {n} for {m}?",
    "What are the best {n} {c}?",
    "What are the advantages of {n} over {m}?",
    "What are the pros and cons of {n}?",
    "What are some examples of {n}?",
    "What are some interesting facts about {n}?",
    "What are some alternatives to {n}?",
    "What are the side effects of {n}?",
    "What is the role of {n} in {m}?",
    "What is the future of {n} {c}?",
    "What is the salary of {n} {c}?",
    "What is wrong with {n}?",
    "What makes {n} so popular?",
    "What should everyone know about {n}?",
    "What happened to {n}?",
    "Who is {n}?",
    "Who is the best {n} of all time?",
    "Who would win, {n} or {m}?",
    "Why is {n} better than {m}?",
    "Why is {n} so expensive {c}?",
    "Why does {n} need {m}?",
    "Why did {n} leave {m}?",
    "Why do {g} like {n}?",
    "How is {n} different from {m}?",
    "How does {n} affect {m}?",
    "How does {n} compare with {m}?",
    "How do I get rid of {n}?",
    "How do I choose {n} {c}?",
    "How do I become {n}?",
    "How do I prepare for {n} {c}?",
    "How do I convert {n} to {m}?",
    "How can I get {n} {c}?",
    "How good is {n} {c}?",
    "How important is {n} for {m}?",
    "How many {n} are there {c}?",
    "How safe is {n}?",
    "How was {n} discovered?",
    "Which is better for {g}, {n} or {m}?",
    "Which {n} should I buy {c}?",
    "Which is the best {n} to start with?",
    "Where can I find {n} {c}?",
    "Where does the word {n} come from?",
    "When was {n} invented?",
    "Is {n} better than {m}?",
    "Is {n} a good choice for {g}?",
    "Is {n} real?",
    "Is there {n} in {m}?",
    "Are there any {n} {c}?",
    "Are {n} and {m} the same?",
    "Does {n} really work?",
    "Does {n} have {m}?",
    "Do {g} believe in {n}?",
    "Can {n} cause {m}?",
    "Can {n} be used as {m}?",
    "Can I use {n} instead of {m}?",
    "Will {n} replace {m}?",
    "Will {n} ever come back?",
    "Should {n} be banned {c}?",
    "Should I buy {n} or {m}?",
    "If {n} is so good, why is there {m}?",
    "In {n}, what is {m}?",
)
FACTS = (
    "{Be} {s} {r}?",
    "Why {be} {s} {r}?",
    "How {be} {s} {r}?",
    "When {be} {s} {r}?",
    "{Be} it true that {s} {be} {r}?",
    "Why do people say that {s} {be} {r}?",
    "Do you think {s} {be} {r}?",
    "What if {s} {be} not {r}?",
    "How do we know that {s} {be} {r}?",
    "Who {be} {r}?",
    "What {be} {r}?",
)
CIRCUMSTANCES = (
    *(f"in {country}" for country in COUNTRIES),
    *(f"for {group}" for group in GROUPS),
    *(f"in {year}" for year in range(2008, 2025)),
    "at home", "at work", "at night", "in college", "after school", "in daily life", "in the world",
    "these days", "online", "on Android", "on an iPhone", "on Windows", "for free", "without money",
    "under $500", "by myself", "without experience", "as a beginner", "with a degree", "in one week",
    "in two months", "at the age of 30", "in English", "for a small business",
)  # fmt: skip


class PhraseQuestions:
    """Groups of questions about the phrases of some sentences.

    Args:
        sentences: of a corpus.
        words: with their frequencies; corpora that may be had are old, and do not name what people ask about.

    Attributes:
        actions: such as "become a member of the council", as often as they occur.
        things: such as "Charles Darwin" and "steam engine", as often as they occur.
        facts: subject, verb and the rest of sentences.

    Raises:
        DataError: the sentences have no phrases of one of these kinds.
    """

    def __init__(self, sentences: Sequence[str], words: Mapping[str, float] | None = None) -> None:
        self.words = list(words or {})
        self.times = np.cumsum(np.array(list((words or {}).values())) ** TEMPERED)
        verbs = base_verbs(sentences)
        action = re.compile(rf"(?:{_MODAL}|\bto )((?:{'|'.join(verbs)}) [^.,;:()\"]{{3,60}})")
        self.actions = [own(phrase(found)) for text in sentences for found in action.findall(text)]
        self.things = [found for text in sentences for find in (_NAME, _NOUN) for found in find.findall(text)]
        facts = (_FACT.match(text) for text in sentences)
        self.facts = [
            (lowered(match[1]), match[2], phrase(match[3]))
            for match in facts
            if match and not _NO_SUBJECT.match(match[1])
        ]
        if not (verbs and self.actions and self.things and self.facts):
            raise DataError(
                f"{len(sentences):,} sentences without phrases for questions; "
                "expected some thousands, in English"
            )

    def group(self, draw: random.Random) -> list[str]:
        """Four questions that have a phrase or a form in common, some in another spelling."""
        kind = draw.random()
        if kind < ABOUT_ACTIONS:
            asked = self._crossed(ACTIONS, [self._action(draw) for _ in range(3)], draw)
        elif kind < ABOUT_ACTIONS + ABOUT_THINGS:
            asked = self._crossed(THINGS, [self._thing(draw) for _ in range(3)], draw)
        else:
            asked = self._facts(draw)
        return [spelt(text, draw) for text in asked]

    def word(self, draw: random.Random) -> str:
        """One of the words, the frequent ones more often.

        Raises:
            IndexError: there are none.
        """
        return self.words[int(np.searchsorted(self.times, draw.random() * self.times[-1]))]

    def _action(self, draw: random.Random) -> str:
        action = draw.choice(self.actions)
        if self.words and draw.random() < WORD_AT_END:
            return f"{action.rpartition(' ')[0]} {self.word(draw)}"
        return action

    def _thing(self, draw: random.Random) -> str:
        kind = draw.random() if self.words else 1.0
        if kind < ONE_WORD:
            return self.word(draw)
        if kind < ONE_WORD + TWO_WORDS:
            return f"{self.word(draw)} {self.word(draw)}"
        thing = draw.choice(self.things)
        return f"{self.word(draw)} {thing}" if kind < ONE_WORD + TWO_WORDS + WORD_BEFORE else thing

    def _crossed(self, forms: Sequence[str], phrases: Sequence[str], draw: random.Random) -> list[str]:
        """Two forms of two of three phrases; where a form has room for another, it is mostly the third."""
        one, two = draw.sample(forms, 2)
        first, second, third = phrases
        wanted = ((one, first, third), (two, first, third), (one, second, third), (two, second, first))
        group, where = draw.choice(GROUPS), draw.choice(CIRCUMSTANCES)
        asked = []
        for form, a, b in wanted:
            if draw.random() < OTHER:
                where = draw.choice(CIRCUMSTANCES)
            asked.append(form.format(v=a, w=b, n=a, m=b, g=group, c=where))
        return asked

    def _facts(self, draw: random.Random) -> list[str]:
        """Two forms of a fact, and one with another subject and another claim."""
        one, two = draw.sample(FACTS, 2)
        subject, be, rest = draw.choice(self.facts)
        other, _, more = draw.choice(self.facts)
        wanted = ((one, subject, rest), (two, subject, rest), (one, other, rest), (one, subject, more))
        return [form.format(s=s, r=r, be=be, Be=be.capitalize()) for form, s, r in wanted]


def read_words(path: Path) -> dict[str, float]:
    """Words and their frequencies, of a file with lines of both, a tab between them.

    Raises:
        DataError: another file.
    """
    words = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}; expected lines of WORD, a tab and its frequency") from error
    for number, line in enumerate(lines, 1):
        word, _, frequency = line.partition("\t")
        try:
            words[word] = float(frequency)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: expected WORD, a tab and its frequency") from error
    if not words or "" in words or not all(0 < value < np.inf for value in words.values()):
        raise DataError(f"{path}: expected words with frequencies above 0")
    return words


def base_verbs(sentences: Iterable[str]) -> list[str]:
    """Words that follow modal verbs, and "to" at least a quarter as often."""
    modal: Counter[str] = Counter()
    infinitive: Counter[str] = Counter()
    for text in sentences:
        modal.update(_AFTER_MODAL.findall(text))
        infinitive.update(_AFTER_TO.findall(text))
    return sorted(
        word
        for word, count in modal.items()
        if count >= FEWEST and infinitive[word] >= count / 4 and word not in _NO_VERBS and word[-2:] != "ly"
    )


def own(action: str) -> str:
    """An action of whoever asks in the place of someone else's."""
    return _THEM.sub("someone", _THEIR.sub("my", action))


def phrase(text: str) -> str:
    """The first words of a text, without a clause or an article that is left hanging at their end."""
    words = _CLAUSE.sub("", text).split()[:LONGEST]
    return _LOOSE_END.sub("", " ".join(words))


def lowered(subject: str) -> str:
    """A subject inside a sentence: its article without a capital."""
    return "the " + subject[4:] if subject.startswith("The ") else subject


def spelt(question: str, draw: random.Random) -> str:
    """As people type: with a circumstance at the end, in lower case or without a mark now and then."""
    if draw.random() < MORE and question.endswith("?"):
        question = f"{question[:-1]} {draw.choice(CIRCUMSTANCES)}?"
    spelling = draw.random()
    if spelling < LOWER:
        return question.lower()
    return question.rstrip("?") if spelling < LOWER + UNMARKED else question
