"""The pair decision as one small trained network over cosines of several layers and what is left unmatched.

Each token looks for its best partner in the other text, in three learned spaces: by itself, in its context,
and with its neighbours (BERTScore, Zhang et al. 2020, section 3, with a learned metric). How much a token
matters is learned too, from its states. What has no partner is added up, and two layers weigh it against the
cosines. No pair is above equal texts. It begins as the cosine of the vectors, and is symmetric in the two.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.networks.embedding_matcher import PairDecision, pooled, unit

WIDTH = 64  # of the spaces in which tokens are compared
SPACES = 3
COSINES = 5
INNER = 48
_TINY = 1e-6
_LITTLE = 1e-4  # of the other cosines, at first: where a weight is 0 the slope of its size is 0 too


class LearnedDecision(PairDecision):
    """Logit that two texts say the same; question marks are passed by.

    Args:
        hidden_size: H of the encoder.

    Attributes:
        leak: how much of what would lift a pair above equal texts is let through. 0, but while it is trained
            from 1 down: two layers that may only lower the logit from the first step on learn less.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.leak = 0.0
        self.question_mark = self._no_question_mark()
        self.alone = nn.Linear(hidden_size, WIDTH, bias=False)
        self.context = nn.Linear(2 * hidden_size, WIDTH, bias=False)
        self.neighbours = nn.Linear(hidden_size, 3 * WIDTH, bias=False)
        self.matter = nn.Linear(2 * hidden_size, SPACES + 1)  # in each space, and in the cosines
        self.inner = nn.Linear(COSINES + 6 * SPACES, INNER)
        self.middle = nn.Linear(INNER, INNER)
        self.outer = nn.Linear(INNER, 1)
        self.cosines = nn.Linear(COSINES, 1, bias=False)
        with torch.no_grad():  # the cosine of the vectors counts alone
            self.cosines.weight.fill_(_LITTLE)
            self.cosines.weight[0, 0] = 1.0
            self.outer.weight.zero_()
            self.outer.bias.zero_()
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.shift = nn.Parameter(torch.tensor(-7.0))

    def forward(
        self, ids: Tensor, embedded: Tensor, middle: Tensor, last: Tensor, mask: Tensor, types: Tensor
    ) -> Tensor:
        """Decide about packed pairs; states of one input broadcast over the masks of several pairs.

        Args:
            ids: (B, S) as floats.
            embedded: (B, S, H), the embedding output of both texts, one after the other.
            middle: (B, S, H), the states half of the layers up.
            last: (B, S, H), the last states.
            mask: (B, S), 1 = token, 0 = padding.
            types: (B, S), 1 from the second text on.

        Returns:
            (B,) logits.
        """
        second = mask * types
        begins = second * (1 - F.pad(second[:, :-1], (1, 0)))  # the second text's [CLS]
        mask = mask - self.question_marks(ids) * mask
        first, second = mask * (1 - types), mask * types
        other = mask[:, None, :] * (types[:, :, None] - types[:, None, :]).abs()
        apart = (other - 1) * 4  # keeps tokens of the same text out of reach: cosines are at least -1
        weight = F.softplus(self.matter(torch.cat([embedded, last], -1)))
        distances = 1 - self._cosines(
            embedded, middle, last, first, second, begins, apart, weight[..., SPACES]
        )
        lack = self._lack(embedded, middle, last, mask, types, apart) * mask[..., None]
        one, two = _summary(lack, weight[..., :SPACES], first), _summary(lack, weight[..., :SPACES], second)
        features = torch.cat([distances, one + two, (one - two).abs()], 1)
        # Distances and lacks of equal texts are zero, and no pair is above them.
        rest = self._rest(torch.zeros_like(features)) - self._rest(features)
        rest = F.leaky_relu(rest, self.leak) if self.leak else F.relu(rest)
        distance = distances @ self.cosines.weight.abs().t()
        return (self.shift + self.scale.abs() * (1 - distance) - rest)[:, 0]

    def proportional(self) -> tuple[nn.Parameter, ...]:
        """See `PairDecision.proportional`."""
        return self.scale, *self.outer.parameters()

    def _rest(self, features: Tensor) -> Tensor:
        """What two layers make of all features, (B, 1)."""
        found: Tensor = self.outer(F.relu(self.middle(F.relu(self.inner(features)))))
        return found

    def _cosines(
        self,
        embedded: Tensor,
        middle: Tensor,
        last: Tensor,
        first: Tensor,
        second: Tensor,
        begins: Tensor,
        apart: Tensor,
        weight: Tensor,
    ) -> Tensor:
        """Of the vectors, [CLS], the weighed embedding output, and nearest tokens in two layers: (B, 5)."""
        one, two = first * weight, second * weight
        pairs = (
            (pooled(last, first), pooled(last, second)),
            (last[:, 0], (last * begins[..., None]).sum(1)),
            (_weighed(embedded, one), _weighed(embedded, two)),
        )
        each = (one / (one.sum(1, keepdim=True) + _TINY) + two / (two.sum(1, keepdim=True) + _TINY)) / 2
        nearest = [(_best(unit(states), apart) * each).sum(1) for states in (middle, last)]
        return torch.stack([*((unit(a) * unit(b)).sum(-1) for a, b in pairs), *nearest], 1)

    def _lack(
        self, embedded: Tensor, middle: Tensor, last: Tensor, mask: Tensor, types: Tensor, apart: Tensor
    ) -> Tensor:
        """By how much each token's best partner in the other text misses it, (B, S, SPACES)."""
        before, own, after = self.neighbours(embedded).split(WIDTH, -1)
        together = (1 - (types[:, 1:] - types[:, :-1]).abs()) * mask[:, 1:] * mask[:, :-1]
        before = F.pad(before[:, :-1] * together[..., None], (0, 0, 1, 0))
        after = F.pad(after[:, 1:] * together[..., None], (0, 0, 0, 1))
        spaces = (self.alone(embedded), self.context(torch.cat([middle, last], -1)), before + own + after)
        return torch.stack([F.relu(1 - _best(unit(space), apart)) for space in spaces], 2)


def _best(states: Tensor, apart: Tensor) -> Tensor:
    """The largest cosine of each token with one of the other text, (B, S)."""
    return (states @ states.transpose(1, 2) + apart).amax(2)


def _weighed(states: Tensor, weight: Tensor) -> Tensor:
    """(B, S, H) and (B, S) → (B, H)."""
    return (states * weight[..., None]).sum(1) / (weight.sum(1, keepdim=True) + _TINY)


def _summary(lack: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
    """What one text's tokens lack: sum, largest and mean, weighed; (B, S, SPACES) twice → (B, 3 SPACES)."""
    weight = weight * mask[..., None]
    total, most = (lack * weight).sum(1), (lack * weight).amax(1)
    return torch.cat([total, most, total / (weight.sum(1) + _TINY)], 1)
