"""Labels that integer artefacts of shipped matchers change, and how far their logits move.

    python -m studies.shipped.int8_agreement artefacts/matcher-int8 --out agreement.json

The pairs are those that an export verifies itself on, made from the bundled text, and the float model is
PyTorch's. Run it once on each kind of processor: integer kernels differ between them.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from android_bench.measuring import machine
from mobilebert_export import samples
from mobilebert_export.pipeline.loading import load_source
from mobilebert_export.verification.decision_changes import ChangeCounter
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import read_recipe
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher
from studies.common.records import check_outputs
from studies.common.script import Force, command_line, run


def main(
    artefacts: Annotated[list[Path], Argument(help="Artefact folders of shipped matchers.")],
    out: Annotated[Path, Option(help="The record, a JSON file.")],
    count: Annotated[int, Option("--pairs", min=1, help="Generated pairs.")] = 2000,
    force: Force = False,
) -> None:
    """Count changed labels of integer artefacts against PyTorch."""
    check_outputs(out, force=force)
    pairs = samples.generated_pairs(count)
    counters: dict[str, ChangeCounter] = {}  # by the model's hash: PyTorch is asked once for each
    rows: dict[str, Any] = {}
    for folder in artefacts:
        made = read_recipe(folder)
        weights = str(made["model"]["sha256"])
        if weights not in counters:
            counters[weights] = ChangeCounter(load_source(made, folder, None).network, pairs)
        matcher = Matcher.load(folder)
        changes = counters[weights].count(matcher, Tolerance(**made["recipe"]["tolerance"]))
        rows[folder.name] = {
            "model": made["model"]["name"],
            "recipe": made["recipe"]["name"],
            "runtime": matcher.backend.name,
            "changes": changes.to_json(),
        }
        low, high = (1 - end for end in reversed(changes.interval))
        sys.stdout.write(
            f"{folder.name:28} agreement {1 - changes.changed / changes.pairs:.4f} [{low:.4f}, {high:.4f}], "
            f"p99 |Δlogit| {changes.p99_logit:.4f}, max {changes.max_logit:.3f}\n"
        )
    about = {"command": command_line(), "pairs": count, "machine": machine.describe()}
    write_json(out, about | {"artefacts": rows})


if __name__ == "__main__":
    run(main)
