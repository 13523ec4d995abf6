"""Let the int8 export of all-mpnet-base-v2 read the questions of QQP's train.tsv and dev.tsv; resumable.

    python -m studies.qqp_teacher.vectors FOLDER

FOLDER is the export; results/general_matcher/README.md says where the model comes from. Test questions are
not read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_matching.data.labelled_pairs import read_split
from mobilebert_runtime.embedder import Embedder
from recipes.general_matchers.teachers import artefact_vectors, write_shards
from studies.common.script import Threads, console, run
from studies.qqp_teacher.options import CACHE, DATA, Cache, Data, distinct_texts


def main(
    artefact: Annotated[Path, Argument(help="Folder of the teacher's int8 export.")],
    data: Data = DATA,
    cache: Cache = CACHE,
    start: Annotated[int, Option("--from", min=0, help="First text, down to a whole shard.")] = 0,
    stop: Annotated[int | None, Option("--to", min=1, help="Text to stop before; default: all.")] = None,
    threads: Threads = 1,
) -> None:
    """Write CACHE/mpnet, vectors of the distinct questions in shards; those that are there are kept."""
    texts = distinct_texts(read_split(data, "dev"), read_split(data, "train"))
    read = partial(artefact_vectors, Embedder.load(artefact, threads))
    write_shards(cache / "mpnet", texts, read, start, stop, console().print)


if __name__ == "__main__":
    run(main)
