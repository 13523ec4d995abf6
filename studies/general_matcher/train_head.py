"""Teach the pair decision on a frozen trunk: made pairs, misspelt texts, MPNet's word on mined pairs.

python -m studies.general_matcher.train_head --trunk runs/general/m/trunk --out runs/general/head
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from safetensors.torch import save_file
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.nn import functional as F
from typer import Option

from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from models import load_pretrained
from models.layers import Encoder, encoder_of
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.development import SETS, agreement, dev_pairs
from studies.general_matcher.heads import AlignmentHead, head_logits, stacked, token_states
from studies.general_matcher.minimal_pairs import generate
from studies.general_matcher.noise import Misspeller
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared, generator
from studies.general_matcher.teachers import load_shards, read_texts
from studies.general_matcher.trunk import HELD

# MPNet's cosine at which two texts are as likely to say the same as not, and how sharply; set beforehand.
EVEN, SHARPNESS = 0.75, 14.0
SMOOTH = 0.03  # of the labels of made pairs
RATE, BATCH = 2e-3, 96


def main(
    trunk: Annotated[Path, Option(help="Model directory of the trunk.")],
    out: Annotated[Path, Option(help="Folder for head.safetensors and decision.json.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    made: Annotated[int, Option(min=1, help="Pairs made of each kind.")] = 400,
    mined: Annotated[int, Option(min=1, help="Pairs mined.")] = 2500,
    epochs: Annotated[int, Option(min=1, help="Passes over the pairs.")] = 6,
    seed: Annotated[int, Option(help="Of pairs, first weights and order.")] = 0,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Train the head, fit the plain cosine's threshold, print dev figures."""
    out.mkdir(parents=True, exist_ok=True)
    check_outputs(out / "head.safetensors", out / "decision.json", force=force)
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    pairs = training_pairs(cache, shared / "data", made, mined, seed)
    index: dict[str, int] = {}
    places = np.array([[index.setdefault(text, len(index)) for text in pair] for pair in pairs.texts])
    encoder, tokenizer = encoder_of(load_pretrained(trunk)), PairTokenizer.load(trunk)
    states = token_states(encoder, tokenizer, list(index))
    console().print(f"{len(places):,} pairs of {len(index):,} texts")
    size = encoder.config.hidden_size
    head = train_head(AlignmentHead(size), states, places, pairs.targets, epochs, seed)
    figures = head_figures(head, encoder, tokenizer, shared / "data", seed)
    console().print(json.dumps(figures))
    write_json(out / "decision.json", cosine_decision(states, places, pairs, size))
    save_file({k: v.contiguous() for k, v in head.state_dict().items()}, out / "head.safetensors")


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs, the probability (N,) each is to get, and which of them were mined."""

    texts: list[tuple[str, str]]
    targets: np.ndarray
    mined: slice


def training_pairs(cache: Path, data: Path, made: int, mined: int, seed: int) -> TrainingPairs:
    """Made pairs, mined pairs with some left texts misspelt, and texts beside their own misspelling."""
    draw, misspell = generator(seed), Misspeller(data / "typos/words.tsv")
    by_rule = list(generate("train", made, seed))
    pairs = [(pair.left, pair.right) for pair in by_rule]
    targets = [SMOOTH + (1 - 2 * SMOOTH) * pair.label for pair in by_rule]
    found, cosines = mined_pairs(cache, read_texts(cache / "texts.tsv"), mined, seed)
    for left, right in found:
        pairs.append((misspell.noisy(left, draw) if draw.random() < 0.25 else left, right))
    targets.extend((1 / (1 + np.exp(-SHARPNESS * (cosines - EVEN)))).tolist())
    for left, _ in draw.sample(found, len(found) // 10):
        pairs.append((left, misspell.noisy(left, draw)))
        targets.append(1 - SMOOTH)
    return TrainingPairs(pairs, np.array(targets), slice(len(by_rule), len(by_rule) + len(found)))


def mined_pairs(
    cache: Path, texts: list[str], count: int, seed: int
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Pairs at three distances (rank 1-4, rank 5-30, random) and MPNet's cosines."""
    vectors, there = load_shards(cache / "mpnet", len(texts))
    near, draw = np.load(cache / "neighbours.npy", mmap_mode="r"), np.random.default_rng(seed)
    rows = np.flatnonzero(there)
    left = draw.choice(rows[rows >= HELD], count)
    turn, ranks = np.arange(count) % 5, near.shape[1]
    rank = np.select([turn < 2, turn < 4], [draw.integers(0, 4, count), draw.integers(4, ranks, count)], -1)
    right = np.where(rank >= 0, near[left, np.maximum(rank, 0)], draw.choice(rows, count))
    left, right = left[right >= 0], right[right >= 0]
    cosines = (vectors[left].astype(np.float32) * vectors[right].astype(np.float32)).sum(1)
    return [(texts[a], texts[b]) for a, b in zip(left, right, strict=True)], cosines


def train_head(
    head: AlignmentHead, states: list[Tensor], places: np.ndarray, targets: np.ndarray, epochs: int, seed: int
) -> AlignmentHead:
    """Train on pairs of `states` at `places` (N, 2) towards `targets` (N,), in place."""
    optimiser = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.01)
    lengths = np.array([len(states[a]) + len(states[b]) for a, b in places])
    goal = torch.tensor(targets, dtype=torch.float32)
    for epoch in range(epochs):
        order = np.random.default_rng((seed, epoch))
        like = np.argsort(lengths + 8 * order.random(len(lengths)))
        batches = np.array_split(like, max(1, len(like) // BATCH))
        losses = []
        head.train()
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - epoch / epochs)
        for number in order.permutation(len(batches)):
            batch = batches[number]
            left, right = (stacked([states[i] for i in places[batch, side]]) for side in (0, 1))
            loss = F.binary_cross_entropy_with_logits(head(*left, *right), goal[batch])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
        console().print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    return head.eval()


def cosine_decision(
    states: list[Tensor], places: np.ndarray, pairs: TrainingPairs, size: int
) -> dict[str, float | str]:
    """Scale and shift of the plain cosine, fitted to MPNet's word on the mined pairs by likelihood."""
    vectors = F.normalize(torch.stack([s[:, :size].float().mean(0) for s in states]), dim=-1).numpy()
    cosines = (vectors[places[pairs.mined, 0]] * vectors[places[pairs.mined, 1]]).sum(1)
    goals = pairs.targets[pairs.mined]

    def loss(p: np.ndarray) -> float:
        logits = p[0] * cosines + p[1]
        return float(np.mean(np.logaddexp(0, logits) - goals * logits))

    scale, shift = (float(value) for value in minimize(loss, [10.0, -7.0]).x)
    decision: dict[str, float | str] = {"kind": "cosine", "scale": scale, "shift": shift, "threshold": 0.5}
    return decision | {"cosine_at_threshold": -shift / scale}


def head_figures(
    head: AlignmentHead, encoder: Encoder, tokenizer: PairTokenizer, data: Path, seed: int
) -> dict[str, float]:
    """Dev figures of the head, and its accuracy on further pairs of the training templates, by kind."""

    def logits(left: list[str], right: list[str]) -> np.ndarray:
        found, count = token_states(encoder, tokenizer, [*left, *right]), len(left)
        return head_logits(head, found, np.arange(count), np.arange(count) + count)

    figures = {}
    for name, *rest in SETS:
        left, right, labels = dev_pairs(data, *rest)
        figures[name] = round(agreement(logits(left, right), labels), 4)
    made = list(generate("train", 60, seed + 1))
    hits = (logits([p.left for p in made], [p.right for p in made]) > 0) == np.array([p.label for p in made])
    for kind in sorted({p.kind for p in made}):
        own = np.array([p.kind == kind for p in made])
        figures[f"made_{kind}"] = round(float(hits[own].mean()), 3)
    return figures


if __name__ == "__main__":
    run(main)
