"""Gives pairs of texts the probability that they match.

```python
matcher = Matcher.load("artefacts/matcher-int8", threads=2)
matcher.score([("How old is the Moon?", "What is the age of the Moon?")])  # array([0.98], float32)
matcher.rank("How old is the Moon?", ["What is the age of the Moon?", "How far is it?"], top_k=1)
```
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import MATCHING, ArtefactCard
from mobilebert_runtime.errors import DataError, UnreadableWarning
from mobilebert_runtime.packing import Encoded
from mobilebert_runtime.results import Hit
from mobilebert_runtime.texts import as_text, as_texts, refuse_empty


class Matcher(ArtefactModel):
    """A pair classifier in a runtime: text pairs in, probabilities out."""

    task = MATCHING

    def score(self, pairs: Iterable[tuple[str, str]], *, symmetric: bool = False) -> NDArray[np.float32]:
        """Score of each pair, float32 (N,): the probability of the positive label, in [0, 1].

        The score of a network for regression is its value itself.

        A cross-encoder reads a before b, so that (a, b) and (b, a) score a little differently, unless its
        tokenizer sorts the two. With `symmetric` the result is the mean over both orders: the same for both,
        at up to twice the time. Where the card is `symmetric` it is the score of the order in which the texts
        sort, at no more time: both orders of an embedding matcher agree up to float rounding, but where an
        odd token of two long texts of equal length is cut.

        Where two different texts are the same tokens (`unreadable`), the score stays below the threshold.

        Warns:
            UnreadableWarning: naming the first such pair.

        Raises:
            DataError: an entry is no pair of texts, or one of them is empty.
        """
        return self._score(as_texts(pairs, 2), symmetric=symmetric)

    def predict(self, sentences: Any) -> Any:
        """As `score`, by the name that sentence-transformers has for it.

        Args:
            sentences: one pair of texts, or several pairs.

        Returns:
            Float32: a number for one pair, (N,) for several.
        """
        one = isinstance(sentences, (tuple, list)) and any(isinstance(part, str) for part in sentences)
        scores = self._score(as_texts([tuple(sentences)] if one else sentences, 2))
        return scores[0] if one else scores

    def unreadable(self, pairs: Iterable[tuple[str, str]]) -> NDArray[np.bool_]:
        """Which pairs are two different texts that give the network the same tokens, bool (N,).

        Their characters are not in the vocabulary (emoji, another script), or they begin alike and are too
        long. Texts that differ in case, accents or white space alone are not meant: many tokenizers drop
        those by design.
        """
        listed = as_texts(pairs, 2)
        return self._unreadable(listed, self._rows(listed))

    def label(self, score: float) -> str:
        """The positive label at and above the threshold; below it the other of two labels, else "not …"."""
        positive = self.card.labels[self.card.positive]
        if score >= self.card.threshold:
            return positive
        return self.card.labels[1 - self.card.positive] if len(self.card.labels) == 2 else f"not {positive}"

    def rank(self, query: str, texts: Iterable[str], top_k: int | None = None) -> list[Hit]:
        """The texts that match the query best, best first; all of them without `top_k`.

        Raises:
            DataError: `top_k` is less than 1, what is given is no text and no list of texts, or one is empty.
        """
        if top_k is not None and top_k < 1:
            raise DataError(f"top_k is {top_k}; give 1 or more")
        asked, listed = as_text(query, "query"), as_texts(texts, 1)
        if not asked or asked.isspace():
            raise DataError("the query is empty; give a text")
        scores = self._score([(asked, text) for text in listed])
        order = np.argsort(-scores, kind="stable")[:top_k]
        return [Hit(int(i), float(scores[i]), listed[i]) for i in order]

    def logits(self, pairs: Iterable[tuple[str, str]]) -> NDArray[np.float32]:
        """Raw logits, float32 (N, labels), columns in the order of `card.labels`.

        Each pair runs in the smallest bucket that holds it; where the file has a graph for it, pairs with the
        same first text run together, with the same logits up to float rounding.
        """
        return self._logits(self._rows(self._ordered(as_texts(pairs, 2))))

    def logits_of(self, encoded: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        """Logits of encoded pairs: int32 (N, S) by input name, S a bucket → float32 (N, labels)."""
        return self.outputs_of(encoded)

    def _score(self, pairs: Sequence[tuple[str, str]], *, symmetric: bool = False) -> NDArray[np.float32]:
        shift = self.card.shift(pairs)  # the same for both orders
        asked = self._ordered(pairs, symmetric=symmetric)
        step = 2 if symmetric and not self.card.symmetric else 1
        rows = self._rows([order for a, b in asked for order in ((a, b), (b, a))[:step]])
        logits = self._logits(rows)
        scores = positive_probability(logits[::step], self.card, shift)
        if step == 2:
            scores = np.float32(0.5) * (scores + positive_probability(logits[1::2], self.card, shift))
        return self._kept_apart(scores, pairs, rows[::step])

    def _ordered(
        self, pairs: Sequence[tuple[str, str]], *, symmetric: bool = False
    ) -> Sequence[tuple[str, str]]:
        """The pairs with their texts in alphabetical order, where the network means the same by both orders.

        Its sums still differ in the last bits, which the dynamic int8 of ONNX Runtime rounds to other codes:
        scores of the two orders would differ by up to 0.03. A file with a packed graph has no such ranges,
        and its texts stay in place, since it packs those with the same first text.
        """
        if self.card.symmetric and (symmetric or self.backend.packed is None):
            return [(min(pair), max(pair)) for pair in pairs]
        return pairs

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        refuse_empty(pairs)
        return self.tokenizer.ids(pairs, self.card.seq_len)

    def _logits(self, rows: Sequence[Encoded]) -> NDArray[np.float32]:
        found = self.run_packed(rows)
        rest = [place for place in range(len(rows)) if place not in found]
        found.update(zip(rest, self.run_rows([rows[place] for place in rest])))
        labels = len(self.card.labels)
        return np.array([found[place] for place in range(len(rows))], np.float32).reshape(-1, labels)

    def _unreadable(self, pairs: Sequence[tuple[str, str]], rows: Sequence[Encoded]) -> NDArray[np.bool_]:
        seq_len = self.card.seq_len
        return np.array(
            [self.tokenizer.confuses(pair, ids, seq_len) for pair, (ids, _) in zip(pairs, rows)], np.bool_
        )

    def _kept_apart(
        self, scores: NDArray[np.float32], pairs: Sequence[tuple[str, str]], rows: Sequence[Encoded]
    ) -> NDArray[np.float32]:
        """Scores, below the threshold where the network can't tell two texts apart."""
        alike = self._unreadable(pairs, rows)
        if not alike.any():
            return scores
        first = int(alike.argmax())
        warnings.warn(
            f"entry {first + 1}: {pairs[first]!r:.120} are the same tokens to the network: the vocabulary "
            f"lacks what they differ in, or they differ beyond {self.card.seq_len} tokens; its score is kept "
            f"below the threshold (pairs of this kind: {int(alike.sum())})",
            UnreadableWarning,
            stacklevel=4,
        )
        below = np.float32(self.card.threshold)
        while float(below) >= self.card.threshold:
            below = np.nextafter(below, np.float32(-np.inf))
        return np.where(alike, np.minimum(scores, below), scores)


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
