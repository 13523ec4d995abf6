"""What the scripts of this study share on the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Option

SHARED = Path(os.environ.get("MOBILEBERT_SHARED", "../shared"))
CACHE = Path("runs/general/cache")
SENTENCES, MPNET = CACHE / "sentences.txt", "runs/mpnet/all-mpnet-base-v2"

Shared = Annotated[Path, Option(help="Folder that holds data/ and corpora/.")]
Cache = Annotated[Path, Option(help="Folder of texts.tsv, the teachers' vectors and the neighbours.")]

# Of trainings with both teachers beside them.
Sentences = Annotated[Path, Option(help="More texts, one a line.")]
Wide = Annotated[str, Option(help="The other teacher.")]
Seconds = Annotated[float, Option(min=0, help="Budget of training.")]
NearShare = Annotated[float, Option(min=0, max=1, help="Of the near teacher in the targets.")]
Noise = Annotated[float, Option(min=0, max=1, help="Share of texts that are misspelt.")]
Size = Annotated[int, Option(min=8, help="Texts a batch.")]
Workers = Annotated[int, Option(min=0, help="Processes that make batches.")]

TWITTER = ("twitter_url_train", "twitter_url/train.tsv", "sentence", "label", 4000)  # it has no dev split
