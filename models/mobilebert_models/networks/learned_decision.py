"""The pair decision as one small trained network over two texts' vectors and token states.

Each token looks at the tokens of the other text (soft alignment: Parikh et al. 2016, "A decomposable
attention model"; Chen et al. 2017, ESIM), and what it finds there is compared with itself. Comparisons are
weighed by how much their token matters and pooled, and a layer decides on them and on what the two vectors
have in common. The network begins as the cosine of the vectors. It is symmetric in the two texts.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.networks.embedding_matcher import QuestionMark, pooled, unit

WIDTH, COMPARED, VECTORS, INNER = 64, 48, 32, 64  # sizes of the layers
_TINY = 1e-6
FAR = -30.0  # score of a token of the same text, or of padding


class LearnedDecision(QuestionMark):
    """Logit that two texts say the same; question marks are passed by.

    Args:
        hidden_size: H of the encoder.
        dropout: share of what the last layers read that is left out in training.
    """

    def __init__(self, hidden_size: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.question_mark = self._no_question_mark()
        self.key = nn.Linear(2 * hidden_size, WIDTH)
        self.value = nn.Linear(2 * hidden_size, WIDTH)
        self.matter = nn.Linear(2 * hidden_size, 1)
        self.compare = nn.Linear(2 * WIDTH, COMPARED)
        self.difference = nn.Linear(hidden_size, VECTORS, bias=False)
        self.product = nn.Linear(hidden_size, VECTORS, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.inner = nn.Linear(4 * COMPARED + 2 * VECTORS + 1, INNER)
        self.outer = nn.Linear(INNER, 1)
        self.begin_as_cosine()
        self.sharpness = nn.Parameter(torch.tensor(12.0))  # of the alignment
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.shift = nn.Parameter(torch.tensor(-7.0))

    def begin_as_cosine(self) -> None:
        """Let nothing but the cosine count."""
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(
        self,
        ids: Tensor,
        embedded: Tensor,
        middle: Tensor,  # noqa: ARG002 (heads are called alike)
        last: Tensor,
        mask: Tensor,
        types: Tensor,
    ) -> Tensor:
        """Decide about packed pairs; states of one input broadcast over the masks of several pairs.

        Args:
            ids: (B, S) as floats.
            embedded: (B, S, H), the embedding output of both texts, one after the other.
            middle: (B, S, H), not read.
            last: (B, S, H), the last states.
            mask: (B, S), 1 = token, 0 = padding.
            types: (B, S), 1 from the second text on.

        Returns:
            (B,) logits.
        """
        mask = mask - self.question_marks(ids) * mask
        first, second = mask * (1 - types), mask * types
        tokens = torch.cat([unit(embedded), unit(last)], -1)
        other = mask[:, None, :] * (types[:, :, None] - types[:, None, :]).abs()
        keys, values = unit(self.key(tokens)), unit(self.value(tokens)) * WIDTH**0.5
        scores = self.sharpness * (keys @ keys.transpose(1, 2)) + (1 - other) * FAR
        aligned = scores.softmax(-1) @ values
        found = F.relu(self.compare(torch.cat([(values - aligned).abs(), values * aligned], -1)))
        weight = F.softplus(self.matter(tokens))
        one, two = _pooled(found, weight, first), _pooled(found, weight, second)
        left, right = unit(pooled(last, first)), unit(pooled(last, second))
        size = left.shape[1] ** 0.5
        cosine = (left * right).sum(1, keepdim=True)
        features = [
            one + two,
            (one - two).abs(),
            F.relu(self.difference((left - right).abs() * size)),
            F.relu(self.product(left * right * size**2)),
            cosine,
        ]
        inner = F.relu(self.inner(self.dropout(torch.cat(features, 1))))
        return (self.scale * cosine + self.shift + self.outer(inner))[:, 0]


def _pooled(found: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
    """Weighed mean and maximum over one text's tokens: (B, S, C) → (B, 2C)."""
    weight = weight * mask[..., None]
    mean = (found * weight).sum(1) / (weight.sum(1) + _TINY)
    return torch.cat([mean, (found * mask[..., None]).amax(1)], 1)
