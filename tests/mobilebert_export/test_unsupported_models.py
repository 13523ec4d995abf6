"""Promise: a directory that can't be exported gets one line, what it is and what is supported; exit 2."""

import json
import subprocess
import sys

import pytest

from mobilebert_export.pipeline.loading import load_model
from mobilebert_runtime.errors import UserError

KINDS = "expected one of bert, mobilebert, albert, distilbert, roberta, xlm-roberta, electra, mpnet, mod"
HEADS = "supported are classifiers of texts, of pairs and of tokens, span question answering, and"
DEBERTA = {
    "model_type": "deberta-v2",
    "architectures": ["DebertaV2Model"],
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": "p2c|c2p",
}
CONFIGS = [
    ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, f"model_type is 'gpt2'; {KINDS}"),
    (
        {"model_type": "modernbert", "rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
        "rope_type is 'yarn'; only 'default' is supported",
    ),
    ({"model_type": "modernbert", "mlp_bias": True}, "mlp_bias is True; only False is supported"),
    (
        {"model_type": "modernbert", "layer_types": ["full_attention"]},
        "names 1 layers, .*_layers is 22",
    ),
    *(
        (DEBERTA | wrong, says)
        for wrong, says in (
            ({"relative_attention": False}, "relative_attention is not true; only that is supported"),
            ({"position_biased_input": True}, "position_biased_input is not false; only that is"),
            ({"conv_kernel_size": 3}, "conv_kernel_size is 3; only 0 is supported"),
            ({"embedding_size": 128}, "embedding_size is 128; only 1536 is supported"),
            ({"attention_head_size": 32}, "attention_head_size is 32; only 64 is supported"),
            ({"pooler_hidden_size": 32}, "pooler_hidden_size is 32; only 1536 is supported"),
            ({"pos_att_type": "c2p|p2p"}, "pos_att_type is 'p2p'; expected one of c2p, p2c"),
            ({"pos_att_type": None}, "pos_att_type is None; expected one of c2p, p2c"),
            ({"norm_rel_ebd": "batch"}, "norm_rel_ebd is 'batch'; expected one of none, layer_norm"),
            ({"pooler_hidden_act": "mish"}, "pooler_hidden_act is 'mish'; expected one of gelu"),
            ({}, "holds the architecture 'DebertaV2Model' .*, which has no supported head"),
        )
    ),
    ({"model_type": "deberta-v2"}, "relative_attention is not true; only that is supported"),
    ({"model_type": "deberta", "architectures": ["DebertaModel"]}, f"is 'deberta'; {KINDS}"),
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
