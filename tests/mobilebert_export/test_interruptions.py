"""Killed commands and full disks: what was there stays, nothing is left behind."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mobilebert_runtime import files
from tests.helpers.toys import toy_pairs, write_pairs

SCRIPT = """
import signal, sys, time
from pathlib import Path
from mobilebert_export import cli
# A test run that a shell started in its background ignores Ctrl-C, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
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


FULL = {"debias": ('debias {data}/train.tsv --out "$DISK/out.tsv"', "100k")}


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_a_full_disk_is_said_and_nothing_is_left(name, small_disk, tmp_path):
    pairs, labels = toy_pairs(4000)
    data = tmp_path / "data"
    data.mkdir()
    write_pairs(data / "train.tsv", pairs, labels)
    command, size = FULL[name]
    line = '"$PYTHON" -m mobilebert_export ' + command.format(data=data)
    done = small_disk(size, tmp_path / "disk", line)
    said = [text for text in done.stderr.splitlines() if text.strip()]
    assert done.returncode == 1, done.stderr
    assert said == [text for text in said if text.startswith("mobilebert: disk full: ")]
    assert len(said) == 1, done.stderr
