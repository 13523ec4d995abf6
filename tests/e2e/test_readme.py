"""Every command of README.md runs as written, in order, in a scratch folder with small pairs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from matching.data.pairs import read_pairs
from mobilebert_export import samples
from mobilebert_export.scoring import open_scorer
from mobilebert_runtime.matcher import Matcher
from tests.conftest import ROOT

BIN = Path(sys.executable).parent
# Commands that take minutes: the flags that make them short, and the exit code that is then right; the
# first that fits.
SHORTENED = {
    "mobilebert export --quant int8 --max-accuracy-drop": ("--seq-len 32 --buckets 32", 0),
    "mobilebert quantize-audit": ("--seq-len 32", 0),
    "mobilebert export": ("--buckets 128", 0),  # `make export` converts all four lengths
    "mobilebert bench artefacts": ("--sessions 1 --seconds 0.2", 0),
    "mobilebert gate": ("--sessions 1 --seconds 0.2", 1),  # too few sessions are inconclusive, never green
}
# `make test` is this run; the stamp in the virtual environment makes `make export` skip its set-up.
NOT_RUN = ("make test",)


def commands():
    """The lines of every ```sh block, continuation lines joined."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.strip() and not line.startswith("#")]


def write_small_pairs(folder):
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


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    write_small_pairs(folder / "pairs")
    return folder


@pytest.fixture(scope="module")
def artefact(scratch):
    """What `make export` leaves: the README's first command has run it, or it is run here."""
    folder = scratch / "artefacts" / "matcher-int8"
    if not folder.is_dir():
        run("make export", scratch)
    return folder


def adapt(command, scratch):
    """A command as the test runs it, and the exit code that is right."""
    if command.startswith("make "):
        artefact = shlex.quote(str(scratch / "artefacts" / "matcher-int8"))
        where = f"-C {shlex.quote(str(ROOT))} VENV={shlex.quote(str(BIN.parent))}"
        return f"make {where} ARTEFACT={artefact} {command[5:]}", 0
    for start, (flags, code) in SHORTENED.items():
        if command.startswith(start):
            return f"{command} {flags}", code
    return command, 0


def run(command, scratch):
    line, expected = adapt(command, scratch)
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == expected, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("command", [c for c in commands() if c not in NOT_RUN])
def test_readme_command_runs(command, scratch):
    run(command, scratch)


def test_what_make_export_makes_keeps_the_matchers_accuracy(artefact, shared_data):
    """Accuracy on pairs of QQP's test set: int8 TFLite within 1 point of PyTorch (0.2 on the whole set)."""
    matcher = Matcher.load(artefact)
    table = read_pairs(shared_data / "data" / "qqp" / "test.tsv")
    chosen = np.random.default_rng(0).permutation(len(table))[:400]
    pairs, labels = [table.pairs[row] for row in chosen], table.labels[chosen]
    scores = matcher.score(pairs)
    expected = open_scorer("shipped", 1).score(pairs)
    called, reference = scores >= matcher.card.threshold, expected >= matcher.card.threshold
    assert (called == reference).mean() >= 0.985
    assert abs((called == labels).mean() - (reference == labels).mean()) <= 0.01


def test_readme_names_both_front_doors_and_they_are_targets():
    assert {"make export", "make test"} <= set(commands())
    dry = subprocess.run(
        ["make", "-n", "export", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "mobilebert export" in dry.stdout
    assert "pytest" in dry.stdout
