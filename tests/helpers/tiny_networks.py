"""Every preset cut to a size that float64 proofs take a moment for."""

from dataclasses import replace

import numpy as np
import torch

from mobilebert_models import EncoderConfig, preset


def tiny(name):
    """A preset's network, every size cut; "rewritten-bert": `mobilebert rewrite` of bert-base."""
    if name == "rewritten-bert":
        return replace(tiny("bert-base"), normalization_type="no_norm", hidden_act="relu")
    config = preset(name)
    sizes = {"vocab_size": 60, "num_hidden_layers": 3, "max_position_embeddings": 24, "hidden_size": 32}
    sizes |= {"num_attention_heads": 4, "intermediate_size": 20}
    if config.is_bottleneck:
        inside = 48 if config.intra_bottleneck_size > config.hidden_size else 16
        sizes |= {"intra_bottleneck_size": inside, "embedding_size": 8}
    return replace(config, **sizes)


SHALLOW = EncoderConfig(
    vocab_size=60,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=6,
    intermediate_size=32,
    max_position_embeddings=24,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
# Four layers to each of SHALLOW's; two heads of four in each, so that three of them have its six heads.
DEEP = replace(
    tiny("mobilebert-tiny"),
    num_hidden_layers=8,
    num_attention_heads=2,
    intra_bottleneck_size=8,
    embedding_size=16,
    attention_probs_dropout_prob=0.0,
)


def randomise(model, seed=0, special=False):
    """Random norms, γ in [0.6, 1.6]; `special` makes some of them zero, tiny or negative."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            noise = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
            if "LayerNorm.weight" in name:
                tensor.copy_(0.6 + torch.rand(tensor.shape, generator=generator, dtype=tensor.dtype))
                if special:
                    tensor[:4] = torch.tensor([0.0, 1e-7, -0.7, 1e-3], dtype=tensor.dtype)
            else:
                # A small pooler keeps its tanh from saturating, behind which any difference would hide.
                tensor.copy_(noise * (0.02 if "pooler" in name else 0.2))
    return model


def encoded(seed=0):
    generator = np.random.default_rng(seed)
    ids = generator.integers(1, 60, (3, 16)).astype(np.int32)
    mask = np.ones_like(ids)
    mask[1, 9:] = mask[2, 4:] = 0
    types = np.zeros_like(ids)
    types[:, 6:12] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
