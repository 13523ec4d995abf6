"""The options of a distillation, each once, with its help text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mobilebert_runtime.errors import OptionError


@dataclass(frozen=True)
class DistillationConfig:
    """From what, to what, and how; `distillation.checked_recipe` says what goes together."""

    teacher: Annotated[
        tuple[str, ...],
        "Model directory of a fine-tuned pair classifier, or an embedder: minilm or a sentence-transformers "
        "folder. Of several, the first one's layers are compared.",
    ]
    data: Annotated[
        Path,
        "Folder with train.tsv and dev.tsv; for an embedder a file with one text per line (.txt, .xz, .gz).",
    ]
    out: Annotated[Path, "Folder of the run; an interrupted run there is resumed."]
    student: Annotated[
        str,
        "Preset of the student (of an embedder: mobilebert-tiny or mobilebert), a Kronecker-factored "
        "model directory, or kronecker-seventh: a seventh of the teacher, with --recipe kronecker-mined.",
    ] = "matcher-m"
    recipe: Annotated[str | None, "Distillation recipe. [matcher-m; for an embedder: embedder]"] = None
    epochs: Annotated[float | None, "Passes over the texts, where an embedder teaches. [1]"] = None
    start: Annotated[
        str | None, "Trained model of the student's shape to continue from: a directory or 'matcher-qqp-m'."
    ] = None
    debias: Annotated[float, "Share of the length bias to remove from the targets; 1: all."] = 0.0
    labels: Annotated[
        Path | None, "Folder where the teachers' answers are kept, to share between students. [OUT/labels]"
    ] = None
    dtype: Annotated[str, "float32, or bf16 where the processor or GPU has it."] = "float32"
    seed: Annotated[int, "Random seed of initial weights and mining."] = 0
    threads: Annotated[int, "CPU threads."] = 2
    force: Annotated[bool, "Replace a finished model in OUT."] = False

    def __post_init__(self) -> None:
        """Refuse numbers out of range, also where no command line has checked them.

        Raises:
            OptionError: see there.
        """
        if self.threads < 1 or not 0 <= self.seed < 2**32:
            raise OptionError(
                f"--threads {self.threads}, --seed {self.seed}: expected at least 1, and 0 to 2^32 − 1"
            )
