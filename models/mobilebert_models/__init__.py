"""PyTorch networks, their configs and presets, and the shipped weights."""

from mobilebert_models.config import EncoderConfig
from mobilebert_models.inventory import inventory
from mobilebert_models.loading.embedders import load_embedder
from mobilebert_models.loading.library_tokenizer import load_tokenizer
from mobilebert_models.loading.matcher_settings import MatcherSettings
from mobilebert_models.loading.packaged import find_directory, packaged_directory
from mobilebert_models.loading.pretrained import (
    SHIPPED_MATCHERS,
    load_classifier,
    load_pair_network,
    load_pretrained,
    read_config,
    save_pretrained,
    shipped_directory,
)
from mobilebert_models.loading.tasks import ModelTask, read_task
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.heads import (
    HEADS,
    PairClassifier,
    PretrainingHead,
    SpanQA,
    TokenClassifier,
    build,
)
from mobilebert_models.networks.sentence_embedder import SentenceEmbedder
from mobilebert_models.presets import PRESETS, preset
from mobilebert_runtime.errors import ModelError

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
    "load_tokenizer",
    "packaged_directory",
    "preset",
    "read_config",
    "read_task",
    "save_pretrained",
    "shipped_directory",
]
