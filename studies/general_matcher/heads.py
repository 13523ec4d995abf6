"""A pair decision on top of a frozen trunk: the cosine, and how well single tokens find a partner.

Both texts are read alone, by the very trunk that embeds, so that a decision costs the embedding nothing and
stored texts need no second reading. Two equal texts have cosine 1 and no token without a partner: one
constant, the highest score there is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_runtime.tokenizer import PairTokenizer
from models.layers import Encoder
from studies.general_matcher.teachers import MAX_LENGTH, mean_pool, padded


class AlignmentHead(nn.Module):
    """Logit that two texts say the same, from the token states of both; symmetric in the two.

    Every token looks for its best partner in the other text, in a space of its own; what stays without one is
    weighed by how much that token matters. All penalties are at or below zero: equal texts score highest.

    Args:
        hidden_size: H of the trunk.
        size: width of the space in which tokens are compared.
    """

    def __init__(self, hidden_size: int = 384, size: int = 64) -> None:
        super().__init__()
        self.project = nn.Linear(2 * hidden_size, size, bias=False)
        self.matter = nn.Linear(2 * hidden_size, 1)
        self.mix = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.shift = nn.Parameter(torch.tensor(-7.0))

    def forward(self, left: Tensor, left_mask: Tensor, right: Tensor, right_mask: Tensor) -> Tensor:
        """(B, S, 2H) last states beside embedding outputs, (B, S) masks, twice → (B,) logits."""
        half = left.shape[-1] // 2
        cosine = F.cosine_similarity(
            mean_pool(left[..., :half], left_mask), mean_pool(right[..., :half], right_mask)
        )
        similar = F.normalize(self.project(left), dim=-1) @ F.normalize(
            self.project(right), dim=-1
        ).transpose(1, 2)
        ours = self._missing(similar, left, left_mask, right_mask)
        theirs = self._missing(similar.transpose(1, 2), right, right_mask, left_mask)
        both = torch.cat([torch.minimum(ours, theirs), torch.maximum(ours, theirs)], 1)  # symmetric
        far = torch.stack([1 - cosine, (1 - cosine).square()], 1)
        features = torch.cat([both, far], 1)
        # Equal texts have features of zero; what the mixture gives there is the ceiling.
        penalty = F.softplus(self.mix(features)) - F.softplus(self.mix(torch.zeros_like(features)))
        return self.scale.abs() * cosine + self.shift - F.relu(penalty)[:, 0]

    def _missing(self, similar: Tensor, states: Tensor, mask: Tensor, other_mask: Tensor) -> Tensor:
        """Mean and largest weighed lack of a partner, (B, 2)."""
        best = similar.masked_fill(other_mask[:, None] == 0, -1.0).max(2).values
        lack = (1 - best) * mask
        weight = F.softplus(self.matter(states))[..., 0] * mask
        mean = (lack * weight).sum(1) / weight.sum(1)
        return torch.stack([mean, (lack * weight).max(1).values], 1)


def token_states(
    encoder: Encoder, tokenizer: PairTokenizer, texts: Sequence[str], size: int = 64
) -> list[Tensor]:
    """Last states beside embedding outputs of every text's tokens: (S, 2H) float16 each."""
    rows = tokenizer.ids(list(texts), MAX_LENGTH)
    order = np.argsort([len(ids) for ids, _ in rows], kind="stable")
    out: list[Tensor] = [torch.empty(0)] * len(rows)
    encoder.eval()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(order), size):
            index = order[start : start + size]
            found = encoder(**padded(tokenizer, [rows[i] for i in index]), capture=True).hidden_states
            states = torch.cat([found[-1], found[0]], -1).half()
            for i, row in zip(index, states, strict=True):
                out[i] = row[: len(rows[i][0])].clone()
    return out


def stacked(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """States of some texts as (B, S, 2H) and their mask (B, S)."""
    out = nn.utils.rnn.pad_sequence([s.float() for s in states], batch_first=True)
    lengths = torch.tensor([len(s) for s in states])
    return out, (torch.arange(out.shape[1])[None] < lengths[:, None]).to(out.dtype)


def head_logits(
    head: AlignmentHead, states: Sequence[Tensor], left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Logits (N,) of pairs of texts by their positions."""
    out = []
    head.eval()
    with torch.inference_mode():
        for start in range(0, len(left), 256):
            part = slice(start, start + 256)
            a, b = stacked([states[i] for i in left[part]]), stacked([states[i] for i in right[part]])
            out.append(head(*a, *b).numpy())
    return np.concatenate(out)
