"""Promise of `calibrate`: length bias is removed by default, and where it is not, the reason is said."""

import json

import numpy as np
import pytest

from mobilebert_export.command_line.program import main
from mobilebert_models import EncoderConfig, MatcherSettings, build, save_pretrained
from tests.helpers.texts import MINILM
from tests.helpers.toys import write_pairs
from tests.training.test_ship import biased_pairs

SMALL = EncoderConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=40)


@pytest.fixture
def model(tmp_path):
    save_pretrained(
        build(SMALL, seed=0), tmp_path / "model", tokenizer_from=MINILM, settings=MatcherSettings()
    )
    return tmp_path / "model"


@pytest.fixture
def calibrated(model, capfd):
    """Calibrates on a folder and returns the settings and what was said."""

    def run(folder, *options, code=0):
        with pytest.raises(SystemExit) as end:
            main(["calibrate", str(model), "--data", str(folder), "--force", "--threads", "1", *options])
        said = "".join(capfd.readouterr())
        assert end.value.code == code
        return json.loads((model / "matcher.json").read_text())["length_shift"], " ".join(said.split())

    return run


def folder_of(tmp_path, **counts):
    for seed, (name, count) in enumerate(counts.items()):
        write_pairs(tmp_path / f"{name}.tsv", *biased_pairs(count, seed))
    return tmp_path


def test_the_bias_of_the_training_pairs_is_removed(tmp_path, calibrated):
    shift, said = calibrated(folder_of(tmp_path, train=400, dev=100))
    assert "length bias: removed" in said
    assert len(shift["quartiles"]) == 3
    shift, said = calibrated(tmp_path, "--no-debias")
    assert shift is None
    assert "length bias: left in, as asked for" in said


def test_without_training_pairs_the_development_pairs_say_what_the_bias_is(tmp_path, calibrated):
    shift, said = calibrated(folder_of(tmp_path, dev=400))
    assert "length bias: removed" in said
    words = [[len(text.split()) for text in pair] for pair in biased_pairs(400, 0).pairs]
    divergence = [abs(a - b) / min(a, b) for a, b in words]
    np.testing.assert_allclose(shift["quartiles"], np.quantile(divergence, [0.25, 0.5, 0.75]))


def test_too_few_pairs_are_named_and_can_be_insisted_on(tmp_path, calibrated):
    shift, said = calibrated(folder_of(tmp_path, train=60, dev=100))
    assert shift is None
    assert "length bias: not removed, there are too few pairs to fit it (train.tsv: CAT" in said
    assert calibrated(tmp_path, "--debias")[0] is not None
    write_pairs(tmp_path / "dev.tsv", *biased_pairs(14, 1))
    write_pairs(tmp_path / "train.tsv", *biased_pairs(400, 0))
    assert "(dev.tsv has " in calibrated(tmp_path)[1]
