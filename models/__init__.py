"""PyTorch networks, their configs and presets, and the shipped weights."""

from mobilebert_runtime.errors import ModelError
from models.config import EncoderConfig
from models.heads import HEADS, PairClassifier, PretrainingHead, SpanQA, build
from models.inventory import inventory
from models.packaged import find_directory, packaged_directory
from models.presets import PRESETS, preset
from models.pretrained import (
    SHIPPED_MATCHERS,
    MatcherSettings,
    load_classifier,
    load_pretrained,
    read_config,
    save_pretrained,
    shipped_directory,
)

__all__ = [
    "HEADS",
    "PRESETS",
    "SHIPPED_MATCHERS",
    "EncoderConfig",
    "MatcherSettings",
    "ModelError",
    "PairClassifier",
    "PretrainingHead",
    "SpanQA",
    "build",
    "find_directory",
    "inventory",
    "load_classifier",
    "load_pretrained",
    "packaged_directory",
    "preset",
    "read_config",
    "save_pretrained",
    "shipped_directory",
]
