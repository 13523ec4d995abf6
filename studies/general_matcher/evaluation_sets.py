"""What the encoders are asked: test pairs, misspelt pairs, look-up among held-out intents, minimal pairs.

Reading it opens the test splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from recipes.general_matchers.minimal_pairs import generate
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.texts import held_out_intents, rows

Row = TypeVar("Row")
PAIR_SETS = {
    "twitter_url_test": ("twitter_url/test.tsv", "sentence", "label"),
    "mrpc_test": ("glue/mrpc/test.tsv", "sentence", "label"),
    "qqp_test": ("qqp/test.tsv", "question", "label"),
    "sts_b_test": ("glue/sts-b/test.tsv", "sentence", "score"),
    "mrpc_dev": ("glue/mrpc/dev.tsv", "sentence", "label"),
    "qqp_dev": ("qqp/dev.tsv", "question", "label"),
    "twitter_url_train": ("twitter_url/train.tsv", "sentence", "label"),  # it has no dev split
}
STORED_PER_INTENT = 30
# How many texts of each kind are compared with themselves.
WORDS, NUMBERS, EMOJI, SENTENCES = 600, 400, 200, 800
EMOJI_FROM = 0x1F300


class Texts:
    """A list of distinct texts and where each one is."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def add(self, texts: Sequence[str]) -> np.ndarray:
        """Positions of some texts."""
        return np.array([self.index.setdefault(text, len(self.index)) for text in texts], int)


def misspelt_pairs(
    found: list[dict[str, str]], column: str, misspell: Misspeller, texts: int = 1
) -> list[dict[str, str]]:
    """Pairs with a misspelling in one of the two texts, or in each, where a word kept for tests allows it."""
    out = []
    for number, row in enumerate(found):
        draw = generator(f"typo {number}")
        sides = draw.sample("12", 2)[:texts] if texts > 1 else [draw.choice("12")]
        wrong = {column + side: misspell.one(row[column + side], draw) for side in sides}
        if all(row[name] != text for name, text in wrong.items()):
            out.append(row | wrong | {"clean": str(number)})
    return out


def identical(data: Path) -> list[str]:
    """2,000 texts to be compared with themselves: words, numbers, emoji, sentences."""
    words = sorted({row["word"] for row in rows(data / MISSPELLINGS)})
    numbers = [f"{n * n * 7:,}" if n % 2 else str(n * 13) for n in range(NUMBERS)]
    emoji = [chr(EMOJI_FROM + n) * (1 + n % 3) for n in range(EMOJI)]
    sentences = [row["sentence1"] for row in rows(data / "glue/sts-b/dev.tsv")]
    return [*spread(words, WORDS)[:WORDS], *numbers, *emoji, *spread(sentences, SENTENCES)[:SENTENCES]]


def spread(found: list[Row], count: int) -> list[Row]:
    """At most `count` rows, evenly spread."""
    return found[:: max(1, -(-len(found) // count))]


def questions(data: Path, most: int = 10**9) -> tuple[Texts, dict[str, dict[str, np.ndarray]]]:
    """Every text that is asked for, and by set the positions and labels."""
    texts, sets = Texts(), {}
    misspell = Misspeller(data / MISSPELLINGS, test=True)
    for name, (file, column, label) in PAIR_SETS.items():
        found = spread(rows(data / file), most)
        values = np.array([float(r[label]) for r in found])
        sets[name] = {
            "left": texts.add([r[column + "1"] for r in found]),
            "right": texts.add([r[column + "2"] for r in found]),
        }
        sets[name]["label"] = values
        if name in ("qqp_test", "twitter_url_test"):
            for prefix, count in (("typos", 1), ("typos_in_both", 2)):
                noisy = misspelt_pairs(found, column, misspell, count)
                sets[f"{prefix}_{name}"] = {
                    "left": texts.add([r[column + "1"] for r in noisy]),
                    "right": texts.add([r[column + "2"] for r in noisy]),
                    "label": np.array([float(r[label]) for r in noisy]),
                    "clean": np.array([int(r["clean"]) for r in noisy]),
                }
    sets["clinc"] = look_up_set(texts, data, most)
    whole = texts.add(identical(data))
    sets["identical"] = {"left": whole, "right": whole}
    made = list(generate("test", 250, 0))
    kinds = sorted({p.kind for p in made})
    sets["minimal"] = {
        "left": texts.add([p.left for p in made]),
        "right": texts.add([p.right for p in made]),
        "label": np.array([p.label for p in made], float),
        "kind": np.array([kinds.index(p.kind) for p in made]),
        "kinds": np.array(kinds),
    }
    return texts, sets


def look_up_set(texts: Texts, data: Path, most: int = 10**9) -> dict[str, np.ndarray]:
    """CLINC150's held-out intents: stored texts, queries, and queries out of scope."""
    intents = held_out_intents(data)
    train = [r for r in rows(data / "intents/clinc150/train.tsv") if r["intent"] in intents]
    stored = [r for i in intents for r in [r for r in train if r["intent"] == i][:STORED_PER_INTENT]]
    asked = [r for r in rows(data / "intents/clinc150/test.tsv") if r["intent"] in intents]
    outside = rows(data / "intents/clinc150/test.out_of_scope.tsv")
    outside, asked = spread(outside, most), spread(asked, most)
    return {
        "stored": texts.add([r["text"] for r in stored]),
        "stored_intent": np.array([intents.index(r["intent"]) for r in stored]),
        "asked": texts.add([r["text"] for r in asked]),
        "intent": np.array([intents.index(r["intent"]) for r in asked]),
        "outside": texts.add([r["text"] for r in outside]),
    }
