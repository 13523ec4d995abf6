"""A part of a WordPiece vocabulary, and the models that read it: embeddings are most of a small model.

Every entry that stays keeps its text, so a teacher can be given the very pieces of its student: its embedding
rows are chosen, nothing is retrained. Rarer words fall apart into more pieces.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from tokenizers import Tokenizer
from torch import nn

from mobilebert_models import PairClassifier
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import replacing_folder

# Single characters below this code point (Latin with its accents) stay, so that no English word is unknown.
_LATIN_END = 0x250
_CONTINUES = "##"


def frequent_entries(directory: Path, texts: Sequence[str], size: int) -> list[int]:
    """The ids that a cut vocabulary keeps: `kept_entries` by how frequent the entries are in `texts`.

    Args:
        directory: holds tokenizer.json.
        texts: what the model will read, as far as known.
        size: entries to keep.

    Raises:
        ModelError: as `kept_entries`.
    """
    return kept_entries(directory, entry_counts(directory, texts), size)


def entry_counts(
    directory: Path, texts: Sequence[str], times: Sequence[float] | None = None
) -> dict[int, float]:
    """How often each entry occurs in `texts` as the whole vocabulary splits them, by its id; others lack.

    Args:
        directory: holds tokenizer.json.
        texts: to be split.
        times: how often each of them counts; once where not given.

    Raises:
        ModelError: there is no tokenizer.json.
    """
    counts: defaultdict[int, float] = defaultdict(float)
    encodings = _load(directory).encode_batch(list(texts), add_special_tokens=False)
    for encoding, count in zip(encodings, [1.0] * len(texts) if times is None else times, strict=True):
        for i in encoding.ids:
            counts[i] += count
    return dict(counts)


def kept_entries(directory: Path, scores: Mapping[int, float], size: int) -> list[int]:
    """The ids that a cut vocabulary keeps, ascending.

    Special tokens and single Latin characters stay, at the start of a word and inside it; the rest are the
    entries of the highest scores. Of equal ones the lower id stays.

    Args:
        directory: holds tokenizer.json.
        scores: of the entries, by their ids; 0 of those that are not named.
        size: entries to keep.

    Raises:
        ModelError: more entries than there are, or fewer than the ones that must stay.
    """
    tokenizer = _load(directory)
    entries = tokenizer.get_vocab()
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    kept = {i for entry, i in entries.items() if entry in special or _is_latin(entry)}
    if not len(kept) <= size <= len(entries):
        raise ModelError(
            f"vocabulary of {size:,} entries: expected {len(kept):,} (special tokens and single characters) "
            f"to {len(entries):,}"
        )
    others = sorted((i for i in entries.values() if i not in kept), key=lambda i: (-scores.get(i, 0), i))
    return sorted([*kept, *others[: size - len(kept)]])


def write_cut_tokenizer(directory: Path, kept: list[int], out: Path) -> None:
    """Write `vocab.txt` and `tokenizer.json` with the entries `kept`, numbered in their order, to `out`.

    Raises:
        ModelError: `directory` holds no WordPiece tokenizer.
    """
    values = json.loads(_load(directory).to_str())
    if values["model"]["type"] != "WordPiece":
        raise ModelError(f"{directory}: a {values['model']['type']} vocabulary; only WordPiece can be cut")
    number = {old: new for new, old in enumerate(kept)}
    vocabulary = {entry: number[i] for entry, i in values["model"]["vocab"].items() if i in number}
    values["model"]["vocab"] = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
    for token in values["added_tokens"]:
        token["id"] = number[token["id"]]
    for token in values["post_processor"]["special_tokens"].values():
        token["ids"] = [number[i] for i in token["ids"]]
    with replacing_folder(out) as partial:
        text = json.dumps(values, ensure_ascii=False)
        Tokenizer.from_str(text).save(str(partial / "tokenizer.json"))
        lines = "".join(f"{entry}\n" for entry in values["model"]["vocab"])
        (partial / "vocab.txt").write_text(lines, encoding="utf-8")


def with_entries(teacher: PairClassifier, kept: list[int]) -> PairClassifier:
    """A copy of a teacher that reads the cut vocabulary: the embedding rows `kept`, all else unchanged."""
    cut = copy.deepcopy(teacher)
    words = cut.encoder.embeddings.word_embeddings
    rows = cast(nn.Parameter, words.weight).detach()[torch.tensor(kept)]
    words.weight = nn.Parameter(rows.clone(), requires_grad=words.weight.requires_grad)
    words.num_embeddings = len(kept)
    cut.config = cut.encoder.config = replace(cut.config, vocab_size=len(kept))
    return cut


def _is_latin(entry: str) -> bool:
    character = entry.removeprefix(_CONTINUES)
    return len(character) == 1 and ord(character) < _LATIN_END


def _load(directory: Path) -> Tokenizer:
    path = Path(directory) / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{path}: no such file; a model directory holds tokenizer.json")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
