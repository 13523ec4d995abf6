"""Killed commands and full disks: what was there stays, nothing is left, training goes on to the bit."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mobilebert_runtime import files
from tests.helpers.toys import toy_pairs, write_pairs

SCRIPT = """
import sys, time
from pathlib import Path
from mobilebert_export import cli
from mobilebert_runtime.files import replacing_folder

def slow(*arguments, **options):
    with replacing_folder(Path(sys.argv[1])) as folder:
        (folder / "half").write_bytes(b"x" * 1000)
        print("writing", flush=True)
        time.sleep(60)

cli.app = slow
cli.main([])
"""
CODES = {signal.SIGINT: {130, -signal.SIGINT}, signal.SIGTERM: {143}, signal.SIGHUP: {129}}


def listing(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("old", [True, False])
def test_a_killed_writer_leaves_the_old_folder_and_the_next_clears_what_it_left(number, old, tmp_path):
    out = tmp_path / "out"
    if old:
        out.mkdir()
        (out / "whole").write_text("old")
    before = listing(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    assert len(list(tmp_path.glob(".out.building-*"))) == 1
    process.send_signal(number)
    code = process.wait(30)
    process.stdout.close()
    if number == signal.SIGKILL:
        assert code == -signal.SIGKILL
        assert len(list(tmp_path.glob(".out.building-*"))) == 1
    else:
        assert code in CODES[number]
        assert listing(tmp_path) == before
    with files.replacing_folder(out) as folder:
        (folder / "whole").write_text("new")
    assert listing(tmp_path) == {"out/whole": b"new"}
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_being_built_by_a_living_process_or_another_machine_stays(tmp_path):
    out = tmp_path / "out"
    host = files.socket.gethostname()
    kept = [
        tmp_path / f".out.building-{host}-{os.getpid()}-abc",
        tmp_path / ".out.building-elsewhere-999999-abc",
    ]
    for folder in kept:
        folder.mkdir()
    with files.replacing_folder(out):
        pass
    assert all(folder.is_dir() for folder in kept)


def test_an_old_folder_that_a_killed_process_had_moved_aside_comes_back(tmp_path):
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    out = tmp_path / "out"
    aside = tmp_path / f".out.old-{files.socket.gethostname()}-{dead.stdout.strip()}-abc" / "out"
    aside.mkdir(parents=True)
    (aside / "whole").write_text("old")
    with pytest.raises(ZeroDivisionError), files.replacing_folder(out):
        raise ZeroDivisionError
    assert listing(tmp_path) == {"out/whole": b"old"}
    assert list(tmp_path.iterdir()) == [out]


@pytest.fixture(scope="module")
def small_disk():
    """Runs a shell line in a namespace where $DISK is a file system of a given size."""
    tried = shutil.which("unshare") and subprocess.run(
        ["unshare", "-Urm", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"],
        capture_output=True,
        check=False,
    )
    if not tried or tried.returncode:
        pytest.skip("no user and mount namespaces here (unshare -Urm)")

    def run(size: str, disk: Path, line: str) -> subprocess.CompletedProcess[str]:
        disk.mkdir(exist_ok=True)
        mount = f'mount -t tmpfs -o size={size} none "$DISK"'
        script = f'{mount} && {line}; code=$?; find "$DISK" -mindepth 1 >&2; exit $code'
        environment = os.environ | {"DISK": str(disk), "PYTHON": sys.executable}
        return subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )

    return run


FULL = {
    "debias": ('debias {data}/train.tsv --out "$DISK/out.tsv"', "100k"),
    "audit": ('audit {data}/train.tsv --png "$DISK/out.png"', "4k"),
    "factorize": ('factorize --model minilm --preset 21 --out "$DISK/out"', "4m"),
    "train-tokenizer": ('train-tokenizer {data}/corpus.txt --size 300 --out "$DISK/out"', "8k"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_a_full_disk_is_said_and_nothing_is_left(name, small_disk, tmp_path):
    pairs, labels = toy_pairs(4000)
    data = tmp_path / "data"
    data.mkdir()
    write_pairs(data / "train.tsv", pairs, labels)
    (data / "corpus.txt").write_text("\n".join(a for a, _ in pairs) + "\n")
    command, size = FULL[name]
    line = '"$PYTHON" -m mobilebert_export ' + command.format(data=data)
    done = small_disk(size, tmp_path / "disk", line)
    said = [text for text in done.stderr.splitlines() if text.strip()]
    assert done.returncode == 1, done.stderr
    assert said == [text for text in said if text.startswith("mobilebert: disk full: ")]
    assert len(said) == 1, done.stderr


@pytest.mark.slow
def test_a_training_killed_again_and_again_ends_where_an_uninterrupted_one_does(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name, count in (("train", 600), ("dev", 60)):
        write_pairs(data / f"{name}.tsv", *toy_pairs(count, seed=len(name)))
    command = [
        sys.executable,
        "-m",
        "mobilebert_export",
        "train-matcher",
        f"--data={data}",
        "--arch=bert-tiny",
    ]
    command += ["--epochs=4", "--batch-size=16", "--threads=1"]
    whole = subprocess.run([*command, f"--out={tmp_path / 'whole'}"], capture_output=True, check=False)
    assert whole.returncode == 0, whole.stderr
    draw, kills, seen = random.Random(3), 0, set()
    for _ in range(40):
        process = subprocess.Popen([*command, f"--out={tmp_path / 'killed'}"], stderr=subprocess.DEVNULL)
        try:
            process.wait(draw.uniform(4, 14))
            break
        except subprocess.TimeoutExpired:
            number = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)[kills % 3]
            process.send_signal(number)
            process.wait(60)
            seen |= {path.name for path in (tmp_path / "killed").rglob("*") if "checkpoint" in path.name}
            kills += 1
            assert not (tmp_path / "killed" / "model").exists()
            time.sleep(0.1)
    model = Path("model") / "model.safetensors"
    assert (tmp_path / "killed" / model).read_bytes() == (tmp_path / "whole" / model).read_bytes()
    assert kills
    assert not list((tmp_path / "killed").rglob(".*"))
    print(f"{kills} kills, checkpoints {sorted(seen)}")
