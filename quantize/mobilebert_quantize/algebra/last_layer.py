"""Exact simplification of the last layer: only the rows that the head reads are computed."""

from __future__ import annotations

from torch import nn

from mobilebert_models import PairClassifier
from mobilebert_models.networks.layers import encoder_of


def first_row_only(network: nn.Module) -> tuple[dict[str, int], list[str]]:
    """Row i of a layer's output depends on row i of its query, residuals and feed-forward networks alone.

    A pair classifier reads the [CLS] row of the last layer. Its keys and values come from every row; queries,
    attention, feed-forward networks and bottlenecks are computed for one row instead of S.

    Returns:
        Counts of what changed; heads that read every row are left as they are.
    """
    if not isinstance(network, PairClassifier) or network.config.classifier_pooling != "cls":
        return {"layers cut to one row": 0}, ["the head reads every row"]
    encoder_of(network).last_rows = 1
    return {"layers cut to one row": 1}, []
