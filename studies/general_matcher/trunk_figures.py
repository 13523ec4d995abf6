"""Dev figures of sentence encoders by the cosine of their mean-pooled vectors.

python -m studies.general_matcher.trunk_figures minilm runs/general/m/trunk --out trunks.json
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import torch
from typer import Argument, Option

from mobilebert_models import find_directory, load_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.development import SETS, development_figures
from recipes.general_matchers.trunk import embed
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.options import SHARED, TWITTER, Shared


def main(
    models: Annotated[list[str], Argument(help="Model directories or names.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    most: Annotated[int, Option(min=2, help="Pairs of each dev set, evenly spread.")] = 2000,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of each, texts read as they are trained on: before spelling correction."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    sets = [(name, file, column, label, most) for name, file, column, label, _ in (*SETS, TWITTER)]
    found = {}
    for model in models:
        folder = find_directory(model)
        encoder = encoder_of(load_pretrained(folder))
        tokenizer = PairTokenizer.load(folder).without_spelling()
        found[model] = development_figures(partial(embed, encoder, tokenizer), shared / "data", sets)
        console().print(model, found[model])
    write_json(out, {"most": most, "cosine": found})


if __name__ == "__main__":
    run(main)
