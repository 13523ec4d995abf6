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
from mobilebert_export.command_line import program as cli
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
    assert len(list(tmp_path.glob(".out.*.building"))) == 1
    process.send_signal(number)
    code = process.wait(30)
    process.stdout.close()
    if number == signal.SIGKILL:
        assert code == -signal.SIGKILL
        assert len(list(tmp_path.glob(".out.*.building"))) == 1
    else:
        assert code in CODES[number]
        assert listing(tmp_path) == before
    with files.replacing_folder(out) as folder:
        (folder / "whole").write_text("new")
    assert listing(tmp_path) == {"out/whole": b"new"}
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_being_built_by_a_living_process_or_another_machine_stays(tmp_path):
    """Alive by the lock it holds, which another container sees too; process numbers it does not."""
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    kept = [*tmp_path.glob(".out.*.building"), tmp_path / ".out.elsewhere-0123abcd.building"]
    kept[-1].mkdir()
    with files.replacing_folder(out):
        pass
    assert len(kept) == 2
    assert all(folder.is_dir() for folder in kept)
    process.kill()
    process.wait(30)
    process.stdout.close()
    with files.replacing_folder(out):
        pass
    assert [folder.is_dir() for folder in kept] == [False, True]


def test_an_old_folder_that_a_killed_process_had_moved_aside_comes_back(tmp_path):
    out = tmp_path / "out"
    aside = tmp_path / f".out.{files.socket.gethostname()}-0123abcd.old" / "out"
    aside.mkdir(parents=True)
    (aside / "whole").write_text("old")
    with pytest.raises(ZeroDivisionError), files.replacing_folder(out):
        raise ZeroDivisionError
    assert listing(tmp_path) == {"out/whole": b"old"}
    assert list(tmp_path.iterdir()) == [out]


WRITER = """
import sys
from pathlib import Path
from mobilebert_runtime.files import replacing, replacing_folder
out, letter = Path(sys.argv[1]), sys.argv[2]
for _ in range(40):
    with replacing(out / "file", force=True) as partial:
        with partial.open("w") as file:
            for _ in range(50):
                file.write(letter * 1000)
                file.flush()
    with replacing_folder(out / "folder") as folder:
        for number in range(10):
            (folder / str(number)).write_text(letter)
"""


def test_two_writers_of_one_name_never_mix(tmp_path):
    both = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), letter]) for letter in "ab"]
    mixed, seen = [], set()
    while any(process.poll() is None for process in both):
        for path in (tmp_path / "file", tmp_path / "folder"):
            try:
                parts = [path, *path.iterdir()] if path.is_dir() else [path]
                letters = {letter for part in parts if part.is_file() for letter in set(part.read_text())}
            except FileNotFoundError:
                continue  # replaced while it was listed
            seen |= letters
            if path.name == "file" and len(letters) > 1:
                mixed.append(letters)
    assert not mixed
    assert [process.returncode for process in both] == [0, 0]
    assert listing(tmp_path).keys() == {"file", *(f"folder/{number}" for number in range(10))}
    assert len(set(listing(tmp_path / "folder").values())) == 1
    assert len((tmp_path / "file").read_text()) == 50_000


def test_what_is_written_has_the_rights_that_the_user_gives(tmp_path):
    for mask in (0o077, 0o022, 0o007):
        old = os.umask(mask)
        try:
            with files.replacing(tmp_path / "file", force=True) as partial:
                partial.write_text("x")
            with files.replacing_folder(tmp_path / "folder"):
                pass
        finally:
            os.umask(old)
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~mask
        assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~mask


@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_a_mount_point_is_refused_before_the_work(kind, small_disk, tmp_path):
    out = tmp_path / "an out"
    out.mkdir()
    (tmp_path / "other").mkdir()
    mount = f'mount -t tmpfs none "{out}"' if kind == "tmpfs" else f'mount --bind "{tmp_path}/other" "{out}"'
    code = (
        "import sys; from pathlib import Path; from mobilebert_runtime import files\n"
        "try: files.refuse_finished(Path(sys.argv[1]), force=True)\n"
        "except files.OutputError as error: print(error)"
    )
    done = small_disk("1m", tmp_path / "disk", f"{mount} && $PYTHON -c '{code}' '{out}'")
    assert "is a mount point, which can't be replaced; give a folder inside it" in done.stdout, done.stderr


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
