"""Promise: a LoRA adapter answers as peft's model from text, or is refused by name."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForSequenceClassification

from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.verification.library_answers import Library, compare_from_text
from mobilebert_models import find_directory
from mobilebert_runtime.errors import ModelError
from tests.helpers.model_directories import TOKENIZERS, embedder_directory, model_directory, write_tokenizer
from tests.helpers.settings_answers import OPTIONS, opened
from tests.helpers.settings_folders import WORDS, change

RANK, ALPHA = 3, 5
CONFIG = {"peft_type": "LORA", "task_type": "SEQ_CLS", "lora_alpha": ALPHA, "r": RANK, "bias": "none"}
TARGETS = {"bert": ("query", "value"), "distilbert": ("q_lin", "lin1"), "mpnet": ("attn.q", "attn.o")}
TASK = "text-classification"


def adapter(folder, base, targets, whole=(), kind=AutoModelForSequenceClassification, **settings):
    """An adapter as peft writes one, of random numbers; the base's weights as they are with it."""
    model = kind.from_pretrained(base)
    draw = np.random.default_rng(0)
    tensors = {}
    config = CONFIG | {"base_model_name_or_path": str(base)} | settings
    for name, weight in model.named_parameters():
        module = name.removesuffix(".weight")
        if name.endswith(".weight") and module.endswith(targets):
            a = draw.normal(0, 0.3, (RANK, weight.shape[1])).astype(np.float32)
            b = draw.normal(0, 0.3, (weight.shape[0], RANK)).astype(np.float32)
            tensors |= {f"{module}.lora_A.weight": a, f"{module}.lora_B.weight": b}
            factor = ALPHA / RANK**0.5 if config.get("use_rslora") else ALPHA / RANK
            weight.data += torch.from_numpy(factor * (b @ a))
        elif whole and module.endswith(whole):
            tensors[name] = draw.normal(0, 0.5, weight.shape).astype(np.float32)
            weight.data.copy_(torch.from_numpy(tensors[name]))
    folder.mkdir(parents=True, exist_ok=True)
    change(folder / "adapter_config.json", **config)
    save_file(
        {f"base_model.model.{name}": torch.from_numpy(value) for name, value in tensors.items()},
        folder / "adapter_model.safetensors",
    )
    return model


def agreement(folder, reference, task=TASK):
    """Of an adapter's folder with another model directory, from text, read by its own library."""
    model, other = (load_model(str(one), **OPTIONS.get(task, {})) for one in (folder, reference))
    library = Library.load(other.folder, other.directory, other.task)
    return compare_from_text(library, opened(model), WORDS)


@pytest.mark.parametrize(("kind", "rslora"), [("bert", True), ("distilbert", False), ("mpnet", False)])
def test_an_adapter_answers_as_the_sum_of_its_matrices_and_the_base(kind, rslora, tmp_path):
    base = model_directory(tmp_path / "base", kind, TASK)
    model = adapter(tmp_path / "lora", base, TARGETS[kind], ("classifier",), use_rslora=rslora)
    model.save_pretrained(tmp_path / "whole")
    write_tokenizer(tmp_path / "whole", kind)
    found = agreement(tmp_path / "lora", tmp_path / "whole")
    assert found.largest <= found.allowed
    plain = agreement(base, tmp_path / "whole")
    assert plain.largest > 100 * plain.allowed  # the adapter is no small change


def test_an_adapter_of_sentence_transformers_and_one_beside_its_base(tmp_path):
    base = embedder_directory(tmp_path / "base", "bert")
    folder = tmp_path / "lora"
    shutil.copytree(base, folder, ignore=shutil.ignore_patterns("config.json", "model.safetensors"))
    shutil.copytree(base / "1_Pooling", folder / "1_Pooling", dirs_exist_ok=True)
    whole = shutil.copytree(base, tmp_path / "whole")
    adapter(folder, base, TARGETS["bert"], kind=AutoModel, task_type="FEATURE_EXTRACTION").save_pretrained(
        whole
    )
    assert agreement(folder, whole, "sentence-embedding").largest < 1e-5
    beside = shutil.copytree(base, tmp_path / "beside")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copyfile(folder / name, beside / name)
    change(beside / "adapter_config.json", base_model_name_or_path="another/model")
    assert agreement(beside, whole, "sentence-embedding").largest < 1e-5
    assert load_model(str(beside)).source == load_model(str(folder)).source | {"name": "beside"}


def test_a_head_of_the_adapter_counts_before_the_bases(tmp_path):
    base = embedder_directory(tmp_path / "base", "bert")
    folder = tmp_path / "lora"
    adapter(folder, base, TARGETS["bert"], kind=AutoModel)
    path = folder / "adapter_model.safetensors"
    tensors = {name.replace("model.enc", "model.bert.enc"): one for name, one in load_file(path).items()}
    save_file(tensors, path)
    with pytest.raises(ModelError, match=r"has 'classifier.bias', so nothing says .* modules_to_save"):
        load_model(str(folder))
    tensors["base_model.model.classifier.weight"] = torch.ones(5, 32)
    tensors["base_model.model.classifier.bias"] = torch.arange(5.0)
    save_file(tensors, path)
    model = load_model(str(folder), task=TASK, texts=1)
    assert model.network.classifier.bias.tolist() == [0, 1, 2, 3, 4]
    assert model.task.labels == tuple(f"LABEL_{i}" for i in range(5))


@pytest.fixture(scope="module")
def lora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapters")
    base = model_directory(folder / "base", "bert", TASK)
    adapter(folder / "lora", base, TARGETS["bert"])
    return folder / "lora"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"peft_type": "IA3"}, r'peft_type is "IA3", which is not applied; only LoRA .*merge_and_unload'),
        ({"use_dora": True}, "use_dora is true"),
        ({"bias": "all"}, 'bias is "all"'),
        ({"alpha_pattern": {"query": 4}}, "alpha_pattern is"),
        ({"init_lora_weights": "pissa"}, 'init_lora_weights is "pissa".*changes the base model'),
        ({"new_kind_of_sum": 2}, "new_kind_of_sum is 2, which is not known"),
        ({"task_type": "CAUSAL_LM"}, "task_type is 'CAUSAL_LM'; supported are SEQ_CLS, TOKEN_CLS"),
        ({"base_model_name_or_path": "nowhere"}, "base_model_name_or_path is 'nowhere', and there is no"),
        ({"lora_alpha": "x"}, 'lora_alpha is "x"; expected a number'),
    ],
)
def test_an_adapter_that_is_no_plain_lora_is_refused_by_name(lora, values, says, tmp_path):
    folder = shutil.copytree(lora, tmp_path / "lora")
    change(folder / "adapter_config.json", new_and_empty=None, **values)
    with pytest.raises(ModelError, match=says):
        load_model(str(folder), **OPTIONS[TASK])


@pytest.mark.parametrize(
    ("change_names", "says"),
    [
        (lambda name: name.replace("lora_A.weight", "lora_magnitude_vector"), "has no place in the base"),
        (lambda name: name.replace("lora_A.weight", "lora_embedding_A"), "has no place in the base model"),
        (lambda name: name.replace("layer.1", "layer.7"), "no pair that fits a linear layer"),
        (lambda name: name.replace("base_model.", ""), "is none of an adapter"),
    ],
)
def test_matrices_without_a_place_are_refused(lora, change_names, says, tmp_path):
    folder = shutil.copytree(lora, tmp_path / "lora")
    path = folder / "adapter_model.safetensors"
    save_file({change_names(name): one for name, one in load_file(path).items()}, path)
    with pytest.raises(ModelError, match=says):
        load_model(str(folder), **OPTIONS[TASK])
    path.write_bytes(b"no tensors")
    with pytest.raises(ModelError, match="damaged or truncated"):
        find_directory(str(folder))
    path.unlink()
    with pytest.raises(ModelError, match=r"adapter_model.safetensors: no such file"):
        find_directory(str(folder))


# What peft is asked for beside plain LoRA, each merged.
PEFT = [
    {},
    {"use_rslora": True, "fan_in_fan_out": True, "lora_dropout": 0.5},
    {"rank_pattern": {"dense|lin1|ffn": 2}},
    {"exclude_modules": ["dense"], "init_lora_weights": "gaussian"},
]


@pytest.mark.parametrize("options", PEFT)
@pytest.mark.parametrize("kind", ["bert", *(pytest.param(k, marks=pytest.mark.slow) for k in TOKENIZERS)])
def test_an_adapter_answers_as_peft(kind, options, tmp_path):
    peft = pytest.importorskip("peft", reason="needs peft, which is the reference of adapters")
    base = model_directory(tmp_path / "base", kind, TASK)
    model = AutoModelForSequenceClassification.from_pretrained(base)
    linear = {name.rpartition(".")[2] for name, one in model.named_modules() if type(one) is torch.nn.Linear}
    targets = sorted(linear - {"classifier", "out_proj", "pre_classifier"})
    config = peft.LoraConfig(**{"task_type": "SEQ_CLS", "r": 4, "target_modules": targets} | options)
    tuned = peft.get_peft_model(model, config)
    torch.manual_seed(1)
    for weight in tuned.parameters():
        if weight.requires_grad:
            torch.nn.init.normal_(weight, std=0.1)  # more makes some networks chaotic
    folder = tmp_path / "lora"
    tuned.save_pretrained(folder)
    write_tokenizer(folder, kind)
    assert json.loads((folder / "adapter_config.json").read_text())["peft_type"] == "LORA"
    artefact = load_model(str(folder), **OPTIONS[TASK])
    library = Library.load(folder, folder, artefact.task)  # by peft, around the base
    found = compare_from_text(library, opened(artefact), WORDS)
    assert found.largest <= found.allowed
