"""Promise of the study of ALBERT's Table 5: both runs differ in the question alone, and each answers both."""

import json

import pytest

from mobilebert_models import EncoderConfig, build, load_pretrained, save_pretrained
from mobilebert_training.pretraining.corpus import Packing
from mobilebert_training.pretraining.corpus import build as build_corpus
from studies.common import script
from studies.transfer.sentence_order import main
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text

pytestmark = pytest.mark.slow
SMALL = EncoderConfig(hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)


def test_both_questions_are_asked_of_both_runs(tmp_path):
    (tmp_path / "text.txt").write_text(text(120))
    corpus = build_corpus([tmp_path / "text.txt"], MINILM, tmp_path / "built", Packing(seq_len=32))
    save_pretrained(build(SMALL, None, seed=0), tmp_path / "start", tokenizer_from=MINILM)
    arguments = ["--corpus", str(corpus.folder), "--runs", str(tmp_path / "runs"), "--dtype", "float32"]
    arguments += ["--start", str(tmp_path / "start"), "--updates", "2", "--batch", "4", "--asked", "8"]
    out = tmp_path / "record.json"
    with pytest.raises(SystemExit) as done:
        script.run(main, [*arguments, "--out", str(out)])
    assert done.value.code == 0
    found = json.loads(out.read_text())
    assert list(found) == ["nsp", "sop"]
    for name, record in found.items():
        assert record["sequences"] == 8
        assert list(record["asked"]) == ["nsp", "sop"]
        for said in record["asked"].values():
            low, high = said["interval"]
            assert 0 <= low <= said["accuracy"] <= high <= 1
        assert record["plan"]["examples"].pop("pairs") == name
        model = load_pretrained(tmp_path / "runs" / f"{name}-seed0" / "model")
        assert model.config.hidden_size == 24
    assert found["nsp"]["plan"] == found["sop"]["plan"]
    with pytest.raises(SystemExit) as done:
        script.run(main, [*arguments, "--out", str(out)])
    assert done.value.code == 2  # the record is there
