"""The PyTorch model that an artefact is made from or compared with, and what of it goes into the card."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilebert_export.pipeline.export_request import SHORTEST, ExportRequest
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.card import (
    CLASSIFICATION,
    MATCHING,
    MODEL_FILES,
    QUESTION_ANSWERING,
    SPANS,
    TOKEN_CLASSIFICATION,
    ArtefactCard,
    read_card,
)
from mobilebert_runtime.card_parts import TOKENIZER_FILE, Embedding, TokenizerCard
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import file_sha256
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_runtime.tokenizer_kinds import CONFIG_FILE

if TYPE_CHECKING:
    from mobilebert_models import ModelTask


@dataclass(frozen=True)
class LoadedModel:
    """A PyTorch network, what it is for, and what belongs to it."""

    network: Any
    task: "ModelTask"
    tokenizer: PairTokenizer
    directory: Path  # of config.json, the weights and the tokenizer
    source: dict[str, str]  # name and SHA-256 of the weights, for recipe.json


def load_model(
    name: str, *, task: str | None = None, texts: int | None = None, positive: str | None = None
) -> LoadedModel:
    """Load a model by its directory or name.

    Args:
        name: which.
        task: what the user says it does; as the next two for `mobilebert_models.read_task`.
        texts: how many texts the user says an input has.
        positive: class that the user says means a match.

    Raises:
        ModelError: the directory is damaged, or of a kind that is not supported.
        OptionError: what the user says contradicts the directory, or is needed and missing.
    """
    import mobilebert_models
    from mobilebert_models.loading.hub import is_hub_id
    from mobilebert_models.loading.sentence_modules import encoder_directory

    folder = mobilebert_models.find_directory(name)
    directory = encoder_directory(folder)
    mobilebert_models.read_config(
        directory
    )  # an unknown kind of network is refused before its task is asked for
    found = mobilebert_models.read_task(folder, task=task, texts=texts, positive=positive)
    network: Any
    network = (
        mobilebert_models.load_embedder(folder)
        if found.modules
        else mobilebert_models.load_pretrained(directory)
    )
    _check_head(network, found, folder)
    tokenizer = load_tokenizer(directory, network.config)
    if found.texts == 2:
        _check_token_types(directory, network.config)
    digest = file_sha256(directory / "model.safetensors")
    # The folder's name, not its path: an artefact tells nobody where it was made.
    source = {"name": name if is_hub_id(name) else folder.resolve().name, "sha256": digest}
    return LoadedModel(network, found, tokenizer, directory, source)


def _check_head(network: Any, task: "ModelTask", folder: Path) -> None:
    """Raise `ModelError` where the network's head does not do its task."""
    import mobilebert_models
    from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher

    heads: dict[str, Any] = {
        MATCHING: (mobilebert_models.PairClassifier, EmbeddingMatcher),
        CLASSIFICATION: mobilebert_models.PairClassifier,
        TOKEN_CLASSIFICATION: mobilebert_models.TokenClassifier,
        QUESTION_ANSWERING: mobilebert_models.SpanQA,
    }
    if not isinstance(network, heads.get(task.name, mobilebert_models.SentenceEmbedder)):
        raise ModelError(f"{folder}: holds a {type(network).__name__}, which can't do {task.name}")
    if task.labels and getattr(network, "num_labels", 2) != len(task.labels):
        file = "matcher.json" if (folder / "matcher.json").is_file() else "config.json"
        raise ModelError(
            f"{folder}: {file} names {len(task.labels)} labels, the classifier has "
            f"{getattr(network, 'num_labels', 2)}"
        )


def load_tokenizer(directory: Path, config: Any) -> PairTokenizer:
    """The tokenizer of a model directory.

    Raises:
        ModelError: it is missing, of a kind that no artefact can hold, or of another network.
    """
    tokenizer = PairTokenizer.load(directory)
    if tokenizer.kind is None:
        raise ModelError(
            f"{directory / TOKENIZER_FILE}: splits texts in a way that is not supported; expected a BERT's "
            "WordPiece, a byte-level BPE or a Unigram (SentencePiece) model"
        )
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"{directory}: tokenizer.json has {tokenizer.vocab_size} entries, the model {config.vocab_size}"
        )
    return tokenizer


def _check_token_types(directory: Path, config: Any) -> None:
    """Raise `ModelError` where `transformers` would not feed the token types that an artefact feeds.

    A tokenizer whose `model_input_names` leave them out gives the network none, so that it takes both texts
    for the first; an artefact takes the types of tokenizer.json's template.
    """
    from mobilebert_models.loading.sentence_modules import read_object

    path = directory / CONFIG_FILE
    names = read_object(path).get("model_input_names")
    if names is not None and "token_type_ids" not in names and config.type_vocab_size > 1:
        raise ModelError(
            f"{path}: model_input_names leave out token_type_ids, so that transformers takes both texts for "
            f"the first, but the network has {config.type_vocab_size} types; add token_type_ids if "
            "it was trained with them"
        )


def load_source(made: dict[str, Any], artefact: str | Path, model: str | None) -> LoadedModel:
    """The model that an artefact was made from.

    Args:
        made: the artefact's recipe.json.
        artefact: its folder.
        model: directory or name; None where a shipped matcher was exported.

    Raises:
        OptionError: `model` is another one, or is needed and missing.
    """
    import mobilebert_models

    name = str(made["model"]["name"])
    if model is None and name not in mobilebert_models.SHIPPED_MATCHERS:
        raise OptionError(f"{artefact}: made from {name!r}; give its directory with --model")
    card = read_card(artefact)
    positive = card.labels[card.positive] if card.task == MATCHING else None
    found = load_model(model or name, task=card.task, texts=card.texts, positive=positive)
    if found.source["sha256"] != made["model"]["sha256"]:
        raise OptionError(
            f"{found.directory}: its weights (SHA-256 {found.source['sha256'][:12]}…) are not those "
            f"{artefact} was made from ({made['model']['sha256'][:12]}…); give the right --model"
        )
    return found


def artefact_card(request: ExportRequest, model: LoadedModel, recipe: Recipe) -> ArtefactCard:
    """The io.json of the artefact to make.

    Raises:
        OptionError: the model has no room for `--seq-len` tokens.
        ModelError: the tokenizer can't be described.
    """
    config, task = model.network.config, model.task
    longest = min(config.max_tokens, model.tokenizer.max_length or config.max_tokens)
    buckets = request.card_buckets(longest)
    seq_len = buckets[-1].seq_len
    if not SHORTEST <= seq_len <= longest:
        raise OptionError(f"--seq-len {seq_len}: this model takes {SHORTEST} to {longest}")
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
        **_decision(task),
    )


def _tokenizer_card(model: LoadedModel, *, spelling: bool) -> TokenizerCard:
    tokenizer = model.tokenizer
    lowercases = tokenizer.ids([("A", "A")], 8) == tokenizer.ids([("a", "a")], 8)
    if tokenizer.kind == "wordpiece" and not tokenizer.reads_as_bert(lowercase=lowercases):
        raise ModelError(
            f"{model.directory / TOKENIZER_FILE}: does not split words as BERT's WordPiece does, which a "
            "phone does from vocab.txt alone"
        )
    return TokenizerCard(
        kind=str(tokenizer.kind),
        lowercase=lowercases if tokenizer.kind == "wordpiece" else None,
        pad_id=tokenizer.pad_id,
        template=tokenizer.template,
        spelling=spelling,
        sort_texts=tokenizer.sort_texts,
    )


def _embedding(model: LoadedModel) -> Embedding | None:
    """The vector that the network returns, beside the logits in an embedding matcher."""
    from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher

    if model.task.modules:
        return Embedding(model.network.size, model.task.modules.normalized)
    if isinstance(model.network, EmbeddingMatcher):
        return Embedding(model.network.config.hidden_size, normalized=True)
    return None


def _decision(task: "ModelTask") -> dict[str, Any]:
    """The fields of the card that only a matcher has."""
    settings = task.settings
    if settings is None:
        return {}
    return {
        "positive": settings.positive,
        "threshold": settings.threshold,
        "temperature": settings.temperature,
        "length_shift": LengthShift.from_json(settings.length_shift),
    }
