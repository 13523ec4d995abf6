"""Promise: a directory that can't be exported gets one line, what it is and what is supported; exit 2."""

import json
import subprocess
import sys

import pytest

from mobilebert_export.pipeline.loading import load_model
from mobilebert_runtime.errors import ModelError, UserError
from tests.helpers.model_directories import model_directory
from tests.helpers.published_models import published

KINDS = "expected one of bert, mobilebert, albert, distilbert, roberta, xlm-roberta, electra, mpnet"
HEADS = "supported are classifiers of texts, of pairs and of tokens, span question answering, and"
CONFIGS = [
    ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, f"model_type is 'gpt2'; {KINDS}"),
    ({"model_type": "t5", "architectures": ["T5ForSequenceClassification"]}, f"model_type is 't5'; {KINDS}"),
    (
        {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
        f"holds the architecture 'BertForMaskedLM' of model_type 'bert', which has no .* head; {HEADS}",
    ),
    ({"model_type": "roberta"}, f"holds the architecture 'unnamed' of model_type 'roberta', .*; {HEADS}"),
    ({"model_type": "bert", "position_embedding_type": "relative_key"}, "only 'absolute' is supported"),
    (
        {"model_type": "electra", "architectures": ["ElectraForTokenClassification"]},
        "model.safetensors: no such file; a model directory needs config.json and model.safetensors",
    ),
]


@pytest.mark.parametrize(("config", "says"), CONFIGS)
def test_an_unsupported_directory_is_named(config, says, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=says) as error:
        load_model(str(tmp_path))
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


def test_the_program_says_it_on_one_line_and_leaves_nothing(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[0][0]))
    command = [sys.executable, "-m", "mobilebert_export", "export", "--model", str(tmp_path), "--out", "new"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "model_type is 'gpt2'" in done.stderr


def test_pairs_whose_types_transformers_would_not_feed_are_named(tmp_path):
    folder = model_directory(tmp_path / "model", "bert", "question-answering")
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text()) if path.is_file() else {}
    load_model(str(folder))
    path.write_text(json.dumps(settings | {"model_input_names": ["input_ids", "attention_mask"]}))
    with pytest.raises(ModelError, match="model_input_names leave out token_type_ids"):
        load_model(str(folder))
    single = model_directory(tmp_path / "single", "bert", "token-classification")
    (single / "tokenizer_config.json").write_bytes(path.read_bytes())
    assert load_model(str(single)).task.texts == 1  # one text is of type 0 in any case


def test_a_tokenizer_that_no_artefact_holds_is_named(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing

    folder = model_directory(tmp_path / "model", "bert", "token-classification")
    words = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    words.save(str(folder / "tokenizer.json"))
    with pytest.raises(UserError, match="splits texts in a way that is not supported; expected a BERT's"):
        load_model(str(folder))


def test_tensors_of_another_network_are_named(tmp_path):
    folder = model_directory(tmp_path / "model", "distilbert", "question-answering")
    published("distilbert", "ForQuestionAnswering", vocabulary=90).save_pretrained(tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").replace(folder / "model.safetensors")
    with pytest.raises(UserError, match=r"tensor '.*' has shape .*, config\.json asks for"):
        load_model(str(folder))
