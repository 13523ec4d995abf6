"""Exact match and F1 of SQuAD v1.1 and v2 (Rajpurkar et al. 2016, 2018), by their official definitions."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation, English articles and surplus white space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(gold: str, found: str) -> float:
    """1 where the normalised texts are equal, else 0."""
    return float(normalise(gold) == normalise(found))


def f1(gold: str, found: str) -> float:
    """Harmonic mean of precision and recall over the words of the normalised texts, as bags.

    Where either has no word (no answer), 1 if neither has one, else 0.
    """
    wanted, given = normalise(gold).split(), normalise(found).split()
    if not wanted or not given:
        return float(wanted == given)
    common = sum((Counter(wanted) & Counter(given)).values())
    return 2 * common / (len(wanted) + len(given))


def evaluate(
    golds: Mapping[str, Sequence[str]],
    found: Mapping[str, str],
    no_answer_scores: Mapping[str, float] | None = None,
    threshold: float = 0.0,
) -> dict[str, float]:
    """Official figures as fractions of 1, each the mean over questions of the best over their gold answers.

    Args:
        golds: answers by question; none: the question has no answer.
        found: predicted text by question; "" is no answer.
        no_answer_scores: how much a question seems to have no answer (v2); None for v1.1.
        threshold: a question above it is predicted to have no answer.

    Returns:
        `exact`, `f1`, `total`; with `no_answer_scores` also both over questions that have an answer and that
        have none, and the best of each over all thresholds with that threshold.
    """
    scored = {
        name: {key: _best(measure, golds[key], found.get(key, "")) for key in golds}
        for name, measure in (("exact", exact_match), ("f1", f1))
    }
    figures: dict[str, float] = {"total": len(golds)}
    for name, scores in scored.items():
        if no_answer_scores is None:
            figures[name] = _mean(list(scores.values()))
            continue
        final = {
            key: float(not golds[key]) if no_answer_scores[key] > threshold else score
            for key, score in scores.items()
        }
        figures[name] = _mean(list(final.values()))
        figures[f"{name}_has_answer"] = _mean([v for key, v in final.items() if golds[key]])
        figures[f"{name}_no_answer"] = _mean([v for key, v in final.items() if not golds[key]])
        best, at = best_threshold(golds, found, scores, no_answer_scores)
        figures |= {f"best_{name}": best, f"best_{name}_threshold": at}
    return figures


def best_threshold(
    golds: Mapping[str, Sequence[str]],
    found: Mapping[str, str],
    scores: Mapping[str, float],
    no_answer_scores: Mapping[str, float],
) -> tuple[float, float]:
    """The highest mean score over all thresholds, and the lowest threshold that has it.

    As in the official script every question starts as "no answer", and they are answered in the order of
    rising no-answer score.
    """
    current = float(sum(not answers for answers in golds.values()))
    best, at = current, 0.0
    for key in sorted(golds, key=lambda key: no_answer_scores[key]):
        if golds[key]:
            current += scores[key]
        elif found.get(key, ""):
            current -= 1
        if current > best:
            best, at = current, no_answer_scores[key]
    return best / max(1, len(golds)), at


def _best(measure: Callable[[str, str], float], answers: Sequence[str], found: str) -> float:
    # An answer of punctuation and articles only is none; without any other the gold answer is the empty text.
    return max(measure(gold, found) for gold in [a for a in answers if normalise(a)] or [""])


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))
