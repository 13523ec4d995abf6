"""Promise of ALBERT: `transformers`' network and names, the paper's sharing, in every file once."""

from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file

from mobilebert_models import EncoderConfig, build, inventory, load_pretrained, preset, save_pretrained
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import SMALL_ALBERT as SMALL
from tests.helpers.networks import padded_batch, randomise, relative_difference

BASE = preset("albert-base")
PRESETS = ["albert-base", "albert-large", "albert-xlarge", "albert-xxlarge"]


def theirs_of(config, kind="Model"):
    values = {k: v for k, v in config.to_dict().items() if k != "model_type"}
    with torch.device("meta"):
        return getattr(transformers, f"Albert{kind}")(transformers.AlbertConfig(**values))


def millions(config):
    return inventory(config)["parameters"]["total"] / 1e6


@pytest.mark.parametrize("name", PRESETS)
def test_presets_count_what_transformers_counts(name):
    assert inventory(preset(name))["parameters"]["total"] == theirs_of(preset(name)).num_parameters()


@pytest.mark.parametrize(("name", "printed"), [("albert-base", 12), ("albert-large", 18)])
def test_base_and_large_are_table_1_to_its_last_digit(name, printed):
    assert round(millions(preset(name))) == printed


def test_where_table_1_is_not_the_network_it_describes():
    # The paper counts H = 4096 three times, always with all layers shared, so that depth adds nothing: 235M
    # (Table 1), 233M (section 3.2) and 225M (Table 12). The network has 222.6M, term by term:
    v, e, h = 30000, 128, 4096
    embeddings = v * e + 512 * e + 2 * e + 2 * e + e * h + h
    layer = 4 * (h * h + h) + (h * 4 * h + 4 * h) + (4 * h * h + h) + 2 * 2 * h
    pooler = h * h + h
    assert inventory(preset("albert-xxlarge"))["parameters"]["total"] == embeddings + layer + pooler
    assert embeddings + layer + pooler == 222_595_584
    assert 58.7 < millions(preset("albert-xlarge")) < 58.8  # printed as 60M in Tables 1 and 12


@pytest.mark.parametrize(("width", "printed"), [(64, 10), (128, 12), (256, 16), (768, 31)])
def test_embedding_sizes_count_as_table_3_says(width, printed):
    # Where E = H the paper's network has no map between them; the published layout always holds one.
    unneeded = (768 * 768 + 768) / 1e6 if width == 768 else 0.0
    assert abs(millions(replace(BASE, embedding_size=width)) - unneeded - printed) <= 0.5


@pytest.mark.parametrize(("sharing", "printed"), [("all", 12), ("attention", 64), ("ffn", 38), ("none", 89)])
def test_sharing_counts_as_table_4_says(sharing, printed):
    assert abs(millions(replace(BASE, layer_sharing=sharing)) - printed) <= 0.75


def test_groups_of_m_layers_count_l_over_m_layers():
    one, four = (millions(replace(BASE, num_hidden_groups=groups)) for groups in (1, 4))
    layer = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    assert four - one == pytest.approx(3 * layer / 1e6)
    groups = build(replace(SMALL, num_hidden_groups=2), None).layers
    assert [groups.index(layer) for layer in groups] == [0, 0, 2, 2]


@pytest.mark.parametrize("sharing", ["all", "attention", "ffn", "none"])
def test_layers_share_what_the_config_names(sharing):
    first, *others = build(replace(SMALL, layer_sharing=sharing), None).layers
    for layer in others:
        assert (layer.attention is first.attention) == (sharing in {"all", "attention"})
        assert (layer.output is first.output) == (sharing in {"all", "ffn"})
        assert (layer.intermediate is first.intermediate) == (sharing in {"all", "ffn"})


def test_a_shared_layer_runs_once_a_layer():
    deep, shallow = inventory(SMALL), inventory(replace(SMALL, num_hidden_layers=2))
    assert deep["parameters"] == shallow["parameters"]
    one_layer = 4 * 32 * 32 + 2 * 32 * 40 + 2 * 128 * 32
    assert deep["macs"] - shallow["macs"] == 2 * 128 * one_layer


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_encoder_equals_transformers_in_both_directions(groups, tmp_path):
    model = randomise(build(replace(SMALL, num_hidden_groups=groups), None, seed=1))
    save_pretrained(model, tmp_path / "ours")
    theirs, loading = transformers.AlbertModel.from_pretrained(
        tmp_path / "ours", attn_implementation="eager", output_loading_info=True
    )
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    batch = padded_batch(vocab=60, length=16)
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        expected, ours = theirs.eval()(**batch), model(**batch)
    assert relative_difference(ours.last_hidden_state[real], expected.last_hidden_state[real]) <= 1e-5
    assert relative_difference(ours.pooled, expected.pooler_output) <= 1e-5
    randomise(theirs, seed=2).save_pretrained(tmp_path / "theirs")
    again = load_pretrained(tmp_path / "theirs")
    assert again.config == replace(model.config, num_hidden_groups=groups)
    with torch.no_grad():
        assert relative_difference(again(**batch).pooled, theirs(**batch).pooler_output) <= 1e-5


def test_full_width_layer_equals_transformers(tmp_path):
    model = randomise(build(replace(BASE, num_hidden_layers=3), "pair_classifier", seed=1))
    save_pretrained(model, tmp_path / "m")
    theirs = transformers.AlbertForSequenceClassification.from_pretrained(
        tmp_path / "m", attn_implementation="eager"
    )
    batch = padded_batch(vocab=30000)
    with torch.no_grad():
        assert relative_difference(model(**batch), theirs.eval()(**batch).logits) <= 1e-5


@pytest.mark.parametrize(
    ("head", "kind", "outputs"),
    [
        ("pretraining", "ForPreTraining", ("prediction_logits", "sop_logits")),
        ("span_qa", "ForQuestionAnswering", ("start_logits", "end_logits")),
    ],
)
def test_heads_equal_transformers_in_both_directions(head, kind, outputs, tmp_path):
    model = randomise(build(SMALL, head, seed=3))
    save_pretrained(model, tmp_path / "ours")
    theirs = getattr(transformers, f"Albert{kind}").from_pretrained(
        tmp_path / "ours", attn_implementation="eager"
    )
    randomised = randomise(theirs.eval(), seed=4)
    theirs.save_pretrained(tmp_path / "theirs")
    batch = padded_batch(vocab=60, length=16)
    real = batch["attention_mask"].bool()

    def compare(ours, yours):
        first, second = ours if isinstance(ours, tuple) else ours.unbind(-1)
        expected = [getattr(yours, name) for name in outputs]
        assert relative_difference(first[real], expected[0][real]) <= 1e-5
        keep = slice(None) if second.dim() == 2 and second.shape[1] == 2 else real
        assert relative_difference(second[keep], expected[1][keep]) <= 1e-5

    with torch.no_grad():
        compare(load_pretrained(tmp_path / "theirs")(**batch), randomised(**batch))
        first = getattr(transformers, f"Albert{kind}").from_pretrained(
            tmp_path / "ours", attn_implementation="eager"
        )
        compare(model(**batch), first.eval()(**batch))


@pytest.mark.parametrize("sharing", ["attention", "ffn", "none", "all"])
def test_a_directory_holds_shared_parameters_once_and_loads_back(sharing, tmp_path):
    model = randomise(build(replace(SMALL, layer_sharing=sharing), seed=5))
    save_pretrained(model, tmp_path / "m")
    stored = sum(t.numel() for t in load_file(tmp_path / "m" / "model.safetensors").values())
    assert stored == sum(p.numel() for p in model.parameters())
    again = load_pretrained(tmp_path / "m")
    batch = padded_batch(vocab=60, length=16)
    with torch.no_grad():
        assert torch.equal(again(**batch), model(**batch))
    assert sum(p.numel() for p in again.parameters()) == stored


def test_transformers_refuses_what_it_would_fill_with_noise(tmp_path):
    save_pretrained(build(replace(SMALL, layer_sharing="attention")), tmp_path / "m")
    with pytest.raises((ValueError, KeyError), match="partly-shared-albert"):
        transformers.AutoConfig.from_pretrained(tmp_path / "m")


def test_padding_cannot_change_a_result():
    model = randomise(build(SMALL, seed=0))
    batch = padded_batch(vocab=60, length=16)
    alone = {k: v[1:2, :8] for k, v in batch.items()}
    batch["input_ids"] = torch.where(batch["attention_mask"].bool(), batch["input_ids"], 7)
    with torch.no_grad():
        torch.testing.assert_close(model(**batch)[1:2], model(**alone), rtol=1e-5, atol=1e-6)


def test_no_dropout_anywhere():
    assert {m.p for m in build(preset("albert-base"), None).modules() if isinstance(m, torch.nn.Dropout)} == {
        0.0
    }


def test_contradictions_are_named_errors(tmp_path):
    with pytest.raises(ModelError, match="4 layers do not divide into num_hidden_groups 3"):
        replace(SMALL, num_hidden_groups=3)
    with pytest.raises(ModelError, match=r"layer_sharing is 'some'; expected one of all, attention"):
        replace(SMALL, layer_sharing="some")
    with pytest.raises(ModelError, match="inner_group_num is 2"):
        EncoderConfig.from_dict({"model_type": "albert", "inner_group_num": 2})
    save_pretrained(build(replace(SMALL, num_hidden_groups=4), None), tmp_path / "m")
    from safetensors.torch import save_file

    tensors = load_file(tmp_path / "m" / "model.safetensors")
    save_file({k: v for k, v in tensors.items() if "groups.3" not in k}, tmp_path / "m" / "model.safetensors")
    with pytest.raises(ModelError, match=r"lacks 16 tensors, the first 'encoder\.layer\.3"):
        load_pretrained(tmp_path / "m")
