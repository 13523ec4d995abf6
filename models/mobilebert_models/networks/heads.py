"""Task heads over an encoder: classification of texts and tokens, spans, sentence vectors, MLM + NSP."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.kronecker.compress import use_kronecker_layers
from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding
from mobilebert_models.networks.albert import Albert
from mobilebert_models.networks.bert import Bert
from mobilebert_models.networks.deberta import DebertaV2
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import Encoder, activation, initialise
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_models.networks.mobilebert import MobileBert
from mobilebert_models.networks.modernbert import ModernBert, PredictionHead
from mobilebert_runtime.errors import ModelError

ENCODERS: dict[str, Callable[[EncoderConfig], Encoder]] = {
    "bert": Bert,
    "albert": Albert,
    "mobilebert": MobileBert,
    "distilbert": Bert,
    "roberta": Bert,
    "xlm-roberta": Bert,
    "electra": Bert,
    "mpnet": Bert,
    "modernbert": ModernBert,
    "deberta-v2": DebertaV2,
}
# Published encoders of these families end with the feature map.
WITHOUT_POOLER = ("distilbert", "electra", "modernbert", "deberta-v2")


def make_encoder(config: EncoderConfig) -> Encoder:
    """A bare encoder, its Kronecker layers in place; torch's default random weights.

    Raises:
        ModelError: a Kronecker rule of the config does not fit the encoder.
    """
    encoder = ENCODERS[config.model_type](config)
    use_kronecker_layers(encoder, config.kronecker)
    return encoder


class PairClassifier(nn.Module):
    """Logits of a text or a pair: a linear map of the pooled [CLS] row. Regression has one output."""

    def __init__(self, config: EncoderConfig, num_labels: int = 2) -> None:
        super().__init__()
        self.config = config
        self.num_labels = num_labels
        self.encoder = make_encoder(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, S) ids, mask and token types → (B, num_labels) logits."""
        return self.classify(self.encoder(input_ids, attention_mask, token_type_ids).pooled)

    def classify(self, pooled: Tensor) -> Tensor:
        """(B, H) → (B, num_labels)."""
        return self.classifier(self.dropout(pooled))


class TokenClassifier(nn.Module):
    """Logits of every token."""

    def __init__(self, config: EncoderConfig, num_labels: int = 2) -> None:
        super().__init__()
        self.config = config
        self.num_labels = num_labels
        self.encoder = make_encoder(config)
        if config.model_type != "modernbert":  # whose head turns every row
            self.encoder.pooler = None  # no sequence-level output is read
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, S) ids, mask and token types → (B, S, num_labels) logits."""
        hidden = self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state
        if isinstance(self.encoder.pooler, PredictionHead):
            hidden = self.encoder.pooler(hidden)
        return self.classifier(self.dropout(hidden))


class SpanQA(nn.Module):
    """Start and end logits of an answer span."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = make_encoder(config)
        self.encoder.pooler = None  # no sequence-level output is read
        self.qa_outputs = nn.Linear(config.hidden_size, 2)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, S) → (B, S, 2): start logits, end logits."""
        return self.qa_outputs(self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state)


class _Transform(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        # An ALBERT narrows to the width of its word embedding, which is then the whole output matrix.
        size = config.embedding_size if config.model_type == "albert" else config.hidden_size
        self.dense = nn.Linear(config.hidden_size, size)
        self.act = activation(config)
        # A LayerNorm also in a NoNorm model: the head is not part of what runs on the phone.
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        return self.LayerNorm(self.act(self.dense(x)))


class _Predictions(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.transform = _Transform(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        # The tied word embedding covers the first E features; a factorised model learns the other H - E here.
        extra = config.hidden_size - config.embedding_size if config.is_bottleneck else 0
        self.dense = nn.Linear(config.vocab_size, extra, bias=False) if extra else None

    def forward(self, hidden: Tensor, words: nn.Embedding | KroneckerEmbedding) -> Tensor:
        x = self.transform(hidden)
        if isinstance(words, KroneckerEmbedding):
            tied = words.scores(x[..., : words.embedding_dim])
            rest = 0.0 if self.dense is None else x[..., words.embedding_dim :] @ self.dense.weight
            return tied + rest + self.bias
        decoder = words.weight if self.dense is None else torch.cat([words.weight, self.dense.weight.t()], 1)
        return x @ decoder.t() + self.bias


class PretrainingHead(nn.Module):
    """Masked-language-model logits and those of a pair of segments; the output matrix is the word embedding.

    The second output says whether the pair is next-sentence (BERT, MobileBERT) or in order (ALBERT's SOP).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = make_encoder(config)
        self.cls = nn.ModuleDict(
            {"predictions": _Predictions(config), "seq_relationship": nn.Linear(config.hidden_size, 2)}
        )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(B, S) → MLM logits (B, S, vocabulary) and NSP or SOP logits (B, 2)."""
        out = self.encoder(input_ids, attention_mask, token_type_ids)
        words = self.encoder.embeddings.word_embeddings
        return self.cls["predictions"](out.last_hidden_state, words), self.cls["seq_relationship"](out.pooled)


HEADS = (
    *("pair_classifier", "regression", "token_classifier", "pretraining", "span_qa"),
    *("embedding_matcher", "learned_matcher"),
)


def build(
    config: EncoderConfig, head: str | None = "pair_classifier", num_labels: int = 2, seed: int | None = None
) -> nn.Module:
    """Make a randomly initialised model in eval mode.

    Args:
        config: shape of the encoder.
        head: one of `HEADS`, or None for the bare encoder.
        num_labels: outputs of a classifier.
        seed: makes the weights reproducible; None draws from torch's global generator.

    Raises:
        ModelError: the head is unknown.
    """
    if seed is not None:
        torch.manual_seed(seed)
    model: nn.Module
    if head is None:
        model = make_encoder(config)
        if config.model_type in WITHOUT_POOLER:
            model.pooler = None
    elif head == "pair_classifier":
        model = PairClassifier(config, num_labels)
    elif head == "regression":
        model = PairClassifier(config, 1)
    elif head == "token_classifier":
        model = TokenClassifier(config, num_labels)
    elif head == "pretraining" and config.model_type not in ("bert", "albert", "mobilebert"):
        raise ModelError(f"head 'pretraining' of model_type {config.model_type!r} is not supported")
    elif head == "pretraining":
        model = PretrainingHead(config)
    elif head == "span_qa":
        model = SpanQA(config)
    elif head == "embedding_matcher":
        model = EmbeddingMatcher(make_encoder(config))
    elif head == "learned_matcher":
        model = EmbeddingMatcher(make_encoder(config), LearnedDecision(config.hidden_size))
    else:
        raise ModelError(f"head {head!r} is unknown; expected one of {', '.join(HEADS)}")
    initialise(model, config.initializer_range)
    return model.eval()
