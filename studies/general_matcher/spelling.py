"""The words by which the open matchers correct misspelt texts: of the corpora and of the texts to learn from.

python -m studies.general_matcher.spelling --out models/mobilebert_models/shipped/matcher-open-m/spelling.txt
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from recipes.general_matchers.spelling import LEAST, corpus_pieces, frequent_words, write_words
from recipes.general_matchers.teachers import read_text_column
from recipes.general_matchers.texts import CORPORA
from studies.common.records import check_outputs
from studies.common.script import Force, console, run
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared


def main(
    out: Annotated[Path, Option(help="The file to write.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    least: Annotated[int, Option(min=1, help="Times a word must occur.")] = LEAST,
    force: Force = False,
) -> None:
    """Count the words of the corpora and of CACHE/texts.tsv and write those that occur often enough."""
    check_outputs(out, force=force)
    files = [shared / "corpora" / name for _, name, _ in CORPORA]
    words = frequent_words(corpus_pieces(files), read_text_column(cache / "texts.tsv"), least)
    write_words(words, out, force=force)
    console().print(f"{len(words):,} words")


if __name__ == "__main__":
    run(main)
