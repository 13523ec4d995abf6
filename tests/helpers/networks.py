"""Small networks of every family, random weights, padded batches."""

from dataclasses import replace

import torch

from mobilebert_models import EncoderConfig, preset

TINY = {"vocab_size": 60, "num_hidden_layers": 2, "max_position_embeddings": 24}


SMALL_MOBILE = replace(
    preset("mobilebert"),
    hidden_size=32,
    intra_bottleneck_size=16,
    embedding_size=8,
    intermediate_size=24,
    **TINY,
)


def randomise(model, seed=0):
    """Give every parameter its own random value: norms at identity and zero biases would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "LayerNorm.weight" in name:
                tensor.copy_(0.8 + 0.4 * torch.rand(tensor.shape, generator=generator))
            elif tensor.dim() == 1:
                tensor.copy_(0.05 * torch.randn(tensor.shape, generator=generator))
            elif "word_embeddings" in name:
                tensor[0].zero_()  # `transformers` lets the width-3 convolution read the pad row
    return model


def spread(encoder, seed):
    """Fresh weights are close to zero: vectors of different texts would be alike."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=draw))
    return encoder


def padded_batch(vocab=30522, length=48, seed=0):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, vocab, (3, length), generator=generator)
    mask = torch.ones_like(ids)
    for row, tokens in enumerate((length, length // 2, 5)):
        mask[row, tokens:] = 0
        ids[row, tokens:] = 0
    types = torch.zeros_like(ids)
    types[:, length // 3 :] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types * mask}


def relative_difference(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


# A trunk of sentence vectors with the vocabulary of MiniLM.
TOY = EncoderConfig(
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)

SMALL_BERT = EncoderConfig(hidden_size=32, num_attention_heads=4, intermediate_size=40, **TINY)


SMALL_KRONECKER = EncoderConfig(
    vocab_size=60,
    hidden_size=48,  # every preset's small factors divide it
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=24,
)


KRONECKER_BATCH = padded_batch(vocab=60, length=12)


def materialise(layer):
    """Σ A ⊗ B by torch's own Kronecker product."""
    return sum(torch.kron(a, b) for a, b in zip(layer.factor_a, layer.factor_b, strict=True))


SMALL_ALBERT = replace(
    preset("albert-base"),
    vocab_size=60,
    hidden_size=32,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=40,
    embedding_size=8,
    max_position_embeddings=24,
)
