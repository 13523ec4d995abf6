"""The trainings behind Table 2 and Figure 2 of Jiang et al. 2022: train a matcher, test it on both test sets.

    python -m studies.length_bias.table2 --out results/length_bias --runs runs/length_bias

Every run without a record is trained; an interrupted one goes on where it was, and processes with different
data sets, architectures or seeds can work side by side. `--own-sizes --epochs 6` trains on all pairs, as the
paper does, and `--probe CORPUS` measures after every epoch how much of a text's length ESIM and BiMPM hold.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from scipy.special import softmax
from typer import BadParameter, Option

from mobilebert_matching.evaluation import metrics
from mobilebert_matching.evaluation.confidence_intervals import RESAMPLES, classification_intervals
from mobilebert_matching.length_bias.length_divergence import CATEGORIES
from mobilebert_matching.length_bias.training_sets import (
    DEV_PAIRS,
    TRAIN_SETS,
    Examples,
    TrainSet,
    training_part,
)
from mobilebert_training.finetuning.fit_matcher import fit, loop_config
from studies.common.paper_data import PAPER_DATA, held_out_parts, paper_data
from studies.common.records import recorded
from studies.common.script import Out, Runs, Seeds, Threads, console, run
from studies.length_bias.probe import PER_BIN, RECURRENT
from studies.length_bias.sentlen import SentLen, probe, sentlen
from studies.length_bias.word_level.word_matcher import TRAINING, WordMatcher, build_matcher

# Architecture → training pairs at most: what one core can do in minutes; the paper trains on all.
MAX_PAIRS = {"matchpyramid": 30_000, "esim": 10_000, "bimpm": 10_000, "bert-tiny": 15_000}


@dataclass(frozen=True)
class RunConfig:
    """Which matcher, trained on what."""

    data: str
    arch: str
    train_set: TrainSet
    seed: int

    @property
    def name(self) -> str:
        """Of its record and of its folder."""
        return f"{self.data}.{self.arch}.{self.train_set}.seed{self.seed}"


def main(
    out: Out,
    runs: Runs,
    arch: Annotated[list[str] | None, Option(help="Only this architecture (repeat for more).")] = None,
    data: Annotated[list[str] | None, Option(help="Only this data set (repeat for more).")] = None,
    train_set: Annotated[list[str] | None, Option(help="Only original, or only adversarial.")] = None,
    seeds: Seeds = None,
    init: Annotated[Path | None, Option(help="Model directory that bert-tiny starts from.")] = None,
    init_description: Annotated[
        str | None, Option(help="Where those weights are from, for the records.")
    ] = None,
    data_root: Annotated[Path | None, Option(help="Folder of the data sets.")] = None,
    max_pairs: Annotated[int | None, Option(min=1, help="Another cap on training pairs.")] = None,
    own_sizes: Annotated[bool, Option(help="All pairs of each training set, as the paper trains.")] = False,
    epochs: Annotated[float | None, Option(min=0.1, help="Epochs at most, instead of the table's.")] = None,
    probe_texts: Annotated[
        list[Path] | None,
        Option("--probe", help="Text to probe ESIM and BiMPM with after every epoch (Table 3)."),
    ] = None,
    threads: Threads = 1,
) -> None:
    """Train and test every run of Table 2 that has no record yet."""
    if own_sizes and max_pairs:
        raise BadParameter("--own-sizes takes all pairs; leave --max-pairs out", param_hint="--own-sizes")
    datas = _known("--data", data, PAPER_DATA)
    archs = _known("--arch", arch, MAX_PAIRS)
    train_sets = _known("--train-set", train_set, TRAIN_SETS)
    torch.set_num_threads(threads)
    sentences = sentlen(probe_texts, PER_BIN) if probe_texts else None
    for config in run_configs(datas, archs, train_sets, seeds or [0]):  # type: ignore[arg-type]
        record = recorded(
            out / "cells" / f"{config.name}.json",
            lambda config=config: run_one(  # type: ignore[misc]
                config,
                runs,
                data_root=data_root,
                init=init,
                init_description=init_description,
                max_pairs=max_pairs,
                own_sizes=own_sizes,
                epochs=epochs,
                sentences=sentences,
            ),
        )
        tests = {
            name: {k: round(v, 4) for k, v in test.items() if isinstance(v, float)}
            for name, test in record["tests"].items()
        }
        console().print(f"{config.name}: {record['seconds_with_evaluation']:.0f} s, {tests}")


def _known(flag: str, asked: list[str] | None, known: Iterable[str]) -> list[str]:
    for name in asked or ():
        if name not in known:
            raise BadParameter(f"{name!r} is unknown; expected one of {', '.join(known)}", param_hint=flag)
    return asked or list(known)


def run_configs(
    data: Iterable[str], archs: Iterable[str], train_sets: Iterable[TrainSet], seeds: Iterable[int]
) -> Iterator[RunConfig]:
    """All runs; both training sets of a data set and architecture follow each other."""
    for seed, arch, name, train_set in product(seeds, archs, data, train_sets):
        yield RunConfig(name, arch, train_set, seed)


def run_one(
    config: RunConfig,
    runs: Path,
    *,
    data_root: Path | None = None,
    init: Path | None = None,
    init_description: str | None = None,
    max_pairs: int | None = None,
    own_sizes: bool = False,
    epochs: float | None = None,
    sentences: SentLen | None = None,
) -> dict[str, Any]:
    """Train (or take up) one matcher and test it; returns the record.

    Args:
        config: which run.
        runs: folder of the trained matchers, one folder a run.
        data_root: see `paper_data`.
        init: model directory that bert-tiny starts from.
        init_description: what the record says about it.
        max_pairs: another cap than the table's.
        own_sizes: all pairs of the training set, without a cap; else both sets of a comparison have one size.
        epochs: at most, instead of the table's.
        sentences: a recurrent network is probed with these after every epoch.
    """
    data = paper_data(config.data, data_root)
    settings = TRAINING[config.arch]
    settings = replace(settings, epochs=epochs or settings.epochs)
    examples, dev, metadata = training_part(
        data,
        config.train_set,
        seed=config.seed,
        max_pairs=None if own_sizes else max_pairs or MAX_PAIRS[config.arch],
        max_dev=DEV_PAIRS,
        equal_size=not own_sizes,
    )
    folder = runs / config.name
    started = time.monotonic()
    matcher = build_matcher(
        config.arch,
        seed=config.seed,
        init=init if config.arch == "bert-tiny" else None,
        max_tokens=settings.max_tokens,
    )
    loop = loop_config(settings, len(examples), config.seed)
    watch = None
    if sentences is not None and isinstance(matcher, WordMatcher) and config.arch in RECURRENT:
        watch = partial(length_probe, matcher, sentences)
    training = fit(matcher, examples, dev, loop, folder, swap=settings.swap, metadata=metadata, watch=watch)
    matcher.save(folder / "model")
    tests: dict[str, Any] = {}
    for part in held_out_parts(data):
        logits = matcher.predict(part.examples.pairs)
        everything = np.arange(len(part.examples))
        for name, rows in (("original", everything), ("adversarial", part.adversarial)):
            tests[part.prefix + name] = figures(part.examples.take(rows), logits[rows], part.category[rows])
    steps = training.get("steps_run", training["steps"])
    return {
        "arch": config.arch,
        "data": config.data,
        "train_set": config.train_set,
        "seed": config.seed,
        "config": training["config"] | asdict(settings),
        **metadata,
        "sizes": "all pairs of each training set"
        if own_sizes
        else "original and adversarial training sets of a comparison have the same number of pairs",
        "epochs_run": steps * settings.batch_size / len(examples),
        "best_step": training.get("best_step", steps),
        "seconds": training["seconds"],
        "seconds_with_evaluation": time.monotonic() - started,
        "trainable_parameters": sum(p.numel() for p in matcher.network.parameters() if p.requires_grad),
        "curve": training["curve"],
        "early_stopping": training["evaluations"],
        "vectors": matcher.vectors.source if isinstance(matcher, WordMatcher) else None,
        "init": (init_description or "random weights") if config.arch == "bert-tiny" else None,
        "tests": tests,
    }


def length_probe(matcher: WordMatcher, sentences: SentLen) -> dict[str, float]:
    """SentLen of a network as it is now (Table 3); the random numbers of its training stay as they are."""
    with torch.random.fork_rng():
        found = probe(torch.from_numpy(matcher.represent(sentences.texts)), sentences)
    return {"sentlen": found["accuracy"]}


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


if __name__ == "__main__":
    run(main)
