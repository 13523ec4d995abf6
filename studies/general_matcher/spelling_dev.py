"""What spelling correction does on dev pairs: misspellings restored, clean texts touched, decisions changed.

    python -m studies.general_matcher.spelling_dev matcher-open-m --out runs/general/spelling_dev.json

Words whose misspellings are kept for tests stay as they are. Decision 025 quotes the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, cast

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from typer import Argument, Option

from distill.general.heads import head_logits, token_states
from distill.general.noise import MISSPELLINGS, Misspeller, is_test_word
from distill.general.texts import rows
from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.spelling import SpellingCorrector
from mobilebert_runtime.tokenizer import PairTokenizer
from models import find_directory, load_pretrained
from models.embedding_matcher import EmbeddingMatcher
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.evaluation_sets import misspelt_pairs, spread
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
    """Write the figures of every set, without correction and with it."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    directory = find_directory(model)
    matcher = load_pretrained(directory)
    if not isinstance(matcher, EmbeddingMatcher):
        raise OptionError(f"model {model}: expected an embedding matcher")
    corrected = SpellingCorrector.load(directory).corrected
    with TemporaryDirectory() as folder:
        for path in directory.iterdir():
            if path.name != SPELLING_FILE:
                (Path(folder) / path.name).symlink_to(path)
        tokenizer = PairTokenizer.load(folder)

    def score(pairs: Pairs) -> np.ndarray:
        states = token_states(matcher, tokenizer, [text for pair in pairs for text in pair])
        place = np.arange(len(pairs)) * 2
        return head_logits(matcher.head, states, place, place + 1)

    misspell = TrainingMisspeller(shared / "data" / MISSPELLINGS)
    found = {}
    for name, file, column, wanted in SETS:
        clean = spread(rows(shared / "data" / file), min(wanted, most))
        both = misspelt_pairs(clean, column, misspell, 1, 2)
        one = [row | {column + "1": clean[int(row["clean"])][column + "1"]} for row in both]
        kept = [clean[int(row["clean"])] for row in both]
        sides = tuple([(row[column + "1"], row[column + "2"]) for row in part] for part in (kept, one, both))
        labels = np.array([int(row["label"]) for row in kept])
        found[name] = {
            "pairs": len(kept),
            "restored": restored(sides[0], sides[2], corrected),
            "clean_texts_changed": float(np.mean([corrected(t) != t for pair in sides[0] for t in pair])),
            "without": decisions(sides, labels, score),
            "with": decisions([corrected_pairs(part, corrected) for part in sides], labels, score),
        }
        console().print(name, found[name])
    write_json(out, found)


def corrected_pairs(pairs: Pairs, corrected: Callable[[str], str]) -> Pairs:
    """Both texts of each pair corrected."""
    return [cast(tuple[str, str], tuple(corrected(text) for text in pair)) for pair in pairs]


def restored(clean: Pairs, wrong: Pairs, corrected: Callable[[str], str]) -> float:
    """Share of misspelt texts that correction makes the same text as it makes of the clean one."""
    texts = [
        (a, b) for pair, other in zip(clean, wrong, strict=True) for a, b in zip(pair, other, strict=True)
    ]
    return float(np.mean([corrected(a).lower() == corrected(b).lower() for a, b in texts]))


def decisions(
    sides: Sequence[Pairs], labels: np.ndarray, score: Callable[[Pairs], np.ndarray]
) -> dict[str, float]:
    """Figures at logit 0 of pairs clean, with one misspelling, with one in each text."""
    clean, one, both = (score(part) for part in sides)
    figures = {"flipped_by_one": float(np.mean((clean > 0) != (one > 0)))}
    for name, logits in (("clean", clean), ("one", one), ("both", both)):
        figures[f"accuracy_{name}"] = float(np.mean((logits > 0) == (labels > 0)))
        figures[f"auc_{name}"] = float(roc_auc_score(labels > 0, logits))
    return {name: round(value, 4) for name, value in figures.items()}


if __name__ == "__main__":
    run(main)
