"""A console that shows texts as they are: nothing in them is markup, and none can steer the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.status import Status
from rich.text import Text

from mobilebert_runtime.errors import printable


class Terminal(Console):
    """rich's console without markup; control characters are shown as escapes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every text of a line or a table comes through here."""
        return super().render_str(printable(text), **options)

    def status(self, status: RenderableType, **_: Any) -> Status:
        """A spinner with a line that can be updated."""
        return _Line(_shown(status), console=self)


def markdown(text: str) -> Markdown:
    """A page to print; its control characters are shown as escapes."""
    return Markdown(printable(text))


class _Line(Status):
    def update(self, status: RenderableType | None = None, **options: Any) -> None:
        """Show another line."""
        super().update(None if status is None else _shown(status), **options)


def _shown(status: RenderableType) -> RenderableType:
    return Text(printable(status)) if isinstance(status, str) else status
