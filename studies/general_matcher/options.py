"""What the scripts of this study share on the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Option

SHARED = Path(os.environ.get("MOBILEBERT_SHARED", "../shared"))
CACHE = Path("runs/general/cache")

Shared = Annotated[Path, Option(help="Folder that holds data/ and corpora/.")]
Cache = Annotated[Path, Option(help="Folder of texts.tsv, the teachers' vectors and the neighbours.")]

TWITTER = ("twitter_url_train", "twitter_url/train.tsv", "sentence", "label", 4000)  # it has no dev split
