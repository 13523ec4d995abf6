"""Promise of distill/objectives: each pretraining and transfer loss is its equation, in float64 to 1e-6."""

import math

import torch

from mobilebert_training.distillation import losses as objectives
from tests.helpers.captured import MASK, draw, tokens

CLOSE = {"rtol": 0, "atol": 1e-6}
VOCABULARY, GUESSED = 11, 6


def cross_entropy(rows, labels):
    total = 0.0
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        total += math.log(sum(math.exp(x) for x in row)) - row[label]
    return total / len(labels)


def distributions(rows):
    return [[math.exp(x) / sum(map(math.exp, row)) for x in row] for row in rows.tolist()]


def logits():
    labels = torch.tensor([3, 0, 10, 7, 7, 1])
    return draw((GUESSED, VOCABULARY), 0) * 2, draw((GUESSED, VOCABULARY), 1) * 2, labels


def test_masked_language_model_is_the_cross_entropy_of_the_guessed_tokens():
    student, _, labels = logits()
    expected = torch.tensor(cross_entropy(student, labels), dtype=torch.float64)
    torch.testing.assert_close(objectives.masked_language_model(student, labels), expected, **CLOSE)


def test_sentence_pair_is_the_cross_entropy_of_two_classes():
    pairs, labels = draw((5, 2), 3), torch.tensor([0, 1, 1, 0, 1])
    expected = torch.tensor(cross_entropy(pairs, labels), dtype=torch.float64)
    torch.testing.assert_close(objectives.sentence_pair(pairs, labels), expected, **CLOSE)


def test_soft_labels_of_the_vocabulary_are_the_divergence_from_the_teacher():
    student, teacher, _ = logits()
    expected = 0.0
    for p, q in zip(distributions(teacher), distributions(student), strict=True):
        expected += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)) / GUESSED
    got = objectives.soft_label_transfer(teacher, student)
    torch.testing.assert_close(got, torch.tensor(expected, dtype=torch.float64), **CLOSE)


def test_distillations_gradient_is_that_of_the_cross_entropy_with_soft_targets():
    student, teacher, _ = logits()
    student.requires_grad_()
    objectives.soft_label_transfer(teacher, student).backward()
    p = torch.tensor(distributions(teacher), dtype=torch.float64)
    q = torch.tensor(distributions(student.detach()), dtype=torch.float64)
    torch.testing.assert_close(student.grad, (q - p) / GUESSED, **CLOSE)


def test_attention_score_transfer_is_the_mean_square_over_real_pairs_of_tokens():
    teacher, student = draw((2, 3, 5, 5), 0), draw((2, 3, 5, 5), 1)
    lengths = MASK.sum(1).tolist()
    total = 0.0
    for b, t in tokens():
        for head in range(3):
            for key in range(lengths[b]):
                total += float(teacher[b, head, t, key] - student[b, head, t, key]) ** 2 / (3 * lengths[b])
    expected = torch.tensor(total / len(tokens()), dtype=torch.float64)
    torch.testing.assert_close(objectives.attention_score_transfer(teacher, student, MASK), expected, **CLOSE)
    changed = student.clone()
    changed[1, :, 2:] += 50.0
    changed[1, :, :, 2:] -= 50.0
    torch.testing.assert_close(objectives.attention_score_transfer(teacher, changed, MASK), expected, **CLOSE)


def test_equal_scores_cost_nothing():
    teacher = draw((2, 3, 5, 5), 0)
    assert objectives.attention_score_transfer(teacher, teacher, MASK) == 0
