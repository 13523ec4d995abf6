"""Promise of the rewrite: closed forms are least squares, nothing else moves, training wins the rest back."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from mobilebert_export.command_line.commands.model.rewrite import rewrite as command
from mobilebert_models import EncoderConfig, MatcherSettings, build, load_pretrained, save_pretrained
from mobilebert_models.convert.nonorm_relu import fit_linear, fit_no_norm, rewrite
from mobilebert_runtime.errors import DataError, ModelError, OptionError, OutputError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.batches import LengthBuckets
from mobilebert_training.distillation.rewrite_recovery import recovery_recipe
from mobilebert_training.distillation.task_distillation import distil
from mobilebert_training.finetuning.encoded_pairs import EncodedPairs, predict_logits
from mobilebert_training.trainer import supervised, train
from mobilebert_training.training_config import TrainingConfig
from tests.helpers import small_matcher
from tests.helpers.networks import SMALL_MOBILE, padded_batch, randomise
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs, write_pairs

SMALL = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)


def parts(columns, seed, sizes=(40, 7, 153)):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(columns, columns))
    return [torch.from_numpy(rng.normal(size=(n, columns)) @ mix + 3.0) for n in sizes]


def test_no_norm_is_the_least_squares_line_of_each_channel():
    inputs, targets = parts(6, 0), parts(6, 1)
    gamma, beta = fit_no_norm(inputs, targets)
    x, y = torch.cat(inputs).numpy(), torch.cat(targets).numpy()
    for channel in range(6):
        design = np.stack([x[:, channel], np.ones(len(x))], 1)
        expected, *_ = np.linalg.lstsq(design, y[:, channel], rcond=None)
        np.testing.assert_allclose([gamma[channel], beta[channel]], expected, rtol=1e-9, atol=1e-12)


def test_a_channel_that_never_moves_gets_the_mean():
    constant = [torch.full((5, 1), 2.0)]
    gamma, beta = fit_no_norm(constant, [torch.arange(5.0)[:, None]])
    assert (gamma.item(), beta.item()) == (0.0, 2.0)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_linear_is_ridge_regression_towards_the_old_weights(ridge):
    linear = torch.nn.Linear(6, 3).double()
    inputs, targets = parts(6, 2), parts(3, 3)
    weight, bias = fit_linear(linear, inputs, targets, ridge)
    x, y = torch.cat(inputs).numpy(), torch.cat(targets).numpy()
    old = linear.weight.detach().numpy()
    # The same as one least-squares problem: centred rows, and below them the pull as rows of its own.
    centred = x - x.mean(0)
    pull = np.sqrt(ridge * len(x) * centred.var(0).mean())
    design = np.vstack([centred, pull * np.eye(6)])
    wanted = np.vstack([(y - y.mean(0)) - centred @ old.T, np.zeros((6, 3))])
    step, *_ = np.linalg.lstsq(design, wanted, rcond=None)
    np.testing.assert_allclose(weight.detach(), old + step.T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(bias.detach(), y.mean(0) - (old + step.T) @ x.mean(0), rtol=1e-8, atol=1e-9)


def calibration(vocab=30522, count=3):
    return [padded_batch(vocab=vocab, length=40, seed=seed) for seed in range(count)]


@pytest.mark.parametrize(
    ("norm", "act", "changed"),
    [
        ("layer_norm", "gelu", ()),
        ("no_norm", "gelu", ("LayerNorm",)),
        ("layer_norm", "relu", ("layer.0.output.dense", "layer.1.output.dense")),
        ("no_norm", "relu", ("LayerNorm", "layer.0.output.dense", "layer.1.output.dense")),
    ],
)
def test_what_must_not_change_is_the_originals_bit_for_bit(norm, act, changed):
    model = randomise(build(SMALL, seed=0))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    copy, fits = rewrite(model, calibration(), norm=norm, activation=act)
    assert (copy.config.normalization_type, copy.config.hidden_act) == (norm, act)
    for name, value in before.items():
        assert torch.equal(model.state_dict()[name], value), name
        assert torch.equal(copy.state_dict()[name], value) != any(part in name for part in changed), name
    assert {f"encoder.{fit.module}" for fit in fits} == {
        name.rpartition(".")[0] for name in before if any(part in name for part in changed)
    }
    if not changed:
        batch = padded_batch(length=16)
        with torch.no_grad():
            assert torch.equal(copy(**batch), model(**batch))


def test_fits_explain_more_than_the_originals_parameters_and_follow_rewritten_inputs():
    model = randomise(build(SMALL, seed=1))
    copy, fits = rewrite(model, calibration())
    assert len(fits) == 1 + 2 * 3
    # A norm's least squares can only win; a map pulled towards its old weights as well.
    assert all(fit.after <= fit.before for fit in fits)
    # The last norm, recomputed: a regression on what the copy itself delivers, not on the original's sums.
    batches = calibration()
    sums, wanted = [], []
    norm = copy.encoder.layers[-1].output.LayerNorm
    handle = norm.register_forward_pre_hook(lambda _, args: sums.append(args[0]))
    with torch.no_grad():
        for batch in batches:
            real = batch["attention_mask"].bool()
            copy.encoder(**batch)
            sums[-1] = sums[-1][real]
            wanted.append(model.encoder(**batch).last_hidden_state[real])
    handle.remove()
    gamma, beta = fit_no_norm(sums, wanted)
    torch.testing.assert_close(norm.weight.double(), gamma, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(norm.bias.double(), beta, rtol=1e-4, atol=1e-5)


def test_padding_is_no_evidence():
    model = randomise(build(SMALL, seed=2))
    batch = padded_batch(length=24)
    short = {k: v[2:, :5] for k, v in batch.items()}
    padded = {k: v[2:] for k, v in batch.items()}
    first, second = (rewrite(model, [b])[0].state_dict() for b in (short, padded))
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=1e-3, atol=1e-4)


def test_directory_loads_back_and_transformers_refuses_it(tmp_path):
    copy, _ = rewrite(randomise(build(SMALL, seed=0)), calibration())
    save_pretrained(copy, tmp_path / "m")
    again = load_pretrained(tmp_path / "m")
    assert again.config == copy.config
    batch = padded_batch(length=16)
    with torch.no_grad():
        assert torch.equal(again(**batch), copy(**batch))
    with pytest.raises((ValueError, KeyError), match="nonorm-bert"):
        transformers.AutoConfig.from_pretrained(tmp_path / "m")


def test_graph_has_no_norm_and_no_error_function_left():
    copy, _ = rewrite(randomise(build(SMALL, seed=0)), calibration())
    program = torch.export.export(copy, (), padded_batch(length=16))
    called = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert not any("norm" in name or "gelu" in name for name in called)
    assert any("relu" in name for name in called)


def test_recovery_steps_add_up_and_too_few_are_an_error():
    recipe = recovery_recipe(1000, 100, batch_size=16)
    assert sum(stage.loop.total_steps(1000) for stage in recipe.stages) == 100
    assert [stage.name for stage in recipe.stages] == ["layerwise", "joint", "task"]
    with pytest.raises(OptionError, match="in 2 steps"):
        recovery_recipe(1000, 2)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A small classifier that has learned toy pairs."""
    folder = tmp_path_factory.mktemp("teacher")
    tokenizer, model = PairTokenizer.load(MINILM), build(SMALL, seed=0)
    pairs, labels = toy_pairs(96)
    encoded = EncodedPairs.encode(tokenizer, pairs)

    def collate(batch):
        inputs = encoded.batch(tokenizer, batch.index, np.zeros(len(batch.index), bool))
        return inputs | {"labels": torch.from_numpy(labels[batch.index])}

    config = TrainingConfig(epochs=14, batch_size=8, learning_rate=3e-3)
    source, loss = (
        LengthBuckets(encoded.lengths, collate, "data"),
        supervised(torch.nn.functional.cross_entropy),
    )
    train(model, source, loss, config, folder / "run", name="teacher")
    save_pretrained(model, folder / "model", tokenizer_from=MINILM, settings=MatcherSettings())
    return model, tokenizer, folder / "model"


def test_recovery_brings_the_feature_maps_nearer(teacher, tmp_path):
    model, tokenizer, _ = teacher
    pairs, labels = toy_pairs(96, seed=1)
    unseen, _ = toy_pairs(64, seed=5)
    inputs = {k: torch.from_numpy(v) for k, v in tokenizer.pad(tokenizer.ids(unseen, 64), None).items()}
    copy, _ = rewrite(model, calibration(count=1))  # of random tokens: a poor fit, on purpose

    def distance():
        with torch.no_grad():
            theirs, ours = model.encoder(**inputs), copy.encoder(**inputs)
        real = inputs["attention_mask"].bool()
        return float((theirs.last_hidden_state - ours.last_hidden_state)[real].square().mean())

    fitted = distance()
    recipe = recovery_recipe(len(pairs), 90, batch_size=16)
    distil(copy, model, tokenizer, pairs, labels, (pairs, labels), recipe, tmp_path)
    assert distance() < 0.5 * fitted
    agree = predict_logits(copy, tokenizer, unseen).argmax(1) == predict_logits(
        model, tokenizer, unseen
    ).argmax(1)
    assert agree.mean() > 0.95


def test_command_records_accuracy_before_after_fit_and_after_recovery(teacher, tmp_path):
    parts = enumerate(("train", "dev", "test"))
    train, dev, test = (write_pairs(tmp_path / f"{n}.tsv", *toy_pairs(48, seed=i)) for i, n in parts)
    given = {"model": teacher[2], "calibration": train, "recover_pairs": train, "dev": dev, "test": test}
    given |= {"steps": 6, "batch_size": 16}
    command(**given, out=tmp_path / "out")
    record = json.loads((tmp_path / "out" / "rewrite.json").read_text())
    assert [row["network"] for row in record["accuracy"]] == ["original", "fitted", "recovered"]
    assert record["recovery"]["examples_seen"] == 6 * 16
    assert str(tmp_path) not in json.dumps(record)
    for name in ("fitted", "model"):
        config = load_pretrained(tmp_path / "out" / name).config
        assert (config.normalization_type, config.hidden_act) == ("no_norm", "relu")
    with pytest.raises(OutputError, match="exists"):
        command(**given, out=tmp_path / "out")
    with pytest.raises(OptionError, match="'rms' is unknown; expected one of nonorm"):
        command(**given, out=tmp_path / "other", norm="rms")
    with pytest.raises(OptionError, match="needs --dev"):
        command(**(given | {"dev": None}), out=tmp_path / "other")


@pytest.fixture
def no_fit(monkeypatch):
    """Fails a test in which least squares begin."""
    monkeypatch.setattr(
        "mobilebert_models.convert.nonorm_relu.rewrite", lambda *_, **__: pytest.fail("fitted")
    )


def test_pairs_that_nothing_can_be_fitted_on_are_refused_before_the_fit(teacher, tmp_path, no_fit):
    pairs, labels = toy_pairs(48)
    good, three, ones = (
        write_pairs(tmp_path / f"{name}.tsv", pairs, found)
        for name, found in (("good", labels), ("three", np.r_[labels[:-1], 2]), ("ones", np.ones(48, int)))
    )
    given = {"model": teacher[2], "out": tmp_path / "out", "dev": good}
    for option in ("dev", "test", "recover_pairs"):
        with pytest.raises(DataError, match=r"three\.tsv: labels reach 2; a match is 1"):
            command(**given | {option: three})
    with pytest.raises(DataError, match=r"ones\.tsv has no label but 1 .*expected pairs of at least two"):
        command(**given | {"dev": ones})
    with pytest.raises(OptionError, match="in 2 steps"):
        command(**given, recover_pairs=good, steps=2)
    assert not (tmp_path / "out").exists()


def test_a_class_that_the_model_lacks_is_refused_before_the_fit(teacher, tmp_path, no_fit):
    with pytest.raises(OptionError, match="--positive 'nope'"):
        command(model=teacher[2], out=tmp_path / "out", positive="nope")


def test_a_record_that_is_there_is_kept_without_force(teacher, tmp_path, no_fit):
    record = tmp_path / "rewrite.json"
    record.write_text("mine")
    with pytest.raises(OutputError, match=r"rewrite\.json: exists already"):
        command(model=teacher[2], out=tmp_path)
    assert record.read_text() == "mine"


def test_a_rewritten_matcher_exports_and_the_runtime_agrees_with_pytorch(tmp_path):
    copy, _ = rewrite(randomise(build(SMALL, seed=0)), calibration())
    save_pretrained(copy, tmp_path / "model", tokenizer_from=MINILM, settings=MatcherSettings())
    report = small_matcher.report(
        "tflite", "none", tmp_path / "artefact", model=str(tmp_path / "model"), seq_len=32, buckets=(32,)
    )  # raises where TFLite and PyTorch differ
    folded = next(done for done in report["rewrites"]["passes"] if "norms folded" in done["changed"])
    assert folded["changed"]["norms folded"] == 1 + 2 * SMALL.num_hidden_layers


def test_wrong_models_are_named_errors():
    with pytest.raises(ModelError, match="expected a dense model_type 'bert' with layer_norm"):
        rewrite(build(SMALL_MOBILE, seed=0), calibration(vocab=60))
    with pytest.raises(ModelError, match="no calibration text"):
        rewrite(build(SMALL), [])
    with pytest.raises(ModelError, match="'swish'"):
        rewrite(build(replace(SMALL)), calibration(), activation="swish")
