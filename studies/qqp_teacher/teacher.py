"""A teacher for the matchers of Quora questions: frozen MPNet vectors beside the shipped matcher.

    python -m studies.qqp_teacher.teacher

Networks on the vectors of `studies.qqp_teacher.vectors` score train.tsv out of fold (`VectorTeacher`), and
pairs of near training questions, drawn as training pairs are spread over length divergence and score. Of the
drawn pairs the matcher has an opinion as well; a logistic regression on dev.tsv combines the two. Pairs of
dev.tsv and test.tsv are never drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from typer import Option

from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_split
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import PairClassifier, find_directory, load_classifier
from mobilebert_runtime.errors import DataError, ToolError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, predict_logits
from recipes.general_matchers.numerics import fast_products
from recipes.general_matchers.teachers import load_shards, shards_are_complete
from studies.common.script import Threads, console, run
from studies.qqp_teacher.options import CACHE, DATA, Cache, Data, distinct_texts
from studies.qqp_teacher.vector_teacher import VectorTeacher, VectorTeacherConfig, draw_alike

WORDS = "words.npz"  # in the cache: what the teacher says of training and mined pairs


def main(
    data: Data = DATA,
    cache: Cache = CACHE,
    mined: Annotated[int, Option(min=1, help="Pairs to draw.")] = 60_000,
    queries: Annotated[int, Option(min=1, help="Questions whose near ones are candidates.")] = 30_000,
    ranks: Annotated[int, Option(min=1, help="Near questions of each.")] = 20,
    matcher: Annotated[str, Option(help="The matcher to ask beside the vectors.")] = "matcher-qqp-m",
    threads: Threads = 1,
) -> None:
    """Write CACHE/words.npz for `studies.qqp_teacher.train`, and CACHE/teacher.json with figures on dev."""
    torch.set_num_threads(threads)
    show = console().print
    train, dev, test = (read_split(data, name) for name in ("train", "dev", "test"))
    texts = distinct_texts(dev, train)
    if not shards_are_complete(cache / "mpnet", len(texts)):
        raise DataError(f"{cache / 'mpnet'}: not all read; run studies.qqp_teacher.vectors first")
    vectors, _ = load_shards(cache / "mpnet", len(texts))
    place = {text: i for i, text in enumerate(texts)}
    labelled, on_dev = (_places(part, place) for part in (train, dev))
    config = VectorTeacherConfig()
    teacher = VectorTeacher.fit(vectors, labelled, train.labels, config, show)
    held_out = _platt(teacher.held_out[:, None], train.labels).decision_function(teacher.held_out[:, None])
    candidates = _near(vectors, np.unique(labelled), queries, ranks)
    barred = {frozenset(pair) for part in (train, dev, test) for pair in part.pairs}
    candidates = np.array([c for c in candidates if frozenset((texts[c[0]], texts[c[1]])) not in barred])
    pairs = [(texts[a], texts[b]) for a, b in candidates]
    prior, scores = LengthPrior.fit(*train), teacher.log_odds(vectors, candidates)
    like = (prior.category(train.pairs), teacher.held_out)
    chosen = draw_alike(prior.category(pairs), scores, like, mined)
    show(f"{len(chosen):,} of {len(candidates):,} candidates drawn")
    drawn = [pairs[i] for i in chosen]
    directory = find_directory(matcher)
    asked = load_classifier(directory), PairTokenizer.load(directory)
    opinion = log_odds(*asked, dev.pairs)
    columns = np.stack([opinion, teacher.log_odds(vectors, on_dev)], 1)
    write_json(cache / "teacher.json", figures(columns, dev.labels) | {"mined_pairs": len(drawn)})
    show((cache / "teacher.json").read_text())
    both = np.stack([log_odds(*asked, drawn), scores[chosen]], 1)
    words = _platt(columns, dev.labels).decision_function(both)
    np.savez(cache / WORDS, pairs=candidates[chosen], train=held_out, mined=words)


def figures(columns: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Accuracy and AUC on dev of the matcher, the vectors and both, the last by ten-fold cross-fitting.

    Args:
        columns: (N, 2) log-odds of matcher and vectors.
        labels: (N,) 0 or 1.
    """
    together = cross_val_predict(
        LogisticRegression(C=1e3), columns, labels, cv=10, method="decision_function"
    )
    named = {"matcher": columns[:, 0], "vectors": columns[:, 1], "both": together}
    found: dict[str, Any] = {}
    for name, scores in named.items():
        accuracy = float(((scores > 0) == labels).mean())
        found[name] = {"dev_accuracy": accuracy, "dev_auc": float(roc_auc_score(labels, scores))}
    fitted = _platt(columns, labels)
    return found | {"weights": fitted.coef_[0].tolist(), "offset": float(fitted.intercept_[0])}


def _places(part: LabelledPairs, place: dict[str, int]) -> np.ndarray:
    return np.array([[place[a], place[b]] for a, b in part.pairs])


def _platt(columns: np.ndarray, labels: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=1e3).fit(columns, labels)


def _near(vectors: np.ndarray, rows: np.ndarray, queries: int, ranks: int, seed: int = 0) -> np.ndarray:
    """Distinct pairs (C, 2) of some of `rows` and their near ones among all of `rows`, in random order."""
    try:
        import faiss
    except ImportError as error:
        raise ToolError("faiss is missing; run `pip install faiss-cpu==1.15.1` first") from error
    rng = np.random.default_rng(seed)
    asking = rng.permutation(len(rows))[:queries]
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors[rows].astype(np.float32))
    _, found = index.search(vectors[rows[asking]].astype(np.float32), ranks + 1)
    pairs = np.stack([np.repeat(asking, ranks + 1), found.ravel()], 1)
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], 1), axis=0)
    return rows[rng.permuted(rng.permutation(pairs), axis=1)]


def log_odds(network: PairClassifier, tokenizer: PairTokenizer, pairs: Sequence[Pair]) -> np.ndarray:
    """Log-odds (N,) of label 1, without decision settings."""
    with fast_products():
        logits = predict_logits(network, tokenizer, pairs, seq_len=TRAIN_LENGTH)
    return np.diff(logits.astype(np.float64))[:, 0]


if __name__ == "__main__":
    run(main)
