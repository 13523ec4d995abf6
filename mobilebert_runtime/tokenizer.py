"""WordPiece for text pairs: what the networks read, with numpy and `tokenizers` only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mobilebert_runtime.errors import ModelError

Pair = tuple[str, str]
# Characters of a text that are read at first, for each token that has room; most texts are shorter.
CHARACTERS = 16
# A text is counted in pieces of so many characters, so many at a time.
PIECE, PIECES = 4096, 32
# [CLS] a [SEP] b [SEP] has three; more are not a BERT's.
MOST_SPECIALS = 8
# Characters; a longer word is [UNK].
LONGEST_WORD = 100


class PairTokenizer:
    """Encodes (a, b) as [CLS] a [SEP] b [SEP], truncating the longer text first."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        # Nothing is changed from here on, so that many threads may encode at once.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._single = _Template.of(tokenizer.encode("a"), 1)
        self._pair = _Template.of(tokenizer.encode("a", "a"), 2)
        self.is_wordpiece = _is_wordpiece(tokenizer)
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
            return cls(Tokenizer.from_file(str(path)))
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        except BaseException as error:  # the library raises bare Exception for a damaged file
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise ModelError(f"{path}: damaged ({str(error)[:200]}); restore it") from error

    def vocabulary(self) -> dict[str, int]:
        """Every entry and its id, added tokens included."""
        return self._tokenizer.get_vocab()

    def reads_as_bert(self, *, lowercase: bool) -> bool:
        """Does it split texts as BERT's own code does, which a phone does from vocab.txt alone?"""
        if not self.is_wordpiece:
            return False
        rules, model = self._tokenizer.normalizer, self._tokenizer.model
        first, last = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        if first is None or last is None:
            return False
        return (
            rules.lowercase is lowercase
            and rules.strip_accents in (None, lowercase)
            and rules.clean_text
            and rules.handle_chinese_chars
            and (model.unk_token, model.continuing_subword_prefix) == ("[UNK]", "##")
            and model.max_input_chars_per_word == LONGEST_WORD
            and self._pair == _Template((([first], [0]), ([last], [0]), ([last], [1])), (0, 1))
        )

    @property
    def vocab_size(self) -> int:
        """Number of entries, special tokens included."""
        return self._tokenizer.get_vocab_size()

    def ids(self, pairs: Sequence[Pair | str], max_len: int) -> list[tuple[list[int], list[int]]]:
        """Token ids and token types of each pair or single text, at most `max_len` tokens, unpadded.

        The time grows with the texts' lengths, and with `max_len` alone where only one of them is long.
        """
        grouped = [(one,) if isinstance(one, str) else tuple(one) for one in pairs]
        heads = iter(self._heads([text for texts in grouped for text in texts], max_len))
        encoded = []
        for texts in grouped:
            tokens = [next(heads) for _ in texts]
            if len(texts) == 1:
                encoded.append(self._single.fill([tokens[0][: max_len - self._single.size]]))
            else:
                room = max_len - self._pair.size
                lengths = self._longest_first(texts, [len(ids) for ids in tokens], room)
                encoded.append(self._pair.fill([ids[:n] for ids, n in zip(tokens, lengths)]))
        return encoded

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

    def _longest_first(self, texts: Sequence[str], found: list[int], room: int) -> tuple[int, int]:
        """How many tokens of each text stay: the longer loses first, then both; the odd one is the longer's.

        Args:
            texts: a and b.
            found: their tokens, exact below `room`.
            room: tokens that both together may have.
        """
        shorter, half = min(found), room // 2
        if shorter <= half:
            return (found[0], room - found[0]) if found[0] == shorter else (room - found[1], found[1])
        return (room - half, half) if room % 2 and self._longer(*texts) else (half, room - half)

    def _longer(self, a: str, b: str) -> bool:
        """Has text a more tokens than text b? Both are read side by side until one of them ends."""
        counts, pieces = [0, 0], [self._pieces(a), self._pieces(b)]
        while True:
            behind = int(counts[1] < counts[0])
            some = list(islice(pieces[behind], PIECES))
            if not some:
                return bool(behind)
            counts[behind] += sum(map(len, self._encode(some)))

    def _pieces(self, text: str) -> Iterator[str]:
        start = 0
        while start < len(text):
            piece = self._head(text, start, PIECE)
            yield piece
            start += len(piece)

    def _heads(self, texts: Sequence[str], enough: int) -> list[list[int]]:
        """Tokens of each text: all of them, or at least `enough`."""
        rows: list[list[int]] = [[]] * len(texts)
        left, size = list(range(len(texts))), CHARACTERS * enough
        while left:
            heads = [self._head(texts[i], 0, size) for i in left]
            for i, encoding in zip(left, self._encode(heads)):
                rows[i] = encoding.ids
            left = [i for i, head in zip(left, heads) if len(head) < len(texts[i]) and len(rows[i]) < enough]
            size *= 4
        return rows

    def _head(self, text: str, start: int, size: int) -> str:
        """At least `size` characters from `start`, ending before a space; the rest where none is left."""
        if not self.is_wordpiece:
            return text[start:]
        space = text.find(" ", start + size) if len(text) > start + size else -1
        return text[start:] if space < 0 else text[start:space]

    def _encode(self, texts: Sequence[str]) -> list[Encoding]:
        return self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)


@dataclass(frozen=True)
class _Template:
    """The special tokens around one text or two."""

    specials: tuple[tuple[list[int], list[int]], ...]  # ids and types before, between and after the texts
    types: tuple[int, ...]  # of each text

    @classmethod
    def of(cls, probe: Encoding, texts: int) -> _Template:
        """Read from an encoding of texts of one token or more."""
        specials: list[tuple[list[int], list[int]]] = [([], [])]
        types: list[int] = []
        previous = None
        for token, kind, text in zip(probe.ids, probe.type_ids, probe.sequence_ids):
            if text is None:
                specials[-1][0].append(token)
                specials[-1][1].append(kind)
            elif text != previous:
                types.append(kind)
                specials.append(([], []))
                if text != len(types) - 1:
                    break
            previous = text
        found = cls(tuple(specials), tuple(types))
        if len(types) != texts or found.size > MOST_SPECIALS:
            raise ModelError(
                "tokenizer's template is not that of a BERT: each text once, in order, special tokens around"
            )
        return found

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return sum(len(ids) for ids, _ in self.specials)

    def fill(self, texts: Sequence[list[int]]) -> tuple[list[int], list[int]]:
        """Ids and types of the whole."""
        ids, types = list(self.specials[0][0]), list(self.specials[0][1])
        for text, kind, (after, after_types) in zip(texts, self.types, self.specials[1:]):
            ids += text + after
            types += [kind] * len(text) + after_types
        return ids, types


def _is_wordpiece(tokenizer: Tokenizer) -> bool:
    """Is it a BERT's WordPiece? Then a text's tokens are those of its parts, if parted before a space."""
    return (
        isinstance(tokenizer.normalizer, BertNormalizer)
        and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        and isinstance(tokenizer.model, WordPiece)
        and not any(
            " " in token.content or not token.content.isascii() or not token.content.isprintable()
            for token in tokenizer.get_added_tokens_decoder().values()
        )
    )
