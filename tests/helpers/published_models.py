"""Small random models of the classes of `transformers`, by model_type and head."""

import torch
import transformers

_BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
# What a config of each family is asked for; 40 positions are room for 38 tokens after padding's.
ARCHITECTURES = {
    "bert": _BERT,
    "mobilebert": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "embedding_size": 16,
        "intra_bottleneck_size": 16,
        "num_feedforward_networks": 2,
    },
    "albert": _BERT | {"embedding_size": 16, "hidden_act": "gelu_new"},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    "roberta": _BERT | {"type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "xlm-roberta": _BERT | {"type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "electra": _BERT | {"embedding_size": 16},
    "mpnet": _BERT | {"layer_norm_eps": 1e-5},
    # The window is narrow, so that tokens lie outside it.
    "modernbert": _BERT | {"local_attention": 8, "num_hidden_layers": 4, "pad_token_id": 0},
    # As version 3 is; with so few buckets that many distances share one.
    "deberta-v2": _BERT
    | {
        "relative_attention": True,
        "position_biased_input": False,
        "position_buckets": 8,
        "pos_att_type": ["p2c", "c2p"],
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
    },
}
HEADS = ("Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
_AUTO = {
    "Model": transformers.AutoModel,
    "ForSequenceClassification": transformers.AutoModelForSequenceClassification,
    "ForTokenClassification": transformers.AutoModelForTokenClassification,
    "ForQuestionAnswering": transformers.AutoModelForQuestionAnswering,
}
LENGTHS = (24, 11, 3)  # tokens of the rows of `padded_batch`


def published(kind, head, seed=0, vocabulary=80, positions=40, **options):
    """A model in eval mode whose every parameter is random: norms and biases too."""
    settings = (
        ARCHITECTURES[kind] | {"vocab_size": vocabulary, "max_position_embeddings": positions} | options
    )
    if head in ("ForSequenceClassification", "ForTokenClassification"):
        settings.setdefault("num_labels", 3)
    config = transformers.AutoConfig.for_model(kind, **settings)
    torch.manual_seed(seed)
    model = _AUTO[head].from_config(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if "norm" in name.lower() and name.endswith("weight"):
                weight.copy_(1.0 + 0.2 * noise)
            else:
                weight.copy_((0.2 if weight.dim() > 1 else 0.1) * noise)
            if "word_embeddings" in name:
                weight[config.pad_token_id].zero_()  # MobileBERT's convolution reads it
    return model.eval()


def padded_batch(config, seed=0):
    """Three texts of `LENGTHS` tokens, padded, without padding's id inside."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, config.vocab_size, (len(LENGTHS), max(LENGTHS)), generator=generator)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(LENGTHS):
        mask[row, :length] = 1
    types = torch.zeros_like(ids)
    types[:, 8:] = 1
    return {
        "input_ids": torch.where(mask.bool(), ids, config.pad_token_id),
        "attention_mask": mask,
        "token_type_ids": types * mask,
    }
