"""Fine-tuning for span question answering (SQuAD v1.1 and v2), its predictions and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mobilebert_matching.data.squad import MAX_LENGTH, Question, Window, windows
from mobilebert_matching.evaluation import squad_metrics
from mobilebert_models import SpanQA
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.batches import Batch, LengthBuckets, Tensors
from mobilebert_training.finetuning.encoded_pairs import collator, padded
from mobilebert_training.inference import batches_by_length
from mobilebert_training.run_directory import values_hash
from mobilebert_training.trainer import Parts, train
from mobilebert_training.training_config import LossNormalizers, TrainingConfig

ANSWER_LENGTH = 30  # tokens of the longest answer that is looked for
CANDIDATES = 20  # best starts and ends of a window that are paired up


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
        out: folder for checkpoint and record; an interrupted run there is resumed.
        max_len: tokens of a window.
    """
    tokenizer = PairTokenizer.load(directory)
    parts = windows(directory, data["train"], max_len)
    encoded = [(part.ids, part.types) for part in parts]
    targets = torch.tensor([part.target(data["train"][part.question]) for part in parts])  # (N, 2)

    def collate(batch: Batch) -> dict[str, Tensor]:
        return padded(tokenizer, [encoded[i] for i in batch.index]) | {"labels": targets[batch.index]}

    def loss(model: SpanQA, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        wanted, logits = batch.pop("labels"), _logits(model, batch)
        # The mean of the losses of start and end, each a choice among the tokens: (B, S, 2) → (B, 2, S).
        by_token = logits.transpose(1, 2).reshape(-1, logits.shape[1])
        return F.cross_entropy(by_token, wanted.reshape(-1)) * normalizers.sequences, {}

    def evaluate() -> dict[str, float]:
        return squad_figures(model, directory, data["dev"], max_len)

    source = LengthBuckets([len(part.ids) for part in parts], collate, values_hash(encoded, targets.numpy()))
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
    for index, inputs in batches_by_length(model, lengths, collator(tokenizer, encoded), 32):
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
