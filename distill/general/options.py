"""What the scripts of this study share on the command line, and their one source of chance."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Annotated

import torch
from typer import Option

SHARED = Path(os.environ.get("MOBILEBERT_SHARED", "../shared"))
CACHE = Path("runs/general/cache")

Shared = Annotated[Path, Option(help="Folder that holds data/ and corpora/.")]
Cache = Annotated[Path, Option(help="Folder of texts.tsv, the teachers' vectors and the neighbours.")]


def generator(seed: int | str) -> random.Random:
    """A generator of its own for every purpose: its draws depend on the seed alone."""
    return random.Random(seed)  # noqa: S311 (texts are drawn, no secrets)


def fast_products() -> torch.autocast:
    """bfloat16 products where the processor has instructions for them: elsewhere float32 is faster."""
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())
