"""What spelling correction does on dev pairs: misspellings restored, clean texts touched, decisions changed.

    python -m studies.general_matcher.spelling_dev matcher-open-m --out runs/general/spelling_dev.json

Words whose misspellings are kept for tests stay as they are. Decision 025 quotes the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from typer import Argument, Option

from mobilebert_matching.evaluation.score_calibration import probabilities
from mobilebert_models import MatcherSettings, find_directory
from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.spelling import SpellingCorrector
from mobilebert_training.finetuning.matchers import EncoderMatcher, load_matcher
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller, is_test_word
from recipes.general_matchers.texts import rows
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.evaluation_sets import misspelt_pairs, spread
from studies.general_matcher.figures import auc
from studies.general_matcher.options import SHARED, Shared

# Name, file, columns, rows; Twitter-URL has no dev split, and nothing is trained on its train split.
SETS = (
    ("qqp_dev", "qqp/dev.tsv", "question", 4000),
    ("mrpc_dev", "glue/mrpc/dev.tsv", "sentence", 500),
    ("twitter_url_train", "twitter_url/train.tsv", "sentence", 3000),
)
Pairs = list[tuple[str, str]]
Score = Callable[[Pairs], np.ndarray]


class TrainingMisspeller(Misspeller):
    """Misspells no word that is kept for tests."""

    def words(self, text: str) -> list[re.Match[str]]:
        """The words that may be misspelt."""
        return [word for word in super().words(text) if not is_test_word(word.group())]


def main(
    models: Annotated[list[str], Argument(help="Matchers with spelling.txt.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    most: Annotated[int, Option(min=2, help="Pairs of each set, evenly spread.")] = 10**9,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of every set: uncorrected, each text alone, beside the other of its pair."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    opened = {model: open_without_spelling(model) for model in models}
    misspell = TrainingMisspeller(shared / "data" / MISSPELLINGS)
    found: dict[str, Any] = {model: {} for model in models}
    for name, file, column, wanted in SETS:
        clean = spread(rows(shared / "data" / file), min(wanted, most))
        both = misspelt_pairs(clean, column, misspell, 2)
        one = [row | {column + "1": clean[int(row["clean"])][column + "1"]} for row in both]
        kept = [clean[int(row["clean"])] for row in both]
        read = [[(row[column + "1"], row[column + "2"]) for row in part] for part in (kept, one, both)]
        labels = np.array([int(row["label"]) for row in kept])
        for model, (spelling, score) in opened.items():
            alone = [[(spelling.corrected(a), spelling.corrected(b)) for a, b in part] for part in read]
            beside = [[spelling.corrected_pair(a, b) for a, b in part] for part in read]
            found[model][name] = {
                "pairs": len(kept),
                "without": decisions(read, labels, score),
                "each_text_alone": correction(read, alone) | decisions(alone, labels, score),
                "beside_the_other": correction(read, beside) | decisions(beside, labels, score),
            }
            console().print(model, name, found[model][name])
    write_json(out, found)


def open_without_spelling(model: str) -> tuple[SpellingCorrector, Score]:
    """A matcher's spelling, and what scores pairs without it, above 0 where they match.

    Raises:
        ModelError: there is no such model, or it is damaged.
        OptionError: it has no spelling.
    """
    directory = find_directory(model)
    matcher, settings = load_matcher(directory), MatcherSettings.load(directory)
    if not isinstance(matcher, EncoderMatcher) or matcher.tokenizer.spelling is None:
        raise OptionError(f"model {model}: has no {SPELLING_FILE}")
    spelling, matcher.tokenizer = matcher.tokenizer.spelling, matcher.tokenizer.without_spelling()
    return spelling, lambda pairs: probabilities(matcher.predict(pairs), settings, pairs) - settings.threshold


def correction(read: Sequence[Pairs], mended: Sequence[Pairs]) -> dict[str, float]:
    """Of pairs clean, with one misspelling, with one in each text: what is restored, what is changed."""
    figures = {
        "restored": np.mean(same_texts(mended[0], mended[2], str.lower)),
        "clean_texts_changed": np.mean(np.logical_not(same_texts(read[0], mended[0]))),
    }
    return {name: round(float(value), 4) for name, value in figures.items()}


def same_texts(some: Pairs, others: Pairs, form: Callable[[str], str] = str) -> list[bool]:
    """Of every text whether it is that of the other pairs, in some form."""
    return [
        form(one) == form(other)
        for pair, beside in zip(some, others, strict=True)
        for one, other in zip(pair, beside, strict=True)
    ]


def decisions(sides: Sequence[Pairs], labels: np.ndarray, score: Score) -> dict[str, float]:
    """Figures of pairs clean, with one misspelling, with one in each text; a score above 0 is a match."""
    clean, one, both = (score(part) for part in sides)
    figures = {"flipped_by_one": float(np.mean((clean > 0) != (one > 0)))}
    for name, scores in (("clean", clean), ("one", one), ("both", both)):
        figures[f"accuracy_{name}"] = float(np.mean((scores > 0) == (labels > 0)))
        figures[f"auc_{name}"] = auc(labels, scores)
    return {name: round(value, 4) for name, value in figures.items()}


if __name__ == "__main__":
    run(main)
