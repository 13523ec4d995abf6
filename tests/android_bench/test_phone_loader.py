"""Promise of the phone's Java: it refuses the artefacts that the runtime refuses, and no others."""

import os
import random
import select
import shutil
import subprocess
from collections import Counter

import pytest

from android_bench.build_app import java
from mobilebert_runtime import artefact as loader
from mobilebert_runtime.errors import ArtefactError, ToolError
from tests.helpers import phone_tasks, tiny_tasks
from tests.helpers.artefact_mutations import CARD, FOLDER, mutate

SMALL, EACH, LARGE = 60, 300, 1200
PATIENCE_S = 120


class Phone:
    """The library's classes in one JVM, which opens folder after folder."""

    def __init__(self, classes):
        self.process = subprocess.Popen(
            [
                java.java(),
                "-Xmx1g",
                "-cp",
                os.pathsep.join(map(os.fspath, classes)),
                "mobilebert.runtime.Loader",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def verdict(self, folder):
        """Accepted, refused or crashed, and the reason."""
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        assert ready, f"no answer in {PATIENCE_S} s"
        verdict, _, why = self.process.stdout.readline().rstrip("\n").partition(": ")
        return verdict, why


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    classes = tmp_path_factory.mktemp("classes")
    try:
        java.compile_library(classes / "library")
        program = java.LIBRARY / "test/java/mobilebert/runtime/Loader.java"
        java.compile_sources([program], classes / "program", [classes / "library"])
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    found = Phone([classes / "library", classes / "program", java.LIBRARY / "main/resources"])
    yield found
    found.process.stdin.close()
    found.process.wait()


def python_verdict(folder, monkeypatch):
    """What the runtime says of a folder before it opens the network."""
    with monkeypatch.context() as patched:
        patched.setattr(loader, "open_backend", lambda *_: None)
        try:
            loader.load(folder)
        except ArtefactError as error:
            return "refused", str(error)
    return "accepted", ""


def compared(phone, artefact, tmp_path, monkeypatch, kinds, count):
    """Counts of verdicts; none may differ."""
    counts, different = Counter(), []
    assert phone.verdict(artefact) == python_verdict(artefact, monkeypatch) == ("accepted", "")
    for seed in range(count):
        folder = tmp_path / f"damaged-{seed}"
        shutil.copytree(artefact, folder)
        said = mutate(folder, random.Random(seed), kinds)
        ours, theirs = phone.verdict(folder), python_verdict(folder, monkeypatch)
        counts[theirs[0]] += 1
        if ours[0] != theirs[0]:
            different.append((seed, said, ours, theirs))
        shutil.rmtree(folder)
    assert not different
    return counts


@pytest.mark.parametrize("kinds", [CARD, FOLDER], ids=["io.json", "folder"])
def test_the_phone_judges_damage_as_python_does(phone, onnx_artefact, tmp_path, monkeypatch, kinds):
    counts = compared(phone, onnx_artefact, tmp_path, monkeypatch, kinds, SMALL)
    assert counts["refused"] > SMALL / 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kinds", [CARD, FOLDER], ids=["io.json", "folder"])
def test_the_phone_judges_much_damage_as_python_does(
    phone, onnx_artefact, tmp_path, monkeypatch, capsys, kinds
):
    counts = compared(phone, onnx_artefact, tmp_path, monkeypatch, kinds, LARGE)
    with capsys.disabled():
        print(f"\n{LARGE} changes, the same verdict of both: {dict(counts)}")
    assert counts["refused"] > LARGE / 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sorted(phone_tasks.ARTEFACTS))
def test_the_phone_judges_damage_to_any_task_as_python_does(phone, tmp_path, monkeypatch, capsys, name):
    """A byte-level BPE's artefact has no vocab.txt, whose damage is one kind of the folder's."""
    task, kind, fields = phone_tasks.ARTEFACTS[name]
    artefact = tiny_tasks.write(tmp_path / name, task, kind, **fields)
    kinds = [*CARD, *(FOLDER if (artefact / "vocab.txt").exists() else ())]
    counts = compared(phone, artefact, tmp_path, monkeypatch, kinds, EACH)
    with capsys.disabled():
        print(f"\n{EACH} changes of {name}, the same verdict of both: {dict(counts)}")
    assert counts["refused"] > EACH / 2
