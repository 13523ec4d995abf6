"""What a PyTorch model and its artefact answer to the same texts, as arrays that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import OUTPUT_NAME, ArtefactCard
from mobilebert_runtime.tokenizer import Pair, PairTokenizer

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_runtime.backends import PackedGraph

Text = Pair | str  # what one input holds
Encoded = Mapping[str, NDArray[np.int32]]  # (N, S) by input name
Outputs = Mapping[str, NDArray[np.float32]]  # (N, …) by output name


class AnyArtefact(ArtefactModel):
    """An artefact, whatever its task."""

    @classmethod
    def reads(cls, card: ArtefactCard) -> bool:
        """Every card."""
        del card
        return True

    def all_outputs(self, encoded: Encoded) -> Outputs:
        """Float32 (N, …) by output name of encoded texts: int32 (N, S) by input name, S a bucket."""
        rows = [
            self.backend.run({name: values[i : i + 1] for name, values in encoded.items()})
            for i in range(len(encoded["input_ids"]))
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


class NetworkBackend:
    """A PyTorch network in the place of an artefact's model file, as it was before its weights were rounded.

    Args:
        network: takes what the artefact's model takes.
        outputs: names of what it gives.
    """

    name = "PyTorch"
    most_rows = 1
    packed: PackedGraph | None = None

    def __init__(self, network: nn.Module, outputs: Sequence[str]) -> None:
        self.network, self.outputs = network, outputs

    def run(self, inputs: Encoded) -> Outputs:
        """Int32 (1, S) by input name → float32 (1, …) by output name."""
        return reference_outputs(self.network, inputs, self.outputs)


def network_inputs(
    texts: Sequence[Text], tokenizer: PairTokenizer, seq_len: int, names: Sequence[str]
) -> dict[str, NDArray[np.int32]]:
    """Texts as a network reads them, int32 (N, seq_len) by input name: those of `names`, in their order."""
    encoded = tokenizer.pad(tokenizer.ids(texts, seq_len), seq_len)
    return {name: encoded[name] for name in names}


def reference_logits(model: nn.Module, encoded: Encoded) -> NDArray[np.float32]:
    """The first of `reference_outputs`."""
    return reference_outputs(model, encoded, (OUTPUT_NAME,))[OUTPUT_NAME]


def reference_outputs(model: nn.Module, encoded: Encoded, outputs: Sequence[str]) -> Outputs:
    """Outputs of the PyTorch model: int32 (N, S) by input name → float32 (N, …), as an artefact gives them.

    Inputs of like length go through together, cut to the longest of them, so an artefact that lets padding
    into its answer is found out; it also takes a third of the time. Outputs of tokens cut off are 0.
    """
    import torch

    from mobilebert_models.networks.layers import input_names

    names = input_names(model)
    lengths = encoded["attention_mask"].sum(axis=1)
    seq_len = encoded["attention_mask"].shape[1]
    order = np.argsort(lengths, kind="stable")
    rows: dict[str, dict[int, NDArray[np.float32]]] = {name: {} for name in outputs}
    with torch.inference_mode():
        for batch in np.array_split(order, -(-len(order) // 16)):
            width = int(lengths[batch].max())
            found = model(*(torch.from_numpy(encoded[name][batch, :width]) for name in names))
            # The first of several outputs may be all that is asked for.
            tensors = found if isinstance(found, tuple) else (found,)
            for name, tensor in zip(outputs, tensors, strict=False):
                values = tensor.numpy()
                if values.ndim == 3:
                    values = np.pad(values, ((0, 0), (0, seq_len - width), (0, 0)))
                rows[name].update(zip(batch.tolist(), values, strict=True))
    return {name: np.stack([one[row] for row in range(len(order))]) for name, one in rows.items()}
