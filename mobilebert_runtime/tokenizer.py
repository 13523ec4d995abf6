"""Texts and pairs of texts as token ids: what the networks read, with numpy and `tokenizers` only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Encoding, Tokenizer

from mobilebert_runtime.card_parts import SPELLING_FILE, TOKENIZER_FILE, Template
from mobilebert_runtime.checked import read_bytes, there
from mobilebert_runtime.errors import ArtefactError, DataError, ModelError
from mobilebert_runtime.spelling import SpellingCorrector
from mobilebert_runtime.template import EncodedText, TemplateIds, Window, template_of
from mobilebert_runtime.texts import read_as_one
from mobilebert_runtime.tokenizer_kinds import CONFIG_FILE, kind_of, read_settings, splits_as_bert
from mobilebert_runtime.tokenizer_limits import check_spelling, check_steps

Pair = tuple[str, str]
# Characters of a text that are read at first, for each token that has room; most texts are shorter.
CHARACTERS = 16
PANIC = "PanicException"  # what a fault in the library raises
# A text is counted in pieces of so many characters, so many at a time.
PIECE, PIECES = 4096, 32
# Where no config names the padding: a BERT's, and what the others call it.
PAD_TOKENS = ("[PAD]", "<pad>")
# A BERT's WordPiece begins a new word at each of these, whatever stands before: white space (but for control
# characters, which it drops, and with them the border of two words), ideographs, marks between sentences.
_SPACES = r" \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_IDEOGRAPHS, _MARKS = r"\u4e00-\u9fff", "!?.,;"


class PairTokenizer:
    """Encodes texts and pairs by the template of their tokenizer, such as [CLS] a [SEP] b [SEP].

    Too many tokens are truncated, those of the longer text first, at its end or with `truncation_side` "left"
    at its beginning (by `ids` alone). With a `spelling`, what `ids` reads is
    corrected by it; `spans` and `windows` report characters and read texts as they are. With `sort_texts`,
    `ids` puts that text of a pair first whose token ids come first, as words do in a dictionary: either order
    of the two gives the same ids.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        pad: str | int | None = None,
        max_length: int | None = None,
        spelling: SpellingCorrector | None = None,
        *,
        sort_texts: bool = False,
        truncation_side: str = "right",
    ) -> None:
        # Nothing is changed from here on, so that many threads may encode at once.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._single = TemplateIds.of(tokenizer.encode("a"), 1)
        self._pair = TemplateIds.of(tokenizer.encode("a", "a"), 2)
        self.kind = kind_of(tokenizer)  # one of TOKENIZER_KINDS, or None
        self._border = _border(tokenizer) if self.kind == "wordpiece" else None
        self.max_length = max_length  # tokens that the model directory allows, where it says
        self.pad_id = _pad_id(tokenizer, pad)
        self.spelling = spelling
        self.sort_texts = sort_texts
        self.truncation_side = truncation_side

    @classmethod
    def load(cls, directory: str | Path) -> PairTokenizer:
        """Read tokenizer.json of a model directory, with its configs and spelling.txt.

        Raises:
            ModelError: a file is missing or damaged.
        """
        folder = Path(directory)
        _require(folder / TOKENIZER_FILE)
        settings = read_settings(folder)
        corrects = (folder / SPELLING_FILE).exists()
        if settings.get("spelling") and not corrects:
            raise ModelError(
                f"{folder / SPELLING_FILE}: no such file, and {CONFIG_FILE} says that texts are corrected by "
                "it; copy the whole directory"
            )
        try:
            spelling = SpellingCorrector.load(folder) if corrects else None
        except ArtefactError as error:
            raise ModelError(str(error)) from None
        return cls.read(
            folder / TOKENIZER_FILE,
            settings.get("pad_token"),
            settings.get("max_length"),
            spelling,
            sort_texts=settings.get("sort_texts", False),
        )

    @classmethod
    def read(
        cls,
        path: Path,
        pad: str | int | None = None,
        max_length: int | None = None,
        spelling: SpellingCorrector | None = None,
        *,
        sort_texts: bool = False,
        truncation_side: str = "right",
        content: bytes | None = None,
    ) -> PairTokenizer:
        """Read a tokenizer.json.

        Args:
            path: the file.
            pad: token or id that pads texts; by default [PAD] or <pad>.
            max_length: tokens that the model takes.
            spelling: by which texts are corrected.
            sort_texts: whether the texts of a pair are read in an order of their own.
            truncation_side: where a text that is too long loses its tokens, "right" or "left".
            content: of the file, where it has been read.

        Raises:
            ModelError: the file is missing or damaged, or has no such token.
        """
        if content is None:
            _require(path)
        try:
            content = read_bytes(path) if content is None else content
            check_spelling(content)
            tokenizer = Tokenizer.from_buffer(content)
            check_steps(tokenizer)
            return cls(
                tokenizer,
                pad,
                max_length,
                spelling,
                sort_texts=sort_texts,
                truncation_side=truncation_side,
            )
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        except ArtefactError as error:
            raise ModelError(str(error)) from None
        except BaseException as error:  # the library raises bare Exception for a damaged file
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            raise ModelError(f"{path}: damaged ({str(error)[:200]}); restore it") from error

    def vocabulary(self) -> dict[str, int]:
        """Every entry and its id, added tokens included."""
        return self._tokenizer.get_vocab()

    def reads_as_bert(self, *, lowercase: bool) -> bool:
        """Whether it splits texts like BERT's own code, which a phone reproduces from vocab.txt alone."""
        return self.kind == "wordpiece" and splits_as_bert(self._tokenizer, lowercase=lowercase)

    @property
    def template(self) -> Template:
        """Its special tokens by name; raises `ModelError` where a name can't be written in a template."""
        return template_of(self._tokenizer, self._single, self._pair)

    @property
    def vocab_size(self) -> int:
        """Number of entries, special tokens included."""
        return self._tokenizer.get_vocab_size()

    def corrected(self, pairs: Sequence[Pair | str]) -> list[tuple[str, ...]]:
        """The two texts of each pair, or the single one, as `ids` reads them: by the `spelling`."""
        grouped: list[tuple[str, ...]] = [(one,) if isinstance(one, str) else tuple(one) for one in pairs]
        if self.spelling is None:
            return grouped
        return [
            self.spelling.corrected_pair(*texts) if len(texts) == 2 else (self.spelling.corrected(*texts),)
            for texts in grouped
        ]

    def without_spelling(self) -> PairTokenizer:
        """The same tokenizer, which reads texts as they are."""
        return self.with_spelling(None)

    def with_spelling(self, spelling: SpellingCorrector | None) -> PairTokenizer:
        """The same tokenizer with another correction of texts, or none."""
        other = copy(self)
        other.spelling = spelling
        return other

    def ids(self, pairs: Sequence[Pair | str], max_len: int) -> list[tuple[list[int], list[int]]]:
        """Token ids and token types of each pair or single text, at most `max_len` tokens, unpadded.

        The time grows with the texts' lengths, and with `max_len` alone where only one of them is long.
        """
        grouped = self.corrected(pairs)
        flat, left = [text for texts in grouped for text in texts], self.truncation_side == "left"
        heads = (head.ids for head in (self._encode(flat) if left else self._heads(flat, max_len)))
        encoded = []
        for texts in grouped:
            tokens = [next(heads) for _ in texts]
            if len(texts) == 1:
                encoded.append(self._single.fill([self._cut(tokens[0], max_len - self._single.size)]))
            else:
                if self.sort_texts:  # two that differ only beyond `max_len` are one and the same
                    tokens = sorted(ids[:max_len] for ids in tokens)
                room = max_len - self._pair.size
                lengths = self._longest_first(texts, [len(ids) for ids in tokens], room)
                encoded.append(self._pair.fill([self._cut(ids, n) for ids, n in zip(tokens, lengths)]))
        return encoded

    def _cut(self, ids: list[int], count: int) -> list[int]:
        """At most so many of a text's tokens."""
        return ids[max(0, len(ids) - count) :] if self.truncation_side == "left" else ids[:count]

    def confuses(self, pair: Pair, ids: Sequence[int], max_len: int) -> bool:
        """Are the two texts of a pair different, but the same tokens in what `ids` made of them?"""
        before, between = (len(specials) for specials, _ in self._pair.specials[:2])
        count, odd = divmod(len(ids) - self._pair.size, 2)
        if odd and len(ids) < max_len:
            return False
        first = ids[before : before + count]
        # The odd token of two texts that were cut is either's.
        seconds = [
            ids[start : start + count] for start in range(before + count + between, len(ids))[: 1 + odd]
        ]
        if first and first not in seconds:
            return False
        a, b = self.corrected([pair])[0]
        return a != b and not (first and read_as_one(a, b))

    def spans(self, text: str, max_len: int) -> Window:
        """A single text of at most `max_len` tokens, and the characters of each."""
        [head] = self._heads([text], max_len, spans=True)
        return Window.of(self._single, [], EncodedText.of(head), slice(0, max_len - self._single.size))

    def windows(self, question: str, context: str, max_len: int, stride: int) -> list[Window]:
        """A question with every part of a context, each of at most `max_len` tokens, and their characters.

        Args:
            question: the first text; it is never truncated.
            context: the second; the parts are of equal length, but for the last.
            max_len: tokens of question, part and template.
            stride: tokens of the context that a part shares with the one before it.

        Raises:
            DataError: the question leaves no room for such parts.
        """
        first, second = map(EncodedText.of, self._encode([question, context], spans=True))
        room, count = max_len - self._pair.size - len(first.ids), len(second.ids)
        if count <= room:
            return [Window.of(self._pair, first.ids, second, slice(0, count))]
        if room <= stride:
            raise DataError(
                f"the question has {len(first.ids)} tokens; at most {max_len - self._pair.size - stride - 1} "
                f"fit beside parts of its context that share {stride}"
            )
        starts = range(0, count - stride, room - stride)
        return [Window.of(self._pair, first.ids, second, slice(one, one + room)) for one in starts]

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
            try:
                out["input_ids"][row, : len(ids)] = ids
            except OverflowError:
                raise ModelError(f"token id {max(ids)} is none that a network can have") from None
            out["attention_mask"][row, : len(ids)] = 1
            out["token_type_ids"][row, : len(ids)] = types
        return out

    def _longest_first(self, texts: Sequence[str], found: list[int], room: int) -> tuple[int, int]:
        """How many tokens of each text stay: the longer loses first, then both; the odd one is the longer's.

        Args:
            texts: a and b, where they are not sorted.
            found: their tokens, exact below `room`.
            room: tokens that both together may have.
        """
        shorter, half = min(found), room // 2
        if shorter <= half:
            return (found[0], room - found[0]) if found[0] == shorter else (room - found[1], found[1])
        longer = room % 2 and (found[0] > found[1] if self.sort_texts else self._longer(*texts))
        return (room - half, half) if longer else (half, room - half)

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

    def _heads(self, texts: Sequence[str], enough: int, *, spans: bool = False) -> list[Encoding]:
        """Each text encoded: all of its tokens, or at least `enough`."""
        rows: list[Any] = [None] * len(texts)
        left, size = list(range(len(texts))), CHARACTERS * enough
        while left:
            heads = [self._head(texts[i], 0, size) for i in left]
            for i, encoding in zip(left, self._encode(heads, spans=spans)):
                rows[i] = encoding
            left = [i for i, head in zip(left, heads) if len(head) < len(texts[i]) and len(rows[i]) < enough]
            size *= 4
        return rows

    def _head(self, text: str, start: int, size: int) -> str:
        """At least `size` characters from `start`, ending where a word does; the rest where none begins."""
        border = self._border and self._border.search(text, start + size)
        return text[start : border.start()] if border else text[start:]

    def _encode(self, texts: Sequence[str], *, spans: bool = False) -> list[Encoding]:
        encode = self._tokenizer.encode_batch if spans else self._tokenizer.encode_batch_fast
        try:
            return encode(texts, add_special_tokens=False)
        except BaseException as error:  # the library's own kind, which is no Exception
            if type(error).__name__ != PANIC:
                raise
            raise ModelError(f"the tokenizer can't split a text ({str(error)[:200]})") from None


def _require(path: Path) -> None:
    if not (there(path) and path.is_file()):
        raise ModelError(
            f"{str(path)[:255]}: no such file; a model or artefact directory holds {TOKENIZER_FILE}"
        )


def _border(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Where a text may be cut for a WordPiece: what follows begins a word, and no added token goes across."""
    added = "".join(token.content for token in tokenizer.get_added_tokens_decoder().values())
    spaces = "" if any(map(str.isspace, added)) else _SPACES
    ideographs = _IDEOGRAPHS if tokenizer.normalizer.handle_chinese_chars and added.isascii() else ""
    borders = f"{spaces}{ideographs}{''.join(mark for mark in _MARKS if mark not in added)}"
    return re.compile(f"[{borders}]") if borders else None


def _pad_id(tokenizer: Tokenizer, pad: str | int | None) -> int:
    if isinstance(pad, int):
        if tokenizer.id_to_token(pad) is None:
            raise ModelError(f"tokenizer has no token {pad}, which pads its texts")
        return pad
    names = PAD_TOKENS if pad is None else (pad,)
    found = [number for number in map(tokenizer.token_to_id, names) if number is not None]
    if not found:
        raise ModelError(f"tokenizer has no {' or '.join(names)} token, which pads its texts")
    return found[0]
