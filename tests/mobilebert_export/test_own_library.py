"""Promise: an exported model answers as its own library, from text to answer, or is refused by name."""

import json

import pytest
import torch

import mobilebert_export as mb
from mobilebert_export.pipeline.artefact_folder import complete
from mobilebert_export.pipeline.card import artefact_card
from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.pipeline.targets import Target
from mobilebert_export.verification.library_answers import Library, compare_from_text
from mobilebert_export.verification.verify import VerificationError
from mobilebert_models import find_directory
from mobilebert_quantize.recipes import find_recipe
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.errors import ModelError, UserError
from tests.helpers import settings_folders
from tests.helpers.model_directories import embedder_directory, model_directory
from tests.helpers.settings_answers import OPTIONS, SEQ_LEN, compared, opened

# Words of which a refusal names one: what a setting is called where it stands.
NAMES = ("include_prompt", "truncation_side", "strip_accents", "do_lower_case", "tokenize_chinese_chars")
NAMES += ("ModernBertForQuestionAnswering",)
FOLDERS = 520
MODERNBERT, DEBERTA = 420, 480  # the folders from here on
BLOCK = 10


def chosen(number):
    """The folder of a number: first those that cover every pair of levels, then drawn ones."""
    if number >= MODERNBERT:
        kind = "deberta-v2" if number >= DEBERTA else "modernbert"
        return settings_folders.random_combination(number) | {"kind": kind}
    covering = settings_folders.combinations()
    return covering[number] if number < len(covering) else settings_folders.random_combination(number)


def check(found, combination):
    if isinstance(found, str):
        assert any(name in found for name in NAMES), (found, combination)
    else:
        assert found.texts >= 40
        assert found.largest <= found.allowed, combination
    return isinstance(found, str)


def refusals(numbers, folder):
    """How many folders of these numbers are refused; all others answer as their library."""
    count = 0
    for number in numbers:
        one = chosen(number)
        directory = settings_folders.write(folder / str(number), one, seed=number)
        count += check(compared(directory, one["task"], settings_folders.WORDS), one)
    return count


# Of the covering folders: every task, tokenizer and place of added tokens, and no refusal but one.
SAMPLE = (0, 2, 5, 7, 10, 14, 28, 41, 423, 440, 485, 494)


def test_a_sample_of_folders_answers_as_their_library(tmp_path):
    tasks = {chosen(number)["task"] for number in SAMPLE}
    assert len(tasks) >= 4
    assert refusals(SAMPLE, tmp_path) == 1


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("start", range(0, FOLDERS, BLOCK))
def test_every_folder_answers_as_its_library_or_is_refused_by_name(start, tmp_path):
    assert refusals(range(start, start + BLOCK), tmp_path) < BLOCK


def exported(folder, out, task, target):
    """The float artefact of a folder, without the steps that only measure."""
    model = load_model(str(folder), **OPTIONS.get(task, {}))
    recipe, writer = find_recipe(target, "none"), Target(target)
    length = min(SEQ_LEN, model.longest)
    card = artefact_card(model, recipe, (Bucket(length, writer.signature(length)),))
    out.mkdir()
    outputs = tuple(card.outputs(card.seq_len))
    writer.write_float(model.network, out / card.model_file, card.buckets, outputs, recipe)
    complete(out, card, model)
    return model, load(out)


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("target", ["onnx", "tflite"])
@pytest.mark.parametrize("start", range(0, FOLDERS, BLOCK))
def test_every_folder_is_exported_and_answers_as_its_library(start, target, tmp_path):
    for number in range(start, start + BLOCK):
        one = chosen(number)
        folder = settings_folders.write(tmp_path / str(number), one, seed=number)
        try:
            model, artefact = exported(folder, tmp_path / f"{number}-out", one["task"], target)
        except UserError as error:
            check(str(error), one)
            continue
        library = Library.load(model.folder, model.directory, model.task)
        check(compare_from_text(library, artefact, (*settings_folders.WORDS, *"abcdefghijklm")), one)


def change_words(folder, **numbers):
    path = folder / "tokenizer.json"
    data = json.loads(path.read_text())
    data["model"]["vocab"] |= numbers
    path.write_text(json.dumps(data))


def test_ids_with_gaps_or_beyond_the_network_are_refused_before_the_work(tmp_path):
    folder = model_directory(tmp_path / "model", "bert", "text-matching")
    last = max(
        json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"].items(), key=lambda one: one[1]
    )
    change_words(folder, **{last[0]: last[1] + 3})
    with pytest.raises(ModelError, match=rf"no entry has the number {last[1]}, though one has {last[1] + 3}"):
        load_model(str(folder))
    change_words(folder, **{last[0]: 5000})
    with pytest.raises(ModelError, match="the largest of number 5000, and the model has 608, from 0"):
        load_model(str(folder))


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201])
def test_a_class_name_that_no_runtime_reads_is_refused_before_the_work(name, tmp_path):
    folder = model_directory(tmp_path / "model", "bert", "token-classification")
    path = folder / "config.json"
    values = json.loads(path.read_text())
    values["id2label"]["2"] = name
    path.write_text(json.dumps(values))
    with pytest.raises(ModelError, match=r"rename it|give it a name of 1 to 200 printable"):
        opened(load_model(str(folder)))


def test_an_artefact_that_answers_otherwise_fails_the_export(tmp_path):
    folder = embedder_directory(tmp_path / "model", "bert")
    model = load_model(str(folder))
    library = Library.load(model.folder, model.directory, model.task)
    with torch.no_grad():
        model.network.encoder.embeddings.word_embeddings.weight[300:].mul_(1.01)
    found = compare_from_text(library, opened(model))
    with pytest.raises(
        VerificationError, match=r"differs from sentence-transformers .* a setting of the model"
    ):
        found.require_passed(folder)


@pytest.mark.parametrize("quant", ["none", "int8"])
def test_verify_asks_the_library_again(quant, tmp_path):
    folder = embedder_directory(tmp_path / "model", "bert")
    options = {"target": "onnx", "quant": quant, "seq_len": 32, "buckets": [32], "measure": False}
    made = mb.export(folder, tmp_path / "out", **options)
    steps = []
    assert mb.verify(made.path, folder, progress=steps.append).passed
    assert any("equals sentence-transformers" in step for step in steps)
    settings_folders.change(folder / "sentence_bert_config.json", max_seq_length=9)
    found = mb.verify(made.path, folder)
    assert len(found.failures) == 1
    assert "differs from sentence-transformers" in found.failures[0]


@pytest.mark.slow
def test_real_weights_answer_as_sentence_transformers():
    folder = find_directory("minilm")
    model = load_model("minilm")
    assert model.longest == 256  # of sentence_bert_config.json; the network and the tokenizer take 512
    library = Library.load(model.folder, model.directory, model.task)
    found = compare_from_text(library, opened(model, 256), settings_folders.WORDS)
    assert found.limit == 256
    assert found.largest <= found.allowed, folder
