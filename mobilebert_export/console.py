"""Shows our own progress lines while a command works, and hides the converters' output."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

from mobilebert_runtime.errors import printable

if TYPE_CHECKING:
    from mobilebert_export.terminal import Terminal

# Called with the title of each step as it begins. An indented line is a remark, not a step.
Progress = Callable[[str], None]


def quiet(_line: str) -> None:
    """Shows nothing: what a library does unless it is asked."""


def plain_lines(line: str) -> None:
    """A `Progress` that writes each line on standard error."""
    sys.stderr.write(printable(line.strip()) + "\n")


def progress_console() -> Terminal:
    """A console on the terminal's standard error that stays visible inside `silenced`."""
    from mobilebert_export.terminal import Terminal

    return Terminal(file=os.fdopen(os.dup(2), "w", encoding="utf-8"), highlight=False)


@contextmanager
def step(console: Terminal, title: str) -> Iterator[None]:
    """Show `title` with a spinner while the block runs, then one line with the time it took."""
    start = time.perf_counter()
    with console.status(title):
        yield
    _print_done(console, title, time.perf_counter() - start)


def _print_done(console: Terminal, title: str, seconds: float) -> None:
    from rich.text import Text

    done = f" {printable(title)} "
    console.print(Text.assemble(("✓", "green"), done, (f"{seconds:.1f} s", "dim")))


@contextmanager
def shown_steps() -> Iterator[Progress]:
    """A `Progress` on standard error: a spinner beside the step at work, a line for each that is done.

    Where a line begins as the one before it, up to a colon, the same step goes on; so it does after a remark.
    """
    console = progress_console()
    begun: list[tuple[str, float]] = []
    with console.status("") as status:

        def finish() -> None:
            for title, start in begun:
                _print_done(console, title, time.perf_counter() - start)
            begun.clear()

        def progress(line: str) -> None:
            if line.startswith(" "):
                console.print(line.strip(), soft_wrap=True)
                return
            start = time.perf_counter()
            if begun and begun[0][0].partition(": ")[0] == line.partition(": ")[0]:
                start = begun.pop()[1]
            finish()
            begun.append((line, start))
            status.update(line)

        yield progress
        finish()


@contextmanager
def reading(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error; yields what to call with (done, whole)."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from mobilebert_export.terminal import Terminal

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    console = Terminal(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(printable(title), total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


@contextmanager
def training_bar(*, shown: bool) -> Iterator[None]:
    """Let the training loop show its bar and its development figures on stdout, or not."""
    from rich import get_console

    console = get_console()
    before = console.quiet
    console.quiet = before or not shown
    try:
        yield
    finally:
        console.quiet = before


@contextmanager
def silenced() -> Iterator[None]:
    """Send everything that libraries write to stdout and stderr, C++ included, to a file.

    So goes what Python prints in a notebook, whose `sys.stdout` is not the process's. `sys.stderr` stays, for
    the loggers of packages that are imported here keep it.

    The file is dropped when the block ends well or with an error of ours, which says all itself; on any other
    exception its last lines go to stderr, since a converter says there why it failed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        said = ""
        try:
            with os.fdopen(os.dup(1), "w", encoding="utf-8") as printed, redirect_stdout(printed):
                yield
        except Exception as error:
            if not hasattr(error, "exit_code"):
                sys.stdout.flush()
                sys.stderr.flush()
                log.seek(0)
                said = "\n".join(log.read().decode(errors="replace").splitlines()[-20:])
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, original in zip((1, 2), saved, strict=True):
                os.dup2(original, descriptor)
                os.close(original)
            if said:
                sys.stderr.write(said + "\n")
