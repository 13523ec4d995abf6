"""Fine-tuning on GLUE-style tasks: cross-entropy for classes, mean squared error for a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mobilebert_matching.data.glue import Task, TaskData
from mobilebert_matching.evaluation.glue_metrics import task_figures
from mobilebert_models import PairClassifier
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.batches import Batch, LengthBuckets
from mobilebert_training.finetuning.encoded_pairs import (
    EncodedPairs,
    predict_logits,
    readable_tokens,
    swap_flags,
)
from mobilebert_training.run_directory import values_hash
from mobilebert_training.trainer import supervised, train
from mobilebert_training.training_config import TrainingConfig

MAX_LENGTH = 128  # tokens, as BERT fine-tunes GLUE


def finetune_task(
    model: PairClassifier,
    tokenizer: PairTokenizer,
    task: Task,
    data: dict[str, TaskData],
    config: TrainingConfig,
    out: Path,
) -> dict[str, Any]:
    """Fine-tune in place; returns `dev` figures and `seconds`, and keeps the training record in `out`.

    Args:
        model: with one output a class, or one for a regression.
        tokenizer: of the model.
        task: loss and figures follow from it.
        data: `train` and `dev` of `read_task`.
        config: the optimisation.
        out: folder for checkpoint and record; an interrupted run there is resumed.
    """
    encoded = EncodedPairs.encode(tokenizer, data["train"].pairs, readable_tokens(MAX_LENGTH, model.config))
    targets = torch.from_numpy(data["train"].targets)

    def collate(batch: Batch) -> dict[str, Tensor]:
        swap = swap_flags(batch) if task.symmetric else np.zeros(len(batch.index), bool)
        return encoded.batch(tokenizer, batch.index, swap) | {"labels": targets[batch.index]}

    def criterion(outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels) if task.labels else F.mse_loss(outputs[:, 0], labels)

    def evaluate() -> dict[str, float]:
        return task_figures(task, data["dev"].targets, predict_task(model, tokenizer, data["dev"].pairs))

    source = LengthBuckets(encoded.lengths, collate, values_hash(data["train"].pairs, data["train"].targets))
    record = train(model, source, supervised(criterion), config, out, name="finetune", evaluate=evaluate)
    figures = {k: v for k, v in record["evaluations"][-1].items() if k != "step"}
    return {"dev": figures, "seconds": record["seconds"]}


def predict_task(model: PairClassifier, tokenizer: PairTokenizer, pairs: list[Pair]) -> np.ndarray:
    """Outputs (N, C) of a model on pairs."""
    return predict_logits(model, tokenizer, pairs, seq_len=MAX_LENGTH)
