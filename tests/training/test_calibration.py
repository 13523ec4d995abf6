"""Promise of `calibrate`: length bias is removed by default, and where it is not, the reason is said."""

import json

import numpy as np
import pytest

from mobilebert_export.command_line.program import main
from mobilebert_models import EncoderConfig, MatcherSettings, build, save_pretrained
from mobilebert_training.finetuning.matchers import load_matcher
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
    assert "length bias: corrected by the lengths of train.tsv" in said
    assert len(shift["quartiles"]) == 3
    shift, said = calibrated(tmp_path, "--no-debias")
    assert shift is None
    assert "length bias: left in, as asked for" in said


def test_without_training_pairs_the_development_pairs_say_what_the_bias_is(tmp_path, calibrated):
    shift, said = calibrated(folder_of(tmp_path, dev=400))
    assert "length bias: corrected by the lengths of dev.tsv" in said
    words = [[len(text.split()) for text in pair] for pair in biased_pairs(400, 0).pairs]
    divergence = [abs(a - b) / min(a, b) for a, b in words]
    np.testing.assert_allclose(shift["quartiles"], np.quantile(divergence, [0.25, 0.5, 0.75]))


def test_too_few_pairs_are_named_and_can_be_insisted_on(tmp_path, calibrated):
    shift, said = calibrated(folder_of(tmp_path, train=60, dev=100))
    assert shift is None
    assert "length bias: left in, there are too few pairs to fit it (train.tsv: CAT" in said
    assert calibrated(tmp_path, "--debias")[0] is not None
    write_pairs(tmp_path / "dev.tsv", *biased_pairs(14, 1))
    write_pairs(tmp_path / "train.tsv", *biased_pairs(400, 0))
    assert "(dev.tsv has " in calibrated(tmp_path)[1]


def test_one_file_and_a_folder_of_it_give_the_same_decision(tmp_path, calibrated):
    write_pairs(tmp_path / "mine.tsv", *biased_pairs(200, 1))
    write_pairs(tmp_path / "dev.tsv", *biased_pairs(200, 1))
    shift, said = calibrated(tmp_path / "mine.tsv")
    assert "length bias: corrected by the lengths of mine.tsv" in said
    assert shift == calibrated(tmp_path)[0]


def test_pairs_whose_scores_do_not_rise_with_the_label_are_named(tmp_path, calibrated, model):
    pairs, _ = biased_pairs(60, 1)
    score = load_matcher(model).predict(pairs)
    labels = (score[:, 1] - score[:, 0] < np.median(score[:, 1] - score[:, 0])).astype(int)
    write_pairs(tmp_path / "dev.tsv", pairs, labels)
    said = calibrated(tmp_path, "--debias")[1]
    assert (
        "dev.tsv: the scores of its 60 pairs do not rise with the label, so all pairs now score alike" in said
    )


def test_a_copy_is_calibrated_and_the_model_stays(tmp_path, model, capfd):
    write_pairs(tmp_path / "mine.tsv", *biased_pairs(100, 1))
    before = {path: path.read_bytes() for path in model.iterdir()}
    command = ["calibrate", str(model), "--data", str(tmp_path / "mine.tsv"), "--threads", "1"]
    (model / "README.md").write_text("figures")
    assert exit_code([*command, "--out", str(tmp_path / "copy")]) == 0
    (model / "README.md").unlink()
    assert {path: path.read_bytes() for path in model.iterdir()} == before
    copied = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert copied.keys() == {path.name for path in before}
    assert [path.name for path in before if copied[path.name] != before[path]] == ["matcher.json"]
    assert exit_code([*command, "--out", str(tmp_path / "copy")]) == 2
    assert "--force" in capfd.readouterr().err
    for inside in (model, model / "copy"):
        assert exit_code([*command, "--out", str(inside), "--force"]) == 2
        assert "; choose another " in " ".join(capfd.readouterr().err.split())
    assert {path: path.read_bytes() for path in model.iterdir()} == before
    assert exit_code([*command, "--force"]) == 0
    assert (model / "matcher.json").read_bytes() == copied["matcher.json"]


def test_what_can_not_be_changed_is_refused_at_once(tmp_path, capfd):
    write_pairs(tmp_path / "mine.tsv", *biased_pairs(20, 1))
    data = ["--data", str(tmp_path / "mine.tsv")]
    assert exit_code(["calibrate", "matcher-open-s", *data, "--force"]) == 2
    assert "only a folder is changed itself; give --out" in " ".join(capfd.readouterr().err.split())
    assert exit_code(["calibrate", "minilm", *data, "--force"]) == 2
    assert "only a folder is changed itself; give --out" in " ".join(capfd.readouterr().err.split())
    (tmp_path / "artefact").mkdir()
    (tmp_path / "artefact" / "io.json").write_text("{}")
    assert exit_code(["calibrate", str(tmp_path / "artefact"), *data]) == 2
    assert "is an artefact; calibrate the model directory" in " ".join(capfd.readouterr().err.split())


def exit_code(command):
    with pytest.raises(SystemExit) as end:
        main(command)
    return end.value.code
