"""The same integer artefacts on every processor: labels and logits beside PyTorch's, one table.

    python -m studies.shipped.int8_processors artefacts/matcher-int8 --out results/quantize/int8-processors

This machine's processor and tflite-runtime 2.14 (in an environment of its own, made under runs/) run as they
are, and once more with AVX-512 hidden from the runtimes (studies.common.cpuid_mask); the others in qemu's
user mode (`make android-tools` fetches it and the Arm programs). Emulation is slow: answers are kept by
shards of pairs under runs/int8-processors, so a run that was stopped goes on, and `--minutes` writes the
record of the pairs that are there by then. `--add` keeps an earlier record's rows of other files and places.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import subprocess
import sys
import time
import uuid
import venv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from typer import Argument, Option

from android_bench.emulation import emulator
from android_bench.measuring import machine
from android_bench.measuring.rounds import run_program
from mobilebert_export import samples
from mobilebert_export.pipeline.loading import load_source
from mobilebert_export.verification.decision_changes import compare_decisions
from mobilebert_export.verification.network_outputs import reference_logits
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.artefact import read_tokenizer
from mobilebert_runtime.artefact_files import read_files
from mobilebert_runtime.card import ArtefactCard, read_card, read_recipe
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import file_sha256, write_json
from mobilebert_training.run_directory import values_hash
from studies.common import cpuid_mask
from studies.common.markdown import NONE, table, with_interval
from studies.common.records import Json, read_json, recorded, write_text
from studies.common.script import command_line, console, run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "runs" / "int8-processors"
HERE, OLDEST, AVX2 = "here", "tflite-runtime-2.14", "avx2"
EMULATED = ("haswell", "cortex-a55", "cortex-a76", "cortex-a710", "i8mm")
PLACES = (HERE, OLDEST, AVX2, *EMULATED)
# Of the oldest runtime that the files are made for; it needs numpy 1.
OLDEST_PACKAGES = ("tflite-runtime==2.14.0", "numpy==1.26.4", "tokenizers")
LOAD = """
import sys
try:
    from tflite_runtime.interpreter import Interpreter
    Interpreter(sys.argv[1])
except Exception as error:
    sys.exit(" ".join(str(error).split()))
"""
SHARD = 250
# Asked of a shipped matcher: share of equal labels, 99th percentile of the larger |Δlogit| of a pair.
AGREEMENT, P99 = 0.995, 0.08
LIMIT_S = 3600.0
Floats = NDArray[np.float32]


def main(
    artefacts: Annotated[list[Path], Argument(help="Integer artefact folders of shipped matchers.")],
    out: Annotated[Path, Option(help="Writes OUT.json and OUT.md; earlier ones are replaced.")],
    places: Annotated[
        list[str] | None,
        Option("--processor", help=f"Only these of {', '.join(PLACES)} (repeat)."),
    ] = None,
    count: Annotated[int, Option("--pairs", min=1, help="Generated pairs.")] = 2000,
    minutes: Annotated[float | None, Option(help="Begin no shard after so many minutes.")] = None,
    add: Annotated[bool, Option("--add", help="Keep what OUT.json has of other files and places.")] = False,
) -> None:
    """Compare integer artefacts with PyTorch on this processor and on emulated ones."""
    chosen = places or PLACES
    if unknown := set(chosen) - set(PLACES):
        raise OptionError(f"--processor {unknown.pop()!r}: expected {', '.join(PLACES)}")
    if AVX2 in chosen:
        cpuid_mask.environment()  # which refuses where it can't be made
    cards = {folder: read_card(folder) for folder in artefacts}
    earlier: Json | None = read_json(out.with_suffix(".json")) if add else None
    pairs = samples.generated_pairs(count)
    until = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    for start in range(0, count, SHARD):
        for folder, card in cards.items():
            for place in chosen:
                if time.monotonic() < until and (place != OLDEST or loads(folder, card)):
                    console().print(f"{folder.name}, {place}, pairs from {start}")
                    answers(folder, place, pairs, start)
    expected = {folder: reference(folder, pairs) for folder in artefacts}
    made = [
        row
        for folder in artefacts
        for place in PLACES
        if (row := compare(folder, place, pairs, expected[folder]))
    ]
    about: Json = {"command": command_line(), "pairs": count, "machine": machine.describe()}
    rows = made
    if earlier:
        runs = [*earlier.get("earlier", ()), {name: earlier[name] for name in about}]
        about["earlier"] = [run for run in runs if run["command"] != about["command"]]
        rows = [*(row for row in earlier["rows"] if not _replaced(row, made)), *made]
    write_json(out.with_suffix(".json"), about | {"rows": rows})
    write_text(out.with_suffix(".md"), page(rows))


def _replaced(row: Json, made: Sequence[Json]) -> bool:
    """Whether an earlier row is one of these, or of a file in whose place theirs are."""
    kind = ("model", "target", "as_convolutions")
    of_its_kind = [one for one in made if all(one[name] == row[name] for name in kind)]
    file = row["model_sha256"]
    return any(one["place"] == row["place"] or one["model_sha256"] != file for one in of_its_kind)


def loads(folder: Path, card: ArtefactCard) -> bool:
    """Does the oldest runtime load the file? What it says to one that it refuses is kept for the table."""
    if card.target != "tflite":
        return False
    model = folder / card.model_file

    def ask() -> Json:
        done = subprocess.run(
            [oldest_python(), "-c", LOAD, model], capture_output=True, text=True, check=False
        )
        return {"refused": done.stderr.strip() if done.returncode else None}

    return recorded(_loading(model), ask)["refused"] is None


def _loading(model: Path) -> Path:
    """Where it is kept whether the oldest runtime loads a file."""
    return FOLDER / file_sha256(model)[:12] / f"{OLDEST}-loads.json"


def answers(folder: Path, place: str, pairs: Sequence[tuple[str, str]], start: int) -> Floats:
    """Logits (≤ `SHARD`, labels) of the pairs from `start` on, computed there once."""
    kept = _kept(folder, place, pairs, start)

    def compute() -> Json:
        task = kept.with_suffix(".task")
        result = kept.with_suffix(".result")
        work: Json = {"action": "match", "folder": str(folder.resolve())}
        work["pairs"] = pairs[start : start + SHARD]
        work |= {"threads": 1, "cores": "all", "nonce": uuid.uuid4().hex, "out": str(result)}
        task.write_text(json.dumps(work), encoding="utf-8")
        program = ("-m", "android_bench.runner.device", str(task))
        if place in EMULATED:
            emulator.run(emulator.PROCESSORS[place], read_card(folder).target, program)
        else:
            python = oldest_python() if place == OLDEST else Path(sys.executable)
            variables = cpuid_mask.environment() if place == AVX2 else os.environ
            paths = [*filter(None, [variables.get("PYTHONPATH")]), str(ROOT)]
            run_program(
                [str(python), *map(str, program)],
                {**variables, "PYTHONPATH": os.pathsep.join(paths)},
                f"{folder} on {place}",
                LIMIT_S,
            )
        found = json.loads(result.read_text(encoding="utf-8"))
        task.unlink()
        result.unlink()
        return {"logits": found["logits"], "device": found["device"]}

    return np.array(recorded(kept, compute)["logits"], np.float32)


def _kept(folder: Path, place: str, pairs: Sequence[tuple[str, str]], start: int) -> Path:
    """Where the answers to a shard are kept: by the file, what it reads, the processor and the shard."""
    part = tuple(pairs[start : start + SHARD])
    model = file_sha256(folder / read_card(folder).model_file)[:12]
    where = place if place in EMULATED else f"{place}-{machine.describe()['id']}"
    path = FOLDER / model / where / f"{start}-{start + len(part)}-{_read(encode(folder, part))}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def reference(folder: Path, pairs: Sequence[tuple[str, str]]) -> Floats:
    """PyTorch's logits (N, labels) for the weights that an artefact was made from, computed once for both."""
    made = read_recipe(folder)
    weights = str(made["model"]["sha256"])[:12]
    encoded = encode(folder, tuple(pairs))
    path = FOLDER / f"pytorch-{weights}-{_read(encoded)}.json"

    def compute() -> Json:
        return {"logits": reference_logits(load_source(made, folder, None).network, encoded).tolist()}

    return np.array(recorded(path, compute)["logits"], np.float32)


@functools.cache
def encode(folder: Path, pairs: tuple[tuple[str, str], ...]) -> dict[str, NDArray[np.int32]]:
    """What an artefact's network reads, int32 (N, S) by input name."""
    card = read_card(folder)
    return read_tokenizer(read_files(folder)).encode(pairs, card.seq_len)


def _read(encoded: dict[str, NDArray[np.int32]]) -> str:
    """What is read, for a file's name: a tokenizer may correct and order texts another way."""
    return values_hash((), encoded["input_ids"])[:12]


def compare(folder: Path, place: str, pairs: Sequence[tuple[str, str]], expected: Floats) -> Json | None:
    """The row of an artefact in a place: the first pairs that were answered there; None where none were.

    Of a file that the oldest runtime refuses the row says why.
    """
    card, made = read_card(folder), read_recipe(folder)
    row: Json = {
        "artefact": folder.name,
        "model": made["model"]["name"],
        "recipe": made["recipe"]["name"],
        "as_convolutions": made["recipe"].get("as_convolutions", False),
        "model_sha256": file_sha256(folder / card.model_file),
        "target": card.target,
        "place": place,
        "emulated": asdict(emulator.PROCESSORS[place]) if place in EMULATED else None,
    }
    loading = _loading(folder / card.model_file)
    if place == OLDEST and loading.is_file() and (refused := read_json(loading)["refused"]):
        return row | {"refused": refused}
    shards = kept_shards(folder, place, pairs)
    if not shards:
        return None
    found = _logits(shards)
    tolerance = Tolerance(**made["recipe"]["tolerance"])
    shift = card.shift(pairs[: len(found)])
    changes = compare_decisions(expected[: len(found)], found, card, shift, tolerance)
    others = {
        other: _logits(kept)
        for other in PLACES
        if other != place and (kept := kept_shards(folder, other, pairs))
    }
    here = found if place == HERE else others.get(HERE, found[:0])[: len(found)]
    return row | {
        "flags": shards[0]["device"]["flags"],
        "changes": changes.to_json(),
        "largest_difference_to_here": float(np.abs(found[: len(here)] - here).max()) if len(here) else None,
        # Places that answered at least as many pairs, these to the last bit alike.
        "same_answers": [
            other
            for other, logits in others.items()
            if len(logits) >= len(found) and np.array_equal(logits[: len(found)], found)
        ],
    }


def kept_shards(folder: Path, place: str, pairs: Sequence[tuple[str, str]]) -> list[Json]:
    """The shards from the first pair on that were answered there, without a gap."""
    paths = [_kept(folder, place, pairs, start) for start in range(0, len(pairs), SHARD)]
    return [read_json(path) for path in itertools.takewhile(Path.is_file, paths)]


def _logits(shards: Sequence[Json]) -> Floats:
    return np.array([row for shard in shards for row in shard["logits"]], np.float32)


def page(rows: Sequence[Json]) -> str:
    """The table of all rows, what was asked beside it."""
    ran = [row for row in rows if "refused" not in row]
    count = max((row["changes"]["pairs"] for row in ran), default=0)
    lines = [
        [
            _file(row),
            _place(row),
            f"{changes['pairs']:,}",
            with_interval(
                1 - changes["changed_share"], [1 - end for end in reversed(changes["interval"])], 4
            ),
            f"{changes['p50_logit']:.4f}",
            f"{changes['p99_logit']:.4f}",
            f"{changes['max_logit']:.3f}",
            NONE
            if row["place"] == HERE or row["largest_difference_to_here"] is None
            else f"{row['largest_difference_to_here']:.1g}",
            ", ".join(_short(other) for other in row.get("same_answers", ())) or NONE,
            "yes" if 1 - changes["changed_share"] >= AGREEMENT and changes["p99_logit"] <= P99 else "no",
        ]
        for row in ran
        for changes in (row["changes"],)
    ]
    refused = "".join(
        f"\ntflite-runtime 2.14 refuses the file of {_file(row)}: “{row['refused']}”\n"
        for row in rows
        if "refused" in row
    )
    head = (
        "int8 file",
        "processor or runtime",
        "pairs",
        "label agreement [95%]",
        "p50",
        "p99 |Δlogit|",
        "max",
        "to here",
        "same bits as",
    )
    return f"""# The same integer artefacts on every processor

Beside PyTorch in float on {count:,} generated pairs, the first of them where emulation was stopped earlier,
each in its own length bucket. Δlogit is the larger of a pair's two; "to here" is the largest
difference from this processor's logits; "same bits as" names places that gave the row's pairs the very same
logits. Asked: agreement of at least {AGREEMENT}, p99 of at most {P99}. Emulated processors run
the runtimes' real kernels in qemu. Files of convolutions are those of `--minimum-runtime 2.14`.

{table((*head, "holds"), lines)}
{refused}"""


def _file(row: Json) -> str:
    kind = {"tflite": "TFLite", "onnx": "ONNX"}[row["target"]]
    return f"{row['model']}, {kind}{' of convolutions' if row.get('as_convolutions') else ''}"


def _place(row: Json) -> str:
    if emulated := row["emulated"]:
        return f"{emulated['name']} ({emulated['kernels']}), emulated"
    if row["place"] == OLDEST:
        return "tflite-runtime 2.14, here"
    if row["place"] == AVX2:
        return "here, AVX-512 hidden (AVX2)"
    known = {
        "avx512_vnni": "AVX-512 VNNI",
        "avx_vnni": "AVX-VNNI",
        "avx2": "AVX2",
        "i8mm": "int8 matrix product",
    }
    return f"here ({next((name for flag, name in known.items() if flag in row['flags']), 'baseline')})"


def _short(place: str) -> str:
    """A place's name without what it is."""
    return emulator.PROCESSORS[place].name if place in EMULATED else {AVX2: "AVX2"}.get(place, place)


def oldest_python() -> Path:
    """Python of an environment with tflite-runtime 2.14, made once."""
    folder = FOLDER / "tflite-runtime-2.14"
    python = folder / "bin" / "python"
    if not (folder / "complete").is_file():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *OLDEST_PACKAGES],
            capture_output=True,
            check=True,
        )
        (folder / "complete").touch()
    return python


if __name__ == "__main__":
    run(main)
