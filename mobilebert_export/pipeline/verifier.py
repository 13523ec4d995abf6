"""The verification of an artefact that exists, against the model it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export import samples
from mobilebert_export.console import Progress, quiet, silenced
from mobilebert_export.pipeline.export_request import VERIFY_PAIRS
from mobilebert_export.pipeline.in_memory import model_directory
from mobilebert_export.pipeline.loading import load_source
from mobilebert_export.pipeline.own_library import check_from_text
from mobilebert_export.verification.artefact_check import ArtefactCheck
from mobilebert_export.verification.network_outputs import AnyArtefact, Text
from mobilebert_export.verification.verify import Verification
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import read_recipe
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.tokenizer import Pair

if TYPE_CHECKING:
    from mobilebert_export.pipeline.in_memory import Model


def verify(
    artefact: str | Path,
    model: Model | None = None,
    *,
    tokenizer: object = None,
    pairs: Sequence[Pair] | None = None,
    threads: int = 1,
    progress: Progress = quiet,
) -> Verification:
    """Repeat an artefact's verification, on the tolerances in its recipe.json; `passed` says how it went.

    Where another library loads the model, the artefact is compared with that from text to answer, too.

    Args:
        artefact: its folder.
        model: that it was made from, as for `export`; not needed where a shipped matcher was exported.
        tokenizer: of a network in memory, as for `export`.
        pairs: to compare and to count decisions on, at least 200; default: those that an export takes. Where
            an input is one text, both of a pair are.
        threads: of the artefact's runtime.
        progress: as for `export`.

    Raises:
        OptionError: the model is not the one the artefact was made from, or nothing says which that is.
        ArtefactError: the artefact is damaged.
        DataError: too few pairs.
    """
    directory = Path(artefact)
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
    with nullcontext() if model is None else model_directory(model, tokenizer) as name:
        loaded = load_source(made, directory, name)
        library = check_from_text(loaded, directory, progress, in_pytorch=card.quant != "none")
    texts: Sequence[Text]
    if pairs is None:
        texts, many = samples.verification_texts(card.task, card.texts), samples.generated_pairs(VERIFY_PAIRS)
    else:
        texts = pairs if card.texts == 2 else [text for pair in pairs for text in pair]
        many = list(pairs)
    found = ArtefactCheck(loaded.network, texts, many, progress).check(directory, tolerance, threads)
    if library is None:
        return found
    if not library.failures:
        progress(f"  equals {library.library} on {library.texts} texts, to {library.largest:.1e}")
    return replace(found, failures=(*found.failures, *library.failures))
