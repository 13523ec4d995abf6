"""`mobilebert push`: an artefact folder on the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt


def push(
    artefact: Annotated[Path, opt.INPUT_FOLDER, Argument(help="Artefact folder.")],
    repository: Annotated[str, Argument(help="OWNER/NAME on the hub; made where it is not there.")],
    license_name: Annotated[
        str | None, Option("--license", help="Licence of the weights, such as apache-2.0.")
    ] = None,
    private: Annotated[bool, Option("--private", help="A repository that is made is private.")] = False,
) -> None:
    """Upload an artefact to the Hugging Face hub, with a model card.

    Sign in with `hf auth login` first, or set HF_TOKEN. Every file is checked against its checksum before it
    leaves; the card's metadata says the task, the library and the licence.
    """
    import sys

    from mobilebert_export.shipping.push import push as upload

    sys.stdout.write(upload(artefact, repository, license_name=license_name, private=private) + "\n")
