"""What a look-up among CLINC150's 1,500 stored texts takes: to find the ten nearest, and to order them.

    python -m studies.general_matcher.look_up_time artefacts/minilm-int8 artefacts/matcher-int8 --out F.json

Artefacts take turns at every query, so that a busy moment meets all of them. Times depend on the machine:
read them beside one another.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from mobilebert_runtime.card import read_card
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher
from studies.common.markdown import table
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.evaluation_sets import questions
from studies.general_matcher.figures import FOUND
from studies.general_matcher.options import SHARED, Shared

WARM_UP = 10  # queries before those that count: the first calls of a session are slow


class LookUp:
    """An artefact with its index, and the milliseconds of every query so far."""

    def __init__(self, folder: Path, stored: list[str], threads: int) -> None:
        self.embedder = Embedder.load(folder, threads=threads)
        self.index = self.embedder.index(stored)
        self.matcher = Matcher.load(folder, threads=threads) if Matcher.reads(read_card(folder)) else None
        self.search: list[float] = []
        self.rank: list[float] = []

    def ask(self, query: str) -> None:
        """Find the nearest stored texts, and order them where the artefact decides about pairs."""
        begun = perf_counter()
        near = [hit.text for hit in self.embedder.search(query, self.index, FOUND)]
        found = perf_counter()
        self.search.append((found - begun) * 1e3)
        if self.matcher is not None:
            self.matcher.rank(query, near)
            self.rank.append((perf_counter() - found) * 1e3)

    def record(self) -> dict[str, Any]:
        """Medians and samples in milliseconds."""
        times = {"search": self.search} | ({"rank": self.rank} if self.rank else {})
        return {
            name: {"median": round(float(np.median(ms)), 3), "samples": [round(one, 3) for one in ms]}
            for name, ms in times.items()
        }


def main(
    artefacts: Annotated[list[Path], Argument(help="Folders of artefacts that hold an embedder.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    queries: Annotated[int, Option(min=1, help="Queries that are asked, evenly spread.")] = 300,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Ask every artefact the same queries, write the times, print their medians."""
    check_outputs(out, force=force)
    texts, sets = questions(shared / "data", queries)
    known = list(texts.index)
    stored = [known[place] for place in sets["clinc"]["stored"]]
    asked = [known[place] for place in sets["clinc"]["asked"]]
    look_ups = {folder.name: LookUp(folder, stored, threads) for folder in artefacts}
    for query in asked[:WARM_UP]:
        for look_up in look_ups.values():
            look_up.ask(query)
    for look_up in look_ups.values():
        look_up.search.clear()
        look_up.rank.clear()
    for turn, query in enumerate(asked):
        names = list(look_ups)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            look_ups[name].ask(query)
    found = {name: look_up.record() for name, look_up in look_ups.items()}
    write_json(out, {"stored": len(stored), "queries": len(asked), "threads": threads, "artefacts": found})
    rows = [[name, *(str(times["median"]) for times in record.values())] for name, record in found.items()]
    console().print(table(("", "search, ms", f"rank of {FOUND}, ms"), [[*row, ""][:3] for row in rows]))


if __name__ == "__main__":
    run(main)
