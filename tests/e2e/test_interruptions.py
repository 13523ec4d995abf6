"""Killed commands and full disks, for real: old outputs whole, nothing left, resumed to the bit."""

import random
import re
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import mobilebert_models
from mobilebert_runtime.files import file_sha256
from mobilebert_training.pretraining.corpus import Packing, build
from tests.helpers.forked_commands import CHECKPOINT_EVERY, STUDENT, WarmProgram
from tests.helpers.texts import MINILM, documents
from tests.helpers.toys import toy_pairs, write_pairs

pytestmark = pytest.mark.slow
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}
KILLS = {"export": 6, "train-matcher": 8, "distill": 8, "pretrain": 8}
TEMPORARY = re.compile(r"\.building$|\.old$|\.partial$|\.checkpoint$|^tmp")
TEACHER = mobilebert_models.EncoderConfig(
    hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)


@dataclass(frozen=True)
class Inputs:
    """What the commands read: labelled pairs, a corpus, and two models."""

    root: Path

    def command(self, name: str, out: Path) -> list[str]:
        """A command that writes its result to `result(name, out)`."""
        root, more = self.root, ["--threads", "1", "--force"]
        teacher = root / "teacher"
        pretraining = [root / "corpus", "--student", root / "student", "--teacher", root / "master"]
        pretraining += ["--strategy", "jkt", "--steps", 6, "--transfer-steps", 6, "--batch-size", 4]
        exported = ["--seq-len", 32, "--positive", "LABEL_1"]
        rows = {
            "export": ["--model", teacher, "--target", "onnx", "--quant", "none", *exported],
            "train-matcher": ["--data", root, "--arch", teacher, "--epochs", 1, "--batch-size", 4],
            "distill": ["--teacher", teacher, "--data", root, "--student", "tiny", "--recipe", "smoke"],
            "pretrain": [*pretraining, "--checkpoint-every", CHECKPOINT_EVERY],
        }
        return [name, *map(str, rows[name]), "--out", str(out), *more]


def result(name: str, out: Path) -> Path:
    """The folder that a command writes at the end."""
    return out if name == "export" else out / "model"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs")
    for part, count in (("train", 48), ("dev", 16)):
        write_pairs(root / f"{part}.tsv", *toy_pairs(count, seed=count))
    mobilebert_models.save_pretrained(
        mobilebert_models.build(TEACHER, seed=1), root / "teacher", tokenizer_from=MINILM
    )
    student = mobilebert_models.EncoderConfig(**STUDENT)
    for name, seed in (("student", 2), ("master", 3)):
        model = mobilebert_models.build(student, "pretraining", seed=seed)
        mobilebert_models.save_pretrained(model, root / name, tokenizer_from=MINILM)
    (root / "text.txt").write_text(documents(60))
    corpus = build([root / "text.txt"], MINILM, root / "corpus", Packing(seq_len=32)).folder
    (corpus / "examples.json").write_text('{"pairs": "nsp", "masking": "token"}')  # as `corpus build` does
    return Inputs(root)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    warm = WarmProgram(tmp_path_factory.mktemp("program"))
    yield warm
    warm.close()


def hashes(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): file_sha256(p) for p in folder.rglob("*") if p.is_file()}


def temporary(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if TEMPORARY.search(path.name)}


def old_output(folder: Path) -> dict[str, str]:
    """An earlier result, as far as the commands look at it."""
    folder.mkdir(parents=True)
    for name in ("io.json", "model.safetensors"):
        (folder / name).write_text(f"old {name}")
    return hashes(folder)


def artefact(found: dict[str, str]) -> dict[str, str]:
    """An artefact but for its reports, which hold times."""
    return {name: value for name, value in found.items() if name in ("model.onnx", "model.safetensors")}


@pytest.mark.parametrize("name", KILLS)
def test_killed_commands_keep_the_old_output_and_resume_to_the_bit(name, inputs, program, tmp_path):
    watch = tmp_path / "kill"
    watch.mkdir()
    whole = program.run(*inputs.command(name, watch / "whole"), watch=watch)
    assert whole.code == 0, whole.error
    expected = hashes(result(name, watch / "whole"))
    assert temporary(watch) == set()
    assert whole.steps > 3 * CHECKPOINT_EVERY or name == "export"
    draw = random.Random(name)
    size = whole.moments / KILLS[name]
    counts = Counter()
    for number in range(KILLS[name]):
        sent = SIGNALS[number % 3]
        moment = 1 + int(size * (number + draw.random()))
        at = f"{name}: {sent.name} at moment {moment} of {whole.moments}"
        out = watch / f"out-{number}"
        before = old_output(result(name, out))
        killed = program.run(*inputs.command(name, out), watch=watch, kill=(moment, sent))
        assert killed.code == ENDS[sent], (at, killed.error)
        assert "Traceback" not in killed.error, at
        found = hashes(result(name, out))
        if sent == signal.SIGKILL and not found:  # in the middle of two renames: the old one is beside it
            (aside,) = result(name, out).parent.glob(f".{result(name, out).name}.old-*")
            found = hashes(aside / result(name, out).name)
        assert found == before or artefact(found) == artefact(expected), at
        if sent != signal.SIGKILL:
            assert {one for one in temporary(watch) if not one.endswith(".checkpoint")} == set(), at
        again = program.run(*inputs.command(name, out), watch=watch)
        assert again.code == 0, (at, again.error)
        assert temporary(watch) == set(), at
        assert artefact(hashes(result(name, out))) == artefact(expected), at
        if name != "export":
            repeated = killed.steps + again.steps - whole.steps
            assert 0 <= repeated <= CHECKPOINT_EVERY, (at, killed.steps, again.steps)
            counts["resumed"] += again.steps < whole.steps
        counts["kills"] += 1
    print(f"{name}: {dict(counts)}")


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    """The warm program where it may mount file systems, and their place."""
    namespace = ("unshare", "-Urm")
    tried = shutil.which(namespace[0]) and subprocess.run([*namespace, "true"], check=False)
    if not tried or tried.returncode:
        pytest.skip("no user and mount namespaces here (unshare -Urm)")
    folder = tmp_path_factory.mktemp("disks")
    warm = WarmProgram(folder, namespace)
    yield warm, folder
    warm.close()


LISTING = "find . -type f -exec sha256sum {} + | sort -k 2"
# Sizes that end in the first large file, and in a later one.
FULL = {
    "export": ["1m", "2400k"],
    "train-matcher": ["1m", "9m"],
    "distill": ["1m", "3m"],
    "pretrain": ["1m", "4m"],
    "audit": ["8k"],
    "evaluate": ["12k"],
}


@pytest.mark.parametrize(("name", "size"), [(name, size) for name, sizes in FULL.items() for size in sizes])
def test_a_full_disk_is_said_nothing_is_left_and_room_lets_it_go_on(name, size, inputs, disks, tmp_path):
    warm, folder = disks
    disk, old = folder / f"{name}-{size}", tmp_path / "old"
    disk.mkdir()
    before = old_output(result(name, old / "out"))
    if name in ("audit", "evaluate"):
        more = [inputs.root / "train.tsv", "--png", disk / "out.png"]
        if name == "evaluate":
            more = [inputs.root / "teacher", "--data", inputs.root / "dev.tsv"]
            more += ["--positive", "LABEL_1", "--threads", "1"]
        arguments = [name, *more, "--json", disk / "out" / "model" / "io.json", "--force"]
    else:
        arguments = inputs.command(name, disk / "out")
    mount = f"mount -t tmpfs -o size={size} none {disk} && cp -r {old}/. {disk}"
    listed = {"watch": disk, "after": f"cd {disk}; {LISTING}"}
    listed["environment"] = {"TMPDIR": str(disk)}
    full = warm.run(*arguments, before=mount, **listed)
    assert full.code == 1, full.error
    said = [line for line in full.error.splitlines() if line.strip()]
    assert [line for line in said if line.startswith("mobilebert: disk full: ")] == said[-1:], said
    assert "Traceback" not in full.error
    lines = (line.split("  ./", 1) for line in full.after.splitlines())
    found = {path: value for value, path in lines}
    kept = str(result(name, Path("out")))
    assert {path: found.get(f"{kept}/{path}") for path in before} == before
    assert not [path for path in found if TEMPORARY.search(path) and not path.endswith(".checkpoint")]
    if name in ("train-matcher", "distill", "pretrain"):
        again = warm.run(*arguments, before=f"mount -o remount,size=64m {disk}", **listed)
        assert again.code == 0, again.error
        assert not [line for line in again.after.splitlines() if TEMPORARY.search(line)]
    else:
        assert set(found) == {f"{kept}/{path}" for path in before}
