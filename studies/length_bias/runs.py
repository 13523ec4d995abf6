"""The runs behind Table 2 and Figure 2 of Jiang et al. 2022: train a matcher, test it on both test sets.

One *cell* is a data set, an architecture, a training set and a seed. Its record is a JSON file of its own, so
that any number of processes can work through disjoint parts of the table, and a killed one goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from matching.data.datasets import DEV_PAIRS, Examples, TrainSet, training_part
from matching.evaluation import metrics
from matching.evaluation.confidence_intervals import RESAMPLES, classification_intervals
from matching.length_bias.length_divergence import CATEGORIES
from mobilebert_runtime.files import write_json
from studies.common.paper_data import held_out_parts, paper_data
from training.fit_matcher import TRAINING, fit, loop_config
from training.matchers import WordMatcher, build_matcher

# Architecture → training pairs at most: what one core can do in minutes; the paper trains on all.
MAX_PAIRS = {"matchpyramid": 30_000, "esim": 10_000, "bimpm": 10_000, "bert-tiny": 15_000}
PAPER_ARCHITECTURES = tuple(MAX_PAIRS)


@dataclass(frozen=True)
class Cell:
    """One run of the table."""

    data: str
    arch: str
    train_set: TrainSet
    seed: int

    @property
    def name(self) -> str:
        """Of its record and of its folder."""
        return f"{self.data}.{self.arch}.{self.train_set}.seed{self.seed}"


def cells(
    data: Iterable[str], archs: Iterable[str], train_sets: Iterable[TrainSet], seeds: Iterable[int]
) -> Iterator[Cell]:
    """All cells; both training sets of a data set and architecture follow each other."""
    for seed, arch, name, train_set in product(seeds, archs, data, train_sets):
        yield Cell(name, arch, train_set, seed)


def run_cell(
    cell: Cell,
    out: Path,
    runs: Path,
    *,
    data_root: Path | None = None,
    init: Path | None = None,
    init_description: str | None = None,
    max_pairs: int | None = None,
) -> dict[str, Any]:
    """Train (or take up) one matcher, test it, write `out`/cells/NAME.json; returns the record.

    Args:
        cell: which run.
        out: folder of the records.
        runs: folder of the trained matchers, one folder a cell.
        data_root: see `studies.common.paper_data.paper_data`.
        init: model directory that bert-tiny starts from.
        init_description: what the record says about it.
        max_pairs: another cap than the table's.
    """
    data = paper_data(cell.data, data_root)
    settings = TRAINING[cell.arch]
    examples, dev, facts = training_part(
        data,
        cell.train_set,
        seed=cell.seed,
        max_pairs=max_pairs or MAX_PAIRS[cell.arch],
        max_dev=DEV_PAIRS,
        equal_size=True,
    )
    folder = runs / cell.name
    started = time.monotonic()
    matcher = build_matcher(
        cell.arch,
        seed=cell.seed,
        init=init if cell.arch == "bert-tiny" else None,
        max_tokens=settings.max_tokens,
    )
    config = loop_config(settings, len(examples), cell.seed)
    training = fit(matcher, examples, dev, config, folder, swap=settings.swap, facts=facts)
    matcher.save(folder / "model")
    tests: dict[str, Any] = {}
    for part in held_out_parts(data):
        logits = matcher.predict(part.examples.pairs)
        everything = np.arange(len(part.examples))
        for name, rows in (("original", everything), ("adversarial", part.adversarial)):
            tests[part.prefix + name] = figures(part.examples.take(rows), logits[rows], part.category[rows])
    steps = training.get("steps_run", training["steps"])
    record = {
        "arch": cell.arch,
        "data": cell.data,
        "train_set": cell.train_set,
        "seed": cell.seed,
        "config": training["config"] | asdict(settings),
        **facts,
        "sizes": "original and adversarial training sets of a cell have the same number of pairs",
        "epochs_run": steps * settings.batch_size / len(examples),
        "best_step": training.get("best_step", steps),
        "seconds": training["seconds"],
        "seconds_with_evaluation": time.monotonic() - started,
        "trainable_parameters": matcher.trainable_parameters,
        "curve": training["curve"],
        "early_stopping": training["evaluations"],
        "vectors": matcher.vectors.source if isinstance(matcher, WordMatcher) else None,
        "init": (init_description or "random weights") if cell.arch == "bert-tiny" else None,
        "tests": tests,
    }
    (out / "cells").mkdir(parents=True, exist_ok=True)
    write_json(out / "cells" / f"{cell.name}.json", record)
    return record


def figures(examples: Examples, logits: np.ndarray, category: np.ndarray) -> dict[str, Any]:
    """Table 2's metrics with 95% intervals, and the true positive rate of each category (Figure 2).

    Intervals: accuracy and rates Wilson's; balanced accuracy and F1 by bootstrap over pairs; AUC DeLong's;
    MAP and MRR by bootstrap over lists.

    Args:
        examples: N examples.
        logits: (N, 2).
        category: (N,) 1 to 4: of the pair, or of the pair's list.
    """
    probability = softmax(logits.astype(np.float64), axis=1)[:, 1]
    predicted = (probability >= 0.5).astype(np.int64)
    labels = examples.labels
    out: dict[str, Any] = {"pairs": len(examples), "positives": int(labels.sum())}
    if examples.groups is None:
        out |= _classification(labels, predicted, probability)
    else:
        out |= _ranking(labels, logits[:, 1].astype(np.float64) - logits[:, 0], examples.groups)
    rates = metrics.true_positive_rate(labels, predicted, category)
    out["tpr"] = [
        {
            "category": c,
            "value": rates[c].value,
            "low": rates[c].low,
            "high": rates[c].high,
            "positives": rates[c].count,
        }
        for c in CATEGORIES
    ]
    return out


def _classification(labels: np.ndarray, predicted: np.ndarray, probability: np.ndarray) -> dict[str, Any]:
    values = {
        "accuracy": metrics.accuracy(labels, predicted),
        "balanced_accuracy": metrics.balanced_accuracy(labels, predicted),
        "f1_macro": metrics.f1_macro(labels, predicted),
        "f1_micro": metrics.f1_micro(labels, predicted),
        "auc": metrics.auc(labels, probability),
    }
    intervals = classification_intervals(labels, predicted, probability)
    return values | {"intervals": {name: intervals[name] for name in values}}


def _ranking(labels: np.ndarray, scores: np.ndarray, groups: list[str]) -> dict[str, Any]:
    found = metrics.ranking(labels, scores, groups)
    measures = {"map": found.average_precision, "mrr": found.reciprocal_rank}
    return {
        "map": found.map,
        "mrr": found.mrr,
        "lists": found.queries,
        "lists_without_positive": found.without_relevant,
        "intervals": {name: _interval_of_mean(values) for name, values in measures.items()},
    }


def _interval_of_mean(values: np.ndarray) -> tuple[float, float]:
    return metrics.bootstrap(lambda rows: float(values[rows].mean()), len(values), resamples=RESAMPLES)
