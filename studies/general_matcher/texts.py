"""Write the texts of the general matcher, `recipes.general_matchers.texts`.

python -m studies.general_matcher.texts
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from recipes.general_matchers.texts import write_texts
from studies.common.records import check_outputs
from studies.common.script import Force, console, run
from studies.general_matcher.options import CACHE, SHARED, Shared


def main(
    shared: Shared = SHARED,
    out: Annotated[Path, Option(help="Folder of the two files.")] = CACHE,
    force: Force = False,
) -> None:
    """Write texts.tsv and held_out.json."""
    out.mkdir(parents=True, exist_ok=True)
    check_outputs(out / "texts.tsv", out / "held_out.json", force=force)
    facts = write_texts(shared, out)
    dropped = facts["dropped_because_in_an_evaluation_set"]
    console().print(f"{facts['texts']:,} texts, {dropped:,} dropped because they are in an evaluation set")


if __name__ == "__main__":
    run(main)
