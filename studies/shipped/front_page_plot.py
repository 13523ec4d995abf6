"""The plot of README.md: quality on five kinds of text against time and file size.

python -m studies.shipped.front_page_plot     (in the project's root; writes results/front_page/front-page.*)

Everything drawn comes from two records beside it: `quality.json` of `studies.general_matcher.evaluate`, and
`speed.json` of `mobilebert bench`, one interleaved run of 128 tokens on one thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Option

from mobilebert_runtime.files import write_json
from studies.common.records import read_json
from studies.common.script import run

OPEN, QUORA, OTHERS = "#2f6690", "#6a994e", "#c8553d"
FOLDER = Path("results/front_page")


class Mark(NamedTuple):
    """One mark: the record of its quality, the artefact that was timed, and how it is drawn."""

    quality: str
    artefact: str
    title: str
    colour: str
    marker: str

    @property
    def vectors(self) -> bool:
        """Whether texts are compared by their vectors, which a look-up needs, or pairs are decided about."""
        return self.title.endswith("cosine")


MARKS = (
    Mark("matcher-open-m + head", "matcher-open-m-int8", "matcher-open-m int8, decision", OPEN, "D"),
    Mark("matcher-open-m", "matcher-open-m-int8", "matcher-open-m int8, cosine", OPEN, "o"),
    Mark("matcher-open-s + head", "matcher-open-s-int8", "matcher-open-s int8, decision", OPEN, "d"),
    Mark("matcher-open-s", "matcher-open-s-int8", "matcher-open-s int8, cosine", OPEN, "s"),
    Mark("matcher-qqp-m", "matcher-qqp-m-int8", "matcher-qqp-m int8, decision", QUORA, "D"),
    Mark("matcher-qqp-s", "matcher-qqp-s-int8", "matcher-qqp-s int8, decision", QUORA, "s"),
    Mark("minilm-int8", "minilm-int8", "all-MiniLM-L6 int8, cosine", OTHERS, "v"),
    Mark("minilm", "minilm-none", "all-MiniLM-L6 float, cosine", OTHERS, "o"),
    Mark("paraphrase-l3", "paraphrase-l3", "paraphrase-MiniLM-L3 float, cosine", OTHERS, "^"),
    Mark("static-minilm", "static-minilm", "static vectors of MiniLM, cosine", OTHERS, "X"),
)
LOOK_UP = "clinc_first"
TESTS = {
    "twitter_url_test": "Twitter-URL headlines, AUC",
    "mrpc_test": "MRPC news, AUC",
    "sts_b_test": "STS-B, Spearman's ρ",
    "qqp_test": "Quora questions, AUC",
    LOOK_UP: "FAQ look-up (CLINC150), right first",
}


def read_figures(folder: Path) -> dict[str, dict[str, Any]]:
    """What the plot shows, by title: milliseconds, bytes, and each test's figure with its 95% interval.

    Raises:
        DataError: a record is missing or damaged.
    """
    quality, speed = read_json(folder / "quality.json"), read_json(folder / "speed.json")
    return {
        mark.title: {
            "ms": speed["summary"][mark.artefact]["p50_ms"],
            "bytes": speed["facts"][mark.artefact]["bytes"],
            **{test: quality[mark.quality][test] for test in TESTS if test != LOOK_UP or mark.vectors},
        }
        for mark in MARKS
    }


def draw(figures: dict[str, dict[str, Any]], out: Path) -> None:
    """Write the PNG: a panel for each test, and the names in the last place."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(2, 3, figsize=(10.6, 6), layout="constrained")
    *axes, names = panels.flat
    for axis, (test, title) in zip(axes, TESTS.items(), strict=True):
        for mark in MARKS:
            row = figures[mark.title]
            if test not in row:
                continue
            value, low, high = row[test]
            place = {"color": mark.colour, "alpha": 0.75, "linewidth": 0}
            axis.errorbar(
                row["ms"], value, [[value - low], [high - value]], color=mark.colour, elinewidth=0.8
            )
            axis.scatter(row["ms"], value, s=12 + row["bytes"] / 3e5, marker=mark.marker, **place)
        axis.set(xscale="log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set_title(title, fontsize=10.5, loc="left")
        axis.grid(alpha=0.25)
        axis.set_axisbelow(True)
    for axis in axes[2:]:
        axis.set_xlabel("ms an inference, 128 tokens, one thread")
    names.axis("off")
    for mark in MARKS:
        row = figures[mark.title]
        shown = f"{mark.title}: {row['ms']:.2g} ms, {row['bytes'] / 1e6:.0f} MB"
        names.scatter([], [], s=45, marker=mark.marker, color=mark.colour, label=shown, linewidth=0)
    names.legend(frameon=False, loc="center left", fontsize=9, title="area: bytes of the file", borderpad=0)
    figure.savefig(out, dpi=110, format="png")
    plt.close(figure)


def main(out: Annotated[Path, Option(help="Folder of the records and the plot.")] = FOLDER) -> None:
    """Read the records, draw the plot of README.md and write the figures it shows."""
    figures = read_figures(out)
    write_json(out / "front-page.json", figures)
    draw(figures, out / "front-page.png")


if __name__ == "__main__":
    run(main)
