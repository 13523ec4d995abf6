"""SQuAD-style span question answering from local JSON: windows over long contexts, training, prediction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from matching.evaluation import squad_metrics
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from models import SpanQA
from training.batches import Batch, LengthBuckets, Tensors
from training.config import LossNormalizers, TrainingConfig
from training.encoded_pairs import padded
from training.inference import batches_by_length
from training.trainer import Parts, train

MAX_LENGTH, OVERLAP, QUESTION_LENGTH = 384, 128, 64  # tokens, as BERT fine-tunes SQuAD
ANSWER_LENGTH = 30  # tokens of the longest answer that is looked for
CANDIDATES = 20  # best starts and ends of a window that are paired up


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
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
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


def finetune_squad(
    model: SpanQA,
    directory: Path,
    data: dict[str, list[Question]],
    config: TrainingConfig,
    out: Path,
    max_len: int = MAX_LENGTH,
) -> dict[str, Any]:
    """Fine-tune in place; returns `dev` figures and `seconds`, and keeps the training record in `out`.

    Args:
        model: changed.
        directory: holds its tokenizer.json.
        data: `train` and `dev` questions.
        config: the optimisation.
        out: folder for checkpoint and record; an interrupted run there is taken up again.
        max_len: tokens of a window.
    """
    tokenizer = PairTokenizer.load(directory)
    parts = windows(directory, data["train"], max_len)
    encoded = [(part.ids, part.types) for part in parts]
    targets = torch.tensor([part.target(data["train"][part.question]) for part in parts])  # (N, 2)

    def collate(batch: Batch) -> dict[str, Tensor]:
        return padded(tokenizer, encoded, batch.index) | {"labels": targets[batch.index]}

    def loss(model: SpanQA, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        wanted, logits = batch.pop("labels"), _logits(model, batch)
        # The mean of the losses of start and end, each a choice among the tokens: (B, S, 2) → (B, 2, S).
        by_token = logits.transpose(1, 2).reshape(-1, logits.shape[1])
        return F.cross_entropy(by_token, wanted.reshape(-1)) * normalizers.sequences, {}

    def evaluate() -> dict[str, float]:
        return squad_figures(model, directory, data["dev"], max_len)

    source = LengthBuckets([len(part.ids) for part in parts], collate)
    record = train(model, source, loss, config, out, name="finetune", evaluate=evaluate)
    figures = {k: v for k, v in record["evaluations"][-1].items() if k != "step"}
    return {"dev": figures, "seconds": record["seconds"]}


def squad_figures(
    model: SpanQA, directory: Path, questions: Sequence[Question], max_len: int = MAX_LENGTH
) -> dict[str, float]:
    """Official figures of a model: v2's where a question has no answer, else v1.1's."""
    found, nothing = answer(model, directory, questions, max_len)
    golds = {question.key: question.answers for question in questions}
    some_without = any(not question.answers for question in questions)
    return squad_metrics.evaluate(golds, found, nothing if some_without else None)


def answer(
    model: SpanQA, directory: Path, questions: Sequence[Question], max_len: int = MAX_LENGTH
) -> tuple[dict[str, str], dict[str, float]]:
    """The best span of each question, and by how much "no answer" outscores it, both by its key.

    A span's score is its start logit plus its end logit; "no answer" is the [CLS] as both, at its lowest over
    the windows (BERT's SQuAD v2 rule).
    """
    tokenizer = PairTokenizer.load(directory)
    parts = windows(directory, questions, max_len)
    best: list[tuple[float, str]] = [(-np.inf, "")] * len(questions)
    none = np.full(len(questions), np.inf)
    encoded = [(part.ids, part.types) for part in parts]
    lengths = [len(ids) for ids, _ in encoded]
    batches = batches_by_length(model, lengths, lambda index: padded(tokenizer, encoded, index), 32)
    for index, inputs in batches:
        for part, logits in zip([parts[i] for i in index], _logits(model, inputs).cpu().numpy(), strict=True):
            score, span = best_span(part, logits)
            context = questions[part.question].context
            if score > best[part.question][0]:
                best[part.question] = score, context[span[0] : span[1]]
            none[part.question] = min(none[part.question], float(logits[0].sum()))
    keys = [question.key for question in questions]
    texts = {key: text for key, (_, text) in zip(keys, best, strict=True)}
    return texts, {key: float(none[i] - best[i][0]) for i, key in enumerate(keys)}


def best_span(window: Window, logits: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Highest score of a span inside the context, and its characters.

    Args:
        window: says which tokens are of the context.
        logits: (S, 2), start and end.
    """
    inside = np.array([i for i, span in enumerate(window.spans) if span is not None])
    starts = inside[np.argsort(-logits[inside, 0], kind="stable")[:CANDIDATES]]
    ends = inside[np.argsort(-logits[inside, 1], kind="stable")[:CANDIDATES]]
    best, where = -np.inf, (0, 0)
    for first in starts:
        for last in ends:
            score = float(logits[first, 0] + logits[last, 1])
            if first <= last < first + ANSWER_LENGTH and score > best:
                begin, end = window.spans[first], window.spans[last]
                if begin and end:
                    best, where = score, (begin[0], end[1])
    return best, where


def _logits(model: SpanQA, inputs: dict[str, Tensor]) -> Tensor:
    """(B, S, 2); padding is out of the running."""
    padding = inputs["attention_mask"][..., None] == 0
    return model(**inputs).float().masked_fill(padding, -1e4)
