"""The card of the artefact to make, io.json: what of the model a runtime has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mobilebert_export.pipeline.export_request import SHORTEST
from mobilebert_export.pipeline.loading import LoadedModel
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.card import MODEL_FILES, QUESTION_ANSWERING, SPANS, ArtefactCard, Bucket
from mobilebert_runtime.card_parts import LONGEST_LABEL, TOKENIZER_FILE, CardError, Embedding, TokenizerCard
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.tokenizer_kinds import CONFIG_FILE

if TYPE_CHECKING:
    from mobilebert_models import MatcherSettings


def artefact_card(model: LoadedModel, recipe: Recipe, buckets: tuple[Bucket, ...]) -> ArtefactCard:
    """The io.json of the artefact to make.

    Args:
        model: that the artefact is made from.
        recipe: how it will be quantised.
        buckets: its sequence lengths, in ascending order.

    Raises:
        OptionError: the model has no room for so many tokens.
        ModelError: a setting of the model, or its tokenizer, can't be described.
    """
    config, task, seq_len = model.config, model.task, buckets[-1].seq_len
    if not SHORTEST <= seq_len <= model.longest:
        raise OptionError(f"--seq-len {seq_len}: this model takes {SHORTEST} to {model.longest}")
    for name in task.labels:
        if not (name.isprintable() and 0 < len(name.strip()) <= len(name) <= LONGEST_LABEL):
            raise ModelError(
                f"{model.folder}: a class is called {name!r:.60}; give it a name of 1 to {LONGEST_LABEL} "
                "printable characters (id2label in config.json)"
            )
    try:
        return ArtefactCard(
            target=recipe.target,
            quant=recipe.quant,
            model_file=MODEL_FILES[recipe.target],
            buckets=buckets,
            labels=task.labels,
            attention_mask_value=config.attention_mask_value,
            minimum_runtime=recipe.minimum_runtime,
            task=task.name,
            texts=task.texts,
            inputs=config.input_names,
            activation=task.activation,
            tokenizer=_tokenizer_card(
                model, spelling=model.tokenizer.spelling is not None and task.name not in SPANS
            ),
            embedding=_embedding(model),
            # A third of a window is read again in the next, as in BERT's own reading of SQuAD (128 of 384).
            stride=seq_len // 3 if task.name == QUESTION_ANSWERING else None,
            **({} if task.settings is None else _decision(task.settings)),
        )
    except CardError as error:
        raise ModelError(f"{model.folder}: {error}") from None


def _tokenizer_card(model: LoadedModel, *, spelling: bool) -> TokenizerCard:
    tokenizer = model.tokenizer
    lowercases = tokenizer.ids([("A", "A")], 8) == tokenizer.ids([("a", "a")], 8)
    if tokenizer.kind == "wordpiece" and not tokenizer.reads_as_bert(lowercase=lowercases):
        raise ModelError(
            f"{model.directory / TOKENIZER_FILE}: with {CONFIG_FILE} it splits words otherwise than BERT's "
            "WordPiece, which a phone does from vocab.txt alone; supported are tokenize_chinese_chars and "
            "clean_text true, strip_accents the same as do_lower_case or null, the unknown token [UNK] and "
            "words of at most 100 characters"
        )
    return TokenizerCard(
        kind=str(tokenizer.kind),
        lowercase=lowercases if tokenizer.kind == "wordpiece" else None,
        pad_id=tokenizer.pad_id,
        template=tokenizer.template,
        spelling=spelling,
        sort_texts=tokenizer.sort_texts,
        truncation_side=tokenizer.truncation_side,
    )


def _embedding(model: LoadedModel) -> Embedding | None:
    """The vector that the network returns, beside the logits in an embedding matcher."""
    from mobilebert_models import EmbeddingMatcher, SentenceEmbedder

    if isinstance(model.network, SentenceEmbedder):
        network, behind = model.network, model.network.modules_behind
        # Of vectors of length 1 the dot product is the cosine.
        same = network.unit_vectors and behind.similarity == "dot"
        return Embedding(
            network.size,
            network.unit_vectors,
            "cosine" if same else behind.similarity,
            behind.prompts,
            behind.default_prompt,
        )
    if isinstance(model.network, EmbeddingMatcher):
        return Embedding(model.config.hidden_size, normalized=True)
    return None


def _decision(settings: MatcherSettings) -> dict[str, Any]:
    """The fields of the card that only a matcher has."""
    return {
        "positive": settings.positive,
        "threshold": settings.threshold,
        "temperature": settings.temperature,
        "length_shift": LengthShift.from_json(settings.length_shift),
    }
