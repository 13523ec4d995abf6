"""The start of a fine-tuning run: a trained or fresh encoder under a new head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

import mobilebert_models
from mobilebert_models.networks.layers import encoder_of

UNTRAINED = "untrained"
# What "untrained" is: the architecture and tokenizer of the packaged encoder, with random weights.
_BASELINE_PRESET, _BASELINE_TOKENIZER = "minilm-l6", "minilm"


def start_directory(name: str) -> Path:
    """The directory whose tokenizer, and unless `name` is "untrained" whose encoder, a run starts from.

    Args:
        name: "untrained", or as in `mobilebert_models.find_directory`.

    Raises:
        ModelError: none of these.
    """
    return (
        mobilebert_models.packaged_directory(_BASELINE_TOKENIZER)
        if name == UNTRAINED
        else mobilebert_models.find_directory(name)
    )


def start_model(name: str, head: str, num_labels: int = 2, seed: int = 0) -> Any:
    """A fresh head, drawn from `seed`, over the encoder of `start_directory`; a head it has is left behind.

    Raises:
        ModelError: as `start_directory`, or a damaged directory.
    """
    if name == UNTRAINED:
        return mobilebert_models.build(mobilebert_models.preset(_BASELINE_PRESET), head, num_labels, seed)
    encoder = encoder_of(mobilebert_models.load_pretrained(start_directory(name)))
    model = mobilebert_models.build(encoder.config, head, num_labels, seed)
    given = encoder.state_dict()
    with torch.no_grad():
        for key, value in model.get_submodule("encoder").state_dict().items():
            if key in given:  # a span head's encoder has no pooler to give on
                value.copy_(given[key])
    return model
