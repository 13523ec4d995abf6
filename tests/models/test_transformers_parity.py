"""Promise: every architecture and head says what the class of `transformers` says, in both directions."""

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from mobilebert_models import EncoderConfig, load_pretrained, save_pretrained
from mobilebert_models.networks.deberta import vector_of
from mobilebert_models.networks.relative_positions import constant_bias
from mobilebert_quantize.algebra.last_layer import first_row_only
from tests.helpers.networks import relative_difference
from tests.helpers.published_models import ARCHITECTURES, HEADS, LENGTHS, padded_batch, published

# What the config.json of a published DeBERTa-v3 says of positions.
DEBERTA_V3 = {
    "model_type": "deberta-v2",
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": "p2c|c2p",
    "max_relative_positions": -1,
    "position_biased_input": False,
}
CELLS = [(kind, head) for kind in ARCHITECTURES for head in HEADS]
CELLS.remove(("modernbert", "ForQuestionAnswering"))  # refused


def theirs_of(model, batch, head):
    with torch.inference_mode():
        out = model(**{name: batch[name] for name in model_inputs(model, batch)})
    if head == "Model":
        return out.last_hidden_state
    return (
        torch.stack([out.start_logits, out.end_logits], -1) if head == "ForQuestionAnswering" else out.logits
    )


def model_inputs(model, batch):
    reads_types = getattr(model.config, "type_vocab_size", 0) > 1
    return [name for name in batch if name != "token_type_ids" or reads_types]


def ours_of(model, batch):
    with torch.inference_mode():
        out = model(*(batch[name] for name in model.config.input_names))
    return getattr(out, "last_hidden_state", out)


def real(values):
    """Rows of real tokens; a value per text as it is."""
    return (
        torch.cat([row[:n] for row, n in zip(values, LENGTHS, strict=True)]) if values.dim() == 3 else values
    )


@pytest.mark.parametrize(("kind", "head"), CELLS)
def test_a_published_model_loads_as_the_same_function_and_goes_back(kind, head, tmp_path):
    theirs = published(kind, head, seed=1)
    theirs.save_pretrained(tmp_path / "theirs")
    batch = padded_batch(theirs.config, seed=2)
    expected = real(theirs_of(theirs, batch, head))
    ours = load_pretrained(tmp_path / "theirs")
    assert relative_difference(real(ours_of(ours, batch)), expected) < 1e-5
    assert ours.config.model_type == kind

    save_pretrained(ours, tmp_path / "ours")
    again, found = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    assert not found["mismatched_keys"]
    assert relative_difference(real(theirs_of(again.eval(), batch, head)), expected) < 1e-6
    kept = transformers.AutoConfig.from_pretrained(tmp_path / "ours")
    assert {name: getattr(kept, name) for name in ARCHITECTURES[kind]} == ARCHITECTURES[kind]


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "mpnet", "bert"])
def test_a_token_of_padding_inside_a_text_counts_as_there(kind, tmp_path):
    theirs = published(kind, "ForTokenClassification", seed=3)
    theirs.save_pretrained(tmp_path)
    batch = padded_batch(theirs.config, seed=4)
    batch["input_ids"][:2, 4:9:2] = theirs.config.pad_token_id  # the mask says that they are read
    expected = real(theirs_of(theirs, batch, "ForTokenClassification"))
    ours = real(ours_of(load_pretrained(tmp_path), batch))
    assert relative_difference(ours, expected) < 1e-5


@pytest.mark.parametrize("kind", ["roberta", "mpnet", "modernbert", "deberta-v2"])
def test_rows_that_are_not_read_may_be_left_out_of_the_last_layer(kind, tmp_path):
    theirs = published(kind, "ForSequenceClassification", seed=3)
    theirs.save_pretrained(tmp_path)
    batch = padded_batch(theirs.config, seed=4)
    ours = load_pretrained(tmp_path)
    whole = ours_of(ours, batch)
    ours.encoder.last_rows = 1
    torch.testing.assert_close(ours_of(ours, batch), whole, rtol=1e-5, atol=1e-6)


def test_a_modernbert_may_classify_by_the_mean_of_its_tokens(tmp_path):
    theirs = published("modernbert", "ForSequenceClassification", seed=5, classifier_pooling="mean")
    theirs.save_pretrained(tmp_path)
    batch = padded_batch(theirs.config, seed=6)
    ours = load_pretrained(tmp_path)
    expected = theirs_of(theirs, batch, "ForSequenceClassification")
    assert relative_difference(ours_of(ours, batch), expected) < 1e-5
    _, skipped = first_row_only(ours)
    assert skipped == ["the head reads every row"]
    assert relative_difference(ours_of(ours, batch), expected) < 1e-5


def test_a_modernbert_of_transformers_4_is_read_as_one_of_5():
    old = {"model_type": "modernbert", "num_hidden_layers": 4, "global_attn_every_n_layers": 2}
    old |= {"global_rope_theta": 500.0, "local_rope_theta": 100.0, "classifier_activation": "gelu"}
    new = transformers.ModernBertConfig(**{k: v for k, v in old.items() if k != "model_type"}).to_dict()
    assert EncoderConfig.from_dict(new) == EncoderConfig.from_dict(old)
    assert new["rope_parameters"]["sliding_attention"]["rope_theta"] == 100
    assert EncoderConfig.from_dict(old).layer_types == tuple(new["layer_types"])


DEBERTAS = [
    {"share_att_key": False},
    {"share_att_key": False, "pos_att_type": ["c2p"]},
    {"pos_att_type": "P2C | c2p"},
    {"pos_att_type": "p2c|p2c"},
    {"position_buckets": -1, "norm_rel_ebd": "none"},
    {"position_buckets": -1, "max_relative_positions": 9},
    {"max_relative_positions": 12},
    {"type_vocab_size": 1},
    {"type_vocab_size": 2},
    {"pooler_hidden_act": "tanh", "num_attention_heads": 2},
]


@pytest.mark.parametrize("options", DEBERTAS)
def test_every_kind_of_deberta_is_the_librarys(options, tmp_path):
    theirs = published("deberta-v2", "ForSequenceClassification", seed=7, **options)
    theirs.save_pretrained(tmp_path / "theirs")
    batch = padded_batch(theirs.config, seed=8)
    expected = theirs_of(theirs, batch, "ForSequenceClassification")
    ours = load_pretrained(tmp_path / "theirs")
    assert relative_difference(ours_of(ours, batch), expected) < 1e-5
    ours.encoder.last_rows = 1
    with constant_bias(ours, 37):
        assert relative_difference(ours_of(ours, batch), expected) < 1e-5
    save_pretrained(ours, tmp_path / "ours")
    again = type(theirs).from_pretrained(tmp_path / "ours").eval()
    assert relative_difference(theirs_of(again, batch, "ForSequenceClassification"), expected) < 1e-6


def test_absolute_positions_in_the_file_of_a_deberta_are_left_as_the_library_leaves_them(tmp_path):
    theirs = published("deberta-v2", "ForSequenceClassification", seed=7)
    theirs.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["deberta.embeddings.position_embeddings.weight"] = torch.ones(40, 32)
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    batch = padded_batch(theirs.config, seed=8)
    again = type(theirs).from_pretrained(tmp_path).eval()
    expected = theirs_of(again, batch, "ForSequenceClassification")
    assert relative_difference(ours_of(load_pretrained(tmp_path), batch), expected) < 1e-5


def test_the_distances_of_a_deberta_fall_into_the_librarys_buckets():
    from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position

    row = torch.empty(600, 1)
    expected = build_relative_position(row, row, bucket_size=256, max_position=512)[0]
    config = EncoderConfig.from_dict(DEBERTA_V3)
    distances = torch.arange(600)[:, None] - torch.arange(600)[None, :]
    assert torch.equal(vector_of(distances, config), (expected + 256).clamp(0, 511))


def test_relative_positions_fall_into_the_buckets_of_mpnet():
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    from mobilebert_models.networks.relative_positions import distance_buckets

    places = torch.arange(300)
    expected = MPNetEncoder.relative_position_bucket(places[None, :] - places[:, None])
    assert torch.equal(distance_buckets(300, 32), expected)
