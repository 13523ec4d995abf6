"""Promise of the test of decisions: a model is judged as it decides, at its own threshold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from mobilebert_models import MatcherSettings, save_pretrained
from mobilebert_models.loading.pretrained import load_pretrained
from mobilebert_runtime import Matcher
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.numerics import generator
from studies.common.script import run
from studies.general_matcher import four_tests
from studies.general_matcher.evaluate import decide, shipped_log_odds
from studies.general_matcher.four_tests import paired, set_figures
from tests.helpers.small_matcher import embedding_artefact, embedding_model
from tests.helpers.toys import WORDS

SHIFT = LengthShift((0.1, 0.3, 0.6), (-0.5, -0.1, 0.2, 0.9))


def pairs(count, seed=0):
    draw = generator(seed)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 7))) for _ in range(2 * count)]
    return list(zip(texts[::2], texts[1::2], strict=True))


def test_log_odds_are_at_least_zero_where_the_artefact_says_the_same():
    matcher, asked = Matcher.load(embedding_artefact("onnx", "none")), pairs(60)
    card = replace(matcher.card, threshold=0.5, temperature=1.7, length_shift=SHIFT)
    middle = float(np.median(Matcher(card, matcher.tokenizer, matcher.backend).score(asked)))
    matcher = Matcher(replace(card, threshold=middle), matcher.tokenizer, matcher.backend)
    scores, found = matcher.score(asked), shipped_log_odds(matcher, asked)
    assert ((found >= 0) == (scores >= middle)).mean() > 0.98  # the median itself may round to either side
    np.testing.assert_allclose(found, logit(scores) - logit(middle), atol=1e-3)


def test_a_model_directory_decides_as_its_settings_say(tmp_path):
    settings = MatcherSettings(threshold=0.4, temperature=1.7, length_shift=SHIFT.to_json())
    network, source = load_pretrained(embedding_model()), embedding_model()
    save_pretrained(network, tmp_path / "m", tokenizer_from=source, settings=settings)
    tokenizer, asked = PairTokenizer.load(source), pairs(20)
    texts = [text for pair in asked for text in pair]
    places = np.arange(len(texts)).reshape(-1, 2).T
    found = decide(tmp_path / "m", network, tokenizer, texts, *places)
    matcher = Matcher.load(embedding_artefact("onnx", "none"))
    card = replace(matcher.card, threshold=0.4, temperature=1.7, length_shift=SHIFT)
    other = shipped_log_odds(Matcher(card, matcher.tokenizer, matcher.backend), asked)
    np.testing.assert_allclose(found, other, atol=0.02)


def test_a_set_is_judged_at_zero_or_at_its_best_and_recall_by_its_own_quartiles():
    draw = np.random.default_rng(0)
    asked = [("word " * 6, "word " * (6 - k % 6)) for k in range(600)]
    far = np.arange(600) % 6
    labels = (draw.random(600) < 0.5).astype(float)
    values = 2 * labels - 0.2 - far / 2.6  # texts of other lengths seem to differ; the furthest are missed
    found = set_figures("qqp_test", asked, labels, values, at_zero=True)
    hits = values >= 0
    assert found["accuracy"][0] == pytest.approx((hits == labels).mean(), abs=1e-4)
    assert found["best"] == 1.0
    assert found["recall"][0] == 1.0
    assert not hits[(far == 5) & (labels > 0)].any()
    assert found["recall"][3] == 0.0  # of five words fewer alone
    assert found["gap"][0] == pytest.approx(found["recall"][0] - found["recall"][3], abs=1e-4)
    at_best = set_figures("qqp_test", asked, labels, values, at_zero=False)
    assert at_best["accuracy"][0] == at_best["best"]
    assert set(set_figures("sts_b_test", asked, labels, values, at_zero=True)) == {"spearman"}
    better = paired("qqp_test", labels, values, draw.random(600))
    assert better[1] > 0.3


def test_one_command_records_every_model_and_its_difference(tmp_path, monkeypatch):
    asked = pairs(80)
    labels = (np.arange(80) % 2).astype(float)
    monkeypatch.setattr(four_tests, "read_pairs", lambda *_: (asked, labels))

    def intents(texts, _):
        stored = texts.add([a for a, _ in asked[:40]])
        return {
            "stored": stored,
            "stored_intent": np.arange(len(stored)) % 5,
            "asked": texts.add([b for _, b in asked[:10]]),
            "intent": np.arange(10) % 5,
            "outside": texts.add([b for _, b in asked[20:30]]),
        }

    monkeypatch.setattr(four_tests, "look_up_set", intents)
    artefact, out = embedding_artefact("onnx", "none"), tmp_path / "record.json"
    load = Matcher.load

    def halved(folder, threads):  # its threshold of 0 has no log-odds
        found = load(folder, threads)
        return Matcher(replace(found.card, threshold=0.5), found.tokenizer, found.backend)

    monkeypatch.setattr(four_tests.Matcher, "load", halved)
    with pytest.raises(SystemExit) as end:
        run(four_tests.main, [f"one={artefact}", f"two={artefact}", "--against", "one", "--out", str(out)])
    assert end.value.code == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["two"]["less"]["one"] == {test: [0.0, 0.0, 0.0] for test in four_tests.TESTS}
    assert record["one"]["look_up"].keys() == {"first", "ranked"}
    assert record["one"]["sha256"] == record["two"]["sha256"]
    for wrong in (["one"], [f"one={artefact}", "--against", "three"]):
        with pytest.raises(SystemExit) as end:
            run(four_tests.main, [*wrong, "--out", str(tmp_path / "other.json")])
        assert end.value.code == 2
