"""PyTorch networks, their configs and presets, and the shipped weights."""

from mobilebert_runtime.errors import ModelError
from models.config import EncoderConfig
from models.embedding_matcher import EmbeddingMatcher
from models.heads import HEADS, PairClassifier, PretrainingHead, SpanQA, TokenClassifier, build
from models.inventory import inventory
from models.matcher_settings import MatcherSettings
from models.packaged import find_directory, packaged_directory
from models.presets import PRESETS, preset
from models.pretrained import (
    SHIPPED_MATCHERS,
    load_classifier,
    load_pair_network,
    load_pretrained,
    read_config,
    save_pretrained,
    shipped_directory,
)
from models.sentence_embedder import SentenceEmbedder, load_embedder
from models.tasks import ModelTask, read_task

__all__ = [
    "HEADS",
    "PRESETS",
    "SHIPPED_MATCHERS",
    "EmbeddingMatcher",
    "EncoderConfig",
    "MatcherSettings",
    "ModelError",
    "ModelTask",
    "PairClassifier",
    "PretrainingHead",
    "SentenceEmbedder",
    "SpanQA",
    "TokenClassifier",
    "build",
    "find_directory",
    "inventory",
    "load_classifier",
    "load_embedder",
    "load_pair_network",
    "load_pretrained",
    "packaged_directory",
    "preset",
    "read_config",
    "read_task",
    "save_pretrained",
    "shipped_directory",
]
