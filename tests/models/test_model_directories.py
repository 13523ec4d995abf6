"""Promise of models/: a directory is whole or a clear error; saving and loading lose nothing."""

import json
import re
import shutil

import pytest
import torch

from mobilebert_models import (
    MatcherSettings,
    PairClassifier,
    PretrainingHead,
    build,
    load_pretrained,
    save_pretrained,
)
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import SMALL_BERT, SMALL_MOBILE, padded_batch, randomise


@pytest.fixture
def saved(tmp_path):
    model = randomise(build(SMALL_MOBILE, seed=0))
    save_pretrained(model, tmp_path / "m", settings=MatcherSettings(threshold=0.4, temperature=1.5))
    return model, tmp_path / "m"


def test_loading_gives_back_the_weights_and_the_settings(saved):
    model, directory = saved
    loaded = load_pretrained(directory)
    assert loaded.config == model.config
    assert all(torch.equal(v, loaded.state_dict()[k]) for k, v in model.state_dict().items())
    assert MatcherSettings.load(directory) == MatcherSettings(threshold=0.4, temperature=1.5)


def test_half_precision_directory_is_half_the_bytes_and_loads_as_float32(saved):
    model, directory = saved
    save_pretrained(model, directory.parent / "half", half=True)
    size = (directory / "model.safetensors").stat().st_size
    assert (directory.parent / "half" / "model.safetensors").stat().st_size < 0.65 * size
    loaded = load_pretrained(directory.parent / "half")
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}
    batch = padded_batch(vocab=60, length=12)
    torch.testing.assert_close(loaded(**batch), model(**batch), rtol=2e-2, atol=2e-2)


def test_saving_over_a_directory_replaces_it_whole_and_leaves_no_partial(saved):
    model, directory = saved
    save_pretrained(model, directory)
    assert not (directory / "matcher.json").exists()
    assert [p.name for p in directory.parent.iterdir()] == ["m"]


def test_bare_encoder_gets_a_seeded_classifier(tmp_path):
    save_pretrained(build(SMALL_MOBILE, None, seed=0), tmp_path / "m")
    first, again = (load_pretrained(tmp_path / "m", num_labels=3, seed=5) for _ in range(2))
    assert first.classifier.weight.shape == (3, 32)
    assert torch.equal(first.classifier.weight, again.classifier.weight)


@pytest.mark.parametrize("config", [SMALL_BERT, SMALL_MOBILE], ids=["bert", "mobilebert"])
def test_a_pretrained_network_becomes_a_classifier_over_its_encoder(config, tmp_path):
    pretrained = randomise(build(config, "pretraining"), seed=3)
    save_pretrained(pretrained, tmp_path / "m")
    assert isinstance(load_pretrained(tmp_path / "m"), PretrainingHead)
    classifier = load_pretrained(tmp_path / "m", num_labels=3, seed=5)
    assert isinstance(classifier, PairClassifier)
    assert classifier.num_labels == 3
    own, given = classifier.encoder.state_dict(), pretrained.encoder.state_dict()
    assert own.keys() == given.keys()
    assert all(torch.equal(own[name], given[name]) for name in own)


def rewritten(directory, change):
    """The directory with other tensors."""
    from safetensors.torch import load_file, save_file

    path = directory / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    return directory


@pytest.mark.parametrize(
    "name",
    [
        "base_model.model.mobilebert.encoder.layer.0.attention.self.query.lora_A.weight",
        "mobilebert.encoder.layer.0.attention.self.query.lora_A.default.weight",
        "mobilebert.encoder.layer.0.output.adapters.task.adapter_down.0.weight",
        "mobilebert.encoder.layer.0.attention.self.distance_embedding.weight",
        "mobilebert.encoder.layer.0.attention.self.query.weight.absmax",
        "mobilebert.encoder.layer.0.attention.self.query.weight_scale",
        "mobilebert.embeddings.LayerNorm2.weight",
        "prompt_embeddings",
    ],
)
def test_weights_that_the_network_does_not_take_are_refused_by_name(saved, name):
    directory = rewritten(saved[1], lambda tensors: tensors.update({name: torch.ones(4, 4)}))
    last = re.escape(name.removeprefix("mobilebert."))
    with pytest.raises(ModelError, match=rf"holds 1 tensors that the network does not take.*{last}"):
        load_pretrained(directory)


@pytest.mark.parametrize("name", ["mobilebert.embeddings.position_ids", "mobilebert.pooler.dense.weight"])
def test_what_every_library_leaves_is_left(saved, name):
    load_pretrained(rewritten(saved[1], lambda tensors: tensors.setdefault(name, torch.ones(4, 4))))


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "complex64", "int32", "bool"])
def test_weights_of_other_number_types_are_refused(saved, kind):
    def change(tensors):
        name = sorted(name for name, tensor in tensors.items() if tensor.dim() == 2)[0]
        tensors[name] = tensors[name].to(getattr(torch, kind))

    with pytest.raises(ModelError, match=f"is {kind}; save the model in float32|damaged or truncated"):
        load_pretrained(rewritten(saved[1], change))


def test_a_quantised_model_is_refused(saved):
    path = saved[1] / "config.json"
    values = json.loads(path.read_text()) | {"quantization_config": {"quant_method": "bitsandbytes"}}
    path.write_text(json.dumps(values))
    with pytest.raises(ModelError, match="has a quantization_config"):
        load_pretrained(saved[1])


def test_tensorflow_norm_names_load(saved):
    from safetensors.torch import load_file, save_file

    model, directory = saved
    path = directory / "model.safetensors"
    renamed = {
        k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
        for k, v in load_file(path).items()
    }
    save_file(renamed, path)
    loaded = load_pretrained(directory).state_dict()
    assert all(torch.equal(v, loaded[k]) for k, v in model.state_dict().items())


def truncate(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])


def other_config(directory):
    values = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(values | {"intermediate_size": 48}))


def deeper_config(directory):
    values = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(values | {"num_hidden_layers": 5}))


def change(directory, **values):
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, "damaged or truncated"),
        (other_config, "has shape"),
        (deeper_config, "lacks .* tensors"),
        (shutil.rmtree, "no such file"),
        (lambda d: (d / "model.safetensors").unlink(), "no such file"),
        (lambda d: (d / "config.json").write_text("{"), "not a model config"),
        (lambda d: (d / "config.json").write_text('{"model_type": "gpt2"}'), "model_type is 'gpt2'"),
        (lambda d: (d / "config.json").write_text("[]"), "not a model config"),
        (lambda d: change(d, num_hidden_layers=1), "a layer that config.json does not have"),
        (lambda d: change(d, num_attention_heads=0), "num_attention_heads is 0; expected a whole number"),
        (lambda d: change(d, max_position_embeddings="128"), "max_position_embeddings is '128'"),
        (lambda d: change(d, layer_norm_eps="a"), "layer_norm_eps is 'a'; expected a number"),
        (lambda d: change(d, pad_token_id=-3), "pad_token_id is -3"),
    ],
)
def test_damaged_directories_are_named_errors(saved, damage, message):
    directory = saved[1]
    damage(directory)
    with pytest.raises(ModelError, match=message):
        load_pretrained(directory)


def test_damaged_settings_and_missing_tokenizer_are_named_errors(saved):
    model, directory = saved
    shift = {"quartiles": [0.1, 0.2, 0.5], "added": [0.0]}
    for damaged in (
        {"threshold": 1},
        {"labels": ["a", "b"], "length_shift": shift},
        {"labels": [], "length_shift": 7},
    ):
        (directory / "matcher.json").write_text(json.dumps(damaged))
        with pytest.raises(ModelError, match=r"not a matcher\.json"):
            MatcherSettings.load(directory)
    fine = {"labels": ["no", "yes"], "length_shift": shift | {"added": [0.0] * 4}}
    (directory / "matcher.json").write_text(json.dumps(fine))
    MatcherSettings.load(directory)
    for change in (
        {"positive": -1},
        {"positive": 2},
        {"positive": "yes"},
        {"positive": True},
        {"threshold": float("nan")},
        {"threshold": "0.5"},
        {"temperature": 0},
        {"temperature": "1"},
        {"temperature": 1e9},
        {"labels": "ab"},
        {"labels": ["a", "a"]},
        {"labels": [1, 2]},
        {"length_shift": {"quartiles": [3, 2, 1], "added": [0.0] * 4}},
        {"length_shift": {"quartiles": [0.1, "a", 1], "added": [0.0] * 4}},
    ):
        (directory / "matcher.json").write_text(json.dumps(fine | change))
        with pytest.raises(ModelError, match=r"not a matcher\.json"):
            MatcherSettings.load(directory)
    with pytest.raises(ModelError, match=r"needs vocab\.txt"):
        save_pretrained(model, directory.parent / "new", tokenizer_from=directory)
    assert not (directory.parent / "new").exists()
