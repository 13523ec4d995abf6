"""Python's answers on an artefact as a file that the web package's tests compare theirs with."""

import csv
import json
import random
import re
from pathlib import Path

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime import Embedder, Matcher, TextClassifier
from mobilebert_runtime.artefact import ArtefactModel
from tests.helpers.texts import fuzzed_lines

# Different texts that are the same tokens to some tokenizers, and such as a reader calls the same.
ALIKE = [
    ("\U0001f355", "\U0001f354"),
    ("I like \U0001f355", "I like \U0001f354"),
    ("Café", "cafe"),
    ("STRASSE", "straße"),
    ("what  is it\u200b", "What is it"),
    ("word " * 200 + "one", "word " * 200 + "two"),
    ("\u200b", "\u200d"),
    ("the same", "the same"),
]


def pairs_of(count, fuzzed, data=None):
    """Pairs of plain texts, misspelt ones among them, and `fuzzed` pairs of odd Unicode, `ALIKE` among them.

    Args:
        count: of all pairs.
        fuzzed: of those.
        data: a TSV of pairs with a label first, or None for the built-in sentences.
    """
    draw = random.Random(7)
    if data is not None:
        with Path(data).open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        known = [(row[1], row[2]) for row in rows if len(row) > 2 and all(map(str.strip, row[1:3]))]
    else:
        texts = [text for pair in PAIRS for text in pair]
        known = [*PAIRS, *((draw.choice(texts), draw.choice(texts)) for _ in range(count))]
    plain = [(_typed(a, draw), _typed(b, draw)) for a, b in known[: count - fuzzed]]
    odd = [line for line in fuzzed_lines(4 * fuzzed, seed=11) if line.strip()]
    strange = [*zip(odd[::2], odd[1::2], strict=False)][: fuzzed - len(ALIKE)]
    return [*plain, *strange, *ALIKE]


def _typed(text, draw):
    """One text of four with a letter dropped, doubled, or two swapped."""
    places = [found.start() for found in re.finditer("[a-z](?=[a-z])", text)]
    if not places or draw.random() > 0.25:
        return text
    at = draw.choice(places)
    swapped = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return draw.choice([text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:], swapped])


def write(model: ArtefactModel, inputs, singles, file: Path) -> Path:
    """Answers to `inputs`, texts or pairs as the task takes them, and the vectors of `singles`."""
    rows = []
    if isinstance(model, (Matcher, TextClassifier)):
        encoded = model.tokenizer.ids(inputs, model.card.seq_len)
        # In the steps of the web test: pairs with one query run packed, those of one call together.
        for start in range(0, len(inputs), 50):
            some = inputs[start : start + 50]
            logits = model.logits(some)
            scores = model.score(some).tolist() if isinstance(model, Matcher) else [None] * len(some)
            for given, (ids, types), row, score in zip(
                some, encoded[start : start + 50], logits.tolist(), scores, strict=True
            ):
                texts = [given] if isinstance(given, str) else list(given)
                rows.append({"texts": texts, "ids": ids, "types": types, "logits": row, "score": score})
    vectors = []
    if model.card.embedding is not None and singles:
        embedder = Embedder(model.card, model.tokenizer, model.backend)
        encoded = model.tokenizer.ids(singles, model.card.seq_len)
        for text, (ids, _), vector in zip(singles, encoded, embedder.embed(singles).tolist(), strict=True):
            vectors.append({"text": text, "ids": ids, "vector": vector})
    file.write_text(json.dumps({"rows": rows, "vectors": vectors}), encoding="utf-8")
    return file


def main() -> None:
    """`python -m tests.web.golden ARTEFACT OUT.json PAIRS FUZZED SINGLES [DATA.tsv]`."""
    import sys

    from mobilebert_runtime import load

    artefact, out, pairs, fuzzed, singles, *data = sys.argv[1:]
    made = pairs_of(int(pairs), int(fuzzed), data[0] if data else None)
    write(load(artefact), made, fuzzed_lines(int(singles), seed=5), Path(out))


if __name__ == "__main__":
    main()
