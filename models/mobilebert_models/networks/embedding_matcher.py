"""A sentence encoder that also decides about pairs: each text is read by itself, single tokens are compared.

A packed pair is `[CLS] a [SEP] [CLS] b [SEP]` with token type 1 from the second [CLS] on. The token types
part the texts and nothing else: a token attends only within its text, positions begin again at the second
[CLS], and the network reads type 0 throughout. So the states of both texts are those of each text alone, and
stored vectors agree with what a pair is decided by. No token attends to a question mark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import ModelError

MODEL_TYPES = ("bert", "albert", "electra", "mobilebert")
WIDTH = 64  # of the spaces in which tokens are compared
# Tokens without the same token in the other text, of the text with more of them: up to ALL the penalty counts
# in full, from NONE on not at all. Texts that differ in more are ranked by their cosines alone.
ALL, NONE = 1.0, 2.0
DEEPEST = 2.5  # the largest penalty: a changed text is called different, and still ranks above unlike ones
DIGIT = 1024  # base of the token ids that the head knows
# Words that begin a question (Quirk et al. 1985, sections 11.4 to 11.19): wh-words, and what changes places
# with the subject. Many write no question mark.
QUESTION_WORDS = (
    *("what", "which", "who", "whom", "whose", "when", "where", "why", "how"),
    *("am", "is", "are", "was", "were", "do", "does", "did", "have", "has", "had"),
    *("can", "could", "will", "would", "shall", "should", "may", "might", "must"),
)
_SPACES = 3
COMMON = 0.1  # what a token counts at least where rare ones count more: common words alone have a mean too
_TINY = 1e-6  # ONNX Runtime adds nothing where it is 1e-12: a missing second text divided by zero


class EmbeddingMatcher(nn.Module):
    """Logits that two texts say the same, and the sentence vector of the first.

    Args:
        encoder: with one embedding per word piece and per position, as BERT, ALBERT, ELECTRA and MobileBERT
            have.
        head: decides about the states of a pair; an `AlignmentHead` where none is given.

    Raises:
        ModelError: the encoder's embeddings are of another kind.
    """

    num_labels = 2  # different, same

    def __init__(self, encoder: Encoder, head: PairDecision | None = None) -> None:
        super().__init__()
        if encoder.config.model_type not in MODEL_TYPES:
            raise ModelError(
                f"config: an embedding matcher of a {encoder.config.model_type}; expected one of "
                f"{', '.join(MODEL_TYPES)}, which read one embedding a word piece and a position"
            )
        self.config: EncoderConfig = encoder.config
        self.encoder = encoder
        self.encoder.pooler = None
        self.head: Any = AlignmentHead(encoder.config.hidden_size) if head is None else head

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(B, S) ids, mask and types → logits (B, 2) of different and same, unit vectors (B, H)."""
        states = self.states(input_ids, attention_mask, token_type_ids)
        mask, types = attention_mask.to(states[0].dtype), token_type_ids.to(states[0].dtype)
        half = self.head(input_ids.to(mask.dtype), *states, mask, types) / 2
        first = unit(pooled(states[-1], self.read(input_ids, attention_mask) * (1 - types)))
        return torch.stack([-half, half], 1), first

    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Which tokens the network reads, (B, S) floats: all but padding and question marks.

        A question means the same without its mark; with it, all questions are a little alike.
        """
        ids = input_ids.to(self.head.scale.dtype)
        mask = attention_mask.to(ids.dtype)
        return mask - self.head.question_marks(ids) * mask

    def states(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The embedding output, the states after half of the layers, and the last, each (B, S, H).

        Token types number the texts of an input from 0, ascending. Those of a question mark mean nothing.
        """
        parts = cast(Any, self.encoder.embeddings)
        read = self.read(input_ids, attention_mask)
        types, length = token_type_ids.to(read.dtype), input_ids.shape[1]
        visible = read[:, None, :] * _equal(types[:, :, None], types[:, None, :])
        earlier = torch.ones(length, length, dtype=read.dtype, device=read.device).tril(-1)
        before = (visible * earlier).sum(2)  # tokens of its own text before each
        at = before.to(input_ids.dtype)
        x = parts.word_embeddings(input_ids)
        if self.config.model_type == "mobilebert":
            x = parts.embedding_transformation(_trigram(x * read[..., None], visible, before))
        x = x + parts.position_embeddings(at)
        x = parts.LayerNorm(x + parts.token_type_embeddings.weight[0])
        for owner, name in ((parts, "embedding_hidden_mapping_in"), (self.encoder, "embeddings_project")):
            x = getattr(owner, name)(x) if hasattr(owner, name) else x
        added = ((1 - visible) * self.config.attention_mask_value)[:, None]  # (B, 1, S, S)
        embedded = middle = x
        layers = self.encoder.layers
        for depth, layer in enumerate(layers, start=1):
            x, _ = layer(x, added, None)
            if depth == len(layers) // 2:
                middle = x
        return embedded, middle, x


class PairDecision(nn.Module, ABC):
    """A head: the logit that two texts say the same. It knows which token no matcher reads.

    Attributes:
        scale: a parameter, whose type ids are read in.
        shift: what is added to the logit.
        question_mark: (2,), the token id in two digits: files of weights are in float16, which holds whole
            numbers up to 2,048.
    """

    scale: nn.Parameter
    shift: nn.Parameter
    question_mark: nn.Parameter

    @abstractmethod
    def proportional(self) -> tuple[nn.Parameter, ...]:
        """Parameters that the logit less `shift` is proportional to, as long as all of them change alike."""

    def rescale(self, slope: float, offset: float) -> None:
        """Make every logit `slope` times what it was, plus `offset`.

        Raises:
            ValueError: a slope that is not above 0 would turn the order of the pairs round.
        """
        if not slope > 0:
            raise ValueError(f"slope {slope}: expected a number above 0")
        with torch.no_grad():
            for part in (self.shift, *self.proportional()):
                part.mul_(slope)
            self.shift.add_(offset)

    def _no_question_mark(self) -> nn.Parameter:
        """What `question_mark` is until a vocabulary is known."""
        return nn.Parameter(torch.tensor([-1.0, 0.0]), requires_grad=False)

    def know_questions(self, vocabulary: Mapping[str, int]) -> None:
        """Take the question mark's id of a vocabulary; without it nothing is passed by."""
        if "?" in vocabulary:
            with torch.no_grad():
                self.question_mark.copy_(torch.tensor(divmod(vocabulary["?"], DIGIT)))

    def question_marks(self, ids: Tensor) -> Tensor:
        """1 at question marks, (B, S) of ids as floats."""
        return _equal(ids, DIGIT * self.question_mark[0] + self.question_mark[1])


class AlignmentHead(PairDecision):
    """Logit that two texts say the same, from the tokens and token states of both; symmetric in the two.

    Four cosines rank pairs: of the mean of the last states, of [CLS], of the mean of the embedding output,
    and the mean of each token's last state with the nearest of the other text (BERTScore, Zhang et al. 2020,
    section 3, the plain mean of precision and recall). They are weighed otherwise for questions than for
    statements: words that two questions share are often those of their form. So where most tokens of two
    questions have a near partner half of the layers up, what is left between them counts for more. A question
    is told by its mark, or by its first word.

    Of texts that share nearly all of their tokens the cosines say little: there, every token
    looks for its best partner in the other text, in three spaces: by itself, by itself and its context, and
    with its two neighbours. What stays without a partner is weighed by how much that token matters, and
    lowers the logit. Equal texts get the highest logit there is. Question marks are passed by.

    In the mean of the embedding output rare tokens count more where `weigh_rare_tokens` has said so, by the
    square of their inverse document frequency (Salton and Buckley 1988). That is nearly linear in a token's
    embedding, so it takes a vector and no table.

    Args:
        hidden_size: H of the encoder.

    Attributes:
        rarity: a token's inverse document frequency from its embedding output, H to 1; None: all count alike.
    """

    rarity: nn.Linear | None

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.alone = nn.Linear(hidden_size, WIDTH, bias=False)
        self.context = nn.Linear(2 * hidden_size, WIDTH, bias=False)
        self.neighbours = nn.Linear(hidden_size, 3 * WIDTH, bias=False)
        self.matter = nn.Linear(2 * hidden_size, _SPACES)
        inner, outer = nn.Linear(4 * _SPACES + 2, 32), nn.Linear(32, 1)
        with torch.no_grad():  # a lack of partners lowers the score: where it does not, nothing is learned
            for part in (inner, outer):
                part.weight.abs_()
                part.bias.zero_()
        self.mix = nn.Sequential(inner, nn.ReLU(), outer)
        self.none, self.deepest = NONE, DEEPEST
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.shift = nn.Parameter(torch.tensor(-7.0))
        # Of the four cosines, in statements and in questions: chosen on dev pairs, not learned.
        self.cosines = nn.Parameter(torch.tensor([[1.0, 0.0, 0.0, 0.0]] * 2), requires_grad=False)
        # How much the distance of two questions counts, and by how much more from which overlap on.
        self.overlap = nn.Parameter(torch.tensor([1.0, 0.0, 1.0]), requires_grad=False)
        self.question_mark = self._no_question_mark()
        # The first digits, then the second; one axis, since files in eight bits round what has two.
        nowhere = torch.tensor([-1.0, 0.0]).repeat_interleave(len(QUESTION_WORDS))
        self.question_words = nn.Parameter(nowhere, requires_grad=False)
        self.share = nn.Parameter(torch.tensor(1.0), requires_grad=False)  # of the penalty
        self.rarity = None

    def forward(
        self, ids: Tensor, embedded: Tensor, middle: Tensor, last: Tensor, mask: Tensor, types: Tensor
    ) -> Tensor:
        """Ids (B, S), three states (B, S, H), mask and types (B, S), all of them floats → (B,) logits."""
        # The second text's [CLS] is where its mask begins.
        second = mask * types
        begins = second * (1 - F.pad(second[:, :-1], (1, 0)))
        marks = self.question_marks(ids) * mask
        asks = torch.maximum(marks, self._begins_a_question(ids, begins))
        questions = (asks * (1 - types)).amax(1) * (asks * types).amax(1)  # (B,), 1 where both texts ask
        mask = mask - marks
        first, second = mask * (1 - types), mask * types
        other = mask[:, None, :] * (types[:, :, None] - types[:, None, :]).abs()
        apart = (other - 1) * 4  # keeps tokens of the same text out of reach: cosines are at least -1
        each = (first / _count(first) + second / _count(second)) / 2  # each text counts half
        nearest = _nearest(last, apart, each)
        cosine = self._cosine(embedded, last, first, second, nearest, begins, questions)
        lack = self._lack(embedded, middle, last, mask, types, apart)
        weight = F.softplus(self.matter(torch.cat([embedded, last], -1)))
        one, two = _summary(lack, weight, first), _summary(lack, weight, second)
        far = torch.stack([1 - cosine, (1 - cosine).square()], 1)
        features = torch.cat([torch.minimum(one, two), torch.maximum(one, two), far], 1)  # symmetric
        # Equal texts have features of zero; what the mixture gives there is the ceiling.
        penalty = F.softplus(self.mix(features)) - F.softplus(self.mix(torch.zeros_like(features)))
        counts = self.share * nearly_same_tokens(ids, first, second, other, self.none)
        penalty = self.deepest * torch.tanh(F.relu(penalty)[:, 0] / self.deepest)
        least, slope, start = self.overlap
        overlap = _nearest(middle, apart, each)
        cosine = 1 - (1 - cosine) * (1 + questions * (least - 1 + slope * F.relu(overlap - start)))
        return self.scale.abs() * cosine + self.shift - counts * penalty

    def proportional(self) -> tuple[nn.Parameter, ...]:
        """See `PairDecision.proportional`."""
        return self.scale, self.share

    def weigh_cosines(self, statements: tuple[float, ...], questions: tuple[float, ...]) -> None:
        """Set the weights of the four cosines, for pairs with a statement and for pairs of questions."""
        with torch.no_grad():
            self.cosines.copy_(torch.tensor([statements, questions]))

    def know_questions(self, vocabulary: Mapping[str, int]) -> None:
        """Recognise questions by a question mark, which is then ignored, or by their first word.

        Args:
            vocabulary: token ids; the mark and those of `QUESTION_WORDS` that it lacks tell nothing.
        """
        digits = [
            divmod(vocabulary[token], DIGIT) if token in vocabulary else (-1, 0)
            for token in ("?", *QUESTION_WORDS)
        ]
        with torch.no_grad():
            self.question_mark.copy_(torch.tensor(digits[0]))
            self.question_words.copy_(torch.tensor(digits[1:]).T.flatten())

    def weigh_overlap(self, least: float, slope: float, start: float) -> None:
        """Let the distance 1 − cosine of two questions count `least` + `slope` · (overlap − `start`) times.

        The overlap is the mean cosine of each token with the nearest of the other text, half of the layers
        up; below `start` the distance counts `least` times.
        """
        with torch.no_grad():
            self.overlap.copy_(torch.tensor([least, slope, start]))

    def weigh_rare_tokens(self) -> nn.Linear:
        """Let rare tokens count more in the mean of the embedding output; returns `rarity`, all ones."""
        self.rarity = nn.Linear(self.alone.in_features, 1).requires_grad_(False)
        self.rarity.weight.zero_()
        self.rarity.bias.fill_(1.0)
        return self.rarity

    def _begins_a_question(self, ids: Tensor, begins: Tensor) -> Tensor:
        """1 at a text's first word where it is one of the question words, (B, S); `begins` are [CLS]."""
        high, low = self.question_words.chunk(2)
        words = _equal(ids[..., None], DIGIT * high + low).amax(2)
        # A first word follows a [CLS]; the first text's [CLS] is the first token.
        first = F.pad(F.pad(begins[:, 1:-1], (1, 0), value=1.0), (1, 0))
        return words * first

    def _cosine(
        self,
        embedded: Tensor,
        last: Tensor,
        first: Tensor,
        second: Tensor,
        nearest: Tensor,
        begins: Tensor,
        questions: Tensor,
    ) -> Tensor:
        """Weighed mean of the four cosines, (B,)."""
        rare = 1 if self.rarity is None else F.relu(self.rarity(embedded))[..., 0].square() + COMMON
        pairs = (
            (pooled(last, first), pooled(last, second)),
            (last[:, 0], (last * begins[..., None]).sum(1)),
            (pooled(embedded, first * rare), pooled(embedded, second * rare)),
        )
        means = [(unit(a) * unit(b)).sum(-1) for a, b in pairs]
        found = torch.stack([*means, nearest], 1)
        weights = self.cosines[0] + questions[:, None] * (self.cosines[1] - self.cosines[0])
        # Where a weight is below 0, texts alike in meaning but not in words would be above equal ones.
        return ((found * weights).sum(1) / weights.sum(1)).clamp(max=1.0)

    def _lack(
        self, embedded: Tensor, middle: Tensor, last: Tensor, mask: Tensor, types: Tensor, apart: Tensor
    ) -> Tensor:
        """By how much each token's best partner in the other text misses it, (B, S, spaces)."""
        alone = _products(unit(self.alone(embedded)))
        context = _products(unit(self.context(torch.cat([middle, last], -1))))
        near = _products(unit(self._with_neighbours(embedded, mask, types)))
        spaces = (alone, (alone + context) / 2, near)
        return torch.stack([F.relu(1 - _best(space, apart)) for space in spaces], 2)

    def _with_neighbours(self, embedded: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """Each token beside the one before and the one after it in its own text, (B, S, WIDTH)."""
        before, own, after = self.neighbours(embedded).split(WIDTH, -1)
        together = (1 - (types[:, 1:] - types[:, :-1]).abs()) * mask[:, 1:] * mask[:, :-1]
        before = F.pad(before[:, :-1] * together[..., None], (0, 0, 1, 0))
        return own + before + F.pad(after[:, 1:] * together[..., None], (0, 0, 0, 1))


def nearly_same_tokens(
    ids: Tensor, first: Tensor, second: Tensor, other: Tensor, none: float = NONE
) -> Tensor:
    """1 where both texts have nearly the same tokens, 0 where they differ in many, (B,).

    Args:
        ids: (B, S) as floats, which hold whole numbers up to 2²⁴.
        first: (B, S), the first text's tokens.
        second: (B, S), the second text's.
        other: (B, S, S), which tokens are of the other text.
        none: from how many tokens on that only one text has it is 0.
    """
    same = _equal(ids[:, :, None], ids[:, None, :]) * other
    alone = 1 - same.amax(2)
    most = torch.maximum((alone * first).sum(1), (alone * second).sum(1))
    return ((none - most) / (none - ALL)).clamp(0, 1)


def pooled(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of `mask`: (B, S, H) and (B, S) → (B, H)."""
    return (states * mask[..., None]).sum(1) / _count(mask)


def unit(x: Tensor) -> Tensor:
    """Vectors of length 1 along the last axis."""
    return x / (x.square().sum(-1, keepdim=True) + _TINY).sqrt()


def _equal(one: Tensor, other: Tensor | float) -> Tensor:
    """1 where whole numbers are equal, else 0; of arithmetic that every runtime has for floats."""
    return F.relu(1 - (one - other).square())


def _trigram(words: Tensor, visible: Tensor, at: Tensor) -> Tensor:
    """Every word beside the next and the previous one that is read in its own text.

    Args:
        words: (B, S, E).
        visible: (B, S, S), 1 where the second token is read and of the first one's text.
        at: (B, S), tokens read before each in its text.

    Returns:
        (B, S, 3E), next | current | previous; nothing where a text ends.
    """
    steps = at[:, None, :] - at[:, :, None]
    following, previous = (_equal(steps, step) * visible for step in (1, -1))
    return torch.cat([following @ words, words, previous @ words], 2)


def _products(vectors: Tensor) -> Tensor:
    return vectors @ vectors.transpose(1, 2)


def _count(mask: Tensor) -> Tensor:
    """How many tokens there are, at least 1: (B, S) → (B, 1)."""
    return mask.sum(1, keepdim=True).clamp(min=1.0)


def _best(products: Tensor, apart: Tensor) -> Tensor:
    """The largest product of each token with one of the other text, (B, S, S) twice → (B, S)."""
    return (products + apart).amax(2)


def _nearest(states: Tensor, apart: Tensor, each: Tensor) -> Tensor:
    """Mean over the tokens, by `each` (B, S), of the largest cosine with one of the other text, (B,)."""
    return (_best(_products(unit(states)), apart) * each).sum(1)


def _summary(lack: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
    """Weighed mean and largest lack over one text's tokens: (B, S, spaces) twice → (B, 2·spaces)."""
    weight = weight * mask[..., None]
    mean = (lack * weight).sum(1) / (weight.sum(1) + _TINY)
    return torch.cat([mean, (lack * weight).amax(1)], 1)
