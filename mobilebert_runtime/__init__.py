"""Run an artefact folder of `mobilebert export`: numpy, tokenizers and one runtime, nothing else.

from mobilebert_runtime import Matcher
Matcher.load("artefacts/matcher-int8").score([("How old is the Moon?", "What is the age of the Moon?")])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobilebert_runtime.card import ArtefactCard, Bucket, check_checksums, read_card
    from mobilebert_runtime.errors import ArtefactError, ToolError
    from mobilebert_runtime.length_shift import LengthShift
    from mobilebert_runtime.matcher import Matcher
    from mobilebert_runtime.tokenizer import PairTokenizer

__all__ = [
    "ArtefactCard",
    "ArtefactError",
    "Bucket",
    "LengthShift",
    "Matcher",
    "PairTokenizer",
    "ToolError",
    "check_checksums",
    "read_card",
]
# Imported when first asked for: whoever reads a card needs no numpy.
_MODULES = {
    "LengthShift": "length_shift",
    "Matcher": "matcher",
    "PairTokenizer": "tokenizer",
    "ToolError": "errors",
    "ArtefactError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'card')}"), name)
