"""What should not matter to a matcher, measured: order, neutral words, casing, punctuation, typos.

Each perturbation rewrites a pair into one that means the same. What a score then moves, and how often the
decision changes, is the price of a property that no accuracy shows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mobilebert_matching.evaluation import metrics
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair

Score = Callable[[Sequence[Pair]], np.ndarray]  # N pairs → (N,) in [0, 1]
# Words of courtesy: they change a text's length, not what it asks or says.
PADDING = ("please", "thanks", "kindly")
DEFAULT_PAIRS = 1000  # an interval of ± 2 points around a flip rate of 10%
_WORD = re.compile(r"(?<!\w)[^\W\d_]{4,}(?!\w)")  # of at least four letters and nothing else


class Perturbation(NamedTuple):
    """A change of a pair that keeps its meaning; what is random in it comes from the generator alone."""

    name: str
    what: str
    change: Callable[[Pair, np.random.Generator], Pair]


def swap(pair: Pair, _: np.random.Generator) -> Pair:
    """(a, b) → (b, a)."""
    return pair[1], pair[0]


def pad(pair: Pair, generator: np.random.Generator, words: int) -> Pair:
    """Append the first `words` of `PADDING` to one text, drawn: the lengths diverge, or meet."""
    return _one_text(pair, generator, lambda text: " ".join([text, *PADDING[:words]]))


def letters_swapped(pair: Pair, generator: np.random.Generator) -> Pair:
    """Two different neighbouring letters inside one word of one text change places."""

    def misspell(word: str) -> str:
        # The first and the last letter stay: readers hardly notice the rest.
        places = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1]]
        if not places:
            return word
        i = places[int(generator.integers(len(places)))]
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]

    return _one_text(pair, generator, lambda text: _one_word(text, generator, misspell))


def letter_dropped(pair: Pair, generator: np.random.Generator) -> Pair:
    """One letter inside one word of one text is left out."""

    def misspell(word: str) -> str:
        i = int(generator.integers(1, len(word) - 1))
        return word[:i] + word[i + 1 :]

    return _one_text(pair, generator, lambda text: _one_word(text, generator, misspell))


def without_punctuation(text: str) -> str:
    """The text less its characters of Unicode category P; itself where no word would remain."""
    kept = "".join(letter for letter in text if not unicodedata.category(letter).startswith("P"))
    return kept if kept.split() else text


PERTURBATIONS: tuple[Perturbation, ...] = (
    Perturbation("swap", "the two texts change places", swap),
    Perturbation(
        "pad 1", f"“{PADDING[0]}” appended to one text", lambda pair, generator: pad(pair, generator, 1)
    ),
    Perturbation(
        "pad 3",
        f"“{' '.join(PADDING)}” appended to one text",
        lambda pair, generator: pad(pair, generator, 3),
    ),
    Perturbation(
        "pad both",
        f"“{' '.join(PADDING)}” appended to both texts",
        lambda pair, _: _both(pair, lambda text: " ".join([text, *PADDING])),
    ),
    Perturbation("lower case", "both texts in lower case", lambda pair, _: _both(pair, str.lower)),
    Perturbation("upper case", "both texts in upper case", lambda pair, _: _both(pair, str.upper)),
    Perturbation(
        "no punctuation",
        "punctuation removed from both texts",
        lambda pair, _: _both(pair, without_punctuation),
    ),
    Perturbation(
        "more punctuation", "“.” appended to both texts", lambda pair, _: _both(pair, lambda text: text + ".")
    ),
    Perturbation(
        "letters swapped", "two neighbouring letters swapped in one word of one text", letters_swapped
    ),
    Perturbation("letter dropped", "one letter left out in one word of one text", letter_dropped),
)


def perturb(pairs: Sequence[Pair], perturbation: Perturbation, seed: int = 0) -> list[Pair]:
    """Every pair, changed. A pair's change depends on the seed and its row alone, not on its neighbours."""
    return [perturbation.change(pair, np.random.default_rng((seed, row))) for row, pair in enumerate(pairs)]


def sample(pairs: Sequence[Pair], count: int = DEFAULT_PAIRS, seed: int = 0) -> list[Pair]:
    """`count` of the pairs (all where there are fewer), drawn without replacement, in their order."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(pairs))[:count])
    return [pairs[row] for row in rows]


def invariances(
    score: Score,
    pairs: Sequence[Pair],
    threshold: float,
    *,
    seed: int = 0,
    perturbations: Sequence[Perturbation] = PERTURBATIONS,
) -> dict[str, Any]:
    """How far scores and decisions move under each perturbation.

    Args:
        score: the matcher.
        pairs: N pairs; labels play no part.
        threshold: the decision is positive from this score on.
        seed: of the perturbations.
        perturbations: which.

    Returns:
        `pairs`, `seed`, `threshold` and `perturbations`, each: `name`, `what`, `changed`: pairs whose text it
        changed at all, over which everything else runs; `median` and `p95` of |Δ score|; `shift`, the mean of
        Δ score; `flipped`, the share of decisions that change. All with 95% intervals, None of no pair.

    Raises:
        DataError: no pairs.
    """
    if not pairs:
        raise DataError("no pairs; give a file with at least one")
    before = score(pairs).astype(np.float64)
    rows = []
    for one in perturbations:
        changed_pairs = perturb(pairs, one, seed)
        changed = np.array([new != old for new, old in zip(changed_pairs, pairs, strict=True)])
        place = np.flatnonzero(changed)
        after = score([changed_pairs[i] for i in place]).astype(np.float64) if len(place) else np.zeros(0)
        moved = _moved(before[place], after, threshold) if len(place) else {}
        rows.append({"name": one.name, "what": one.what, "changed": len(place)} | moved)
    return {"pairs": len(pairs), "seed": seed, "threshold": threshold, "perturbations": rows}


def quantile_interval(values: np.ndarray, share: float) -> tuple[float, float]:
    """Distribution-free 95% interval of a quantile: two order statistics (David & Nagaraja, section 7.1)."""
    from scipy.stats import binom

    ranked = np.sort(values)
    low, high = binom.ppf([0.025, 0.975], len(ranked), share).astype(int)
    return float(ranked[max(low - 1, 0)]), float(ranked[min(high, len(ranked) - 1)])


def _moved(before: np.ndarray, after: np.ndarray, threshold: float) -> dict[str, Any]:
    difference = after - before
    size = np.abs(difference)
    flipped = int(((before >= threshold) != (after >= threshold)).sum())
    reach = 1.96 * float(difference.std()) / len(difference) ** 0.5
    shift = float(difference.mean())
    return {
        "median": float(np.median(size)),
        "median_interval": quantile_interval(size, 0.5),
        "p95": float(np.quantile(size, 0.95)),
        "p95_interval": quantile_interval(size, 0.95),
        "shift": shift,
        "shift_interval": (shift - reach, shift + reach),
        "flipped": flipped / len(difference),
        "flipped_interval": metrics.wilson(flipped, len(difference)),
    }


def _both(pair: Pair, change: Callable[[str], str]) -> Pair:
    return change(pair[0]), change(pair[1])


def _one_text(pair: Pair, generator: np.random.Generator, change: Callable[[str], str]) -> Pair:
    """One of the two texts changed, drawn."""
    return (change(pair[0]), pair[1]) if generator.integers(2) == 0 else (pair[0], change(pair[1]))


def _one_word(text: str, generator: np.random.Generator, change: Callable[[str], str]) -> str:
    """One word changed, drawn from those of at least four letters; all around it stays."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    found = words[int(generator.integers(len(words)))]
    return text[: found.start()] + change(found.group()) + text[found.end() :]
