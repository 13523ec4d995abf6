"""A study's script on the command line: `python -m studies.FOLDER.SCRIPT --help`.

A script is a module whose `main` has typer's annotations. Errors of the user are one line and exit code 2, as
`mobilebert` prints them.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Option

from mobilebert_export.command_line import program as cli

# Options that several scripts have.
Out = Annotated[Path, Option(help="Folder of the records, one JSON file a run.")]
Runs = Annotated[Path, Option(help="Folder of the trained models, one folder a run.")]
Seeds = Annotated[list[int] | None, Option("--seed", help="Seed (repeat for more); default 0.")]
Threads = Annotated[int, Option(help="CPU threads.")]
Force = Annotated[bool, Option("--force", help="Replace existing files.")]


def command(main: Callable[..., None]) -> Any:
    """The script's command, as `--help` shows it."""
    return cli.command_of(main, Path(main.__code__.co_filename).stem)


def run(main: Callable[..., None], arguments: list[str] | None = None) -> None:
    """Run a script and exit with its code; `arguments` defaults to the command line's."""
    parsed = command(main)
    cli.run(parsed, arguments, parsed.name)


def command_line() -> str:
    """The command that runs now, for records: without this machine's paths to Python and the script."""
    spec = sys.modules["__main__"].__spec__
    return shlex.join(["python", "-m", spec.name if spec else "studies", *sys.argv[1:]])


def console() -> Console:
    """For progress, on standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


def shown(name: str) -> str:
    """How a page calls a model: a directory by its name, RUN/model by the run's, any other name as it is."""
    if not Path(name).is_dir():
        return name
    directory = Path(name).resolve()
    return directory.parent.name if directory.name == "model" else directory.name
