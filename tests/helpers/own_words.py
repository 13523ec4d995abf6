"""An artefact that corrects spelling, opened with own words and without correction: Python's answers."""

import json
from dataclasses import replace
from pathlib import Path

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_models import find_directory
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import MATCHING, ArtefactCard
from mobilebert_runtime.card_parts import Embedding
from tests.helpers import tiny_tasks

PAIRS = [
    ("Can I take Celexa with wine?", "Can I take Celebrex with wine?"),
    ("the doze of celexa", "What is the dose of CELEXA"),
    ("How do I lern to swwim?", "Waht is the best way to laern swimmming?"),
    ("Tomorow, in Pariss", "the wether in Paris tomorrow"),
    ("a mooon", "the cCelexa"),
    ("Straße nach Lern", "lern"),
    ("nothing to correct", "nothing at all"),
]
# What a model is opened with: own words in no order, twice, in texts, and some that nothing would correct.
OPENED = [
    {},
    {"words": ["Celexa", "lern und Tomorow,", "celexa", "H2O", "Straße", "swwim"]},
    {"words": ["mooon\tCELEBREX"]},
    {"words": []},
    {"spelling": False},
]
REFUSED = [
    ({"words": ["Celexa", ""]}, "words: entry 2 is empty; leave it out"),
    ({"words": [" \u2003\x1f\n"]}, "words: entry 1 is empty; leave it out"),
    (
        {"words": ["Celexa"], "spelling": False},
        "words: are left as they are by the correction, which spelling",
    ),
]
CORRECTS_NOTHING = "words, spelling: the artefact corrects no words; leave them out"


def add_spelling(folder: Path, words: list[str]) -> ArtefactCard:
    """Give an artefact a list of words, the most frequent first."""
    card = ArtefactCard.from_json(json.loads((folder / "io.json").read_text()), folder)
    card = replace(card, tokenizer=replace(card.tokenizer, spelling=True))
    (folder / "io.json").write_text(json.dumps(card.to_json()))
    (folder / "spelling.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    write_checksums(folder)
    return card


def write_artefact(folder: Path) -> Path:
    """A matcher with vectors and the shipped list of words."""
    tiny_tasks.write(folder, MATCHING, embedding=Embedding(24, normalized=False))
    shipped = find_directory("matcher-open-m") / "spelling.txt"
    add_spelling(folder, shipped.read_text(encoding="utf-8").split())
    return folder


def answers(folder: Path) -> list[dict]:
    """For each of `OPENED` the fingerprint, and ids and score of each of `PAIRS`."""
    found = []
    for options in OPENED:
        matcher = load(folder, **options)
        ids = [row for row, _ in matcher.tokenizer.ids(PAIRS, matcher.card.seq_len)]
        rows = [
            {"a": a, "b": b, "ids": row, "score": float(score)}
            for (a, b), row, score in zip(PAIRS, ids, matcher.score(PAIRS), strict=True)
        ]
        found.append({"options": options, "fingerprint": matcher.fingerprint, "pairs": rows})
    return found
