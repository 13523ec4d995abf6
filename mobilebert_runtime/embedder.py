"""Texts as vectors, and the search for the texts of an index that lie nearest.

embedder = Embedder.load("artefacts/minilm-int8")
index = Index.build(embedder.embed(texts), texts)
embedder.search("How old is the Moon?", index, top_k=3)   # → [Hit(place=17, score=0.83, text="…"), …]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel, check_texts
from mobilebert_runtime.card import EMBEDDING, EMBEDDING_NAME, ArtefactCard
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.results import Hit
from mobilebert_runtime.vector_index import Index


class Embedder(ArtefactModel):
    """A sentence encoder in a runtime: texts in, vectors out.

    It also opens the artefact of a matcher whose network returns the vector of its first text.
    """

    task = EMBEDDING
    output = EMBEDDING_NAME

    @classmethod
    def reads(cls, card: ArtefactCard) -> bool:
        """Does the network return vectors?"""
        return card.embedding is not None

    @property
    def size(self) -> int:
        """D, the length of a vector."""
        return self.card.outputs(self.card.seq_len)[EMBEDDING_NAME][1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of each text, float32 (N, D); a text that is longer than `seq_len` is truncated."""
        check_texts(texts, 1)
        rows = self.run_rows(self.tokenizer.ids(texts, self.card.seq_len))
        return np.stack(rows) if rows else np.zeros((0, self.size), np.float32)

    def search(self, query: str, index: Index, top_k: int = 10) -> list[Hit]:
        """The texts of the index with the highest cosine to the query, the highest first.

        Raises:
            ArtefactError: the vectors of the index have another length.
        """
        if index.size != self.size:
            raise ArtefactError(
                f"the index holds vectors of {index.size} numbers, this network's have {self.size}; "
                "build it with this artefact"
            )
        return index.nearest(self.embed([query])[0], top_k)
