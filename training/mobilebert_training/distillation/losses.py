"""The losses of pretraining and distillation, and the table of those that a stage can weight.

Every mean over positions runs over real tokens only. The layer-wise transfer of MobileBERT (section 3.5) is
`feature_map`, `statistics` and `attention`; the Kronecker recipe (KroneckerBERT Eq. 14) is `embedding`,
`hidden_states`, `attention_scores`, `soft_labels` and `hard_labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from mobilebert_models.networks.layers import EncoderOutput

# The class index of a pair that nobody has labelled.
UNLABELLED = -1
SIMILARITY = 5.0  # weight of the similarity matrix in `vector_losses`
NEAR, NEAR_COSINE = 5.0, 0.5  # weight of the pairs in it that are near, and from which cosine on they are


@dataclass(frozen=True)
class Weights:
    """Weight of each loss of a stage; 0 leaves it out."""

    feature_map: float = 0.0  # normalised feature maps, mean over layers
    statistics: float = 0.0  # their mean and standard deviation
    attention: float = 0.0  # attention distributions, mean over layers
    embedding: float = 0.0  # squared difference of embedding outputs (KroneckerBERT Eq. 14)
    hidden_states: float = 0.0  # squared difference of feature maps as they are, sum over layers (Eq. 14)
    attention_scores: float = 0.0  # squared difference before the softmax, sum over layers (Eq. 14)
    vectors: float = 0.0  # sentence vectors and their similarities (`vector_losses`)
    # Of a task.
    soft_labels: float = 0.0  # the teacher's class distribution
    hard_labels: float = 0.0  # cross-entropy, on labelled pairs only
    # Of pretraining.
    mlm: float = 0.0  # masked language model
    mlm_distillation: float = 0.0  # the teacher's distribution at the masked tokens
    pair: float = 0.0  # next sentence or sentence order

    @property
    def parts(self) -> dict[str, float]:
        """The losses that count, by name, in the order above."""
        return {name: weight for name, weight in asdict(self).items() if weight}

    @staticmethod
    def unit(name: str) -> str:
        """Over what a loss is a mean: a field of `mobilebert_training.training_config.LossNormalizers`."""
        return "tokens" if name in LAYER_LOSSES else "masked" if name.startswith("mlm") else "sequences"

    @property
    def layers(self) -> list[str]:
        """Those of them that compare layers."""
        return [name for name in self.parts if name in LAYER_LOSSES]

    @property
    def matches_hidden_states(self) -> bool:
        """Whether feature maps or scores are compared as they are, which takes a student of equal shape."""
        return bool(self.embedding or self.hidden_states or self.attention_scores)

    def total(self, parts: dict[str, Tensor]) -> Tensor:
        """The sum of `parts`, each times its weight."""
        return torch.stack([getattr(self, name) * part for name, part in parts.items()]).sum()


LAYER_TRANSFER = Weights(feature_map=1.0, statistics=1.0, attention=1.0)  # MobileBERT section 3.5


def layer_loss(
    name: str,
    teacher: EncoderOutput,
    student: EncoderOutput,
    mask: Tensor,
    *,
    layer: int | None = None,
    with_embedding: bool = False,
) -> Tensor:
    """A loss of `LAYER_LOSSES`: a mean over layers, or their sum where KroneckerBERT Eq. 14 has one.

    Args:
        name: of the loss.
        teacher: captured.
        student: captured, of the same number of layers.
        mask: (B, T), 1 = token, 0 = padding.
        layer: this one alone, from 0.
        with_embedding: feature maps count the embedding output as a layer.
    """
    loss, kind = LAYER_LOSSES[name]
    pairs = list(zip(getattr(teacher, kind), getattr(student, kind), strict=True))
    if name == "embedding":
        pairs = pairs[:1]
    elif kind == "hidden_states" and not with_embedding:
        pairs = pairs[1:]  # hidden state 0 is the embedding output
    if layer is not None:
        pairs = [pairs[layer]]
    values = torch.stack([loss(full_precision(t), full_precision(s), mask) for t, s in pairs])
    return values.sum() if name in SUMMED else values.mean()


def full_precision(value: Tensor) -> Tensor:
    """In float32 what autocast computed in bfloat16: a loss is a sum over many small differences."""
    return value.float() if value.dtype is torch.bfloat16 else value


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


def attention_score_transfer(teacher_scores: Tensor, student_scores: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference of attention scores before the softmax, each real token with each real token.

    The attention term of KroneckerBERT Eq. 14, whose O is Q·Kᵀ / √d (Eq. 9).

    Args:
        teacher_scores: (B, A, T, T) masked scores.
        student_scores: (B, A, T, T) of a student with the same heads.
        mask: (B, T); neither padded queries nor padded keys count.
    """
    keys = mask.to(student_scores.dtype)
    squares = (teacher_scores - student_scores).square().mean(1)  # (B, A, T, T) → (B, T, T)
    per_query = (squares * keys[:, None]).sum(-1) / keys.sum(-1, keepdim=True)  # (B, T, T) → (B, T)
    return _token_mean(per_query, mask)


def masked_language_model(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of the masked tokens (Devlin et al. 2019).

    Args:
        logits: (M, V) at the masked positions only.
        labels: (M,) the tokens that stood there.
    """
    return F.cross_entropy(logits, labels)


def sentence_pair(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of a pair of segments: next sentence (BERT), or sentence order (ALBERT section 3.1).

    Args:
        logits: (B, 2).
        labels: (B,) 0 where B follows A, 1 where it is random (NSP) or swapped with A (SOP).
    """
    return F.cross_entropy(logits, labels)


def soft_label_transfer(
    teacher_logits: Tensor, student_logits: Tensor, temperature: float = 1.0, weights: Tensor | None = None
) -> Tensor:
    """KL divergence of class distributions softened by `temperature` (Hinton et al. 2015), times its square.

    Args:
        teacher_logits: (B, C).
        student_logits: (B, C).
        temperature: the square keeps the gradient's size comparable between temperatures.
        weights: (B,) how much each pair counts; all alike without.
    """
    teacher = F.log_softmax(teacher_logits / temperature, -1)
    student = F.log_softmax(student_logits / temperature, -1)
    each = F.kl_div(student, teacher, reduction="none", log_target=True).sum(-1)
    return (each if weights is None else each * weights).mean() * temperature**2


def labelled_cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """Cross-entropy summed over labelled pairs, over the batch size: unlabelled pairs weigh nothing.

    Args:
        logits: (B, C).
        labels: (B,) class indices, or `UNLABELLED`.
        weights: (B,) how much each label counts; all alike without.
    """
    each = F.cross_entropy(logits, labels, ignore_index=UNLABELLED, reduction="none")
    return (each if weights is None else each * weights).sum() / len(labels)


def vector_losses(
    ours: Tensor, target: Tensor, similarity: Tensor, times: float = 1.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """1 − cosine, and the squared difference of the batch's similarity matrices, of all and of near pairs.

    Two texts at random have nothing in common: the mean over all pairs says little of those that a
    threshold has to tell apart, so these have a mean of their own.

    Args:
        ours: (B, H) unit vectors.
        target: (B, H) unit vectors, or narrower ones, which ours are to equal with zeros after them.
        similarity: (B, B), how near the texts are to be to each other.
        times: by which the similarities' weights are multiplied.

    Returns:
        The loss, and its parts by name.
    """
    sentence = (1 - (ours[:, : target.shape[1]] * target).sum(1)).mean()
    error = (ours @ ours.T - similarity).square()
    others = ~torch.eye(len(error), dtype=torch.bool, device=error.device)
    near = ((similarity > NEAR_COSINE) & others).float()
    parts = {
        "sentence": sentence,
        "similarity": error.mean(),
        "near_similarity": (error * near).sum() / near.sum().clamp(min=1),
    }
    between = SIMILARITY * parts["similarity"] + NEAR * parts["near_similarity"]
    return sentence + times * between, parts


def _token_mean(per_token: Tensor, mask: Tensor) -> Tensor:
    weight = mask.to(per_token.dtype)
    return (per_token * weight).sum() / weight.sum()


# The equations of KroneckerBERT before Eq. 14 sum over layers.
SUMMED = ("hidden_states", "attention_scores")
LAYER_LOSSES: dict[str, tuple[Callable[[Tensor, Tensor, Tensor], Tensor], str]] = {
    "feature_map": (normalised_feature_map_transfer, "hidden_states"),
    "statistics": (feature_map_statistics, "hidden_states"),
    "attention": (attention_transfer, "attention_scores"),
    "embedding": (feature_map_transfer, "hidden_states"),
    "hidden_states": (feature_map_transfer, "hidden_states"),
    "attention_scores": (attention_score_transfer, "attention_scores"),
}
