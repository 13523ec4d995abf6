"""Which tokens a masked language model predicts, and what stands in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobilebert_training.pretraining.shards import SpecialTokens

SHARE = 0.15  # of the tokens of an example are masked (Devlin et al. 2019; MobileBERT appendix D)
BY_MASK, BY_RANDOM = 0.8, 0.1  # of those become [MASK], a random token; the rest stays as it is
LONGEST = 3  # words in an n-gram
# ALBERT section 4.1: p(n) = (1/n) / Σ 1/k.
NGRAM = np.array([1 / n for n in range(1, LONGEST + 1)]) / sum(1 / n for n in range(1, LONGEST + 1))


@dataclass(frozen=True)
class Masked:
    """A masked example.

    Attributes:
        ids: (S,) what the network reads.
        positions: (M,) ascending places of the masked tokens, M ≥ 1.
        labels: (M,) what stood there.
    """

    ids: np.ndarray
    positions: np.ndarray
    labels: np.ndarray


def mask(
    ids: np.ndarray, segment: np.ndarray, special: SpecialTokens, masking: str, rng: np.random.Generator
) -> Masked:
    """Mask 15% of an example's tokens.

    Args:
        ids: (S,) with special tokens.
        segment: (S,) 0 and 1 for the tokens of the two segments, −1 for special tokens, which stay.
        special: of the vocabulary.
        masking: "token", each token for itself, or "ngram", whole words in runs of up to three.
        rng: draws everything.
    """
    candidates = np.flatnonzero(segment >= 0)
    budget = max(1, round(SHARE * len(candidates)))
    if masking == "token":
        positions = np.sort(rng.permutation(candidates)[:budget])
    else:
        positions = _ngrams(ids, segment, candidates, special.continuations, budget, rng)
    hidden = ids.copy()
    draw = rng.random(len(positions))
    hidden[positions[draw < BY_MASK]] = special.mask
    swapped = positions[(draw >= BY_MASK) & (draw < BY_MASK + BY_RANDOM)]
    hidden[swapped] = special.ordinary[rng.integers(len(special.ordinary), size=len(swapped))]
    return Masked(hidden, positions, ids[positions])


def _ngrams(
    ids: np.ndarray,
    segment: np.ndarray,
    candidates: np.ndarray,
    continuations: np.ndarray,
    budget: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Positions of runs of one to three whole words; a run never crosses from one segment into the other."""
    begins = ~continuations[ids[candidates]]
    # What truncation left of a word begins its segment.
    begins |= np.diff(segment[candidates], prepend=-1) != 0
    first = candidates[begins]  # (W,) where each word begins
    side = segment[first]
    last_of_side = {s: candidates[segment[candidates] == s][-1] + 1 for s in np.unique(side)}
    following = np.append(first[1:], 0)
    same = np.append(side[1:] == side[:-1], False)
    end = np.where(same, following, [last_of_side[s] for s in side])  # (W,) where each word ends
    taken = np.zeros(len(ids), bool)
    left = budget
    words = rng.permutation(len(first))
    lengths = 1 + rng.choice(LONGEST, size=len(first), p=NGRAM)
    for word, length in zip(words, lengths, strict=True):
        if not left:
            break
        # A run that does not fit, or meets one already taken, is tried shorter.
        for n in range(min(length, len(first) - word), 0, -1):
            start, stop = first[word], end[word + n - 1]
            if side[word + n - 1] == side[word] and stop - start <= left and not taken[start:stop].any():
                taken[start:stop] = True
                left -= stop - start
                break
    if not taken.any():  # every word has more pieces than the budget of a very short example
        taken[first[words[0]] : end[words[0]]] = True
    return np.flatnonzero(taken)
