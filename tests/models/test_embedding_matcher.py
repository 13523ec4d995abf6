"""The embedding matcher against each text encoded alone, by us and by transformers."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AlbertModel

from mobilebert_runtime.errors import ModelError
from models import EncoderConfig, build, load_pretrained, save_pretrained
from models.embedding_matcher import ALL, NONE, EmbeddingMatcher, nearly_same_tokens, pooled, unit

CONFIG = EncoderConfig(
    model_type="albert",
    vocab_size=90,
    hidden_size=24,
    embedding_size=12,
    num_hidden_layers=4,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=40,
    hidden_act="gelu",
    layer_sharing="none",
    classifier_activation=False,
)
CLS, SEP = 2, 3


def matcher(config: EncoderConfig = CONFIG) -> EmbeddingMatcher:
    torch.manual_seed(3)
    model = build(config, "embedding_matcher", seed=1)
    assert isinstance(model, EmbeddingMatcher)
    with torch.no_grad():
        for parameter in model.parameters():  # far from the small first weights, whose states are alike
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def texts(count: int) -> list[list[int]]:
    draw = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 14, (count,), generator=draw).tolist()
    return [[CLS, *torch.randint(4, 90, (n,), generator=draw).tolist(), SEP] for n in lengths]


def packed(left: list[int], right: list[int], length: int) -> dict[str, Tensor]:
    ids = [*left, *right]
    rest = [0] * (length - len(ids))
    rows = {
        "input_ids": ids + rest,
        "attention_mask": [1] * len(ids) + rest,
        "token_type_ids": [0] * len(left) + [1] * len(right) + rest,
    }
    return {name: torch.tensor([row]) for name, row in rows.items()}


def test_states_of_a_pair_are_those_of_each_text_alone() -> None:
    model = matcher()
    for left, right in zip(texts(12)[::2], texts(12)[1::2], strict=True):
        together = model.states(**packed(left, right, 40))
        for text, start in ((left, 0), (right, len(left))):
            ids = torch.tensor([text])
            alone = model.encoder(
                ids, torch.ones_like(ids), torch.zeros_like(ids), capture=True
            ).hidden_states
            for found, wanted in zip(together, (alone[0], alone[2], alone[4]), strict=True):
                assert torch.allclose(found[:, start : start + len(text)], wanted, atol=1e-5)


def test_vector_is_the_mean_of_the_transformers_model(tmp_path: Path) -> None:
    model = matcher()
    save_pretrained(model, tmp_path / "m")
    reference = AlbertModel.from_pretrained(tmp_path / "m", add_pooling_layer=False).eval()
    for left, right in zip(texts(6), texts(6)[::-1], strict=True):
        with torch.no_grad():
            mean = reference(torch.tensor([left])).last_hidden_state.mean(1)
            _, vector = model(**packed(left, right, 40))
        assert torch.allclose(vector, mean / mean.norm(dim=1, keepdim=True), atol=1e-5)


def test_single_text_has_the_vector_it_has_in_a_pair() -> None:
    model = matcher()
    left, right = texts(2)
    assert torch.allclose(model(**packed(left, [], 20))[1], model(**packed(left, right, 40))[1], atol=1e-5)


def test_decision_is_symmetric_and_equal_texts_score_highest() -> None:
    model = matcher()
    found = texts(10)
    top = model(**packed(found[0], found[0], 32))[0][0, 1]
    for left, right in itertools.pairwise(found):
        one, two = model(**packed(left, right, 32))[0], model(**packed(right, left, 40))[0]
        assert torch.allclose(one, two, atol=1e-4)
        assert one[0, 1] < top
        assert torch.allclose(model(**packed(left, left, 32))[0][0, 1], top, atol=1e-4)


def test_loaded_model_computes_the_same(tmp_path: Path) -> None:
    model = matcher()
    save_pretrained(model, tmp_path / "m")
    again = load_pretrained(tmp_path / "m")
    batch = packed(*texts(2), 32)
    for found, wanted in zip(again(**batch), model(**batch), strict=True):
        assert torch.equal(found, wanted)


def test_pooled_leaves_padding_out() -> None:
    states = torch.randn(2, 5, 3)
    mask = torch.tensor([[1.0, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
    assert torch.allclose(pooled(states, mask)[0], states[0, :3].mean(0), atol=1e-6)
    assert torch.isfinite(unit(pooled(states, mask))).all()


def test_mobilebert_is_refused() -> None:
    config = EncoderConfig(
        model_type="mobilebert",
        vocab_size=90,
        hidden_size=24,
        embedding_size=12,
        intra_bottleneck_size=12,
        num_hidden_layers=1,
        num_attention_heads=3,
        intermediate_size=20,
    )
    with pytest.raises(ModelError, match="of a mobilebert"):
        EmbeddingMatcher(build(config, None, seed=0))  # type: ignore[arg-type]


def test_penalty_counts_by_the_tokens_that_only_one_text_has() -> None:
    """Against counting with Python's sets, padding and both orders included."""
    draw = torch.Generator().manual_seed(2)
    for _ in range(60):
        left = [CLS, *torch.randint(4, 12, (6,), generator=draw).tolist(), SEP]
        right = [CLS, *torch.randint(4, 12, (5,), generator=draw).tolist(), SEP]
        batch = packed(left, right, 20)
        mask, types = batch["attention_mask"].float(), batch["token_type_ids"].float()
        other = mask[:, None, :] * (types[:, :, None] - types[:, None, :]).abs()
        found = nearly_same_tokens(batch["input_ids"].float(), mask * (1 - types), mask * types, other)
        most = max(sum(t not in b for t in a) for a, b in ((left, right), (right, left)))
        assert float(found) == min(1.0, max(0.0, (NONE - most) / (NONE - ALL)))


def test_unlike_texts_are_ranked_by_the_cosines_of_their_states() -> None:
    model = matcher()
    with torch.no_grad():
        model.head.cosines.copy_(torch.tensor([1.0, 0.4, 0.2]))
    left, right = [CLS, *range(10, 16), SEP], [CLS, *range(30, 39), SEP]
    states = {}
    for name, text in (("left", left), ("right", right)):
        ids = torch.tensor([text])
        states[name] = model.encoder(ids, torch.ones_like(ids), torch.zeros_like(ids), capture=True)
    pairs = [
        [states[name].hidden_states[layer][0][rows].mean(0) for name in ("left", "right")]
        for layer, rows in ((4, slice(None)), (4, slice(1)), (2, slice(None)))
    ]
    cosines = torch.stack([torch.cosine_similarity(a, b, dim=0) for a, b in pairs])
    wanted = model.head.scale.abs() * (cosines @ torch.tensor([1.0, 0.4, 0.2])) / 1.6 + model.head.shift
    logits = model(**packed(left, right, 32))[0][0]
    assert float(logits[1] - logits[0]) == pytest.approx(float(wanted), abs=1e-4)
