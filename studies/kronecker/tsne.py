"""The middle layer of several models on the same pairs, in two dimensions (KroneckerBERT Figure 4).

python -m studies.kronecker.tsne --model runs/teacher/model --data ../shared/data/qqp/test.tsv --out tsne.png
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Option

from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_labelled
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH
from mobilebert_training.finetuning.initial_model import start_directory
from studies.common.plots import panels, save
from studies.common.records import Json, check_outputs
from studies.common.script import Force, run, shown
from studies.transfer.attention import load_encoder

# Points that vote on a point's label: the figure that says how separable a plot's clouds are.
NEIGHBOURS = 10
MINIMUM_PAIRS = 3 * NEIGHBOURS
_AT_A_TIME = 64


def main(
    *,
    model: Annotated[list[str], Option(help="A model directory, shipped or minilm (repeat for more).")],
    data: Annotated[Path, Option(help="Labelled pairs.")],
    out: Annotated[Path, Option(help="PNG to make; coordinates and figures lie beside it as .json.")],
    max_pairs: Annotated[int, Option(min=1, help="The first so many pairs.")] = 1000,
    force: Force = False,
) -> None:
    """Draw the middle layers of models by t-SNE; write how often nearest neighbours have a pair's label."""
    numbers = out.with_suffix(".json")
    check_outputs(out, numbers, force=force)
    everything = read_labelled(data)
    pairs = LabelledPairs(everything.pairs[:max_pairs], everything.labels[:max_pairs])
    clouds = []
    for name in model:
        encoder, tokenizer = load_encoder(name), PairTokenizer.load(start_directory(name))
        features = middle_features(encoder, tokenizer, pairs.pairs)
        clouds.append(cloud(shown(name), middle_layer(encoder), features, pairs.labels))
    draw(clouds, pairs.labels, [f"label {label}" for label in range(int(pairs.labels.max()) + 1)], out)
    write_json(numbers, {"data": "/".join(data.parts[-2:])} | record(clouds, pairs))


@dataclass(frozen=True)
class Cloud:
    """One model's points.

    Attributes:
        name: of the model.
        layer: whose output it is, counted from 1.
        points: (N, 2).
        separability: share of pairs whose `NEIGHBOURS` nearest others, in the features themselves, mostly
            have the pair's label.
        separability_2d: the same in the plot.
    """

    name: str
    layer: int
    points: np.ndarray
    separability: float
    separability_2d: float


def middle_features(encoder: Encoder, tokenizer: PairTokenizer, pairs: Sequence[Pair]) -> np.ndarray:
    """The [CLS] row of the middle layer's output, (N, H): layer 6 of 12 as in the paper.

    Args:
        encoder: in eval mode.
        tokenizer: its own.
        pairs: N pairs.
    """
    encoded = tokenizer.ids(pairs, TRAIN_LENGTH)
    order = np.argsort([len(ids) for ids, _ in encoded], kind="stable")
    found = np.zeros((len(pairs), encoder.config.hidden_size), np.float32)
    with torch.inference_mode():
        for start in range(0, len(order), _AT_A_TIME):
            index = order[start : start + _AT_A_TIME]
            arrays = tokenizer.pad([encoded[i] for i in index], None)
            output = encoder(**{k: torch.from_numpy(v) for k, v in arrays.items()}, capture=True)
            # Hidden state 0 is the embedding output.
            found[index] = output.hidden_states[middle_layer(encoder)][:, 0].numpy()
    return found


def middle_layer(encoder: Encoder) -> int:
    """Number of the middle layer, counted from 1."""
    return -(-encoder.config.num_hidden_layers // 2)


def cloud(name: str, layer: int, features: np.ndarray, labels: np.ndarray, seed: int = 0) -> Cloud:
    """Embed features (N, H) in the plane with t-SNE.

    Raises:
        OptionError: fewer than `MINIMUM_PAIRS` pairs.
    """
    from sklearn.manifold import TSNE

    if len(features) < MINIMUM_PAIRS:
        raise OptionError(f"{len(features)} pairs; t-SNE needs at least {MINIMUM_PAIRS}")
    perplexity = min(30.0, len(features) / 3 - 1)
    points = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(features)
    return Cloud(name, layer, points, separability(features, labels), separability(points, labels))


def separability(features: np.ndarray, labels: np.ndarray) -> float:
    """Leave-one-out accuracy of the `NEIGHBOURS` nearest points' majority; a tie counts half."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(features).kneighbors(return_distance=False)
    votes = (labels[found] == labels[:, None]).mean(1)
    return float(((votes > 0.5) + 0.5 * (votes == 0.5)).mean())


def draw(clouds: Sequence[Cloud], labels: np.ndarray, names: Sequence[str], out: Path) -> None:
    """Write a PNG, a panel a model.

    Args:
        clouds: of the models.
        labels: (N,) class indices.
        names: of the classes.
        out: the file.
    """
    figure, (row,) = panels(4.2, 4.2, len(clouds))
    for axes, one in zip(row, clouds, strict=True):
        for label, name in enumerate(names):
            axes.scatter(*one.points[labels == label].T, s=6, alpha=0.6, linewidths=0, label=name)
        axes.set(xticks=[], yticks=[], title=f"{one.name}, layer {one.layer}")
        axes.set_xlabel(f"nearest neighbours agree: {one.separability:.1%}", fontsize="small")
    row[0].legend(fontsize="small", markerscale=2)
    save(figure, out)


def record(clouds: Sequence[Cloud], data: LabelledPairs) -> Json:
    """Coordinates and figures as plain data."""
    return {
        "pairs": len(data.pairs),
        "labels": data.labels.tolist(),
        "models": [
            {
                "name": one.name,
                "layer": one.layer,
                "separability": one.separability,
                "separability_2d": one.separability_2d,
                "points": [[round(float(x), 3) for x in point] for point in one.points],
            }
            for one in clouds
        ],
    }


if __name__ == "__main__":
    run(main)
