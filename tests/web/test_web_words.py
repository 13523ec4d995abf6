"""With own words, or without correction, the web package reads what Python reads, and refuses the same."""

import pytest

from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import MATCHING
from mobilebert_runtime.errors import UserError
from tests.helpers import own_words, tiny_tasks
from tests.web import golden
from tests.web.test_web_damage import NEAR, WebReader

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def web(node, tmp_path_factory):
    reader = WebReader("node", tmp_path_factory.getbasetemp())
    yield reader
    reader.close()


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    return own_words.write_artefact(tmp_path_factory.mktemp("own") / "words")


def test_models_read_and_are_told_apart_as_in_python(web, artefact):
    fingerprints = set()
    for row in own_words.answers(artefact):
        said = web.read(artefact, [(pair["a"], pair["b"]) for pair in row["pairs"]], row["options"])
        assert said["scores"] == pytest.approx([pair["score"] for pair in row["pairs"]], abs=NEAR)
        assert said["fingerprint"] == row["fingerprint"]
        fingerprints.add(said["fingerprint"])
    assert len(fingerprints) == len(own_words.OPENED)


def test_many_misspelt_pairs_are_read_as_in_python(web, artefact):
    pairs = golden.pairs_of(400, 50)[: -len(golden.ALIKE)]
    words = [text for pair in pairs[:200] for text in pair]
    scores = {}
    for name, options in {"plain": {}, "own": {"words": words}, "off": {"spelling": False}}.items():
        scores[name] = load(artefact, **options).score(pairs).tolist()
        said = web.read(artefact, pairs, options)
        assert said["scores"] == pytest.approx(scores[name], abs=NEAR)
    changed = [one != other for one, other in zip(scores["own"], scores["plain"], strict=True)]
    assert sum(changed[:200]) > 20
    assert scores["own"][:200] == scores["off"][:200]
    assert scores["own"][200:] != scores["off"][200:]


@pytest.mark.parametrize(("options", "says"), own_words.REFUSED)
def test_options_that_python_refuses_are_refused(options, says, web, artefact):
    with pytest.raises(UserError) as refusal:
        load(artefact, **options)
    assert str(refusal.value).startswith(says)
    said = web.read(artefact, [("a", "b")], options)
    assert said["verdict"] == "refused"
    assert said["why"].startswith(f"DataError: {says}")


@pytest.mark.parametrize("options", [{"words": ["Celexa"]}, {"words": []}, {"spelling": False}])
def test_an_artefact_that_corrects_nothing_takes_neither(options, web, tmp_path):
    plain = tiny_tasks.write(tmp_path / "plain", MATCHING)
    with pytest.raises(UserError) as refusal:
        load(plain, **options)
    assert str(refusal.value) == own_words.CORRECTS_NOTHING
    assert web.read(plain, [("a", "b")], options)["why"] == f"DataError: {own_words.CORRECTS_NOTHING}"
