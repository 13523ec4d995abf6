"""Build a corpus: plain text in, token shards out; in parallel, resumable, the same from the same seed."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mobilebert_matching.data.plain_text import check_files, read_documents, split_sentences
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import file_sha256, write_json
from mobilebert_training.pretraining.shards import META, Corpus, special_tokens, write_shard

SPECIAL = 3  # [CLS] A [SEP] B [SEP]
PLAN = "plan.json"
_PARTS = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")
_REMEMBERED = 2_000_000  # distinct words whose ids a worker keeps


@dataclass(frozen=True)
class Packing:
    """How sentences become chunks."""

    seq_len: int = 128
    # Share of chunks with a random shorter target (BERT; ALBERT section 4.1: "with a probability of 10%").
    short: float = 0.1
    seed: int = 0
    # Characters of text in a shard: a unit of work, and what an interrupted build loses at most per worker.
    shard_characters: int = 4_000_000


Sentence = list[int]
Row = tuple[list[Sentence], int, int]  # sentences, target, document


def build(
    files: Sequence[Path],
    vocabulary: Path,
    out: Path,
    packing: Packing,
    *,
    workers: int = 1,
    callback: Callable[[int, int], None] = lambda *_: None,
) -> Corpus:
    """Tokenise and pack text into `out`; an interrupted build goes on where it was when called again.

    A shard depends on its text, the vocabulary, the packing and its number only, so any number of workers
    writes the same bytes, and a finished shard of an earlier run is kept.

    Args:
        files: UTF-8 text, a paragraph a line, a blank line between documents (.txt, .xz, .gz).
        vocabulary: directory that holds tokenizer.json.
        out: folder of the corpus.
        packing: lengths and seed.
        workers: processes that tokenise; 1 works in this one.
        callback: called with finished shards and their tokens so far.

    Raises:
        DataError: bad text (`plain_text.read_documents`), no vocabulary, or `out` holds one of other text,
            vocabulary or packing.
    """
    tokenizer = vocabulary / "tokenizer.json"
    if not tokenizer.is_file():
        raise DataError(f"{tokenizer}: no such file; a vocabulary is a directory with tokenizer.json")
    if packing.seq_len < 8 or not 0 <= packing.short <= 1 or packing.shard_characters < 1:
        raise DataError(
            f"corpus: seq_len {packing.seq_len} and short {packing.short}; expected at least 8, and 0 to 1"
        )
    check_files(files)
    special_tokens(tokenizer)
    plan = asdict(packing) | {
        "vocabulary": file_sha256(tokenizer),
        "files": [{"name": path.name, "sha256": file_sha256(path)} for path in files],
    }
    out.mkdir(parents=True, exist_ok=True)
    _same_plan(out / PLAN, plan)
    for name in ("tokenizer.json", "vocab.txt", "spiece.model"):
        if (vocabulary / name).is_file():
            copyfile(vocabulary / name, out / name)
    if not (out / META).is_file():
        shards, tokens = [], 0
        for facts in _in_order(_jobs(files, out, packing), workers, out / "tokenizer.json", packing):
            shards.append(facts)
            tokens += facts["tokens"]
            callback(len(shards), tokens)
        if not sum(s["chunks"] for s in shards):
            raise DataError("corpus: no document of two sentences; is there a blank line between documents?")
        totals = {
            k: sum(s[k] for s in shards) for k in ("documents", "chunks", "tokens", "dropped_sentences")
        }
        write_json(out / META, {"plan": plan, "shards": shards} | totals)
    return Corpus(out)


def pack(
    sentences: Sequence[Sentence], limit: int, short: float, rng: np.random.Generator
) -> list[tuple[int, int, int]]:
    """Cut a document into chunks (first sentence, end, target) as BERT's create_pretraining_data does.

    Sentences are taken until they hold `target` tokens: `limit`, or with probability `short` a random number
    from 2 to `limit`. Every chunk has two sentences or more, so that it can be split into two segments; one
    that is left alone at the end of a document is dropped.
    """
    chunks, start, total = [], 0, 0
    target = _target(limit, short, rng)
    for end, sentence in enumerate(sentences, start=1):
        total += len(sentence)
        if (total >= target or end == len(sentences)) and end - start > 1:
            chunks.append((start, end, target))
            start, total = end, 0
            target = _target(limit, short, rng)
    return chunks


def cut_long(sentence: Sentence, limit: int, continues: np.ndarray) -> Iterator[Sentence]:
    """Pieces of at most `limit` tokens, cut where a word begins if there is such a place."""
    while len(sentence) > limit:
        end = next((i for i in range(limit, limit // 2, -1) if not continues[sentence[i]]), limit)
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence


class WordCache(dict[str, list[int]]):
    """Token ids of text between two spaces, each computed once.

    BERT's normaliser and pre-tokeniser look at no character beyond a space, so the ids of a sentence are
    those of its parts, one after the other; most of a corpus is the same few thousand of them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> list[int]:
        """Tokenise a word that was not met before."""
        if len(self) >= _REMEMBERED:
            self.clear()
        # A punctuation mark is a token of its own, so that a plain word is the same with a comma and without.
        parts = _PARTS.findall(word) if word.isascii() and word.isprintable() else []
        ids = self[word] = (
            list(chain.from_iterable(map(self.__getitem__, parts)))
            if len(parts) > 1
            else self._tokenizer.encode(word, add_special_tokens=False).ids
        )
        return ids

    def sentence(self, text: str) -> Sentence:
        """Ids of a sentence without special tokens."""
        return list(chain.from_iterable(map(self.__getitem__, text.split(" "))))


class SentenceTokenizer:
    """Sentences to ids; text that reads [SEP] stays text."""

    def __init__(self, path: Path) -> None:
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        by_word = isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        self._words = WordCache(tokenizer) if by_word else None

    def ids(self, sentences: Sequence[str]) -> list[Sentence]:
        """Ids of each sentence."""
        if self._words is not None:
            return [self._words.sentence(s) for s in sentences]
        return [e.ids for e in self._tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)]


@dataclass(frozen=True)
class _Job:
    number: int
    first_document: int
    documents: list[list[str]]
    path: Path


class _Worker:
    """What a process keeps between shards."""

    current: _Worker

    def __init__(self, tokenizer: Path, packing: Packing) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
        self.tokenizer = SentenceTokenizer(tokenizer)
        self.special = special_tokens(tokenizer)
        self.packing = packing

    @classmethod
    def start(cls, tokenizer: Path, packing: Packing) -> None:
        cls.current = cls(tokenizer, packing)

    @classmethod
    def run(cls, job: _Job) -> dict[str, Any]:
        return cls.current.write(job)

    def write(self, job: _Job) -> dict[str, Any]:
        rng = np.random.default_rng((self.packing.seed, job.number))
        limit = self.packing.seq_len - SPECIAL
        rows: list[Row] = []
        dropped = 0
        for number, lines in enumerate(job.documents, start=job.first_document):
            raw = self.tokenizer.ids([s for line in lines for s in split_sentences(line)])
            # Half a chunk at most, so that no sentence fills a chunk alone.
            sentences = [p for s in raw if s for p in cut_long(s, limit // 2, self.special.continuations)]
            chunks = pack(sentences, limit, self.packing.short, rng)
            dropped += len(sentences) - (chunks[-1][1] if chunks else 0)
            rows += [(sentences[a:b], target, number) for a, b, target in chunks]
        write_shard(job.path, rows, self.special.vocab_size)
        facts = {
            "file": job.path.name,
            "sha256": file_sha256(job.path),
            "documents": len(job.documents),
            "chunks": len(rows),
            "tokens": sum(len(s) for sentences, _, _ in rows for s in sentences),
            "dropped_sentences": dropped,
        }
        write_json(_facts_path(job.path), facts)
        return facts


def _jobs(files: Sequence[Path], out: Path, packing: Packing) -> Iterator[_Job]:
    documents: list[list[str]] = []
    number = first = characters = 0
    for lines in read_documents(files):
        documents.append(lines)
        characters += sum(map(len, lines))
        if characters >= packing.shard_characters:
            yield _Job(number, first, documents, out / f"shard-{number:05d}.arrow")
            number, first, characters, documents = number + 1, first + len(documents), 0, []
    if documents:
        yield _Job(number, first, documents, out / f"shard-{number:05d}.arrow")


def _in_order(
    jobs: Iterator[_Job], workers: int, tokenizer: Path, packing: Packing
) -> Iterator[dict[str, Any]]:
    """Facts of each shard in the order of the text; shards that are there already are not made again."""
    if workers == 1:
        worker = _Worker(tokenizer, packing)
        for job in jobs:
            yield _finished(job.path) or worker.write(job)
        return
    waiting: deque[dict[str, Any] | Future[dict[str, Any]]] = deque()
    with ProcessPoolExecutor(workers, get_context("spawn"), _Worker.start, (tokenizer, packing)) as pool:
        for job in jobs:
            waiting.append(_finished(job.path) or pool.submit(_Worker.run, job))
            if len(waiting) > 2 * workers:  # the text of so many shards is held at a time
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


def _result(item: dict[str, Any] | Future[dict[str, Any]]) -> dict[str, Any]:
    return item.result() if isinstance(item, Future) else item


def _finished(path: Path) -> dict[str, Any] | None:
    """Facts of a shard that an earlier run completed; they are written after the shard."""
    facts = _facts_path(path)
    return json.loads(facts.read_text(encoding="utf-8")) if facts.is_file() else None


def _facts_path(shard: Path) -> Path:
    return shard.with_suffix(".json")


def _same_plan(path: Path, plan: dict[str, Any]) -> None:
    if not path.is_file():
        write_json(path, plan)
        return
    old = json.loads(path.read_text(encoding="utf-8"))
    if different := [name for name in plan if old.get(name) != plan[name]]:
        raise DataError(
            f"{path.parent}: holds a corpus built with other {', '.join(different)}; "
            "use the same settings to resume it, or another --out"
        )


def _target(limit: int, short: float, rng: np.random.Generator) -> int:
    return int(rng.integers(2, limit + 1)) if rng.random() < short else limit
