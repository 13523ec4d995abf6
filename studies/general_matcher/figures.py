"""The figures of an encoder on the sets of `evaluation_sets`, with 95% bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from matching.evaluation.metrics import expected_calibration_error
from studies.general_matcher.evaluation_sets import PAIR_SETS

DRAWS = 1000
SIDES = ("left", "right")
CALIBRATED_ON = 500  # pairs

Figure = Callable[[np.ndarray, np.ndarray], float]  # of labels (N,) and values (N,)


def interval(count: int, figure: Callable[[np.ndarray], float], draws: int = DRAWS) -> list[float]:
    """A figure of all items and its 95% bootstrap interval; `figure` gets positions."""
    random_ = np.random.default_rng(0)
    found = [figure(random_.integers(0, count, count)) for _ in range(draws)]
    return [round(float(v), 4) for v in (figure(np.arange(count)), *np.percentile(found, [2.5, 97.5]))]


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


def calibrated_error(
    fitted_labels: np.ndarray, fitted: np.ndarray, labels: np.ndarray, values: np.ndarray
) -> float:
    """Expected calibration error after slope and offset were fitted on 500 other pairs (Platt scaling)."""
    part = slice(None, None, max(1, len(fitted) // CALIBRATED_ON))
    model = LogisticRegression(C=1e6).fit(fitted[part, None], fitted_labels[part] > 0)
    found = model.predict_proba(values[:, None])[:, 1]
    return expected_calibration_error((labels > 0).astype(int), found)


def figures(
    sets: dict[str, dict[str, np.ndarray]],
    vectors: np.ndarray,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> dict[str, Any]:
    """All figures of one model; `score` compares rows of left and right texts, the cosine without."""

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return (vectors[left] * vectors[right]).sum(1) if score is None else score(left, right)

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
    out["identical_lowest"] = round(float(scores["identical"].min()), 4)
    decided = threshold if score is None else 0.0
    out["identical_same"] = round(float((scores["identical"] >= decided).mean()), 4)
    for name, fitted in (("qqp_test", "qqp_dev"), ("mrpc_test", "mrpc_dev"), ("twitter_url_test", None)):
        labels, values = sets[name]["label"], scores[name]
        mine = (sets[fitted]["label"], scores[fitted]) if fitted else (labels[::2], values[::2])
        rest = slice(None) if fitted else slice(1, None, 2)
        out[f"ece_{name}"] = round(calibrated_error(*mine, labels[rest], values[rest]), 4)
    minimal, values = sets["minimal"], scores["minimal"]
    for number, kind in enumerate(minimal["kinds"]):
        own = minimal["kind"] == number
        hits = (values[own] > threshold) == (minimal["label"][own] > 0)
        out[f"minimal_{kind}"] = interval(len(hits), partial(_mean_of, hits))
    out["minimal_auc"] = round(auc(minimal["label"], values), 4)
    return out | look_up(sets["clinc"], vectors)


def look_up(clinc: dict[str, np.ndarray], vectors: np.ndarray) -> dict[str, Any]:
    """Right intent first and in five among the stored texts of 50 intents; texts out of scope told apart."""
    similar = vectors[clinc["asked"]] @ vectors[clinc["stored"]].T
    order = np.argsort(-similar, axis=1)[:, :5]
    right = clinc["stored_intent"][order] == clinc["intent"][:, None]
    outside = (vectors[clinc["outside"]] @ vectors[clinc["stored"]].T).max(1)
    values = np.concatenate([similar.max(1), outside])
    inside = np.concatenate([np.ones(len(similar)), np.zeros(len(outside))])
    return {
        "clinc_first": interval(len(right), lambda i: float(right[i, 0].mean())),
        "clinc_in_five": interval(len(right), lambda i: float(right[i].any(1).mean())),
        "clinc_out_of_scope_auc": interval(len(values), lambda i: auc(inside[i], values[i])),
    }


def _mean_of(values: np.ndarray, rows: np.ndarray) -> float:
    return float(values[rows].mean())


def _on_rows(figure: Figure, labels: np.ndarray, values: np.ndarray, rows: np.ndarray) -> float:
    return figure(labels[rows], values[rows])
