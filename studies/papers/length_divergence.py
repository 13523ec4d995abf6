"""Jiang et al. 2022, Exposing Length Divergence Bias of Textual Matching Models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from studies.length_bias.published import METRICS, TABLE_2, Printed
from studies.length_bias.recorded_runs import PREFIXES, Runs
from studies.papers.row import RESULTS, Row, State, record

TITLE = "Length divergence bias (Jiang et al. 2022)"
DEFINITIONS = "tests/matching/test_length_divergence.py"
PAGE = "results/length_bias/report.md"
TABLE_2_COMMAND = "python -m studies.length_bias.table2 --out results/length_bias --runs runs/length_bias --init runs/bert-tiny/model"
CORPORA = [
    f"../shared/corpora/{name}.txt.xz"
    for name in ("wiki-core-lead7k", "wiki-longtail-lead", "gutenberg-slices")
]
PROBE = (
    f"python -m studies.length_bias.probe bimpm esim runs/bert-tiny/model minilm --runs runs/length_bias "
    f"{' '.join(f'--corpus {corpus}' for corpus in CORPORA)} --json results/length_bias/probing.json --threads 1"
)
DATA = {"qqp": "QQP", "twitter_url": "Twitter-URL", "trecqa": "TrecQA", "microblog": "Microblog"}
MODELS = {"matchpyramid": "MatchPyramid", "bimpm": "BiMPM", "esim": "ESIM", "bert-tiny": "BERT_TINY"}
# Sets without groups of texts by query; the others need the option of the audit.
GROUPS = {"trecqa": " --group qid", "microblog": " --group topic"}
CELLS = "length_bias/cells"
ALL_PAIRS = "length_bias/all_pairs/cells"
TABLE_2_ALL = "python -m studies.length_bias.table2 --out results/length_bias/all_pairs --runs runs/all_pairs --own-sizes"


def rows() -> list[Row]:
    """The rows, in the order of the paper."""
    report = record("length_bias/report.json")
    runs, all_pairs = (Runs.load(RESULTS / folder) for folder in (CELLS, ALL_PAIRS))
    return [
        *_definitions(),
        *_figure_1(),
        *_table_2_claims(report, runs),
        *_table_2(runs, "drop", _drop),
        *_table_3(report, runs, all_pairs),
        *_figure_2(runs),
        _parameters(report),
        *_table_2(runs, "gain", _gain),
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
    ]


def _figure_1() -> list[Row]:
    found = []
    for name, title in DATA.items():
        audit = record(f"length_bias/audit.{name}.json")
        ratios = [category["ratio"] for category in audit["categories"]]
        falls = all(a > b for a, b in itertools.pairwise(ratios))
        shown = " → ".join(f"{ratio:.2f}" for ratio in ratios)
        why = f"{audit['pairs']:,} training pairs" + (
            "" if falls else "; a seventh of the paper's pairs; CAT2 is above CAT1"
        )
        found.append(
            Row(
                "Figure 1",
                f"{title}: fewer positives with more divergence",
                "falls",
                "remade" if falls else "in part",
                shown,
                why,
                f"results/length_bias/audit.{name}.json",
                f"mobilebert audit ../shared/data/{name}/train.tsv{GROUPS.get(name, '')} --json audit.json",
            )
        )
    return found


class Move(NamedTuple):
    """How a metric moves, in points: in the paper, here, and how much of it the test's interval leaves open."""

    metric: str
    theirs: float
    ours: float
    open: float


def _moves(runs: Runs, data: str, arch: str, prefix: str, kind: Kind) -> list[Move]:
    """Of every metric of a data set; [] where a run is missing."""
    moves = []
    for metric in METRICS[data]:
        for theirs, above, below in kind(TABLE_2[data, metric][arch]):
            figures = [
                runs.figure(data, arch, train, prefix + test, metric) for train, test in (above, below)
            ]
            high, low = figures
            if high is None or low is None:
                return []
            half = max((figure.high - figure.low) / 2 for figure in (high, low))
            moves.append(Move(metric, theirs, high.mean - low.mean, half))
    return moves


# What is compared: of the printed row, the points and the two (training set, test) whose difference they are.
Kind = Callable[[Printed], list[tuple[float, tuple[str, str], tuple[str, str]]]]


def _drop(printed: Printed) -> list[tuple[float, tuple[str, str], tuple[str, str]]]:
    return [(printed.original - printed.adversarial, ("original", "original"), ("original", "adversarial"))]


def _gain(printed: Printed) -> list[tuple[float, tuple[str, str], tuple[str, str]]]:
    return [
        (points, ("adversarial", test), ("original", test))
        for points, test in ((printed.adversarial_gain, "adversarial"), (printed.original_gain, "original"))
    ]


CLAIMS = {
    "drop": "worse on the adversarial test by",
    "gain": "adversarial training wins, adversarial test / original",
}


def _table_2(runs: Runs, name: str, kind: Kind) -> list[Row]:
    """A row for each data set, its second test and each model."""
    found = []
    for prefix, sets in PREFIXES.items():
        for data in sets:
            for arch, model in MODELS.items():
                moves = _moves(runs, data, arch, prefix, kind)
                seeds = runs.of(data, arch, "original")
                title = DATA[data] + (", clean dev" if prefix else "")
                why = f"{_scale(seeds[0])}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}; {_open(moves)}"
                found.append(
                    Row(
                        f"Table 2, {name}",
                        f"{title}, {model}: {CLAIMS[name]}",
                        _shown(moves, "theirs"),
                        _state(moves),
                        _shown(moves, "ours"),
                        why,
                        PAGE,
                        TABLE_2_COMMAND,
                    )
                )
    return found


def _state(moves: list[Move]) -> State:
    """In part: some metric moves as in the paper by more than is left open; contradicted: only others do."""
    told = [move.ours * move.theirs > 0 for move in moves if abs(move.ours) >= move.open]
    return "undecided" if not told else "in part" if any(told) else "contradicted"


def _shown(moves: list[Move], side: str) -> str:
    """Points by metric: `accuracy +1.33, f1 macro …`; of a gain on both tests: `accuracy +0.41 / −0.70`."""
    points: dict[str, list[str]] = {}
    for move in moves:
        points.setdefault(move.metric.replace("_", " "), []).append(f"{getattr(move, side):+.2f}")
    return ", ".join(f"{metric} {' / '.join(values)}" for metric, values in points.items()).replace("-", "−")


def _open(moves: list[Move]) -> str:
    return f"the test leaves ±{max(move.open for move in moves):.1f} open"


def _scale(run: dict[str, Any]) -> str:
    return f"{run['train_pairs']:,} pairs, at most {run['config']['epochs']:g} epochs"


def _table_2_claims(report: dict[str, Any], runs: Runs) -> list[Row]:
    """What the paper says about the table as a whole."""
    held = {
        name: [move["ours"]["holds"] for move in report[name] if not move["prefix"]]
        for name in ("drops", "gains")
    }
    first = {
        arch: next(
            row["ours"]["original"]
            for row in report["table_2"]
            if (row["data"], row["metric"], row["arch"], row["prefix"]) == ("qqp", "accuracy", arch, "")
        )
        for arch in MODELS
    }
    accuracy = {arch: row["original"]["mean"] for arch, row in first.items()}
    lost = {arch: row["original"]["mean"] - row["adversarial"]["mean"] for arch, row in first.items()}

    def each(values: dict[str, float]) -> str:
        return ", ".join(f"{MODELS[arch]} {value:.1f}" for arch, value in values.items())

    capped = "at most 30,000 pairs of a training set; both training sets of one size"
    told = {
        name: sum(
            any(abs(move.theirs) >= move.open for move in _moves(runs, data, arch, "", kind))
            for data, arch in itertools.product(DATA, MODELS)
        )
        for name, kind in (("drop", _drop), ("gain", _gain))
    }
    rows: list[tuple[str, str, State, str]] = [
        (
            "its moves are more than chance",
            "prints no intervals",
            "undecided",
            f"larger than the interval of a test of this size: its drops in {told['drop']} of 16, its gains in {told['gain']} of 16",
        ),
        ("a drop in 14 of 16 combinations", "14", "remade", f"{sum(held['drops'])} of 16"),
        ("a gain on the adversarial test in 15 of 16", "15", "contradicted", f"{sum(held['gains'])} of 16"),
        ("MatchPyramid drops most (QQP accuracy)", "1.52, .61, .77, .94", "contradicted", each(lost)),
        ("BERT_TINY is best (QQP accuracy)", "83.51, then ESIM 82.15", "contradicted", each(accuracy)),
    ]
    return [
        Row("section 4.2, Table 2", claim, theirs, state, ours, capped, PAGE, TABLE_2_COMMAND)
        for claim, theirs, state, ours in rows
    ]


def _figure_2(runs: Runs) -> list[Row]:
    found = []
    for arch, title in MODELS.items():
        run = runs.of("qqp", arch, "original")[0]
        rates = [100 * category["value"] for category in run["tests"]["adversarial"]["tpr"]]
        found.append(
            Row(
                "Figure 2, Table 1",
                f"{title}: the true positive rate falls over the categories, QQP",
                "falls",
                "in part" if all(a > b for a, b in itertools.pairwise(rates)) else "contradicted",
                " → ".join(f"{rate:.0f}" for rate in rates),
                f"{_scale(run)}, seed 0, adversarial test",
                "results/length_bias/figure2.png",
                "python -m studies.length_bias.report --force",
            )
        )
    return found


def _all_pairs(report: dict[str, Any], runs: Runs) -> list[Row]:
    """Of what was trained on all pairs of both training sets: the gain, and length in the vectors meanwhile."""
    found = []
    untrained = {table["arch"]: table["untrained"] for table in report["table_3"] if table.get("untrained")}
    paper = {table["arch"]: table["paper"] for table in report["table_3"] if table["paper"]}
    for data, arch in itertools.product(DATA, MODELS):
        moves = _moves(runs, data, arch, "", _gain)
        if not moves:
            continue
        each = [runs.of(data, arch, train_set)[0] for train_set in ("original", "adversarial")]
        pairs, probes = [one["train_pairs"] for one in each], [_probes(one) for one in each]
        evidence = f"results/{ALL_PAIRS}/{data}.{arch}.adversarial.seed0.json"
        epochs = f"{each[0]['config']['epochs']:g}"
        shown = f"{TABLE_2_ALL} --data {data} --arch {arch} --epochs {epochs}"
        start = each[0]["init"]
        found.append(
            Row(
                "Table 2, gain",
                f"{DATA[data]}, {MODELS[arch]}, all pairs: {CLAIMS['gain']}",
                _shown(moves, "theirs"),
                _state(moves),
                _shown(moves, "ours"),
                f"{pairs[0]:,} and {pairs[1]:,} pairs, at most {epochs} epochs, one seed; {_open(moves)}"
                + (f"; {start}" if start else ""),
                evidence,
                f"{shown} --init runs/bert-tiny-pretrained/model" if start else shown,
            )
        )
        if all(probes):
            printed = paper[arch]
            curves = [", ".join(f"{100 * value:.1f}" for value in curve) for curve in probes]
            found.append(
                Row(
                    "Table 3",
                    f"{DATA[data]}, {MODELS[arch]}, all pairs: SentLen after each epoch",
                    f"{printed['trained'][data] - printed['untrained'][data]:+.1f} points",
                    "in part",
                    f"untrained {untrained[arch][data][0]:.1f}; {curves[0]}; adversarial set {curves[1]}",
                    "training on all pairs brings a part of the paper's rise",
                    evidence,
                    f"{shown} {' '.join(f'--probe {corpus}' for corpus in CORPORA)}",
                )
            )
    return found


def _probes(run: dict[str, Any]) -> list[float]:
    """SentLen after each epoch of a run; empty where it was not probed."""
    return [epoch["sentlen"] for epoch in run["early_stopping"] if "sentlen" in epoch]


def _table_3(report: dict[str, Any], runs: Runs, all_pairs: Runs) -> list[Row]:
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
                f"{_scale(runs.of('qqp', table['arch'], 'original')[0])}" + longer.get(table["arch"], ""),
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
    return found


def _parameters(report: dict[str, Any]) -> Row:
    ours = {
        arch: int(next(one for one in report["trainings"] if one["arch"] == arch)["trainable_parameters"][0])
        for arch in MODELS
    }
    return Row(
        "appendix",
        "trainable parameters of the four",
        "52,962; 889,602; 1,694,810; 4,386,178",
        "in part",
        "; ".join(f"{count:,}" for count in ours.values()),
        "three of four; BiMPM by the layers that the paper describes",
        PAGE,
        TABLE_2_COMMAND,
    )
