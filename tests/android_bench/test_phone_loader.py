"""Promise of the phone's Java: it refuses the artefacts that the runtime refuses, and no others."""

import json
import os
import random
import select
import shutil
import subprocess
from collections import Counter

import pytest

from android_bench.build_app import java
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime import artefact as loader
from mobilebert_runtime.errors import ArtefactError, ToolError
from tests.helpers import phone_tasks, tiny_tasks
from tests.helpers.artefact_mutations import CARD, FOLDER, TOKENIZER, member_changes, mutate

SMALL, EACH, LARGE = 60, 300, 1200
# Accepted tokenizers must make the same ids of them: special tokens between words, a word of 160 letters.
TEXTS = (
    "How old is the Moon?",
    "<mask> a<mask>b  [SEP]</s> na\u00efve \u6570\u5b66 don't\t\u20ac5 \U0001f44d\U0001f3fd x",
    "word" * 40,
)
# The phone's library has fewer kinds of tokenizers, and says so of the others.
NOT_ON_THE_PHONE = "this library does not"
PATIENCE_S = 120
LENGTH = 64  # of Loader.java


class Phone:
    """The library's classes in one JVM, which opens folder after folder."""

    def __init__(self, classes, texts):
        self.process = subprocess.Popen(
            [
                java.java(),
                "-Xmx1g",
                "-cp",
                os.pathsep.join(map(os.fspath, classes)),
                "mobilebert.runtime.Loader",
                texts,
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
    texts = classes / "texts.json"
    texts.write_text(json.dumps(TEXTS))
    found = Phone([classes / "library", classes / "program", java.LIBRARY / "main/resources"], texts)
    yield found
    found.process.stdin.close()
    found.process.wait()


def python_verdict(folder, monkeypatch):
    """What the runtime says of a folder before it opens the network."""
    with monkeypatch.context() as patched:
        patched.setattr(loader, "open_backend", lambda *_: None)
        try:
            encoded = loader.load(folder).tokenizer.ids(TEXTS, LENGTH)
        except ArtefactError as error:
            return "refused", str(error)
    return "accepted", "".join(str(ids) for ids, _ in encoded)


def compared(phone, artefact, tmp_path, monkeypatch, kinds, count):
    """Counts of verdicts; none may differ."""
    counts, different = Counter(), []
    assert phone.verdict(artefact) == python_verdict(artefact, monkeypatch)
    for seed in range(count):
        folder = tmp_path / f"damaged-{seed}"
        shutil.copytree(artefact, folder)
        said = mutate(folder, random.Random(seed), kinds)
        ours, theirs = phone.verdict(folder), python_verdict(folder, monkeypatch)
        counts[judged(ours, theirs)] += 1
        if not alike(ours, theirs):
            different.append((seed, said, ours, theirs))
        shutil.rmtree(folder)
    assert not different
    return counts


def judged(ours, theirs):
    missing = ours[0] == "refused" and theirs[0] == "accepted" and NOT_ON_THE_PHONE in ours[1]
    return NOT_ON_THE_PHONE if missing else theirs[0]


def alike(ours, theirs):
    """The same verdict, and of two tokenizers that were accepted the same ids."""
    if judged(ours, theirs) == NOT_ON_THE_PHONE:
        return True
    return ours == theirs if theirs[0] == "accepted" else ours[0] == theirs[0]


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


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["matching", "matching-one-logit", "names-bpe"])
def test_the_phone_judges_a_changed_tokenizer_json_as_python_does(phone, tmp_path, monkeypatch, capsys, name):
    """Every change of every member but vocabulary and merges, some of MiniLM's; and a few of any entry."""
    task, kind, fields = phone_tasks.ARTEFACTS[name]
    artefact = tiny_tasks.write(tmp_path / name, task, kind, **fields)
    count = EACH // 2 if kind == "bert" else EACH
    counts = compared(phone, artefact, tmp_path, monkeypatch, TOKENIZER, count)
    file = artefact / "tokenizer.json"
    changes = some_changes(file, count) if kind == "bert" else member_changes(file)
    different = []
    for said, text in changes:
        file.write_text(text)
        write_checksums(artefact)
        ours, theirs = phone.verdict(artefact), python_verdict(artefact, monkeypatch)
        counts[judged(ours, theirs)] += 1
        if not alike(ours, theirs):
            different.append((said, ours, theirs))
    assert not different
    with capsys.disabled():
        print(
            f"\n{counts.total()} changes of {name}'s tokenizer.json, the same verdict of both: {dict(counts)}"
        )
    assert counts.total() >= EACH
    assert counts["refused"] > count
    assert counts["accepted"] > count / 20
    assert counts[NOT_ON_THE_PHONE] < counts.total() / 100


def some_changes(file, count):
    """A reservoir of them: all at once would be gigabytes."""
    draw, kept = random.Random(0), []
    for number, change in enumerate(member_changes(file)):
        if number < count:
            kept.append(change)
        elif (place := draw.randrange(number + 1)) < count:
            kept[place] = change
    return kept
