"""Sources of batches: examples in memory by length, or a data set that draws its examples.

Which examples a step trains on follows from seed and step alone: a resumed run agrees with an uninterrupted
one, and several processes share out what one would have had.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from mobilebert_runtime.errors import DataError, OptionError
from mobilebert_training.training_config import TrainingConfig

# A batch is drawn from a window of this many batches sorted by length: little padding, still shuffled.
_WINDOW = 50
Tensors = dict[
    str, Tensor
]  # each with the examples of a batch as its first dimension, or their masked tokens


class BatchSource(ABC):
    """Where the trainer takes its batches from."""

    examples: int
    settings: dict[str, Any]  # what a resumed run must have in common with the interrupted one
    seeded_by_step = False  # the random state of a step follows from its number, not from the steps before

    @abstractmethod
    def micro_batches(
        self, config: TrainingConfig, rank: int, world: int, steps: range
    ) -> Iterator[list[Tensors]]:
        """This process's micro-batches of each of `steps`."""

    def seed(self, config: TrainingConfig, rank: int, step: int) -> int | None:
        """What to seed PyTorch with before a step; None goes on with the random state as it is."""
        numbers = (config.seed, step, rank) if self.seeded_by_step else (config.seed, rank)
        if not self.seeded_by_step and step:
            return None
        if not self.seeded_by_step and not rank:
            return config.seed
        return int(np.random.SeedSequence(numbers).generate_state(1)[0])


@dataclass(frozen=True)
class Batch:
    """Which examples a micro-batch has."""

    index: np.ndarray  # (B,) places in the training set
    epoch: int
    # (B,) uniform from [0, 1), for what is drawn of an example: it depends on seed, epoch and batch only.
    chance: np.ndarray = field(default_factory=lambda: np.ones(0))


class LengthBuckets(BatchSource):
    """Examples in memory, in batches of similar length.

    Args:
        lengths: of each example, in tokens.
        collate: the tensors of some examples.
        data: a hash of all that `collate` takes them from, labels included.

    Raises:
        DataError: there are no examples.
    """

    def __init__(self, lengths: Sequence[int], collate: Callable[[Batch], Tensors], data: str) -> None:
        if not len(lengths):
            raise DataError("training: no examples; give at least one")
        self.examples, self.settings = len(lengths), {"data": data}
        self._lengths, self.collate = np.asarray(lengths), collate

    def micro_batches(
        self, config: TrainingConfig, rank: int, world: int, steps: range
    ) -> Iterator[list[Tensors]]:
        """See `BatchSource.micro_batches`."""
        parts = world * config.accumulate
        if parts > min(config.batch_size, self.examples % config.batch_size or config.batch_size):
            raise OptionError(
                f"{self.examples} examples in batches of {config.batch_size}: the last of an epoch has fewer "
                f"than {world} processes times {config.accumulate} micro-batches; choose another batch size"
            )
        stream = self.batches(config)
        for _ in range(steps.start):
            next(stream)
        mine = slice(rank * config.accumulate, (rank + 1) * config.accumulate)
        for _, batch in zip(steps, stream, strict=False):
            chance = np.random.default_rng((config.seed, batch.epoch, int(batch.index[0])))
            drawn = chance.random(len(batch.index))
            split = zip(np.array_split(batch.index, parts), np.array_split(drawn, parts), strict=True)
            yield [self.collate(Batch(index, batch.epoch, part)) for index, part in list(split)[mine]]

    def batches(self, config: TrainingConfig) -> Iterator[Batch]:
        """Endless batches of all processes, in an order that follows from the seed alone."""
        epoch = 0
        while True:
            rng = np.random.default_rng((config.seed, epoch))
            order = rng.permutation(self.examples)
            window = _WINDOW * config.batch_size
            chunks = []
            for start in range(0, len(order), window):
                part = order[start : start + window]
                part = part[np.argsort(self._lengths[part], kind="stable")]
                chunks += [part[i : i + config.batch_size] for i in range(0, len(part), config.batch_size)]
            for i in rng.permutation(len(chunks)):
                yield Batch(chunks[i], epoch)
            epoch += 1


class DrawnExamples(BatchSource):
    """Examples that a data set draws when they are asked for by key.

    Args:
        dataset: gives the example of a key.
        keys: of all examples of a step.
        collate: the tensors of some examples.
        settings: see `BatchSource`.
        workers: processes that draw examples beside each training process.
    """

    seeded_by_step = True

    def __init__(
        self,
        dataset: Dataset[Any],
        keys: Callable[[int], list[Any]],
        collate: Callable[[list[Any]], Tensors],
        settings: dict[str, Any],
        workers: int = 0,
    ) -> None:
        self.examples, self.settings = len(dataset), settings  # type: ignore[arg-type]
        self._dataset, self._keys, self._collate, self._workers = dataset, keys, collate, workers

    def micro_batches(
        self, config: TrainingConfig, rank: int, world: int, steps: range
    ) -> Iterator[list[Tensors]]:
        """See `BatchSource.micro_batches`."""
        size, rest = divmod(config.batch_size, world * config.accumulate)
        if rest:
            raise OptionError(
                f"batch size {config.batch_size} does not divide by {world} processes times "
                f"{config.accumulate} micro-batches"
            )

        def keys() -> Iterator[list[Any]]:
            for step in steps:
                batch = self._keys(step)
                for number in range(rank * config.accumulate, (rank + 1) * config.accumulate):
                    yield batch[number * size : (number + 1) * size]

        loader = DataLoader(
            self._dataset,
            batch_sampler=_Iterable(keys),
            num_workers=self._workers,
            collate_fn=self._collate,
        )
        stream = iter(loader)
        for _ in steps:
            yield [next(stream) for _ in range(config.accumulate)]


class _Iterable:
    """What a DataLoader asks for as a batch sampler: something it can iterate over."""

    def __init__(self, start: Callable[[], Iterator[list[Any]]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[list[Any]]:
        return self._start()


def unit_counts(batch: Tensors) -> list[float]:
    """Tokens, masked tokens and sequences of a micro-batch, in the order of `LossNormalizers`."""
    none = torch.zeros(0)
    sequences = len(next(iter(batch.values())))
    return [
        float(batch.get("attention_mask", none).sum()),
        float(len(batch.get("masked_labels", none))),
        sequences,
    ]
