"""Set up the project's virtual environment from the lock; `make export` and `make test` call this.

    python scripts/set_up.py VENV requirements.lock…

Each part of a lock is installed and noted as done: an interrupted installation goes on where it stopped.
torch comes first from PyTorch's own index, whose Linux wheels need no CUDA; where that index does not answer
within seconds, from the configured one, with the CUDA libraries that its wheel may ask for.
"""

import hashlib
import json
import platform
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 11), (3, 13)
PIP = "pip==26.3"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
TIMEOUT = 5  # seconds that PyTorch's index has to answer
# What torch's CUDA wheel asks for and its CPU wheel does not.
CUDA = re.compile(r"(nvidia|cuda)-|triton$")
PARTS, AT_ONCE = 6, 2  # unpacking keeps one core busy
TRIED = "torch, litert_torch, onnxruntime"  # imported before the environment counts as ready
ELSEWHERE = "what runs an artefact works here: pip install ./mobilebert_runtime"


class SetupError(Exception):
    """What is missing, in one line."""


def main(arguments: list[str]) -> int:
    """Set the environment up; 0, or 2 after one line that says why not."""
    target, locks = Path(arguments[0]), [ROOT / name for name in arguments[1:]]
    fault = missing(platform.system(), platform.machine(), sys.version_info[:2])
    if fault is None:
        sys.stdout.write(f"setting up {target} from {' and '.join(arguments[1:])}: some minutes\n")
        sys.stdout.flush()
        try:
            install(target, locks)
        except SetupError as error:
            fault = str(error)
    if fault is not None:
        sys.stderr.write(f"{fault}\n")
    return 0 if fault is None else 2


def missing(system: str, machine: str, python: tuple[int, ...]) -> str | None:
    """Why an export can't run on a machine; None where it can.

    Args:
        system: as `platform.system()` names it.
        machine: as `platform.machine()` names it.
        python: major and minor version.
    """
    if system == "Windows":
        return f"Windows: litert-converter has no build for it; use WSL with Ubuntu. {ELSEWHERE}[onnx]"
    if system == "Linux" and machine != "x86_64":
        return f"Linux on {machine}: litert-converter has no build for it; use x86-64. {ELSEWHERE}[tflite]"
    if system == "Darwin" and machine != "arm64":
        return f"macOS on {machine}: torch has no build for it; use Apple silicon. {ELSEWHERE}[onnx]"
    if not OLDEST <= python[:2] <= NEWEST:
        found, wanted = ".".join(map(str, python)), "3.11, 3.12 or 3.13"
        return (
            f"Python {found}: expected {wanted}; name one with PYTHON=, such as make export PYTHON=python3.13"
        )
    return None


def install(target: Path, locks: list[Path]) -> None:
    """Make or complete the environment.

    Args:
        target: its folder.
        locks: files of pinned and hashed packages.

    Raises:
        SetupError: naming the step that failed; pip has said why.
    """
    python = target / "bin" / "python"
    if not python.exists():
        try:
            venv.create(target, with_pip=True, symlinks=True)
        except subprocess.CalledProcessError:
            raise SetupError(
                f"{sys.executable} can't make a virtual environment; on Debian and Ubuntu: "
                "apt-get install python3-venv"
            ) from None
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    parts = Parts(target / "parts")
    wanted = [packages(lock.read_text()) for lock in locks]
    # setuptools builds the two packages of this tree, and every pip that starts loads its hook.
    first = {"pip": PIP, "setuptools": wanted[0].pop("setuptools")}
    torch = {"torch": wanted[0].pop("torch")}
    cuda = {name: wanted[0].pop(name) for name in list(wanted[0]) if CUDA.match(name)}
    rest = [dict(list(lock.items())[i::PARTS]) for lock in wanted for i in range(PARTS)]
    parts.forget_others([first, torch, cuda, *rest])
    parts.install(first, [*pip, "--quiet", *map(version, first.values())])
    install_torch(pip, torch, parts)
    hashed = [*pip, "--quiet", "--progress-bar", "off", "--no-deps", "--require-hashes", "--requirement"]
    parts.install_each([*rest, *([cuda] if wants_cuda(python) else [])], hashed)
    ours = [*pip, "--quiet", "--no-deps", "--no-build-isolation"]
    ours += ["--editable", str(ROOT / "mobilebert_runtime"), "--editable", str(ROOT)]
    done = subprocess.run(ours, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"pip could not install this project's own packages: {done.stderr.strip()[-400:]}")
    tried = subprocess.run(
        [str(python), "-c", f"import {TRIED}"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        last = tried.stderr.strip().splitlines()[-1]
        raise SetupError(f"{target} is complete, but import {TRIED} fails: {last}")


class Parts:
    """Parts of the locks: a file for each that was begun, and one for each that is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def file(self, part: dict[str, str]) -> Path:
        """The part's lines, in a file that is there from when its installation begins."""
        named = hashlib.sha256(json.dumps(sorted(part.items())).encode()).hexdigest()[:16]
        return self.folder / f"{named}.txt"

    def forget_others(self, wanted: list[dict[str, str]]) -> None:
        """Drop the notes of an earlier lock: what it named is about to be replaced."""
        kept = {self.file(part).stem for part in wanted}
        for file in self.folder.iterdir():
            if file.stem not in kept:
                file.unlink()

    def done(self, part: dict[str, str]) -> bool:
        """Whether a part's installation has ended well."""
        return self.file(part).with_suffix(".done").exists()

    def start(self, part: dict[str, str], command: list[str]) -> "subprocess.Popen[bytes]":
        """Install a part in a process of its own; `finish` notes it.

        A package whose installation was killed is half there: the part is then installed over it.
        """
        lines = self.file(part)
        again = ["--ignore-installed"] if lines.exists() else []
        lines.write_text("".join(part.values()))
        command = [*command, str(lines)] if command[-1] == "--requirement" else command
        at = command.index("install") + 1
        return subprocess.Popen([*command[:at], *again, *command[at:]])

    def finish(self, part: dict[str, str], process: "subprocess.Popen[bytes]") -> None:
        """Wait for a part and note it; `SetupError` where it failed."""
        if process.wait():
            some = ", ".join(list(part)[:3])
            raise SetupError(
                f"pip could not install {some} …; see its lines above, then give the command again"
            )
        self.file(part).with_suffix(".done").touch()

    def install(self, part: dict[str, str], command: list[str]) -> None:
        """Install a part that is not there yet."""
        if not self.done(part):
            self.finish(part, self.start(part, command))

    def install_each(self, parts: list[dict[str, str]], command: list[str]) -> None:
        """Install those that are not there yet, some at once."""
        waiting = [part for part in parts if part and not self.done(part)]
        running: list[tuple[dict[str, str], subprocess.Popen[bytes]]] = []
        try:
            while waiting or running:
                while waiting and len(running) < AT_ONCE:
                    running.append((waiting[0], self.start(waiting.pop(0), command)))
                for one in [one for one in running if one[1].poll() is not None]:
                    running.remove(one)
                    self.finish(*one)
                time.sleep(0.2)
        finally:
            for _, process in running:
                process.terminate()


def install_torch(pip: list[str], part: dict[str, str], parts: Parts) -> None:
    """The package torch alone: PyTorch's index for Linux where it answers, else the configured one."""
    if parts.done(part):
        return
    only = [*pip, "--no-deps", "--progress-bar", "off"]
    if platform.system() == "Linux":
        index = ["--index-url", CPU_INDEX]
        quick = [*pip[:3], "index", "versions", "torch", *index, "--timeout", str(TIMEOUT), "--retries", "0"]
        if not subprocess.run(quick, capture_output=True, check=False).returncode:
            parts.install(part, [*only, *index, "--timeout", "60", "--retries", "2", version(part["torch"])])
            return
        sys.stdout.write(f"{CPU_INDEX} does not answer: torch from the configured index, some GB with CUDA\n")
        sys.stdout.flush()
    parts.install(part, [*only, "--require-hashes", "--requirement"])


def wants_cuda(python: Path) -> bool:
    """Whether the torch that is installed asks for CUDA's libraries."""
    script = "import importlib.metadata as m; print(*m.requires('torch') or (), sep='\\n')"
    done = subprocess.run([str(python), "-c", script], capture_output=True, text=True, check=True)
    return any(CUDA.match(line) for line in done.stdout.splitlines())


def packages(text: str) -> dict[str, str]:
    """Name → its lines in a requirements file, hashes included."""
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return {re.split("[= ;]", part, maxsplit=1)[0]: part for part in parts if "==" in part}


def version(lines: str) -> str:
    """NAME==VERSION of a package's lines."""
    return lines.split(maxsplit=1)[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
