"""A bidirectional LSTM over padded texts that never reads the padding."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD = 0  # the word id of padding; it stands behind the words of a text, never between them


def mask_of(ids: Tensor) -> Tensor:
    """(B, L) word ids → (B, L) bool, True at words."""
    return ids != PAD


class BiLSTM(nn.LSTM):
    """One layer in both directions; a text's result is the same however far its batch is padded."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size, batch_first=True, bidirectional=True)

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Run over the words only.

        Args:
            x: (B, L, input_size).
            mask: (B, L), True at words; a text without words counts as one word of padding.

        Returns:
            Both directions' outputs (B, L, 2·hidden), zero at the padding, and the last state of each
            direction (B, 2·hidden): forward at the last word, backward at the first.
        """
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, (last, _) = self(packed)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        # (2, B, H) → (B, 2, H) → (B, 2·H)
        return padded * mask[..., None], last.transpose(0, 1).flatten(1)


def masked_max(x: Tensor, mask: Tensor) -> Tensor:
    """Largest value of each feature over a text's words: (B, L, H), (B, L) → (B, H)."""
    low = torch.finfo(x.dtype).min
    return x.masked_fill(~mask[..., None], low).amax(1)


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """Mean of each feature over a text's words: (B, L, H), (B, L) → (B, H)."""
    weight = mask[..., None].to(x.dtype)
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1)
