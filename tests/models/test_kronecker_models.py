"""Promise of models/kronecker_*.py: whole models are compressed, counted as published, saved."""

import json
from dataclasses import asdict, replace

import pytest
import torch
import transformers
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from mobilebert_export.command_line.program import main
from mobilebert_models import build, inventory, load_pretrained, packaged_directory, preset, save_pretrained
from mobilebert_models.config import KroneckerRule
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.kronecker.factor_shapes import PRESETS, costs, plan, preset_rules, shape_rules
from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding, KroneckerLinear, nearest_kronecker
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import KRONECKER_BATCH as BATCH
from tests.helpers.networks import SMALL_KRONECKER as SMALL
from tests.helpers.networks import SMALL_MOBILE, materialise, randomise

# ---- Table 1 and the parameter counts of Tables 2-4, BERT_BASE

POOLER = 768 * 768 + 768
REST = 12 * (4 * 768 + 3072 + 768 + 4 * 768) + 514 * 768 + 2 * 768  # biases, norms, positions, token types


def published(name):
    return costs(replace(preset("bert-base"), kronecker=preset_rules(preset("bert-base"), name)))


def test_bert_base_is_counted_as_in_table_1():
    assert costs(preset("bert-base")) == {"parameters": 109_482_240, "flops": 21_743_271_936}  # 21.7B


def test_preset_21_has_5_2m_parameters_and_1_4b_flops():
    attention, feed_forward, words = 384 * 48 + 2 * 16, 16 * 2 + 192 * 384, 30522 * 48 + 16
    assert published("21")["parameters"] == 12 * (4 * attention + 2 * feed_forward) + words + REST + POOLER
    assert published("21")["parameters"] == 5_228_272 == pytest.approx(5.2e6, rel=0.02)
    assert pytest.approx(21, rel=0.02) == 109_482_240 / 5_228_272
    assert published("21")["flops"] == pytest.approx(1.4e9, rel=0.02)


def test_preset_8_has_14_3m_parameters_without_its_pooler_and_no_fewer_flops_than_its_factors_need():
    attention, feed_forward, words = 384 * 384 + 2 * 2, 8 * 2 + 384 * 384, 30522 * 96 + 8
    assert published("8")["parameters"] == 12 * (4 * attention + 2 * feed_forward) + words + REST + POOLER
    without_pooler = published("8")["parameters"] - POOLER
    assert without_pooler == 14_063_624 == pytest.approx(14.3e6, rel=0.02)
    assert 109_482_240 / without_pooler == pytest.approx(7.8, rel=0.02)
    # Table 1's 5.2B are below what the 384×384 factors alone take, each used twice a token in 6 matrices.
    large_factors_alone = 2 * (6 * 2 * 384 * 384) * 12 * 128
    small_factors = 2 * (4 * 384 * 4 + 2 * 384 * 16) * 12 * 128
    assert published("8")["flops"] == large_factors_alone + small_factors == 5_492_441_088
    assert large_factors_alone > 5.2e9 * 1.04


def test_preset_5_has_20m_parameters_without_its_pooler_and_9_4b_flops():
    attention, feed_forward, words = 384 * 48 + 2 * 16, 384 * 384 + 8 * 2, 30522 * 64 + 12
    assert published("5")["parameters"] == 4 * 12 * (4 * attention + 2 * feed_forward) + words + REST + POOLER
    without_pooler = published("5")["parameters"] - POOLER
    assert without_pooler == 20_171_916 == pytest.approx(20e6, rel=0.02)
    assert 109_482_240 / without_pooler == pytest.approx(5.5, rel=0.02)
    assert published("5")["flops"] == pytest.approx(9.4e9, rel=0.02)


def test_row_5_as_printed_contradicts_its_own_20m_and_9_4b():
    config = preset("bert-base")
    printed = shape_rules(config, (384, 384), (384, 384), 64, rank=4)
    layer = plan(config, printed)[1]
    assert layer.rank == layer.m2 * layer.n2  # four 384×384 factors represent any attention matrix exactly
    assert layer.parameters_after > layer.parameters_before
    found = costs(replace(config, kronecker=printed))
    assert found["parameters"] == 45_529_740
    assert found["flops"] > 21.7e9


# ---- a whole model


@pytest.fixture(scope="module")
def dense():
    return randomise(build(SMALL, seed=0))


@pytest.fixture
def dense_directory(dense, tmp_path):
    save_pretrained(dense, tmp_path / "dense")
    return tmp_path / "dense"


@pytest.mark.parametrize("name", PRESETS)
def test_compressed_model_has_the_counted_parameters_and_reports_true_errors(dense, name):
    model, layers = compress(dense, preset_rules(SMALL, name))
    assert sum(p.numel() for p in model.encoder.parameters()) == costs(model.config)["parameters"]
    for layer in layers:
        before = dense.encoder.get_submodule(layer.name)
        after = model.encoder.get_submodule(layer.name)
        table = after.weight if isinstance(after, KroneckerEmbedding) else materialise(after)
        error = ((before.weight - table).norm() / before.weight.norm()).item()
        # Where the factors are exact the weights' float32 rounding is all that is left.
        assert layer.error == pytest.approx(error, rel=1e-4, abs=1e-6)
        if isinstance(before, nn.Linear):
            assert torch.equal(before.bias, after.bias)
    replaced = tuple(layer.name for layer in layers)
    for key, value in dense.encoder.state_dict().items():
        if not key.startswith(replaced):
            assert torch.equal(value, model.encoder.state_dict()[key])


def test_exact_factors_give_the_dense_model_and_leave_it_untouched(dense):
    before = {k: v.clone() for k, v in dense.state_dict().items()}
    model, _ = compress(dense, [KroneckerRule("*.attention.self.*", 24, 24, rank=4)])
    torch.testing.assert_close(model(**BATCH), dense(**BATCH), rtol=1e-4, atol=1e-5)
    assert all(torch.equal(v, before[k]) for k, v in dense.state_dict().items())
    assert not dense.config.kronecker


@pytest.mark.parametrize("head", ["pair_classifier", "pretraining", "span_qa", None])
def test_directories_keep_every_head_of_a_factored_model(head, tmp_path):
    model, _ = compress(build(SMALL, head, seed=0), preset_rules(SMALL, "8"))
    save_pretrained(model, tmp_path / "m")
    loaded = load_pretrained(tmp_path / "m")
    assert loaded.config == model.config
    assert loaded.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(v, loaded.state_dict()[k]) for k, v in model.state_dict().items())


def test_transformers_refuses_a_factored_directory_instead_of_filling_it_with_noise(dense, tmp_path):
    save_pretrained(compress(dense, preset_rules(SMALL, "8"))[0], tmp_path / "m")
    with pytest.raises(ValueError, match="kronecker-bert"):
        transformers.AutoModel.from_pretrained(tmp_path / "m")


def test_dense_config_files_do_not_mention_kronecker(dense_directory):
    assert "kronecker" not in (dense_directory / "config.json").read_text()


def test_mobilebert_compresses_too():
    rules = [KroneckerRule("*.ffn.*.dense", 4, 4), KroneckerRule("*.bottleneck.input.dense", 4, 8, 2)]
    model, layers = compress(build(SMALL_MOBILE, seed=0), rules)
    assert len(layers) == 2 * (3 * 2 + 1)
    assert model(**BATCH).isfinite().all()


def test_minilm_compresses_by_preset():
    teacher = load_pretrained(packaged_directory("minilm"))
    rules = preset_rules(teacher.config, "8")
    layers = [rule for rule in rules if rule.layers != "embeddings.word_embeddings"]
    model, found = compress(teacher, layers)  # the vocabulary's SVD takes seconds
    assert len(found) == 6 * 6
    assert all(0 < layer.error < 1 for layer in found)
    assert costs(replace(teacher.config, kronecker=rules))["parameters"] == 3_168_392  # 7.2 times fewer
    assert model(**BATCH).last_hidden_state.isfinite().all()


def test_model_flops_equal_torchs_count():
    config = replace(SMALL, kronecker=shape_rules(SMALL, (16, 4), (32, 16), 8, rank=4))
    with FlopCounterMode(display=False) as counter:
        build(config, None)(*(v[:1] for v in BATCH.values()))
    layers = costs(config, seq_len=12)["flops"]
    attention_products, pooler = 2 * 2 * 2 * 12 * 12 * 48, 2 * 48 * 48
    assert counter.get_total_flops() == layers + attention_products + pooler
    assert counter.get_total_flops() == 2 * inventory(config, 12)["macs"]


def test_compiles_as_one_graph(dense):
    model, _ = compress(dense, preset_rules(SMALL, "21"))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(**BATCH), model(**BATCH))


# ---- errors, search, command


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"m1": 5, "n1": 4}, "m1 = 5 does not divide the matrix's 48 rows"),
        ({"m1": 4, "n1": 5}, "n1 = 5 does not divide the matrix's 48 columns"),
        ({"m1": 4, "n1": 4, "rank": 0}, "rank is 0"),
        ({"m1": 0, "n1": 4}, "m1 is 0"),
        ({"m1": 4, "n1": 2.0}, r"n1 is 2\.0"),
        ({"m1": 48, "n1": 48, "rank": 2}, "take rank ≤ 1"),
    ],
)
def test_wrong_shapes_are_named_errors_of_layer_model_and_directory(dense, tmp_path, shape, message):
    assert ModelError.exit_code == 2
    with pytest.raises(ModelError, match=message):
        KroneckerLinear(48, 48, **shape)
    with pytest.raises(ModelError, match=message):
        nearest_kronecker(torch.zeros(48, 48), **shape)
    rule = {"layers": "*.attention.self.query", **shape}
    with pytest.raises(ModelError, match=rf"layer\.0\.attention\.self\.query.*{message}"):
        compress(dense, [KroneckerRule(**rule)])
    save_pretrained(dense, tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"kronecker": [rule]}))
    with pytest.raises(ModelError, match=message):
        load_pretrained(tmp_path / "m")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([KroneckerRule("*.query.weight", 4, 4)], "picks no layer"),
        ([KroneckerRule("*.dense", 4, 4), KroneckerRule("*.output.dense", 2, 2)], "picks no layer"),
        ([KroneckerRule("*.word_embeddings", 30, 4)], "m1 must be 60"),
    ],
)
def test_rules_that_fit_nothing_are_named_errors(dense, rules, message):
    with pytest.raises(ModelError, match=message):
        compress(dense, rules)


def test_a_model_is_not_compressed_twice(dense):
    once, _ = compress(dense, preset_rules(SMALL, "8"))
    with pytest.raises(ModelError, match="factored already"):
        compress(once, preset_rules(SMALL, "8"))


def test_presets_name_what_they_cannot_divide():
    with pytest.raises(ModelError, match="expected one of 8, 21, 5"):
        preset_rules(SMALL, "9")
    with pytest.raises(ModelError, match="16 does not divide"):
        preset_rules(replace(SMALL, hidden_size=24), "21")


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main(["factorize", *map(str, arguments)])
    return end.value.code


def test_command_writes_a_directory_and_the_table(dense_directory, tmp_path, capsys):
    out, table = tmp_path / "small", tmp_path / "table.json"
    assert run("--model", dense_directory, "--preset", 8, "--rank", 2, "--out", out, "--json", table) == 0
    loaded, found = load_pretrained(out), json.loads(table.read_text())
    assert {r.rank for r in loaded.config.kronecker if "word" not in r.layers} == {2}
    assert found["after"]["parameters"] == sum(p.numel() for p in loaded.encoder.parameters())
    assert all(0 < layer["error"] < 1 for layer in found["layers"])
    assert f"{found['after']['parameters']:,}" in capsys.readouterr().out


def test_command_takes_a_file_of_rules_and_counts_without_weights(dense_directory, tmp_path):
    (dense_directory / "model.safetensors").unlink()
    factors, table = tmp_path / "f.json", tmp_path / "t.json"
    rules = preset_rules(SMALL, "8")
    factors.write_text(json.dumps([asdict(rule) for rule in rules]))
    assert run("--model", dense_directory, "--factors", factors, "--dry-run", "--json", table) == 0
    assert json.loads(table.read_text())["after"] == costs(replace(SMALL, kronecker=rules))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "8"], "--out is missing"),
        (["--preset", "9", "--dry-run"], "expected one of 8, 21, 5"),
        (["--preset", "8", "--low-rank", "4"], "give one of"),
        (["--preset", "8", "--rank", "0", "--dry-run"], "--rank 0: expected from 1"),
        (["--factors", "none.json", "--dry-run"], "no such file"),
        (["--factors", "{file}", "--dry-run"], "not a JSON list of rules"),
        (["--preset", "8", "--out", "{directory}"], "exists already"),
    ],
)
def test_command_names_bad_requests_on_one_line(dense_directory, tmp_path, capsys, arguments, message):
    (tmp_path / "file.json").write_text('[{"layers": "*", "rows": 4}]')
    names = {"{file}": tmp_path / "file.json", "{directory}": dense_directory}
    assert run("--model", dense_directory, *(names.get(a, a) for a in arguments)) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
