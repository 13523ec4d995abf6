"""Give a trunk the vocabulary of today: the parent's entries that are frequent in wordfreq and in the texts.

pip install wordfreq==3.1.1
python -m studies.general_matcher.other_words --trunk runs/general/s/trunk --out runs/general/s/other_words
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Annotated

import torch
from typer import Option

from mobilebert_models import find_directory, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.initialization.cut_vocabulary import (
    entry_counts,
    kept_entries,
    with_other_entries,
    write_cut_tokenizer,
)
from recipes.general_matchers.teachers import read_texts
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.options import CACHE, Cache
from studies.general_matcher.words import wordfreq


def main(
    trunk: Annotated[str, Option(help="Model whose words are product codes.")],
    out: Annotated[Path, Option(help="The model directory to write.")],
    parent: Annotated[
        str, Option(help="Model of whose vocabulary and width the trunk's words are.")
    ] = "minilm",
    cache: Cache = CACHE,
    size: Annotated[int, Option(min=1, help="Entries of the vocabulary.")] = 18_800,
    share: Annotated[
        float, Option(min=0, max=1, help="Of wordfreq's frequencies; the rest is of CACHE/texts.tsv.")
    ] = 0.7,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Choose the entries, and write the trunk with them, untrained."""
    refuse_finished(out, force=force)
    torch.set_num_threads(threads)
    package, folder, origin = wordfreq(), find_directory(trunk), find_directory(parent)
    encoder, whole = encoder_of(load_pretrained(folder)), PairTokenizer.load(origin).vocabulary()
    held = held_entries(folder, whole)
    spoken = entry_counts(origin, *spoken_words(package, whole))
    scores = blend(spoken, entry_counts(origin, read_texts(cache / "texts.tsv")), share)
    kept = kept_entries(origin, scores, size)
    table = encoder_of(load_pretrained(origin)).embeddings.word_embeddings.weight
    other = with_other_entries(encoder, table, held, kept)
    with TemporaryDirectory() as made:
        write_cut_tokenizer(origin, kept, Path(made) / "tokenizer")
        save_pretrained(other, out, tokenizer_from=Path(made) / "tokenizer")
    console().print(f"{len({*kept} - {*held}):,} of {len(kept):,} entries are new")


def held_entries(folder: Path, whole: Mapping[str, int]) -> list[int]:
    """Ids in the parent's vocabulary `whole` of a trunk's entries, in their order.

    Raises:
        ModelError: the trunk has others.
    """
    entries = PairTokenizer.load(folder).vocabulary()
    unknown = sorted(entries.keys() - whole.keys())
    if unknown:
        raise ModelError(f"{folder}: entries that the parent's vocabulary lacks, as {unknown[0]!r}")
    return [whole[entry] for entry in sorted(entries, key=entries.__getitem__)]


def spoken_words(package: ModuleType, vocabulary: Mapping[str, int]) -> tuple[list[str], list[float]]:
    """Words and their frequencies: those of wordfreq's list, and numbers, of which it has shapes alone.

    Args:
        package: wordfreq.
        vocabulary: whose numbers are looked up.
    """
    words = [
        word
        for word in package.iter_wordlist("en", "large")
        if not any(character.isdigit() for character in word)
    ]
    words += sorted(entry for entry in vocabulary if entry.isdigit())
    return words, [package.word_frequency(word, "en", wordlist="large") for word in words]


def blend(one: Mapping[int, float], other: Mapping[int, float], share: float) -> dict[int, float]:
    """Shares of entries in two counts, `share` of the first count's and the rest of the second's."""
    totals = sum(one.values()), sum(other.values())
    parts = [
        {i: count / total for i, count in counts.items()}
        for counts, total in zip((one, other), totals, strict=True)
    ]
    return {
        i: share * parts[0].get(i, 0) + (1 - share) * parts[1].get(i, 0) for i in one.keys() | other.keys()
    }


if __name__ == "__main__":
    run(main)
