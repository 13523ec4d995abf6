"""Go on training a matcher of Quora questions so that misspelt pairs are decided as the clean ones are.

    python -m studies.qqp_teacher.consistency runs/qqp/m --start matcher-qqp-m --dtype bf16

Its targets are what several matchers together say of the clean pair, in both orders where these matter; a
logistic regression on dev.tsv weighs them; --debias takes the length prior out by weights. Half of the
training and mined pairs are read misspelt. Few of them are like the pairs that are made besides: texts beside
themselves (words, numbers, symbols, short requests, questions, sentences of Wikipedia), which count as the
same; words and numbers beside others, as different; minimal pairs, from templates and of edited questions, as
what was done to them says.

An interrupted run is taken up again by the same command; with --force a finished one takes another --kept
without training again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from typer import Argument, Option

from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import PairClassifier, find_directory, load_pretrained
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.distillation.distillation_data import DistillationData, gather
from mobilebert_training.distillation.losses import UNLABELLED
from mobilebert_training.distillation.task_distillation import TaskTargets
from mobilebert_training.distillation.teacher_logits import kept_predictions
from mobilebert_training.training_config import TrainingConfig
from recipes.general_matchers.edits import edited
from recipes.general_matchers.heads import pair_logits
from recipes.general_matchers.minimal_pairs import generate
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller, read_misspellings
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.texts import held_out_intents, rows, sentences
from studies.common.script import Force, Threads, console, run
from studies.qqp_teacher.options import CACHE, DATA, Cache, Data
from studies.qqp_teacher.student import train_further
from studies.qqp_teacher.teacher import log_odds

TEACHERS = ["matcher-qqp-m", "matcher-qqp-s", "matcher-open-m"]
CLINC = "intents/clinc150/train.tsv"
WIKIPEDIA, READ = "corpora/wiki-core-lead7k.txt.xz", 4_000_000  # characters of it
SAME, DIFFERENT = 4.0, -4.0  # log-odds of a text beside itself and beside another word or number
MISSPELT = 0.5  # share of the pairs that are read misspelt, in one text or in both
# Texts beside themselves, of each kind; words and numbers also beside others, numbers beside near ones.
WORDS, NUMBERS, SYMBOLS, REQUESTS, QUESTIONS, SENTENCES = 2300, 2400, 300, 3000, 8000, 6000
MINIMAL = 400  # minimal pairs of each kind from templates, and as many of questions
SYMBOLS_FROM = 0x2190  # arrows to dingbats; the emoji of the tests are others


def main(
    out: Annotated[Path, Argument(help="Folder of the run.")],
    start: Annotated[str, Option(help="Matcher whose weights are taken up.")] = "matcher-qqp-m",
    teacher: Annotated[list[str], Option(help="Matchers that say what a clean pair is (repeat).")] = TEACHERS,
    data: Data = DATA,
    cache: Cache = CACHE,
    rate: Annotated[float, Option(help="Peak learning rate.")] = 2e-4,
    epochs: Annotated[float, Option(help="Passes over all pairs.")] = 1.0,
    mined: Annotated[int, Option(min=0, help="Unlabelled pairs of near training questions.")] = 30_000,
    kept: Annotated[float, Option(min=0, max=1, help="Share of the weights before in the mean.")] = 0.5,
    debias: Annotated[float, Option(help="Share of the length prior taken out of the targets.")] = 0.0,
    dtype: Annotated[str, Option(help="Of products: float32 or bf16.")] = "float32",
    seed: Annotated[int, Option(help="Of pairs and misspellings.")] = 0,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write OUT/model, its weights in eight bits and its decision settings fitted on dev.tsv, debiased."""
    refuse_finished(out / "model", force=force)
    torch.set_num_threads(threads)
    known = gather(data, mined, seed)
    prior = LengthPrior.fit(*known.train)
    clean = together(teacher, known, prior.rebalancing_weights(*known.dev) ** debias, cache)
    draw, misspell = generator(seed), Misspeller(data.parent / MISSPELLINGS)
    made, told = made_pairs(data.parent.parent, known.texts, draw)
    changed, judged = minimal_pairs(known.texts, seed)
    pairs = [misspelt(pair, misspell, draw) for pair in known.pairs] + made + changed
    wanted = np.concatenate([clean, told, judged])
    counts = np.ones(len(pairs))
    counts[: len(known.train.pairs)] = prior.rebalancing_weights(*known.train) ** debias
    targets = TaskTargets(np.stack([-wanted, wanted], 1) / 2, counts)
    loop = TrainingConfig(epochs=epochs, learning_rate=rate, dtype=dtype, seed=seed, evaluate_every=400)
    unlabelled = np.full(len(pairs), UNLABELLED)
    facts = {"teachers": teacher, "debias": debias, "seed": seed}
    train_further(out, start, known, pairs, unlabelled, targets, prior, loop, kept, facts)


def together(teachers: list[str], known: DistillationData, counts: np.ndarray, cache: Path) -> np.ndarray:
    """Log-odds (N,) of all pairs, of a logistic regression of the teachers' that is fitted on dev.

    Args:
        teachers: names or directories of matchers.
        known: pairs, and those of dev (M) with their labels.
        counts: (M,) how much each pair of dev counts.
        cache: folder that keeps what they say.
    """
    on_dev, columns = (
        np.stack([opinion(name, pairs, cache) for name in teachers], 1)
        for pairs in (known.dev.pairs, known.pairs)
    )
    fitted = LogisticRegression(C=1e3).fit(on_dev, known.dev.labels, counts)
    console().print(f"weights of {', '.join(teachers)}: {fitted.coef_[0].round(3)}")
    return np.asarray(fitted.decision_function(columns))


def opinion(name: str, pairs: list[Pair], cache: Path) -> np.ndarray:
    """Log-odds (N,) that a matcher gives pairs, the mean of both orders; kept in the cache."""
    directory = find_directory(name)
    network, tokenizer = load_pretrained(directory), PairTokenizer.load(directory)

    def predict(part: Sequence[Pair]) -> np.ndarray:
        if isinstance(network, EmbeddingMatcher):  # which gives both orders the same
            return pair_logits(network, tokenizer, *zip(*part, strict=True))
        classifier = cast(PairClassifier, network)
        orders = part, [(b, a) for a, b in part]
        return np.mean([log_odds(classifier, tokenizer, order) for order in orders], axis=0)

    return kept_predictions(predict, network, pairs, cache / "opinions")


def made_pairs(shared: Path, questions: list[str], draw: random.Random) -> tuple[list[Pair], np.ndarray]:
    """Texts beside themselves, words and numbers also beside others, and the log-odds (N,) they are to get.

    Args:
        shared: folder of data/ and corpora/. Words kept for tests and held-out intents are passed by.
        questions: texts to draw from beside those.
        draw: source of chance.
    """
    data = shared / "data"
    words = sorted(read_misspellings(data / MISSPELLINGS, test=False))
    held_out = set(held_out_intents(data))
    requests = [row["text"] for row in rows(data / CLINC) if row["intent"] not in held_out]
    words = draw.sample(words, min(WORDS, len(words)))
    numbers = [_number(draw) for _ in range(NUMBERS)]
    symbols = [chr(SYMBOLS_FROM + draw.randrange(0x600)) * draw.randint(1, 3) for _ in range(SYMBOLS)]
    requests = draw.sample(requests, min(REQUESTS, len(requests)))
    questions = draw.sample(questions, min(QUESTIONS, len(questions)))
    said = list(sentences(shared / WIKIPEDIA, READ))
    said = draw.sample(said, min(SENTENCES, len(said)))
    texts = [*words, *numbers, *symbols, *requests, *questions, *said]
    others = [pair for kind in (words, numbers) for pair in zip(kind, kind[1:] + kind[:1], strict=True)]
    near = [_near_numbers(draw) for _ in range(NUMBERS)]
    texts += [one for pair in near for one in pair]  # or numbers that are often in such pairs look different
    others = [(a, b) for a, b in others + near if a != b]
    told = np.repeat([SAME, DIFFERENT], [len(texts), len(others)])
    return [*((text, text) for text in texts), *others], told


def minimal_pairs(questions: list[str], seed: int) -> tuple[list[Pair], np.ndarray]:
    """Pairs that differ in one thing, from training templates and of questions, and their log-odds (N,).

    One of the texts of every other pair is there beside itself, too: the texts alone say nothing.
    """
    made = [*generate("train", MINIMAL, seed), *edited(questions, MINIMAL, seed)]
    themselves = [(pair.left, pair.left) for pair in made[::2]]
    told = [(DIFFERENT, SAME)[pair.label] for pair in made] + [SAME] * len(themselves)
    return [(pair.left, pair.right) for pair in made] + themselves, np.array(told)


def misspelt(pair: Pair, misspell: Misspeller, draw: random.Random) -> Pair:
    """The pair, half of the time with a misspelling in one of its texts or, as often, in both."""
    if draw.random() >= MISSPELT:
        return pair
    sides = draw.choice(((0,), (1,), (0, 1), (0, 1)))
    first, second = (misspell.noisy(text, draw) if at in sides else text for at, text in enumerate(pair))
    return first, second


def _near_numbers(draw: random.Random) -> Pair:
    value = draw.randrange(10 ** draw.randint(1, 7))
    return str(value), str(value + draw.randint(1, 9))


def _number(draw: random.Random) -> str:
    """A number as people write them: whole, in groups of three, with decimals, a year, a price."""
    value = draw.randrange(10 ** draw.randint(1, 7))
    form = draw.choice(("{}", "{:,}", "{}.5", "{}%", "${:,}"))
    return form.format(value)


if __name__ == "__main__":
    run(main)
