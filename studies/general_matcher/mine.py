"""Near texts of every labelled text, `recipes.general_matchers.mine`.

pip install faiss-cpu==1.15.1
python -m studies.general_matcher.mine
"""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Option

from recipes.general_matchers.mine import RANKS, write_neighbours
from studies.common.script import console, run
from studies.general_matcher.options import CACHE, Cache


def main(
    cache: Cache = CACHE,
    ranks: Annotated[int, Option(min=1, help="Near texts of each text, from the nearest on.")] = RANKS,
    teacher: Annotated[Literal["mpnet", "minilm"], Option(help="Whose vectors.")] = "mpnet",
    cells: Annotated[
        int, Option(min=1, help="Cells of the index, of which an eighth is searched; 1: exact.")
    ] = 1,
) -> None:
    """Write CACHE/neighbours.npy (N, ranks), -1 where a text has no vector of the teacher yet."""
    console().print(f"{write_neighbours(cache, teacher, ranks, cells):,} texts with neighbours")


if __name__ == "__main__":
    run(main)
