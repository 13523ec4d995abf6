"""Jiang et al. 2022, Exposing Length Divergence Bias of Textual Matching Models."""

from __future__ import annotations

import itertools
from typing import Any

from studies.length_bias.recorded_runs import Runs
from studies.papers.row import RESULTS, Row, record

TITLE = "Length divergence bias (Jiang et al. 2022)"
DEFINITIONS = "tests/matching/test_length_divergence.py"
PAGE = "results/length_bias/report.md"
TABLE_2 = "python -m studies.length_bias.table2 --out results/length_bias --runs runs/length_bias --init runs/bert-tiny/model"
PROBE = "python -m studies.length_bias.probe --help"
DATA = {"qqp": "QQP", "twitter_url": "Twitter-URL", "trecqa": "TrecQA", "microblog": "Microblog"}
MODELS = {"matchpyramid": "MatchPyramid", "bimpm": "BiMPM", "esim": "ESIM", "bert-tiny": "BERT_TINY"}
# Sets without groups of texts by query; the others need the option of the audit.
GROUPS = {"trecqa": " --group qid", "microblog": " --group topic"}
ALL_PAIRS = "length_bias/all_pairs/cells"
TABLE_2_ALL = "python -m studies.length_bias.table2 --out results/length_bias/all_pairs --runs runs/all_pairs --own-sizes"
BUDGET = "at most 30,000 pairs and 6 epochs; both training sets of one size"


def rows() -> list[Row]:
    """The rows, in the order of the paper."""
    report = record("length_bias/report.json")
    all_pairs = Runs.load(RESULTS / ALL_PAIRS)
    smaller = f"{BUDGET}, where the paper's adversarial sets are smaller than its original ones"
    return [
        *_definitions(),
        *_figure_1(),
        *_table_2(report["drops"], "Table 2, drop", "is worse on the adversarial test", BUDGET),
        *_table_3(report, all_pairs),
        *_table_2(report["gains"], "Table 2, gain", "gains from adversarial training", smaller),
        *_all_pairs(report, all_pairs),
    ]


def _definitions() -> list[Row]:
    return [
        Row(
            "Eq. 1, 2",
            "relative length divergence of a pair",
            "formula",
            "remade",
            "equal to the formula",
            "",
            DEFINITIONS,
        ),
        Row(
            "Eq. 3, 4",
            "of a query and its documents",
            "formula",
            "remade",
            "equal to the formula",
            "with the paper's large number where it is undefined",
            DEFINITIONS,
        ),
        Row(
            "section 4.1",
            "adversarial sets: categories of one ratio; lists lose CAT4",
            "construction",
            "remade",
            "every category has the overall ratio",
            "`mobilebert debias`",
            "tests/matching/test_debias.py",
        ),
        Row(
            "Table 1",
            "pairs that length fools",
            "two examples",
            "in part",
            "the gap of recall over categories",
            "figures for all pairs instead of two examples",
            "results/length_bias/figure2.png",
            "python -m studies.length_bias.report --force",
        ),
    ]


def _figure_1() -> list[Row]:
    found = []
    for name, title in DATA.items():
        audit = record(f"length_bias/audit.{name}.json")
        ratios = [category["ratio"] for category in audit["categories"]]
        falls = all(a > b for a, b in itertools.pairwise(ratios))
        shown = " → ".join(f"{ratio:.2f}" for ratio in ratios)
        why = f"{audit['pairs']:,} training pairs" + (
            "" if falls else "; CAT2 is above CAT1, as in the paper's plot"
        )
        found.append(
            Row(
                "Figure 1",
                f"{title}: fewer positives with more divergence",
                "falls",
                "remade",
                shown,
                why,
                f"results/length_bias/audit.{name}.json",
                f"mobilebert audit ../shared/data/{name}/train.tsv{GROUPS.get(name, '')} --json audit.json",
            )
        )
    return found


def _shown(points: dict[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:+.2f}" for name, value in points.items())


def _table_2(moves: list[dict[str, Any]], item: str, claim: str, scale: str) -> list[Row]:
    """A row for each data set and model: the drop on the adversarial test, or the gain of training on it."""
    found = []
    for move in moves:
        if move["prefix"]:
            continue  # of TrecQA's clean dev set, which the paper does not have
        ours = move["ours"]
        found.append(
            Row(
                item,
                f"{DATA[move['data']]}, {MODELS[move['arch']]} {claim}",
                _shown(move["paper"]["points"]),
                "in part" if ours["holds"] else "contradicted",
                _shown(ours["points"]),
                f"{ours['seeds_agreeing']} of {ours['seeds']} seeds; {scale}",
                PAGE,
                TABLE_2,
            )
        )
    return found


def _all_pairs(report: dict[str, Any], runs: Runs) -> list[Row]:
    """Of what was trained on all pairs of both training sets: the gain, and length in the vectors meanwhile."""
    found = []
    untrained = {table["arch"]: table["untrained"] for table in report["table_3"] if table.get("untrained")}
    for move in report["gains"]:
        data, arch = move["data"], move["arch"]
        gain = runs.gain(data, arch)
        if move["prefix"] or gain is None:
            continue
        each = [runs.of(data, arch, train_set)[0] for train_set in ("original", "adversarial")]
        pairs, probes = [one["train_pairs"] for one in each], [_probes(one) for one in each]
        evidence = f"results/{ALL_PAIRS}/{data}.{arch}.adversarial.seed0.json"
        epochs = f"{each[0]['config']['epochs']:g}"
        shown = f"{TABLE_2_ALL} --data {data} --arch {arch} --epochs {epochs}"
        found.append(
            Row(
                "Table 2, gain",
                f"{DATA[data]}, {MODELS[arch]}, all pairs of both training sets",
                _shown(move["paper"]["points"]),
                "remade" if gain.holds_in_all else "in part" if gain.holds else "contradicted",
                _shown(dict(gain.points)),
                f"{pairs[0]:,} and {pairs[1]:,} pairs, at most {epochs} epochs; one seed",
                evidence,
                shown,
            )
        )
        if all(probes):
            curves = [", ".join(f"{100 * value:.1f}" for value in curve) for curve in probes]
            found.append(
                Row(
                    "Table 3",
                    f"{DATA[data]}, {MODELS[arch]}, all pairs: SentLen after each epoch",
                    "about 8 points above the untrained one",
                    "in part",
                    f"untrained {untrained[arch][data][0]:.1f}; {curves[0]}; adversarial set {curves[1]}",
                    "training on all pairs brings a part of the paper's rise",
                    evidence,
                    f"{shown} --probe CORPUS",
                )
            )
    return found


def _probes(run: dict[str, Any]) -> list[float]:
    """SentLen after each epoch of a run; empty where it was not probed."""
    return [epoch["sentlen"] for epoch in run["early_stopping"] if "sentlen" in epoch]


def _table_3(report: dict[str, Any], all_pairs: Runs) -> list[Row]:
    found = []
    longer = {arch: "; longer ones: all pairs, below" for arch in MODELS if all_pairs.gain("qqp", arch)}
    for table in report["table_3"]:
        theirs, trained, untrained = table["paper"], table.get("trained", {}), table.get("untrained", {})
        if not theirs or not trained:
            continue
        gains = [
            trained[name][0] - untrained[name][0] for name in DATA if name in trained and name in untrained
        ]
        printed = [theirs["trained"][name] - theirs["untrained"][name] for name in DATA]
        found.append(
            Row(
                "Table 3",
                f"{table['title']}: SentLen after training",
                f"{min(printed):+.1f} to {max(printed):+.1f} points",
                "in part",
                f"{min(gains):+.1f} to {max(gains):+.1f} points",
                "470 updates where the paper has up to 40 times as many" + longer.get(table["arch"], ""),
                PAGE,
                PROBE,
            )
        )
    bert = {t["representation"]: t for t in report["table_3"] if t["arch"] == "bert-tiny"}
    found.append(
        Row(
            "Table 3",
            "embeddings hold more length than [CLS]",
            "86.7 and 72.6",
            "remade",
            " and ".join(f"{bert[name]['untrained']['qqp'][0]:.1f}" for name in ("embeddings", "cls")),
            "BERT_TINY distilled from MiniLM on plain text: the published weights are in no package",
            PAGE,
            PROBE,
        )
    )
    return [
        *found,
        Row(
            "Figure 2",
            "true positive rate falls over the categories",
            "falls",
            "in part",
            "drawn beside the paper's",
            BUDGET,
            "results/length_bias/figure2.png",
            "python -m studies.length_bias.report --force",
        ),
        Row(
            "appendix",
            "trainable parameters",
            "52,962; 889,602; 1,694,810; 4,386,178",
            "remade",
            "; ".join(f"{_parameters(report, arch):,}" for arch in MODELS),
            "BiMPM: by the layers that the paper describes 627,802",
            PAGE,
            TABLE_2,
        ),
    ]


def _parameters(report: dict[str, Any], arch: str) -> int:
    return int(next(one for one in report["trainings"] if one["arch"] == arch)["trainable_parameters"][0])
