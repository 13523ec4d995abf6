"""What the scripts of this study share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_matching.data.labelled_pairs import LabelledPairs

DATA, CACHE = Path("../shared/data/qqp"), Path("runs/qqp")

Data = Annotated[Path, Option(help="Folder with train.tsv, dev.tsv and test.tsv.")]
Cache = Annotated[Path, Option(help="Folder of the teacher's vectors and words.")]


def distinct_texts(*parts: LabelledPairs) -> list[str]:
    """Every text of some pairs once, in the order of its first place."""
    return list(dict.fromkeys(text for part in parts for pair in part.pairs for text in pair))
