r"""Train the pair decision on a frozen trunk, of free labels and a teacher's vectors; measure it.

    python -m recipes.matcher_open_m.train_decision --model RUN/trunk --out head \
        --pool ~/mission/run/pool --mpnet FOLDER

Labelled pairs are weighed so that length divergence says nothing of the label
(`LengthPrior.rebalancing_weights`), and so that domains, and the labels of each, count alike. Near texts of
the pool have a soft label, the logistic of MPNet's cosine whose slope and offset are fitted to labelled
pairs, and count as much as all others: without them the order of pairs as people write them is lost. Choices
are made on held-out intents, MNLI pairs kept back, natural pairs of another seed and near pairs of texts that
nothing was trained on; thresholds are those of equal error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional as F
from typer import Option

from mobilebert_matching.data.labelled_pairs import LabelledPairs
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
from recipes.matcher_open_m.thresholds import by_domain, equal_error
from studies.common.script import console, run

RATE, BATCH, DECAY = 1e-3, 64, 0.01
FREE = 0.7  # share of the steps over which the ceiling of equal texts closes
FITTED = 300  # labelled pairs of a domain to which the teacher's logistic is fitted
DRAWS = 8  # of a near pair's label, to which the length shift is fitted
HELD = 2048  # first texts of the pool, which the trunk was not trained on


@dataclass(frozen=True)
class Examples:
    """Pairs as places among texts.

    Attributes:
        places: (N, 2).
        targets: (N,), labels; of near texts the log-odds that MPNet's cosine gives.
        weights: (N,), mean 1.
        domains: (N,) names; near texts are "mined".
    """

    places: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    domains: np.ndarray

    @property
    def soft(self) -> np.ndarray:
        """Which have log-odds and no label, (N,)."""
        return np.asarray(self.domains == "mined")


def main(
    model: Annotated[str, Option(help="Trunk, or embedding matcher whose trunk is used.")],
    pool: Annotated[Path, Option(help="Pool of texts with MPNet's vectors.")],
    mpnet: Annotated[Path, Option(help="Folder of all-mpnet-base-v2.")],
    out: Annotated[Path, Option(help="Folder of matcher/ and record.json.")],
    shared: Annotated[Path, Option(help="Folder with data/ and corpora/.")] = Path("../shared"),
    each: Annotated[int, Option(min=8, help="Pairs of each kind of edit.")] = 1500,
    others: Annotated[int, Option(min=8, help="Pairs of each other domain.")] = 3000,
    mined: Annotated[int, Option(min=1, help="Near pairs with a soft label.")] = 40_000,
    mined_texts: Annotated[int, Option(min=64, help="Texts that these are among.")] = 20_000,
    epochs: Annotated[int, Option(min=1, help="Passes over the pairs; more than one remembers them.")] = 1,
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
    rows = np.random.default_rng(seed).permutation(np.arange(HELD, known.read))[:mined_texts]
    soft = mined_pairs(known, np.sort(rows), mined, seed)
    slope, offset = fit_teacher(labelled, mpnet, seed)
    say(f"a pair of MPNet's cosine c is the same with odds exp({slope:.2f} c {offset:+.2f})")
    examples, read = to_examples(labelled, soft, slope, offset)
    states = token_states(matcher, tokenizer, read)
    head = LearnedDecision(matcher.config.hidden_size)
    head.know_questions(tokenizer.vocabulary())
    train_decision(head, states, examples, epochs, seed, say)
    # Before it is measured, so that a fault there loses no training.
    decided = EmbeddingMatcher(matcher.encoder, head).eval()
    save_pretrained(decided, out / "matcher", tokenizer_from=folder, eight_bit=True)
    write_packed_template(out / "matcher/tokenizer.json")
    development = [*development_pairs(shared / "data", embed, 600, seed)]
    natural = natural_pairs(unused_sentences(shared / "corpora", known.texts, seed + 1), 300, seed + 1)
    development += [as_domain(pair) for pair in natural]
    record: dict[str, Any] = {"model": Path(model).name, "pairs": Counter(p.domain for p in labelled)}
    record |= {"read": known.read, "mined": len(soft[0]), "epochs": epochs, "teacher": [slope, offset]}
    near = mined_pairs(known, np.arange(HELD), HELD, seed)
    record |= measure(matcher, head, tokenizer, development, near)
    settings = fitted_settings(head, matcher, tokenizer, development, near, slope, offset)
    settings.save(out / "matcher")
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
    head: nn.Module,
    matcher: EmbeddingMatcher,
    tokenizer: PairTokenizer,
    pairs: Sequence[DomainPair],
    near: tuple[Sequence[Pair], np.ndarray],
    slope: float,
    offset: float,
) -> MatcherSettings:
    """The length shift and temperature of near texts, and then the threshold of equal error over the domains.

    How a difference in length goes with sameness is a matter of how people write; domains made by rule have a
    habit of their own there. So labels of near pairs are drawn from what MPNet's cosine says of them.
    """

    def logits(given: Sequence[Pair]) -> np.ndarray:
        texts, places = distinct_texts(given)
        found = all_logits(head, token_states(matcher, tokenizer, texts), places)
        return np.stack([-found / 2, found / 2], 1)

    labels = drawn_labels(slope * near[1] + offset)
    likely = LabelledPairs([*near[0]] * DRAWS, labels)
    prior = LengthPrior.fit(*likely)
    both = np.tile(logits(near[0]), (DRAWS, 1))
    settings = fit_debiased_settings(both, likely, prior, offset=True, equal_recall=True)
    given = [pair.texts for pair in pairs]
    scores = probabilities(logits(given), settings, given)
    truth, domains = np.array([pair.label for pair in pairs]), np.array([pair.domain for pair in pairs])
    return replace(settings, threshold=equal_error(scores, truth, domains))


def drawn_labels(log_odds: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    """Labels (draws · N,) of N pairs, drawn by their log-odds (N,), one draw after the other."""
    chance = np.tile(1 / (1 + np.exp(-log_odds)), draws)
    return (np.random.default_rng(0).random(len(chance)) < chance).astype(np.int64)


def as_domain(pair: NaturalPair) -> DomainPair:
    """A natural pair as one of its domain."""
    return DomainPair("natural", pair.label, (pair.left, pair.right))


def mined_pairs(pool: Pool, rows: np.ndarray, count: int, seed: int) -> tuple[list[Pair], np.ndarray]:
    """Pairs among some texts that MPNet has read, near ones and some at random, and its cosines (N,).

    Args:
        pool: of texts.
        rows: places of texts.
        count: pairs at most.
        seed: of the draw.
    """
    draw = np.random.default_rng(seed)
    near = neighbours(pool.near[rows])
    left = draw.integers(0, len(rows), count)
    rank = draw.integers(0, near.shape[1] + 1, count)
    other = near[left, np.minimum(rank, near.shape[1] - 1)]
    right = np.where(rank < near.shape[1], other, draw.integers(0, len(rows), count))
    found = np.sort(np.stack([left, right], 1)[(right >= 0) & (right != left)], 1)
    left, right = rows[np.unique(found, axis=0)].T
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
    known = np.concatenate([labels, np.full(len(soft[0]), -1)])
    for domain in np.unique(domains):
        own = domains == domain
        for label in np.unique(known[own]):
            weights[own & (known == label)] /= weights[own & (known == label)].sum()
        weights[own] /= weights[own].sum()
    natural = domains == "mined"  # what keeps the order of texts as people write them counts half
    weights[~natural] /= weights[~natural].sum()
    targets = np.concatenate([labels, slope * soft[1] + offset])
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
    """Train in place, with a rate that falls to nothing, and a ceiling of equal texts that closes.

    Labels by cross-entropy. Log-odds by a smooth absolute error: it keeps the order of unlike texts too, of
    which a cross-entropy says little.
    """
    optimiser = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    lengths = np.array([len(states[a].ids) + len(states[b].ids) for a, b in examples.places])
    goals, weights = (torch.tensor(v, dtype=torch.float32) for v in (examples.targets, examples.weights))
    soft = torch.from_numpy(examples.soft)
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
            head.leak = max(0.0, 1 - done / (FREE * epochs * count))
            logits = decide(head, states, *examples.places[batch].T)
            goal = goals[batch]
            near = F.smooth_l1_loss(logits, goal, reduction="none")
            hard = F.binary_cross_entropy_with_logits(logits, goal.clamp(0, 1), reduction="none")
            loss = (torch.where(soft[batch], near, hard) * weights[batch]).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            done += 1
        say(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    head.leak = 0.0
    head.eval()


def decide(head: nn.Module, states: Sequence[TokenStates], left: np.ndarray, right: np.ndarray) -> Tensor:
    """Logits (B,) of pairs by their places."""
    logits: Tensor = head(*packed(states, left, right))
    return logits


def all_logits(head: nn.Module, states: Sequence[TokenStates], places: np.ndarray) -> np.ndarray:
    """Logits (N,) without gradients."""
    with torch.inference_mode():
        parts = [
            decide(head, states, *part.T).numpy() for part in np.array_split(places, len(places) // 64 + 1)
        ]
    return np.concatenate(parts)


def measure(
    matcher: EmbeddingMatcher,
    head: LearnedDecision,
    tokenizer: PairTokenizer,
    pairs: Sequence[DomainPair],
    near: tuple[Sequence[Pair], np.ndarray],
) -> dict[str, Any]:
    """AUC by domain of the vectors' cosine, the present decision and the new one; thresholds that travel.

    `accuracy`: of each domain at the equal-error threshold of the *other* domains, beside the best possible;
    `near`: Spearman's correlation with MPNet's cosines on near pairs.
    """
    texts, places = distinct_texts([*(pair.texts for pair in pairs), *near[0]])
    states = token_states(matcher, tokenizer, texts)
    labels = np.array([pair.label for pair in pairs])
    domains = np.array([pair.domain for pair in pairs])
    left, right = (np.stack([states[k].vector for k in side]) for side in places.T)
    record: dict[str, Any] = {}
    for name, scores in (
        ("cosine", (left * right).sum(1)),
        ("present", all_logits(matcher.head, states, places)),
        ("learned", all_logits(head, states, places)),
    ):
        record[name] = by_domain(scores[: len(pairs)], labels, domains)
        order = spearmanr(scores[len(pairs) :], near[1]).statistic
        record[name]["near"] = round(float(order), 4)
    return record


if __name__ == "__main__":
    run(main)
