"""Dev figures of a matcher's decision with other weights of the cosines, overlap and reach of the penalty.

    python -m studies.general_matcher.pair_decision runs/general/open-m --out pair_decision-m.json

The head's trained parts stay as `distill.general.train_head` leaves them. Decision 028 quotes the table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from typer import Argument, Option

from distill.general.development import SETS, agreement, dev_pairs
from distill.general.edits import edited
from distill.general.heads import TokenStates, head_logits, pair_states
from distill.general.minimal_pairs import MadePair, generate
from distill.general.teachers import read_texts
from distill.general.train_head import EDITED, OVERLAP, QUESTIONS, STATEMENTS, Weights
from distill.general.trunk import held
from mobilebert_export.general_shipping import RECIPES
from mobilebert_runtime.files import write_json
from models.embedding_matcher import DEEPEST, NONE, AlignmentHead
from studies.common.markdown import table
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.opened import open_matcher
from studies.general_matcher.options import CACHE, SHARED, TWITTER, Cache, Shared

MADE = 60  # pairs of each kind, of templates and of edited sentences
NO_MARKS = "qqp_dev without ?"


@dataclass(frozen=True)
class Variant:
    """Weights of the cosines (vectors, [CLS], embedding output, nearest tokens), and the penalty's reach."""

    statements: Weights
    questions: Weights
    overlap: tuple[float, float, float] = OVERLAP  # how much the distance of two questions counts
    none: float = NONE  # tokens that only one text has from which on there is no penalty
    deepest: float = DEEPEST  # logits of the largest penalty
    share: float = 1.0  # of the trained penalty
    marks_read: bool = False  # question marks as tokens like others, all texts as statements
    rare: bool = True  # rare tokens count more in the embedding output's mean, where the head knows them


FLAT = (1.0, 0.0, 1.0)  # an overlap that counts for nothing
MEAN_ALONE = (1.0, 0.0, 0.0, 0.0)
CLS = (1.0, 0.3, 0.0, 0.0)
OVERLAPS = ((1.0, 6.0, 0.78), (0.85, 5.0, 0.78), (0.85, 6.0, 0.8), (0.8, 6.0, 0.78))
M, S = RECIPES["matcher-open-m"], RECIPES["matcher-open-s"]
OF_M = Variant(M.statements, M.questions, share=M.penalty)
OF_S = Variant(S.statements, S.questions, share=S.penalty)
BEFORE_S = Variant((1.0, 0.3, 0.3, 0.0), (1.0, 0.5, -0.3, 0.0), FLAT, share=0.6)
VARIANTS = (
    Variant(MEAN_ALONE, MEAN_ALONE, FLAT, share=0.0, marks_read=True),
    Variant(CLS, CLS, FLAT, share=0.0, marks_read=True),
    Variant(CLS, CLS, FLAT, marks_read=True),
    Variant(MEAN_ALONE, MEAN_ALONE, FLAT, share=0.0),
    Variant(MEAN_ALONE, MEAN_ALONE, FLAT),
    Variant(STATEMENTS, STATEMENTS, FLAT),
    Variant(STATEMENTS, QUESTIONS, FLAT),
    OF_M,
    replace(OF_M, overlap=FLAT),
    *(replace(OF_M, overlap=overlap) for overlap in OVERLAPS),
    replace(OF_M, statements=STATEMENTS),
    replace(OF_M, questions=QUESTIONS),
    replace(OF_M, none=3.0),
    replace(OF_M, none=4.0),
    replace(OF_M, deepest=1.5),
    replace(OF_M, deepest=3.5),
    replace(OF_M, share=0.7),
    BEFORE_S,
    replace(BEFORE_S, rare=False),
    *(replace(OF_S, share=share) for share in (1.0, 0.8, 0.7, 0.6, 0.5)),
    replace(OF_S, overlap=FLAT),
    *(replace(OF_S, overlap=overlap) for overlap in OVERLAPS),
    replace(OF_S, rare=False),
    replace(OF_S, statements=BEFORE_S.statements),
    replace(OF_S, questions=BEFORE_S.questions),
)


def main(
    model: Annotated[str, Argument(help="An embedding matcher with a trained head.")],
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
    sets = {name: dev_pairs(shared / "data", *rest, most) for name, *rest, _ in (*SETS, TWITTER)}
    left, right, labels = sets["qqp_dev"]
    sets[NO_MARKS] = [t.replace("?", "") for t in left], [t.replace("?", "") for t in right], labels
    natural = read_texts(cache / "texts.tsv")
    made = {
        "made": list(generate("train", MADE, 1)),
        "edited": list(edited(natural[held(len(natural)) :][:EDITED], MADE, 1)),
    }
    sets |= {name: _columns(pairs) for name, pairs in made.items()}
    mark, rarity = tokenizer.vocabulary().get("?"), matcher.head.rarity
    rows = []
    for marks_read in (True, False):
        matcher.head.weigh_cosines(STATEMENTS, QUESTIONS, None if marks_read else mark)
        states = {name: pair_states(matcher, tokenizer, a, b) for name, (a, b, _) in sets.items()}
        for variant in VARIANTS:
            if variant.marks_read == marks_read:
                matcher.head.weigh_cosines(
                    variant.statements, variant.questions, None if marks_read else mark
                )
                matcher.head.weigh_overlap(*variant.overlap)
                matcher.head.none, matcher.head.deepest = variant.none, variant.deepest
                matcher.head.share.data.fill_(variant.share)
                matcher.head.rarity = rarity if variant.rare else None
                rows.append(asdict(variant) | figures(matcher.head, sets, states))
                console().print(rows[-1])
    write_json(out, {"pairs": {name: len(labels) for name, (_, _, labels) in sets.items()}, "variants": rows})
    console().print(table(tuple(rows[0]), [[str(value) for value in row.values()] for row in rows]))


def figures(
    head: AlignmentHead,
    sets: dict[str, tuple[list[str], list[str], np.ndarray]],
    states: dict[str, tuple[list[TokenStates], np.ndarray, np.ndarray]],
) -> dict[str, Any]:
    """AUC or Spearman's correlation of every set; of made pairs also the share that is right at logit 0."""
    found = {}
    for name, (_, _, labels) in sets.items():
        logits = head_logits(head, *states[name])
        found[name] = round(agreement(logits, labels), 4)
        if name in ("made", "edited"):
            for label, kind in ((0, "different"), (1, "same")):
                own = labels == label
                found[f"{name}, {kind}: right"] = round(float(((logits > 0) == labels)[own].mean()), 3)
    return found


def _columns(pairs: list[MadePair]) -> tuple[list[str], list[str], np.ndarray]:
    return [p.left for p in pairs], [p.right for p in pairs], np.array([float(p.label) for p in pairs])


if __name__ == "__main__":
    run(main)
