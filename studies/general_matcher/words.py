"""Write words and how frequent they are today, for questions about them: of wordfreq, which is optional.

pip install wordfreq==3.1.1
python -m studies.general_matcher.words

The list is of Speer 2022, "rspeer/wordfreq"; its data are under CC BY-SA 4.0.
"""

from __future__ import annotations

import re
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Annotated

from typer import Option

from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import replacing
from studies.common.records import check_outputs
from studies.common.script import Force, console, run
from studies.general_matcher.options import CACHE

LOOKED_AT = 60_000  # the most frequent words of the list
# Of a word's Zipf frequency (van Heuven et al. 2014), log10 of its occurrences in a billion words: above are
# words of every sentence, below mostly names and misspellings.
LEAST, MOST = 3.0, 5.6


def main(
    out: Annotated[Path, Option(help="The .tsv file.")] = CACHE / "words.tsv",
    force: Force = False,
) -> None:
    """Write a word and its occurrences in a billion words a line."""
    check_outputs(out, force=force)
    words = frequent_words(wordfreq())
    with replacing(out, force=force) as partial:
        partial.write_text("".join(f"{word}\t{count}\n" for word, count in words), encoding="utf-8")
    console().print(f"{len(words):,} words")


def wordfreq() -> ModuleType:
    """The package of word frequencies.

    Raises:
        ToolError: it is not installed.
    """
    try:
        return import_module("wordfreq")
    except ImportError as error:
        raise ToolError("wordfreq is not installed; pip install wordfreq==3.1.1") from error


def frequent_words(package: ModuleType) -> list[tuple[str, int]]:
    """Words of three letters and more, neither the most frequent nor rare, with occurrences in a billion.

    Args:
        package: wordfreq.
    """
    found = []
    for word in islice(package.iter_wordlist("en", "large"), LOOKED_AT):
        frequency = package.zipf_frequency(word, "en", wordlist="large")
        if re.fullmatch("[a-z]{3,}", word) and LEAST <= frequency <= MOST:
            found.append((word, round(10**frequency)))
    return found


if __name__ == "__main__":
    run(main)
