"""Dev figures of a trunk whose weights are a mean of those before and after training, share by share.

python -m studies.general_matcher.kept_share runs/general/m --share 0.5 --share 0.65 --out kept.json
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
from typer import Argument, Option

from mobilebert_models import load_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.development import SETS, development_figures
from recipes.general_matchers.train_trunk import average
from recipes.general_matchers.trunk import embed
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, run
from studies.general_matcher.options import SHARED, Shared

PAIRS = {"sts_dev": 750, "mrpc_dev": 500, "qqp_dev": 2000}


def main(
    folder: Annotated[Path, Argument(help="Run folder of `train_trunk` that began with pruning.")],
    share: Annotated[list[float], Option(help="Of the weights before training (repeat).")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of each share; before four bits and spelling correction."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    trained = torch.load(folder / "checkpoint.pt", weights_only=True)["model"]
    tokenizer = PairTokenizer.load(folder / "pruned")
    sets = [(name, file, column, label, PAIRS[name]) for name, file, column, label, _ in SETS]
    found: dict[str, Any] = {}
    for one in share:
        before, student = (encoder_of(load_pretrained(folder / "pruned")) for _ in range(2))
        student.load_state_dict(trained)
        average(student, before, one)
        student.eval()
        encode = partial(embed, student, tokenizer)
        found[str(one)] = development_figures(encode, shared / "data", sets)
    write_json(out, {"pairs": PAIRS, "by_share_of_the_weights_before": found})


if __name__ == "__main__":
    run(main)
