"""The commands of README.md, docs/ and examples/, and how a test runs them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from mobilebert_export import samples

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
ACTIVATE = "source .venv/bin/activate"
# Commands that take minutes: the flags that make them short, and the exit code that is then right; the
# first that fits.
SHORTENED = {
    "mobilebert export --quant int8 --max-accuracy-drop": ("--seq-len 32 --buckets 32", 0),
    "mobilebert quantize-audit": ("--seq-len 32", 0),
    "mobilebert export": ("--buckets 128", 0),  # `make export` converts all four lengths
    "mobilebert bench artefacts": ("--sessions 1 --seconds 0.2", 0),
    "mobilebert gate": ("--sessions 1 --seconds 0.2", 1),  # too few sessions are inconclusive, never green
}


class Command(NamedTuple):
    """A line of a code block."""

    page: str  # relative to the project
    language: str  # sh: runs as written; text: needs a phone, hours or files of the reader's
    line: str


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def commands(page: str, *languages: str) -> list[Command]:
    """The lines of its blocks, continuation lines joined, comments cut off."""
    found = []
    for language in languages:
        lines = "\n".join(blocks(page, language)).replace("\\\n", " ").splitlines()
        kept = [line.split("  #")[0].strip() for line in lines if line.strip() and not line.startswith("#")]
        found += [Command(page, language, line) for line in kept]
    return found


def write_small_pairs(folder: Path) -> None:
    """train, dev and test files of the bundled samples, labelled by whether half of the words are shared."""
    pairs = samples.calibration_pairs() + samples.verification_pairs()
    rows = []
    for a, b in pairs:
        left, right = set(a.lower().split()), set(b.lower().split())
        rows.append(f"{int(len(left & right) * 2 >= min(len(left), len(right)))}\t{a}\t{b}")
    folder.mkdir()
    for name, part in (("train", rows[:240]), ("dev", rows[240:288]), ("test", rows[288:])):
        (folder / f"{name}.tsv").write_text(
            "\n".join(["label\ttext_a\ttext_b", *part]) + "\n", encoding="utf-8"
        )


def make_scratch(folder: Path) -> Path:
    """A folder in which commands find what the project's root has: the environment, examples, and pairs."""
    write_small_pairs(folder / "pairs")
    (folder / ".venv").symlink_to(BIN.parent)
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


def adapt(line: str, scratch: Path) -> tuple[str, int]:
    """A command as the test runs it, and the exit code that is right."""
    if line.startswith("make "):
        artefact = shlex.quote(str(scratch / "artefacts" / "matcher-int8"))
        where = f"-C {shlex.quote(str(ROOT))} VENV={shlex.quote(str(BIN.parent))}"
        return f"make {where} ARTEFACT={artefact} {line[5:]}", 0
    for start, (flags, code) in SHORTENED.items():
        if line.startswith(start):
            return f"{line} {flags}", code
    return line, 0


def run(line: str, scratch: Path, *, activate: bool = True) -> str:
    """Run a line in a new shell that has no `mobilebert` unless it activates the environment; its output."""
    command, expected = adapt(line, scratch)
    script = f"{ACTIVATE}\n{command}" if activate else command
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if Path(p) != BIN)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=scratch,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == expected, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout
