"""An embedding matcher by its name or directory, as the scripts of this study read it."""

from __future__ import annotations

from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.tokenizer import PairTokenizer
from models import find_directory, load_pretrained
from models.embedding_matcher import EmbeddingMatcher


def open_matcher(model: str) -> tuple[EmbeddingMatcher, PairTokenizer]:
    """The network and the tokenizer of a model.

    Raises:
        OptionError: it is no embedding matcher.
        ModelError: there is no such model, or it is damaged.
    """
    directory = find_directory(model)
    matcher = load_pretrained(directory)
    if not isinstance(matcher, EmbeddingMatcher):
        raise OptionError(f"model {model}: expected an embedding matcher")
    return matcher, PairTokenizer.load(directory)
