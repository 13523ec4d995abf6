"""Promise: a trained model that is saved answers in transformers as it did in training, and as exported."""

import json

import numpy as np
import pytest

import mobilebert_models
from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.verification.library_answers import Library
from mobilebert_models import MatcherSettings
from mobilebert_runtime.tokenizer_kinds import CONFIG_FILE
from mobilebert_training.finetuning.matchers import EncoderMatcher
from tests.helpers.model_directories import model_directory
from tests.helpers.settings_answers import compared
from tests.helpers.settings_folders import ADDED, CLASSES, WORDS, change

PAIRS = [(a, b) for a in ("The MOON", "Café [NEW] x", "straße") for b in ("how old?", "<x1>", "数学 " * 9)]


@pytest.mark.parametrize("kind", ["bert", pytest.param("distilbert", marks=pytest.mark.slow)])
def test_a_saved_matcher_answers_in_transformers_as_in_training(kind, tmp_path):
    base = model_directory(tmp_path / "base", kind, "text-matching")
    vocabulary = json.loads((base / "tokenizer.json").read_text())["model"]["vocab"]
    (base / "vocab.txt").write_text("".join(f"{one}\n" for one in vocabulary), encoding="utf-8")
    # tokenizer.json lowers texts, and knows none of the added tokens.
    change(base / CONFIG_FILE, tokenizer_class=CLASSES[kind], do_lower_case=False)
    change(base / "special_tokens_map.json", additional_special_tokens=list(ADDED))
    network = mobilebert_models.load_pair_network(base)
    matcher = EncoderMatcher(network, base, arch=kind, max_tokens=32)
    matcher.save(tmp_path / "saved", MatcherSettings(("different", "duplicate")))

    found = compared(tmp_path / "saved", "text-matching", WORDS)
    assert found.library.startswith("transformers")
    assert found.largest <= found.allowed
    model = load_model(str(tmp_path / "saved"))
    library = Library.load(model.folder, model.directory, model.task)
    here = matcher.predict(PAIRS)
    np.testing.assert_allclose(here, library.answers(PAIRS, 64, None), rtol=1e-3, atol=1e-3)
    assert matcher.tokenizer.vocabulary().keys() >= set(ADDED)
