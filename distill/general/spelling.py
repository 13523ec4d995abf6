"""The words by which matcher-open-m corrects misspelt texts: those of the corpora, the most frequent first.

python -m studies.general_matcher.spelling --out models/shipped/matcher-open-m/spelling.txt
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

from typer import Option

from distill.general.options import SHARED, Shared
from mobilebert_runtime.spelling import LONGEST, SHORTEST
from studies.common.records import check_outputs
from studies.common.script import Force, console, run

CORPORA = ("wiki-core-lead7k.txt.xz", "wiki-longtail-lead.txt.xz", "gutenberg-slices.txt.xz")
PIECE = 1 << 22  # characters


def main(
    out: Annotated[Path, Option(help="The file to write.")],
    shared: Shared = SHARED,
    least: Annotated[int, Option(min=1, help="Times a word must occur.")] = 3,
    force: Force = False,
) -> None:
    """Count the words of the corpora and write those that occur often enough."""
    check_outputs(out, force=force)
    counts: Counter[str] = Counter()
    for name in CORPORA:
        with lzma.open(shared / "corpora" / name, "rt", encoding="utf-8") as file:
            rest = ""
            while piece := file.read(PIECE):
                whole, _, rest = (rest + piece.lower()).rpartition(" ")
                counts.update(re.findall(r"[a-z]+", whole))
            counts.update(re.findall(r"[a-z]+", rest))
    words = [
        (-count, word)
        for word, count in counts.items()
        if count >= least and SHORTEST <= len(word) <= LONGEST
    ]
    out.write_text("".join(f"{word}\n" for _, word in sorted(words)), encoding="utf-8")
    console().print(f"{len(words):,} words")


if __name__ == "__main__":
    run(main)
