"""Pairs of texts and the probability that they match.

matcher = Matcher.load("artefacts/matcher-int8", threads=2)
matcher.score([("How old is the Moon?", "What is the age of the Moon?")])   # → array([0.98], float32)
matcher.rank("How old is the Moon?", ["What is the age of the Moon?", "How far is it?"], top_k=1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel, check_texts
from mobilebert_runtime.card import MATCHING, ArtefactCard
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.results import Hit


class Matcher(ArtefactModel):
    """A pair classifier in a runtime: text pairs in, probabilities out."""

    task = MATCHING

    def score(self, pairs: Sequence[tuple[str, str]], *, symmetric: bool = False) -> NDArray[np.float32]:
        """Score of each pair, float32 (N,): the probability of the positive label, in [0, 1].

        The score of a network for regression is its value itself.

        A cross-encoder reads a before b, so that (a, b) and (b, a) score a little differently, unless its
        tokenizer sorts the two. With `symmetric` the result is the mean over both orders: the same for both,
        at up to twice the time. Where the card is `symmetric` it is the score of the order in which the texts
        sort, at no more time: both orders of an embedding matcher agree up to float rounding, but where an
        odd token of two long texts of equal length is cut.
        """
        check_texts(pairs, 2)
        shift = self.card.shift(pairs)  # the same for both orders
        if symmetric and self.card.symmetric:
            pairs, symmetric = [(min(pair), max(pair)) for pair in pairs], False
        if not symmetric:
            return positive_probability(self.logits(pairs), self.card, shift)
        both = self.logits([order for a, b in pairs for order in ((a, b), (b, a))])
        forward, backward = (positive_probability(both[i::2], self.card, shift) for i in (0, 1))
        return np.float32(0.5) * (forward + backward)

    def label(self, score: float) -> str:
        """The positive label at and above the threshold; below it the other of two labels, else "not …"."""
        positive = self.card.labels[self.card.positive]
        if score >= self.card.threshold:
            return positive
        return self.card.labels[1 - self.card.positive] if len(self.card.labels) == 2 else f"not {positive}"

    def rank(self, query: str, texts: Sequence[str], top_k: int | None = None) -> list[Hit]:
        """The texts that match the query best, best first; all of them without `top_k`.

        Raises:
            DataError: `top_k` is less than 1, or what is given is no text and no list of texts.
        """
        if top_k is not None and top_k < 1:
            raise DataError(f"the {top_k} best texts can't be; give 1 or more")
        check_texts([query], 1)
        check_texts(texts, 1)
        scores = self.score([(query, text) for text in texts])
        order = np.argsort(-scores, kind="stable")[:top_k]
        return [Hit(int(i), float(scores[i]), texts[i]) for i in order]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Raw logits, float32 (N, labels), columns in the order of `card.labels`.

        Each pair runs in the smallest bucket that holds it; where the file has a graph for it, pairs with the
        same first text run together, with the same logits up to float rounding.
        """
        check_texts(pairs, 2)
        rows = self.tokenizer.ids(pairs, self.card.seq_len)
        found = self.run_packed(rows)
        rest = [place for place in range(len(rows)) if place not in found]
        found.update(zip(rest, self.run_rows([rows[place] for place in rest])))
        labels = len(self.card.labels)
        return np.array([found[place] for place in range(len(rows))], np.float32).reshape(-1, labels)

    def logits_of(self, encoded: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        """Logits of encoded pairs: int32 (N, S) by input name, S a bucket → float32 (N, labels)."""
        return self.outputs_of(encoded)


def positive_probability(
    logits: NDArray[np.float32], card: ArtefactCard, shift: Sequence[float]
) -> NDArray[np.float32]:
    """Score of the positive label: by the card's activation of logits / temperature + `card.shift`.

    A softmax gives the probability of the positive label among all, a sigmoid that of the only label, and
    identity the logit itself.

    Args:
        logits: (N, labels).
        card: of the artefact.
        shift: (N,).
    """
    scaled = logits.astype(np.float64) / card.temperature
    scaled[:, card.positive] += shift
    if card.activation == "identity":
        return scaled[:, 0].astype(np.float32)
    if card.activation == "sigmoid":  # a softmax with a second logit of 0
        scaled = np.concatenate([scaled, np.zeros_like(scaled)], axis=1)
    exponents = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return (exponents[:, card.positive] / exponents.sum(axis=1)).astype(np.float32)
