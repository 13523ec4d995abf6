"""Promise of models/: the networks are the papers', to the parameter and to `transformers`' last digits."""

from dataclasses import replace

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from mobilebert_models import (
    PRESETS,
    EncoderConfig,
    build,
    inventory,
    load_pretrained,
    preset,
    save_pretrained,
)
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import (
    SMALL_BERT,
    SMALL_MOBILE,
    TINY,
    padded_batch,
    randomise,
    relative_difference,
)

PUBLISHED = {
    # Table 1 of MobileBERT, in millions; counted without task heads.
    "bert-base": 109,
    "bert-large": 334,
    "ib-bert-large": 293,
    "mobilebert-table1": 25.3,
}


# Table 2 of MobileBERT: inter- and intra-block size, heads, millions of parameters of the teachers searched.
TEACHERS = [
    (1024, 1024, 16, 356),
    (768, 1024, 16, 325),
    (512, 1024, 16, 293),
    (384, 1024, 16, 276),
    (256, 1024, 16, 262),
    (512, 1024, 4, 293),
    (512, 512, 4, 92),
    (512, 256, 4, 33),
    (512, 128, 4, 15),
]
# Table 3: intra-block size, heads, stacked networks; millions of parameters in attention and in the networks.
STUDENTS = [(192, 6, 1, 8, 7), (160, 5, 2, 6.5, 10), (128, 4, 4, 5, 12.5), (96, 3, 8, 4, 14)]


@pytest.mark.parametrize(("inter", "intra", "heads", "millions"), TEACHERS)
def test_searched_teachers_have_the_published_size(inter, intra, heads, millions):
    config = replace(
        preset("ib-bert-large"),
        hidden_size=inter,
        intra_bottleneck_size=intra,
        num_attention_heads=heads,
        intermediate_size=4 * intra,
    )
    assert inventory(config)["parameters"]["total"] / 1e6 == pytest.approx(millions, rel=0.01, abs=1.5)


@pytest.mark.parametrize(("intra", "heads", "networks", "attention", "feed_forward"), STUDENTS)
def test_searched_students_have_the_published_parts_and_run(intra, heads, networks, attention, feed_forward):
    config = replace(
        preset("mobilebert-table1"),
        intra_bottleneck_size=intra,
        num_attention_heads=heads,
        num_feedforward_networks=networks,
        intermediate_size=4 * intra,
    )
    parts = inventory(config)["parameters"]
    assert parts["attention"] / 1e6 == pytest.approx(attention, abs=0.3)
    assert parts["feed_forward"] / 1e6 == pytest.approx(feed_forward, abs=0.3)
    small = build(replace(config, num_hidden_layers=2, vocab_size=50), seed=0)
    ids = torch.arange(8)[None]
    assert small(ids, torch.ones_like(ids), torch.zeros_like(ids)).shape == (1, 2)


@pytest.mark.parametrize(("name", "millions"), PUBLISHED.items())
def test_parameter_count_is_within_half_a_percent_of_table_1(name, millions):
    assert inventory(preset(name))["parameters"]["total"] == pytest.approx(millions * 1e6, rel=0.005)


def test_published_mobilebert_differs_from_table_1_by_its_shared_key_query_bottleneck():
    drawn, published = (
        inventory(preset(n))["parameters"]["total"] for n in ("mobilebert-table1", "mobilebert")
    )
    assert published == 24_581_888  # what Google's encoder counts
    shared_bottleneck = 512 * 128 + 128 + 2 * 128  # map, bias, NoNorm
    narrower_query_and_key = 2 * (512 - 128) * 128
    assert drawn - published == 24 * (narrower_query_and_key - shared_bottleneck)


def test_tiny_15_1m_of_table_1_are_its_matrices():
    total = inventory(preset("mobilebert-tiny"))["parameters"]["total"]
    assert total == 15_485_696  # what Google's encoder counts
    with torch.device("meta"):
        tensors = dict(build(preset("mobilebert-tiny"), None).named_parameters())
    rest = {k: v for k, v in tensors.items() if v.dim() == 1 or "position" in k or "token_type" in k}
    matrices = total - sum(v.numel() for v in rest.values())
    assert matrices == 15_113_472  # word embeddings, convolution and linear maps: the paper's 15.1M
    positions_and_types, biases_and_norms = 512 * 512 + 2 * 512, 109_056
    assert total - matrices == positions_and_types + biases_and_norms


@pytest.mark.parametrize("name", ["bert-base", "mobilebert", "mobilebert-table1", "mobilebert-tiny"])
def test_macs_equal_torchs_flop_counter(name):
    config = replace(preset(name), num_hidden_layers=2, vocab_size=100)
    model = build(config, None)
    with FlopCounterMode(display=False) as counter:
        model(**padded_batch(vocab=100, length=64))
    # Torch counts two operations a multiply-accumulate, over the three sequences of the batch.
    assert 3 * 2 * inventory(config, seq_len=64)["macs"] == counter.get_total_flops()


def their_class(config):
    prefix = {"bert": "Bert", "mobilebert": "MobileBert"}[config.model_type]
    return getattr(transformers, f"{prefix}ForSequenceClassification"), getattr(
        transformers, f"{prefix}Config"
    )


@pytest.mark.parametrize("name", ["bert-base", "mobilebert", "mobilebert-tiny", "mobilebert-without-opt"])
def test_full_size_models_equal_transformers_with_weights_from_us(name, tmp_path):
    model = randomise(build(preset(name), seed=1))
    save_pretrained(model, tmp_path / "m")
    theirs = their_class(model.config)[0].from_pretrained(tmp_path / "m", attn_implementation="eager").eval()
    if name == "mobilebert-without-opt":
        # `transformers` does not pass the config's epsilon to two of its norms.
        for module in theirs.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.eps = model.config.layer_norm_eps
    batch = padded_batch()
    with torch.no_grad():
        assert relative_difference(model(**batch), theirs(**batch).logits) <= 1e-5
        ours = model.encoder(**batch, capture=True)
        states = theirs.base_model(**batch, output_hidden_states=True).hidden_states
    for mine, yours in zip(ours.hidden_states, states, strict=True):
        real = batch["attention_mask"].bool()  # padded positions hold what nobody reads
        assert relative_difference(mine[real], yours[real]) <= 1e-5


@pytest.mark.parametrize("name", ["bert-base", "mobilebert", "mobilebert-tiny"])
def test_full_size_models_equal_transformers_with_weights_from_them(name, tmp_path):
    theirs_class, config_class = their_class(preset(name))
    torch.manual_seed(2)
    theirs = randomise(theirs_class(config_class.from_dict(preset(name).to_dict()))).eval()
    theirs.save_pretrained(tmp_path / "m")
    model = load_pretrained(tmp_path / "m")
    assert model.config == replace(preset(name))
    batch = padded_batch(seed=3)
    with torch.no_grad():
        assert relative_difference(model(**batch), theirs(**batch).logits) <= 1e-5


BOTH = pytest.mark.parametrize(("config", "family"), [(SMALL_BERT, "Bert"), (SMALL_MOBILE, "MobileBert")])


def ours_and_theirs(config, head, theirs_class, directory):
    """A random model of ours, and the `transformers` class that loaded its directory."""
    model = randomise(build(config, head, seed=0))
    save_pretrained(model, directory)
    loader = getattr(transformers, theirs_class)
    return model, loader.from_pretrained(directory, attn_implementation="eager").eval()


@BOTH
def test_pretraining_heads_equal_transformers(config, family, tmp_path):
    model, theirs = ours_and_theirs(config, "pretraining", f"{family}ForPreTraining", tmp_path / "m")
    batch = padded_batch(vocab=60, length=16)
    with torch.no_grad():
        words, following = model(**batch)
        expected = theirs(**batch)
    real = batch["attention_mask"].bool()
    assert relative_difference(words[real], expected.prediction_logits[real]) <= 1e-5
    assert relative_difference(following, expected.seq_relationship_logits) <= 1e-5


@BOTH
def test_span_heads_equal_transformers(config, family, tmp_path):
    model, theirs = ours_and_theirs(config, "span_qa", f"{family}ForQuestionAnswering", tmp_path / "m")
    batch = padded_batch(vocab=60, length=16)
    with torch.no_grad():
        spans, expected = model(**batch), theirs(**batch)
    real = batch["attention_mask"].bool()
    assert relative_difference(spans[..., 0][real], expected.start_logits[real]) <= 1e-5
    assert relative_difference(spans[..., 1][real], expected.end_logits[real]) <= 1e-5


def test_inverted_bottleneck_is_wider_inside():
    config = replace(
        preset("ib-bert-large"),
        hidden_size=32,
        intra_bottleneck_size=64,
        embedding_size=8,
        intermediate_size=96,
        **TINY,
    )
    out = build(config, None)(**padded_batch(vocab=60, length=16), capture=True)
    assert out.last_hidden_state.shape == (3, 16, 32)
    assert len(out.hidden_states) == 3
    assert out.attention_scores[0].shape == (3, 4, 16, 16)


@pytest.mark.parametrize("name", ["bert-base", "mobilebert", "mobilebert-tiny", "matcher-m"])
def test_padding_cannot_change_a_result(name):
    config = replace(preset(name), num_hidden_layers=2, vocab_size=100)
    model = randomise(build(config, seed=0))
    with torch.no_grad():  # even where the table's pad row is not zero and pad ids are garbage
        model.encoder.embeddings.word_embeddings.weight[0].fill_(3.0)
    batch = padded_batch(vocab=100, length=32)
    alone = {k: v[1:2, :16] for k, v in batch.items()}
    batch["input_ids"] = torch.where(batch["attention_mask"].bool(), batch["input_ids"], 77)
    with torch.no_grad():
        padded, expected = model(**batch)[1:2], model(**alone)
    torch.testing.assert_close(padded, expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    heads=st.sampled_from([1, 2, 4]),
    width=st.sampled_from([8, 16]),
    stacked=st.integers(1, 4),
    reduced=st.booleans(),
    shared=st.booleans(),
)
def test_any_bottleneck_shape_runs(heads, width, stacked, reduced, shared):
    config = replace(
        SMALL_MOBILE,
        num_attention_heads=heads,
        intra_bottleneck_size=width,
        num_feedforward_networks=stacked,
        use_bottleneck_attention=reduced,
        key_query_shared_bottleneck=shared,
    )
    assert build(config)(**padded_batch(vocab=60, length=12)).shape == (3, 2)


def test_every_preset_builds():
    for name, config in PRESETS.items():
        with torch.device("meta"):
            counted = sum(p.numel() for p in build(config, None).parameters())
        assert inventory(config)["parameters"]["total"] == counted, name


def test_unknown_names_are_errors():
    with pytest.raises(ModelError, match=r"'swish'.*expected one of gelu, gelu_new, gelu_pytorch_tanh, relu"):
        EncoderConfig(hidden_act="swish")
    with pytest.raises(ModelError, match="preset 'mobilbert' is unknown"):
        preset("mobilbert")
    with pytest.raises(ModelError, match="head 'ner' is unknown"):
        build(SMALL_MOBILE, "ner")
    with pytest.raises(ModelError, match="does not divide"):
        EncoderConfig(num_attention_heads=7)
    with pytest.raises(ModelError, match="has layer_norm and no kronecker rules"):
        EncoderConfig(model_type="albert", normalization_type="no_norm")
    with pytest.raises(ModelError, match="position_embedding_type"):
        EncoderConfig.from_dict({"model_type": "bert", "position_embedding_type": "relative_key"})
