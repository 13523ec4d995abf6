"""Development figures of a sentence encoder by cosine: dev splits only, to watch a run by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from recipes.general_matchers.texts import held_out_intents, rows

STORED = 5  # texts of each intent, in the look-up to watch a run by
Embed = Callable[[Sequence[str]], np.ndarray]
DevSet = tuple[str, str, str, str, int]  # name, file, columns of texts and label, pairs at most
SETS: tuple[DevSet, ...] = (
    ("sts_dev", "glue/sts-b/dev.tsv", "sentence", "score", 500),
    ("mrpc_dev", "glue/mrpc/dev.tsv", "sentence", "label", 500),
    ("qqp_dev", "qqp/dev.tsv", "question", "label", 500),
)


@cache
def dev_pairs(
    data: Path, file: str, column: str, label: str, count: int
) -> tuple[list[str], list[str], np.ndarray]:
    """Left and right texts of at most `count` dev pairs, evenly spread, and their labels or scores."""
    found = rows(data / file)
    found = found[:: max(1, len(found) // count)][:count]
    values = np.array([float(row[label]) for row in found])
    return [row[f"{column}1"] for row in found], [row[f"{column}2"] for row in found], values


@cache
def utterances(data: Path, stored_per_intent: int) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Stored texts and their intents, 500 dev queries and theirs, of 50 *trained* intents.

    A look-up as in the test, on other intents.
    """
    out = set(held_out_intents(data))
    train = [r for r in rows(data / "intents/clinc150/train.tsv") if r["intent"] not in out]
    dev = [r for r in rows(data / "intents/clinc150/dev.tsv") if r["intent"] not in out]
    names = sorted({r["intent"] for r in dev})[::2]
    seen: dict[str, int] = {}
    stored = []
    for row in train:
        seen[row["intent"]] = seen.get(row["intent"], 0) + 1
        if row["intent"] in names and seen[row["intent"]] <= stored_per_intent:
            stored.append(row)
    asked = [r for r in dev if r["intent"] in names][::2]
    return (
        [r["text"] for r in stored],
        np.array([names.index(r["intent"]) for r in stored]),
        [r["text"] for r in asked],
        np.array([names.index(r["intent"]) for r in asked]),
    )


def agreement(similarity: np.ndarray, labels: np.ndarray) -> float:
    """AUC for two classes, Spearman's correlation for scores."""
    if set(np.unique(labels)) <= {0.0, 1.0}:
        return float(roc_auc_score(labels, similarity))
    return float(spearmanr(similarity, labels).statistic)


def development_figures(embed: Embed, data: Path, sets: Sequence[DevSet] = SETS) -> dict[str, float]:
    """Cosine on dev pairs, and the share of dev utterances whose nearest stored text has their intent."""
    found = {}
    for name, *rest in sets:
        left, right, labels = dev_pairs(data, *rest)
        vectors = embed([*left, *right])
        found[name] = round(agreement((vectors[: len(left)] * vectors[len(left) :]).sum(1), labels), 4)
    stored, intents, asked, wanted = utterances(data, STORED)
    vectors = embed([*stored, *asked])
    nearest = (vectors[len(stored) :] @ vectors[: len(stored)].T).argmax(1)
    found["clinc_dev"] = round(float((intents[nearest] == wanted).mean()), 4)
    return found
