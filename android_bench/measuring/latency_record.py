"""A measured run with what it takes to judge it later: the model files' facts, the commit, the date."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from android_bench.measuring.external_model import describe
from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.model_facts import model_facts
from android_bench.profiling.instructions import count_instructions
from android_bench.profiling.operator_profile import profile
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import parse_json

FORMAT = 1
# Where instructions are counted: on this processor, or on Arm cores in emulation.
ARCHITECTURES = HERE, ARM64 = "here", "arm64"
# The gate's: an efficiency core that has dot products, and a core that has int8 matrix products.
ARM_CORES = {"cortex-a55": "Cortex-A55", "cortex-a710": "Cortex-A710"}


@dataclass(frozen=True)
class Record:
    """One file of results/bench: an interleaved run and its facts by candidate name."""

    comparison: Comparison
    facts: dict[str, dict[str, Any]]
    commit: str | None
    date: str

    @classmethod
    def of(
        cls, comparison: Comparison, *, instructions: str | None = None, profiled: bool = False
    ) -> "Record":
        """Add facts, commit and date to a run made here.

        Args:
            comparison: the run.
            instructions: of `ARCHITECTURES`: count each model's instructions on it too (minutes).
            profiled: add the operator profile of each candidate, at its number of threads.
        """
        by_folder = {
            folder: _facts(folder, instructions) for folder in {c.folder for c in comparison.candidates}
        }
        facts = {candidate.name: by_folder[candidate.folder] for candidate in comparison.candidates}
        if profiled:
            for one in comparison.candidates:
                facts[one.name] = facts[one.name] | {"profile": profile(one.folder, one.threads).to_json()}
        return cls(comparison, facts, current_commit(), datetime.now(UTC).isoformat(timespec="seconds"))

    def to_json(self) -> dict[str, Any]:
        """Plain data, every raw sample included, the summaries beside them."""
        return {
            "format": FORMAT,
            "date": self.date,
            "commit": self.commit,
            "summary": {name: self.comparison.summary(name) for name in self.comparison.names},
            "troubles": {str(number): why for number, why in self.comparison.troubles().items()},
            "facts": self.facts,
            **self.comparison.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Record":
        """Read `to_json`'s data back; a `BenchError` for anything else."""
        if (
            not isinstance(data, Mapping)
            or data.get("format") != FORMAT
            or not isinstance(data.get("facts"), Mapping)
            or not all(isinstance(one, Mapping) for one in data["facts"].values())
        ):
            raise BenchError("not a record of `mobilebert bench`; give the .json file it wrote")
        return cls(
            Comparison.from_json(data), dict(data["facts"]), data.get("commit"), str(data.get("date", ""))
        )

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Read a record from a file; `BenchError` names the file and what is wrong."""
        try:
            return cls.from_json(parse_json(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise BenchError(
                f"{path}: unreadable ({error}); give a .json file of `mobilebert bench`"
            ) from None
        except BenchError as error:
            raise BenchError(f"{path}: {error}") from None


def check_architecture(architecture: str, folders: Iterable[Path]) -> None:
    """Can the instructions of these artefacts be counted? Asked before minutes of measuring.

    Raises:
        BenchError: an unknown architecture.
        ToolError: the emulator or the Arm programs are not there, as in an installed package.
    """
    if architecture not in ARCHITECTURES:
        raise BenchError(f"architecture {architecture!r} is none of {', '.join(ARCHITECTURES)}")
    if architecture == ARM64:
        try:
            from android_bench.emulation import emulator
        except ModuleNotFoundError:
            raise ToolError(
                f"--arch {ARM64}: the emulator is no part of the installed package; run it in a checkout of "
                "the project, after `make android-tools`"
            ) from None
        for target in {describe(folder).target for folder in folders}:
            for name in ARM_CORES:
                emulator.python(emulator.processor(name), target, ())


def _facts(folder: Path, architecture: str | None) -> dict[str, Any]:
    facts = model_facts(folder)
    if architecture == HERE:
        facts["instructions"] = count_instructions(folder).to_json()
    elif architecture == ARM64:
        from android_bench.emulation import arm_instructions, emulator

        facts["arm_instructions"] = {
            name: arm_instructions.count_instructions(folder, emulator.processor(name)).to_json()
            for name in ARM_CORES
        }
    return facts


def current_commit() -> str | None:
    """Abbreviated commit of the working folder, "+" appended when it has changes; None outside git."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *arguments], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "--short=12", "HEAD")
    return f"{commit}+" if commit and git("status", "--porcelain", "--untracked-files=no") else commit
