"""WordPiece for text pairs: what the networks read, with numpy and `tokenizers` only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from tokenizers import Tokenizer

from mobilebert_runtime.errors import ModelError

Pair = tuple[str, str]


class PairTokenizer:
    """Encodes (a, b) as [CLS] a [SEP] b [SEP], truncating the longer text first."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        pad = tokenizer.token_to_id("[PAD]")
        if pad is None:
            pad = tokenizer.token_to_id("<pad>")  # an ALBERT's SentencePiece
        if pad is None:
            raise ModelError("tokenizer has no [PAD] token; expected a BERT WordPiece tokenizer.json")
        self.pad_id: int = pad

    @classmethod
    def load(cls, directory: str | Path) -> PairTokenizer:
        """Read tokenizer.json of a model directory or an artefact.

        Raises:
            ModelError: the file is missing or damaged.
        """
        path = Path(directory) / "tokenizer.json"
        if not path.is_file():
            raise ModelError(f"{path}: no such file; a model or artefact directory holds tokenizer.json")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for a damaged file
            raise ModelError(f"{path}: damaged ({error}); restore it") from error
        return cls(tokenizer)

    @property
    def vocab_size(self) -> int:
        """Number of entries, special tokens included."""
        return self._tokenizer.get_vocab_size()

    def ids(self, pairs: Sequence[Pair | str], max_len: int) -> list[tuple[list[int], list[int]]]:
        """Token ids and token types of each pair or single text, at most `max_len` tokens, unpadded."""
        self._tokenizer.enable_truncation(max_len, strategy="longest_first")
        return [(e.ids, e.type_ids) for e in self._tokenizer.encode_batch(list(pairs))]

    def encode(
        self, pairs: Sequence[Pair], seq_len: int, pad_to: Literal["seq_len", "longest"] = "seq_len"
    ) -> dict[str, np.ndarray]:
        """Encode pairs into int32 arrays (N, S): input_ids, attention_mask, token_type_ids.

        S is `seq_len`, or the longest encoded pair of this call with `pad_to="longest"`.
        """
        return self.pad(self.ids(pairs, seq_len), seq_len if pad_to == "seq_len" else None)

    def pad(
        self, encoded: Sequence[tuple[list[int], list[int]]], length: int | None
    ) -> dict[str, np.ndarray]:
        """Stack the output of `ids` into int32 arrays (N, S); S is `length` or the longest."""
        width = length or max((len(ids) for ids, _ in encoded), default=0)
        out = {
            "input_ids": np.full((len(encoded), width), self.pad_id, np.int32),
            "attention_mask": np.zeros((len(encoded), width), np.int32),
            "token_type_ids": np.zeros((len(encoded), width), np.int32),
        }
        for row, (ids, types) in enumerate(encoded):
            out["input_ids"][row, : len(ids)] = ids
            out["attention_mask"][row, : len(ids)] = 1
            out["token_type_ids"][row, : len(ids)] = types
        return out
