"""`mobilebert match`: scores from an artefact, for one pair or a file of pairs."""

import json
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_runtime.errors import OptionError

BATCH = 64


def match(
    *,
    texts: Annotated[list[str] | None, Argument(metavar="TEXT_A TEXT_B", help="The two texts.")] = None,
    artefact: Annotated[Path, Option(help="Artefact folder.")] = Path("artefacts/matcher-int8"),
    pairs: Annotated[
        Path | None, Option(help="File of pairs (TSV, CSV, JSON Lines) instead of two texts.")
    ] = None,
    text_a: Annotated[str | None, Option(help="Column of the first texts in --pairs.")] = None,
    text_b: Annotated[str | None, Option(help="Column of the second texts.")] = None,
    threads: Annotated[int, Option(help="CPU threads.")] = 1,
    symmetric: Annotated[
        bool, Option("--symmetric", help="Mean over both orders of a pair; twice the time.")
    ] = False,
    json_lines: Annotated[bool, Option("--json", help="One JSON object per pair.")] = False,
) -> None:
    """Score one pair, or a file of pairs, with an artefact.

    Prints, per pair and separated by a tab, the probability that the two texts match and the label that the
    artefact's threshold gives.
    """
    from rich.console import Console

    from matching.data.pairs import read_pairs
    from mobilebert_export.console import silenced
    from mobilebert_runtime.matcher import Matcher

    if pairs is None and len(texts or ()) != 2:
        raise OptionError(f"{len(texts or ())} texts; give two, or a file with --pairs")
    if pairs is not None and texts:
        raise OptionError("give either two texts or --pairs, not both")
    asked = [(texts[0], texts[1])] if texts else read_pairs(pairs or "", text_a, text_b).pairs
    with silenced():
        matcher = Matcher.load(artefact, threads)
    progress = Console(stderr=True)
    with progress.status("") as status:
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            for pair, score in zip(batch, matcher.score(batch, symmetric=symmetric), strict=True):
                sys.stdout.write(_line(pair, float(score), matcher.label(float(score)), as_json=json_lines))
            status.update(f"{start + len(batch):,} of {len(asked):,} pairs")


def _line(pair: tuple[str, str], score: float, label: str, *, as_json: bool) -> str:
    if as_json:
        row = {"score": round(score, 6), "label": label, "text_a": pair[0], "text_b": pair[1]}
        return json.dumps(row, ensure_ascii=False) + "\n"
    return f"{score:.6f}\t{label}\n"
