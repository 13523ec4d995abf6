"""Write sentences of the corpora, one a line, none of them in an evaluation set.

python -m studies.general_matcher.sentences
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from recipes.general_matchers.texts import write_sentences
from studies.common.records import check_outputs
from studies.common.script import Force, console, run
from studies.general_matcher.options import CACHE, SHARED, Shared


def main(
    shared: Shared = SHARED,
    count: Annotated[int, Option(min=1, help="Sentences at most, drawn by a fixed seed.")] = 800_000,
    out: Annotated[Path, Option(help="The .txt file.")] = CACHE / "sentences.txt",
    force: Force = False,
) -> None:
    """Write the file."""
    check_outputs(out, force=force)
    console().print(f"{write_sentences(shared, out, count):,} sentences")


if __name__ == "__main__":
    run(main)
