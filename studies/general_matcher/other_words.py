"""Give a trunk the vocabulary of today: the parent's entries that are frequent in wordfreq and in the texts.

pip install wordfreq==3.1.1
python -m studies.general_matcher.other_words --trunk runs/general/s/trunk --out runs/general/s/other_words
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Annotated

import torch
from torch import Tensor, nn
from typer import Option

from mobilebert_models import find_directory, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_models.weights.word_codes import WordCodes, code_means, find_codes
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.initialization.cut_vocabulary import (
    entry_counts,
    kept_entries,
    write_cut_tokenizer,
)
from recipes.general_matchers.teachers import read_text_column
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
    scores = blend(spoken, entry_counts(origin, read_text_column(cache / "texts.tsv")), share)
    kept = kept_entries(origin, scores, size)
    table = encoder_of(load_pretrained(origin)).embeddings.word_embeddings.weight
    other = with_other_entries(encoder, table, held, kept)
    with TemporaryDirectory() as made:
        write_cut_tokenizer(origin, kept, Path(made) / "tokenizer")
        save_pretrained(other, out, tokenizer_from=Path(made) / "tokenizer")
    console().print(f"{len({*kept} - {*held}):,} of {len(kept):,} entries are new")


def with_other_entries(encoder: Encoder, parent: Tensor, held: Sequence[int], kept: Sequence[int]) -> Encoder:
    """A copy of an encoder whose words are product codes that reads another part of the parent's vocabulary.

    An entry that stays keeps its codes. A new one takes, group by group, the code whose entries lie nearest
    to it in the parent's table, by their mean there: codebooks are trained, so the parent's rows can't be
    held against their vectors. The codebooks, and all else, stay; where no row has their largest number any
    more, they are in finer steps, since a table's scale follows from its own numbers.

    Args:
        encoder: of V rows.
        parent: (P, E) word embeddings of the model of whose vocabulary the encoder reads a part.
        held: ids in it of the encoder's entries, V of them.
        kept: ids in it of the entries that the copy reads, in their order.

    Raises:
        ModelError: the encoder's words are no product codes, or its table is not as wide as the parent's.
    """
    table = encoder.embeddings.word_embeddings.weight.detach().float()
    if table.shape[1] != parent.shape[1]:
        raise ModelError(
            f"word embeddings of {table.shape[1]} columns, the parent's of {parent.shape[1]}: new entries "
            "take their codes from a parent of the same width"
        )
    found = find_codes(table)
    if found is None:
        raise ModelError("word embeddings without product codes: new entries have none to take")
    old, new = torch.tensor(held), torch.tensor(kept)
    parts = zip(parent.detach().float().chunk(found.codes.shape[1], 1), found.codes.long().t(), strict=True)
    codes = torch.stack([_nearest_code(part[new], part[old], code) for part, code in parts], 1)
    row = {i: number for number, i in enumerate(held)}
    stays = [number for number, i in enumerate(kept) if i in row]
    codes[stays] = found.codes[[row[kept[number]] for number in stays]].long()
    other = copy.deepcopy(encoder)
    words = other.embeddings.word_embeddings
    words.weight = nn.Parameter(_table(codes, found), requires_grad=words.weight.requires_grad)
    words.num_embeddings = len(kept)
    other.config = replace(encoder.config, vocab_size=len(kept))
    return other


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


def _nearest_code(wanted: Tensor, rows: Tensor, codes: Tensor) -> Tensor:
    """Which code's rows have the mean nearest to each of `wanted`: (N, size), (V, size), (V,) → (N,)."""
    means, count = code_means(rows, codes)
    return torch.cdist(wanted, means).masked_fill(count == 0, torch.inf).argmin(1)


def _table(codes: Tensor, before: WordCodes) -> Tensor:
    """The table of other codes (V, G) of the same codebooks, in which `find_codes` finds them again."""
    groups = torch.arange(codes.shape[1])
    book = torch.zeros(before.codebook.shape)
    book[groups, codes] = before.codebook[groups, codes].float() * before.scale  # the others have no rows
    return WordCodes.of_codebook(codes, book).table()


if __name__ == "__main__":
    run(main)
