"""Look texts up with one artefact: its vectors find candidates, its decision ranks them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilebert_runtime.errors import DataError, OptionError

if TYPE_CHECKING:
    from mobilebert_runtime.vector_index import Index

CANDIDATES = 10  # found by their vectors, for the decision to rank
SOURCE = "source.json"  # in the folder of an index that was made of a file: of which, and with which model


class LookUp:
    """An artefact whose network returns vectors; where it also decides about pairs, both uses of it."""

    def __init__(self, artefact: Path, threads: int) -> None:
        """Open the artefact.

        Raises:
            OptionError: its network returns no vectors.
            ArtefactError: the folder is missing or damaged.
        """
        from mobilebert_runtime.card import MATCHING, read_card
        from mobilebert_runtime.embedder import Embedder
        from mobilebert_runtime.matcher import Matcher

        card = read_card(artefact)
        if card.embedding is None:
            raise OptionError(
                f"{artefact}: its network returns no vectors, which an index needs; matcher-open-m's does"
            )
        self.embedder = Embedder.load(artefact, threads)
        self.matcher = Matcher.load(artefact, threads) if card.task == MATCHING else None

    def index(self, texts: Sequence[str]) -> Index:
        """The vectors of texts."""
        from mobilebert_runtime.vector_index import Index

        return Index.build(self.embedder.embed(texts), texts)

    def search(self, query: str, index: Index, top: int) -> list[dict[str, Any]]:
        """The texts that answer a query best: place among the texts, score, the decision's label, text."""
        if self.matcher is None:
            return [hit._asdict() for hit in self.embedder.search(query, index, top)]
        found = self.embedder.search(query, index, max(top, CANDIDATES))
        ranked = self.matcher.rank(query, [hit.text for hit in found], top)
        return [
            {
                "place": found[hit.place].place,
                "score": hit.score,
                "label": self.matcher.label(hit.score),
                "text": hit.text,
            }
            for hit in ranked
        ]


def index_of_file(look_up: LookUp, artefact: Path, file: Path, texts: Sequence[str]) -> tuple[Index, bool]:
    """The index of a file's texts, from the folder beside it where file and model are those it was made of.

    Args:
        look_up: the opened artefact.
        artefact: its folder, or the name of an installed model.
        file: the file, which FILE.index lies beside.
        texts: what it holds.

    Returns:
        the index, and whether it was built now.

    Raises:
        DataError: FILE.index is there and is no index.
        OutputError: the folder can't be written.
    """
    from mobilebert_runtime.files import file_sha256, write_json
    from mobilebert_runtime.vector_index import Index

    folder = file.with_name(file.name + ".index")
    made_by = file_sha256(artefact / "SHA256SUMS") if artefact.is_dir() else str(artefact)
    source = {"file": file_sha256(file), "artefact": made_by}
    if folder.exists() and not (folder / "vectors.npy").is_file():
        raise DataError(f"{folder}: is no index; move it away, an index of {file.name} is kept there")
    if folder.exists() and _read_source(folder) == source:
        index = Index.load(folder)
        if index.texts == list(texts):  # another column of the same file
            return index, False
    index = look_up.index(texts)
    index.save(folder, force=True)
    write_json(folder / SOURCE, source)
    return index, True


def _read_source(folder: Path) -> Any:
    try:
        return json.loads((folder / SOURCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
