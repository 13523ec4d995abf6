"""Put the bundle together: Debian's arm64 Python, manylinux wheels, this package's few torch-free files.

Everything comes from package registries at build time; nothing of it is kept in the project.
"""

import compileall
import importlib.metadata
import json
import py_compile
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import file_sha256

ROOT = Path(__file__).resolve().parents[2]
MACHINE, ABI = "aarch64", "arm64-v8a"
LOADER = "ld-linux-aarch64.so.1"
# Wheels of the versions on this machine; of a runtime's requirements only what running a model imports.
WHEELS = {
    "tflite": ("numpy", "tokenizers", "ai-edge-litert", "ml_dtypes"),
    "onnx": ("numpy", "tokenizers", "onnxruntime", "flatbuffers", "packaging", "protobuf"),
}
PLATFORMS = tuple(f"manylinux{tag}_aarch64" for tag in ("_2_28", "_2_27", "_2_17", "2014"))
OUR_FILES = (
    "android_bench/__init__.py",
    "android_bench/measuring/__init__.py",
    "android_bench/measuring/worker.py",
    "android_bench/measuring/external_model.py",
    "android_bench/measuring/machine.py",
    "android_bench/runner/__init__.py",
    "android_bench/runner/device.py",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "mobilebert_runtime").glob("*.py"))),
)
# The C and C++ libraries the interpreter, its modules and the wheels are linked with.
LIBRARIES = (
    *("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", LOADER),
    *("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libz.so.1", "libexpat.so.1", "libffi.so.8"),
    *("libbz2.so.1.0", "liblzma.so.5", "libuuid.so.1"),
)
# Never imported by a session, tens of megabytes in all.
LEFT_OUT = (
    *("lib/python3.11/test", "lib/python3.11/idlelib", "lib/python3.11/lib2to3", "lib/python3.11/ensurepip"),
    *("lib/python3.11/pydoc_data", "lib/python3.11/tkinter", "lib/python3.11/turtledemo"),
    *("site/ai_edge_litert/tools", "site/ai_edge_litert/vendors", "site/ai_edge_litert/aot"),
    *("site/ai_edge_litert/libLiteRtWebGpuAccelerator.so", "site/numpy/_core/tests", "site/numpy/f2py"),
    *("site/numpy/random/tests", "site/numpy/lib/tests", "site/onnxruntime/transformers", "site/bin"),
)


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk: a tar file, what is in it, and the hash that names it on the device."""

    path: Path
    target: str
    machine: str
    abi: str
    versions: dict[str, str]
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "Bundle":
        """The bundle of a .tar and its .json beside it; one that is missing or changed is a `ToolError`."""
        note = path.with_suffix(".json")
        if not (path.is_file() and note.is_file()):
            raise ToolError(f"{path}: no such bundle; make it with `mobilebert phone bundle`")
        try:
            facts = json.loads(note.read_text(encoding="utf-8"))
            bundle = cls(path=path, **facts)
        except (TypeError, ValueError) as error:
            raise ToolError(f"{note}: damaged ({error}); make the bundle again") from None
        if file_sha256(path) != bundle.sha256:
            raise ToolError(f"{path}: changed since it was made; make it again")
        return bundle


def make(target: str, out: Path) -> Bundle:
    """Write OUT (a .tar) and OUT's .json for one kind of artefact, "tflite" or "onnx".

    Raises:
        ToolError: an unknown target; or a registry did not give what the bundle needs.
    """
    if target not in WHEELS:
        raise ToolError(f"target {target!r} is none of {', '.join(WHEELS)}")
    folder = out.with_suffix(".building")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        _python(tools.fetch("arm64-python"), folder)
        versions = _wheels(target, folder / "site")
        for name in OUR_FILES:
            (folder / "site" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "site" / name)
        shutil.copy(Path(__file__).with_name("run.sh"), folder)
        for name in LEFT_OUT:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for tests in sorted((folder / "site").rglob("tests")):
            shutil.rmtree(tests, ignore_errors=True)
        _compile(folder)
        return _pack(folder, out, target, versions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _python(debian: Path, folder: Path) -> None:
    """Interpreter, C library and standard library in one flat place, without links."""
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    shutil.copy(debian / "usr/bin/python3.11", folder / "bin")
    shutil.copytree(debian / "usr/lib/python3.11", folder / "lib/python3.11", ignore_dangling_symlinks=True)
    for name in LIBRARIES:
        places = (debian / place / name for place in ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"))
        shutil.copy(next(path for path in places if path.exists()), folder / "lib")
    (folder / "lib" / LOADER).rename(folder / "bin" / LOADER)
    (folder / "bin" / LOADER).chmod(0o755)


def _wheels(target: str, site: Path) -> dict[str, str]:
    """Install arm64 wheels of the versions on this machine; their names and versions."""
    versions = {name: importlib.metadata.version(name) for name in WHEELS[target]}
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += platforms
    command += ["--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"]
    command += ["--no-compile", "--disable-pip-version-check", f"--target={site}"]
    wanted = [f"{name}=={version}" for name, version in versions.items()]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or "nothing said").splitlines()[-1]
        raise ToolError(f"arm64 wheels ({', '.join(wanted)}): {said}")
    return versions


def _compile(folder: Path) -> None:
    """Compile ahead: the first session must not pay for it. Hash-based, as a copy changes the times."""
    for place in ("lib/python3.11", "site"):
        compileall.compile_dir(
            folder / place, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )


def _pack(folder: Path, out: Path, target: str, versions: dict[str, str]) -> Bundle:
    """A tar whose bytes depend on the content only, so that a device that has it need not get it again."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        entry.mode = 0o755
        return entry

    part = out.with_suffix(".part")
    with tarfile.open(part, "w", format=tarfile.USTAR_FORMAT, dereference=True) as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                tar.add(path, str(path.relative_to(folder)), filter=plain)
    facts: dict[str, Any] = {
        "target": target,
        "machine": MACHINE,
        "abi": ABI,
        "versions": versions,
        "sha256": file_sha256(part),
    }
    part.rename(out)
    out.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return Bundle(path=out, **facts)
