"""What spelling correction does on dev pairs: misspellings restored, clean texts touched, decisions changed.

    python -m studies.general_matcher.spelling_dev matcher-open-m --out runs/general/spelling_dev.json

Words whose misspellings are kept for tests stay as they are. Decision 025 quotes the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Argument, Option

from distill.general.heads import pair_logits
from distill.general.noise import MISSPELLINGS, Misspeller, is_test_word
from distill.general.texts import rows
from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.evaluation_sets import misspelt_pairs, spread
from studies.general_matcher.figures import auc
from studies.general_matcher.opened import open_matcher
from studies.general_matcher.options import SHARED, Shared

# Name, file, columns, rows; Twitter-URL has no dev split, and nothing is trained on its train split.
SETS = (
    ("qqp_dev", "qqp/dev.tsv", "question", 4000),
    ("mrpc_dev", "glue/mrpc/dev.tsv", "sentence", 500),
    ("twitter_url_train", "twitter_url/train.tsv", "sentence", 3000),
)
Pairs = list[tuple[str, str]]


class TrainingMisspeller(Misspeller):
    """Misspells no word that is kept for tests."""

    def words(self, text: str) -> list[re.Match[str]]:
        """The words that may be misspelt."""
        return [word for word in super().words(text) if not is_test_word(word.group())]


def main(
    model: Annotated[str, Argument(help="An embedding matcher with spelling.txt.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    most: Annotated[int, Option(min=2, help="Pairs of each set, evenly spread.")] = 10**9,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of every set: uncorrected, each text alone, beside the other of its pair."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    matcher, tokenizer = open_matcher(model)
    if tokenizer.spelling is None:
        raise OptionError(f"model {model}: has no {SPELLING_FILE}")
    alone, beside = tokenizer.spelling.corrected, tokenizer.spelling.corrected_pair
    tokenizer = tokenizer.without_spelling()

    def score(pairs: Pairs) -> np.ndarray:
        left, right = zip(*pairs, strict=True)
        return pair_logits(matcher, tokenizer, left, right)

    misspell = TrainingMisspeller(shared / "data" / MISSPELLINGS)
    found = {}
    for name, file, column, wanted in SETS:
        clean = spread(rows(shared / "data" / file), min(wanted, most))
        both = misspelt_pairs(clean, column, misspell, 2)
        one = [row | {column + "1": clean[int(row["clean"])][column + "1"]} for row in both]
        kept = [clean[int(row["clean"])] for row in both]
        read = [[(row[column + "1"], row[column + "2"]) for row in part] for part in (kept, one, both)]
        each = [[(alone(a), alone(b)) for a, b in pairs] for pairs in read]
        mended = [[beside(*pair) for pair in pairs] for pairs in read]
        labels = np.array([int(row["label"]) for row in kept])
        found[name] = {
            "pairs": len(kept),
            "without": decisions(read, labels, score),
            "each_text_alone": correction(read, each) | decisions(each, labels, score),
            "beside_the_other": correction(read, mended) | decisions(mended, labels, score),
        }
        console().print(name, found[name])
    write_json(out, found)


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


def decisions(
    sides: Sequence[Pairs], labels: np.ndarray, score: Callable[[Pairs], np.ndarray]
) -> dict[str, float]:
    """Figures at logit 0 of pairs clean, with one misspelling, with one in each text."""
    clean, one, both = (score(part) for part in sides)
    figures = {"flipped_by_one": float(np.mean((clean > 0) != (one > 0)))}
    for name, logits in (("clean", clean), ("one", one), ("both", both)):
        figures[f"accuracy_{name}"] = float(np.mean((logits > 0) == (labels > 0)))
        figures[f"auc_{name}"] = auc(labels, logits)
    return {name: round(value, 4) for name, value in figures.items()}


if __name__ == "__main__":
    run(main)
