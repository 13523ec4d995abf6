"""What MiniLM loses on dev pairs when its word embeddings or feed-forward units are made smaller, untrained.

python -m studies.general_matcher.smaller_words --out runs/general/smaller_words.json
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor
from typer import Option

from mobilebert_models import find_directory, load_pretrained, packaged_directory, preset
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_models.weights.word_codes import product_codes
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.batches import TrainingTexts
from recipes.general_matchers.development import DevSet, development_figures
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import fast_products
from recipes.general_matchers.prune import prune
from recipes.general_matchers.teachers import read_text_column
from recipes.general_matchers.train_trunk import counted, looked_at
from recipes.general_matchers.trunk import embed
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared

SETS: tuple[DevSet, ...] = (
    ("sts_dev", "glue/sts-b/dev.tsv", "sentence", "score", 1500),
    ("mrpc_dev", "glue/mrpc/dev.tsv", "sentence", "label", 500),
    ("qqp_dev", "qqp/dev.tsv", "question", "label", 2000),
)
LARGEST = 7.5  # of 16 steps around zero


def main(
    out: Annotated[Path, Option(help="The record.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write dev figures by what was made smaller, and the error of the words, frequent ones weighing more."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    folder = packaged_directory("minilm")
    minilm, tokenizer = encoder_of(load_pretrained(folder)), PairTokenizer.load(folder)
    known = TrainingTexts(
        read_text_column(cache / "texts.tsv"), tokenizer, Misspeller(shared / "data" / MISSPELLINGS), 0.0, 0
    )
    counts = counted(known, len(minilm.embeddings.word_embeddings.weight))
    share = torch.from_numpy((counts + 0.5) ** 0.6).float()
    found: dict[str, Any] = {}

    def note(name: str, encoder: Encoder, **more: float) -> None:
        with fast_products():
            found[name] = more | development_figures(
                lambda texts: embed(encoder.eval(), tokenizer, texts), shared / "data", SETS
            )
        console().print(name, found[name])

    words = minilm.embeddings.word_embeddings.weight.detach()
    note("MiniLM", minilm)
    note("matcher-open-m", encoder_of(load_pretrained(find_directory("matcher-open-m"))))
    for name, table in smaller_tables(words, share / share.sum()):
        smaller = copy.deepcopy(minilm)
        smaller.embeddings.word_embeddings.weight.data.copy_(table)
        note(name, smaller, word_db=round(decibels(words, table, share), 1))
    seen = looked_at(known)
    config = preset("matcher-open-m")
    for units in (608, config.intermediate_size):
        pruned = prune(minilm, replace(config, intermediate_size=units), counts, seen, 0, 0)
        note(f"words of 2 bits, product codes; {units} feed-forward units", pruned)
    write_json(out, found)


def smaller_tables(words: Tensor, share: Tensor) -> list[tuple[str, Tensor]]:
    """Tables (V, E) of fewer bytes and what they are called; frequent words weigh more in their fits."""
    mean = (share[:, None] * words).sum(0)
    centred = (words - mean).double()
    _, basis = torch.linalg.eigh((share[:, None].double() * centred).t() @ centred)
    turn = torch.linalg.qr(torch.randn(len(basis), len(basis), generator=torch.Generator().manual_seed(0))).Q
    tables = []
    for rank, four_bits in ((128, False), (256, False), (256, True), (384, True)):
        # Turned at random within the rank, so that all coordinates have like variance.
        axes = basis[:, -rank:].float() @ torch.linalg.qr(turn[:rank, :rank]).Q
        codes = centred.float() @ axes
        if four_bits:
            step = codes.abs().amax(1, keepdim=True) * 0.8 / LARGEST
            codes = ((codes / step - 0.5).round().clamp(-8, 7) + 0.5) * step
        name = f"words of rank {rank}" + (", 4 bits and a scale a row" if four_bits else "")
        tables.append((name, codes @ axes.t() + mean))
    coded = {2: product_codes(words, share, 4), 4: product_codes(words, share, 2)}
    return tables + [(f"words of {bits} bits, product codes", c.table()) for bits, c in coded.items()]


def decibels(words: Tensor, table: Tensor, share: Tensor) -> float:
    """Signal to noise of a table, the mean word taken away, weighed by `share` (V,)."""
    weight = (share / share.sum())[:, None]
    signal = (weight * (words - (weight * words).sum(0)).square()).sum()
    return float(10 * torch.log10(signal / (weight * (table - words).square()).sum()))


if __name__ == "__main__":
    run(main)
