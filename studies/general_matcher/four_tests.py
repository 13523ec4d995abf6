"""Artefacts on the four known test sets and the held-out look-up, as they decide, beside each other.

Opens the test splits: every choice comes before. A model with a decision is judged by it at its own
threshold, an encoder by its vectors' cosine, at the threshold that is best on the set itself.

    python -m studies.general_matcher.four_tests minilm=DIR old=DIR new=DIR --against old --out F.json

`auc` (Spearman's correlation for STS-B); `accuracy` at the threshold and `best` at the best of all; `recall`
of label 1 in the length-divergence categories, cut at the set's own quartiles, and `gap`, that of CAT1 less
that of CAT4; `first`, how often the right intent is first in a look-up by the vectors, and `ranked`, once the
decision has ordered the ten found. Intervals are 95% bootstraps over pairs or queries; `less` is the paired
difference to another model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from mobilebert_matching.evaluation.bias_measures import tpr_gap
from mobilebert_matching.evaluation.metrics import true_positive_rate
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_runtime.card import read_card
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import file_sha256, write_json
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair
from recipes.general_matchers.decision.thresholds import best_accuracy
from recipes.general_matchers.texts import rows
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.evaluate import shipped_log_odds
from studies.general_matcher.evaluation_sets import PAIR_SETS, Texts, look_up_set
from studies.general_matcher.figures import auc, best_threshold, interval, look_up, ranked_look_up, spearman
from studies.general_matcher.options import SHARED, Shared

TESTS = ("qqp_test", "twitter_url_test", "mrpc_test", "sts_b_test")


def main(
    models: Annotated[list[str], Argument(help="NAME=ARTEFACT of each.")],
    out: Annotated[Path, Option(help="The record.")],
    against: Annotated[str | None, Option(help="Name of the model that others are compared with.")] = None,
    shared: Shared = SHARED,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of every artefact named."""
    check_outputs(out, force=force)
    folders = dict(entry.split("=", 1) for entry in models if "=" in entry)
    if len(folders) < len(models) or against not in (None, *folders):
        raise OptionError("expected NAME=ARTEFACT of each model, and one of these names in --against")
    texts = Texts()
    clinc = look_up_set(texts, shared / "data")
    sets = {name: read_pairs(shared / "data", name) for name in TESTS}
    record: dict[str, Any] = {}
    scores: dict[str, dict[str, np.ndarray]] = {}
    for name, folder in folders.items():
        console().print(name)
        compare = opened(Path(folder), threads)
        scores[name] = {test: compare(pairs) for test, (pairs, _) in sets.items()}
        decides = Matcher.reads(read_card(Path(folder)))
        figures: dict[str, Any] = {
            test: set_figures(test, *sets[test], values, at_zero=decides)
            for test, values in scores[name].items()
        }
        digest = file_sha256(next(Path(folder).glob("model.*")))
        record[name] = {
            "sha256": digest,
            **figures,
            "look_up": found_intents(Path(folder), texts, clinc, threads),
        }
    for name in folders:
        if against is not None and name != against:
            record[name]["less"] = {
                against: {
                    test: paired(test, labels, scores[name][test], scores[against][test])
                    for test, (_, labels) in sets.items()
                }
            }
    write_json(out, record)


def read_pairs(data: Path, name: str) -> tuple[list[Pair], np.ndarray]:
    """Pairs and labels of a test set; STS-B's are scores."""
    file, column, label = PAIR_SETS[name]
    found = rows(data / file)
    return [(row[column + "1"], row[column + "2"]) for row in found], np.array(
        [float(row[label]) for row in found]
    )


def opened(folder: Path, threads: int) -> Callable[[list[Pair]], np.ndarray]:
    """Pairs → scores (N,): an artefact's decision, log-odds whose 0 is its threshold, or its cosine."""
    if Matcher.reads(read_card(folder)):
        return partial(shipped_log_odds, Matcher.load(folder, threads))
    embedder = Embedder.load(folder, threads)

    def cosine(pairs: list[Pair]) -> np.ndarray:
        known = Texts()
        places = known.add([text for pair in pairs for text in pair]).reshape(-1, 2)
        vectors = embedder.embed(list(known.index))
        return np.asarray((vectors[places[:, 0]] * vectors[places[:, 1]]).sum(1))

    return cosine


def set_figures(
    name: str, pairs: list[Pair], labels: np.ndarray, values: np.ndarray, *, at_zero: bool
) -> dict[str, Any]:
    """Of one set; STS-B has a correlation alone."""
    if name.startswith("sts"):
        return {"spearman": interval(len(labels), lambda i: spearman(labels[i], values[i]))}
    best = best_threshold(labels, values)
    hits = values >= (0.0 if at_zero else best)
    category = LengthPrior.fit(pairs, labels).category(pairs)
    rates = true_positive_rate(labels, hits.astype(int), category)
    gap = tpr_gap(labels, hits.astype(int), category)
    return {
        "auc": interval(len(labels), lambda i: auc(labels[i], values[i])),
        "accuracy": interval(len(labels), lambda i: float((hits == labels)[i].mean())),
        "best": round(best_accuracy(values, labels.astype(int)), 4),
        "recall": [round(float(rates[k].value or 0.0), 4) for k in (1, 2, 3, 4)],
        "gap": [None if v is None else round(v, 4) for v in (gap.value or 0.0, gap.low, gap.high)],
    }


def paired(name: str, labels: np.ndarray, values: np.ndarray, others: np.ndarray) -> list[float]:
    """AUC (STS-B: correlation) of the scores less that of the others, with its interval over pairs."""
    figure = spearman if name.startswith("sts") else auc
    return interval(len(labels), lambda i: figure(labels[i], values[i]) - figure(labels[i], others[i]))


def found_intents(folder: Path, texts: Texts, clinc: dict[str, np.ndarray], threads: int) -> dict[str, Any]:
    """How often the right intent is first: by the vectors, and after a decision has ordered the ten found."""
    known = list(texts.index)
    vectors = Embedder.load(folder, threads).embed(known)
    found = {"first": look_up(clinc, vectors)["clinc_first"]}
    if not Matcher.reads(read_card(folder)):
        return found
    compare = opened(folder, threads)

    def score(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return compare([(known[a], known[b]) for a, b in zip(left, right, strict=True)])

    return found | {"ranked": ranked_look_up(clinc, vectors, score)["clinc_ranked_first"]}


if __name__ == "__main__":
    run(main)
