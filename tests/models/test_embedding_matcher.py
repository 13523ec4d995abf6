"""The embedding matcher against each text encoded alone, by us and by transformers."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AlbertModel

from mobilebert_models import EncoderConfig, build, load_pretrained, save_pretrained
from mobilebert_models.networks.embedding_matcher import (
    ALL,
    COMMON,
    DIGIT,
    NONE,
    QUESTION_WORDS,
    EmbeddingMatcher,
    nearly_same_tokens,
    pooled,
    unit,
)
from mobilebert_runtime.errors import ModelError

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
# Bottlenecks, NoNorm, ReLU, and words that are read beside their neighbours.
MOBILEBERT = EncoderConfig(
    model_type="mobilebert",
    vocab_size=90,
    hidden_size=24,
    embedding_size=12,
    intra_bottleneck_size=12,
    num_hidden_layers=4,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=40,
    num_feedforward_networks=2,
    key_query_shared_bottleneck=True,
    hidden_act="relu",
    normalization_type="no_norm",
    classifier_activation=False,
)
CLS, SEP = 2, 3


def matcher(config: EncoderConfig = CONFIG, head: str = "embedding_matcher") -> EmbeddingMatcher:
    torch.manual_seed(3)
    model = build(config, head, seed=1)
    assert isinstance(model, EmbeddingMatcher)
    # Far from the small first weights, whose states are alike; without norms states grow with every layer.
    far = 0.3 if config.normalization_type == "layer_norm" else 0.08
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(far * torch.randn_like(parameter))
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


@pytest.mark.parametrize("config", [CONFIG, MOBILEBERT], ids=["albert", "mobilebert"])
def test_states_of_a_pair_are_those_of_each_text_alone(config: EncoderConfig) -> None:
    model = matcher(config)
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


@pytest.mark.parametrize("rare_tokens", [False, True])
def test_decision_is_symmetric_and_equal_texts_score_highest(rare_tokens: bool) -> None:
    model = matcher()
    if rare_tokens:
        rare(model).head.know_questions(KNOWN)
        model.head.weigh_cosines(STATEMENTS, QUESTIONS)
        model.head.weigh_overlap(0.8, 6.0, 0.1)
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


def test_another_kind_of_encoder_is_refused() -> None:
    config = EncoderConfig(
        model_type="roberta",
        vocab_size=90,
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=3,
        intermediate_size=20,
    )
    with pytest.raises(ModelError, match="of a roberta; expected one of bert, albert, electra, mobilebert"):
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


MARK = 46  # the question mark's id among the 90 of these models
KNOWN = {"?": MARK}
STATEMENTS, QUESTIONS = (1.0, 0.4, 0.2, 0.5), (1.0, 0.1, -0.3, 0.8)


def states_alone(model: EmbeddingMatcher, text: list[int]) -> list[Tensor]:
    """States of a text by itself, (S, H) for the embedding output and each layer."""
    ids = torch.tensor([text])
    found = model.encoder(ids, torch.ones_like(ids), torch.zeros_like(ids), capture=True).hidden_states
    return [layer[0] for layer in found]


def nearest(left: Tensor, right: Tensor) -> Tensor:
    """Mean cosine of each state with the nearest of the other text, of both texts, by its definition."""
    pairs = [[torch.cosine_similarity(a, b, dim=0) for b in right] for a in left]
    recall = sum(max(row) for row in pairs) / len(left)
    precision = sum(max(column) for column in zip(*pairs, strict=True)) / len(right)
    return torch.as_tensor((recall + precision) / 2)


def cosines_alone(model: EmbeddingMatcher, left: list[int], right: list[int]) -> Tensor:
    """Of means of the last states, of [CLS], of means of the embedding output, of nearest tokens, (4,)."""
    one, two = states_alone(model, left), states_alone(model, right)
    means = [(states[4].mean(0), states[4][0], states[0].mean(0)) for states in (one, two)]
    found = [torch.cosine_similarity(a, b, dim=0) for a, b in zip(*means, strict=True)]
    return torch.stack([*found, nearest(one[4], two[4])])


@pytest.mark.parametrize(
    ("left_asks", "right_asks", "wanted"),
    [
        (False, False, STATEMENTS),
        (True, True, QUESTIONS),
        (False, True, STATEMENTS),
        (True, False, STATEMENTS),
    ],
)
def test_unlike_texts_are_ranked_by_the_cosines_of_their_states(left_asks, right_asks, wanted) -> None:
    """Against states of each text alone, weighed by hand; questions have weights of their own."""
    model = matcher()
    model.head.know_questions(KNOWN)
    model.head.weigh_cosines(STATEMENTS, QUESTIONS)
    left, right = [CLS, *range(10, 16), SEP], [CLS, *range(30, 39), SEP]
    weights = torch.tensor(wanted)
    cosine = cosines_alone(model, left, right) @ weights / weights.sum()
    left, right = with_marks(left, *[7] * left_asks), with_marks(right, *[10] * right_asks)
    logits = model(**packed(left, right, 32))[0][0]
    found = float(logits[1] - logits[0])
    assert found == pytest.approx(float(model.head.scale.abs() * cosine + model.head.shift), abs=1e-4)


@pytest.mark.parametrize("asked", [False, True])
def test_distance_of_two_questions_counts_more_where_their_tokens_have_near_partners(asked: bool) -> None:
    """Against the cosines and the overlap of states of each text alone; statements stay as they are."""
    model = matcher()
    model.head.know_questions(KNOWN)
    model.head.weigh_cosines(STATEMENTS, STATEMENTS)
    model.head.share.data.zero_()  # no penalty
    pairs = [
        ([CLS, *range(10, 16), SEP], [CLS, *range(10, 14), 30, 31, SEP]),
        ([CLS, *range(10, 16), SEP], [CLS, 50, 12, 51, SEP]),
    ]
    overlaps = [nearest(*(states_alone(model, text)[2] for text in pair)) for pair in pairs]
    start = float(sum(overlaps)) / 2  # one of the two pairs is above it
    assert abs(float(overlaps[0] - overlaps[1])) > 0.05
    model.head.weigh_overlap(0.8, 5.0, start)
    for (left, right), overlap in zip(pairs, overlaps, strict=True):
        weights = torch.tensor(STATEMENTS)
        distance = 1 - cosines_alone(model, left, right) @ weights / weights.sum()
        if asked:
            distance *= 0.8 + 5.0 * max(0.0, float(overlap) - start)
        batch = packed(with_marks(left, *[2] * asked), with_marks(right, *[2] * asked), 32)
        logits = model(**batch)[0][0]
        wanted = float(model.head.scale.abs() * (1 - distance) + model.head.shift)
        assert float(logits[1] - logits[0]) == pytest.approx(wanted, abs=1e-4)


def with_marks(text: list[int], *places: int) -> list[int]:
    """The text with question marks before some of its tokens."""
    return [token for at, own in enumerate(text) for token in [MARK] * places.count(at) + [own]]


@pytest.mark.parametrize("config", [CONFIG, MOBILEBERT], ids=["albert", "mobilebert"])
def test_question_marks_are_not_read(config: EncoderConfig) -> None:
    """At the end and within a text: vectors and, with one weight for all texts, logits are as without."""
    model = matcher(config)
    model.head.know_questions(KNOWN)
    model.head.weigh_cosines(STATEMENTS, STATEMENTS)
    for left, right in zip(texts(8)[::2], texts(8)[1::2], strict=True):
        left, right = [[t for t in text if t != MARK] for text in (left, right)]  # noqa: PLW2901
        asked = packed(with_marks(left, len(left) - 1), with_marks(right, 1, len(right) - 1), 40)
        wanted, vector = model(**packed(left, right, 34))
        far, same_vector = model(**asked)
        assert torch.allclose(same_vector, vector, atol=1e-5)
        if max(len(set(left) - set(right)), len(set(right) - set(left))) >= NONE:
            assert torch.allclose(far, wanted, atol=1e-4)


def test_without_a_question_mark_in_the_vocabulary_all_texts_are_statements() -> None:
    model = matcher()
    model.head.know_questions({})
    model.head.weigh_cosines(STATEMENTS, QUESTIONS)
    left, right = [CLS, *range(10, 16), MARK, SEP], [CLS, *range(30, 39), MARK, SEP]
    weights = torch.tensor(STATEMENTS)
    cosine = cosines_alone(model, left, right) @ weights / weights.sum()
    logits = model(**packed(left, right, 32))[0][0]
    wanted = float(model.head.scale.abs() * cosine + model.head.shift)
    assert float(logits[1] - logits[0]) == pytest.approx(wanted, abs=1e-4)


ASKED = {"what": 50, "do": 51}


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ([50, 10, 11], [51, 30, 31, 32], "questions"),
        ([50, 10, 11], [50, 30, 31, 32], "questions"),
        ([50, 10, 11], [30, 31, 32, MARK], "questions"),  # one by its word, one by its mark
        ([10, 50, 11], [51, 30, 31, 32], "statements"),  # not its first word
        ([50, 10, 11], [30, 51, 31, 32], "statements"),
        ([50, 10, 11], [30, 31, 32], "statements"),
        ([52, 10, 11], [51, 30, 31, 32], "statements"),  # another word
    ],
)
def test_questions_are_told_by_their_first_word_too(left, right, wanted) -> None:
    """Each against the cosines of its texts alone, weighed as questions or as statements; in both orders."""
    model = matcher()
    model.head.know_questions(KNOWN | ASKED | {"whatever": 52})
    model.head.weigh_cosines(STATEMENTS, QUESTIONS)
    model.head.share.data.zero_()  # no penalty
    left, right = [CLS, *left, SEP], [CLS, *right, SEP]
    weights = torch.tensor(QUESTIONS if wanted == "questions" else STATEMENTS)
    cosine = cosines_alone(model, *([t for t in text if t != MARK] for text in (left, right)))
    expected = float(model.head.scale.abs() * (cosine @ weights / weights.sum()) + model.head.shift)
    for pair in ((left, right), (right, left)):
        logits = model(**packed(*pair, 20))[0][0]
        assert float(logits[1] - logits[0]) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["overlap", "cosines", "question_words"])
def test_a_file_that_lacks_a_part_of_the_head_is_refused(tmp_path: Path, name: str) -> None:
    save_pretrained(matcher(), tmp_path / "m")
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    del tensors[f"head.{name}"]
    save_file(tensors, tmp_path / "m" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="lacks 1 tensors"):
        load_pretrained(tmp_path / "m")


@pytest.mark.parametrize("mark", [35, 1029, 29_999, 249_999])
def test_file_in_eight_bits_keeps_the_question_mark_and_words(tmp_path: Path, mark: int) -> None:
    """Ids above 2,048 are no numbers of float16."""
    model = matcher()
    model.head.know_questions(
        {"?": mark} | {word: mark + at for at, word in enumerate(QUESTION_WORDS[1:], 1)}
    )
    model.head.weigh_cosines(STATEMENTS, QUESTIONS)
    save_pretrained(model, tmp_path / "m", eight_bit=True)
    head = load_pretrained(tmp_path / "m").head
    assert int(DIGIT * head.question_mark[0] + head.question_mark[1]) == mark
    high, low = head.question_words.chunk(2)
    wanted = [-DIGIT, *range(mark + 1, mark + len(QUESTION_WORDS))]
    assert (DIGIT * high + low).tolist() == wanted
    assert torch.allclose(head.cosines, model.head.cosines, atol=1e-3)


def test_no_pair_is_above_equal_texts_where_a_weight_is_below_zero() -> None:
    model = matcher()
    model.head.know_questions(KNOWN)
    model.head.weigh_cosines(STATEMENTS, (1.0, 0.0, -0.9, 0.3))
    text = [CLS, *range(10, 16), MARK, SEP]  # questions, so that the weight counts
    top = model(**packed(text, text, 32))[0][0, 1]
    for other in texts(10):
        logits = model(**packed(text, [*other[:-1], MARK, SEP], 32))[0]
        assert float(logits[0, 1]) <= float(top) + 1e-4


def rare(model: EmbeddingMatcher) -> EmbeddingMatcher:
    """The model with rarities far from one another, some of them below zero."""
    draw = torch.Generator().manual_seed(7)
    rarity = model.head.weigh_rare_tokens()
    with torch.no_grad():
        rarity.weight.copy_(torch.randn(1, 24, generator=draw))
        rarity.bias.fill_(0.7)
    return model


def test_tokens_that_are_all_as_rare_count_alike() -> None:
    model = matcher()
    model.head.know_questions(KNOWN)
    model.head.weigh_cosines(STATEMENTS, QUESTIONS)
    pairs = [packed(left, right, 34) for left, right in itertools.pairwise(texts(10))]
    before = [model(**batch) for batch in pairs]
    model.head.weigh_rare_tokens()
    for batch, (logits, vector) in zip(pairs, before, strict=True):
        assert torch.allclose(model(**batch)[0], logits, atol=1e-4)
        assert torch.equal(model(**batch)[1], vector)


def test_rare_tokens_count_by_their_rarity_in_the_cosine_of_the_embedding_output() -> None:
    """Against the definition in float64, with each text's embedding output by itself."""
    model = rare(matcher())
    head = model.head
    head.know_questions(KNOWN)
    head.weigh_cosines((0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    head.share.data.zero_()  # no penalty
    assert head.rarity is not None
    weight, bias = (part.detach().double().numpy() for part in (head.rarity.weight[0], head.rarity.bias))
    found, wanted, below = [], [], 0
    for left, right in itertools.pairwise(texts(12)):
        means = []
        for text in (left, right):
            own = [token for token in text if token != MARK]
            embedded = model.states(**packed(own, [], len(own)))[0][0].detach().double().numpy()
            rarity = embedded @ weight + bias
            below += int((rarity < 0).sum())
            means.append((np.maximum(rarity, 0) ** 2 + COMMON) @ embedded)
        cosine = means[0] @ means[1] / (np.linalg.norm(means[0]) * np.linalg.norm(means[1]))
        wanted.append(float(head.scale.abs()) * cosine + float(head.shift))
        logits = model(**packed(left, right, 34))[0][0].detach()
        found.append(float(logits[1] - logits[0]))
    assert below > 5
    assert found == pytest.approx(wanted, abs=1e-3)
    assert np.ptp(wanted) > 1


@pytest.mark.parametrize("eight_bit", [False, True])
def test_file_keeps_the_rarity_and_that_there_is_none(tmp_path: Path, eight_bit: bool) -> None:
    for name, model in (("rare", rare(matcher())), ("plain", matcher())):
        model.head.know_questions(KNOWN)
        model.head.weigh_cosines(STATEMENTS, QUESTIONS)
        save_pretrained(model, tmp_path / name, eight_bit=eight_bit)
        again = load_pretrained(tmp_path / name)
        assert (again.head.rarity is None) == (name == "plain")
        batch, atol = packed(*texts(2), 32), 0.05 if eight_bit else 0.0
        assert torch.allclose(again(**batch)[0], model(**batch)[0], rtol=0, atol=atol)
        if name == "rare":
            assert not again.head.rarity.weight.requires_grad
            for part in ("weight", "bias"):
                ours, theirs = (getattr(m.head.rarity, part) for m in (again, model))
                assert torch.allclose(ours, theirs, rtol=0, atol=0.02 if eight_bit else 0.0)
