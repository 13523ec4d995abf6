"""Promise of the Kronecker study: Eq. 14 is its equation, runs resume, verdicts are true."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

import mobilebert_models
from mobilebert_export.command_line.program import main
from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_models import EncoderConfig, build, preset
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.kronecker.factor_shapes import costs, low_rank_rules, preset_rules, shape_rules
from mobilebert_models.networks.layers import EncoderOutput
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.batches import Batch
from mobilebert_training.distillation.distillation_recipes import DISTILLATION_RECIPES
from mobilebert_training.distillation.losses import UNLABELLED, Weights, layer_loss
from mobilebert_training.distillation.task_distillation import stage_loss
from mobilebert_training.finetuning.encoded_pairs import EncodedPairs
from mobilebert_training.initialization.student import start_factored
from mobilebert_training.pretraining.corpus import Packing
from mobilebert_training.pretraining.corpus import build as build_corpus
from mobilebert_training.training_config import LossNormalizers
from studies.common import script
from studies.kronecker import out_of_domain, table6, tsne
from studies.kronecker.factorisations import FACTORISATIONS, same_size_low_rank
from studies.kronecker.out_of_domain import figures, page
from studies.kronecker.report import summarise
from studies.kronecker.table6 import Budget, RunConfig, parse_name, run_one, study
from tests.helpers.networks import randomise
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text
from tests.helpers.toys import toy_pairs, write_pairs

pytestmark = pytest.mark.slow

CONFIG = EncoderConfig(
    vocab_size=30522,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=64,
)
RULES = shape_rules(CONFIG, (16, 16), (8, 2), 4)
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])


def draw(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def output(seed):
    return EncoderOutput(
        draw((2, 4, 6), seed),
        draw((2, 6), seed),
        [draw((2, 4, 6), seed + i) for i in (1, 2, 3)],
        [draw((2, 3, 4, 4), seed + i) for i in (4, 5)],
    )


def test_intermediate_terms_are_those_of_equation_14_on_real_tokens():
    teacher, student = output(0), output(50)
    weights = Weights(embedding=2.0, hidden_states=3.0, attention_scores=5.0)
    parts = {name: layer_loss(name, teacher, student, MASK) for name in weights.layers}
    real = [(b, t) for b in range(2) for t in range(4) if MASK[b, t]]

    def maps(i):
        ours, theirs = student.hidden_states[i], teacher.hidden_states[i]
        return sum((ours[b, t, n] - theirs[b, t, n]) ** 2 for b, t in real for n in range(6)) / (
            6 * len(real)
        )

    def scores(i):
        ours, theirs = student.attention_scores[i], teacher.attention_scores[i]
        total = 0.0
        for b, t in real:
            keys = [k for k in range(4) if MASK[b, k]]
            total += sum((ours[b, h, t, k] - theirs[b, h, t, k]) ** 2 for h in range(3) for k in keys) / (
                3 * len(keys)
            )
        return total / len(real)

    expected = {
        "embedding": maps(0),
        "hidden_states": maps(1) + maps(2),
        "attention_scores": scores(0) + scores(1),
    }
    assert parts.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(parts[name], value, rtol=1e-12, atol=0)
    total = 2 * expected["embedding"] + 3 * expected["hidden_states"] + 5 * expected["attention_scores"]
    torch.testing.assert_close(weights.total(parts), total, rtol=1e-12, atol=0)


@pytest.fixture(scope="module")
def teacher():
    return randomise(build(CONFIG, seed=0))


@pytest.fixture(scope="module")
def factored_directory(teacher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("student") / "model"
    mobilebert_models.save_pretrained(compress(teacher, RULES)[0], folder, tokenizer_from=MINILM)
    return folder


def test_task_stage_is_the_weighted_sum_of_all_five_terms_and_reads_the_swapped_batch(teacher):
    tokenizer = PairTokenizer.load(MINILM)
    pairs, labels = toy_pairs(6)
    labels = np.where(np.arange(6) % 2, labels, UNLABELLED)
    stage = DISTILLATION_RECIPES["kronecker"].stages[0]
    student, _ = compress(teacher, RULES)
    double_teacher, double_student = (m.double().eval() for m in (teacher, student))
    encoded = EncodedPairs.encode(tokenizer, pairs)
    batch = Batch(np.arange(6), 0, np.array([0.1, 0.9, 0.6, 0.4, 0.2, 0.8]))
    source, loss = stage_loss(stage, double_teacher, tokenizer, encoded, labels)
    total, parts = loss(double_student, source.collate(batch), LossNormalizers())
    inputs = encoded.batch(tokenizer, batch.index, batch.chance < 0.5)
    theirs, ours = (m(**inputs) for m in (double_teacher, double_student))
    p, q = theirs.softmax(-1), ours.softmax(-1)
    soft = (p * (p / q).log()).sum() / 6
    hard = -sum(q[i, labels[i]].log() for i in range(6) if labels[i] != UNLABELLED) / 6
    parts = {name: value.item() for name, value in parts.items()}
    assert parts["soft_labels"] == pytest.approx(soft.item(), rel=1e-9)
    assert parts["hard_labels"] == pytest.approx(hard.item(), rel=1e-9)
    assert set(parts) == {name for name, weight in asdict(stage.weights).items() if weight}
    assert total.item() == pytest.approx(
        sum(getattr(stage.weights, k) * v for k, v in parts.items()), rel=1e-9
    )
    teacher.float()


def test_factored_student_has_its_own_encoder_and_the_teachers_prediction_layer(teacher, factored_directory):
    other = randomise(build(CONFIG, seed=5))
    student = start_factored(factored_directory, other)
    for name, tensor in student.state_dict().items():
        if "pooler" in name or "classifier" in name:
            assert torch.equal(tensor, other.state_dict()[name])
        elif "LayerNorm" in name:
            assert torch.equal(tensor, teacher.state_dict()[name])


def test_students_that_are_dense_or_of_another_shape_are_errors(teacher, factored_directory, tmp_path):
    mobilebert_models.save_pretrained(teacher, tmp_path / "dense", tokenizer_from=MINILM)
    with pytest.raises(ModelError, match="has no Kronecker layers"):
        start_factored(tmp_path / "dense", teacher)
    with pytest.raises(ModelError, match="num_hidden_layers 2 must equal the teacher's 3"):
        start_factored(factored_directory, build(replace(CONFIG, num_hidden_layers=3), seed=0))


# ---- runs


@pytest.fixture(scope="module")
def setting(teacher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    data = folder / "toy"
    data.mkdir()
    for seed, (part, count) in enumerate({"train": 16, "dev": 12, "test": 20}.items()):
        write_pairs(data / f"{part}.tsv", *toy_pairs(count, seed=seed))
    settings = mobilebert_models.MatcherSettings()
    mobilebert_models.save_pretrained(
        teacher, folder / "taught" / "model", tokenizer_from=MINILM, settings=settings
    )
    mobilebert_models.save_pretrained(build(CONFIG, None, seed=3), folder / "encoder", tokenizer_from=MINILM)
    (folder / "text.txt").write_text(text(60))
    build_corpus([folder / "text.txt"], MINILM, folder / "shards", Packing(seq_len=32))
    (folder / "shards" / "examples.json").write_text(json.dumps({"pairs": "nsp", "masking": "token"}))
    budget = Budget(epochs=1, pretraining_steps=2, pretraining_batch=4)
    return RunConfig(data, folder / "taught" / "model", folder / "encoder", folder / "shards", budget)


def test_runs_train_test_and_are_read_back(setting, tmp_path):
    out, runs = tmp_path / "out", tmp_path / "runs"
    cells = ("kronecker-8.two-stage", "low-rank-8.no-task-kd", "kronecker-cut-fitted.no-pretraining")
    records = list(study(cells, [0], setting, out, runs))
    first, second, cut = records
    assert (
        first["parameters"]
        == costs(mobilebert_models.read_config(runs / "toy.kronecker-8.two-stage.seed0" / "model"))[
            "parameters"
        ]
    )
    assert abs(second["parameters"] / first["parameters"] - 1) < 0.02, "factorisations of one size"
    assert first["recipe"]["stages"][0]["weights"]["hidden_states"] > 0
    assert second["recipe"]["stages"][0]["weights"]["hidden_states"] == 0
    assert set(second["curves"]["task"][0]) == {"step", "loss", "hard_labels"}, "no teacher was asked"
    assert not list((runs / "toy.low-rank-8.no-task-kd.seed0").glob("teacher_logits*"))
    assert first["test"]["pairs"] == 20
    assert [(r["pretraining_steps"], r["pretraining_batch"]) for r in records] == [(2, 4), (2, 4), (0, 0)]
    folder = runs / "toy.kronecker-cut-fitted.no-pretraining.seed0" / "model"
    assert (
        len((folder / "vocab.txt").read_text().split())
        == mobilebert_models.read_config(folder).vocab_size
        == 8192
    )
    assert cut["teacher_test"] == first["teacher_test"], "compared with the teacher that has all its words"
    assert first["kept"] == first["test"]["accuracy"] / first["teacher_test"]["accuracy"]
    summary = json.loads((out / "study.json").read_text())
    assert {row["cell"] for row in summary["rows"]} == set(cells)
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    # A record is not made again: nothing of the run is left to take up.
    for path in (runs / "toy.kronecker-8.two-stage.seed0").iterdir():
        if path.is_file():
            path.unlink()
    assert run_one(cells[0], 0, setting, out, runs) == first


def test_first_stage_learns_from_a_bare_encoder_and_needs_its_words_for_no_other_strategy(
    setting, factored_directory, tmp_path, capsys
):
    def run(strategy, out):
        given = ["--student", factored_directory, "--teacher", setting.encoder, "--strategy", strategy]
        options = ["--steps", 2, "--batch-size", 2, "--optimiser", "adamw", "--out", out]
        with pytest.raises(SystemExit) as end:
            main(["pretrain", str(setting.corpus), *map(str, [*given, *options])])
        return end.value.code

    assert run("kronecker-encoder", tmp_path / "a") == 0
    found = json.loads((tmp_path / "a" / "kronecker.json").read_text())
    assert set(found["curve"][0]) == {"step", "loss", "embedding", "hidden_states", "attention_scores"}
    assert found["evaluations"] == []
    assert mobilebert_models.load_pretrained(tmp_path / "a" / "model").config.kronecker == RULES
    capsys.readouterr()
    assert run("pkt", tmp_path / "b") == 2
    assert "holds no pretraining head" in capsys.readouterr().err


def test_the_command_keeps_to_its_budget_and_takes_no_student_of_another(setting, tmp_path, capsys):
    def run(steps, seed):
        paths = {"data": setting.data, "teacher": setting.teacher, "encoder": setting.encoder}
        paths |= {"corpus": setting.corpus, "out": tmp_path / "out", "runs": tmp_path / "runs"}
        numbers = {"epochs": 1, "pretraining-steps": steps, "pretraining-batch": 3, "seed": seed}
        options = paths | numbers | {"run": "kronecker-21.two-stage"}
        with pytest.raises(SystemExit) as end:
            script.run(table6.main, [w for k, v in options.items() for w in (f"--{k}", str(v))])
        return end.value.code

    assert run(steps=1, seed=0) == 0
    pretrained = tmp_path / "runs" / "pretrained-kronecker-21"
    engine = json.loads((pretrained / "run.json").read_text())["pretraining"]["engine"]
    assert (engine["steps"], engine["batch_size"]) == (1, 3)
    files = [pretrained / "kronecker.weights", pretrained / "model" / "model.safetensors"]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    assert run(steps=1, seed=1) == 0
    assert [(p.read_bytes(), p.stat().st_mtime_ns) for p in files] == before, "pretrained once"
    capsys.readouterr()
    assert run(steps=2, seed=2) == 2
    assert "pretrained-kronecker-21" in capsys.readouterr().err
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 2


def test_names_that_cannot_run_are_errors_before_anything_is_trained(setting, tmp_path):
    with pytest.raises(OptionError, match="'kronecker-9' is unknown; expected one of kronecker-21"):
        parse_name("kronecker-9.two-stage")
    with pytest.raises(OptionError, match="'one-stage' is unknown"):
        next(study(["kronecker-8.two-stage", "kronecker-8.one-stage"], [0], setting, tmp_path, tmp_path))
    with pytest.raises(OptionError, match="give --corpus"):
        run_one("kronecker-8.two-stage", 0, replace(setting, corpus=None), tmp_path, tmp_path)
    with pytest.raises(OptionError, match="its vocabulary is cut to the task's"):
        run_one("kronecker-cut.two-stage", 0, setting, tmp_path, tmp_path)
    assert OptionError.exit_code == 2


@pytest.mark.parametrize("name", ["21", "8", "5"])
def test_low_rank_factorisations_of_minilm_are_as_large_as_the_presets(name):
    config = preset("minilm-l6")
    rules = preset_rules(config, name)
    ours, theirs = (
        costs(replace(config, kronecker=r))["parameters"] for r in (same_size_low_rank(config, rules), rules)
    )
    assert ours == pytest.approx(theirs, rel=0.04)
    assert ours <= 1.01 * theirs


def test_factorisations_of_preset_8_and_cut_ones_have_seven_times_fewer_parameters_than_minilm():
    config = preset("minilm-l6")
    for form in ("kronecker-8", "kronecker-8-words", "low-rank-8", "kronecker-cut", "low-rank-cut"):
        chosen = FACTORISATIONS[form]
        cut = replace(config, vocab_size=chosen.vocabulary or config.vocab_size)
        small = costs(replace(cut, kronecker=chosen.rules(cut)))["parameters"]
        assert costs(config)["parameters"] / small >= 7


def test_low_rank_rules_are_the_truncated_svd(teacher):
    model, found = compress(teacher, low_rank_rules(CONFIG, 5, 7))
    before = teacher.encoder.layers[0].intermediate.dense.weight
    after = model.encoder.layers[0].intermediate.dense
    u, s, v = torch.linalg.svd(before.detach().double(), full_matrices=False)
    expected = u[:, :5] * s[:5] @ v[:5]
    ours = sum(torch.kron(a, b) for a, b in zip(after.factor_a, after.factor_b, strict=True)).double()
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
    assert {layer.rank for layer in found} == {5, 7}


def record(schedule, seed, accuracy):
    test = {"accuracy": accuracy, "f1": accuracy, "pairs": 10}
    names = {"form": "kronecker-8", "schedule": schedule, "cell": f"kronecker-8.{schedule}", "data": "toy"}
    sizes = {"parameters": 10, "times_fewer_parameters": 7.0, "flops": 5}
    return (
        names
        | sizes
        | {"seed": seed, "test": test, "teacher_test": {"accuracy": 0.9}, "kept": accuracy / 0.9}
    )


def test_order_of_table_6_is_judged_by_paired_intervals():
    better, worse, unclear = (0.80, 0.82, 0.81), (0.70, 0.71, 0.71), (0.80, 0.79, 0.84)
    records = [record("two-stage", s, a) for s, a in enumerate(better)]
    records += [record("no-pretraining", s, a) for s, a in enumerate(worse)]
    records += [record("no-task-kd", s, a) for s, a in enumerate(unclear)]
    found = summarise(records)
    by_worse = {step["worse"]: step for step in found["orders"]}
    assert by_worse["no-pretraining"]["difference"] == pytest.approx((0.10 + 0.11 + 0.10) / 3)
    assert by_worse["no-pretraining"]["verdict"] == "holds"
    assert by_worse["no-task-kd"]["verdict"] == "undecided"
    means = {row["cell"]: row for row in found["rows"]}
    assert means["kronecker-8.two-stage"]["accuracy"] == pytest.approx(0.81)
    assert means["kronecker-8.two-stage"]["kept"] == pytest.approx(0.9)


# ---- plots and tables


def test_separability_is_the_vote_of_the_ten_nearest_others():
    generator = np.random.default_rng(0)
    features, labels = generator.normal(size=(40, 5)), generator.integers(0, 2, 40)
    features[:, 0] += 2 * labels
    total = 0.0
    for i in range(40):
        order = np.argsort(((features - features[i]) ** 2).sum(1))
        agree = int((labels[order[1:11]] == labels[i]).sum())
        total += 1.0 if agree > 5 else 0.5 if agree == 5 else 0.0
    assert tsne.separability(features, labels) == pytest.approx(total / 40)
    apart = np.concatenate([np.zeros((20, 2)), np.full((20, 2), 9.0)]) + generator.normal(size=(40, 2))
    assert tsne.separability(apart, np.repeat([0, 1], 20)) == 1.0


def test_middle_features_are_the_cls_row_of_the_middle_layer_whatever_the_batch(teacher):
    tokenizer = PairTokenizer.load(MINILM)
    pairs, _ = toy_pairs(5)
    found = tsne.middle_features(teacher.encoder, tokenizer, pairs)
    for pair, row in zip(pairs, found, strict=True):
        arrays = tokenizer.pad(tokenizer.ids([pair], 64), None)
        states = teacher.encoder(
            **{k: torch.from_numpy(v) for k, v in arrays.items()}, capture=True
        ).hidden_states
        np.testing.assert_allclose(row, states[1][0, 0].detach().numpy(), rtol=1e-3, atol=1e-5)


def test_command_draws_models_side_by_side_and_keeps_the_coordinates(setting, tmp_path):
    toys, labels = toy_pairs(36)
    pairs = write_pairs(tmp_path / "pairs.tsv", toys, labels)
    out = tmp_path / "middle.png"
    model = ["--model", str(setting.teacher)]
    with pytest.raises(SystemExit) as end:
        script.run(tsne.main, [*model, *model, "--data", str(pairs), "--out", str(out)])
    assert end.value.code == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    found = json.loads(out.with_suffix(".json").read_text())
    assert [m["name"] for m in found["models"]] == ["taught", "taught"]
    assert np.asarray(found["models"][0]["points"]).shape == (36, 2)
    assert found["labels"] == labels.tolist()
    with pytest.raises(OptionError, match="7 pairs; t-SNE needs at least 30"):
        tsne.cloud("few", 1, np.zeros((7, 3)), np.zeros(7))


def test_out_of_domain_figures_and_table():
    labels = np.array([0, 0, 1, 1])
    home = figures(labels, np.array([0.1, 0.6, 0.7, 0.9]), 0.5)
    assert (home["accuracy"], home["balanced_accuracy"], home["auc"], home["positives"]) == (
        0.75,
        0.75,
        1.0,
        0.5,
    )
    rows = [
        {"model": "teacher", "data": "mrpc"} | home,
        {"model": "student", "data": "mrpc"} | figures(labels, np.array([0.9, 0.6, 0.7, 0.2]), 0.5),
    ]
    text = page(rows)
    assert "| teacher | 75.0, AUC 1.000 |" in text
    assert "| student | 25.0 (-50.0), AUC 0.250 |" in text
    assert "mrpc: 4 pairs, 50% positive" in text


def test_out_of_domain_command_scores_every_model_on_every_data_set(setting, tmp_path, capsys):
    out = tmp_path / "far.json"
    arguments = [
        "--model",
        setting.teacher,
        "--data",
        setting.data,
        "--data",
        setting.data / "dev.tsv",
        "--out",
        out,
    ]
    with pytest.raises(SystemExit) as end:
        script.run(out_of_domain.main, list(map(str, arguments)))
    assert end.value.code == 0
    rows = json.loads(out.read_text())["rows"]
    assert [(r["model"], r["data"], r["pairs"]) for r in rows] == [
        ("taught", "toy/test.tsv", 20),
        ("taught", "toy/dev.tsv", 12),
    ]
    assert out.with_suffix(".md").read_text() in capsys.readouterr().out


def test_pairs_of_a_budget_are_a_seeded_part():
    pairs, labels = toy_pairs(10)
    drawn = table6._pairs(
        LabelledPairs(pairs, labels), DISTILLATION_RECIPES["kronecker"], Budget(max_pairs=4), 0, ()
    )
    again = table6._pairs(
        LabelledPairs(pairs, labels), DISTILLATION_RECIPES["kronecker"], Budget(max_pairs=4), 0, ()
    )
    assert drawn[0] == again[0]
    assert len(set(drawn[0])) == 4
    assert all(labels[pairs.index(pair)] == label for pair, label in zip(*drawn, strict=True))
