"""BiMPM (Wang et al. 2017): each word of one text matched against the other, four ways, from K perspectives.

A perspective is a weight vector w over the hidden units; the match of two vectors is the cosine of w∘u and
w∘v (Eq. 4–5). All matching is matrix products over whole batches. Characters are left out (Jiang et al.,
Section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from studies.length_bias.word_level.matcher_network import RecurrentMatcherNetwork
from studies.length_bias.word_level.recurrent import BiLSTM, mask_of

EPS = 1e-8  # least product of two norms
STRATEGIES = ("full", "maxpooling", "attentive", "max_attentive")


@dataclass(frozen=True)
class BiMPMConfig:
    """Sizes; the hidden size is the paper's, 20 perspectives and 0.2 dropout are those of its code base."""

    hidden_size: int = 100  # per direction
    perspectives: int = 20
    dropout: float = 0.2
    num_labels: int = 2


class BiMPM(RecurrentMatcherNetwork):
    """Context BiLSTM → eight matchings (four strategies, two directions) → aggregation BiLSTM → classifier.

    627,802 trainable parameters. Jiang et al. count 889,602 although they discard the character embedding;
    the code base they name builds a character LSTM (20 → 50: 14,400 parameters) and a table (20 wide) even
    where it does not use them. A table of 12,370 characters would make up the rest; this is not verified.
    """

    arch = "bimpm"

    def __init__(self, config: BiMPMConfig, vectors: Tensor) -> None:
        super().__init__(vectors)
        self.config = config
        size, views = config.hidden_size, config.perspectives
        self.encoder = BiLSTM(vectors.shape[1], size)
        # (direction, strategy, K, H): the weights W of Eq. 4, one matrix for each of the eight matchings.
        self.perspectives = nn.Parameter(torch.empty(2, len(STRATEGIES), views, size))
        self.aggregation = BiLSTM(2 * len(STRATEGIES) * views, size)
        self.hidden = nn.Linear(4 * size, 2 * size)
        self.out = nn.Linear(2 * size, config.num_labels)
        # Only behind the matching: two masks on two equal words lower their cosine in training alone, so that
        # a trained network finds everything too similar (it called 62% of the QQP test duplicates; 38% are).
        self.dropout = nn.Dropout(config.dropout)
        nn.init.kaiming_normal_(self.perspectives.view(-1, size))
        for lstm in (self.encoder, self.aggregation):
            for name, weight in lstm.named_parameters():
                if name.startswith("weight_hh"):
                    nn.init.orthogonal_(weight)
                elif name.startswith("bias"):
                    nn.init.zeros_(weight)

    def forward(self, a_ids: Tensor, b_ids: Tensor) -> Tensor:
        """(B, La) and (B, Lb) word ids → (B, num_labels) logits."""
        a_mask, b_mask = mask_of(a_ids), mask_of(b_ids)
        a, a_last = self.encoder.read(self.embed(a_ids), a_mask)
        b, b_last = self.encoder.read(self.embed(b_ids), b_mask)
        a_match, b_match = self.match(a, b, a_last, b_last, a_mask, b_mask)
        _, a_read = self.aggregation.read(self.dropout(a_match), a_mask)
        _, b_read = self.aggregation.read(self.dropout(b_match), b_mask)
        x = self.dropout(torch.cat([a_read, b_read], -1))  # (B, 4·H)
        return self.out(self.dropout(torch.tanh(self.hidden(x))))

    def context(self, ids: Tensor) -> Tensor:
        """(B, L) → (B, L, 2·H), zero at the padding."""
        return self.encoder.read(self.embed(ids), mask_of(ids))[0]

    def match(
        self, a: Tensor, b: Tensor, a_last: Tensor, b_last: Tensor, a_mask: Tensor, b_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """All eight matchings of each word.

        Args:
            a: (B, La, 2·H) context of the first text, forward half first, zero at the padding.
            b: (B, Lb, 2·H).
            a_last: (B, 2·H) last state of each direction.
            b_last: (B, 2·H).
            a_mask: (B, La), True at words.
            b_mask: (B, Lb).

        Returns:
            (B, La, 8·K) and (B, Lb, 8·K), values at padding meaningless.
        """
        halves = []
        for direction in range(2):
            w = self.perspectives[direction]
            one, two, one_last, two_last = (t.chunk(2, -1)[direction] for t in (a, b, a_last, b_last))
            halves.append(_one_direction(one, two, one_last, two_last, a_mask, b_mask, w))
        return torch.cat([h[0] for h in halves], -1), torch.cat([h[1] for h in halves], -1)


def _one_direction(
    a: Tensor, b: Tensor, a_last: Tensor, b_last: Tensor, a_mask: Tensor, b_mask: Tensor, w: Tensor
) -> tuple[Tensor, Tensor]:
    """Four strategies for one direction: (B, L, H) each, weights (4, K, H) → (B, L, 4·K) each."""
    full, pooling, attentive, max_attentive = w
    pair_mask = a_mask[:, :, None] & b_mask[:, None, :]
    similarity = cosines(a, b) * pair_mask
    a_max, b_max = maxpooling_match(a, b, pair_mask, pooling)
    a_seen, b_seen = attended_mean(similarity, b), attended_mean(similarity.transpose(1, 2), a)
    a_best = most_similar(similarity, b, b_mask)
    b_best = most_similar(similarity.transpose(1, 2), a, a_mask)
    return (
        torch.cat(
            [
                perspective_cosine(a, b_last[:, None], full),
                a_max,
                perspective_cosine(a, a_seen, attentive),
                perspective_cosine(a, a_best, max_attentive),
            ],
            -1,
        ),
        torch.cat(
            [
                perspective_cosine(b, a_last[:, None], full),
                b_max,
                perspective_cosine(b, b_seen, attentive),
                perspective_cosine(b, b_best, max_attentive),
            ],
            -1,
        ),
    )


def perspective_cosine(u: Tensor, v: Tensor, w: Tensor) -> Tensor:
    """Eq. 4–5 of aligned vectors: u (B, L, H), v (B, L or 1, H), w (K, H) → (B, L, K).

    cos(w∘u, w∘v) needs only products with w²: Σ w²uv / √(Σ w²u² · Σ w²v²).
    """
    squared = (w * w).t()  # (H, K)
    norms = ((u * u) @ squared) * ((v * v) @ squared)
    return ((u * v) @ squared) / norms.clamp(min=EPS**2).sqrt()


def maxpooling_match(a: Tensor, b: Tensor, pair_mask: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. 7: the best match of each word over the other text's words, from each perspective.

    Args:
        a: (B, La, H).
        b: (B, Lb, H).
        pair_mask: (B, La, Lb), True where both are words.
        w: (K, H).

    Returns:
        (B, La, K) and (B, Lb, K).
    """
    squared = w * w
    # (B, La, 1, H) · (K, H) → (B, La·K, H): one product with b for all perspectives
    scaled = (a[:, :, None] * squared).flatten(1, 2)
    dots = (scaled @ b.transpose(1, 2)).unflatten(1, (a.shape[1], -1))  # (B, La, K, Lb)
    norms = ((t * t) @ squared.t() for t in (a, b))  # (B, L, K) each, squared
    one, two = (norm.clamp(min=EPS**2).rsqrt() for norm in norms)
    cosine = dots * one[..., None] * two.transpose(1, 2)[:, None]
    cosine = cosine.masked_fill(~pair_mask[:, :, None], -2.0)  # below every cosine
    # (B, K, Lb) → (B, Lb, K)
    return cosine.amax(3), cosine.amax(1).transpose(1, 2)


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Eq. 8: the cosine of every word pair, (B, La, H), (B, Lb, H) → (B, La, Lb)."""
    return F.normalize(a, dim=-1, eps=EPS) @ F.normalize(b, dim=-1, eps=EPS).transpose(1, 2)


def attended_mean(similarity: Tensor, other: Tensor) -> Tensor:
    """Eq. 9: the other text's vectors weighted by the similarities, (B, L, M), (B, M, H) → (B, L, H).

    Eq. 9 divides by the sum of the weights. The cosine that follows sees only the sign of that sum, so the
    sign is all that is applied, and weights that cancel out do no harm.
    """
    sign = 1.0 - 2.0 * (similarity.sum(2, keepdim=True) < 0).to(other.dtype)
    return sign * (similarity @ other)


def most_similar(similarity: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """Max-attentive matching: for each word the other text's vector with the highest similarity.

    Args:
        similarity: (B, L, M).
        other: (B, M, H).
        mask: (B, M), True at words.

    Returns:
        (B, L, H).
    """
    best = similarity.masked_fill(~mask[:, None], -2.0).argmax(2)  # (B, L); -2 is below every cosine
    return other.gather(1, best[..., None].expand(-1, -1, other.shape[2]))
