"""The bundled texts, written for this project and taken from no data set.

Paraphrases, near misses and unrelated pairs as a matcher meets them: 1 to 94 words, odd punctuation, numbers,
accents, emoji, several scripts, URLs and code; and questions about paragraphs, for readers. Every third row
calibrates; the other two thirds verify.
"""

from collections.abc import Sequence
from pathlib import Path

from mobilebert_export.samples.recombined import recombined
from mobilebert_matching.data.pairs import read_text_pairs
from mobilebert_runtime.card import QUESTION_ANSWERING
from mobilebert_runtime.tokenizer import Pair

SAMPLES = Path(__file__).parent / "pairs.tsv"
QUESTIONS = SAMPLES.with_name("questions.txt")
CALIBRATION_EVERY = 3
SHORT = 40


def calibration_pairs() -> list[tuple[str, str]]:
    """Rows 0, 3, 6, …: what activation ranges are measured on unless the user gives a file."""
    return read_text_pairs(SAMPLES)[::CALIBRATION_EVERY]


def calibration_texts(
    task: str, texts: int, given: Sequence[Pair] | None = None
) -> Sequence[Pair] | Sequence[str]:
    """What ranges are measured on for a task (`ArtefactCard.task`) and so many texts in an input.

    The user's pairs where there are any; both texts of each where an input is one text. Otherwise bundled
    ones: for readers questions with their contexts, for other networks that read two texts
    `calibration_pairs`, for those that read one both texts of half of them.
    """
    if given is not None:
        return given if texts == 2 else [text for pair in given for text in pair]
    if task == QUESTION_ANSWERING:
        return questions()[::CALIBRATION_EVERY]
    return calibration_pairs() if texts == 2 else _singles(calibration_pairs())


def verification_texts(task: str, texts: int) -> list[tuple[str, str]] | list[str]:
    """What an artefact is compared with PyTorch on; single texts of one pair follow each other."""
    if task == QUESTION_ANSWERING:
        return [pair for row, pair in enumerate(questions()) if row % CALIBRATION_EVERY]
    return verification_pairs() if texts == 2 else _singles(verification_pairs())


def questions() -> list[tuple[str, str]]:
    """(question, context): the file has a paragraph, its questions in a line each, and an empty line."""
    blocks = (block.splitlines() for block in QUESTIONS.read_text(encoding="utf-8").strip().split("\n\n"))
    return [(question, context) for context, *asked in blocks for question in asked]


def _singles(pairs: list[tuple[str, str]]) -> list[str]:
    return [text for pair in pairs[::2] for text in pair]


def verification_pairs() -> list[tuple[str, str]]:
    """All other rows, more than 200: what an artefact is compared with its PyTorch model on."""
    return [pair for row, pair in enumerate(read_text_pairs(SAMPLES)) if row % CALIBRATION_EVERY]


def generated_pairs(count: int) -> list[tuple[str, str]]:
    """A number of pairs made by rules from short verification pairs, always the same.

    Real pairs are that short, and thousands of long ones would take minutes; `verification_pairs` has some.
    """
    return recombined(short_pairs(), count, seed=0)


def short_pairs() -> list[tuple[str, str]]:
    """The verification pairs of at most `SHORT` words, both texts together."""
    return [(a, b) for a, b in verification_pairs() if len(f"{a} {b}".split()) <= SHORT]
