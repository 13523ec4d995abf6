"""An endless stream of batches for training on an accelerator, made by worker processes beside it.

Half of a batch are groups of near texts, a quarter sentences of a large corpus, a quarter texts beside an
edited copy of their own: a word left out, put in, replaced or moved. Questions about the phrases of such
sentences take three eighths where they are asked for, two of them from the groups and one from the sentences.
Teachers say what any text means, so no edit needs a label. A share of the texts is misspelt for the students
alone. In most batches nobody reads question marks, as no matcher does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.batches import LONG_SHARE
from recipes.general_matchers.noise import Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.phrase_questions import PhraseQuestions
from recipes.general_matchers.teachers import read

GROUP = 4  # near texts that are drawn together
STRANGE = 3  # words of a list from which an edit takes
WINDOW = 8  # batches whose texts are drawn together and sorted by length
UNREAD = 0.75  # share of batches whose question marks are not read
LONGEST_WORDS = 26  # of a text; of longer ones, which are rare in use, `LONG_SHARE` stay
Batch = dict[str, dict[str, Tensor]]


class TextStream(IterableDataset[Batch]):
    """Batches by reader: ids, mask and types of the same texts as each tokenizer reads them.

    Args:
        texts: N texts that resemble use.
        times: (N,), how often a text counts where texts are drawn.
        near: (N, K), each text's nearest others.
        sentences: of a large corpus.
        questions: about their phrases, if any.
        teachers: tokenizers of those who read the texts as they are, by name.
        students: of those who read some of them misspelt.
        misspell: how.
        noise: share of misspelt texts.
        size: texts in a batch.
        seed: workers draw by it and their number.
    """

    def __init__(
        self,
        texts: Sequence[str],
        times: np.ndarray,
        near: np.ndarray,
        sentences: Sequence[str],
        questions: PhraseQuestions | None,
        teachers: Mapping[str, PairTokenizer],
        students: Mapping[str, PairTokenizer],
        misspell: Misspeller,
        noise: float,
        size: int,
        seed: int,
    ) -> None:
        self.texts, self.near, self.sentences, self.questions = texts, near, sentences, questions
        self.teachers, self.students = teachers, students
        self.misspell, self.noise, self.size, self.seed = misspell, noise, size, seed
        self.times = np.cumsum(times / times.sum())
        self.marks = {name: t.vocabulary().get("?") for name, t in [*teachers.items(), *students.items()]}

    def __iter__(self) -> Iterator[Batch]:
        """Without end."""
        worker = get_worker_info()
        draw = generator(f"{self.seed} {worker.id if worker else 0}")
        while True:
            units = self._units(draw)
            units.sort(key=lambda unit: max(len(text) for text in unit) * (0.9 + 0.2 * draw.random()))
            flat = [text for unit in units for text in unit]
            starts = list(range(0, len(flat) - self.size + 1, self.size))
            draw.shuffle(starts)
            for start in starts:
                yield self._read(flat[start : start + self.size], draw)

    def _units(self, draw: random.Random) -> list[list[str]]:
        """Texts that stay together: groups, lone sentences, edited pairs."""
        wanted = self.size * WINDOW
        groups, alone, asked = (2, 1, 3) if self.questions else (4, 2, 0)  # eighths
        units: list[list[str]] = []
        for _ in range(wanted * groups // 8 // GROUP):
            row = self._known(draw)
            others = draw.sample(range(self.near.shape[1]), GROUP - 1)
            units.append([self.texts[row], *(self.texts[self.near[row, k]] for k in others)])
        units += [[self._sentence(draw)] for _ in range(wanted * alone // 8)]
        if self.questions:
            units += [self.questions.group(draw) for _ in range(wanted * asked // 8 // GROUP)]
        for _ in range(wanted // 8):
            text = self.texts[self._known(draw)] if draw.random() < 0.7 else self._sentence(draw)
            units.append([text, edited(text, self._strange(draw), draw)])
        return units

    def _known(self, draw: random.Random) -> int:
        while True:
            row = min(int(np.searchsorted(self.times, draw.random())), len(self.texts) - 1)
            if len(self.texts[row].split()) <= LONGEST_WORDS or draw.random() < LONG_SHARE:
                return row

    def _sentence(self, draw: random.Random) -> str:
        while True:
            text = draw.choice(self.sentences)
            if len(text.split()) <= LONGEST_WORDS or draw.random() < LONG_SHARE:
                return text

    def _strange(self, draw: random.Random) -> str:
        """Words that an edit may put in: another sentence, or words of a list."""
        if self.questions and self.questions.words and draw.random() < 0.5:
            return " ".join(self.questions.word(draw) for _ in range(STRANGE))
        return self._sentence(draw)

    def _read(self, texts: list[str], draw: random.Random) -> Batch:
        noisy = [self.misspell.noisy(t, draw) if draw.random() < self.noise else t for t in texts]
        found = {name: read(reader, texts) for name, reader in self.teachers.items()}
        found |= {name: read(reader, noisy) for name, reader in self.students.items()}
        if draw.random() < UNREAD:
            for name, batch in found.items():
                if (mark := self.marks[name]) is not None:
                    batch["attention_mask"] = batch["attention_mask"] * (batch["input_ids"] != mark)
        return found


def edited(text: str, other: str, draw: random.Random) -> str:
    """A text with one or two words left out, put in, replaced or moved; words put in are of another text."""
    words, strange = text.split(), other.split()
    for _ in range(1 if draw.random() < 0.7 else 2):
        at, kind = draw.randrange(len(words)), draw.choice(("out", "in", "other", "other", "move"))
        if kind == "in":
            words.insert(at, draw.choice(strange))
        elif kind == "other" or len(words) < 3:
            words[at] = draw.choice(strange)
        elif kind == "out":
            del words[at]
        else:
            words.insert(draw.randrange(len(words)), words.pop(at))
    return " ".join(words)
