"""Errors that a user can cause; the command line shows them in one line, without a traceback.

A package that knows a further kind derives its own class from one of the two bases.
"""

from __future__ import annotations

import re
from typing import TypeVar

Raised = TypeVar("Raised", bound="UserError")


class UserError(ValueError):
    """Bad input; nothing was done. The program exits with 2."""

    exit_code = 2
    advice: tuple[str, tuple[str, ...]] = ("", ())

    def or_with(self: Raised, advice: str, *options: str) -> Raised:
        """The error with advice for a program that has these options; its message names none of them."""
        self.advice = advice, options
        return self


# What could steer a terminal, or change the order in which a line is read.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text for a terminal: control characters but tabs and line ends as JSON's escapes."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class OptionError(UserError):
    """An option, a name or a number that is unknown, out of range, or contradicts another."""


class DataError(UserError):
    """Texts, pairs, labels or records that are missing, damaged, or not enough for what was asked."""


class ModelError(UserError):
    """A model directory, config or tokenizer that is missing, damaged, or does not fit its use."""


class ArtefactError(UserError):
    """An artefact folder is missing, damaged, or not what its io.json says."""


class OutputError(UserError):
    """An output that exists already or cannot be written."""


class ToolError(UserError):
    """A runtime, program or package that is missing, damaged, or not for this machine."""


class UnreadableWarning(UserWarning):
    """Two different texts are the same tokens, by characters that are no tokens or beyond what is read."""


class CheckError(Exception):
    """The result is not good enough, or a machine failed. The program exits with 1."""

    exit_code = 1
