"""Turns texts into vectors, and finds the nearest texts of an index.

```python
embedder = Embedder.load("artefacts/minilm-int8")
index = embedder.index(texts)
embedder.search("How old is the Moon?", index, top_k=3)   # → [Hit(place=17, score=0.83, text="…"), …]
```

Some encoders were trained with a *prompt* before each text, such as "query: ". Their artefact knows the
prompts by name: `embed(texts, prompt="query")`. `search` and `index` use those of queries and of documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import EMBEDDING, EMBEDDING_NAME, ArtefactCard
from mobilebert_runtime.card_parts import SIMILARITIES, Embedding
from mobilebert_runtime.errors import ArtefactError, DataError, UnreadableWarning
from mobilebert_runtime.results import Hit
from mobilebert_runtime.texts import as_text, as_texts, read_as_one
from mobilebert_runtime.vector_index import Index

SAME = 0.99  # less than the cosine of any vector with itself after it was rounded to a byte a number


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

    @property
    def prompts(self) -> Mapping[str, str]:
        """What the model puts before a text, by name; most models have none."""
        return self._vectors.prompts

    def embed(self, texts: Iterable[str], prompt: str | None = None) -> NDArray[np.float32]:
        """A vector of each text, float32 (N, D); a text that is longer than `seq_len` is truncated.

        Args:
            texts: without their prompt.
            prompt: name of one of `prompts`; None for the model's default, if it has one.

        Raises:
            DataError: the model has no such prompt.
        """
        return self._embed(as_texts(texts, 1), prompt)

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        prompt_name: str | None = None,
        normalize_embeddings: bool = False,
    ) -> NDArray[np.float32]:
        """As `embed`, by the name and with the arguments that sentence-transformers has for it.

        Args:
            sentences: one text, or several.
            prompt_name: as `prompt` of `embed`.
            normalize_embeddings: makes vectors of length 1.

        Returns:
            Float32 (D,) of one text, (N, D) of several.
        """
        one = isinstance(sentences, str)
        vectors = self.embed([sentences] if isinstance(sentences, str) else sentences, prompt_name)
        if normalize_embeddings:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return vectors[0] if one else vectors

    def encode_query(
        self, sentences: str | Iterable[str], *, normalize_embeddings: bool = False
    ) -> NDArray[np.float32]:
        """`encode` with the prompt of queries, as sentence-transformers chooses it."""
        return self.encode(
            sentences, prompt_name=self._first_of("query"), normalize_embeddings=normalize_embeddings
        )

    def encode_document(
        self, sentences: str | Iterable[str], *, normalize_embeddings: bool = False
    ) -> NDArray[np.float32]:
        """`encode` with the prompt of documents, as sentence-transformers chooses it."""
        name = self._first_of("document", "passage", "corpus")
        return self.encode(sentences, prompt_name=name, normalize_embeddings=normalize_embeddings)

    def index(self, texts: Iterable[str], kind: str = "int8") -> Index:
        """An index of texts for `search`, "int8" or "float16"; it knows what made it."""
        listed = as_texts(texts, 1)
        vectors = self._embed(listed, self._first_of("document", "passage", "corpus"))
        return Index.build(vectors, listed, kind, self.fingerprint, self._vectors.similarity)

    def search(self, query: str, index: Index, top_k: int = 10) -> list[Hit]:
        """The texts of the index that are most similar to the query, the most similar first.

        Vectors are compared as the model says: by cosine, by dot product, or by the negative of a distance.

        Warns:
            UnreadableWarning: a text of the index is another than the query, and the network can't tell.

        Raises:
            ArtefactError: the index was made by another artefact or with other words or spelling, or does not
                say by which.
        """
        if index.encoder is None:
            raise ArtefactError("the index does not say what made it; build it again with Embedder.index")
        if index.encoder != self.fingerprint:
            raise ArtefactError(
                "the index was made by another artefact, or with other words or spelling; build it again"
            )
        text = as_text(query, "query")
        hits = index.nearest(self._embed([text], self._first_of("query"))[0], top_k)
        cosine = index.similarity == SIMILARITIES[0]
        alike = [hit for hit in hits if (hit.score > SAME or not cosine) and not read_as_one(hit.text, text)]
        mine, *theirs = self.tokenizer.ids([text, *(hit.text for hit in alike)], self.card.seq_len)
        for hit in (hit for hit, ids in zip(alike, theirs) if ids == mine):
            warnings.warn(
                f"the network reads {text!r:.60} and {hit.text!r:.60} as the same tokens; their similarity "
                "says nothing",
                UnreadableWarning,
                stacklevel=2,
            )
        return hits

    @property
    def _vectors(self) -> Embedding:
        return cast("Embedding", self.card.embedding)

    def _first_of(self, *names: str) -> str | None:
        """The first of these names that is a prompt's; None for the default."""
        return next((name for name in names if name in self.prompts), None)

    def _embed(self, texts: Sequence[str], prompt: str | None) -> NDArray[np.float32]:
        name = self._vectors.default_prompt if prompt is None else prompt
        if name is not None:
            if name not in self.prompts:
                known = ", ".join(self.prompts) or "none"
                raise DataError(f"the model has no prompt {name!r:.60}; it has {known}")
            texts = [self.prompts[name] + text for text in texts]
        rows = self.run_rows(self.tokenizer.ids(texts, self.card.seq_len))
        return np.stack(rows) if rows else np.zeros((0, self.size), np.float32)
