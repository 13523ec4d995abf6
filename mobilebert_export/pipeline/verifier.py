"""The verification of an artefact that exists, against the model it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mobilebert_export import samples
from mobilebert_export.console import Progress, quiet, silenced
from mobilebert_export.pipeline.export_request import VERIFY_PAIRS
from mobilebert_export.pipeline.loading import load_source
from mobilebert_export.verification.artefact_check import ArtefactCheck
from mobilebert_export.verification.network_outputs import AnyArtefact, Text
from mobilebert_export.verification.verify import Verification
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import read_recipe
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.tokenizer import Pair


def verify_artefact(
    directory: Path,
    model_name: str | None,
    pairs: Sequence[Pair] | None,
    threads: int,
    progress: Progress = quiet,
) -> Verification:
    """Compare an existing artefact with its PyTorch model, on the tolerances in its recipe.json.

    Args:
        directory: the artefact.
        model_name: directory or name of its model; None where a shipped matcher was exported.
        pairs: to compare and to count decisions on; None: those that an export takes. Where an input is one
            text, both of a pair are.
        threads: of the artefact's runtime.
        progress: told of each step.

    Raises:
        OptionError: the model is not the one the artefact was made from, or nothing says which that is.
        ArtefactError: the artefact is damaged.
        DataError: too few pairs.
    """
    with silenced():
        card = AnyArtefact.load(directory, threads).card
    made = read_recipe(directory)
    try:
        tolerance = Tolerance(**made["recipe"]["tolerance"])
    except (KeyError, TypeError) as error:
        raise ArtefactError(
            f"{directory}/recipe.json: damaged ({error}); export the artefact again"
        ) from None
    progress("Load the PyTorch model")
    model = load_source(made, directory, model_name)
    texts: Sequence[Text]
    if pairs is None:
        texts, many = samples.verification_texts(card.task, card.texts), samples.generated_pairs(VERIFY_PAIRS)
    else:
        texts = pairs if card.texts == 2 else [text for pair in pairs for text in pair]
        many = list(pairs)
    return ArtefactCheck(model.network, texts, many, progress).check(directory, tolerance, threads)
