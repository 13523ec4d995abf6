"""README.md: every command runs as pasted, in order, in a scratch folder."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_matching.data.pairs import read_pairs
from mobilebert_runtime.matcher import Matcher
from tests.helpers.documented_commands import ACTIVATE, ROOT, blocks, commands, make_scratch, run

LINES = [command.line for command in commands("README.md", "sh")]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return make_scratch(tmp_path_factory.mktemp("readme"))


@pytest.fixture(scope="module")
def artefact(scratch):
    """What `make export` leaves: in the checkout since its last change, as in CI, or else it is run here."""
    folder, made = scratch / "artefacts" / "matcher-int8", ROOT / "artefacts" / "matcher-int8"
    if (made / "SHA256SUMS").is_file() and (made / "SHA256SUMS").stat().st_mtime > last_change():
        shutil.copytree(made, folder)
    else:
        run("make export", scratch, activate=False)
    return folder


def last_change():
    """When a file was written that decides what `make export` makes, as `make` would ask."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    others = ("tests/", "docs/", "results/", "studies/", "examples/", "web/", "android_bench/")
    files = [ROOT / name for name in listed.stdout.splitlines() if not name.startswith(others)]
    return max(path.stat().st_mtime for path in files if path.is_file())


def test_make_export_leaves_an_artefact(artefact):
    assert (artefact / "SHA256SUMS").is_file()


@pytest.mark.parametrize("line", LINES[1:])
def test_readme_command_runs(line, artefact, scratch):
    """In a shell of its own, in which the environment is active if the README has said so by then."""
    run(line, scratch, activate=ACTIVATE in LINES[: LINES.index(line)])


def test_readme_python_runs(artefact, scratch):
    """The snippet gives the probability that its comment says, and calls the pair the same."""
    (snippet,) = blocks("README.md", "python")
    (scratch / "snippet.py").write_text(snippet)
    told = "print(len(scores), scores.round(1), scores[0] >= matcher.card.threshold)"
    shown = run(f"python -c 'from snippet import matcher, scores; {told}'", scratch)
    said = re.findall(r"# ≈ (\[\d\.\d\])", snippet)
    assert shown.split() == ["same", "1", *said, "True"]
    assert len(said) == 1


def test_what_make_export_makes_keeps_the_matchers_accuracy(artefact, shared_data):
    """Accuracy on pairs of QQP's test set: int8 TFLite within 1 point of PyTorch."""
    matcher = Matcher.load(artefact)
    table = read_pairs(shared_data / "data" / "qqp" / "test.tsv")
    chosen = np.random.default_rng(0).permutation(len(table))[:400]
    pairs, labels = [table.pairs[row] for row in chosen], table.labels[chosen]
    scores = matcher.score(pairs)
    expected = open_scorer("shipped", 1).score(pairs)
    called, reference = scores >= matcher.card.threshold, expected >= matcher.card.threshold
    assert (called == reference).mean() >= 0.985
    assert abs((called == labels).mean() - (reference == labels).mean()) <= 0.01


def test_readmes_first_command_sets_everything_up():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(LINES) == 5
    assert LINES[:2] == ["make export", ACTIVATE]
    assert "`make test`" in text
    dry = subprocess.run(
        ["make", "-n", "export", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "mobilebert export" in dry.stdout
    assert "pytest" in dry.stdout
