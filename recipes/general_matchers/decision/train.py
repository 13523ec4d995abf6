r"""Train the pair decision on a frozen trunk, of free labels and a teacher's vectors; measure it.

    python -m recipes.general_matchers.decision.train --model RUN/trunk --out RUN/decision \
        --pool RUN/pool --mpnet FOLDER

Labelled pairs are weighed so that length divergence says nothing of the label
(`LengthPrior.rebalancing_weights`), and so that domains, and the labels of each, count alike. Near texts of
the pool have a soft label, the logistic of a teacher's cosine whose slope and offset are fitted to labelled
pairs, and count as much as all others: without them the order of pairs as people write them is lost. Choices
are made on held-out intents, MNLI pairs kept back, natural pairs of another seed and near pairs of texts of
which the decision learns nothing; thresholds are those of equal error. Of a user's own texts there are no
labelled pairs but those that rules make of the texts, and the threshold is that of near texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional as F
from typer import Option

from mobilebert_matching.length_bias.length_prior import LengthPrior, too_few
from mobilebert_models import find_directory, load_pretrained, save_pretrained
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import encoder_of
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_runtime.files import refuse_finished, write_json
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from recipes.general_matchers.decision.measure import (
    accuracies,
    across_domains,
    measure,
    near_settings,
    pairs_for_choices,
)
from recipes.general_matchers.decision.pairs import DomainPair, training_pairs
from recipes.general_matchers.heads import TokenStates, distinct_texts, packed, token_states
from recipes.general_matchers.near import neighbours
from recipes.general_matchers.pool import Pool, pool_files
from recipes.general_matchers.teachers import Encode, check_mpnet, load_mpnet, vectors
from studies.common.script import Force, Threads, console, run

RATE, BATCH, DECAY = 1e-3, 64, 0.01
FREE = 0.7  # share of the steps over which the ceiling of equal texts closes
NOTED = 200  # steps between two lines
FITTED = 300  # labelled pairs of a domain to which the teacher's logistic is fitted
EDITED = 60_000  # texts at most of which rules make pairs
HELD = 2048  # first texts of the pool, of which the decision learns nothing


@dataclass(frozen=True)
class Examples:
    """Pairs as places among texts.

    Attributes:
        places: (N, 2).
        targets: (N,), labels; of near texts the log-odds that a teacher's cosine gives.
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


@dataclass(frozen=True)
class DecisionConfig:
    """Of which trunk, texts and pairs a decision is made, and how.

    Attributes:
        trunk: model directory of a trunk, or of an embedding matcher whose trunk is used.
        out: the model directory to write.
        record: file of pairs, figures and settings; written last.
        shared: folder with data/ and corpora/, to learn from and measure on; None: there is none.
        texts_alone: learn from no data set, as from a user's own texts; `shared` is measured on.
        held: first texts of the pool, of which the decision learns nothing.
        each: pairs of each kind of edit, at most.
        others: pairs of each other domain, at most.
        mined: near pairs with a soft label, at most.
        mined_texts: texts that these are among.
        epochs: passes over the pairs.
        seed: of pairs, first weights and order.
    """

    trunk: Path
    out: Path
    record: Path
    shared: Path | None
    held: int
    texts_alone: bool = False
    each: int = 1500
    others: int = 3000
    mined: int = 40_000
    mined_texts: int = 20_000
    epochs: int = 1
    seed: int = 0


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
    texts_alone: Annotated[
        bool, Option("--texts-alone", help="Learn from the pool alone, as from texts of your own.")
    ] = False,
    seed: Annotated[int, Option(help="Of pairs, first weights and order.")] = 0,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Train, write OUT/matcher, and record.json with figures of cosine, present and new decision."""
    torch.set_num_threads(threads)
    refuse_finished(out / "matcher", force=force)
    folder = find_directory(model)
    check_mpnet(mpnet)
    pool_files(shared)
    config = DecisionConfig(
        trunk=folder,
        out=out / "matcher",
        record=out / "record.json",
        shared=shared,
        held=HELD,
        texts_alone=texts_alone,
        each=each,
        others=others,
        mined=mined,
        mined_texts=mined_texts,
        epochs=epochs,
        seed=seed,
    )
    known = Pool(pool, PairTokenizer.load(folder).without_spelling())
    record = write_decided(config, known, lambda: load_mpnet(mpnet), console().print)
    console().print(json.dumps(record, indent=1))


def write_decided(
    config: DecisionConfig,
    pool: Pool,
    teacher: Callable[[], Encode],
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Train a decision on a trunk, and write both as a model directory, the record last.

    Args:
        config: what is made of what.
        pool: texts with the teachers' vectors.
        teacher: opens the one whose cosines label near texts; called only where there are labelled pairs.
        say: called with facts and losses.

    Returns:
        What the record holds: pairs, figures of cosine, present and new decision, settings.
    """
    seed, held = config.seed, config.held
    torch.manual_seed(seed)
    tokenizer = PairTokenizer.load(config.trunk).without_spelling()
    matcher = as_matcher(load_pretrained(config.trunk), tokenizer)

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.stack([state.vector for state in token_states(matcher, tokenizer, texts)])

    data = None if config.shared is None or config.texts_alone else config.shared / "data"
    labelled = training_pairs(pool.texts[held:][:EDITED], data, embed, config.each, config.others, seed)
    say(f"{len(labelled)} labelled pairs")
    rows = np.random.default_rng(seed).permutation(np.arange(held, pool.read))[: config.mined_texts]
    soft = mined_pairs(pool, np.sort(rows), config.mined, seed)
    slope, offset = pool.log_odds if data is None else fit_teacher(labelled, teacher(), seed)
    say(f"a pair of the teacher's cosine c is the same with odds exp({slope:.2f} c {offset:+.2f})")
    examples, read = to_examples(labelled, soft, slope, offset)
    states = token_states(matcher, tokenizer, read)
    head = LearnedDecision(matcher.config.hidden_size)
    head.know_questions(tokenizer.vocabulary())
    train_decision(head, states, examples, config.epochs, seed, say)
    development = pairs_for_choices(config.shared, pool.texts, held, embed, seed)
    record: dict[str, Any] = {"model": config.trunk.name, "pairs": Counter(p.domain for p in labelled)}
    record |= {"read": pool.read, "mined": len(soft[0]), "epochs": config.epochs, "teacher": [slope, offset]}
    near = mined_pairs(pool, np.arange(held), held, seed)
    figures, logits, near_logits = measure(matcher, head, tokenizer, development, near)
    settings = near_settings(near[0], near_logits, slope * near[1] + offset, say)
    if data is not None:  # by pairs that rules made alone it would be far too high for texts as people write
        settings = across_domains(settings, development, logits)
    record |= figures
    if development:
        record["accuracy"] = accuracies(development, logits, settings)
    decided = EmbeddingMatcher(matcher.encoder, head).eval()
    say(f"threshold {settings.threshold:.2f}; accuracy there {record.get('accuracy', 'not known')}")
    config.record.unlink(missing_ok=True)
    save_pretrained(decided, config.out, tokenizer_from=config.trunk, settings=settings, eight_bit=True)
    write_packed_template(config.out / "tokenizer.json")
    write_json(config.record, record | {"settings": asdict(settings)})
    return record


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


def as_matcher(network: nn.Module, tokenizer: PairTokenizer) -> EmbeddingMatcher:
    """An embedding matcher as it is; a trunk with a decision that is the cosine."""
    if isinstance(network, EmbeddingMatcher):
        return network
    encoder = encoder_of(network)
    head = LearnedDecision(encoder.config.hidden_size)
    head.know_questions(tokenizer.vocabulary())
    return EmbeddingMatcher(encoder, head).eval()


def mined_pairs(pool: Pool, rows: np.ndarray, count: int, seed: int) -> tuple[list[Pair], np.ndarray]:
    """Pairs among some texts that the teachers have read, near ones and some at random, and cosines (N,).

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


def fit_teacher(pairs: Sequence[DomainPair], teacher: Encode, seed: int) -> tuple[float, float]:
    """Slope and offset of the log-odds of label 1 by a teacher's cosine, on pairs of MNLI and of intents."""
    draw = np.random.default_rng(seed)
    chosen: list[DomainPair] = []
    for domain in ("mnli", "intents"):
        own = [pair for pair in pairs if pair.domain == domain]
        chosen += [own[i] for i in draw.permutation(len(own))[:FITTED]]
    texts, places = distinct_texts([pair.texts for pair in chosen])
    found = vectors(teacher, texts)
    cosines = (found[places[:, 0]] * found[places[:, 1]]).sum(1)
    labels = np.array([pair.label for pair in chosen])
    fitted = LogisticRegression(C=1e3).fit(cosines[:, None], labels)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def to_examples(
    labelled: Sequence[DomainPair], soft: tuple[list[Pair], np.ndarray], slope: float, offset: float
) -> tuple[Examples, list[str]]:
    """All pairs with targets and weights, and the texts their places are among.

    Few pairs, of a user's few texts, are not weighed by length.
    """
    pairs = [pair.texts for pair in labelled]
    labels = np.array([pair.label for pair in labelled])
    balance = np.ones(len(pairs))
    if not too_few(pairs, labels):
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
            logits = head(*packed(states, *examples.places[batch].T))
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
            if done % NOTED == 0:
                say(f"step {done:,} of {epochs * count:,}: loss {np.mean(losses[-NOTED:]):.4f}")
        say(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    head.leak = 0.0
    head.eval()


if __name__ == "__main__":
    run(main)
