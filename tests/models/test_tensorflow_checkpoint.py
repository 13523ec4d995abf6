"""Promise of the TensorFlow extra: Google's checkpoints load into our networks and compute the same."""

import json

import pytest
import torch
import transformers

from mobilebert_models import load_pretrained
from mobilebert_models.convert.tensorflow_checkpoint import our_name, read_tensorflow_checkpoint
from mobilebert_runtime.errors import ModelError
from tests.helpers.networks import SMALL_BERT, SMALL_MOBILE, padded_batch, randomise, relative_difference
from tests.helpers.texts import MINILM

tf = pytest.importorskip("tensorflow", reason="the tensorflow extra is not installed")


def google_name(name, norm):
    """A `transformers` name as Google's training code spells it, written from its variable scopes."""
    name = name.replace("mobilebert.", "bert.").replace(".layer.", ".layer_").replace(".ffn.", ".ffn_layer_")
    if name == "cls.predictions.bias":
        return "cls/predictions/output_bias"
    if name.startswith("cls.seq_relationship."):
        return "cls/seq_relationship/output_" + {"weight": "weights", "bias": "bias"}[name.rsplit(".", 1)[1]]
    if name == "cls.predictions.dense.weight":
        return "cls/predictions/extra_output_weights"
    if "LayerNorm" in name:
        encoder = name.startswith("bert.")
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        return name.replace("LayerNorm", norm if encoder else "LayerNorm").replace(".", "/")
    if "_embeddings.weight" in name:
        return name.removesuffix(".weight").replace(".", "/")
    return name.replace(".weight", ".kernel").replace(".", "/")


@pytest.fixture(params=["mobilebert", "bert"])
def published(request, tmp_path):
    """A random `transformers` pretraining model and the same weights as a Google checkpoint."""
    mobile = request.param == "mobilebert"
    config = SMALL_MOBILE if mobile else SMALL_BERT
    theirs = transformers.MobileBertForPreTraining if mobile else transformers.BertForPreTraining
    config_class = transformers.MobileBertConfig if mobile else transformers.BertConfig
    torch.manual_seed(0)
    model = randomise(theirs(config_class.from_dict(config.to_dict()))).eval()
    names, tensors = ["global_step", "bert/pooler/dense/kernel/adam_m"], [tf.constant(7), tf.zeros([2])]
    for name, value in model.named_parameters():
        variable = google_name(name, "FakeLayerNorm" if mobile else "LayerNorm")
        array = value.detach().numpy()
        names.append(variable)
        tensors.append(
            tf.constant(array.T if variable.endswith(("/kernel", "extra_output_weights")) else array)
        )
    prefix = str(tmp_path / "variables.ckpt")
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors)
    values = {k: v for k, v in config.to_dict().items() if k != "model_type"}
    (tmp_path / "bert_config.json").write_text(json.dumps(values))
    return model, tmp_path / "variables.ckpt", tmp_path / "bert_config.json"


def test_a_checkpoint_computes_what_transformers_computes(published):
    theirs, checkpoint, config = published
    ours = read_tensorflow_checkpoint(checkpoint, config)
    batch = padded_batch(vocab=60, length=16)
    with torch.no_grad():
        words, following = ours(**batch)
        expected = theirs(**batch)
    real = batch["attention_mask"].bool()
    assert relative_difference(words[real], expected.prediction_logits[real]) <= 1e-5
    assert relative_difference(following, expected.seq_relationship_logits) <= 1e-5


def test_the_command_writes_a_model_directory(published, tmp_path):
    from mobilebert_export.command_line.commands.model.import_tensorflow import import_tensorflow

    _, checkpoint, config = published
    import_tensorflow(checkpoint, config, MINILM / "vocab.txt", tmp_path / "out")
    ours = read_tensorflow_checkpoint(checkpoint, config).state_dict()
    saved = load_pretrained(tmp_path / "out").state_dict()
    assert all(torch.equal(v, saved[k]) for k, v in ours.items())
    assert (tmp_path / "out" / "tokenizer.json").is_file()


def test_wrong_files_are_named_errors(published, tmp_path):
    _, checkpoint, config = published
    with pytest.raises(ModelError, match="no such file; give the prefix"):
        read_tensorflow_checkpoint(tmp_path / "nothing", config)
    with pytest.raises(ModelError, match=r"give the bert_config\.json"):
        read_tensorflow_checkpoint(checkpoint, tmp_path / "nothing.json")
    deeper = json.loads(config.read_text()) | {"num_hidden_layers": 3}
    (tmp_path / "deeper.json").write_text(json.dumps(deeper))
    with pytest.raises(ModelError, match=r"lacks .* variables"):
        read_tensorflow_checkpoint(checkpoint, tmp_path / "deeper.json")
    data = checkpoint.with_name(checkpoint.name + ".data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(ModelError, match="damaged checkpoint"):
        read_tensorflow_checkpoint(checkpoint, config)


def test_names_of_the_published_mobilebert():
    assert our_name("bert/encoder/layer_3/ffn_layer_0/output/FakeLayerNorm/gamma") == (
        "encoder.encoder.layer.3.ffn.0.output.LayerNorm.weight"
    )
    assert our_name("bert/embeddings/embedding_transformation/kernel") == (
        "encoder.embeddings.embedding_transformation.weight"
    )
