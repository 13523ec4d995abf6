"""A model as the user has it: a path, a name, or a network in memory, which is saved first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from mobilebert_export.console import silenced
from mobilebert_runtime.errors import ModelError

if TYPE_CHECKING:
    from torch import nn

    Model = str | Path | nn.Module


class _Saves(Protocol):
    """A tokenizer or a model of `transformers`."""

    def save_pretrained(self, save_directory: str) -> object: ...


@contextmanager
def model_directory(model: Model, tokenizer: object = None) -> Iterator[str]:
    """The directory or name of a model, for as long as the block runs.

    Args:
        model: a directory, a hub id, the name of a shipped model; or a network of `mobilebert_models`, a
            model of `transformers` or a `SentenceTransformer`.
        tokenizer: of a network in memory, but for a `SentenceTransformer`, which has its own: a tokenizer of
            `transformers`, or a directory that holds one. A directory's matcher.json comes along.

    Raises:
        ModelError: a tokenizer is missing, or not needed.
    """
    if isinstance(model, str | Path):
        if tokenizer is not None:
            raise ModelError(f"tokenizer: {model} has its own; leave it out")
        yield str(model)
        return
    with tempfile.TemporaryDirectory() as scratch:
        # An artefact says what it was made from by the folder's name.
        folder = Path(scratch) / type(model).__name__
        with silenced():
            _save(model, tokenizer, folder)
        yield str(folder)


def _save(model: nn.Module, tokenizer: object, folder: Path) -> None:
    from mobilebert_models import EncoderConfig, MatcherSettings, save_pretrained

    kind = type(model).__name__
    if type(model).__module__.startswith("sentence_transformers."):
        if tokenizer is not None:
            raise ModelError(f"tokenizer: a {kind} has its own; leave it out")
        model.save(str(folder), create_model_card=False)  # type: ignore[operator]
        return
    if tokenizer is None:
        raise ModelError(f"{kind}: give its tokenizer too: tokenizer=…, an object or a directory")
    source = Path(tokenizer) if isinstance(tokenizer, str | Path) else None
    settings = MatcherSettings.load(source) if source and (source / "matcher.json").is_file() else None
    if hasattr(model, "save_pretrained"):
        cast("_Saves", model).save_pretrained(str(folder))
        _save_tokenizer(tokenizer, folder)
        if settings:
            settings.save(folder)
        return
    if not isinstance(getattr(model, "config", None), EncoderConfig):
        raise ModelError(
            f"{kind}: neither a network of mobilebert_models nor a model of transformers or "
            "sentence-transformers"
        )
    save_pretrained(model, folder, tokenizer_from=source, settings=settings)
    if source is None:
        _save_tokenizer(tokenizer, folder)


def _save_tokenizer(tokenizer: object, folder: Path) -> None:
    """Add a tokenizer's files to a folder."""
    if isinstance(tokenizer, str | Path):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(str(tokenizer))
    if not hasattr(tokenizer, "save_pretrained"):
        raise ModelError(
            f"tokenizer: a {type(tokenizer).__name__} can't be saved; give one of transformers, or a folder"
        )
    tokenizer.save_pretrained(str(folder))
