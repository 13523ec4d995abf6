"""How long an app waits for its first answer: the phone's Java library on a JVM, beside an earlier commit's.

    python -m studies.latency.cold_start artefacts/matcher-open-m --before d1b15e5 --out cold-start.json

Each start is a process of its own. It opens a matcher of the app's assets, which an earlier process copied
out, and compares two texts; the two libraries take turns. Two times are told: by the clock, and the processor
time of the one thread that works, which other programs on the machine change less. The network is left out,
for LiteRT runs on no JVM; with `--network` an .onnx artefact runs in ONNX Runtime, through the bridge that
`make apk` packs.
"""

import importlib.metadata
import io
import platform
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from android_bench.build_app import java, native
from android_bench.measuring import machine
from mobilebert_runtime.card import check_checksums
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from studies.common.records import check_outputs
from studies.common.script import Force, command_line, run

STANDINS = java.LIBRARY / "test" / "java"
PROGRAM = "mobilebert.runtime.ColdStart"
FIELDS = ("load_ms", "first_answer_ms", "load_cpu_ms", "first_answer_cpu_ms", "heap_bytes", "answer")
OPTIONS = ("-XX:+UseSerialGC", "-Xmx256m")


class Library:
    """The library of a source tree, compiled, with the program that starts it once."""

    def __init__(self, tree: Path, work: Path, assets: Path) -> None:
        """Args: tree: android_bench/library of a checkout; work: an empty folder; assets: the app's."""
        java.compile_sources([tree / "src/stubs"], work / "stubs")
        java.compile_sources([tree / "src/main"], work / "library", [work / "stubs"])
        program = STANDINS / f"{PROGRAM.replace('.', '/')}.java"
        java.compile_sources([STANDINS / "android", program], work / "program", [work / "library"])
        self._path = ":".join(map(str, (work / "program", work / "library", tree / "src/main/resources")))
        self._places = (assets, work / "files")

    def start(self, artefact: str, libraries: Path | None = None) -> dict[str, float]:
        """One start, `FIELDS`; with the native libraries of a folder the network runs too."""
        options = [*OPTIONS, *([f"-Djava.library.path={libraries}"] if libraries else [])]
        network = "runtime" if libraries else "none"
        said = java.run([java.java(), *options, "-cp", self._path, PROGRAM, *self._places, artefact, network])
        return dict(zip(FIELDS, map(float, said.split()), strict=True))


def compare(libraries: dict[str, Library], artefact: str, starts: int, bridge: Path | None) -> dict[str, Any]:
    """All samples and their medians by library; the first start of each, which copies, is told apart.

    Raises:
        DataError: they do not answer alike.
    """
    installed = {name: one.start(artefact, bridge) for name, one in libraries.items()}
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in libraries}
    for turn in range(starts):
        for name in libraries if turn % 2 == 0 else reversed(libraries):
            samples[name].append(libraries[name].start(artefact, bridge))
    answers = {row["answer"] for rows in samples.values() for row in rows}
    if len(answers) != 1:
        raise DataError(f"the libraries answer {sorted(answers)}; they must answer alike to be compared")
    return {
        name: {
            "after_installing": installed[name],
            "median": {field: statistics.median(row[field] for row in rows) for field in FIELDS},
            "samples": rows,
        }
        for name, rows in samples.items()
    }


def source_at(commit: str, folder: Path) -> Path:
    """The library's sources of a commit of this repository, written into a folder."""
    done = subprocess.run(
        ["git", "archive", commit, "android_bench/library"],
        cwd=java.ANDROID_BENCH.parent,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise DataError(f"git knows no library at {commit!r:.60} ({said[-1] if said else 'no reason given'})")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "android_bench" / "library"


def bridge_here(folder: Path) -> Path:
    """A folder with ONNX Runtime's library for this machine and the bridge to it."""
    files = importlib.metadata.files("onnxruntime") or []
    runtime = next(Path(str(f.locate())) for f in files if re.match(r"libonnxruntime\.so\.\d", f.name))
    native.build(f"{platform.machine()}-linux-gnu", runtime, folder)
    (folder / native.RUNTIME_NAME).symlink_to(runtime)
    return folder


def main(
    artefact: Annotated[Path, Argument(help="A matcher's artefact folder.")],
    out: Annotated[Path, Option(help="The record, a JSON file.")],
    before: Annotated[str, Option(help="Commit whose library is compared with this one's.")],
    starts: Annotated[int, Option(min=1, help="Starts of each library.")] = 21,
    network: Annotated[bool, Option("--network", help="Run an .onnx artefact's network too.")] = False,
    force: Force = False,
) -> None:
    """Time cold starts of this library and an earlier one."""
    check_outputs(out, force=force)
    check_checksums(artefact)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        trees = {"before": source_at(before, work / "source"), "now": java.LIBRARY.parent}
        libraries: dict[str, Library] = {}
        for name, tree in trees.items():
            (work / name).mkdir()
            libraries[name] = Library(tree, work / name, artefact.resolve().parent)
        bridge = bridge_here(work / "bridge") if network else None
        watch = machine.Watch()
        with watch:
            found = compare(libraries, artefact.resolve().name, starts, bridge)
    about = {"command": command_line(), "machine": machine.describe(), "while_it_ran": watch.facts()}
    write_json(out, about | {"java": java.run(["javac", "-version"]).strip(), "libraries": found})
    for name, row in found.items():
        told = row["median"]
        sys.stdout.write(
            f"{name:8} load {told['load_ms']:7.1f} ms ({told['load_cpu_ms']:.1f} of processor), first answer "
            f"{told['first_answer_ms']:7.1f} ms ({told['first_answer_cpu_ms']:.1f}), "
            f"heap {told['heap_bytes'] / 2**20:.1f} MiB\n"
        )


if __name__ == "__main__":
    run(main)
