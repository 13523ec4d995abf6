"""The PyTorch model that an artefact is made from or compared with, and what of it goes into the card."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilebert_export.export_request import SHORTEST, ExportRequest
from mobilebert_runtime.card import MODEL_FILES, ArtefactCard
from mobilebert_runtime.card_parts import TokenizerCard
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import file_sha256
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.tokenizer import PairTokenizer
from quantize.recipes import Recipe


@dataclass(frozen=True)
class LoadedModel:
    """A PyTorch pair classifier and what belongs to it."""

    network: Any
    tokenizer: PairTokenizer
    directory: Path
    source: dict[str, str]  # name and SHA-256 of the weights, for recipe.json


def load_model(name: str) -> LoadedModel:
    """Load a model by its directory or name.

    Raises:
        ModelError: the directory is damaged, or holds nothing that scores pairs in an artefact's runtimes.
    """
    import models

    directory = models.find_directory(name)
    network = models.load_pretrained(directory)
    if not isinstance(network, models.PairClassifier):
        kind = type(network).__name__
        raise ModelError(f"{directory}: holds a {kind}, not a pair classifier; fine-tune it on pairs first")
    if network.num_labels < 2:
        raise ModelError(f"{directory}: a classifier of one logit; expected a logit for each of two classes")
    tokenizer = PairTokenizer.load(directory)
    if not (directory / "vocab.txt").is_file():
        raise ModelError(
            f"{directory}: no vocab.txt; an artefact's runtimes split text by WordPiece, not SentencePiece: "
            "train this model on `mobilebert train-tokenizer --kind wordpiece`, or export the network alone "
            "with mobilebert_export.tflite_writer.write_float_tflite"
        )
    if tokenizer.vocab_size > network.config.vocab_size:
        raise ModelError(
            f"{directory}: tokenizer.json has {tokenizer.vocab_size} entries, "
            f"the model {network.config.vocab_size}"
        )
    digest = file_sha256(directory / "model.safetensors")
    # The folder's name, not its path: an artefact tells nobody where it was made.
    source = {"name": directory.resolve().name, "sha256": digest}
    return LoadedModel(network, tokenizer, directory, source)


def load_source(made: dict[str, Any], artefact: str | Path, model: str | None) -> LoadedModel:
    """The model that an artefact was made from.

    Args:
        made: the artefact's recipe.json.
        artefact: its folder, for messages.
        model: directory or name; None where a shipped matcher was exported.

    Raises:
        OptionError: `model` is another one, or is needed and missing.
    """
    import models

    name = str(made["model"]["name"])
    if model is None and name not in models.SHIPPED_MATCHERS:
        raise OptionError(f"{artefact}: made from {name!r}; give its directory with --model")
    found = load_model(model or name)
    if found.source["sha256"] != made["model"]["sha256"]:
        raise OptionError(
            f"{found.directory}: its weights (SHA-256 {found.source['sha256'][:12]}…) are not those "
            f"{artefact} was made from ({made['model']['sha256'][:12]}…); give the right --model"
        )
    return found


def artefact_card(request: ExportRequest, model: LoadedModel, recipe: Recipe) -> ArtefactCard:
    """The io.json of the artefact to make.

    Raises:
        OptionError: the model has no room for `--seq-len` tokens, or nothing says which class is a match.
        ModelError: the names of the classes are damaged, or not as many as the logits.
    """
    import models

    config = model.network.config
    settings = models.MatcherSettings.load(model.directory, request.positive)
    if model.network.num_labels != len(settings.labels):
        file = "matcher.json" if (model.directory / "matcher.json").is_file() else "config.json"
        raise ModelError(
            f"{model.directory}: {file} names {len(settings.labels)} labels, "
            f"the classifier has {model.network.num_labels}"
        )
    if not SHORTEST <= request.seq_len <= config.max_position_embeddings:
        raise OptionError(
            f"--seq-len {request.seq_len}: this model takes {SHORTEST} to {config.max_position_embeddings}"
        )
    lowercases = model.tokenizer.ids([("A", "A")], 8) == model.tokenizer.ids([("a", "a")], 8)
    return ArtefactCard(
        target=recipe.target,
        quant=recipe.quant,
        model_file=MODEL_FILES[recipe.target],
        buckets=request.card_buckets(),
        labels=tuple(settings.labels),
        positive=settings.positive,
        threshold=settings.threshold,
        temperature=settings.temperature,
        attention_mask_value=config.attention_mask_value,
        minimum_runtime=recipe.minimum_runtime,
        tokenizer=TokenizerCard(
            lowercase=lowercases, pad_id=model.tokenizer.pad_id, template=model.tokenizer.template
        ),
        length_shift=LengthShift.from_json(settings.length_shift),
    )
