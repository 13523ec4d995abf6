"""The TypeScript of docs/web.md as a developer has it: the packed npm package, types, a bundle, a page."""

import os
from pathlib import Path

import pytest

from mobilebert_runtime import Embedder, Matcher
from mobilebert_runtime.card import MATCHING
from mobilebert_runtime.card_parts import Embedding
from tests.helpers import tiny_tasks
from tests.helpers.documented_commands import blocks

pytestmark = pytest.mark.timeout(600)
# An int8 file's answers differ by so much between the runtimes; see the page.
NEAR = 0.02


def test_the_snippets_of_the_page_run(browser, tmp_path):
    given = os.environ.get("MOBILEBERT_TFLITE")
    tiny = tiny_tasks.write(tmp_path / "tiny", MATCHING, embedding=Embedding(24, False))
    artefact = Path(given) if given else tiny
    folder = tmp_path / "page"
    folder.mkdir()
    for name, text in zip(["main", "in_worker"], blocks("docs/web.md", "ts"), strict=True):
        (folder / f"{name}.ts").write_text(text, encoding="utf-8")

    found = browser("test/docs_page.mjs", folder, artefact)

    assert found["errors"] == found["elsewhere"] == []
    [[score, label], [hits]] = found["logged"]["main.ts"]
    matcher, embedder = Matcher.load(artefact), Embedder.load(artefact)
    [expected] = matcher.score([("How old is the Moon?", "What is the Moon's age?")])
    assert score == pytest.approx(float(expected), abs=NEAR)
    assert label == matcher.label(score)
    stored = ["How do I reset my password?", "How old is the Moon?"]
    [hit] = embedder.search("I forgot my password", embedder.index(stored), 1)
    assert [(one["place"], one["text"]) for one in hits] == [(hit.place, hit.text)]
    [best] = matcher.rank("How old is the Moon?", ["What is the Moon's age?", "How far is it?"], top_k=1)
    [[[ranked]]] = found["logged"]["in_worker.ts"]
    assert (ranked["place"], ranked["text"]) == (best.place, best.text)
    assert ranked["score"] == pytest.approx(best.score, abs=NEAR)
