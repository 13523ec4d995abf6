"""The final figures of sentence encoders beside each other: the cosine's and, where there is one, the head's.

Reads model directories, artefacts of embedders, embedding matchers and pair classifiers, and folders of other
programs' encoders (`android_bench.measuring.external_model`), whose one output is the last layer.
Opens the test splits: every choice comes before.

    python -m studies.general_matcher.evaluate minilm=minilm open-m=runs/general/matcher-open-m --out F.json
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from scipy.special import logit
from typer import Argument, Option

from android_bench.measuring.external_model import EXTERNAL_MODEL_FILE, ExternalModel, open_model
from mobilebert_models import MatcherSettings, find_directory, load_pretrained
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.card import ArtefactCard, read_card
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from recipes.general_matchers.heads import pair_logits, token_states
from recipes.general_matchers.trunk import embed
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, run
from studies.general_matcher.evaluation_sets import questions
from studies.general_matcher.figures import figures
from studies.general_matcher.options import SHARED, Shared

TINY = 1e-12  # the length of a text without a known token


def main(
    models: Annotated[
        list[str],
        Argument(help="NAME=DIRECTORY of a model or an artefact; with a head it gets two rows."),
    ],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    most: Annotated[int | None, Option(min=2, help="Rows of each set, evenly spread; default: all.")] = None,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of every model named."""
    check_outputs(out, force=force)
    found: dict[str, Any] = {}
    directories = {}
    for entry in models:
        name, equals, directory = entry.partition("=")
        if not equals:
            raise OptionError(f"model {entry!r}: expected NAME=DIRECTORY")
        directories[name] = find_directory(directory)
    torch.set_num_threads(threads)
    texts, sets = questions(shared / "data", most or 10**9)
    for name, folder in directories.items():
        if (folder / "io.json").is_file():
            found |= artefact_figures(name, folder, sets, list(texts.index))
            continue
        if (folder / EXTERNAL_MODEL_FILE).is_file():
            found[name] = figures(sets, external_vectors(folder, list(texts.index)))
            continue
        model, tokenizer = load_pretrained(folder), PairTokenizer.load(folder)
        if isinstance(model, EmbeddingMatcher):
            known = list(texts.index)
            vectors = np.stack([state.vector for state in token_states(model, tokenizer, known)])
            found[name] = figures(sets, vectors)
            found[f"{name} + head"] = figures(sets, vectors, partial(decide, folder, model, tokenizer, known))
        else:
            found[name] = figures(sets, embed(encoder_of(model), tokenizer, list(texts.index)))
    write_json(out, found)


def decide(
    folder: Path,
    model: EmbeddingMatcher,
    tokenizer: PairTokenizer,
    texts: list[str],
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """Log-odds (N,) of pairs of texts by their positions, by the directory's settings; 0 is the threshold."""
    settings = MatcherSettings.load(folder)
    pairs = [(texts[a], texts[b]) for a, b in zip(left, right, strict=True)]
    found = pair_logits(model, tokenizer, *map(list, zip(*pairs, strict=True)))
    shift = LengthShift.from_json(settings.length_shift)
    return log_odds(found, settings, shift.of(pairs) if shift else 0.0)


def shipped_log_odds(matcher: Matcher, pairs: Sequence[Pair]) -> np.ndarray:
    """Log-odds (N,) of pairs as an artefact decides, its length shift included; 0 is its threshold."""
    card, logits = matcher.card, matcher.logits(pairs).astype(np.float64)
    difference = logits[:, card.positive] - logits[:, 1 - card.positive]
    return log_odds(difference, card, card.shift(pairs))


def log_odds(
    logits: np.ndarray, decision: MatcherSettings | ArtefactCard, shift: Sequence[float] | float
) -> np.ndarray:
    """Of logits (N,), by a decision's temperature, a length shift and the threshold, which is at 0."""
    return np.asarray(logits / decision.temperature + np.asarray(shift) - logit(decision.threshold))


def artefact_figures(
    name: str, folder: Path, sets: dict[str, dict[str, np.ndarray]], texts: list[str]
) -> dict[str, Any]:
    """Those of an artefact in its runtime: its vectors' cosine, its decision, or both."""
    card = read_card(folder)
    vectors = Embedder.load(folder).embed(texts) if Embedder.reads(card) else None
    if not Matcher.reads(card):
        return {name: figures(sets, vectors)}
    matcher = Matcher.load(folder)

    def score(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return shipped_log_odds(matcher, [(texts[a], texts[b]) for a, b in zip(left, right, strict=True)])

    if vectors is None:
        return {name: figures(sets, None, score)}
    return {name: figures(sets, vectors), f"{name} + head": figures(sets, vectors, score)}


def external_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    """Unit vectors (N, H) of another program's encoder: the mean of its last layer over a text's tokens."""
    model, backend = ExternalModel.read(folder), open_model(folder, 1)
    tokenizer = PairTokenizer.load(folder)
    out = []
    for ids in tokenizer.ids(texts, model.seq_len):
        batch = tokenizer.pad([ids], model.seq_len)  # (1, S)
        (states,) = backend.run(model.feed(batch)).values()  # (1, S, H)
        total = states[0, : len(ids[0])].sum(0)
        out.append(total / max(float(np.linalg.norm(total)), TINY))
    return np.stack(out)


if __name__ == "__main__":
    run(main)
