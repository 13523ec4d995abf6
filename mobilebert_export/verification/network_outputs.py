"""An artefact of any task in its runtime, by its raw outputs: what verification compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.tokenizer import Pair, PairTokenizer

Text = Pair | str  # what one input holds


class AnyArtefact(ArtefactModel):
    """An artefact, whatever its task."""

    @classmethod
    def reads(cls, card: ArtefactCard) -> bool:
        """Every card."""
        del card
        return True

    def all_outputs(self, encoded: Mapping[str, NDArray[np.int32]]) -> dict[str, NDArray[np.float32]]:
        """Float32 (N, …) by output name of encoded texts: int32 (N, S) by input name, S a bucket."""
        rows = [
            self.backend.run({name: values[i : i + 1] for name, values in encoded.items()})
            for i in range(len(encoded["input_ids"]))
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def network_inputs(
    texts: Sequence[Text], tokenizer: PairTokenizer, seq_len: int, names: Sequence[str]
) -> dict[str, NDArray[np.int32]]:
    """Texts as a network reads them, int32 (N, seq_len) by input name: those of `names`, in their order."""
    encoded = tokenizer.pad(tokenizer.ids(texts, seq_len), seq_len)
    return {name: encoded[name] for name in names}
