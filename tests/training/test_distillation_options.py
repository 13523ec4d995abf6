"""Promise of `distill`: options that do not go together are refused with one line, before any work."""

import json
from pathlib import Path

import pytest

from mobilebert_export.command_line.program import main
from mobilebert_models import EncoderConfig, build, load_classifier, preset, save_pretrained
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.kronecker.factor_shapes import low_rank_rules, seventh_rules
from mobilebert_runtime.errors import ModelError, OptionError, OutputError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation import DistillationConfig, distill
from mobilebert_training.distillation.distillation import checked_recipe
from mobilebert_training.distillation.distillation_recipes import DISTILLATION_RECIPES
from mobilebert_training.initialization.student import SEVENTH_WORDS
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs, write_pairs

SMALL = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A teacher of a width of its own, a factored student of its shape, a config like MiniLM's."""
    folder = tmp_path_factory.mktemp("options")
    (folder / "minilm").mkdir()
    (folder / "minilm/config.json").write_text(json.dumps(preset("minilm-l6").to_dict()))
    teacher = build(SMALL, seed=0)
    save_pretrained(teacher, folder / "teacher", tokenizer_from=MINILM)
    save_pretrained(
        compress(teacher, low_rank_rules(SMALL, 2))[0], folder / "factored", tokenizer_from=MINILM
    )
    return folder


def config(folders, **given):
    base = {"teacher": (folders / "minilm",), "data": folders / "nowhere", "out": folders / "out"}
    return DistillationConfig(**base | given)


def kronecker(folders, **given):
    same = {"student": str(folders / "factored"), "recipe": "kronecker", "teacher": (folders / "teacher",)}
    return config(folders, **same | given)


def test_what_fits_is_let_through(folders):
    assert (
        checked_recipe(config(folders, debias=1.0, start="matcher-qqp-m"))
        == DISTILLATION_RECIPES["matcher-m"]
    )
    assert checked_recipe(config(folders, recipe="debias-finetune", teacher=(folders / "minilm",) * 2))
    assert checked_recipe(kronecker(folders)) == DISTILLATION_RECIPES["kronecker"]
    assert checked_recipe(kronecker(folders, recipe="kronecker-supervised", debias=1.0))
    seventh = config(folders, student="kronecker-seventh", recipe="kronecker-mined")
    assert checked_recipe(seventh) == DISTILLATION_RECIPES["kronecker-mined"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": "matcher-qqp-m"}, "--start matcher-qqp-m: the student .* already has weights"),
        ({"debias": 1.0}, "--debias 1.0: the recipe 'kronecker' matches a teacher's hidden states"),
        ({"labels": Path("labels")}, "--labels: the recipe 'kronecker' keeps no labels of teachers"),
        ({"teacher": ("odd", "odd")}, "--teacher: given 2 times; the recipe 'kronecker' has one teacher"),
        ({"recipe": "kronecker-supervised", "labels": Path("labels")}, "keeps no labels"),
        ({"recipe": "again"}, "'again' is unknown"),
    ],
)
def test_an_option_that_does_not_apply_is_refused(folders, given, message):
    with pytest.raises(OptionError, match=message):
        checked_recipe(kronecker(folders, **given))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, OptionError, "--recipe matcher-m: the student kronecker-seventh learns by kronecker-mined"),
        (
            {"recipe": "kronecker", "start": "matcher-qqp-m"},
            OptionError,
            "--start matcher-qqp-m: the student kronecker-seventh already has weights",
        ),
        ({"recipe": "kronecker", "teacher": ("odd",)}, ModelError, "a seventh: the factors fit a plain BERT"),
    ],
)
def test_a_seventh_of_a_teacher_has_its_own_recipes_and_fits_some_teachers(folders, given, error, message):
    if "teacher" in given:  # 32 numbers do not divide by 6
        given = given | {"teacher": (folders / "teacher",)}
    with pytest.raises(error, match=message):
        checked_recipe(config(folders, student="kronecker-seventh", **given))


def test_a_seventh_is_made_of_its_teacher_and_learns_from_it(tmp_path):
    """Fewer words, factors fitted to what the layers return, the teacher's prediction layer at first."""
    shape = EncoderConfig(hidden_size=48, num_hidden_layers=1, num_attention_heads=4, intermediate_size=96)
    save_pretrained(build(shape, seed=0), tmp_path / "teacher", tokenizer_from=MINILM)
    for seed, (name, count) in enumerate((("train", 40), ("dev", 12))):
        write_pairs(tmp_path / f"{name}.tsv", *toy_pairs(count, seed))
    given = {"teacher": (tmp_path / "teacher",), "data": tmp_path, "out": tmp_path / "out"}
    made = distill(
        DistillationConfig(**given, student="kronecker-seventh", recipe="kronecker-mined", threads=1)
    )
    student, teacher = load_classifier(made.model), load_classifier(tmp_path / "teacher")
    assert student.config.kronecker == seventh_rules(student.config)
    assert student.config.vocab_size == PairTokenizer.load(made.model).vocab_size == SEVENTH_WORDS
    assert 6 * sum(p.numel() for p in student.parameters()) < sum(p.numel() for p in teacher.parameters())
    assert made.records[0]["metadata"]["student"] == "kronecker-seventh"


@pytest.mark.parametrize(
    "given",
    [
        {"teacher": ()},
        {"threads": 0},
        {"seed": -1},
        {"seed": 2**32},
        {"debias": -0.5},
        {"debias": float("nan")},
        {"debias": float("inf")},
    ],
)
def test_numbers_out_of_range_are_refused(folders, given):
    with pytest.raises(OptionError, match=f"--{next(iter(given))}"):
        checked_recipe(config(folders, **given))


def test_shapes_that_cannot_be_compared_are_refused(folders):
    narrow = (folders / "teacher",)
    with pytest.raises(ModelError, match="hidden_size 384 must equal the 32 of the teacher"):
        checked_recipe(config(folders, teacher=narrow, start="matcher-qqp-m"))
    with pytest.raises(ModelError, match="is unknown: no such directory"):
        checked_recipe(config(folders, teacher=(folders / "none",)))
    with pytest.raises(ModelError, match="preset 'matcher-x' is unknown"):
        checked_recipe(config(folders, student="matcher-x"))


def test_a_finished_model_is_not_replaced_unasked(folders, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(OutputError, match="exists"):
        distill(config(folders, out=tmp_path))
    assert checked_recipe(config(folders, out=tmp_path, force=True))


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_the_commands_refuse_before_they_read_or_train(folders, tmp_path, capsys):
    distil = ("distill", "--teacher", folders / "minilm", "--data", tmp_path, "--out", tmp_path / "run")
    student = ("--student", folders / "factored")
    assert "--start matcher-qqp-m" in refused(capsys, *distil, *student, "--start", "matcher-qqp-m")
    ship = ("ship", "--data", tmp_path, "--out", tmp_path / "ship")
    assert "int4" in refused(capsys, *ship, "--quant", "int4")
    assert "--teachers 0" in refused(capsys, *ship, "--teachers", "0")
    assert "matcher 'bert-base' is unknown" in refused(capsys, *ship, "--matcher", "bert-base")
    assert not any(tmp_path.iterdir())
