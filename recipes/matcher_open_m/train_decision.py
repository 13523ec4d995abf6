r"""Train the pair decision on a frozen trunk, of free labels and a teacher's vectors; measure it.

    python -m recipes.matcher_open_m.train_decision --model RUN/trunk --out head \
        --pool ~/mission/run/pool --mpnet FOLDER

Labelled pairs are weighed so that every domain counts alike and, within all of them, length divergence says
nothing of the label (`LengthPrior.rebalancing_weights`). Near texts of the pool have a soft label: the
logistic of MPNet's cosine whose slope and offset are fitted to labelled pairs. Choices are made on held-out
intents, MNLI pairs kept back and natural pairs of another seed; thresholds are those of equal error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional as F
from typer import Option

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.evaluation.bias_measures import tpr_gap
from mobilebert_matching.evaluation.metrics import auc
from mobilebert_matching.evaluation.score_calibration import fit_debiased_settings, probabilities
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import MatcherSettings, find_directory, load_pretrained, save_pretrained
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import encoder_of
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from recipes.general_matchers.heads import TokenStates, distinct_texts, packed, token_states
from recipes.general_matchers.teachers import load_mpnet, vectors
from recipes.general_matchers.train_head import write_packed_template
from recipes.matcher_open_m.decision_pairs import DomainPair, development_pairs, training_pairs
from recipes.matcher_open_m.natural_pairs import NaturalPair, natural_pairs, unused_sentences
from recipes.matcher_open_m.near import neighbours
from recipes.matcher_open_m.pool import Pool
from studies.common.script import console, run

RATE, BATCH, DECAY = 1e-3, 64, 0.01
FITTED = 300  # labelled pairs of a domain to which the teacher's logistic is fitted
HELD = 2048  # first texts of the pool, which the trunk was not trained on


@dataclass(frozen=True)
class Examples:
    """Pairs as places among texts.

    Attributes:
        places: (N, 2).
        targets: (N,) probability of label 1.
        weights: (N,), mean 1.
        domains: (N,) names.
    """

    places: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    domains: np.ndarray


def main(
    model: Annotated[str, Option(help="Trunk, or embedding matcher whose trunk is used.")],
    pool: Annotated[Path, Option(help="Pool of texts with MPNet's vectors.")],
    mpnet: Annotated[Path, Option(help="Folder of all-mpnet-base-v2.")],
    out: Annotated[Path, Option(help="Folder of matcher/ and record.json.")],
    shared: Annotated[Path, Option(help="Folder with data/ and corpora/.")] = Path("../shared"),
    each: Annotated[int, Option(min=8, help="Pairs of each kind of edit.")] = 3000,
    others: Annotated[int, Option(min=8, help="Pairs of each other domain.")] = 3000,
    mined: Annotated[int, Option(min=0, help="Near pairs with a soft label.")] = 6000,
    epochs: Annotated[int, Option(min=1)] = 4,
    seed: Annotated[int, Option()] = 0,
    threads: Annotated[int, Option(min=1)] = 1,
) -> None:
    """Train, write OUT/matcher, and record.json with figures of cosine, present and new decision."""
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    folder = find_directory(model)
    tokenizer = PairTokenizer.load(folder).without_spelling()
    matcher = as_matcher(load_pretrained(folder), tokenizer)
    say = console().print

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.stack([state.vector for state in token_states(matcher, tokenizer, texts)])

    known = Pool(pool, tokenizer)
    texts = known.texts[HELD:]
    labelled = training_pairs(texts[:60_000], shared / "data", embed, each, others, seed)
    say(f"{len(labelled)} labelled pairs")
    soft = mined_pairs(known, mined, seed)
    slope, offset = fit_teacher(labelled, mpnet, seed)
    say(f"a pair of MPNet's cosine c is the same with odds exp({slope:.2f} c {offset:+.2f})")
    examples, read = to_examples(labelled, soft, slope, offset)
    states = token_states(matcher, tokenizer, read)
    head = LearnedDecision(matcher.config.hidden_size)
    head.know_questions(tokenizer.vocabulary())
    train_decision(head, states, examples, epochs, seed, say)
    development = [*development_pairs(shared / "data", embed, 600, seed)]
    natural = natural_pairs(unused_sentences(shared / "corpora", known.texts, seed + 1), 300, seed + 1)
    development += [as_domain(pair) for pair in natural]
    record = {"model": Path(model).name, "pairs": len(labelled), "mined": len(soft[0]), "epochs": epochs}
    record |= {"teacher": [slope, offset]} | measure(matcher, head, tokenizer, development)
    settings = fitted_settings(head, matcher, tokenizer, development)
    decided = EmbeddingMatcher(matcher.encoder, head).eval()
    save_pretrained(decided, out / "matcher", tokenizer_from=folder, settings=settings)
    write_packed_template(out / "matcher/tokenizer.json")
    write_json(out / "record.json", record | {"settings": asdict(settings)})
    say(json.dumps(record, indent=1))


def as_matcher(network: nn.Module, tokenizer: PairTokenizer) -> EmbeddingMatcher:
    """An embedding matcher as it is; a trunk with a decision that is the cosine."""
    if isinstance(network, EmbeddingMatcher):
        return network
    encoder = encoder_of(network)
    head = LearnedDecision(encoder.config.hidden_size)
    head.know_questions(tokenizer.vocabulary())
    return EmbeddingMatcher(encoder, head).eval()


def fitted_settings(
    head: LearnedDecision, matcher: EmbeddingMatcher, tokenizer: PairTokenizer, pairs: Sequence[DomainPair]
) -> MatcherSettings:
    """Temperature, length shift of equal recall, and the threshold of equal error over the domains."""
    texts, places = distinct_texts([pair.texts for pair in pairs])
    logits = all_logits(head, token_states(matcher, tokenizer, texts), places)
    found = LabelledPairs([pair.texts for pair in pairs], np.array([pair.label for pair in pairs]))
    both = np.stack([-logits / 2, logits / 2], 1)
    prior = LengthPrior.fit(*found)
    settings = fit_debiased_settings(both, found, prior, offset=True, equal_recall=True)
    scores = probabilities(both, settings, found.pairs)
    threshold = equal_error(scores, found.labels, np.array([pair.domain for pair in pairs]))
    return replace(settings, threshold=threshold)


def as_domain(pair: NaturalPair) -> DomainPair:
    """A natural pair as one of its domain."""
    return DomainPair("natural", pair.label, (pair.left, pair.right))


def mined_pairs(pool: Pool, count: int, seed: int) -> tuple[list[Pair], np.ndarray]:
    """Near pairs of the texts that MPNet has read, at ranks 1 to 8 and at random, and its cosines (N,)."""
    draw = np.random.default_rng(seed)
    near = neighbours(pool.near[: pool.read])
    left = draw.integers(HELD, pool.read, count)
    rank = draw.integers(0, near.shape[1] + 1, count)
    right = np.where(
        rank < near.shape[1],
        near[left, np.minimum(rank, near.shape[1] - 1)],
        draw.integers(HELD, pool.read, count),
    )
    kept = right >= HELD
    left, right = left[kept], right[kept]
    cosines = (pool.wide[left].astype(np.float32) * pool.wide[right].astype(np.float32)).sum(1)
    return [(pool.texts[a], pool.texts[b]) for a, b in zip(left, right, strict=True)], cosines


def fit_teacher(pairs: Sequence[DomainPair], mpnet: Path, seed: int) -> tuple[float, float]:
    """Slope and offset of the log-odds of label 1 by MPNet's cosine, on pairs of MNLI and of intents."""
    draw = np.random.default_rng(seed)
    chosen: list[DomainPair] = []
    for domain in ("mnli", "intents"):
        own = [pair for pair in pairs if pair.domain == domain]
        chosen += [own[i] for i in draw.permutation(len(own))[:FITTED]]
    texts, places = distinct_texts([pair.texts for pair in chosen])
    found = vectors(load_mpnet(mpnet), texts)
    cosines = (found[places[:, 0]] * found[places[:, 1]]).sum(1)
    labels = np.array([pair.label for pair in chosen])
    fitted = LogisticRegression(C=1e3).fit(cosines[:, None], labels)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def to_examples(
    labelled: Sequence[DomainPair], soft: tuple[list[Pair], np.ndarray], slope: float, offset: float
) -> tuple[Examples, list[str]]:
    """All pairs with targets and weights, and the texts their places are among."""
    pairs = [pair.texts for pair in labelled]
    labels = np.array([pair.label for pair in labelled])
    balance = LengthPrior.fit(pairs, labels).rebalancing_weights(pairs, labels)
    domains = np.array([pair.domain for pair in labelled] + ["mined"] * len(soft[0]))
    weights = np.concatenate([balance, np.ones(len(soft[0]))])
    for domain in np.unique(domains):
        weights[domains == domain] /= weights[domains == domain].sum()
    targets = np.concatenate([labels, 1 / (1 + np.exp(-slope * soft[1] - offset))])
    texts, places = distinct_texts([*pairs, *soft[0]])
    return Examples(places, targets, weights / weights.mean(), domains), texts


def train_decision(
    head: LearnedDecision,
    states: list[TokenStates],
    examples: Examples,
    epochs: int,
    seed: int,
    say: Any = lambda _: None,
) -> None:
    """Train in place, with a rate that falls to nothing."""
    optimiser = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    lengths = np.array([len(states[a].ids) + len(states[b].ids) for a, b in examples.places])
    goals, weights = (torch.tensor(v, dtype=torch.float32) for v in (examples.targets, examples.weights))
    count = max(1, len(lengths) // BATCH)
    done = 0
    head.train()
    for epoch in range(epochs):
        draw = np.random.default_rng((seed, epoch))
        batches = np.array_split(np.argsort(lengths + 8 * draw.random(len(lengths))), count)
        losses = []
        for number in draw.permutation(count):
            batch = batches[number]
            for group in optimiser.param_groups:
                group["lr"] = RATE * (1 - done / (epochs * count))
            logits = decide(head, states, *examples.places[batch].T)
            each = F.binary_cross_entropy_with_logits(logits, goals[batch], reduction="none")
            loss = (each * weights[batch]).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            done += 1
        say(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    head.eval()


def decide(
    head: LearnedDecision, states: Sequence[TokenStates], left: np.ndarray, right: np.ndarray
) -> Tensor:
    """Logits (B,) of pairs by their places."""
    logits: Tensor = head(*packed(states, left, right))
    return logits


def all_logits(head: LearnedDecision, states: Sequence[TokenStates], places: np.ndarray) -> np.ndarray:
    """Logits (N,) without gradients."""
    with torch.inference_mode():
        parts = [
            decide(head, states, *part.T).numpy() for part in np.array_split(places, len(places) // 64 + 1)
        ]
    return np.concatenate(parts)


def measure(
    matcher: EmbeddingMatcher, head: LearnedDecision, tokenizer: PairTokenizer, pairs: Sequence[DomainPair]
) -> dict[str, Any]:
    """AUC by domain of the vectors' cosine, the present decision and the new one; thresholds that travel.

    `accuracy`: of each domain at the equal-error threshold of the *other* domains, beside the best possible.
    """
    texts, places = distinct_texts([pair.texts for pair in pairs])
    states = token_states(matcher, tokenizer, texts)
    labels = np.array([pair.label for pair in pairs])
    domains = np.array([pair.domain for pair in pairs])
    found = np.stack([state.vector for state in states])
    cosine = (found[places[:, 0]] * found[places[:, 1]]).sum(1)
    with torch.inference_mode():
        parts = np.array_split(places, len(places) // 64 + 1)
        old = np.concatenate([matcher.head(*packed(states, *part.T)).numpy() for part in parts])
    record: dict[str, Any] = {}
    for name, scores in (("cosine", cosine), ("present", old), ("learned", all_logits(head, states, places))):
        record[name] = by_domain(scores, labels, domains)
    prior = LengthPrior.fit([pair.texts for pair in pairs], labels)
    category = prior.category([pair.texts for pair in pairs])
    for name, scores in (("cosine", cosine), ("learned", all_logits(head, states, places))):
        same = (scores >= equal_error(scores, labels, domains)).astype(int)
        record[name]["recall_gap"] = tpr_gap(labels, same, category).value
    return record


def by_domain(scores: np.ndarray, labels: np.ndarray, domains: np.ndarray) -> dict[str, Any]:
    """AUC of each domain, accuracy at the threshold of the others, and the best accuracy of any threshold."""
    record: dict[str, Any] = {}
    for domain in np.unique(domains).tolist():
        own = domains == domain
        threshold = equal_error(scores[~own], labels[~own], domains[~own])
        record[domain] = {
            "auc": round(auc(labels[own], scores[own]), 4),
            "accuracy": round(float(((scores[own] >= threshold) == labels[own]).mean()), 4),
            "best": round(best_accuracy(scores[own], labels[own]), 4),
        }
    return record


def equal_error(scores: np.ndarray, labels: np.ndarray, domains: np.ndarray) -> float:
    """The threshold at which the two error rates, each a mean over domains, are nearest to equal.

    Args:
        scores: (N,).
        labels: (N,) 0 or 1; every domain has both.
        domains: (N,) names.
    """
    cuts = np.quantile(scores, np.linspace(0, 1, 1001))
    missed, wrong = np.zeros(len(cuts)), np.zeros(len(cuts))
    names = np.unique(domains)
    for domain in names:
        own = domains == domain
        same, other = np.sort(scores[own & (labels == 1)]), np.sort(scores[own & (labels == 0)])
        missed += np.searchsorted(same, cuts) / len(same)
        wrong += 1 - np.searchsorted(other, cuts) / len(other)
    return float(cuts[np.abs(missed - wrong).argmin()])


def best_accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    """Of any threshold."""
    truth = labels[np.argsort(-scores, kind="stable")]
    right = (
        np.concatenate([[0], np.cumsum(truth)])
        + (labels == 0).sum()
        - np.concatenate([[0], np.cumsum(1 - truth)])
    )
    return float(right.max() / len(labels))


if __name__ == "__main__":
    run(main)
