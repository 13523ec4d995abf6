"""Teach the pair decision on a frozen trunk, and write both as a model directory.

Pairs: made by rule from templates and by editing natural sentences, mined ones with MPNet's cosine as a soft
label, and texts beside their own misspelling.

    python -m studies.general_matcher.train_head --trunk runs/general/m/trunk --out runs/general/open-m

The directory is read by `models.load_pretrained`, its trunk by transformers and, with the pooling of
modules.json, by sentence-transformers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor, nn
from torch.nn import functional as F
from typer import Option

from distill.general.development import SETS, agreement, dev_pairs
from distill.general.edits import edited
from distill.general.heads import head_logits, packed, token_states, with_head
from distill.general.minimal_pairs import generate
from distill.general.noise import Misspeller
from distill.general.options import CACHE, SHARED, Cache, Shared, generator
from distill.general.teachers import load_shards, read_texts
from distill.general.trunk import HELD
from mobilebert_runtime.files import refuse_finished, write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from models import MatcherSettings, find_directory, load_pretrained, save_pretrained
from models.embedding_matcher import AlignmentHead, EmbeddingMatcher
from models.layers import encoder_of
from studies.common.script import Force, Threads, console, run

# MPNet's cosine at which two texts are as likely to say the same as not, and how sharply; set beforehand.
EVEN, SHARPNESS = 0.75, 14.0
SMOOTH = 0.03  # of the labels of made pairs
RATE, BATCH = 2e-3, 64
KEPT_BACK = 8  # one pair in so many fits the temperature


def main(
    trunk: Annotated[Path, Option(help="Model directory of the trunk.")],
    out: Annotated[Path, Option(help="The model directory to write.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    made: Annotated[int, Option(min=1, help="Pairs of each kind from templates, and as many edited.")] = 400,
    mined: Annotated[int, Option(min=1, help="Pairs mined.")] = 4000,
    epochs: Annotated[int, Option(min=1, help="Passes over the pairs.")] = 6,
    share: Annotated[float, Option(min=0, max=1, help="Of the penalty; chosen on dev pairs.")] = 0.3,
    head: Annotated[
        str | None, Option(help="Model whose head and temperature to take as they are; nothing is trained.")
    ] = None,
    eight_bit: Annotated[bool, Option("--eight-bit", help="Write the weights in eight bits.")] = False,
    seed: Annotated[int, Option(help="Of pairs, first weights and order.")] = 0,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Train the head, write the directory, print dev figures."""
    refuse_finished(out, force=force)
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    model, tokenizer = with_head(encoder_of(load_pretrained(trunk)), seed), PairTokenizer.load(trunk)
    facts: dict[str, Any] = {"trunk": trunk.name, "head": head}
    if head is not None:
        given = find_directory(head)
        model.head.load_state_dict(cast(EmbeddingMatcher, load_pretrained(given)).head.state_dict())
        temperature = MatcherSettings.load(given).temperature
        model.head.share.data.fill_(share)
    else:
        pairs = training_pairs(cache, shared / "data", made, mined, seed)
        index: dict[str, int] = {}
        places = np.array([[index.setdefault(text, len(index)) for text in pair] for pair in pairs.texts])
        states = token_states(model, tokenizer, list(index))
        facts |= {"pairs": len(places), "texts": len(index)}
        console().print(json.dumps(facts))
        fitted = np.arange(len(places)) % KEPT_BACK > 0
        train_head(model.head, states, places[fitted], pairs.targets[fitted], epochs, seed)
        model.head.share.data.fill_(share)
        rest = head_logits(model.head, states, *places[~fitted].T)
        temperature = best_temperature(rest, pairs.targets[~fitted])
    settings = MatcherSettings(threshold=0.5, temperature=temperature)
    save_pretrained(model, out, tokenizer_from=trunk, settings=settings, eight_bit=eight_bit)
    write_packed_template(out / "tokenizer.json")
    figures = head_figures(model, tokenizer, shared / "data", seed)
    console().print(json.dumps({"temperature": round(temperature, 3)} | figures))
    write_json(out / "head.json", facts | figures)


def write_packed_template(path: Path) -> None:
    """Let a tokenizer.json begin the second text with a [CLS] of its own."""
    values = json.loads(path.read_text(encoding="utf-8"))
    template = values["post_processor"]

    def part(name: str, kind: int) -> dict[str, dict[str, object]]:
        return {"SpecialToken": {"id": name, "type_id": kind}}

    template["pair"] = [
        part("[CLS]", 0),
        {"Sequence": {"id": "A", "type_id": 0}},
        part("[SEP]", 0),
        part("[CLS]", 1),
        {"Sequence": {"id": "B", "type_id": 1}},
        part("[SEP]", 1),
    ]
    path.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def best_temperature(logits: np.ndarray, goals: np.ndarray) -> float:
    """What the logits are divided by for the best likelihood of `goals` (Guo et al. 2017)."""

    def loss(log_temperature: float) -> float:
        scaled = logits.astype(float) / np.exp(log_temperature)
        return float(np.mean(np.logaddexp(0, scaled) - goals * scaled))

    return float(np.exp(minimize_scalar(loss, bounds=(-2, 2), method="bounded").x))


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs and the probability (N,) each is to get."""

    texts: list[tuple[str, str]]
    targets: np.ndarray


def training_pairs(cache: Path, data: Path, made: int, mined: int, seed: int) -> TrainingPairs:
    """Made, edited and mined pairs, some of these misspelt, and texts beside their own misspelling."""
    draw, misspell = generator(seed), Misspeller(data / "typos/words.tsv")
    known = read_texts(cache / "texts.tsv")
    by_rule = [*generate("train", made, seed), *edited(known[HELD : HELD + 60_000], made, seed)]
    pairs = [(pair.left, pair.right) for pair in by_rule]
    targets = [SMOOTH + (1 - 2 * SMOOTH) * pair.label for pair in by_rule]
    found, cosines = mined_pairs(cache, known, mined, seed)
    for left, right in found:
        pairs.append((misspell.noisy(left, draw) if draw.random() < 0.25 else left, right))
    targets.extend((1 / (1 + np.exp(-SHARPNESS * (cosines - EVEN)))).tolist())
    for left, _ in draw.sample(found, len(found) // 10):
        pairs.append((left, misspell.noisy(left, draw)))
        targets.append(1 - SMOOTH)
    return TrainingPairs(pairs, np.array(targets))


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
            logits = head(*packed(states, places[batch, 0], places[batch, 1]))
            loss = F.binary_cross_entropy_with_logits(logits, goal[batch])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
        console().print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    return head.eval()


def head_figures(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, data: Path, seed: int
) -> dict[str, float]:
    """Dev figures of the head, and its accuracy on further pairs of the training templates, by kind."""

    def logits(left: list[str], right: list[str]) -> np.ndarray:
        found, count = token_states(model, tokenizer, [*left, *right]), len(left)
        return head_logits(model.head, found, np.arange(count), np.arange(count) + count)

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
