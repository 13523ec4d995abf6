"""Promise: folders of the kinds that people have answer as their library does, or are refused by name."""

import json
import shutil

import numpy as np
import pytest
import torch

from mobilebert_export.pipeline.loading import load_model
from mobilebert_runtime.errors import ModelError
from tests.helpers.model_directories import embedder_directory, model_directory, sized, write_tokenizer
from tests.helpers.settings_answers import OPTIONS, compared, opened
from tests.helpers.settings_folders import WORDS, change

TEXTS = ("How old is the Moon?", "x", "Ada Lovelace was born in London in 1815")
PAIRS = (("How old is the Moon?", "The Moon is old."), ("x", "y z"), ("Ada Lovelace", "born in London"))
TASK = "text-classification"


class Sigmoid(torch.nn.Module):
    """An activation of one's own, by a name that PyTorch has."""

    def forward(self, x):
        return x.sigmoid() / 2


def cross_encoder(folder, labels, activation):
    from sentence_transformers import CrossEncoder

    source = model_directory(folder / "source", "bert", "one-logit" if labels == 1 else TASK)
    CrossEncoder(str(source), device="cpu", activation_fn=activation).save(str(folder / "model"))
    return folder / "model"


@pytest.mark.parametrize(
    ("labels", "activation"),
    [(1, torch.nn.Sigmoid()), (1, torch.nn.Identity()), (3, torch.nn.Sigmoid()), (3, torch.nn.Softmax(-1))],
)
def test_a_cross_encoder_scores_as_predict(labels, activation, tmp_path):
    from sentence_transformers import CrossEncoder

    folder = cross_encoder(tmp_path, labels, activation)
    if isinstance(activation, torch.nn.Softmax):  # whose axis the folder does not say
        change(folder / "config_sentence_transformers.json", activation_fn="torch.nn.modules.Softmax")
    model = load_model(str(folder))
    artefact = opened(model)
    library = CrossEncoder(str(folder), device="cpu", activation_fn=activation)
    expected = library.predict(list(PAIRS), batch_size=1, show_progress_bar=False)
    if labels == 1:
        found = artefact.score(PAIRS)
    else:
        found = [[one[name] for name in model.task.labels] for one in artefact.classify(PAIRS)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("activation", [torch.nn.Tanh(), torch.nn.ReLU(), Sigmoid()])
def test_another_activation_of_a_cross_encoder_is_refused(activation, tmp_path):
    with pytest.raises(ModelError, match=r"activation_fn is '.*', which is not supported; expected Identity"):
        load_model(str(cross_encoder(tmp_path, 1, activation)))


@pytest.mark.parametrize("task", ["multi-label", "regression", TASK])
def test_a_classifier_scores_as_the_pipeline(task, tmp_path):
    import transformers

    folder = model_directory(tmp_path / "model", "roberta", task)
    found = opened(load_model(str(folder), **OPTIONS[task])).classify(TEXTS)
    pipeline = transformers.pipeline("text-classification", model=str(folder), top_k=None)
    for text, one in zip(TEXTS, found, strict=True):
        expected = {row["label"]: row["score"] for row in pipeline([text])[0]}
        assert one == pytest.approx(expected, abs=1e-5)


def saved(folder, change_model=lambda model: model, **options):
    change_model(sized("bert", "ForSequenceClassification")).save_pretrained(folder, **options)
    write_tokenizer(folder, "bert")
    return folder


def test_weights_in_half_precision_are_read_and_other_files_of_weights_are_named(tmp_path):
    for kind in (torch.float16, torch.bfloat16):
        folder = saved(tmp_path / str(kind), lambda model, kind=kind: model.to(kind))
        found = compared(folder, TASK, WORDS)
        assert found.largest <= found.allowed
    shards = saved(tmp_path / "shards", max_shard_size="30KB")
    assert "model.safetensors.index.json says its weights are stored" in compared(shards, TASK)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "pytorch_model.bin says its weights are stored otherwise; save it again" in compared(folder, TASK)


def test_a_post_processor_of_its_own_and_a_chat_template(tmp_path):
    folder = saved(tmp_path / "model")
    data = json.loads((folder / "tokenizer.json").read_text())
    mask = {"id": "[MASK]", "ids": [4], "tokens": ["[MASK]"]}
    data["post_processor"]["special_tokens"]["[MASK]"] = mask
    data["post_processor"]["single"].insert(1, {"SpecialToken": {"id": "[MASK]", "type_id": 0}})
    (folder / "tokenizer.json").write_text(json.dumps(data))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    found = compared(folder, TASK, WORDS)
    assert found.largest <= found.allowed


def modules():
    from sentence_transformers import models as st

    return {
        "LayerNorm": st.LayerNorm(32),
        "Dropout": st.Dropout(0.5),
        "GELU": st.Dense(32, 16, activation_function=torch.nn.GELU()),
        "Sigmoid": st.Dense(32, 16, activation_function=torch.nn.Sigmoid()),
        "weightedmean": st.Pooling(32, pooling_mode="weightedmean"),
        "lasttoken": st.Pooling(32, pooling_mode="lasttoken"),
    }


@pytest.mark.parametrize("name", ["LayerNorm", "Dropout", "GELU", "Sigmoid", "weightedmean", "lasttoken"])
def test_modules_that_no_artefact_has_are_named(name, tmp_path):
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(embedder_directory(tmp_path / "model", "bert", normalized=False)))
    module = modules()[name]
    parts = [library[0], module] if name in ("weightedmean", "lasttoken") else [*library, module]
    SentenceTransformer(modules=parts).save(str(tmp_path / "own"))
    with pytest.raises(ModelError, match=rf"{name}.*(supported|expected)"):
        load_model(str(tmp_path / "own"))


def test_the_layout_of_older_versions_answers_as_its_library(tmp_path):
    folder = embedder_directory(tmp_path / "model", "bert")
    inner = folder / "0_Transformer"
    inner.mkdir()
    for path in [*folder.glob("*oken*.json"), folder / "config.json", folder / "model.safetensors"]:
        shutil.move(path, inner)
    shutil.move(folder / "sentence_bert_config.json", inner)
    rows = json.loads((folder / "modules.json").read_text())
    rows[0]["path"] = inner.name
    (folder / "modules.json").write_text(json.dumps(rows))
    found = compared(folder, "sentence-embedding", WORDS)
    assert found.largest <= found.allowed
