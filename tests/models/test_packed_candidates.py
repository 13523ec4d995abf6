"""A query packed with several texts has the logits of each pair alone."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from mobilebert_models.networks.packed_candidates import PackedCandidates, packed_candidates
from tests.models.test_embedding_matcher import CONFIG, matcher, packed, texts

LENGTH = 120
LONG = replace(CONFIG, max_position_embeddings=LENGTH)


def together(query: list[int], others: list[list[int]]) -> dict[str, Tensor]:
    row, types = list(query), [0] * len(query)
    for number, text in enumerate(others, start=1):
        row += text
        types += [number] * len(text)
    rest = [0] * (LENGTH - len(row))
    rows = {
        "input_ids": row + rest,
        "attention_mask": [1] * len(row) + rest,
        "token_type_ids": types + rest,
    }
    return {name: torch.tensor([values]) for name, values in rows.items()}


@pytest.mark.parametrize("count", [1, 3, 6])
def test_logits_are_those_of_each_pair_alone(count: int) -> None:
    model = matcher(LONG)
    query, *others = texts(count + 1)
    # The query and the last text are questions, by mark or first word; others may be.
    asked, word = query[1:3]
    model.head.know_questions({"?": asked, "what": word, "how": others[0][1]})
    model.head.weigh_cosines((1.0, 0.4, 0.2, 0.5), (1.0, 0.1, -0.3, 0.8))
    model.head.weigh_overlap(0.8, 5.0, 0.2)
    others[-1] = [*others[-1][:-1], asked, others[-1][-1]]
    found = PackedCandidates(model, 6)(**together(query, others))
    assert found.shape == (1, 6, 2)
    wanted = torch.cat([model(**packed(query, text, 40))[0] for text in others])
    assert count == 1 or wanted[:, 1].std() > 0.01
    assert torch.allclose(found[0, :count], wanted, atol=1e-5)


def test_a_text_does_not_change_another_ones_logits() -> None:
    network = PackedCandidates(matcher(LONG), 6)
    query, one, two, three = texts(4)
    first = network(**together(query, [one, two]))[0, 0]
    assert torch.allclose(network(**together(query, [one, three, two]))[0, 0], first, atol=1e-5)
    assert not torch.allclose(network(**together(two, [one, query]))[0, 0], first, atol=1e-3)


def test_only_an_embedding_matcher_with_room_for_two_texts_has_one() -> None:
    assert packed_candidates(nn.Linear(2, 2), 128) is None
    assert packed_candidates(matcher(), 19) is None
    found = packed_candidates(matcher(), 128)
    assert found is not None
    assert found.texts == 12
