"""Run an artefact folder of `mobilebert export`: numpy, tokenizers and one runtime, nothing else.

```python
from mobilebert_runtime import Matcher

Matcher.load("artefacts/matcher-int8").score([("How old is the Moon?", "What is the age of the Moon?")])
```

There is a class for each task; `load` opens a folder with the class that its card names.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from mobilebert_runtime.artefact import load
    from mobilebert_runtime.card import ArtefactCard, Bucket, check_checksums, read_card
    from mobilebert_runtime.embedder import Embedder
    from mobilebert_runtime.errors import ArtefactError, ToolError, UnreadableWarning
    from mobilebert_runtime.length_shift import LengthShift
    from mobilebert_runtime.matcher import Matcher
    from mobilebert_runtime.question_answerer import QuestionAnswerer
    from mobilebert_runtime.results import Answer, Hit, LabelledSpan
    from mobilebert_runtime.text_classifier import TextClassifier
    from mobilebert_runtime.token_classifier import TokenClassifier
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_runtime.vector_index import Index

__all__ = [
    "Answer",
    "ArtefactCard",
    "ArtefactError",
    "Bucket",
    "Embedder",
    "Hit",
    "Index",
    "LabelledSpan",
    "LengthShift",
    "Matcher",
    "PairTokenizer",
    "QuestionAnswerer",
    "TextClassifier",
    "TokenClassifier",
    "ToolError",
    "UnreadableWarning",
    "check_checksums",
    "load",
    "read_card",
]
# Imported when first asked for: whoever reads a card needs no numpy.
_MODULES = {
    "Answer": "results",
    "ArtefactError": "errors",
    "Embedder": "embedder",
    "Hit": "results",
    "Index": "vector_index",
    "LabelledSpan": "results",
    "LengthShift": "length_shift",
    "Matcher": "matcher",
    "PairTokenizer": "tokenizer",
    "QuestionAnswerer": "question_answerer",
    "TextClassifier": "text_classifier",
    "TokenClassifier": "token_classifier",
    "ToolError": "errors",
    "UnreadableWarning": "errors",
    "load": "artefact",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("mobilebert-runtime")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'card')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
