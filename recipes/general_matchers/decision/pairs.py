"""Labelled pairs that are free: of which the decision learns, and by which choices may be made.

None of QQP, MRPC, STS-B and Twitter-URL. A domain is a source of pairs with a habit of its own: edited
sentences, intents, entailment, misspellings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mobilebert_runtime.tokenizer import Pair
from recipes.general_matchers.decision.natural_pairs import natural_pairs
from recipes.general_matchers.decision.training_rules import CHANGED, KEPT
from recipes.general_matchers.edits import edited
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.texts import held_out_intents, rows

Embed = Callable[[Sequence[str]], np.ndarray]
CLINC, HWU = "intents/clinc150/train.tsv", "intents/hwu64/train.tsv"
KEPT_BACK = 5  # one MNLI pair in so many is for choices
LONG = 4  # letters of a word that is replaced
NEAR = 10  # near texts of another intent from which one is drawn


@dataclass(frozen=True)
class DomainPair:
    """A pair with its label: 1 the same, 0 not."""

    domain: str
    label: int
    texts: Pair


def training_pairs(
    texts: Sequence[str], data: Path | None, embed: Embed, each: int, others: int, seed: int
) -> list[DomainPair]:
    """Pairs of every domain.

    Args:
        texts: sentences that are edited and misspelt.
        data: folder of the data sets; without it there are edits and misspellings alone.
        embed: texts → unit vectors, by which near texts of other intents are found.
        each: pairs of an edit, at most.
        others: pairs of each other domain, at most.
        seed: of what is drawn.
    """
    draw = generator(f"{seed} pairs")
    found = [DomainPair("edits", pair.label, (pair.left, pair.right)) for pair in edited(texts, each, seed)]
    ruled = natural_pairs(texts, 4 * each, seed, CHANGED, KEPT)
    found += [DomainPair("rules", pair.label, (pair.left, pair.right)) for pair in ruled]
    found += other_words(texts, each, draw)
    found += misspelt(texts, Misspeller(data / MISSPELLINGS if data else None), others, draw)
    if data is None:
        return found
    found += near_intents(data / CLINC, "intents", embed, others, draw, out=held_out_intents(data))
    found += near_intents(data / HWU, "commands", embed, others, draw)
    found += [pair for k, pair in enumerate(entailment(data)) if k % KEPT_BACK]
    return found


def development_pairs(data: Path, embed: Embed, count: int, seed: int) -> list[DomainPair]:
    """Pairs for choices: of held-out intents, and the MNLI pairs that are kept back."""
    draw = generator(f"{seed} development")
    found = [pair for k, pair in enumerate(entailment(data)) if not k % KEPT_BACK]
    only = held_out_intents(data)
    return found + list(near_intents(data / CLINC, "intents", embed, count, draw, only=only))


def entailment(data: Path) -> Iterator[DomainPair]:
    """MNLI's premises and hypotheses: 1 where the hypothesis follows, 0 elsewhere."""
    for row in rows(data / "glue/mnli-subset/train.tsv"):
        yield DomainPair("mnli", int(row["label"] == "entailment"), (row["premise"], row["hypothesis"]))


def other_words(texts: Sequence[str], count: int, draw: random.Random) -> Iterator[DomainPair]:
    """Texts with one of their longer words replaced by one of another text: they say something else."""
    for text in draw.sample(list(texts), min(count, len(texts))):
        words = text.split()
        places = [k for k, word in enumerate(words) if len(word) >= LONG and word.isalpha()]
        strange = [w for w in texts[draw.randrange(len(texts))].split() if len(w) >= LONG and w.isalpha()]
        if places and strange:
            place = draw.choice(places)
            other = " ".join([*words[:place], draw.choice(strange), *words[place + 1 :]])
            yield DomainPair("edits", int(other.lower() == text.lower()), (text, other))


def misspelt(
    texts: Sequence[str], misspell: Misspeller, count: int, draw: random.Random
) -> Iterator[DomainPair]:
    """Texts beside their own misspelling, and beside the misspelling of the text after them."""
    for k, text in enumerate(draw.sample(list(texts), min(count, len(texts)))):
        other = text if k % 2 else texts[draw.randrange(len(texts))]
        yield DomainPair("misspelt", int(other == text), (text, misspell.noisy(other, draw)))


def near_intents(
    path: Path,
    domain: str,
    embed: Embed,
    count: int,
    draw: random.Random,
    *,
    only: Collection[str] | None = None,
    out: Collection[str] = (),
) -> Iterator[DomainPair]:
    """Utterances beside a near one of another intent (0), and beside the nearest of their own (1).

    Two utterances of an intent are not always the same, but the nearest of a hundred nearly is.

    Args:
        path: file of intents and texts.
        domain: of the pairs.
        embed: texts → unit vectors.
        count: pairs at most.
        draw: of the utterances.
        only: intents that are read; None: all.
        out: intents that are not.
    """
    found = [
        row for row in rows(path) if (only is None or row["intent"] in only) and row["intent"] not in out
    ]
    texts, intents = [row["text"] for row in found], np.array([row["intent"] for row in found])
    vectors = embed(texts)
    for k, place in enumerate(draw.sample(range(len(texts)), min(count, len(texts)))):
        similarity = vectors @ vectors[place]
        similarity[place] = -2
        own = intents == intents[place]
        if k % 2:
            other = int(np.where(own, similarity, -2).argmax())
        else:
            other = int(draw.choice(np.argsort(np.where(own, -2, similarity))[-NEAR:].tolist()))
        yield DomainPair(domain, k % 2, (texts[place], texts[other]))
