"""Promise: one command leads from texts without labels to verified general matchers."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
import torch

import mobilebert_models.presets
import recipes.general_matchers.teachers
import recipes.general_matchers.train_trunk
from mobilebert_export.command_line import program
from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_models import (
    EncoderConfig,
    build,
    find_directory,
    load_pretrained,
    preset,
    read_config,
    save_pretrained,
)
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_models.weights.four_bit import four_bit_layers
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers import make as recipe
from recipes.general_matchers.__main__ import make
from recipes.general_matchers.make import MATCHER_RECIPES, GeneralConfig
from recipes.general_matchers.teachers import LOG_ODDS, read, read_text_column
from recipes.general_matchers.texts import FEWEST
from recipes.general_matchers.trunk import held
from studies.general_matcher.train_students import parsed
from tests.conftest import ROOT
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM

pytestmark = pytest.mark.usefixtures("one_thread")

# MiniLM's kind and vocabulary, every other size cut.
TOY = EncoderConfig(
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=40,
    max_position_embeddings=128,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    classifier_activation=False,
)
TOY_PRESETS = {
    "matcher-open-m": TOY,
    "matcher-open-s": replace(TOY, vocab_size=5000, intermediate_size=32),
}


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """What stands in MiniLM's place."""
    folder = tmp_path_factory.mktemp("minilm") / "model"
    teacher = spread(build(TOY, None, seed=1), 2)
    save_pretrained(teacher, folder, tokenizer_from=MINILM)
    return folder


@pytest.fixture
def toys(monkeypatch, minilm):
    """Teacher and presets at a size that seconds are enough for."""
    monkeypatch.setattr(recipes.general_matchers.teachers, "packaged_directory", {"minilm": minilm}.get)
    for module in (recipes.general_matchers.train_trunk, recipe):
        find = module.find_directory
        monkeypatch.setattr(
            module, "find_directory", lambda name, find=find: minilm if name == "minilm" else find(name)
        )
    for name, config in TOY_PRESETS.items():
        monkeypatch.setitem(mobilebert_models.presets.PRESETS, name, config)
    monkeypatch.setattr(recipe, "QUICK_MINUTES", 0.02)


@pytest.fixture
def mpnet(monkeypatch):
    """What stands in the second teacher's place: wider vectors, of the letters of a text."""
    draw = torch.randn(128, 48, generator=torch.Generator().manual_seed(3))

    def encode(texts):
        return torch.stack([draw[[ord(letter) % 128 for letter in text]].mean(0) for text in texts])

    monkeypatch.setattr(recipe, "check_mpnet", lambda folder: None)
    monkeypatch.setattr(recipe, "load_mpnet", lambda folder: encode)


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """A network in the second teacher's place, which can read along."""
    teacher, folder = spread(build(replace(TOY, hidden_size=48), None, seed=4), 5), tmp_path / "wide"
    save_pretrained(teacher, folder, tokenizer_from=MINILM)
    tokenizer = PairTokenizer.load(folder)

    def encode(texts):
        batch = read(tokenizer, texts)
        return pooled(teacher(**batch).last_hidden_state, batch["attention_mask"])

    monkeypatch.setattr(recipe, "check_mpnet", lambda folder: None)
    monkeypatch.setattr(recipe, "load_mpnet", lambda folder: encode)
    return folder


def run(command, code=0):
    with pytest.raises(SystemExit) as left:
        program.run(program.command_of(make, "general_matchers"), [str(word) for word in command], "make")
    assert left.value.code == code


def ship(plain, out, *more):
    return ["--data", plain, "--out", out, "--threads", 1, *more]


def quick(plain, out, *names):
    matchers = [word for name in names for word in ("--matcher", name)]
    return ship(plain, out, "--quick", "--quant", "none", *matchers)


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", MATCHER_RECIPES)
def test_the_shipped_matchers_decide_by_what_was_learned(name):
    """As what `make` gives does."""
    assert isinstance(load_pretrained(find_directory(name)).head, LearnedDecision)


@pytest.mark.slow
def test_texts_become_verified_matchers_and_a_second_call_does_nothing(plain, toys, tmp_path, capfd):
    out = tmp_path / "ship"
    run(quick(plain, out, *MATCHER_RECIPES))
    assert "is not debiased by length: of near texts CAT" in capfd.readouterr().err  # 75 of them
    learned = read_text_column(out / "cache/texts.tsv")
    pairs = list(zip(learned[:40], learned[40:80], strict=True))
    for name in MATCHER_RECIPES:
        model, artefact = out / name / "model", out / f"{name}-none"
        assert read_config(model) == preset(name)
        record = json.loads((out / f"{name}-none.json").read_text())
        assert record["artefact"]["verification"]["passed"]
        stages = ["joint", "vectors"] if MATCHER_RECIPES[name].joint else ["vectors"]
        assert [stage["stage"] for stage in record["stages"]] == stages
        assert record["made_of"]["texts"]["sources"] == {"own": len(learned)}
        assert record["made_of"]["teachers"] == ["minilm"]
        assert set(record["decision"]["pairs"]) == {"edits", "misspelt", "rules"}  # no data sets
        assert record["decision"]["read"] == len(learned)
        assert record["decision"]["teacher"] == list(LOG_ODDS["minilm"])
        assert (artefact / "spelling.txt").read_bytes() == (out / "spelling.txt").read_bytes()
        scores = [open_scorer(str(one), 1).score(pairs) for one in (model, artefact)]
        np.testing.assert_allclose(*scores, atol=1e-4)
        # Bits: the feed-forward networks of m, every layer of s.
        network = load_pretrained(model)
        assert isinstance(network.head, LearnedDecision)
        layers = four_bit_layers(network)
        assert any(".attention." in layer for layer in layers) == (name == "matcher-open-s")
        assert any("intermediate" in layer for layer in layers)
    before = stamps(out)
    run(quick(plain, out, *MATCHER_RECIPES))
    assert stamps(out) == before


@pytest.mark.slow
def test_a_run_of_both_teachers_that_was_cut_off_goes_on(plain, toys, mpnet, tmp_path, monkeypatch):
    out = tmp_path / "ship"
    command = [*quick(plain, out, "matcher-open-m"), "--teacher", tmp_path]

    def cut_off(*given):
        raise DataError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(recipe, "write_decided", cut_off)
        run(command, code=2)
    trunk = stamps(out)
    assert (out / "matcher-open-m/trunk/trunk/config.json").is_file()
    with monkeypatch.context() as patched:
        for done in ("train_trunk", "write_own_texts", "write_shards", "write_neighbours", "write_pool"):
            patched.setattr(recipe, done, None)  # nothing is left for it
        patched.setattr(recipe, "export", cut_off)
        run(command, code=2)
        # A decision that was cut off itself: its record, which is written last, is missing.
        (out / "matcher-open-m/decision.json").unlink()
        run(command, code=2)
    assert (out / "matcher-open-m/decision.json").is_file()
    assert {path: time for path, time in stamps(out).items() if path in trunk} == trunk
    run(command)
    record = json.loads((out / "matcher-open-m-none.json").read_text())
    assert record["artefact"]["verification"]["passed"]
    assert record["made_of"]["teachers"] == ["minilm", "mpnet"]
    assert record["decision"]["teacher"] == list(LOG_ODDS["mpnet"])


@pytest.mark.slow
def test_both_teachers_train_all_trunks_on_the_fly(plain, toys, wide, tmp_path, monkeypatch):
    out = tmp_path / "ship"
    command = [*quick(plain, out, *MATCHER_RECIPES), "--teacher", wide, "--on-the-fly"]

    def cut_off(*given):
        raise DataError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(recipe, "write_decided", cut_off)
        run(command, code=2)
    trunks = stamps(out / "students")
    with monkeypatch.context() as patched:
        patched.setattr(recipe, "train_students", None)  # nothing is left for it
        run(command)
    assert {path: time for path, time in stamps(out / "students").items() if path in trunks} == trunks
    for name in MATCHER_RECIPES:
        record = json.loads((out / f"{name}-none.json").read_text())
        assert record["artefact"]["verification"]["passed"]
        assert record["made_of"]["on_the_fly_training"] == sorted(MATCHER_RECIPES)
        (stage,) = record["stages"]
        assert set(stage["held_cosine"]) == set(MATCHER_RECIPES)
        network = load_pretrained(out / name / "model")
        assert network.config == preset(name)
        assert isinstance(network.head, LearnedDecision)
        layers = four_bit_layers(network)
        assert any(".attention." in layer for layer in layers) == (name == "matcher-open-s")
        assert any("intermediate" in layer for layer in layers)
    # Texts that the held-out figures are of teach nothing.
    texts = read_text_column(out / "cache/texts.tsv")
    assert (out / "cache/sentences.txt").read_text().splitlines() == texts[held(len(texts)) :]
    run([*quick(plain, out, "matcher-open-m"), "--teacher", wide, "--on-the-fly"], code=2)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--matcher", "matcher-m"], "matcher 'matcher-m' is unknown; expected one of matcher-open-m"),
        (["--teacher", "FOLDER"], "not the published weights of all-mpnet-base-v2"),
        (["--data", "FOLDER"], "short-texts.tsv.xz: no such file; expected the layout of data/ and corpora/"),
        (["--data", "FEW"], f"at least {FEWEST} are needed"),
        (["--data", "TABLE"], "unknown ending"),
        (["--on-the-fly"], "--on-the-fly: both teachers read every batch; give --teacher"),
        (["--most-texts", FEWEST - 1], f"--most-texts {FEWEST - 1}: expected from {FEWEST}"),
        (["--minutes", 0], "--minutes 0.0: expected more than 0"),
    ],
)
def test_bad_requests_are_refused_before_any_work(more, complaint, plain, tmp_path, capfd):
    paths = {name: tmp_path / name.lower() for name in ("FOLDER", "FEW", "TABLE")}
    paths["FOLDER"].mkdir()
    paths["FEW"] = paths["FEW"].with_suffix(".txt")
    paths["FEW"].write_text("a text\nanother text\n")
    paths["TABLE"] = paths["TABLE"].with_suffix(".csv")
    paths["TABLE"].write_text("a,b\n")
    command = ship(plain, tmp_path / "out")
    flag, given = more[0], [paths.get(value, value) for value in more[1:]]
    if flag in command:
        command[command.index(flag) + 1] = given[0]
    else:
        command += [flag, *given]
    run(command, code=2)
    said = capfd.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", MATCHER_RECIPES)
def test_recipes_are_those_of_the_recorded_runs(name):
    page = (ROOT / "results/general_matcher/README.md").read_text(encoding="utf-8")
    recipe, shown = MATCHER_RECIPES[name], {}
    (line,) = [one for one in page.splitlines() if "train_students " in one and "--questions" not in one]
    of_shape = [one for one in shlex.split(line) if f"={name}" in one and "num_hidden_layers" not in one]
    (student,) = map(parsed, of_shape)
    assert (student.four_bits, student.rate) == (recipe.four_bits, recipe.on_the_fly_rate)
    # Other words came after that run.
    assert replace(student.shape, vocab_size=preset(name).vocab_size) == preset(name)
    if name == "matcher-open-m":  # -s as it ships was trained on the fly
        shown["train_trunk ", "--out runs/general/m "] = {
            "share": recipe.minilm,
            "fresh": recipe.fresh,
            "noise": recipe.noise,
            "rate": recipe.rate,
            "asked": recipe.asked,
            "kept": recipe.kept,
            "four-bits": recipe.four_bits,
        }
    for parts, values in shown.items():
        (line,) = [one for one in page.splitlines() if all(part in one for part in parts)]
        words = shlex.split(line)
        for option, value in values.items():
            assert type(value)(words[words.index(f"--{option}") + 1]) == value


def test_a_folder_of_another_run_is_left_alone(plain, tmp_path, capfd):
    config = GeneralConfig(plain, tmp_path / "begun")
    config.out.mkdir()
    (config.out / "general.json").write_text(json.dumps(recipe.settings(config)))
    assert recipe.checked_exports(config)
    for more, what in ((["--minutes", 7], "minutes (40.0)"), (["--most-texts", 600], "most texts (None)")):
        run(ship(plain, config.out, *more), code=2)
        assert f"begun with another {what}" in capfd.readouterr().err
    (tmp_path / "other.txt").write_text(plain.read_text() + "One text more.\n")
    run(ship(tmp_path / "other.txt", config.out), code=2)
    assert "begun with another data" in capfd.readouterr().err
    (config.out / "matcher-open-m-int8").mkdir()
    run(ship(plain, config.out), code=2)
    assert "is of a decision whose record is gone" in capfd.readouterr().err
    (tmp_path / "labelled" / "matcher-open-m").mkdir(parents=True)
    run(ship(plain, tmp_path / "labelled"), code=2)
    assert "not of this recipe" in capfd.readouterr().err
