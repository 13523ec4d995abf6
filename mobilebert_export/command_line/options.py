"""What options accept, all checked before a command begins.

A command declares each option as `Annotated[type, RULE, Option(help=…)]`, or by a type of this file where
several commands share the option: `threads: Threads = 2`. `check` reads the rules back from the annotations.
"""

from __future__ import annotations

import os
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from typer import Option

from mobilebert_runtime.card import TASKS as KNOWN_TASKS
from mobilebert_runtime.errors import OptionError

# The longest file name that leaves room for what temporary names add to it (file systems allow 255 bytes).
LONGEST_NAME = 200
EXISTS = "exists already; choose another name"


class Rule(ABC):
    """What one option accepts."""

    @abstractmethod
    def fault(self, value: Any, *, force: bool) -> str | None:
        """What is wrong with a value, and what was expected; None where nothing is."""


@dataclass(frozen=True)
class Number(Rule):
    """A finite number within bounds."""

    low: float
    high: float
    above: bool = False  # `low` itself is too low

    def fault(self, value: float, *, force: bool = False) -> str | None:  # noqa: ARG002 (see `Rule`)
        """Outside the bounds, or not a number."""
        fits = self.low < value <= self.high if self.above else self.low <= value <= self.high
        return None if fits else f"expected {'more than' if self.above else 'from'} {self}"

    def __str__(self) -> str:
        return f"{self.low:,} {'and at most' if self.above else 'to'} {self.high:,}"


@dataclass(frozen=True)
class Numbers(Rule):
    """Numbers separated by commas, each within bounds."""

    each: Number
    whole: bool = False

    def fault(self, value: str, *, force: bool = False) -> str | None:  # noqa: ARG002 (see `Rule`)
        """No list of numbers, or the fault of one of them."""
        try:
            found = [(int if self.whole else float)(part) for part in value.split(",")] if value else []
        except ValueError:
            return f"expected {'whole ' if self.whole else ''}numbers separated by commas"
        return next(filter(None, map(self.each.fault, found)), None)


class Choice(Rule):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def fault(self, value: str, *, force: bool) -> str | None:  # noqa: ARG002 (see `Rule`)
        """Another word."""
        return None if value in self.words else f"unknown; expected one of {', '.join(self.words)}"


@dataclass(frozen=True)
class InputPath(Rule):
    """A file or a folder that is read; pipes and devices are refused, since some files are read twice."""

    kinds: tuple[str, ...] = ("file",)  # of "file" and "folder"
    named: bool = False  # also a name that is not a path, such as of a shipped model
    stdin: bool = False  # also "-"

    def fault(self, value: str | Path, *, force: bool = False) -> str | None:  # noqa: ARG002 (see `Rule`)
        """Not there, of another kind, or not readable."""
        if self.stdin and str(value) == "-":
            return None
        expected = " or ".join(self.kinds)
        try:
            mode = os.stat(value).st_mode  # noqa: PTH116 (of a name that may be no path)
        except FileNotFoundError:
            return None if self.named else f"no such {expected}"
        except (OSError, ValueError) as error:
            return _reason(error)
        kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "pipe or device"
        if kind not in self.kinds:
            return f"is a {kind}; expected a {expected}"
        return None if os.access(value, os.R_OK) else "may not be read; check its permissions"


@dataclass(frozen=True)
class OutputFile(Rule):
    """A file that is written whole under a temporary name; or several, by their endings."""

    endings: tuple[str, ...] = ()
    parents: bool = False  # its folder is made

    def files(self, value: Path) -> list[Path]:
        """The files that appear."""
        return [value.with_name(value.name + ending) for ending in self.endings] or [value]

    def fault(self, value: Path, *, force: bool) -> str | None:
        """There already, no file, or not writable."""
        for path in dict.fromkeys((*self.files(value), value)):
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                return _reason(error)
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                return f"is a {'directory' if stat.S_ISDIR(mode) else 'pipe or device'}; give a file name"
            if not force and path in self.files(value):
                return f"{path.name} {EXISTS}"
        if not value.parent.is_dir() and not self.parents:
            return f"the folder {value.parent} does not exist; make it first"
        return _unwritable(value)


@dataclass(frozen=True)
class OutputFolder(Rule):
    """A folder that is made, with its parents.

    Files are added to one that is there, or --force replaces it: one that holds the file `replaces`.
    """

    replaces: str | None = None

    def files(self, value: Path) -> list[Path]:
        """The folder itself."""
        return [value]

    def fault(self, value: Path, *, force: bool) -> str | None:
        """No folder, not writable, or there already although it would be replaced."""
        try:
            mode = value.stat().st_mode
        except FileNotFoundError:
            return "is a link to nothing; choose another name" if value.is_symlink() else _unwritable(value)
        except (OSError, ValueError) as error:
            return _reason(error)
        if not stat.S_ISDIR(mode):
            return "is a file, not a folder; choose another name"
        return _unwritable(value / "file") if self.replaces is None else self._kept(value, force)

    def _kept(self, value: Path, force: bool) -> str | None:
        """Why a folder that is there may not be replaced."""
        if not force:
            return EXISTS
        if value.is_symlink() or (any(value.iterdir()) and not (value / str(self.replaces)).is_file()):
            return f"holds no {self.replaces}, so it is not deleted; choose another name"
        return _unwritable(value)


def _reason(error: Exception) -> str:
    if isinstance(error, NotADirectoryError):
        return "a folder in it is a file; choose another name"
    return f"not a possible path ({getattr(error, 'strerror', None) or error})"


def _unwritable(path: Path) -> str | None:
    """Why a path, or its folder, can't be made; finding out leaves nothing there."""
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        return f"a name in it is longer than the {LONGEST_NAME} bytes that leave room for temporary endings"
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if not nearest.is_dir():
        return f"{nearest} is a file, so no folder can be made there; choose another name"
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return None
    except OSError as error:
        return f"the folder {nearest} can't be written ({error.strerror}); choose another name"


def check(command: Callable[..., Any], flags: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Check the values of a command's options by their rules.

    Args:
        command: its function.
        flags: what the command line calls each parameter.
        values: of every parameter; None stands for an option that was not given.

    Raises:
        OptionError: a value breaks its rule, or an output is an input or another output.
    """
    force = bool(values.get("force"))
    inputs: list[tuple[str, Path]] = []
    outputs: list[tuple[str, Path, bool]] = []
    for name, rule in rules(command).items():
        given = values.get(name)
        for value in given if isinstance(given, (list, tuple)) else [] if given is None else [given]:
            if fault := rule.fault(value, force=force):
                if fault.endswith(EXISTS) and "force" in values:
                    fault += " or add --force to replace it"
                raise OptionError(f"{flags[name]} {value}: {fault}")
            if isinstance(rule, InputPath) and os.path.exists(value):  # noqa: PTH110 (may be no path)
                inputs.append((flags[name], Path(value)))
            elif isinstance(rule, OutputFile | OutputFolder):
                whole = isinstance(rule, OutputFolder) and rule.replaces is not None
                outputs += [(flags[name], path, whole) for path in rule.files(value)]
    check_distinct(inputs, outputs)


def check_texts(texts: Iterable[str]) -> None:
    """Refuse texts of the command line that are empty, not UTF-8 or too long.

    Raises:
        OptionError: naming the text by its number.
    """
    from mobilebert_matching.data.pairs import text_fault

    for number, text in enumerate(texts, 1):
        if fault := text_fault(text):
            raise OptionError(f"text {number} {fault}")


def of_file(option: str, file: Path | None, given: Mapping[str, object]) -> None:
    """Refuse options that say how a file with columns is read where there is none.

    Args:
        option: that names the file.
        file: what it names.
        given: values by flag.

    Raises:
        OptionError: naming the first that is given.
    """
    if file is None and (flag := next((flag for flag, value in given.items() if value), None)):
        raise OptionError(f"{flag}: says how a file is read; give one with {option}, or leave {flag} out")


def rules(command: Callable[..., Any]) -> dict[str, Rule]:
    """The rule of every parameter of a command that has one."""
    found = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Rule):
                found[name] = mark
    return found


def check_distinct(inputs: Iterable[tuple[str, Path]], outputs: Iterable[tuple[str, Path, bool]]) -> None:
    """Refuse an output that is an input or another output, by whatever name, or that would delete an input.

    Args:
        inputs: flag and path.
        outputs: flag, path, and whether it is a folder that is replaced whole.

    Raises:
        OptionError: naming both.
    """
    seen: list[tuple[str, Path]] = []
    for flag, out, whole in outputs:
        for other, path in (*inputs, *seen):
            if _one_file(out, path) or (whole and out.resolve() in path.resolve().parents):
                raise OptionError(f"{flag} {out}: would overwrite {other} {path}; choose another name")
        seen.append((flag, out))


def _one_file(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve() or (
        first.exists() and second.exists() and first.samefile(second)
    )


INPUT_FILE = InputPath()
INPUT_FOLDER = InputPath(("folder",))
INPUT_FILE_OR_FOLDER = InputPath(("file", "folder"))
PIPED = InputPath(stdin=True)
MODEL = InputPath(("folder",), named=True)  # a directory, or a name that some registry knows
NAMED_PATH = InputPath(("folder", "file"), named=True)  # folders, or RUN.json#NAME
OUTPUT_FILE = OutputFile()
BENCH_FILES = OutputFile((".json", ".md", ".png"), parents=True)
RUN_FOLDER = OutputFolder()
ARTEFACT_FOLDER = OutputFolder(replaces="io.json")
SITE_FOLDER = OutputFolder(replaces="models.json")
MODEL_FOLDER = OutputFolder(replaces="config.json")
TOKENIZER_FOLDER = OutputFolder(replaces="tokenizer.json")

COUNT = Number(1, 10**9)
COUNT_OR_NONE = Number(0, 10**9)
BATCH = Number(1, 65_536)
TOKENS = Number(1, 65_536)
PROCESSES = Number(0, 256)
OPSETS = Number(18, 20)
VOCABULARY = Number(16, 10**7)
SHARE = Number(0, 1)
STRENGTH = Number(0, 10)
POINTS = Number(0, 100)
ABOVE_ZERO = Number(0, 10**6, above=True)
RATE = Number(0, 1000, above=True)  # learning rates, epochs, a slowdown
BATCHES = Numbers(BATCH, whole=True)
RATES = Numbers(RATE)
TASKS = Choice(*KNOWN_TASKS)
TEXTS = Number(1, 2)  # that one input has
TARGETS = Choice("tflite", "onnx")
LAYOUTS = Choice("artefact", "transformers")
QUANTS = Choice("none", "fp16", "dynamic", "int8", "static", "int16x8")
TFLITE_RUNTIMES = Choice("2.14", "2.18")
FORMS = Choice("auto", "factored", "materialised")
BENCH_MODES = Choice("padded", "mix", "text")
PHONE_MODES = Choice("padded", "text")
ARCHITECTURES = Choice("here", "arm64")
ARCHITECTURES_HELP = "--instructions: count here, by valgrind; or on two emulated Arm cores."
THREADS = Number(1, 1024)
SEEDS = Number(0, 2**32 - 1)  # the narrowest generator, scikit-learn's, takes 32 bits


def counted_architecture(instructions: bool, arch: str) -> str | None:
    """Where the instructions of an inference are counted, None without --instructions.

    Raises:
        OptionError: --arch without --instructions.
    """
    if not instructions and arch != "here":
        raise OptionError(f"--arch {arch} says where instructions are counted; add --instructions")
    return arch if instructions else None


Threads = Annotated[int, THREADS, Option(help="CPU threads.")]
Seed = Annotated[int, SEEDS, Option(help="Random seed.")]
TRAINING_TYPES = Choice("float32", "bf16")
TrainingType = Annotated[
    str, TRAINING_TYPES, Option(help="float32, or bf16 where the processor or GPU has it.")
]
Force = Annotated[bool, Option("--force", help="Replace outputs that exist.")]
Sessions = Annotated[
    int, Number(1, 1000), Option(help="Interleaved sessions per artefact, a process each; a gate needs 7.")
]
Seconds = Annotated[
    float,
    Number(0, 3600, above=True),
    Option(help="Steady measurement per session, after warm-up."),
]
Retries = Annotated[
    int, Number(0, 100), Option(help="Repeat a session this often while the machine is troubled.")
]
JsonFile = Annotated[Path | None, OUTPUT_FILE, Option("--json", help="Write everything here as JSON.")]
Symmetric = Annotated[bool, Option("--symmetric", help="Mean over both orders of a pair; twice the time.")]
OwnWords = Annotated[
    Path | None,
    INPUT_FILE,
    Option("--words", help="Text file of words that are not corrected, such as names of products."),
]
NoSpelling = Annotated[bool, Option("--no-spelling", help="Correct no misspelt words.")]
RunFolder = Annotated[
    Path, RUN_FOLDER, Option(help="Folder of the run; an interrupted run there is resumed.")
]
TextA = Annotated[str | None, Option(help="Column of the first texts; default: known names.")]
TextB = Annotated[str | None, Option(help="Column of the second texts.")]
Label = Annotated[str | None, Option(help="Column of the labels, 0 or 1.")]
Group = Annotated[str | None, Option(help="Column of the query: audit lists (Eq. 3-4) instead of pairs.")]
PositiveLabel = Annotated[
    str | None,
    Option(help="Label in the data that counts as 1, all others as 0; default: 0 and 1 are there."),
]
LABELLED_COLUMNS = {"text_a": TextA, "text_b": TextB, "label": Label, "positive_label": PositiveLabel}
PositiveClass = Annotated[
    str | None, Option(help="Class that means a match, where the model's class names do not say so.")
]
QuartilesFrom = Annotated[
    Path | None,
    INPUT_FILE,
    Option(help="Cut CAT1-4 at the quartiles of this training file, or of an earlier report (.json)."),
]
