"""The `mobilebert` program: one table of commands, each imported only when it runs.

Exit codes: 0 done, 1 a check failed (verification, gate), 2 bad input. Every error a user can cause is an
exception with an `exit_code` attribute; it becomes one line on stderr. Anything else is a defect and keeps
its traceback.
"""

import errno
import importlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mobilebert_export.command_line import extras, options
from mobilebert_runtime.errors import OptionError, UnreadableWarning, UserError, printable

# Folder of mobilebert_export/command_line/commands/ → name on the command line → its line in `mobilebert
# --help`. The function lives in FOLDER/NAME.py (dashes become underscores) and has the same name.
COMMANDS: dict[str, dict[str, str]] = {
    "artefact": {
        "export": "Write a verified TFLite or ONNX artefact folder.",
        "verify": "Repeat an artefact's verification against the PyTorch model and its library.",
        "quantize-audit": "Which product of a network loses what in integers, as JSON and PNG.",
        "run": "Do what an artefact is for, whatever its task, on texts, a file or standard input.",
        "search": "Find the texts of a file that mean the same as a question.",
        "web": "Write a static site that runs artefacts in a browser, offline too; or show it here.",
        "match": "Score one pair, or a TSV file of pairs, with an artefact.",
        "push": "Upload an artefact to the Hugging Face hub, with a model card.",
    },
    "training": {
        "train-matcher": "Train a text matcher of any architecture on labelled pairs.",
        "finetune": "Fine-tune on a GLUE-style task or SQuAD; or search as the paper does.",
        "distill": "Teach a small student what a fine-tuned teacher knows.",
        "pretrain": "Pretrain a model, alone or under a teacher, by a strategy of stages.",
        "ship": "From labelled pairs, or from texts, to verified matchers: teachers, artefacts, figures.",
        "calibrate": "Fit temperature, threshold and length shift on pairs, or a threshold on texts alone.",
    },
    "measurement": {
        "evaluate": "Figures of a model or an artefact on labelled pairs.",
        "invariances": "How far order, padding words, casing, punctuation and typos move a matcher's scores.",
        "bench": "Measure the latency and memory of artefacts, interleaved; or draw all recorded runs.",
        "gate": "Fail when an artefact is slower or larger than another.",
        "phone": "Measure and match on a phone over adb; make the program it runs there.",
    },
    "data": {
        "audit": "Does the length divergence of labelled pairs give their labels away?",
        "debias": "Write a set of pairs without length-divergence bias.",
        "mine": "Mine pairs of like texts out of plain text, on one machine or many.",
        "corpus": "Turn plain text into token shards for pretraining.",
        "train-tokenizer": "Learn a SentencePiece or WordPiece vocabulary from plain text.",
    },
    "model": {
        "rewrite": "NoNorm and ReLU in the place of a trained BERT's LayerNorm and GELU.",
        "factorize": "Store an encoder's matrices as sums of Kronecker products.",
        "import-tensorflow": "Turn a Google BERT or MobileBERT checkpoint into a model directory.",
        "models": "List the model presets: parameters, MACs, bytes.",
    },
}
# Heading of each folder's commands in `mobilebert --help`.
HEADINGS = {
    "artefact": "Export and run",
    "training": "Train",
    "measurement": "Measure",
    "data": "Look at text and prepare it",
    "model": "Change a model",
}
FOLDERS = {name: folder for folder, commands in COMMANDS.items() for name in commands}


class CheckedCommand(TyperCommand):
    """A command whose options are checked by their rules before it begins."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Texts may begin with one dash: the program has no short options."""
        if "--help" not in args:
            extras.require(str(self.name))
        known = {flag for one in self.params for flag in (*one.opts, *one.secondary_opts)} | {"--help"}
        before = args[: args.index("--")] if "--" in args else args
        unknown = [word for word in before if word.startswith("--") and word.partition("=")[0] not in known]
        ctx.ignore_unknown_options = not unknown
        return super().parse_args(ctx, unknown or args)  # of unknown ones alone: that the first is named

    def invoke(self, ctx: Any) -> Any:
        """Check, then run."""
        flags = {str(one.name): one.opts[0] for one in self.params}
        options.check(self.callback, flags, ctx.params)  # type: ignore[arg-type]
        try:
            return super().invoke(ctx)
        except UserError as error:
            advice, named = error.advice
            if named and set(named) <= set(flags.values()):
                error.args = (f"{error}, or {advice} with {' and '.join(named)}",)
            raise


class CommandTable(TyperGroup):
    """A command group whose members are the rows of `COMMANDS`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the base class gives it)
        """Names in the order of the table."""
        return list(FOLDERS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (the base class gives it)
        """A row without its code: enough for the help text, and nothing is imported."""
        folder = FOLDERS.get(cmd_name)
        if folder is None:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[folder][cmd_name], rich_help_panel=HEADINGS[folder])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is about to run, imported now."""
        near = get_close_matches(args[0], FOLDERS, 2, 0.7) if args[0] not in FOLDERS else []
        if near:
            meant = " or ".join(f"`{one}`" for one in near)
            raise OptionError(f"no command {args[0]!r}; did you mean {meant}?")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load_command(str(command.name)), rest


def load_command(name: str) -> Any:
    """The runnable command behind a row of `COMMANDS`."""
    attribute = name.replace("-", "_")
    module = importlib.import_module(f"mobilebert_export.command_line.commands.{FOLDERS[name]}.{attribute}")
    return command_of(getattr(module, attribute), name)


def command_of(function: Any, name: str) -> Any:
    """A function with typer's annotations as a command that `run` can run."""
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    # A paragraph is a line of its own, which the terminal wraps where it ends.
    paragraphs = (function.__doc__ or "").split("\n\n")
    help_text = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    single.command(name, cls=CheckedCommand, help=help_text)(function)
    return typer.main.get_command(single)


app = typer.Typer(
    cls=CommandTable,
    help="Compact BERT text matchers: export to TFLite or ONNX, verify, run, measure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"mobilebert-export {version('mobilebert-export')}\n")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Compact BERT text matchers: export to TFLite or ONNX, verify, run, measure."""


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit with its code; `arguments` defaults to the command line's."""
    run(app, arguments, "mobilebert")


def run(command: Any, arguments: list[str] | None, name: str) -> None:
    """Run a command and exit with its code; the one line of an error begins with `name`."""
    _open_streams(name)
    for stream in (sys.stdout, sys.stderr):  # a terminal of another encoding shows \\u1234 for what it lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with _terminable(), _plain_warnings():
        try:
            code = command(arguments, prog_name=name, standalone_mode=False)
            sys.stdout.flush()
        except Exception as error:
            if isinstance(error, BrokenPipeError):  # whoever read our lines has seen enough
                _drop_output()
                raise SystemExit(1) from None
            if disk_full(error):
                _drop_output()
                sys.stderr.write(f"{name}: disk full: {one_line(error)}\n")
                raise SystemExit(1) from None
            if isinstance(error, ModuleNotFoundError):
                words = sys.argv[1:] if arguments is None else arguments
                command_name = next((word for word in words if word in FOLDERS), name)
                if advice := extras.of_error(command_name, error):
                    sys.stderr.write(f"{name}: {advice}\n")
                    raise SystemExit(2) from None
            if not hasattr(error, "exit_code"):
                raise
            if message := one_line(error):
                sys.stderr.write(f"{name}: {message}\n")
            raise SystemExit(error.exit_code) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _open_streams(name: str) -> None:
    """Refuse a closed standard output; the next file that is opened would take its place.

    Standard error, where it is closed, goes nowhere.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (for the whole process)
    if sys.stdout is None:
        sys.stderr.write(f"{name}: standard output is closed; send it to a file, or to {os.devnull}\n")
        raise SystemExit(2)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does: what it was writing is removed on the way out."""
    owner = os.getpid()

    def end(number: int, _: Any) -> None:
        if os.getpid() != owner:  # a process that the command started
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # a second one must not cut the removing short
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show the toolkit's own warnings as one line each, without the path and code that raised them."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if isinstance(message, UnreadableWarning):
            sys.stderr.write(f"warning: {one_line(message)}\n")
        else:
            before(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def disk_full(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, is a full disk; some libraries keep no more than the words."""
    if error is None:
        return False
    words = ("No space left on device", "Disk quota exceeded", "PytorchStreamWriter failed writing file")
    return (
        getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT}
        or any(one in str(error) for one in words)
        or disk_full(error.__cause__ or error.__context__)
    )


def _drop_output() -> None:
    """Let nothing that is still buffered fail again while the interpreter ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def one_line(error: Exception) -> str:
    """The message of an error on one line; long values are cut in the middle, never the advice at the end."""
    if hasattr(error, "format_message"):  # a usage error of the command line itself
        message = error.format_message()
        context = getattr(error, "ctx", None)
        if message and context is not None:
            message += f" (see {context.command_path} --help)"
    else:
        message = str(error) or type(error).__name__
    message = printable(" ".join(message.split()))
    return message if len(message) <= 600 else f"{message[:400]} … {message[-180:]}"
