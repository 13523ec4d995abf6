"""Jiang et al. 2022, Exposing Length Divergence Bias of Textual Matching Models."""

from __future__ import annotations

import itertools
from typing import Any

from studies.papers.row import Row, record

TITLE = "Length divergence bias (Jiang et al. 2022)"
DEFINITIONS = "tests/matching/test_length_divergence.py"
PAGE = "results/length_bias/report.md"
TABLE_2 = "python -m studies.length_bias.table2 --out results/length_bias --runs runs/length_bias --init runs/bert-tiny/model"
PROBE = "python -m studies.length_bias.probe --help"
DATA = {"qqp": "QQP", "twitter_url": "Twitter-URL", "trecqa": "TrecQA", "microblog": "Microblog"}
MODELS = {"matchpyramid": "MatchPyramid", "bimpm": "BiMPM", "esim": "ESIM", "bert-tiny": "BERT_TINY"}
# Sets without groups of texts by query; the others need the option of the audit.
GROUPS = {"trecqa": " --group qid", "microblog": " --group topic"}
BUDGET = "at most 30,000 pairs and 6 epochs; both training sets of one size"


def rows() -> list[Row]:
    """The rows, in the order of the paper."""
    report = record("length_bias/report.json")
    smaller = f"{BUDGET}, where the paper's adversarial sets are smaller than its original ones"
    return [
        *_definitions(),
        *_figure_1(),
        *_table_2(report["drops"], "Table 2, drop", "is worse on the adversarial test", BUDGET),
        *_table_3(report),
        *_table_2(report["gains"], "Table 2, gain", "gains from adversarial training", smaller),
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


def _table_3(report: dict[str, Any]) -> list[Row]:
    found = []
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
                "470 updates where the paper has up to 40 times as many; a longer training has not been probed",
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
