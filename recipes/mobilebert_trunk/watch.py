"""Figures to watch the training by: on data that is free for choices, and on texts not trained on.

None of QQP, MRPC, STS-B and Twitter-URL is read, in any split. Those of finished models, on free data:

    python -m recipes.mobilebert_trunk.watch RUN/trunk minilm matcher-open-s
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from typer import Argument, Option

from mobilebert_models import find_directory, load_pretrained
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.numerics import fast_products
from recipes.general_matchers.texts import held_out_intents, rows
from recipes.general_matchers.trunk import embed
from studies.common.script import console, run

STORED = 5  # texts of each intent
Embed = Callable[[Sequence[str]], np.ndarray]


def main(
    models: Annotated[list[str], Argument(help="Trunks or matchers, by name or directory.")],
    shared: Annotated[Path, Option(help="Folder with data/.")] = Path("../shared"),
    threads: Annotated[int, Option(min=1)] = 1,
) -> None:
    """Print the figures of each on free data."""
    torch.set_num_threads(threads)
    for model in models:
        folder = find_directory(model)
        encoder = encoder_of(load_pretrained(folder)).eval()
        tokenizer = PairTokenizer.load(folder).without_spelling()
        console().print(f"{model}: {free_figures(embedder(encoder, tokenizer), shared / 'data')}")


def embedder(encoder: Encoder, tokenizer: PairTokenizer) -> Callable[[Any], np.ndarray]:
    """Texts → unit vectors (N, H), question marks not read, as a matcher reads them."""

    def found(texts: Any) -> np.ndarray:
        read = [text.replace("?", "").strip() or text for text in texts]
        with fast_products():
            return embed(encoder, tokenizer, read)

    return found


@cache
def look_up(data: Path, *, held_out: bool) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Stored texts, their intents, dev queries, theirs: of the 50 held-out intents or of the 100 others."""
    out = set(held_out_intents(data))
    stored, asked, seen = [], [], dict.fromkeys(out, 0)
    for row in rows(data / "intents/clinc150/train.tsv"):
        seen[row["intent"]] = seen.get(row["intent"], 0) + 1
        if (row["intent"] in out) == held_out and seen[row["intent"]] <= STORED:
            stored.append(row)
    asked = [r for r in rows(data / "intents/clinc150/dev.tsv") if (r["intent"] in out) == held_out]
    names = sorted({row["intent"] for row in stored})
    intents = [np.array([names.index(row["intent"]) for row in found]) for found in (stored, asked)]
    return [r["text"] for r in stored], intents[0], [r["text"] for r in asked], intents[1]


@cache
def entailment(data: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Premises, hypotheses and labels of MNLI's train rows: 1 entailment, 0 neutral, −1 contradiction."""
    found = rows(data / "glue/mnli-subset/train.tsv")
    labels = {"entailment": 1, "neutral": 0, "contradiction": -1}
    values = np.array([labels[row["label"]] for row in found])
    return [row["premise"] for row in found], [row["hypothesis"] for row in found], values


def free_figures(embed: Embed, data: Path) -> dict[str, float]:
    """Right intent first, and the AUC of the cosine on entailment against the rest and contradiction."""
    found = {}
    for name, held_out in (("held_out_intents", True), ("other_intents", False)):
        stored, intents, asked, wanted = look_up(data, held_out=held_out)
        vectors = embed([*stored, *asked])
        nearest = (vectors[len(stored) :] @ vectors[: len(stored)].T).argmax(1)
        found[name] = float((intents[nearest] == wanted).mean())
    left, right, labels = entailment(data)
    vectors = embed([*left, *right])
    cosines = (vectors[: len(left)] * vectors[len(left) :]).sum(1)
    found["mnli"] = float(roc_auc_score(labels == 1, cosines))
    parted = labels != 0
    found["mnli_contradiction"] = float(roc_auc_score(labels[parted] == 1, cosines[parted]))
    return {name: round(value, 4) for name, value in found.items()}


def ranks(similarity: np.ndarray, kept: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of each text with others at some ranks of nearness (0 the nearest): two arrays of places."""
    similarity = similarity.copy()
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, list(kept)]
    left = np.repeat(np.arange(len(similarity)), len(kept))
    return left, order.ravel()


def agreement(ours: np.ndarray, target: np.ndarray, similarity: np.ndarray) -> dict[str, float]:
    """How near vectors of held-out texts are to their targets, and how they order near pairs.

    Args:
        ours: (N, H) unit vectors.
        target: (N, H) unit targets.
        similarity: (N, N) as the teachers have it.
    """
    left, right = ranks(similarity, (0, 1, 3, 7, 15, 63))
    cosines = (ours[left] * ours[right]).sum(1)
    return {
        "held_cosine": round(float((ours * target).sum(1).mean()), 4),
        "held_order": round(float(spearmanr(cosines, similarity[left, right]).statistic), 4),
    }


if __name__ == "__main__":
    run(main)
