"""A teacher of frozen sentence vectors: small networks on what two texts' vectors have in common.

A network that is fine-tuned on labelled pairs remembers them: what it says of them afterwards is mostly their
label. Here the pairs are split into folds, and a network scores the fold that it was not trained on. A pair
that none was trained on is scored by the mean of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_runtime.errors import OptionError
from mobilebert_training.distillation.distillation_data import DistillationData
from mobilebert_training.distillation.task_distillation import TaskTargets
from recipes.general_matchers.numerics import fast_products

_LEAST = 1e-6  # probability, so that its logarithm is finite
_AT_ONCE = 4096  # pairs scored at a time


@dataclass(frozen=True)
class VectorTeacherConfig:
    """How the networks are shaped and trained: Adam with a linear decay to zero."""

    hidden: int = 512
    dropout: float = 0.5
    folds: int = 4
    epochs: int = 10
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise `OptionError` for fewer than two folds."""
        if self.folds < 2:
            raise OptionError(f"folds {self.folds}: expected at least 2, one is scored by the others")


def pair_features(left: Tensor, right: Tensor) -> Tensor:
    """What two unit vectors have in common, the same in both orders: (N, H) twice → (N, 2H + 1).

    Differences' sizes, products and the cosine, each scaled to a size near 1.
    """
    size = left.shape[1]
    product = left * right
    cosine = product.sum(1, keepdim=True)
    return torch.cat([(left - right).abs() * size**0.5, product * size, cosine * 4], 1)


class VectorTeacher:
    """Networks of `folds` parts of the labelled pairs.

    Attributes:
        held_out: (N,) log-odds of label 1 of the labelled pairs, each of the network that did not see it.
    """

    def __init__(self, networks: Sequence[nn.Module], held_out: np.ndarray) -> None:
        self._networks, self.held_out = list(networks), held_out

    @classmethod
    def fit(
        cls,
        vectors: np.ndarray,
        pairs: np.ndarray,
        labels: np.ndarray,
        config: VectorTeacherConfig,
        progress: Callable[[str], None] = lambda _: None,
    ) -> VectorTeacher:
        """Train a network for each fold on the pairs of the other folds.

        Args:
            vectors: (T, H) of all texts, of length 1.
            pairs: (N, 2) places of the two texts.
            labels: (N,) 0 or 1.
            config: shape and training.
            progress: told what is done.

        Raises:
            OptionError: fewer pairs than folds.
        """
        if len(pairs) < config.folds:
            raise OptionError(f"{len(pairs)} pairs in {config.folds} folds: expected a pair a fold")
        fold = np.random.default_rng(config.seed).permutation(len(pairs)) % config.folds
        networks, held_out = [], np.zeros(len(pairs))
        for number in range(config.folds):
            seen = fold != number
            network = _trained(vectors, pairs[seen], labels[seen], config, config.seed + number)
            held_out[~seen] = _scores(network, vectors, pairs[~seen])
            progress(f"fold {number + 1} of {config.folds}")
            networks.append(network)
        return cls(networks, held_out)

    def log_odds(self, vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Log-odds (N,) of label 1 of pairs (N, 2) that no network was trained on: the mean over networks."""
        return np.mean([_scores(network, vectors, pairs) for network in self._networks], axis=0)


def draw_alike(
    groups: np.ndarray, scores: np.ndarray, like: tuple[np.ndarray, np.ndarray], count: int, seed: int = 0
) -> np.ndarray:
    """Places of up to `count` candidates that are spread over groups and scores as other pairs are.

    The other pairs' deciles of the score cut each group into ten cells, and a cell gets its share of them;
    fewer candidates come back where a cell has not enough.

    Args:
        groups: (N,) of the candidates, such as categories of length divergence.
        scores: (N,) of the candidates.
        like: groups (M,) and scores (M,) of the other pairs.
        count: candidates wanted.
        seed: of the draw.

    Returns:
        Ascending places, without repetition.
    """
    edges = np.quantile(like[1], np.linspace(0.1, 0.9, 9))
    mine, theirs = (np.searchsorted(edges, values) for values in (scores, like[1]))
    rng, chosen = np.random.default_rng(seed), []
    for group in np.unique(like[0]):
        for decile in range(10):
            share = np.mean((like[0] == group) & (theirs == decile))
            there = np.flatnonzero((groups == group) & (mine == decile))
            chosen.append(rng.permutation(there)[: round(count * share)])
    return np.sort(np.concatenate(chosen))


def mixed_targets(
    distillation_data: DistillationData, log_odds: np.ndarray, label_share: float, strength: float
) -> TaskTargets:
    """Targets of a teacher that has not seen the labelled pairs' labels: these are mixed into its word.

    A labelled pair's target is `label_share` of its label and the rest of the teacher's probability, a mined
    pair's the teacher's probability. The length prior is taken out as in `task_targets`; what the teacher
    says of a labelled pair is a belief here, no memory, and is shifted as well.

    Args:
        distillation_data: N pairs.
        log_odds: (N,) of label 1, calibrated.
        label_share: from 0, the teacher alone, to below 1.
        strength: as in `task_targets`.

    Raises:
        OptionError: a share out of range.
        DataError: a category without both labels.
    """
    if not 0 <= label_share < 1:
        raise OptionError(f"label share {label_share}: expected from 0 to below 1")
    prior = LengthPrior.fit(*distillation_data.train)
    weights, known = np.ones(len(distillation_data.pairs)), len(distillation_data.train.pairs)
    weights[:known] = prior.rebalancing_weights(*distillation_data.train) ** strength
    probability = expit(log_odds + strength * prior.shift(distillation_data.pairs))
    probability[:known] += label_share * (distillation_data.train.labels - probability[:known])
    return TaskTargets(np.log(np.stack([1 - probability, probability], 1).clip(_LEAST)), weights)


def _trained(
    vectors: np.ndarray, pairs: np.ndarray, labels: np.ndarray, config: VectorTeacherConfig, seed: int
) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Dropout(config.dropout / 3),
            nn.Linear(2 * vectors.shape[1] + 1, config.hidden),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.hidden, 1),
        )
        optimiser = torch.optim.AdamW(
            network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        steps = config.epochs * -(-len(pairs) // config.batch_size)
        decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
        targets = torch.from_numpy(labels).float()
        for _ in range(config.epochs):
            for index in torch.randperm(len(pairs)).split(config.batch_size):
                with fast_products():
                    logits = network(_features(vectors, pairs[index.numpy()]))[:, 0].float()
                optimiser.zero_grad(set_to_none=True)
                F.binary_cross_entropy_with_logits(logits, targets[index]).backward()
                optimiser.step()
                decay.step()
    return network.eval()


def _scores(network: nn.Module, vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        parts = [
            network(_features(vectors, pairs[start : start + _AT_ONCE]))[:, 0].double().numpy()
            for start in range(0, len(pairs), _AT_ONCE)
        ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _features(vectors: np.ndarray, pairs: np.ndarray) -> Tensor:
    left, right = (torch.from_numpy(vectors[pairs[:, side]].astype(np.float32)) for side in (0, 1))
    return pair_features(left, right)
