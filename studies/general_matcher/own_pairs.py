"""What 500 pairs of one's own bring: `ship` beside the untuned matcher and logistic regressions on MiniLM.

    python -m studies.general_matcher.own_pairs --out results/general_matcher/own_pairs.json

For each data set and seed, some pairs are drawn and measured on pairs of another split:

- untuned: the matcher as it is shipped, its decision fitted on the pairs as `mobilebert calibrate` does;
- cosine: a logistic regression on MiniLM's cosine;
- features: one on |u − v| and u · v of MiniLM's vectors, its penalty chosen by cross-validation;
- shipped: the matcher fine-tuned and calibrated as `mobilebert ship` does, in float: a fifth of the pairs
  chooses the epoch and fits the decision.

Of the last also the accuracy at 0.5 and at the threshold that is best on the fifth. The sets: CLINC150's 50
intents that nothing was trained on (the nearest utterance of the same intent, a near one of another), MNLI
(does the second sentence follow?; its test split, in two parts), and the train and dev splits of QQP and
MRPC, whose test splits are not read.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from typer import Option

from mobilebert_export.shipping.ship import ShipConfig, fine_tuned, parts_of
from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_split
from mobilebert_matching.evaluation.metrics import auc, expected_calibration_error
from mobilebert_matching.evaluation.score_calibration import fit_settings, fit_threshold, probabilities
from mobilebert_models import MatcherSettings
from mobilebert_runtime.files import write_json
from mobilebert_training.finetuning.matchers import build_matcher, load_matcher
from recipes.general_matchers.decision.pairs import near_intents
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.teachers import load_minilm, vectors
from recipes.general_matchers.texts import held_out_intents, rows
from studies.common.records import Json, read_json
from studies.common.script import Threads, console, run
from studies.general_matcher.evaluation_sets import spread
from studies.general_matcher.options import SHARED, Shared

TESTED = 1000  # pairs measured on, evenly spread
POOL = 4000  # pairs of a split that the user's pairs are drawn from
PENALTIES = np.logspace(-4, 2, 13)
Embed = Callable[[Sequence[str]], np.ndarray]


def main(
    out: Annotated[Path, Option(help="The record; what is in it already is not done again.")],
    model: Annotated[str, Option(help="Which embedding matcher.")] = "matcher-open-m",
    shared: Shared = SHARED,
    sets: Annotated[list[str] | None, Option(help="intents, mnli, qqp, mrpc (repeat for more).")] = None,
    pairs: Annotated[int, Option(min=50, help="Pairs of one's own.")] = 500,
    seeds: Annotated[int, Option(min=1, help="Seeds 0, 1, …")] = 2,
    threads: Threads = 1,
) -> None:
    """Fill in the record, cell by cell."""
    torch.set_num_threads(threads)
    record: Json = read_json(out) if out.is_file() else {"model": model, "pairs": pairs, "cells": {}}
    encode = load_minilm()

    def embed(texts: Sequence[str]) -> np.ndarray:
        return vectors(encode, texts)

    for name in sets or ("intents", "mnli", "qqp"):
        wanted = [seed for seed in range(seeds) if f"{name} seed {seed}" not in record["cells"]]
        if not wanted:
            continue
        pool, tested = read_set(shared / "data", name, embed)
        for seed in wanted:
            own = take(pool, np.random.default_rng(seed).permutation(len(pool.pairs))[:pairs])
            record["cells"][f"{name} seed {seed}"] = found = cell(model, own, tested, embed, threads)
            write_json(out, record)
            console().print(f"{name} seed {seed}: {found}")


def read_set(data: Path, name: str, embed: Embed) -> tuple[LabelledPairs, LabelledPairs]:
    """Pairs to draw from, and pairs to measure on, evenly spread."""
    if name == "intents":
        only = held_out_intents(data)

        def near(split: str, count: int) -> LabelledPairs:
            path = data / f"intents/clinc150/{split}.tsv"
            found = list(near_intents(path, name, embed, count, generator(f"own {split}"), only=only))
            return LabelledPairs([pair.texts for pair in found], np.array([pair.label for pair in found]))

        return near("train", POOL), near("dev", TESTED)
    if name == "mnli":
        found = rows(data / "glue/mnli-subset/test.tsv")  # of the other file the decision has learned
        whole = LabelledPairs(
            [(row["premise"], row["hypothesis"]) for row in found],
            np.array([int(row["label"] == "entailment") for row in found]),
        )
        return take(whole, np.arange(POOL)), take(whole, np.array(spread([*range(POOL, len(found))], TESTED)))
    folder, column = {"mrpc": ("glue/mrpc", "sentence"), "qqp": ("qqp", "question")}[name]
    parts = []
    for split, most in (("train", POOL), ("dev", TESTED)):
        found = spread(rows(data / folder / f"{split}.tsv"), most)
        texts = [(row[f"{column}1"], row[f"{column}2"]) for row in found]
        parts.append(LabelledPairs(texts, np.array([int(row["label"]) for row in found])))
    return parts[0], parts[1]


def take(whole: LabelledPairs, places: np.ndarray) -> LabelledPairs:
    """The pairs at some places."""
    return LabelledPairs([whole.pairs[int(place)] for place in places], whole.labels[places])


def cell(model: str, own: LabelledPairs, tested: LabelledPairs, embed: Embed, threads: int) -> Json:
    """Figures of the four, measured on `tested`."""
    found: Json = {"tested": len(tested.pairs), "same": round(float(tested.labels.mean()), 3)}
    matcher = build_matcher(model)
    settings = fit_settings(matcher.predict(own.pairs), own.labels, offset=True)
    untuned = probabilities(matcher.predict(tested.pairs), settings, tested.pairs)
    found["untuned"] = figures(tested.labels, untuned, settings.threshold)
    read = [embed([text for pair in part.pairs for text in pair]) for part in (own, tested)]
    cosines = [(one[0::2] * one[1::2]).sum(1, keepdims=True) for one in read]
    both = [np.hstack([np.abs(one[0::2] - one[1::2]), one[0::2] * one[1::2]]) for one in read]
    regression = LogisticRegression(C=1e6).fit(cosines[0], own.labels)
    found["cosine"] = figures(tested.labels, regression.predict_proba(cosines[1])[:, 1], 0.5)
    chosen = LogisticRegressionCV(Cs=PENALTIES, cv=5, scoring="neg_log_loss", max_iter=2000, l1_ratios=(0,))
    chosen.fit(both[0], own.labels)
    found["features"] = figures(tested.labels, chosen.predict_proba(both[1])[:, 1], 0.5)
    return found | shipped(model, own, tested, threads)


def shipped(model: str, own: LabelledPairs, tested: LabelledPairs, threads: int) -> Json:
    """What `mobilebert ship` makes of the pairs, before its export, and two other thresholds for it."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "own.jsonl"
        lines = ({"label": int(y), "text_a": a, "text_b": b} for (a, b), y in zip(*own, strict=True))
        file.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
        config = ShipConfig(file, Path(scratch) / "run", (model,), threads=threads)
        data = parts_of(config)
        directory = fine_tuned(model, config, data)
        settings, matcher = MatcherSettings.load(directory), load_matcher(directory)
        dev = read_split(data, "dev")
        said = (directory.parent / "length_bias.txt").read_text(encoding="utf-8").strip()
    scores = probabilities(matcher.predict(tested.pairs), settings, tested.pairs)
    best = fit_threshold(probabilities(matcher.predict(dev.pairs), settings, dev.pairs), dev.labels)
    accuracy = {
        name: round(float(((scores >= at) == tested.labels).mean()), 4)
        for name, at in (("accuracy_at_half", 0.5), ("accuracy_at_best_of_dev", best))
    }
    return {"shipped": figures(tested.labels, scores, settings.threshold) | accuracy | {"length_bias": said}}


def figures(labels: np.ndarray, scores: np.ndarray, threshold: float) -> Json:
    """AUC, accuracy at the threshold, expected calibration error."""
    found = {
        "auc": auc(labels, scores),
        "accuracy": float(((scores >= threshold) == labels).mean()),
        "ece": expected_calibration_error(labels, scores),
        "threshold": threshold,
    }
    return {name: round(float(value), 4) for name, value in found.items()}


if __name__ == "__main__":
    run(main)
