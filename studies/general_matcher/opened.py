"""An embedding matcher by its name or directory, as the scripts of this study read it."""

from __future__ import annotations

from mobilebert_models import find_directory, load_pretrained
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.tokenizer import PairTokenizer


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
