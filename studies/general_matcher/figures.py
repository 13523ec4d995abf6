"""The figures of an encoder on the sets of `evaluation_sets`, with 95% bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from mobilebert_matching.evaluation.metrics import bootstrap, expected_calibration_error
from mobilebert_matching.evaluation.score_calibration import fit_slope_and_offset
from recipes.general_matchers.minimal_pairs import DIFFERENT
from studies.general_matcher.evaluation_sets import PAIR_SETS

DRAWS = 1000
SIDES = ("left", "right")
CALIBRATED_ON = 500  # pairs
FOUND = 10  # stored texts that a search finds, as `Embedder.search` does where nobody says
CALIBRATION = {"qqp_test": "qqp_dev", "mrpc_test": "mrpc_dev", "twitter_url_test": "twitter_url_train"}

Figure = Callable[[np.ndarray, np.ndarray], float]  # of labels (N,) and values (N,)


def interval(count: int, figure: Callable[[np.ndarray], float]) -> list[float]:
    """A figure of all items and its 95% bootstrap interval; `figure` gets positions."""
    return [round(float(v), 4) for v in (figure(np.arange(count)), *bootstrap(figure, count))]


def auc(labels: np.ndarray, values: np.ndarray) -> float:
    """Area under the ROC curve by ranks."""
    ranks, positive = rankdata(values), labels > 0
    p = positive.sum()
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * (len(labels) - p)))


def spearman(labels: np.ndarray, values: np.ndarray) -> float:
    """Spearman's correlation."""
    return float(np.corrcoef(rankdata(labels), rankdata(values))[0, 1])


def best_threshold(labels: np.ndarray, values: np.ndarray) -> float:
    """The threshold of the highest accuracy on dev pairs."""
    order = np.argsort(values)
    right = np.concatenate([[labels.sum()], labels.sum() + np.cumsum(1 - 2 * labels[order])])
    at = int(np.argmax(right))
    ends = np.concatenate([[values[order[0]] - 1e-3], values[order], [values[order[-1]] + 1e-3]])
    return float((ends[at] + ends[at + 1]) / 2)


def calibrated(
    fitted_labels: np.ndarray, fitted: np.ndarray, values: np.ndarray, most: int = CALIBRATED_ON
) -> np.ndarray:
    """Probabilities (N,) of values after `mobilebert calibrate` on at most so many others: slope, offset."""
    part = np.linspace(0, len(fitted) - 1, min(most, len(fitted))).round().astype(int)
    slope, offset = fit_slope_and_offset(as_logits(fitted[part]), fitted_labels[part] > 0)
    return np.asarray(expit(slope * values + offset))


def as_logits(values: np.ndarray) -> np.ndarray:
    """Log-odds (N,) as logits (N, 2)."""
    return np.stack([np.zeros_like(values), values], 1)


def error_by_chance(probabilities: np.ndarray) -> list[float]:
    """ECE that true probabilities would show on as few pairs: its mean and its 95th percentile."""
    draw = np.random.default_rng(0)
    found = [
        expected_calibration_error(
            (draw.random(len(probabilities)) < probabilities).astype(int), probabilities
        )
        for _ in range(DRAWS)
    ]
    return [round(float(v), 4) for v in (np.mean(found), np.percentile(found, 95))]


def figures(
    sets: dict[str, dict[str, np.ndarray]],
    vectors: np.ndarray | None,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> dict[str, Any]:
    """All figures of one model.

    Args:
        sets: of `evaluation_sets.questions`.
        vectors: unit vectors of all texts, (N, H); without them there is no look-up.
        score: compares rows of left and right texts; default: by the vectors' cosine.
    """

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if score is not None:
            return score(left, right)
        assert vectors is not None, "a model compares by its vectors or by a score"
        return np.asarray((vectors[left] * vectors[right]).sum(1))

    out: dict[str, Any] = {}
    swapped = [compare(sets["mrpc_test"][b], sets["mrpc_test"][a]) for a, b in (SIDES, SIDES[::-1])]
    out["swap_largest_change"] = round(float(np.abs(swapped[0] - swapped[1]).max()), 6)
    scores = {n: compare(s["left"], s["right"]) for n, s in sets.items() if "left" in s}
    for name in PAIR_SETS:
        labels, values = sets[name]["label"], scores[name]
        figure = spearman if name.startswith("sts") else auc
        out[name] = interval(len(labels), partial(_on_rows, figure, labels, values))
    threshold = best_threshold(sets["qqp_dev"]["label"], scores["qqp_dev"])
    out["threshold_qqp_dev"] = round(threshold, 4)
    labels = sets["qqp_test"]["label"]
    out["qqp_test_accuracy"] = interval(
        len(labels), lambda i: float(((scores["qqp_test"][i] > threshold) == labels[i]).mean())
    )
    for name in ("qqp_test", "twitter_url_test"):
        noisy = sets[f"typos_{name}"]
        clean, wrong = scores[name][noisy["clean"]], scores[f"typos_{name}"]
        flips = (clean > threshold) != (wrong > threshold)
        out[f"typo_flips_{name}"] = interval(len(flips), partial(_mean_of, flips))
        right = [((v > threshold) == noisy["label"]).mean() for v in (clean, wrong)]
        out[f"typo_accuracy_{name}"] = [round(float(v), 4) for v in right]
        out[f"typo_auc_{name}"] = [round(auc(noisy["label"], v), 4) for v in (clean, wrong)]
        noisy = sets[f"typos_in_both_{name}"]
        clean, wrong = scores[name][noisy["clean"]], scores[f"typos_in_both_{name}"]
        right = [((v > threshold) == noisy["label"]).mean() for v in (clean, wrong)]
        out[f"typo_in_both_accuracy_{name}"] = [round(float(v), 4) for v in right]
    out["identical_lowest"] = round(float(scores["identical"].min()), 4)
    decided = threshold if score is None else 0.0
    out["identical_same"] = round(float((scores["identical"] >= decided).mean()), 4)
    for name, fitted in CALIBRATION.items():
        found = calibrated(sets[fitted]["label"], scores[fitted], scores[name])
        error = expected_calibration_error((sets[name]["label"] > 0).astype(int), found)
        out[f"calibrated_ece_{name}"] = round(error, 4)
        out[f"calibrated_ece_by_chance_{name}"] = error_by_chance(found)
    minimal, values = sets["minimal"], scores["minimal"]
    for number, kind in enumerate(minimal["kinds"]):
        own = minimal["kind"] == number
        hits = (values[own] > threshold) == (minimal["label"][own] > 0)
        out[f"minimal_{kind}"] = interval(len(hits), partial(_mean_of, hits))
    out["minimal_auc"] = round(auc(minimal["label"], values), 4)
    if score is not None:
        out |= as_shipped(scores["qqp_test"], sets["qqp_test"]["label"], values, minimal)
    if vectors is not None:
        out |= look_up(sets["clinc"], vectors)
        if score is not None:
            out |= ranked_look_up(sets["clinc"], vectors, score)
    return out


def as_shipped(
    qqp: np.ndarray, labels: np.ndarray, values: np.ndarray, minimal: dict[str, np.ndarray]
) -> dict[str, Any]:
    """What a decision gets right at its own threshold, log-odds of 0: QQP, and each kind of minimal pair.

    Args:
        qqp: scores of the test pairs.
        labels: theirs.
        values: scores of the minimal pairs.
        minimal: their set.
    """
    right = (qqp > 0) == labels
    out: dict[str, Any] = {"shipped_qqp_accuracy": interval(len(right), partial(_mean_of, right))}
    different = []
    for number, kind in enumerate(minimal["kinds"]):
        own = minimal["kind"] == number
        hits = (values[own] > 0) == (minimal["label"][own] > 0)
        out[f"shipped_minimal_{kind}"] = interval(len(hits), partial(_mean_of, hits))
        if kind in DIFFERENT:
            different.append(float(hits.mean()))
    return out | {"shipped_minimal_different": round(float(np.mean(different)), 4)}


def ranked_look_up(
    clinc: dict[str, np.ndarray], vectors: np.ndarray, score: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> dict[str, Any]:
    """Right intent first and in five where the `FOUND` nearest by the vectors are ordered by the score."""
    right = ranked(clinc["asked"], clinc["stored"], vectors, score, FOUND)
    same = clinc["stored_intent"][right] == clinc["intent"][:, None]
    return _first_and_in_five("clinc_ranked", same)


def ranked(
    asked: np.ndarray,
    stored: np.ndarray,
    vectors: np.ndarray,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray],
    count: int,
) -> np.ndarray:
    """Search, then rank: of each asked text the `count` nearest stored ones, ordered by the score.

    Args:
        asked: positions of texts, (Q,).
        stored: positions of texts, (S,).
        vectors: unit vectors of all texts, (N, H).
        score: of pairs of positions, left and right.
        count: how many are found for each.

    Returns:
        Places in `stored`, (Q, count), the highest score first.
    """
    near = nearest(vectors[asked], vectors[stored], count)
    scores = score(np.repeat(asked, count), stored[near].ravel()).reshape(near.shape)
    return np.take_along_axis(near, np.argsort(-scores, axis=1, kind="stable"), 1)


def nearest(asked: np.ndarray, stored: np.ndarray, count: int) -> np.ndarray:
    """Places (Q, count) of the stored unit vectors (S, H) nearest to each asked one (Q, H), nearest first."""
    return np.argsort(-(asked @ stored.T), axis=1)[:, :count]


def look_up(clinc: dict[str, np.ndarray], vectors: np.ndarray) -> dict[str, Any]:
    """Right intent first and in five among the stored texts of 50 intents; texts out of scope told apart."""
    similar = vectors[clinc["asked"]] @ vectors[clinc["stored"]].T
    order = np.argsort(-similar, axis=1)[:, :5]
    right = clinc["stored_intent"][order] == clinc["intent"][:, None]
    outside = (vectors[clinc["outside"]] @ vectors[clinc["stored"]].T).max(1)
    values = np.concatenate([similar.max(1), outside])
    inside = np.concatenate([np.ones(len(similar)), np.zeros(len(outside))])
    return _first_and_in_five("clinc", right) | {
        "clinc_out_of_scope_auc": interval(len(values), lambda i: auc(inside[i], values[i])),
    }


def _first_and_in_five(name: str, right: np.ndarray) -> dict[str, Any]:
    """How often the first is right, and one of the first five: (Q, 5 or more) of whether each is."""
    return {
        f"{name}_first": interval(len(right), lambda i: float(right[i, 0].mean())),
        f"{name}_in_five": interval(len(right), lambda i: float(right[i, :5].any(1).mean())),
    }


def _mean_of(values: np.ndarray, rows: np.ndarray) -> float:
    return float(values[rows].mean())


def _on_rows(figure: Figure, labels: np.ndarray, values: np.ndarray, rows: np.ndarray) -> float:
    return figure(labels[rows], values[rows])
