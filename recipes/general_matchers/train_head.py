"""Teach the pair decision on a frozen trunk, and write both as a model directory.

Pairs: made by rule from templates and by editing natural sentences, mined ones with a teacher's cosine as a
soft label, and texts beside their own misspelling.

The directory is read by `models.load_pretrained`, its trunk by transformers and, with the pooling of
modules.json, by sentence-transformers.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar
from torch import nn
from torch.nn import functional as F

from mobilebert_models import MatcherSettings, load_pretrained, save_pretrained
from mobilebert_models.networks.embedding_matcher import NONE, AlignmentHead, EmbeddingMatcher
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.files import refuse_finished, write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.development import SETS, agreement, dev_pairs
from recipes.general_matchers.edits import edited
from recipes.general_matchers.heads import (
    TEXTS_AT_ONCE,
    TokenStates,
    distinct_texts,
    head_logits,
    packed,
    pair_logits,
    token_states,
    with_head,
)
from recipes.general_matchers.minimal_pairs import generate
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.teachers import MAX_LENGTH, load_shards, read_text_column
from recipes.general_matchers.trunk import held

# A teacher's cosine at which two texts are as likely to say the same as not, and how sharply.
EVEN, SHARPNESS = 0.75, 14.0
# Weights of the cosines of the vectors, of [CLS], of the embedding output and of nearest tokens while the
# head is trained. Those after it are chosen on dev pairs, by studies.general_matcher.pair_decision.
STATEMENTS, QUESTIONS = (1.0, 0.1, 0.2, 0.0), (1.0, 0.5, -0.1, 0.0)
OVERLAP = (0.9, 3.0, 0.78)  # what `AlignmentHead.weigh_overlap` sets after the training; chosen likewise
SMOOTH = 0.03  # of the labels of made pairs
RATE, BATCH = 2e-3, 64
LOOKED_AT = 30  # pairs for each that is wanted of those that differ in few tokens
KEPT_BACK = 8  # one pair in so many fits the temperature, and the logits' offset
EDITED = 60_000  # texts at most that are edited
RIDGE = 1.0  # of the fit of tokens' rarity
HEAD_FILE = "head.json"
Weights = tuple[float, float, float, float]
Overlap = tuple[float, float, float]


@dataclass(frozen=True)
class HeadConfig:
    """Of which trunk and pairs a head is made, and how."""

    trunk: Path  # model directory of the trunk
    out: Path  # the model directory to write
    cache: Path  # folder of texts.tsv, the teachers' vectors and the neighbours
    data: Path | None = None  # data sets: dev figures and real misspellings; neither without it
    made: int = 400  # pairs of each kind from templates, and as many edited
    mined: int = 4000  # pairs mined
    alike: int = 0  # further mined pairs that share nearly all tokens, at most
    teacher: str = "mpnet"  # whose cosine is the mined pairs' soft label
    epochs: int = 6  # passes over the pairs
    statements: Weights = STATEMENTS  # of the cosines after the training
    questions: Weights = QUESTIONS
    overlap: Overlap = OVERLAP  # how much the distance of two questions counts
    rare: bool = False  # rare tokens count more in the mean of the embedding output, after the training
    penalty: float = 1.0  # share of the penalty that is kept after the training
    eight_bit: bool = False  # write the weights in eight bits
    seed: int = 0  # of pairs, first weights and order
    threads: int = 1
    force: bool = False  # replace what lies at `out`


def write_matcher(config: HeadConfig, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Train the head and write the directory, head.json in it last.

    Args:
        config: what is made of what.
        progress: called with facts, losses and figures.

    Returns:
        What head.json holds: pairs, temperature, offset of the logits, dev figures.

    Raises:
        OutputError: `out` exists, without `force`.
    """
    refuse_finished(config.out, force=config.force)
    torch.set_num_threads(config.threads)
    trunk, out, seed = config.trunk, config.out, config.seed
    torch.manual_seed(seed)
    model, tokenizer = with_head(encoder_of(load_pretrained(trunk)), seed), PairTokenizer.load(trunk)
    model.head.know_questions(tokenizer.vocabulary())
    model.head.weigh_cosines(STATEMENTS, QUESTIONS)
    pairs = training_pairs(config)
    texts, places = distinct_texts(pairs.texts)
    states = token_states(model, tokenizer, texts)
    facts: dict[str, Any] = {"trunk": trunk.name, "pairs": len(places), "texts": len(texts)}
    progress(json.dumps(facts))
    fitted = np.arange(len(places)) % KEPT_BACK > 0
    train_head(model.head, states, places[fitted], pairs.targets[fitted], config.epochs, seed, progress)
    model.head.weigh_cosines(config.statements, config.questions)
    model.head.weigh_overlap(*config.overlap)
    if config.rare:
        fit_rarity(model.head, states)
    model.head.share.data.fill_(config.penalty)
    rest = head_logits(model.head, states, *places[~fitted].T)
    offset = best_offset(rest, pairs.targets[~fitted])
    model.head.rescale(1.0, offset)
    temperature = best_temperature(rest + offset, pairs.targets[~fitted])
    settings = MatcherSettings(threshold=0.5, temperature=temperature)
    save_pretrained(model, out, tokenizer_from=trunk, settings=settings, eight_bit=config.eight_bit)
    write_packed_template(out / "tokenizer.json")
    figures = head_figures(model, tokenizer, config.data, seed)
    facts |= {"temperature": round(temperature, 3), "offset": round(offset, 3)} | figures
    progress(json.dumps(facts))
    write_json(out / HEAD_FILE, facts)
    return facts


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


def best_offset(logits: np.ndarray, goals: np.ndarray) -> float:
    """What is added to the logits, beside a temperature, for the best likelihood of `goals` (Platt 1999).

    Other cosines than those of the training, and a penalty that is kept in part alone, leave the logits too
    high or too low.
    """

    def loss(values: np.ndarray) -> float:
        log_slope, offset = values
        scaled = (logits.astype(float) + offset) * np.exp(log_slope)
        return float(np.mean(np.logaddexp(0, scaled) - goals * scaled))

    return float(minimize(loss, np.zeros(2), method="BFGS").x[1])


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs and the probability (N,) each is to get."""

    texts: list[tuple[str, str]]
    targets: np.ndarray


def training_pairs(config: HeadConfig) -> TrainingPairs:
    """Made, edited and mined pairs, some of these misspelt, and texts beside their own misspelling."""
    made, seed = config.made, config.seed
    draw, misspell = generator(seed), Misspeller(config.data / MISSPELLINGS if config.data else None)
    texts = read_text_column(config.cache / "texts.tsv")
    natural = texts[held(len(texts)) :][:EDITED]
    by_rule = [*generate("train", made, seed), *edited(natural, made, seed)]
    pairs = [(pair.left, pair.right) for pair in by_rule]
    targets = [SMOOTH + (1 - 2 * SMOOTH) * pair.label for pair in by_rule]
    known = ReadTexts.load(config.cache, texts, config.teacher)
    found, cosines = mined_pairs(known, config.mined, seed)
    if config.alike:
        more, further = alike_pairs(known, PairTokenizer.load(config.trunk), config.alike, seed)
        found, cosines = found + more, np.concatenate([cosines, further])
    for left, right in found:
        pairs.append((misspell.noisy(left, draw) if draw.random() < 0.25 else left, right))
    soft = 1 / (1 + np.exp(-SHARPNESS * (cosines - EVEN)))
    # Sentence vectors hardly tell numbers apart: another number is another meaning, whatever they say.
    soft[[_numbers(left) != _numbers(right) for left, right in found]] = SMOOTH
    targets.extend(soft.tolist())
    for left, _ in draw.sample(found, len(found) // 10):
        pairs.append((left, misspell.noisy(left, draw)))
        targets.append(1 - SMOOTH)
    return TrainingPairs(pairs, np.array(targets))


def _numbers(text: str) -> list[str]:
    """The numbers of a text, sorted."""
    return sorted(re.findall(r"\d+", text))


@dataclass(frozen=True)
class ReadTexts:
    """The texts of a cache with what mining knows of them.

    Attributes:
        texts: N of them.
        vectors: (N, W) float16, of a teacher.
        rows: those that the teacher has read.
        near: (N, K) near texts of each text, from the nearest on; -1 where there is none.
    """

    texts: list[str]
    vectors: np.ndarray
    rows: np.ndarray
    near: np.ndarray

    @classmethod
    def load(cls, cache: Path, texts: list[str], teacher: str) -> ReadTexts:
        """Vectors of a teacher's folder and neighbours.npy."""
        vectors, there = load_shards(cache / teacher, len(texts))
        near = np.load(cache / "neighbours.npy", mmap_mode="r")
        return cls(texts, vectors, np.flatnonzero(there), near)

    def draw(self, draw: np.random.Generator, count: int) -> np.ndarray:
        """Places of `count` texts that may be trained on."""
        return draw.choice(self.rows[self.rows >= held(len(self.texts))], count)

    def pairs(self, left: np.ndarray, right: np.ndarray) -> tuple[list[tuple[str, str]], np.ndarray]:
        """Texts at places (N,) and the teacher's cosines (N,)."""
        cosines = (self.vectors[left].astype(np.float32) * self.vectors[right].astype(np.float32)).sum(1)
        return [(self.texts[a], self.texts[b]) for a, b in zip(left, right, strict=True)], cosines


def mined_pairs(known: ReadTexts, count: int, seed: int) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Pairs at three distances (rank 1-4, rank 5-30, random) and the teacher's cosines."""
    draw = np.random.default_rng(seed)
    left = known.draw(draw, count)
    turn, ranks = np.arange(count) % 5, known.near.shape[1]
    rank = np.select([turn < 2, turn < 4], [draw.integers(0, 4, count), draw.integers(4, ranks, count)], -1)
    right = np.where(rank >= 0, known.near[left, np.maximum(rank, 0)], draw.choice(known.rows, count))
    return known.pairs(left[right >= 0], right[right >= 0])


def alike_pairs(
    known: ReadTexts, tokenizer: PairTokenizer, count: int, seed: int
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Near pairs that differ in few tokens, where the penalty counts, and the teacher's cosines."""
    draw = np.random.default_rng((seed, 1))
    left = known.draw(draw, LOOKED_AT * count)
    right = known.near[left, draw.integers(0, known.near.shape[1], len(left))]
    tokens = [frozenset(ids) for ids, _ in tokenizer.ids(known.texts, MAX_LENGTH)]
    kept: dict[tuple[int, int], None] = {}
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        if b >= 0 and 0 < max(len(tokens[a] - tokens[b]), len(tokens[b] - tokens[a])) <= NONE + 1:
            kept[min(a, b), max(a, b)] = None
    return known.pairs(*np.array(list(kept)[:count], int).reshape(-1, 2).T)


def fit_rarity(head: AlignmentHead, states: Sequence[TokenStates]) -> None:
    """Fit how rare a token is in some texts, log (texts / texts with it), to its embedding output.

    Linear least squares over all tokens of the texts; what begins and ends every text is not rare.
    """
    within = Counter(token for text in states for token in set(text.ids.tolist()))
    entries = torch.zeros(max(within) + 1, dtype=torch.float64)
    for token, count in within.items():
        entries[token] = math.log(len(states) / count)
    width = head.alone.in_features
    products = torch.zeros(width + 1, width + 2, dtype=torch.float64)
    for start in range(0, len(states), TEXTS_AT_ONCE):
        part = states[start : start + TEXTS_AT_ONCE]
        embedded = torch.cat([text.states[:, :width] for text in part]).double()
        wanted = torch.cat([entries[text.ids] for text in part])[:, None]
        known = torch.cat([embedded, torch.ones_like(wanted)], 1)
        products += known.t() @ torch.cat([known, wanted], 1)
    hold = RIDGE * torch.eye(width + 1, dtype=torch.float64)
    found = torch.linalg.solve(products[:, :-1] + hold, products[:, -1]).float()
    rarity = head.weigh_rare_tokens()
    rarity.weight.copy_(found[None, :-1])
    rarity.bias.copy_(found[-1:])


def train_head(
    head: AlignmentHead,
    states: list[TokenStates],
    places: np.ndarray,
    targets: np.ndarray,
    epochs: int,
    seed: int,
    progress: Callable[[str], None] = lambda _: None,
) -> AlignmentHead:
    """Train on pairs of `states` at `places` (N, 2) towards `targets` (N,), in place."""
    optimiser = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.01)
    lengths = np.array([len(states[a].ids) + len(states[b].ids) for a, b in places])
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
        progress(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    return head.eval()


def head_figures(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, data: Path | None, seed: int
) -> dict[str, float]:
    """Dev figures of the head, and its accuracy on further pairs of the training templates, by kind."""
    figures = {}
    for name, *rest in SETS if data is not None else ():
        left, right, labels = dev_pairs(data, *rest)
        figures[name] = round(agreement(pair_logits(model, tokenizer, left, right), labels), 4)
    made = list(generate("train", 60, seed + 1))
    logits = pair_logits(model, tokenizer, [p.left for p in made], [p.right for p in made])
    hits = (logits > 0) == np.array([p.label for p in made])
    for kind in sorted({p.kind for p in made}):
        own = np.array([p.kind == kind for p in made])
        figures[f"made_{kind}"] = round(float(hits[own].mean()), 3)
    return figures
