"""Attention distributions of teacher and student, head beside head (MobileBERT appendix C, Figure 3).

python -m studies.transfer.attention --out results/transfer/attention.png
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from tokenizers import Tokenizer
from typer import Option

import mobilebert_models
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import padded
from mobilebert_training.finetuning.initial_model import start_directory
from studies.common.plots import panels, save
from studies.common.records import check_outputs
from studies.common.script import Force, run, shown

MAX_LENGTH = 64  # tokens; more cannot be read in a plot


def main(
    out: Annotated[Path, Option(help="PNG to make; the numbers lie beside it as .json.")],
    teacher: Annotated[str, Option(help="minilm, matcher-qqp-m, or a model directory.")] = "minilm",
    student: Annotated[str, Option(help="The same.")] = "matcher-qqp-m",
    pair: Annotated[tuple[str, str], Option(help="Two texts.")] = (
        "How do I reset my phone?",
        "What is the way to restore a phone to factory settings?",
    ),
    layers: Annotated[str, Option(help="Which layers, from 1, separated by commas.")] = "1,6",
    heads: Annotated[int, Option(min=1, help="The first so many heads.")] = 6,
    force: Force = False,
) -> None:
    """Draw the attention of teacher and student; write how far each student head diverges.

    The numbers: the divergence of each student head from the teacher's of the same number, and from its
    nearest.
    """
    numbers = out.with_suffix(".json")
    check_outputs(out, numbers, force=force)
    try:
        wanted = [int(part) for part in layers.split(",")]
    except ValueError as error:
        raise OptionError(f"--layers {layers!r}: expected numbers separated by commas") from error
    maps = [attention_maps(load_encoder(name), start_directory(name), pair) for name in (teacher, student)]
    rows = draw(maps[0], maps[1], wanted, heads, out)
    names = {"teacher": shown(teacher), "student": shown(student)}
    write_json(numbers, names | {"pair": pair, "tokens": maps[0].tokens, "layers": rows})


def load_encoder(name: str) -> Encoder:
    """The encoder of minilm, a shipped matcher or a model directory."""
    return encoder_of(mobilebert_models.load_pretrained(start_directory(name)))


@dataclass(frozen=True)
class AttentionMaps:
    """What one encoder attends to in one pair."""

    tokens: list[str]  # S of them
    layers: list[np.ndarray]  # each (A, S, S): a distribution over the last axis


def attention_maps(encoder: Encoder, directory: Path, pair: Pair) -> AttentionMaps:
    """Run one pair through an encoder.

    Args:
        encoder: in eval mode.
        directory: holds its tokenizer.json.
        pair: two texts.
    """
    tokenizer = PairTokenizer.load(directory)
    ((ids, types),) = tokenizer.ids([pair], MAX_LENGTH)
    names = Tokenizer.from_file(str(directory / "tokenizer.json"))
    inputs = padded(tokenizer, [(ids, types)])
    with torch.inference_mode():
        scores = encoder(**inputs, capture=True).attention_scores
    return AttentionMaps([str(names.id_to_token(i)) for i in ids], [s[0].softmax(-1).numpy() for s in scores])


def divergence(teacher: np.ndarray, student: np.ndarray) -> np.ndarray:
    """KL(teacher head ‖ student head) of every two heads of a layer, a mean over the queries: (A, A').

    The diagonal's mean is the attention transfer loss (Eq. 3). A row whose smallest entry is off the diagonal
    is a head that the student has under another number, as the paper finds without attention transfer.

    Args:
        teacher: (A, S, S).
        student: (A', S, S).
    """
    tiny = np.finfo(np.float64).tiny
    p, q = teacher.astype(np.float64).clip(tiny), student.astype(np.float64).clip(tiny)
    own = (p * np.log(p)).sum(-1).mean(-1)  # (A, S, S) → (A,)
    cross = np.einsum("ast,bst->ab", p, np.log(q)) / p.shape[1]  # over keys, mean over queries
    return own[:, None] - cross


def compare(teacher: AttentionMaps, student: AttentionMaps, layers: Sequence[int]) -> list[dict[str, Any]]:
    """For each layer, counted from 1: the divergence of each head from its own and its best counterpart.

    Raises:
        OptionError: see there.
    """
    if teacher.tokens != student.tokens:
        raise OptionError("teacher and student cut the pair into other tokens; give models of one vocabulary")
    most = min(len(teacher.layers), len(student.layers))
    if not layers or min(layers) < 1 or max(layers) > most:
        raise OptionError(f"--layers {','.join(map(str, layers))}: both models have layers 1 to {most}")
    rows = []
    for layer in layers:
        found = divergence(teacher.layers[layer - 1], student.layers[layer - 1])
        rows.append(
            {
                "layer": layer,
                "same_head": np.diagonal(found).tolist(),
                "best_head": found.min(1).tolist(),
                "best_head_number": (found.argmin(1) + 1).tolist(),
            }
        )
    return rows


def draw(
    teacher: AttentionMaps, student: AttentionMaps, layers: Sequence[int], heads: int, out: Path
) -> list[dict[str, Any]]:
    """Write a PNG: for each layer the teacher's heads in a row over the student's; returns `compare`.

    Args:
        teacher: its maps.
        student: its maps of the same pair.
        layers: which, counted from 1.
        heads: the first so many.
        out: the file.

    Raises:
        OptionError: as `compare`.
    """
    rows = compare(teacher, student, layers)
    count_shown = min(
        heads, *(len(maps.layers[layer - 1]) for maps in (teacher, student) for layer in layers)
    )
    size, count = len(teacher.tokens), 2 * len(layers)
    panel = max(1.7, 0.1 * size)
    figure, axes = panels(panel + 0.2, panel + 0.1, count_shown, count)
    image: Any = None
    for i, row in enumerate(rows):
        for j, (who, maps) in enumerate((("teacher", teacher), ("student", student))):
            for head in range(count_shown):
                axis = axes[2 * i + j, head]
                image = axis.imshow(
                    maps.layers[row["layer"] - 1][head],
                    cmap="viridis",
                    vmin=0,
                    vmax=1,
                    interpolation="nearest",
                )
                note = f"head {head + 1}" if j == 0 else f"KL {row['same_head'][head]:.2f}"
                axis.set_title(note, fontsize=8)
                axis.set_xticks([])
                labels = teacher.tokens if head == 0 else []
                axis.set_yticks(range(len(labels)), labels, fontsize=max(3, min(6, 120 // size)))
            axes[2 * i + j, 0].set_ylabel(f"layer {row['layer']} · {who}", fontsize=8)
    figure.colorbar(image, ax=axes, shrink=0.5, label="attention of the row's token")
    save(figure, out)
    return rows


if __name__ == "__main__":
    run(main)
