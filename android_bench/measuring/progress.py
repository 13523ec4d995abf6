"""A progress bar for interleaved sessions, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from android_bench.measuring.latency import Progress
from mobilebert_runtime.errors import printable


@contextmanager
def session_progress() -> Iterator[Callable[[str], Progress]]:
    """Yields a function: a run's title → the callback that is told (sessions done, sessions in all)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True, markup=False)) as bars:

        def begin(title: str) -> Progress:
            task = bars.add_task(printable(title), total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield begin
