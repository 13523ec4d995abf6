"""The texts that the trunk learns from, as token ids, with what two teachers say of each of them.

Texts are shuffled once, so that whatever part of them the teachers have read is a random sample. Teachers
read them in order, a shard at a time; what is read stays read when a run is interrupted.
"""

from __future__ import annotations

import lzma
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from torch import Tensor

from mobilebert_runtime.checked import read_json
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import save_array, write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import padded
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.phrase_questions import PhraseQuestions
from recipes.general_matchers.teachers import LOG_ODDS, MAX_LENGTH, Encode, vectors
from recipes.general_matchers.text_stream import edited
from recipes.general_matchers.texts import (
    CORPORA,
    distinct,
    evaluation_texts,
    held_out_intents,
    plain_texts,
    sample,
    sentences,
    source_files,
    titles,
)

SEED = 20261128
SHORT_TEXTS = "short-texts.tsv.xz"
SENTENCES = {"wiki": 70_000, "longtail": 20_000, "gutenberg": 10_000}  # beside those of `plain_texts`
TITLES, QUESTIONS, EDITS = 20_000, 80_000, 80_000
UNMARKED = 0.75  # share of texts without their question marks: no matcher reads them
READ = "read.json"  # how many texts the teachers have read
SHARD = 4096  # texts that the teachers read at a time


def write_pool(found: list[tuple[str, str]], out: Path, tokenizer: PairTokenizer) -> None:
    """Write texts.tsv (source, text), their token ids and where each begins; the last file says all is there.

    Args:
        found: (source, text) of every text.
        out: folder of the pool.
        tokenizer: of the student.
    """
    out.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{source}\t{text}\n" for source, text in found)
    (out / "texts.tsv").write_text(lines, encoding="utf-8")
    rows = [ids for ids, _ in tokenizer.ids([text for _, text in found], MAX_LENGTH)]
    save_array(out / "starts.npy", np.concatenate([[0], np.cumsum([len(row) for row in rows])]))
    save_array(out / "ids.npy", np.concatenate([np.asarray(row, np.uint16) for row in rows]))
    write_json(out / "pool.json", {"texts": len(found), "sources": Counter(source for source, _ in found)})


def write_pool_once(shared: Path, out: Path, tokenizer: PairTokenizer) -> None:
    """`write_pool` of `pool_texts`, where the folder holds no pool yet.

    Raises:
        DataError: a file is missing.
    """
    if not (out / "pool.json").is_file():
        write_pool(pool_texts(shared), out, tokenizer)


def pool_texts(shared: Path) -> list[tuple[str, str]]:
    """(source, text), shuffled; none of an evaluation set or a held-out intent.

    Args:
        shared: folder with data/ and corpora/.

    Raises:
        DataError: a file is missing.
    """
    path, *_ = pool_files(shared)
    data, corpora, draw = shared / "data", shared / "corpora", generator(SEED)
    intents = set(held_out_intents(data))
    drawn = {
        source: sample(sentences(corpora / name, size), SENTENCES[source], draw)
        for source, name, size in CORPORA
    }
    prose = [text for texts in drawn.values() for text in texts]
    questions = PhraseQuestions(prose, None)
    asked = [text for _ in range(QUESTIONS // 4) for text in questions.group(draw)]
    kept, _ = distinct(
        [
            *short_texts(path),
            *plain_texts(data, corpora, intents, draw),
            *((source, text) for source, texts in drawn.items() for text in texts),
            *(("title", text) for text in sample_titles(titles(corpora / CORPORA[0][1]), draw)),
            *(("phrase_question", text) for text in asked),
        ],
        evaluation_texts(data, intents),
    )
    changed = [("edit", edited(text, draw.choice(prose), draw)) for _, text in draw.sample(kept, EDITS)]
    found = [(source, _unmarked(text, draw)) for source, text in [*kept, *changed]]
    draw.shuffle(found)
    return found


def pool_files(shared: Path) -> list[Path]:
    """The files that `pool_texts` reads, the short texts first.

    Raises:
        DataError: one is missing.
    """
    path = shared / "corpora" / SHORT_TEXTS
    if not path.is_file():
        raise DataError(f"{path}: no such file; expected the layout of data/ and corpora/")
    return [path, *source_files(shared)]


def sample_titles(found: list[str], draw: random.Random) -> list[str]:
    """`TITLES` of them."""
    distinct_titles = sorted(set(found))
    return draw.sample(distinct_titles, min(TITLES, len(distinct_titles)))


def short_texts(path: Path) -> Iterator[tuple[str, str]]:
    """(source, text) of the file of short texts."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            source, text = line.rstrip("\n").split("\t", 1)
            yield source, text


def _unmarked(text: str, draw: random.Random) -> str:
    return text.replace("?", "").strip() or text if draw.random() < UNMARKED else text


class Pool:
    """The texts and, of the first `read` of them, the teachers' vectors.

    Attributes:
        texts: N of them.
        ids: token ids of all texts, one after the other.
        starts: (N + 1,) where each begins in them.
        lengths: (N,) tokens of each.
        read: texts that both teachers have read.
        near: (N, H) float16, unit vectors of MiniLM; rows from `read` on mean nothing.
        wide: (N, W) float16, of MPNet; MiniLM's where it teaches alone.

    Args:
        folder: of `write_pool`.
        tokenizer: of the student.
        sizes: H and W; None: MiniLM teaches alone.

    Raises:
        DataError: texts are read, but not by one of these teachers.
    """

    def __init__(
        self, folder: Path, tokenizer: PairTokenizer, sizes: tuple[int, int | None] = (384, 768)
    ) -> None:
        self.folder, self.tokenizer = folder, tokenizer
        lines = (folder / "texts.tsv").read_text(encoding="utf-8").splitlines()
        self.texts = [line.split("\t", 1)[1] for line in lines]
        self.starts, self.ids = np.load(folder / "starts.npy"), np.load(folder / "ids.npy")
        self.lengths = np.diff(self.starts)
        self.near = self._vectors("minilm", sizes[0])
        self.wide = self.near if sizes[1] is None else self._vectors("mpnet", sizes[1])
        self.read = 0
        self.refresh()

    def refresh(self) -> None:
        """Learn how many texts are read by now, by another process too."""
        path = self.folder / READ
        self.read = int(read_json(path)["read"]) if path.is_file() else 0

    def _vectors(self, name: str, size: int) -> np.memmap:
        path, shape = self.folder / f"{name}.npy", (len(self.texts), size)
        if path.is_file():
            return np.lib.format.open_memmap(path, mode="r+")
        if (self.folder / READ).is_file():
            raise DataError(
                f"{self.folder}: its texts were not read by {name}; give a pool that both have read"
            )
        return np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)

    @property
    def log_odds(self) -> tuple[float, float]:
        """Slope and offset of a pair's log-odds by the cosine in `wide`, as `LOG_ODDS` has them."""
        return LOG_ODDS["minilm" if self.wide is self.near else "mpnet"]

    @property
    def complete(self) -> bool:
        """Whether the teachers have read all texts."""
        return self.read == len(self.texts)

    def read_shard(self, near: Encode, wide: Encode | None) -> None:
        """Let both teachers, or MiniLM alone, read the next texts."""
        rows = slice(self.read, min(self.read + SHARD, len(self.texts)))
        texts = self.texts[rows]
        readers = [(self.near, near)] if wide is None else [(self.near, near), (self.wide, wide)]
        for values, encode in readers:
            values[rows] = vectors(encode, texts).astype(np.float16)
            values.flush()
        self.read = rows.stop
        write_json(self.folder / READ, {"read": self.read})

    def take(self, near: np.ndarray, wide: np.ndarray | None) -> None:
        """Take the vectors of all texts, (N, H) and (N, W), from where the teachers read them before."""
        given = [(self.near, near)] if wide is None else [(self.near, near), (self.wide, wide)]
        for values, found in given:
            values[:] = found
            values.flush()
        self.read = len(self.texts)
        write_json(self.folder / READ, {"read": self.read})

    def row(self, text: int) -> list[int]:
        """Token ids of a text."""
        return self.ids[self.starts[text] : self.starts[text + 1]].tolist()

    def batch(self, index: np.ndarray) -> dict[str, Tensor]:
        """Some texts as they are, (B, longest) tensors."""
        return self.batch_of([self.row(i) for i in index])

    def batches(self, index: np.ndarray, size: int) -> list[dict[str, Tensor]]:
        """Some texts in batches of about `size`, texts of like length together."""
        index = index[np.argsort(self.lengths[index], kind="stable")]
        return [self.batch(part) for part in np.array_split(index, max(1, len(index) // size))]

    def batch_of(self, rows: list[list[int]]) -> dict[str, Tensor]:
        """Rows of token ids as tensors."""
        return padded(self.tokenizer, [(ids, [0] * len(ids)) for ids in rows])
