"""The slow tests in three turns: one at each landing, chosen by the commit; all of them by `make test-all`.

A turn is a list of folders and files. A slow test belongs to the turn that names it most precisely, and
`tests/test_turns.py` says that each has one.

A sweep is a slow test of hundreds of cases alike, marked `sweep`. A landing runs a sixth of its cases, chosen
by the commit too; `make test-all` runs them all.
"""

import subprocess
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNS = {
    "exports": ("tests/mobilebert_export", "tests/quantize", "tests/models", "tests/e2e"),
    "devices": ("tests/android_bench", "tests/mobilebert_runtime", "tests/matching", "tests/web"),
    "trainings": ("tests/training", "tests/recipes", "tests/studies", "tests/e2e/test_interruptions.py"),
}
CHOICES = (*TURNS, "commit", "all")
SWEEP_PARTS = 6


def turn_of(path: str) -> str:
    """The turn of a test file.

    Args:
        path: of the file, relative to the checkout, with forward slashes.

    Raises:
        LookupError: no turn names it.
    """
    places = [(place, turn) for turn, listed in TURNS.items() for place in listed]
    fitting = [one for one in places if path == one[0] or path.startswith(one[0] + "/")]
    if not fitting:
        raise LookupError(f"{path}: in no turn; add it to TURNS in tests/turns.py")
    return max(fitting, key=lambda one: len(one[0]))[1]


def turn_of_commit() -> str:
    """The turn of the commit that is checked out: its hash says which."""
    return list(TURNS)[_commit() % len(TURNS)]


def part_of_commit() -> int:
    """Which of the `SWEEP_PARTS` parts of each sweep the commit chooses."""
    return _commit() // len(TURNS) % SWEEP_PARTS


def part_of(case: str) -> int:
    """The part that a case of a sweep belongs to.

    Args:
        case: its name, as pytest prints it.
    """
    return zlib.crc32(case.encode()) % SWEEP_PARTS


def _commit() -> int:
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    return int(subprocess.run(git, capture_output=True, text=True, check=True).stdout, 16)
