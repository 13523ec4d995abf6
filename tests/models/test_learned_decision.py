"""Promise of the learned decision: symmetric, blind to padding and question marks, able to see one token."""

import torch
from torch.nn import functional as F

from mobilebert_models import EncoderConfig, build, load_pretrained, save_pretrained
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_models.networks.packed_candidates import PackedCandidates

MARK = 7


def packed_pair(first, second):
    """Two texts' states (S, H) as what a head reads: ids, three states, mask and types."""
    states = torch.cat([first, second])[None]
    types = torch.cat([torch.zeros(len(first)), torch.ones(len(second))])[None]
    return torch.full_like(types, 5.0), states, states, states, torch.ones_like(types), types


def decision(size):
    torch.manual_seed(0)
    head = LearnedDecision(size).eval()
    head.know_questions({"?": MARK})
    return head


def test_it_begins_as_the_cosine_learns_from_there_and_is_symmetric():
    head, one, two = decision(8), torch.randn(4, 8), torch.randn(6, 8)
    begun = head(*packed_pair(one, two))[0]
    exact = 10 * F.cosine_similarity(one.mean(0), two.mean(0), dim=0) - 7
    torch.testing.assert_close(begun, exact, rtol=0, atol=0.01)
    head.leak = 1.0
    head(*packed_pair(one, two))[0].backward()
    assert head.outer.weight.grad.abs().max() > 0
    assert (head.cosines.weight.grad != 0).all()
    head.leak = 0.0
    torch.nn.init.uniform_(head.outer.weight, -1, 0)
    there = head(*packed_pair(one, two))
    torch.testing.assert_close(head(*packed_pair(two, one)), there, rtol=1e-4, atol=1e-4)


def test_no_pair_is_above_equal_texts():
    head, one = decision(8), torch.randn(4, 8)
    torch.nn.init.uniform_(head.outer.weight, -3, 3)
    equal = head(*packed_pair(one, one)).item()
    others = [head(*packed_pair(one, torch.randn(5, 8))).item() for _ in range(60)]
    assert max(others) <= equal + 1e-3
    assert min(others) < equal - 0.1


def test_padding_and_question_marks_are_passed_by():
    head, one, two = decision(8), torch.randn(4, 8), torch.randn(6, 8)
    torch.nn.init.uniform_(head.outer.weight, -1, 0)
    ids, *states, mask, types = packed_pair(one, two)
    there = head(ids, *states, mask, types)
    wide = [F.pad(state, (0, 0, 0, 3), value=9.0) for state in states]
    more = [F.pad(values, (0, 3)) for values in (mask, types)]
    torch.testing.assert_close(head(F.pad(ids, (0, 3)), *wide, *more), there, rtol=1e-4, atol=1e-4)
    marked = F.pad(ids, (0, 3), value=float(MARK))
    ones = [F.pad(values, (0, 3), value=1.0) for values in (mask, types)]
    torch.testing.assert_close(head(marked, *wide, *ones), there, rtol=1e-4, atol=1e-4)
    assert (head(F.pad(ids, (0, 3), value=5.0), *wide, *ones) - there).abs().item() > 1e-3


def test_it_learns_that_one_changed_token_matters():
    head, tokens = decision(12), F.normalize(torch.randn(20, 12), dim=-1)
    marked = torch.arange(20) < 5  # a change matters if one of these goes or comes

    def examples(count, seed):
        draw = torch.Generator().manual_seed(seed)
        parts, labels = [], []
        for _ in range(count):
            first = torch.randint(0, 20, (6,), generator=draw)
            second, at = first.clone(), int(torch.randint(0, 6, (1,), generator=draw))
            second[at] = torch.randint(0, 20, (1,), generator=draw)
            matters = (marked[first[at]] or marked[second[at]]) and first[at] != second[at]
            labels.append(float(not matters))
            parts.append(packed_pair(tokens[first], tokens[second]))
        return [torch.cat(part) for part in zip(*parts, strict=True)], torch.tensor(labels)

    optimiser = torch.optim.AdamW(head.parameters(), lr=3e-3)
    known, answers = examples(2000, 0)
    for step in range(400):
        head.leak = max(0.0, 1 - step / 280)
        rows = torch.randint(0, 2000, (64,), generator=torch.Generator().manual_seed(step))
        logits = head(*(part[rows] for part in known))
        optimiser.zero_grad()
        F.binary_cross_entropy_with_logits(logits, answers[rows]).backward()
        optimiser.step()
    inputs, labels = examples(400, 10_000)
    right = ((head.eval()(*inputs) > 0) == (labels > 0)).float().mean()
    assert 0.3 < labels.mean() < 0.8  # what always saying the same would reach
    assert right > 0.93


def test_a_matcher_with_it_is_saved_loaded_and_reads_several_candidates_at_once(tmp_path):
    config = EncoderConfig(
        vocab_size=60,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        max_position_embeddings=40,
        classifier_activation=False,
    )
    model = build(config, "learned_matcher", seed=0)
    torch.nn.init.normal_(model.head.outer.weight)
    model.head.know_questions({"?": MARK})
    save_pretrained(model, tmp_path / "m")
    again = load_pretrained(tmp_path / "m")
    texts = [[2, 11, 12, 13, 3], [2, 11, 14, 3], [2, 20, 21, MARK, 3]]
    ids = torch.tensor([[token for text in texts for token in text]])
    types = torch.tensor([[k for k, text in enumerate(texts) for _ in text]])
    together = PackedCandidates(again, 2)(ids, torch.ones_like(ids), types)[0]
    for k in (1, 2):
        pair = torch.tensor([texts[0] + texts[k]])
        sides = torch.tensor([[0] * len(texts[0]) + [1] * len(texts[k])])
        alone, _ = model(pair, torch.ones_like(pair), sides)
        torch.testing.assert_close(together[k - 1], alone[0], rtol=1e-4, atol=1e-4)
