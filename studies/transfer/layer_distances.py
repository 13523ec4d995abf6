"""How far each layer moves its input: distance and angle from what enters to what leaves (ALBERT Figure 1).

python -m studies.transfer.layer_distances runs/ablation/small-albert-depth-4-seed0/model \
        runs/ablation/small-albert-depth-4-none-seed0/model --corpus runs/shards \
        --out results/transfer/layer-distances.json
"""

from __future__ import annotations

from itertools import cycle, pairwise
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from typer import Argument, Option

from mobilebert_models import PretrainingHead, load_pretrained
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.examples import DEVELOPMENT
from mobilebert_training.pretraining.shards import Corpus
from studies.common.plots import COLOURS, panels, save
from studies.common.records import Json, check_outputs
from studies.common.script import Force, run


def main(
    models: Annotated[list[Path], Argument(help="Pretrained networks with the corpus's vocabulary.")],
    corpus: Annotated[Path, Option(help="Token shards; documents held out of training are read.")],
    out: Annotated[Path, Option(help="The record; a drawing lies beside it as .png.")],
    sequences: Annotated[int, Option(min=1, help="So many.")] = 512,
    force: Force = False,
) -> None:
    """Write and draw both curves of every network."""
    drawing = out.with_suffix(".png")
    check_outputs(out, drawing, force=force)
    shards = Corpus(corpus)
    ids = held_out(shards, sequences)
    found = {model.parent.name: _of_model(model, ids, shards) for model in models}
    write_json(out, {"sequences": len(ids), "tokens": ids.shape[1], "models": found})
    draw(found, drawing)


def held_out(corpus: Corpus, sequences: int) -> Tensor:
    """Whole sequences of held-out documents, [CLS] tokens [SEP], (N, S).

    Raises:
        DataError: no sequence is long enough.
    """
    special, most = corpus.special, corpus.seq_len - 2
    chunks = (corpus[int(index)].tokens for index in corpus.split(DEVELOPMENT)[1])
    rows = [[special.cls, *tokens[:most], special.sep] for tokens in chunks if len(tokens) >= most]
    if not rows:
        raise DataError(f"{corpus.folder}: no held-out sequence of {corpus.seq_len} tokens")
    return torch.from_numpy(np.array(rows[:sequences], np.int64))


def _of_model(directory: Path, ids: Tensor, corpus: Corpus) -> Json:
    model = cast(PretrainingHead, load_pretrained(directory))
    if model.config.vocab_size != corpus.special.vocab_size:
        raise DataError(f"{directory}: its vocabulary is not that of {corpus.folder}")
    distances, angles = layer_distances(model.encoder, ids)
    config = model.config
    return {
        "layers": config.num_hidden_layers,
        "groups": config.num_hidden_groups,  # of layers that share their weights
        "distance": distances.tolist(),
        "angle": angles.tolist(),
    }


def layer_distances(encoder: Encoder, ids: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Mean distance and mean angle between the input and the output of every layer, a mean over tokens.

    Args:
        encoder: in eval mode.
        ids: (N, S) tokens without padding.

    Returns:
        (L,) Euclidean distances and (L,) angles in degrees.
    """
    totals = torch.zeros(2, encoder.config.num_hidden_layers, dtype=torch.float64)
    with torch.inference_mode():
        for batch in ids.split(32):
            states = encoder(
                batch, torch.ones_like(batch), torch.zeros_like(batch), capture=True
            ).hidden_states
            for layer, (before, after) in enumerate(pairwise(states)):
                cosine = F.cosine_similarity(before.double(), after.double(), dim=-1).clamp(-1, 1)
                totals[0, layer] += (after - before).double().norm(dim=-1).sum()
                totals[1, layer] += torch.rad2deg(cosine.acos()).sum()
    distances, angles = (totals / ids.numel()).numpy()
    return distances, angles


def draw(found: Json, out: Path) -> None:
    """Write a PNG: distance and angle over the layers, a line a network."""
    figure, ((left, right),) = panels(4.5, 3.4, 2)
    for colour, (name, record) in zip(cycle(COLOURS), found.items(), strict=False):
        places = range(1, record["layers"] + 1)
        left.plot(places, record["distance"], "o-", ms=3, color=colour, label=name)
        right.plot(places, record["angle"], "o-", ms=3, color=colour)
    left.set(xlabel="layer", ylabel="distance from its input")
    right.set(xlabel="layer", ylabel="angle to its input, degrees")
    left.legend(frameon=False, fontsize="small")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    save(figure, out)


if __name__ == "__main__":
    run(main)
