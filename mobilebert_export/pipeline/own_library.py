"""The comparison of an artefact with the library that its model comes from, for exports and verifications."""

from __future__ import annotations

from pathlib import Path

from mobilebert_export.console import Progress, silenced
from mobilebert_export.pipeline.loading import LoadedModel
from mobilebert_export.verification.library_answers import Library, LibraryAgreement, compare_from_text
from mobilebert_export.verification.network_outputs import NetworkBackend
from mobilebert_runtime.artefact import load


def check_from_text(
    model: LoadedModel, folder: Path, progress: Progress, *, in_pytorch: bool
) -> LibraryAgreement | None:
    """Compare an artefact with the model's own library, from text to answer; None for our own models.

    Args:
        model: that the artefact was made from.
        folder: of the artefact.
        progress: told of the step.
        in_pytorch: the file holds other weights, which were rounded for int8 or quantised: PyTorch runs the
            network as it was before, behind the artefact's card and tokenizer. Network and file are compared
            elsewhere.
    """
    with silenced():  # what the library's packages say when they are imported
        if not model.of_library:
            return None
    progress("Compare with the model's own library, from text to answer")
    with silenced():
        artefact = load(folder)
        if in_pytorch:
            artefact.backend = NetworkBackend(
                model.network, tuple(artefact.card.outputs(artefact.card.seq_len))
            )
        return compare_from_text(Library.load(model.folder, model.directory, model.task), artefact)
