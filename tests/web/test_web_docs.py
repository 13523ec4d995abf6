"""The TypeScript of docs/web.md as a developer has it: the packed npm package, types, a bundle, a page."""

import os
from pathlib import Path

import pytest

from mobilebert_runtime import Embedder, Matcher
from tests.helpers import own_words
from tests.helpers.documented_commands import blocks

pytestmark = pytest.mark.timeout(600)
# An int8 file's answers differ by so much between the runtimes; see the page.
NEAR = 0.02


def test_the_snippets_of_the_page_run(browser, tmp_path):
    given = os.environ.get("MOBILEBERT_TFLITE")
    artefact = Path(given) if given else own_words.write_artefact(tmp_path / "tiny")
    folder = tmp_path / "page"
    folder.mkdir()
    for name, text in zip(["main", "own_words", "in_worker"], blocks("docs/web.md", "ts"), strict=True):
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
    own = Matcher.load(artefact, words=["Actos", "Losec"])
    [expected] = own.score([("the price of actos", "the price of actors")])
    assert found["logged"]["own_words.ts"] == [[[pytest.approx(float(expected), abs=NEAR)]]]
    [best] = matcher.rank("How old is the Moon?", ["What is the Moon's age?", "How far is it?"], top_k=1)
    [[[ranked]]] = found["logged"]["in_worker.ts"]
    assert (ranked["place"], ranked["text"]) == (best.place, best.text)
    assert ranked["score"] == pytest.approx(best.score, abs=NEAR)
