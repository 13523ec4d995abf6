"""The text a general trunk learns from: sentences, questions, utterances; none of an evaluation set.

Writes `texts.tsv` (source, text), shuffled by a fixed seed, and `held_out.json` (the CLINC150 intents that
are never trained on).

    python -m studies.general_matcher.texts
"""

from __future__ import annotations

import csv
import lzma
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from typer import Option

from distill.general.options import CACHE, SHARED, Shared, generator
from distill.general.rules import caption, headline, rule_question
from mobilebert_runtime.files import write_json
from studies.common.records import check_outputs
from studies.common.script import Force, console, run

SEED = 20261122
HELD_OUT_INTENTS = 50
WORDS = range(5, 31)
LONGEST_WORDS, LONGEST_CHARACTERS = 32, 220
QUOTA = {"wiki": 18_000, "longtail": 6_000, "gutenberg": 4_000, "trecqa": 8_000}
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
    for folder in ("qqp", "twitter_url", "glue/mrpc", "glue/sts-b"):
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
    for source, name, size in (
        ("wiki", "wiki-core-lead7k.txt.xz", 140_000_000),
        ("longtail", "wiki-longtail-lead.txt.xz", 36_000_000),
        ("gutenberg", "gutenberg-slices.txt.xz", 56_000_000),
    ):
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


def main(
    shared: Shared = SHARED,
    out: Annotated[Path, Option(help="Folder of the two files.")] = CACHE,
    force: Force = False,
) -> None:
    """Write texts.tsv and held_out.json."""
    out.mkdir(parents=True, exist_ok=True)
    check_outputs(out / "texts.tsv", out / "held_out.json", force=force)
    data, corpora, draw = shared / "data", shared / "corpora", generator(SEED)
    intents = set(held_out_intents(data))
    excluded = evaluation_texts(data, intents)
    topics = titles(corpora / "wiki-core-lead7k.txt.xz")
    kept: dict[str, tuple[str, str]] = {}
    dropped = 0
    for source, raw in [*plain_texts(data, corpora, intents, draw), *ruled_texts(topics, draw)]:
        text = " ".join(raw.split())
        key = normalised(text)
        if not key or len(text.split()) > LONGEST_WORDS or len(text) > LONGEST_CHARACTERS:
            continue
        if key in excluded:
            dropped += 1
        else:
            kept.setdefault(key, (source, text))
    texts = sorted(kept.values())
    draw.shuffle(texts)
    lines = "".join(f"{source}\t{text}\n" for source, text in texts)
    (out / "texts.tsv").write_text("source\ttext\n" + lines, encoding="utf-8")
    sources = [source for source, _ in texts]
    facts = {
        "held_out_intents": sorted(intents),
        "texts": len(texts),
        "dropped_because_in_an_evaluation_set": dropped,
        "sources": {source: sources.count(source) for source in sorted(set(sources))},
    }
    write_json(out / "held_out.json", facts)
    console().print(f"{len(texts):,} texts, {dropped:,} dropped because they are in an evaluation set")


if __name__ == "__main__":
    run(main)
