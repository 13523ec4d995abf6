"""Let a teacher read the texts, `recipes.general_matchers.teachers`; resumable.

    python -m studies.general_matcher.teachers minilm
    python -m studies.general_matcher.teachers mpnet --mpnet FOLDER
    python -m studies.general_matcher.teachers mpnet --mpnet FOLDER --artefact FOLDER

With --artefact the teacher's int8 export reads the texts, in half of the time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import torch
from typer import Argument, Option

from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import OptionError
from recipes.general_matchers.teachers import (
    PROBES,
    artefact_vectors,
    check_artefact,
    load_minilm,
    load_mpnet,
    read_text_column,
    vectors,
    write_shards,
)
from studies.common.script import Threads, console, run
from studies.general_matcher.options import CACHE, Cache


def main(
    teacher: Annotated[Literal["minilm", "mpnet"], Argument(help="Which one.")],
    cache: Cache = CACHE,
    mpnet: Annotated[Path | None, Option(help="Folder of all-mpnet-base-v2.")] = None,
    artefact: Annotated[Path | None, Option(help="The teacher's export, to read texts with.")] = None,
    start: Annotated[int, Option("--from", min=0, help="First text, down to a whole shard.")] = 0,
    stop: Annotated[int | None, Option("--to", min=1, help="Text to stop before; default: all.")] = None,
    threads: Threads = 1,
) -> None:
    """Label the texts of CACHE/texts.tsv, in order; shards that are there already are kept."""
    if teacher == "mpnet" and mpnet is None:
        raise OptionError("teacher mpnet: give --mpnet, the folder of all-mpnet-base-v2")
    torch.set_num_threads(threads)
    texts = read_text_column(cache / "texts.tsv")
    encode = load_mpnet(mpnet) if teacher == "mpnet" and mpnet is not None else load_minilm()
    read = partial(vectors, encode)
    if artefact is not None:
        exported = Embedder.load(artefact, threads)
        check_artefact(exported, encode, texts[:PROBES])
        read = partial(artefact_vectors, exported)
    write_shards(cache / teacher, texts, read, start, stop, console().print)


if __name__ == "__main__":
    run(main)
