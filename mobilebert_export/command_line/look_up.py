"""Look texts up with one artefact: its vectors find candidates, its decision ranks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilebert_runtime.errors import ArtefactError, OptionError

if TYPE_CHECKING:
    from mobilebert_runtime.vector_index import Index

CANDIDATES = 10  # found by their vectors, for the decision to rank


class LookUp:
    """An artefact whose network returns vectors; where it also decides about pairs, both uses of it."""

    def __init__(self, artefact: Path, threads: int, correction: Mapping[str, Any]) -> None:
        """Open the artefact.

        Args:
            artefact: the folder, or the name of an installed model.
            threads: CPU threads.
            correction: as `read_correction` returns it.

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
        self.embedder = Embedder.load(artefact, threads, **correction)
        self.matcher = Matcher.load(artefact, threads, **correction) if card.task == MATCHING else None

    def index(self, texts: Sequence[str]) -> Index:
        """The vectors of texts."""
        return self.embedder.index(texts)

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


def index_of_file(look_up: LookUp, file: Path, texts: Sequence[str]) -> tuple[Index, bool]:
    """The index of a file's texts: that beside it where this model made it of these texts, else a new one.

    Args:
        look_up: the opened artefact.
        file: the file, which FILE.index lies beside.
        texts: what it holds.

    Returns:
        the index, and whether it was built now.

    Raises:
        OutputError: FILE.index holds other things than an index, or can't be written.
    """
    from mobilebert_runtime.vector_index import Index

    folder = file.with_name(file.name + ".index")
    if folder.is_dir():
        with suppress(ArtefactError):  # a damaged index is built again
            index = Index.load(folder)
            if index.encoder == look_up.embedder.fingerprint and index.texts == list(texts):
                return index, False
    index = look_up.index(texts)
    index.save(folder, force=True)
    return index, True
