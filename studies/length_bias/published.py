"""The numbers of Jiang et al. 2022, "Exposing Length Divergence Bias of Textual Matching Models", as printed.

Table 2 (Section 4.2 and 5), Table 3 (Section 4.3) and the parameter counts of the appendix. Everything is in
per cent. The figures have no printed numbers.
"""

from __future__ import annotations

from typing import NamedTuple

DATA = {"qqp": "QQP", "twitter_url": "Twitter-URL", "trecqa": "TrecQA", "microblog": "Microblog"}
ARCHITECTURES = {"matchpyramid": "MatchPyramid", "bimpm": "BiMPM", "esim": "ESIM", "bert-tiny": "BERT_TINY"}
# Our name of each metric → the paper's, by data set, in the order of Table 2.
METRICS = {
    "qqp": {"accuracy": "Acc", "balanced_accuracy": "BA"},
    "twitter_url": {"f1_macro": "macro-F1", "f1_micro": "micro-F1"},
    "trecqa": {"map": "MAP", "mrr": "MRR"},
    "microblog": {"map": "MAP"},
}


class Printed(NamedTuple):
    """One metric of one model in Table 2: trained on the original set, and the gain in parentheses."""

    original: float  # on the original test set
    original_gain: float  # of training on the adversarial set instead
    adversarial: float  # on the adversarial test set
    adversarial_gain: float


def _row(*cells: tuple[float, float, float, float]) -> dict[str, Printed]:
    return {arch: Printed(*cell) for arch, cell in zip(ARCHITECTURES, cells, strict=True)}


# (data set, metric) → architecture → numbers.
TABLE_2: dict[tuple[str, str], dict[str, Printed]] = {
    ("qqp", "accuracy"): _row(
        (70.18, 6.29, 68.66, 7.31),
        (81.52, -0.08, 80.91, 0.15),
        (82.15, -0.50, 81.38, -0.15),
        (83.51, 1.34, 82.57, 1.67),
    ),
    ("qqp", "balanced_accuracy"): _row(
        (66.00, 8.41, 64.60, 9.44),
        (79.43, 0.63, 78.97, 0.81),
        (80.62, -1.23, 80.01, -0.96),
        (84.46, 0.77, 83.65, 1.04),
    ),
    ("twitter_url", "f1_macro"): _row(
        (72.28, 0.36, 71.72, 0.38),
        (77.94, 0.20, 77.63, 0.17),
        (76.42, 0.90, 75.91, 1.21),
        (80.30, 0.49, 80.10, 0.55),
    ),
    ("twitter_url", "f1_micro"): _row(
        (84.23, -0.26, 83.99, -0.25),
        (85.50, 0.12, 85.33, 0.08),
        (86.58, -0.46, 86.33, -0.32),
        (85.26, 0.50, 85.12, 0.54),
    ),
    ("trecqa", "map"): _row(
        (60.22, 6.18, 57.88, 8.20),
        (88.75, 2.24, 91.64, 2.10),
        (76.84, 7.18, 77.74, 8.26),
        (87.22, 1.31, 89.61, 0.35),
    ),
    ("trecqa", "mrr"): _row(
        (48.42, 3.31, 47.27, 5.95),
        (67.27, 0.07, 67.56, 0.13),
        (63.74, -0.46, 60.99, 3.06),
        (67.76, -0.59, 65.75, 0.12),
    ),
    ("microblog", "map"): _row(
        (18.93, 0.23, 15.75, 0.65),
        (26.44, 15.06, 25.30, 12.13),
        (14.54, 22.61, 17.84, 12.01),
        (47.11, 2.79, 38.15, 1.76),
    ),
}

# What the paper says in words: "14 out of total 16 combinations" drop, and adversarial training improves all
# "except for one combination (ESIM on QQP)". Its own table gives these two counts when a combination counts
# as soon as one of its metrics shows the direction, gains being those on the adversarial test set.
DROPS, GAINS, COMBINATIONS = 14, 15, 16


class Probe(NamedTuple):
    """A pair of rows of Table 3: SentLen accuracy before training, and after training on each data set."""

    title: str
    untrained: dict[str, float]
    trained: dict[str, float]


def _by_data(*values: float) -> dict[str, float]:
    return dict(zip(DATA, values, strict=True))


# (architecture, representation) → numbers. The paper's BERT rows have one number before fine-tuning.
TABLE_3: dict[tuple[str, str], Probe] = {
    ("bimpm", "bilstm_max"): Probe(
        "BiMPM, BiLSTM-max", _by_data(56.18, 54.47, 56.23, 57.03), _by_data(63.85, 64.66, 57.35, 57.64)
    ),
    ("esim", "bilstm_max"): Probe(
        "ESIM, BiLSTM-max", _by_data(58.28, 56.99, 55.81, 56.89), _by_data(65.83, 65.43, 66.59, 66.06)
    ),
    ("bert-tiny", "embeddings"): Probe(
        "BERT embeddings", _by_data(86.7, 86.7, 86.7, 86.7), _by_data(86.68, 86.31, 86.31, 86.38)
    ),
    ("bert-tiny", "cls"): Probe(
        "BERT [CLS]", _by_data(72.63, 72.63, 72.63, 72.63), _by_data(70.66, 72.10, 81.33, 75.08)
    ),
}

# Trainable parameters (appendix).
PARAMETERS = {"matchpyramid": 52_962, "bimpm": 889_602, "esim": 1_694_810, "bert-tiny": 4_386_178}
