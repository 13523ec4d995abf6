"""The PyTorch model that an artefact is made from or compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobilebert_export.console import silenced
from mobilebert_runtime.card import (
    CLASSIFICATION,
    MATCHING,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
    read_card,
)
from mobilebert_runtime.card_parts import TOKENIZER_FILE
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import file_sha256
from mobilebert_runtime.tokenizer import PairTokenizer

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_models import EncoderConfig, ModelTask


@dataclass(frozen=True)
class LoadedModel:
    """A PyTorch network with its task, tokenizer and settings."""

    network: nn.Module
    task: ModelTask
    tokenizer: PairTokenizer
    tokenizer_json: bytes  # the tokenizer's file, whole
    folder: Path  # of the model, as its library loads it
    directory: Path  # of config.json, the weights and the tokenizer: the folder, or a module of it
    source: dict[str, str]  # name and SHA-256 of the weights, for recipe.json
    unread: tuple[str, ...] = ()  # files and settings of the directory that nobody knows

    @property
    def config(self) -> EncoderConfig:
        """The encoder's config."""
        return cast("EncoderConfig", self.network.config)

    @property
    def of_library(self) -> bool:
        """Can `transformers` or sentence-transformers load it? They know no network, file or rule of ours."""
        return (
            _known_to_transformers(self.directory)
            and not _weights_are_packed(self.directory)
            and self.tokenizer.spelling is None
            and not self.tokenizer.sort_texts
        )

    @property
    def longest(self) -> int:
        """Tokens of the longest input that network and tokenizer take."""
        return min(self.config.max_tokens, self.tokenizer.max_length or self.config.max_tokens)


def load_model(
    name: str, *, task: str | None = None, texts: int | None = None, positive: str | None = None
) -> LoadedModel:
    """Load a model by its directory or name.

    Args:
        name: which.
        task: what the user says it does; as the next two for `mobilebert_models.read_task`.
        texts: how many texts the user says an input has.
        positive: class that the user says means a match.

    Raises:
        ModelError: the directory is damaged, of a kind that is not supported, or has a setting that an
            artefact would not obey.
        OptionError: what the user says contradicts the directory, or is needed and missing.
    """
    import mobilebert_models
    from mobilebert_models.loading.hub import is_hub_id
    from mobilebert_models.loading.library_tokenizer import read_tokenizer
    from mobilebert_models.loading.model_settings import account
    from mobilebert_models.loading.sentence_modules import encoder_directory

    folder = mobilebert_models.find_directory(name)
    directory = encoder_directory(folder)
    # An unknown kind of network is refused before its task is asked for.
    config = mobilebert_models.read_config(directory)
    unread = account(folder, directory)
    found = mobilebert_models.read_task(folder, task=task, texts=texts, positive=positive)
    load = mobilebert_models.load_embedder if found.modules else mobilebert_models.load_pretrained
    network = load(folder if found.modules else directory)
    _check_head(network, found, folder)
    with silenced():  # what the library's packages say when they are imported
        read = read_tokenizer(directory, config, folder)
    _check_tokenizer(read.tokenizer, directory, config)
    digest = file_sha256(directory / "model.safetensors")
    # The folder's name, not its path: an artefact tells nobody where it was made.
    source = {"name": name if is_hub_id(name) else folder.resolve().name, "sha256": digest}
    return LoadedModel(network, found, read.tokenizer, read.content, folder, directory, source, unread)


def _weights_are_packed(directory: Path) -> bool:
    from safetensors import safe_open

    from mobilebert_models.weights.eight_bit import is_packed

    with safe_open(directory / "model.safetensors", "pt") as file:
        return is_packed(file.keys())


def _known_to_transformers(directory: Path) -> bool:
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    from mobilebert_models.loading.sentence_modules import read_object

    config = read_object(directory / "config.json")
    named = config.get("architectures") or [""]
    return config.get("model_type") in CONFIG_MAPPING and hasattr(transformers, str(named[0]))


def _check_head(network: nn.Module, task: ModelTask, folder: Path) -> None:
    """Raise `ModelError` where the network's head does not do its task."""
    import mobilebert_models
    from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher

    heads: dict[str, tuple[type[nn.Module], ...]] = {
        MATCHING: (mobilebert_models.PairClassifier, EmbeddingMatcher),
        CLASSIFICATION: (mobilebert_models.PairClassifier,),
        TOKEN_CLASSIFICATION: (mobilebert_models.TokenClassifier,),
        QUESTION_ANSWERING: (mobilebert_models.SpanQA,),
    }
    if not isinstance(network, heads.get(task.name, (mobilebert_models.SentenceEmbedder,))):
        raise ModelError(f"{folder}: holds a {type(network).__name__}, which can't do {task.name}")
    count = getattr(network, "num_labels", 2)
    if task.labels and count != len(task.labels):
        file = "matcher.json" if (folder / "matcher.json").is_file() else "config.json"
        raise ModelError(f"{folder}: {file} names {len(task.labels)} labels, the classifier has {count}")


def _check_tokenizer(tokenizer: PairTokenizer, directory: Path, config: EncoderConfig) -> None:
    """Raise `ModelError` where a tokenizer is of a kind that no artefact can hold, or of another network."""
    path = directory / TOKENIZER_FILE
    if tokenizer.kind is None:
        raise ModelError(
            f"{path}: splits texts in a way that is not supported; expected a BERT's "
            "WordPiece, a byte-level BPE or a Unigram (SentencePiece) model"
        )
    ids = sorted(tokenizer.vocabulary().values())
    if ids[-1] >= config.vocab_size:
        raise ModelError(
            f"{path}: with its added tokens it has {len(ids)} entries, the largest of number {ids[-1]}, and "
            f"the model has {config.vocab_size}, from 0; give the tokenizer that belongs to it"
        )
    if tokenizer.kind == "wordpiece" and ids != list(range(len(ids))):
        gap = next(i for i, number in enumerate(ids) if i != number)
        raise ModelError(
            f"{path}: no entry has the number {gap}, though one has {ids[-1]}, and vocab.txt has a line "
            "for each; number the added tokens without a gap"
        )


def load_source(made: Mapping[str, Any], artefact: str | Path, model: str | None) -> LoadedModel:
    """The model that an artefact was made from.

    Args:
        made: the artefact's recipe.json.
        artefact: its folder.
        model: directory or name; None where a shipped matcher was exported.

    Raises:
        OptionError: `model` is another one, or is needed and missing.
    """
    import mobilebert_models

    name = str(made["model"]["name"])
    if model is None and name not in mobilebert_models.SHIPPED_MATCHERS:
        raise OptionError(f"{artefact}: made from {name!r}; give its directory with --model")
    card = read_card(artefact)
    positive = card.labels[card.positive] if card.task == MATCHING else None
    found = load_model(model or name, task=card.task, texts=card.texts, positive=positive)
    if found.source["sha256"] != made["model"]["sha256"]:
        raise OptionError(
            f"{found.directory}: its weights (SHA-256 {found.source['sha256'][:12]}…) are not those "
            f"{artefact} was made from ({made['model']['sha256'][:12]}…); give the right --model"
        )
    return found
