"""Transfer losses of MobileBERT section 3.5; every mean runs over real tokens only."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def feature_map_transfer(teacher: Tensor, student: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference of feature maps (MobileBERT Eq. 2).

    Args:
        teacher: (B, T, N) feature map of a teacher layer.
        student: (B, T, N) of the same student layer.
        mask: (B, T), 1 = token, 0 = padding.
    """
    return _token_mean((teacher - student).square().mean(-1), mask)


def normalised_feature_map_transfer(teacher: Tensor, student: Tensor, mask: Tensor) -> Tensor:
    """Eq. 2 on features that are normalised per token (zero mean, unit variance over N).

    The first half of the decomposition that section 3.5 names for stable training: it has the same scale in
    every layer. Shapes as in `feature_map_transfer`.
    """
    size = (teacher.shape[-1],)
    return feature_map_transfer(F.layer_norm(teacher, size), F.layer_norm(student, size), mask)


def feature_map_statistics(teacher: Tensor, student: Tensor, mask: Tensor) -> Tensor:
    """Squared difference of each token's mean and standard deviation over N: the decomposition's second half.

    A NoNorm student has nothing else that keeps the scale of its features at the teacher's.
    """
    mean = (teacher.mean(-1) - student.mean(-1)).square()
    deviation = (teacher.std(-1, correction=0) - student.std(-1, correction=0)).square()
    return _token_mean(mean + deviation, mask)


def attention_transfer(teacher_scores: Tensor, student_scores: Tensor, mask: Tensor) -> Tensor:
    """KL divergence of each head's attention distributions, teacher || student (MobileBERT Eq. 3).

    Args:
        teacher_scores: (B, A, T, T) masked scores before the softmax.
        student_scores: (B, A, T, T) of a student with the same heads.
        mask: (B, T); rows of padded queries do not count.
    """
    teacher, student = F.log_softmax(teacher_scores, -1), F.log_softmax(student_scores, -1)
    divergence = (teacher.exp() * (teacher - student)).sum(-1).mean(1)  # (B, A, T, T) → (B, T)
    return _token_mean(divergence, mask)


def soft_label_transfer(teacher_logits: Tensor, student_logits: Tensor, temperature: float = 1.0) -> Tensor:
    """KL divergence of class distributions softened by `temperature` (Hinton et al. 2015), times its square.

    Args:
        teacher_logits: (B, C).
        student_logits: (B, C).
        temperature: the square keeps the gradient's size comparable between temperatures.
    """
    teacher = F.log_softmax(teacher_logits / temperature, -1)
    student = F.log_softmax(student_logits / temperature, -1)
    return F.kl_div(student, teacher, reduction="batchmean", log_target=True) * temperature**2


def _token_mean(per_token: Tensor, mask: Tensor) -> Tensor:
    weight = mask.to(per_token.dtype)
    return (per_token * weight).sum() / weight.sum()
