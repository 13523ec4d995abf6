"""SQuAD-style span question answering from local JSON: questions, windows over long contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import parse_json
from mobilebert_runtime.tokenizer import PairTokenizer

MAX_LENGTH, OVERLAP, QUESTION_LENGTH = 384, 128, 64  # tokens, as BERT fine-tunes SQuAD


@dataclass(frozen=True)
class Question:
    """A question about a text; no answers where the text has none."""

    key: str
    question: str
    context: str
    answers: tuple[str, ...]
    starts: tuple[int, ...]  # character of the context where each answer begins


@dataclass(frozen=True)
class Window:
    """What the model reads at once: [CLS] question [SEP] part of the context [SEP]."""

    question: int  # its place in the list of questions
    ids: list[int]
    types: list[int]
    spans: list[tuple[int, int] | None]  # characters of the context under each token; None outside it

    def target(self, question: Question) -> tuple[int, int]:
        """First and last token of the first gold answer; (0, 0), the [CLS], where it is not wholly inside."""
        if not question.answers:
            return 0, 0
        first, last = question.starts[0], question.starts[0] + len(question.answers[0])
        inside = [i for i, span in enumerate(self.spans) if span and span[0] < last and span[1] > first]
        found = [span for i in inside if (span := self.spans[i])]
        if not found or found[0][0] > first or found[-1][1] < last:
            return 0, 0
        return inside[0], inside[-1]


def read_squad(path: Path) -> list[Question]:
    """All questions of a v1.1 or v2 file.

    Raises:
        DataError: no such file, not SQuAD's JSON, or an answer that is not at its place in the text.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; give a folder with train*.json and dev*.json")
    questions = []
    try:
        for article in parse_json(path.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                context = paragraph["context"]
                for entry in paragraph["qas"]:
                    answers = [] if entry.get("is_impossible") else entry["answers"]
                    texts = tuple(answer["text"] for answer in answers)
                    starts = tuple(int(answer["answer_start"]) for answer in answers)
                    for text, start in zip(texts, starts, strict=True):
                        if context[start : start + len(text)] != text:
                            raise DataError(
                                f"{path}: question {entry['id']!r}: no {text!r} at character {start}"
                            )
                    questions.append(Question(entry["id"], entry["question"], context, texts, starts))
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not a SQuAD file ({type(error).__name__}: {error})") from error
    if not questions:
        raise DataError(f"{path}: no question in it")
    return questions


def find_split(folder: Path, name: str) -> Path:
    """The one file `name`*.json of a folder, such as train-v2.0.json.

    Raises:
        DataError: none, or several.
    """
    found = sorted(folder.glob(f"{name}*.json"))
    if len(found) != 1:
        raise DataError(f"{folder}: {len(found)} files {name}*.json; expected one")
    return found[0]


def windows(directory: Path, questions: Sequence[Question], max_len: int = MAX_LENGTH) -> list[Window]:
    """Cut each question's text into windows that overlap by a third.

    Args:
        directory: holds tokenizer.json.
        questions: what to cut; a question is read up to `QUESTION_LENGTH` tokens.
        max_len: tokens of a window.
    """
    PairTokenizer.load(directory)  # its errors
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = []
    for question, alone in zip(
        questions,
        tokenizer.encode_batch([q.question for q in questions], add_special_tokens=False),
        strict=True,
    ):
        long = len(alone.ids) > min(QUESTION_LENGTH, max_len // 2)
        end = alone.offsets[min(QUESTION_LENGTH, max_len // 2) - 1][1] if long else len(question.question)
        texts.append((question.question[:end], question.context))
    tokenizer.enable_truncation(max_len, stride=OVERLAP * max_len // MAX_LENGTH, strategy="only_second")
    found = []
    for number, whole in enumerate(tokenizer.encode_batch(texts)):
        for part in (whole, *whole.overflowing):
            spans = [
                offset if sequence == 1 else None
                for offset, sequence in zip(part.offsets, part.sequence_ids, strict=True)
            ]
            found.append(Window(number, part.ids, part.type_ids, spans))
    return found
