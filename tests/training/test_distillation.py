"""Promise of distill/: every loss is its equation, and a student inherits and learns from its teacher."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_matching.mining.tfidf import mine_pairs
from mobilebert_models import EncoderConfig, build
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation import losses as objectives
from mobilebert_training.distillation.distillation_recipes import DISTILLATION_RECIPES, recipe
from mobilebert_training.distillation.losses import UNLABELLED
from mobilebert_training.distillation.task_distillation import distil, teacher_forced
from mobilebert_training.initialization.student import factorise_embedding, inherit
from mobilebert_training.training_config import ResumeError
from tests.helpers.captured import MASK, draw, tokens
from tests.helpers.networks import SMALL_MOBILE, padded_batch, randomise
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs

SHAPE = (2, 5, 7)  # B, T, N
TEACHER = EncoderConfig(hidden_size=32, num_attention_heads=4, intermediate_size=40, vocab_size=30522)
STUDENT = replace(
    SMALL_MOBILE,
    vocab_size=30522,
    max_position_embeddings=512,
    classifier_activation=True,
    num_hidden_layers=2,
)


def test_feature_map_transfer_is_equation_2():
    teacher, student = draw(SHAPE, 0), draw(SHAPE, 1)
    total = sum((teacher[b, t, n] - student[b, t, n]) ** 2 for b, t in tokens() for n in range(7))
    expected = total / (len(tokens()) * 7)
    torch.testing.assert_close(
        objectives.feature_map_transfer(teacher, student, MASK), expected, rtol=1e-12, atol=0
    )


def test_normalised_transfer_and_statistics_decompose_equation_2():
    teacher, student = draw(SHAPE, 0) * 3 + 1, draw(SHAPE, 1)
    normalised, statistics = 0.0, 0.0
    for b, t in tokens():
        x, y = teacher[b, t], student[b, t]
        mean = [v.sum() / 7 for v in (x, y)]
        deviation = [((v - m) ** 2).sum().div(7).sqrt() for v, m in zip((x, y), mean, strict=True)]
        z = [(v - m) / (d**2 + 1e-5).sqrt() for v, m, d in zip((x, y), mean, deviation, strict=True)]
        normalised += ((z[0] - z[1]) ** 2).sum() / 7
        statistics += (mean[0] - mean[1]) ** 2 + (deviation[0] - deviation[1]) ** 2
    close = {"rtol": 1e-10, "atol": 0}
    torch.testing.assert_close(
        objectives.normalised_feature_map_transfer(teacher, student, MASK),
        normalised / len(tokens()),
        **close,
    )
    torch.testing.assert_close(
        objectives.feature_map_statistics(teacher, student, MASK), statistics / len(tokens()), **close
    )


def test_attention_transfer_is_equation_3():
    teacher, student = draw((2, 3, 5, 5), 0), draw((2, 3, 5, 5), 1)
    total = torch.zeros((), dtype=torch.float64)
    for b, t in tokens():
        for head in range(3):
            p, q = (torch.exp(s[b, head, t]) / torch.exp(s[b, head, t]).sum() for s in (teacher, student))
            total += sum(p[k] * torch.log(p[k] / q[k]) for k in range(5))
    expected = total / (len(tokens()) * 3)
    torch.testing.assert_close(
        objectives.attention_transfer(teacher, student, MASK), expected, rtol=1e-10, atol=0
    )


def test_soft_label_transfer_is_hintons():
    teacher, student, temperature = draw((4, 3), 0), draw((4, 3), 1), 2.5
    total = 0.0
    for b in range(4):
        p, q = (
            torch.exp(x[b] / temperature) / torch.exp(x[b] / temperature).sum() for x in (teacher, student)
        )
        total += (p * torch.log(p / q)).sum()
    expected = total / 4 * temperature**2
    got = objectives.soft_label_transfer(teacher, student, temperature)
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=0)
    each = torch.stack(
        [
            objectives.soft_label_transfer(teacher[b : b + 1], student[b : b + 1], temperature)
            for b in range(4)
        ]
    )
    weights = torch.tensor([0.5, 0.0, 2.0, 1.0], dtype=torch.float64)
    got = objectives.soft_label_transfer(teacher, student, temperature, weights)
    torch.testing.assert_close(got, (weights * each).sum() / 4, rtol=1e-10, atol=0)


@pytest.mark.parametrize(
    ("loss", "shape"),
    [
        (objectives.feature_map_transfer, SHAPE),
        (objectives.normalised_feature_map_transfer, SHAPE),
        (objectives.feature_map_statistics, SHAPE),
        (objectives.attention_transfer, (2, 3, 5, 5)),
    ],
)
def test_equal_tensors_cost_nothing_and_padding_counts_for_nothing(loss, shape):
    teacher, student = draw(shape, 0), draw(shape, 1)
    assert loss(teacher, teacher, MASK).abs() < 1e-12
    changed = student.clone()
    changed[..., 1, 2:, :] += 100.0 if len(shape) == 3 else 0.0
    if len(shape) == 4:
        changed[1, :, 2:] += draw((3, 3, 5), 2)
    torch.testing.assert_close(loss(teacher, changed, MASK), loss(teacher, student, MASK))


def test_factors_are_the_best_of_their_rank():
    table = draw((50, 12), 0)
    small, widen = factorise_embedding(table, 5)
    left, values, right = torch.linalg.svd(table, full_matrices=False)
    best = left[:, :5] @ torch.diag(values[:5]) @ right[:5]
    torch.testing.assert_close(small @ widen.t(), best, rtol=1e-9, atol=1e-9)


def test_student_inherits_embedding_pooler_and_classifier():
    teacher = randomise(build(TEACHER, seed=0))
    student = inherit(replace(STUDENT, embedding_size=32), teacher)  # full rank: nothing may be lost
    batch = padded_batch(length=12)
    ours, theirs = (m.encoder(**batch, capture=True).hidden_states[0] for m in (student, teacher))
    # The student's NoNorm is the teacher's LayerNorm without the division.
    normalised = torch.nn.functional.layer_norm(
        (ours - student.encoder.embeddings.LayerNorm.bias) / student.encoder.embeddings.LayerNorm.weight,
        (32,),
        eps=1e-12,
    )
    expected = (
        theirs - teacher.encoder.embeddings.LayerNorm.bias
    ) / teacher.encoder.embeddings.LayerNorm.weight
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(normalised[real], expected[real], rtol=1e-3, atol=1e-3)
    for name, tensor in teacher.state_dict().items():
        if "pooler" in name or "classifier" in name:
            assert torch.equal(student.state_dict()[name], tensor)


def test_student_that_cannot_inherit_is_an_error():
    teacher = build(TEACHER, seed=0)
    with pytest.raises(ModelError, match="feature map 64"):
        inherit(replace(STUDENT, hidden_size=64), teacher)
    with pytest.raises(ModelError, match="expected a bottleneck model"):
        inherit(TEACHER, teacher)
    with pytest.raises(OptionError, match="'big' is unknown; expected one of matcher-m, matcher-s"):
        recipe("big")


def test_teacher_forcing_isolates_layers():
    teacher, student = build(TEACHER, seed=0).encoder, inherit(STUDENT, build(TEACHER, seed=0)).encoder
    batch = padded_batch(length=12)
    with torch.no_grad():
        target = teacher(**batch, capture=True)
    teacher_forced(student, batch, target).hidden_states[2].sum().backward()
    reached = {n.split(".")[2] for n, p in student.named_parameters() if p.grad is not None and p.grad.any()}
    assert reached == {"1"}, "the second layer's feature map may only train the second layer"


def test_recipe_runs_its_stages_trains_what_each_names_and_resumes(tmp_path):
    tokenizer = PairTokenizer.load(MINILM)
    teacher = build(replace(TEACHER, num_hidden_layers=2), seed=0)
    before = {k: v.clone() for k, v in teacher.state_dict().items()}
    pairs, labels = toy_pairs(24)
    labels = np.where(np.arange(24) % 3 == 0, UNLABELLED, labels)
    student = inherit(STUDENT, teacher)
    first = {k: v.clone() for k, v in student.state_dict().items()}
    records = distil(
        student,
        teacher,
        tokenizer,
        pairs,
        labels,
        toy_pairs(8, seed=1),
        DISTILLATION_RECIPES["smoke"],
        tmp_path,
    )
    assert [r["stage"] for r in records] == ["layerwise", "joint", "task"]
    assert all(torch.equal(v, before[k]) for k, v in teacher.state_dict().items())
    joint = torch.load(tmp_path / "joint.weights", weights_only=True)
    for name, value in first.items():
        is_head = "pooler" in name or "classifier" in name
        assert torch.equal(joint[name], value) == is_head, name
    assert not torch.equal(student.state_dict()["classifier.weight"], first["classifier.weight"])
    (tmp_path / "task.weights").unlink()
    again = inherit(STUDENT, teacher)
    assert [
        r["stage"]
        for r in distil(
            again,
            teacher,
            tokenizer,
            pairs,
            labels,
            toy_pairs(8, seed=1),
            DISTILLATION_RECIPES["smoke"],
            tmp_path,
        )
    ] == ["task"]
    assert all(torch.equal(v, again.state_dict()[k]) for k, v in student.state_dict().items())


def test_run_folder_of_another_teacher_seed_recipe_or_data_is_refused(tmp_path):
    tokenizer = PairTokenizer.load(MINILM)
    teachers = [build(replace(TEACHER, num_hidden_layers=2), seed=seed) for seed in (0, 1)]
    pairs, labels = toy_pairs(8)
    dev, smoke = toy_pairs(8, seed=1), DISTILLATION_RECIPES["smoke"]

    def run(teacher=teachers[0], seed=0, pairs=pairs, plan=smoke):
        given = inherit(STUDENT, teacher, seed), teacher, tokenizer, pairs, labels, dev, plan, tmp_path
        return distil(*given, {"seed": seed})

    run()
    assert run() == []  # the same run: every stage is finished
    for change, what in (
        ({"teacher": teachers[1]}, "teacher, student"),
        ({"seed": 1}, "student, seed"),
        ({"plan": replace(smoke, mined_pairs=9)}, r"recipe \(mined_pairs\)"),
        ({"pairs": [*pairs[:-1], ("other", "text")]}, "data"),
    ):
        with pytest.raises(ResumeError, match=f"holds a run with other {what};"):
            run(**change)
    assert ResumeError.exit_code == 2


def test_mined_pairs_share_words_are_new_and_seeded():
    texts = [
        f"{verb} {noun} {n}"
        for n in range(6)
        for verb in ("cook", "boil", "fry")
        for noun in ("rice", "eggs")
    ]
    known = [(texts[0], texts[1])]
    pairs = mine_pairs(texts * 2, 20, neighbours=4, known=known)
    assert pairs == mine_pairs(texts * 2, 20, neighbours=4, known=known)
    keys = [frozenset(p) for p in pairs]
    assert len(set(keys)) == len(keys) == 20
    assert frozenset(known[0]) not in keys
    assert all(set(a.split()) & set(b.split()) and a != b for a, b in pairs)
