"""Dev figures of a matcher's decision with other weights of the cosines, overlap and reach of the penalty.

    python -m studies.general_matcher.pair_decision runs/general/open-m --out pair_decision-m.json

The head's trained parts stay as `recipes.general_matchers.train_head` leaves them. Decision 028 quotes the
table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from typer import Argument, Option

from mobilebert_models.networks.embedding_matcher import DEEPEST, NONE, AlignmentHead, EmbeddingMatcher
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.development import SETS, agreement, dev_pairs, utterances
from recipes.general_matchers.edits import edited
from recipes.general_matchers.heads import TokenStates, head_logits, pair_states, token_states
from recipes.general_matchers.make import MATCHER_RECIPES
from recipes.general_matchers.minimal_pairs import MadePair, generate
from recipes.general_matchers.teachers import read_text_column
from recipes.general_matchers.texts import rows
from recipes.general_matchers.train_head import EDITED, OVERLAP, QUESTIONS, STATEMENTS, Overlap, Weights
from recipes.general_matchers.trunk import held
from studies.common.markdown import table
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.evaluation_sets import STORED_PER_INTENT
from studies.general_matcher.figures import FOUND, nearest
from studies.general_matcher.opened import open_matcher
from studies.general_matcher.options import CACHE, SHARED, TWITTER, Cache, Shared

MADE = 60  # pairs of each kind, of templates and of edited sentences
NO_MARKS = "qqp_dev without ?"
QUERIES = 500  # of the look-up of duplicates, as many as of utterances
Columns = tuple[list[str], list[str], np.ndarray]  # left and right texts, labels


@dataclass(frozen=True)
class Variant:
    """Weights of the cosines (vectors, [CLS], embedding output, nearest tokens), and the penalty's reach."""

    statements: Weights
    questions: Weights
    overlap: Overlap = OVERLAP  # how much the distance of two questions counts
    none: float = NONE  # tokens that only one text has from which on there is no penalty
    deepest: float = DEEPEST  # logits of the largest penalty
    share: float = 1.0  # of the trained penalty
    marks_read: bool = False  # question marks as tokens like others, all texts as statements
    first_words: bool = True  # questions are told by their first word too
    rare: bool = True  # rare tokens count more in the embedding output's mean, where the head knows them


FLAT = (1.0, 0.0, 1.0)  # an overlap that counts for nothing
STEEP = (0.85, 6.0, 0.78)
MEAN_ALONE = (1.0, 0.0, 0.0, 0.0)
CLS = (1.0, 0.3, 0.0, 0.0)
M, S = MATCHER_RECIPES["matcher-open-m"], MATCHER_RECIPES["matcher-open-s"]
OF_M = Variant(M.statements, M.questions, M.overlap, share=M.penalty)
OF_S = Variant(S.statements, S.questions, S.overlap, share=S.penalty)
BEFORE_M = Variant(M.statements, MEAN_ALONE, STEEP, first_words=False)
BEFORE_S = replace(OF_S, questions=(1.0, 0.5, -0.3, 1.0), overlap=STEEP, first_words=False)
THREE_S = Variant((1.0, 0.3, 0.3, 0.0), (1.0, 0.5, -0.3, 0.0), FLAT, share=0.6, first_words=False)
VARIANTS = (
    Variant(MEAN_ALONE, MEAN_ALONE, FLAT, share=0.0, marks_read=True),
    Variant(CLS, CLS, FLAT, share=0.0, marks_read=True),
    Variant(CLS, CLS, FLAT, marks_read=True),
    Variant(MEAN_ALONE, MEAN_ALONE, FLAT, share=0.0),
    Variant(MEAN_ALONE, MEAN_ALONE, FLAT),
    Variant(STATEMENTS, STATEMENTS, FLAT),
    Variant(STATEMENTS, QUESTIONS, FLAT, first_words=False),
    BEFORE_M,
    replace(BEFORE_M, first_words=True),
    OF_M,
    replace(OF_M, first_words=False),
    replace(OF_M, overlap=FLAT),
    replace(OF_M, overlap=STEEP),
    replace(OF_M, overlap=(1.0, 3.0, 0.78)),
    replace(OF_M, questions=MEAN_ALONE),
    replace(OF_M, questions=QUESTIONS),
    replace(OF_M, statements=STATEMENTS),
    replace(OF_M, none=3.0),
    replace(OF_M, none=4.0),
    replace(OF_M, deepest=1.5),
    replace(OF_M, deepest=3.5),
    replace(OF_M, share=0.7),
    THREE_S,
    replace(THREE_S, rare=False),
    BEFORE_S,
    replace(BEFORE_S, first_words=True),
    *(replace(OF_S, share=share) for share in (1.0, 0.8, 0.7, 0.6, 0.5)),
    replace(OF_S, first_words=False),
    replace(OF_S, overlap=FLAT),
    replace(OF_S, overlap=M.overlap),
    *(replace(OF_S, questions=(1.0, 0.5, words, nearest)) for words, nearest in ((-0.2, 1.0), (-0.1, 2.0))),
    replace(OF_S, rare=False),
)


def main(
    model: Annotated[str, Argument(help="An embedding matcher with the head of decision 028.")],
    out: Annotated[Path, Option(help="The record.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    most: Annotated[int, Option(min=2, help="Pairs of each dev set, evenly spread.")] = 10**9,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write the figures of every variant, print them as a table."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    matcher, tokenizer = open_matcher(model)
    if not isinstance(matcher.head, AlignmentHead):
        raise OptionError(f"model {model}: its decision is learned; give one whose cosines have weights")
    sets = {name: dev_pairs(shared / "data", *rest, most) for name, *rest, _ in (*SETS, TWITTER)}
    left, right, labels = sets["qqp_dev"]
    sets[NO_MARKS] = [t.replace("?", "") for t in left], [t.replace("?", "") for t in right], labels
    natural = read_text_column(cache / "texts.tsv")
    made = {
        "made": list(generate("train", MADE, 1)),
        "edited": list(edited(natural[held(len(natural)) :][:EDITED], MADE, 1)),
    }
    sets |= {name: _columns(pairs) for name, pairs in made.items()}
    vocabulary, rarity = tokenizer.vocabulary(), matcher.head.rarity
    sets |= {
        "clinc_dev look-up": found_by_search(
            matcher, tokenizer, *utterances(shared / "data", STORED_PER_INTENT)
        ),
        "qqp_dev look-up": found_by_search(matcher, tokenizer, *duplicates(shared / "data")),
    }
    found = []
    for marks_read in (True, False):
        matcher.head.know_questions({} if marks_read else vocabulary)
        states = {name: pair_states(matcher, tokenizer, a, b) for name, (a, b, _) in sets.items()}
        for variant in VARIANTS:
            if variant.marks_read == marks_read:
                known = vocabulary if variant.first_words else {"?": vocabulary["?"]}
                matcher.head.know_questions({} if marks_read else known)
                matcher.head.weigh_cosines(variant.statements, variant.questions)
                matcher.head.weigh_overlap(*variant.overlap)
                matcher.head.none, matcher.head.deepest = variant.none, variant.deepest
                matcher.head.share.data.fill_(variant.share)
                matcher.head.rarity = rarity if variant.rare else None
                found.append(asdict(variant) | figures(matcher.head, sets, states))
                console().print(found[-1])
    write_json(
        out, {"pairs": {name: len(labels) for name, (_, _, labels) in sets.items()}, "variants": found}
    )
    console().print(table(tuple(found[0]), [[str(value) for value in row.values()] for row in found]))


def duplicates(data: Path) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """All second questions of QQP dev, the first ones of its duplicates, and which belongs to which."""
    pairs = rows(data / "qqp/dev.tsv")
    stored = sorted({r["question2"] for r in pairs})
    at = {text: place for place, text in enumerate(stored)}
    asked = [r for r in pairs if r["label"] == "1" and r["question1"] not in at]
    asked = asked[:: max(1, len(asked) // QUERIES)][:QUERIES]
    wanted = np.array([at[r["question2"]] for r in asked])
    return stored, np.arange(len(stored)), [r["question1"] for r in asked], wanted


def found_by_search(
    matcher: EmbeddingMatcher,
    tokenizer: PairTokenizer,
    stored: list[str],
    kinds: np.ndarray,
    asked: list[str],
    wanted: np.ndarray,
) -> Columns:
    """Each asked text beside the `FOUND` stored ones nearest to it, the nearest first; 1 where they match."""
    vectors = np.stack([state.vector for state in token_states(matcher, tokenizer, [*asked, *stored])])
    near = nearest(vectors[: len(asked)], vectors[len(asked) :], FOUND)
    left = [text for text in asked for _ in range(FOUND)]
    labels = (kinds[near] == wanted[:, None]).astype(float)
    return left, [stored[place] for place in near.ravel()], labels.ravel()


def figures(
    head: AlignmentHead,
    sets: dict[str, Columns],
    states: dict[str, tuple[list[TokenStates], np.ndarray, np.ndarray]],
) -> dict[str, Any]:
    """AUC or Spearman's correlation of every set; of made pairs also the share that is right at logit 0.

    Of a look-up how often the right text comes first, as searched and then ranked by the logits.
    """
    found = {}
    for name, (_, _, labels) in sets.items():
        logits = head_logits(head, *states[name])
        if name.endswith("look-up"):
            right = labels.reshape(-1, FOUND)
            best = logits.reshape(-1, FOUND).argmax(1)
            found[f"{name}: searched"] = round(float(right[:, 0].mean()), 4)
            found[f"{name}: ranked"] = round(float(right[np.arange(len(right)), best].mean()), 4)
            continue
        found[name] = round(agreement(logits, labels), 4)
        if name in ("made", "edited"):
            for label, kind in ((0, "different"), (1, "same")):
                own = labels == label
                found[f"{name}, {kind}: right"] = round(float(((logits > 0) == labels)[own].mean()), 3)
    return found


def _columns(pairs: list[MadePair]) -> Columns:
    return [p.left for p in pairs], [p.right for p in pairs], np.array([float(p.label) for p in pairs])


if __name__ == "__main__":
    run(main)
