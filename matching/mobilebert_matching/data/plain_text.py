"""Documents and sentences out of plain text: read as a stream, cut by a plain rule."""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from mobilebert_runtime.errors import DataError

# The end of a sentence: a full stop, question or exclamation mark and closing quotes, then white space and
# something that can begin the next one.
_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*(\s+)(?=[\"'“‘(\[]*[A-Z0-9])")
# A full stop after one of these, or after a single capital (an initial), ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Hon|Messrs|"
    r"vs|etc|cf|al|ca|No|Vol|Fig|pp|e\.g|i\.e|[A-Z](?:\.[A-Z])+)\.$"
)
_OPENERS: dict[str, Callable[..., IO[str]]] = {".xz": lzma.open, ".gz": gzip.open, ".txt": open}


def read_documents(paths: Sequence[Path]) -> Iterator[list[str]]:
    """The non-empty lines of each document of the files; a blank line or the end of a file ends a document.

    Args:
        paths: UTF-8 text, one paragraph a line: .txt, .txt.xz or .txt.gz.

    Raises:
        DataError: no file, one that is not there, of another kind, truncated, or not UTF-8.
    """
    check_files(paths)
    for path in paths:
        lines: list[str] = []
        for line in _lines(path):
            if text := line.strip():
                lines.append(text)
            elif lines:
                yield lines
                lines = []
        if lines:
            yield lines


def check_files(paths: Sequence[Path]) -> None:
    """Raise `DataError` for no file, one that is not there, or one of another kind."""
    if not paths:
        raise DataError("no corpus file given; give one or more .txt, .txt.xz or .txt.gz files")
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path}: no such file; give a text file with one paragraph a line")
        if path.suffix not in _OPENERS:
            raise DataError(f"{path}: unknown ending; expected one of {', '.join(_OPENERS)}")


def _lines(path: Path) -> Iterator[str]:
    try:
        with _OPENERS[path.suffix](path, "rt", encoding="utf-8") as file:
            yield from file
    except (lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged or truncated ({error}); fetch it again") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error}); convert it first") from error


def split_sentences(paragraph: str) -> list[str]:
    """Cut a paragraph at sentence ends; common abbreviations and initials are not ends.

    A rule of two expressions, not a trained splitter: what it gets wrong is a long or a short sentence, which
    costs pretraining nothing.
    """
    sentences, start = [], 0
    for match in _END.finditer(paragraph):
        sentence = paragraph[start : match.start(1)]
        if _ABBREVIATION.search(sentence[-12:]):
            continue
        sentences.append(sentence.strip())
        start = match.end(1)
    sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if sentence]
