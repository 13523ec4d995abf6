"""Write the mean of the weights of two trunks with the same word codes, in the bits of the shipped files.

python -m studies.general_matcher.mean_of_trunks --trunk s/trunk --other s/other_words --out s/half
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor, nn
from typer import Option

from mobilebert_models import find_directory, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_models.weights.word_codes import ENTRIES, WordCodes, code_means, find_codes
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.four_bit_weights import in_four_bits
from recipes.general_matchers.teachers import read_text_column
from recipes.general_matchers.train_trunk import average
from recipes.general_matchers.trunk import HELD
from studies.common.script import Force, Threads, run
from studies.general_matcher.options import CACHE, Cache

ROUNDED_ON = 512  # texts whose activations say how weights are rounded


def main(
    trunk: Annotated[str, Option(help="Model directory of a trunk, whose tokenizer is taken.")],
    other: Annotated[str, Option(help="Another of the same shape, vocabulary and word codes.")],
    out: Annotated[Path, Option(help="The model directory to write.")],
    share: Annotated[float, Option(min=0, max=1, help="Of the first in the mean.")] = 0.5,
    cache: Cache = CACHE,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Take the mean, round its linear layers to four bits and write it in eight."""
    refuse_finished(out, force=force)
    torch.set_num_threads(threads)
    folders = [find_directory(name) for name in (trunk, other)]
    readers = [PairTokenizer.load(folder) for folder in folders]
    if readers[0].vocabulary() != readers[1].vocabulary():
        raise ModelError(f"{trunk} and {other}: other vocabularies; a mean is taken of the same words")
    one, two = (encoder_of(load_pretrained(folder)) for folder in folders)
    mean = mean_of_trunks(one, two, share)
    texts = read_text_column(cache / "texts.tsv")[HELD : HELD + ROUNDED_ON]
    rounded = in_four_bits(mean, readers[0].without_spelling(), texts, "all")
    save_pretrained(rounded, out, tokenizer_from=folders[0], eight_bit=True)


def mean_of_trunks(one: Encoder, other: Encoder, share: float) -> Encoder:
    """`one`, with `share` of its own weights and the rest of the other's; codebooks in eight bits.

    Wortsman et al. 2022, "Robust fine-tuning of zero-shot models". Neither has a pooler afterwards: a
    trunk has no use for one.

    Raises:
        ModelError: their weights are of other shapes, or their words have other codes, or none.
    """
    one.pooler = other.pooler = None
    shapes = [{name: tuple(value.shape) for name, value in e.named_parameters()} for e in (one, other)]
    for name in sorted(shapes[0].keys() | shapes[1].keys()):
        found = [shape.get(name, "missing") for shape in shapes]
        if found[0] != found[1]:
            raise ModelError(f"{name}: {found[0]} and {found[1]}; a mean is taken of trunks of one shape")
    tables = [encoder.embeddings.word_embeddings.weight.detach().float() for encoder in (one, other)]
    codes = common_codes(*tables)
    average(one, other, 1 - share)
    words = one.embeddings.word_embeddings
    words.weight = nn.Parameter(coded(words.weight.detach().float(), codes), requires_grad=False)
    return one.eval()


def coded(table: Tensor, codes: Tensor) -> Tensor:
    """A table (V, E) with each code's vector the mean of its rows, in eight bits; codes are (V, G)."""
    groups = zip(table.chunk(codes.shape[1], 1), codes.long().t(), strict=True)
    return WordCodes.of_codebook(codes, torch.stack([code_means(*group)[0] for group in groups])).table()


def common_codes(one: Tensor, other: Tensor) -> Tensor:
    """The codes (V, G) of the first of two tables (V, E), where the other has the same under other numbers.

    `find_codes` numbers a group's vectors by their values, so a training changes the numbers. It also makes a
    few vectors equal: what the first no longer tells apart, the mean does not either.

    Raises:
        ModelError: a table has no codes, or rows that share a code in one do not in the other.
    """
    first, second = find_codes(one), find_codes(other)
    if first is None or second is None:
        raise ModelError("word embeddings without product codes: a mean is taken of codebooks")
    same = first.codes.shape == second.codes.shape
    if same:
        pairs = first.codes.long() * ENTRIES + second.codes.long()
        # Of codebooks that have nothing to do with each other, nearly every row has a pair of its own.
        same = all(len(torch.unique(column)) <= ENTRIES for column in pairs.t())
    if not same:
        raise ModelError(
            "word embeddings with other product codes: a mean is taken of trunks that share them"
        )
    return first.codes


if __name__ == "__main__":
    run(main)
