"""The text a general trunk learns from: sentences, questions, utterances; none of an evaluation set.

Or the lines of one's own file. `texts.tsv` (source, text) is shuffled by a fixed seed.
"""

from __future__ import annotations

import csv
import lzma
import random
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from mobilebert_matching.mining.job import read_texts
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from recipes.general_matchers.noise import MISSPELLINGS
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.rules import caption, headline, rule_question

SEED = 20261122
HELD_OUT_INTENTS = 50
WORDS = range(5, 31)
LONGEST_WORDS, LONGEST_CHARACTERS = 32, 220
QUOTA = {"wiki": 18_000, "longtail": 6_000, "gutenberg": 4_000, "trecqa": 8_000}
EVALUATED = ("qqp", "twitter_url", "glue/mrpc", "glue/sts-b")  # folders of evaluation sets
CORPORA = (  # name of the source, file, characters read
    ("wiki", "wiki-core-lead7k.txt.xz", 140_000_000),
    ("longtail", "wiki-longtail-lead.txt.xz", 36_000_000),
    ("gutenberg", "gutenberg-slices.txt.xz", 56_000_000),
)
# Files below data/ that are read, beside those of the evaluation sets.
DATA = (
    "intents/clinc150/train.tsv",
    "intents/hwu64/train.tsv",
    "questions/query_wellformedness.tsv",
    "glue/mnli-subset/train.tsv",
    "trecqa/train.tsv",
    MISSPELLINGS,
)
FEWEST = 400  # texts of one's own: of fewer no batch with near texts can be drawn
RULED = {"caption": 6_000, "headline": 4_000, "rule_question": 40_000}


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a tab-separated file with a header and no quoting."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def normalised(text: str) -> str:
    """Lower-cased word characters only: two spellings of one text are one text."""
    return " ".join(re.findall(r"\w+", text.lower()))


def held_out_intents(data: Path) -> list[str]:
    """The 50 of CLINC150's 150 intents whose texts nothing here is trained on, drawn by a fixed seed."""
    intents = sorted({row["intent"] for row in rows(data / "intents/clinc150/train.tsv")})
    return sorted(generator(SEED).sample(intents, HELD_OUT_INTENTS))


def evaluation_texts(data: Path, intents: set[str]) -> set[str]:
    """Normalised texts of every split of every evaluation set, and of the held-out intents."""
    found = set()
    for folder in EVALUATED:
        for path in sorted((data / folder).glob("*.tsv")):
            for row in rows(path):
                found |= {normalised(row[name]) for name in row if name.startswith(("sentence", "question"))}
    for path in sorted((data / "intents/clinc150").glob("*.tsv")):
        whole = path.name not in ("train.tsv", "dev.tsv")  # tests and everything out of scope
        for row in rows(path):
            if whole or row["intent"] in intents:
                found.add(normalised(row["text"]))
    return found


def sentences(path: Path, size: int) -> Iterator[str]:
    """Sentences of 5 to 30 words in the first `size` characters of a corpus."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        text = file.read(size)
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        if len(sentence.split()) in WORDS and "( )" not in sentence and sentence[0].isalnum():
            yield sentence


def titles(path: Path) -> list[str]:
    """Article titles: the first line of each document."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        documents = file.read().split("\n\n")
    found = (document.strip().split("\n", 1)[0] for document in documents)
    return [re.sub(r" \(.*\)$", "", t) for t in found if 1 <= len(t.split()) <= 4 and t.isascii()]


def plain_texts(
    data: Path, corpora: Path, intents: set[str], draw: random.Random
) -> Iterator[tuple[str, str]]:
    """(source, text) of everything that is read, not made."""
    for row in rows(data / "intents/clinc150/train.tsv"):
        if row["intent"] not in intents:
            yield "clinc150", row["text"]
    for row in rows(data / "intents/hwu64/train.tsv"):
        yield "hwu64", row["text"]
    for row in rows(data / "questions/query_wellformedness.tsv"):
        yield "questions", row["text"]
    for row in rows(data / "glue/mnli-subset/train.tsv"):
        yield "mnli", row["premise"]
        yield "mnli", row["hypothesis"]
    trec = rows(data / "trecqa/train.tsv")
    for text in sorted({row["question"] for row in trec}):
        yield "trecqa_question", text
    yield from (("trecqa", t) for t in sample({r["sentence"] for r in trec}, QUOTA["trecqa"], draw))
    for source, name, size in CORPORA:
        yield from ((source, t) for t in sample(sentences(corpora / name, size), QUOTA[source], draw))


def sample(texts: Iterable[str], count: int, draw: random.Random) -> list[str]:
    """`count` distinct texts of 3 to 32 words."""
    usable = sorted({t for t in texts if 3 <= len(t.split()) <= LONGEST_WORDS})
    return draw.sample(usable, min(count, len(usable)))


def ruled_texts(topics: list[str], draw: random.Random) -> Iterator[tuple[str, str]]:
    """(source, text) of everything that is made by rule."""
    for _ in range(RULED["caption"]):
        yield "caption", caption(draw)
    for _ in range(RULED["headline"]):
        yield "headline", headline(draw, topics)
    for _ in range(RULED["rule_question"]):
        yield "rule_question", rule_question(draw, topics)


def write_texts(shared: Path, out: Path, most: int | None = None) -> dict[str, Any]:
    """Write the texts of all sources, and held_out.json: intents never trained on, how many texts there are.

    Args:
        shared: folder with data/ and corpora/.
        out: folder of texts.tsv and held_out.json, which is written last.
        most: texts at most; those of an evaluation set are never among them.

    Returns:
        What held_out.json holds.

    Raises:
        DataError: see `source_files`.
    """
    source_files(shared)
    data, corpora, draw = shared / "data", shared / "corpora", generator(SEED)
    intents = set(held_out_intents(data))
    excluded = evaluation_texts(data, intents)
    topics = titles(corpora / CORPORA[0][1])
    kept, dropped = distinct(
        [*plain_texts(data, corpora, intents, draw), *ruled_texts(topics, draw)], excluded
    )
    facts: dict[str, Any] = {
        "held_out_intents": sorted(intents),
        "dropped_because_in_an_evaluation_set": dropped,
    }
    return _write(kept, draw, out, most, facts)


def write_sentences(shared: Path, out: Path, count: int) -> int:
    """Write sentences of the corpora, one a line, `count` at most, none of an evaluation set.

    Returns:
        How many.

    Raises:
        DataError: see `source_files`.
    """
    source_files(shared)
    data = shared / "data"
    excluded = evaluation_texts(data, set(held_out_intents(data)))
    found = (("", text) for _, name, size in CORPORA for text in sentences(shared / "corpora" / name, size))
    kept, _ = distinct(found, excluded)
    drawn = generator(SEED).sample([text for _, text in kept], min(count, len(kept)))
    out.write_text("".join(f"{text}\n" for text in drawn), encoding="utf-8")
    return len(drawn)


def write_own_texts(file: Path, out: Path, most: int | None = None) -> dict[str, Any]:
    """The same of one file, a text a line (.txt, .xz, .gz), of which long lines are left out.

    Raises:
        DataError: the file is damaged, or has fewer than `FEWEST` texts that can be used.
    """
    lines = read_texts([file])
    kept, _ = distinct(("own", line) for line in lines)
    if len(kept) < FEWEST:
        raise DataError(
            f"{file}: {len(kept)} different texts of at most {LONGEST_WORDS} words and "
            f"{LONGEST_CHARACTERS} characters, one a line; at least {FEWEST} are needed"
        )
    left_out: dict[str, Any] = {"dropped_because_long_or_repeated": len(lines) - len(kept)}
    return _write(kept, generator(SEED), out, most, left_out)


def distinct(
    texts: Iterable[tuple[str, str]], excluded: Collection[str] = ()
) -> tuple[list[tuple[str, str]], int]:
    """The `usable` ones of (source, text), white space made one space and each text once; sorted.

    Args:
        texts: in any spelling.
        excluded: `normalised` texts that are dropped.

    Returns:
        What is kept, and how many were dropped.
    """
    kept: dict[str, tuple[str, str]] = {}
    dropped = 0
    for source, raw in texts:
        text = " ".join(raw.split())
        key = normalised(text)
        if not usable(text, key):
            continue
        if key in excluded:
            dropped += 1
        else:
            kept.setdefault(key, (source, text))
    return sorted(kept.values()), dropped


def usable(text: str, key: str) -> bool:
    """Whether a text has words, its `normalised` form `key`, and not too many."""
    return bool(key) and len(text.split()) <= LONGEST_WORDS and len(text) <= LONGEST_CHARACTERS


def _write(
    texts: list[tuple[str, str]], draw: random.Random, out: Path, most: int | None, facts: dict[str, Any]
) -> dict[str, Any]:
    """Shuffle, cut and write (source, text); the facts with how many of each source there are."""
    draw.shuffle(texts)
    texts = texts[:most]
    out.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{source}\t{text}\n" for source, text in texts)
    (out / "texts.tsv").write_text("source\ttext\n" + lines, encoding="utf-8")
    sources = [source for source, _ in texts]
    facts |= {
        "texts": len(texts),
        "sources": {source: sources.count(source) for source in sorted(set(sources))},
    }
    write_json(out / "held_out.json", facts)
    return facts


def source_files(shared: Path) -> list[Path]:
    """The files that `write_texts` reads, those of the evaluation sets as far as they are there.

    Raises:
        DataError: one of the others is missing, or an evaluation set is: its texts could not be left out.
    """
    data = shared / "data"
    files = [*(data / name for name in DATA), *(shared / "corpora" / name for _, name, _ in CORPORA)]
    if missing := next((path for path in files if not path.is_file()), None):
        raise DataError(f"{missing}: no such file; expected the layout of data/ and corpora/, or one file")
    for folder in (*EVALUATED, "intents/clinc150"):
        found = sorted((data / folder).glob("*.tsv"))
        if not found:
            raise DataError(f"{data / folder}: no .tsv file, so its texts can't be kept out of the training")
        files += found
    return list(dict.fromkeys(files))
