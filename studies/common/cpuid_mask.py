"""Run Python as on a processor with AVX2 and no AVX-512: the runtimes' AVX2 kernels at this machine's speed.

    python -m studies.common.cpuid_mask -m studies.latency.peers --out results/bench/peers-tflite-avx2

With --amx-alone first, AMX is hidden and AVX-512 stays.
ai-edge-litert and ONNX Runtime choose their kernels by the CPUID instruction, which has no switch that a
program could set. So the run gets copies of both (runs/cpuid-mask) in which each CPUID traps, and a library
that answers the trap without the bits of AVX-512, AVX-VNNI, AVX10 and AMX (cpuid_mask.c). What they compute
is what they compute on a processor that has none; how fast, is this processor's: its clock, caches and memory
stay. glibc gets its own switch. Needs gcc and objdump (Debian: gcc, binutils) on x86-64.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from android_bench.measuring.machine import HIDDEN_FLAGS, read_flags
from mobilebert_runtime.errors import ToolError

FOLDER = Path(__file__).resolve().parents[2] / "runs" / "cpuid-mask"
SOURCE = Path(__file__).with_suffix(".c")
RUNTIMES = ("ai_edge_litert", "onnxruntime")
CPUID, TRAP = b"\x0f\xa2", b"\xcc\x90"  # INT3, NOP: as long as what they replace
_LISTED = re.compile(r"\s*([0-9a-f]+):\s+cpuid\b")
# Flags of /proc/cpuinfo that begin so are hidden.
HIDDEN = ("avx512", "avx_vnni", "avx10", "amx")
AMX, AMX_ALONE = "amx", "--amx-alone"


def environment(*, amx_alone: bool = False) -> dict[str, str]:
    """Variables for a process in which both runtimes see no more than AVX2; copies are made once a version.

    Args:
        amx_alone: AMX is hidden, AVX-512 and what else there is stays.

    Raises:
        ToolError: gcc or objdump is not there, or a runtime has no CPUID instruction where one was expected.
    """
    library = _compiled()
    folder = library.parent
    for name in RUNTIMES:
        copied(name, folder)
    hidden = AMX if amx_alone else HIDDEN
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "LD_PRELOAD": str(library),
        HIDDEN_FLAGS: " ".join(sorted(flag for flag in read_flags() if flag.startswith(hidden))),
    }
    if amx_alone:
        return variables | {"CPUID_MASK_AMX_ALONE": "1"}
    # glibc's own choice of memcpy and the like.
    return variables | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW"}


def copied(name: str, folder: Path) -> Path:
    """A runtime's package in `folder`, each CPUID of its libraries replaced; made once.

    Raises:
        ToolError: objdump is not there, or no library of the package asks CPUID.
    """
    copy = folder / name
    if copy.is_dir():
        return copy
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ToolError(f"{name} is not installed here")
    part = folder / f".{name}.{os.getpid()}"
    shutil.copytree(spec.submodule_search_locations[0], part)
    replaced = {
        path: patched
        for path in part.rglob("*.so*")
        if not path.is_symlink()
        and (patched := without_cpuid(content := path.read_bytes(), addresses(path))) != content
    }
    if not replaced:
        raise ToolError(f"no library of {name} asks CPUID: nothing to hide AVX-512 from")
    for path, content in replaced.items():
        path.write_bytes(content)
    part.rename(copy)
    return copy


def addresses(path: Path) -> list[int]:
    """Virtual addresses of a library's CPUID instructions, as objdump disassembles it."""
    listed = _run(["objdump", "--disassemble", "--no-show-raw-insn", str(path)])
    return [int(found[1], 16) for line in listed.splitlines() if (found := _LISTED.match(line))]


def without_cpuid(content: bytes, where: list[int]) -> bytes:
    """A 64-bit little-endian ELF file in which the CPUID at each of these virtual addresses is INT3, NOP.

    Raises:
        ToolError: no segment of the file holds an address, or there is no CPUID.
    """
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    segments = [struct.unpack_from("<IIQQQQ", content, table + size * row) for row in range(count)]
    patched = bytearray(content)
    for address in where:
        offset = next(
            (
                start + address - virtual
                for kind, _, start, virtual, _, length in segments
                if kind == 1 and virtual <= address < virtual + length  # PT_LOAD
            ),
            -1,
        )
        if offset < 0 or content[offset : offset + 2] != CPUID:
            raise ToolError(f"no CPUID at {address:#x}, where objdump listed one")
        patched[offset : offset + 2] = TRAP
    return bytes(patched)


def _compiled() -> Path:
    """cpuid_mask.c as a library, in a folder of this source and these versions of the runtimes."""
    from importlib.metadata import version

    made_of = SOURCE.read_bytes() + f"{version('ai-edge-litert')} {version('onnxruntime')}".encode()
    library = FOLDER / hashlib.sha256(made_of).hexdigest()[:12] / "cpuid_mask.so"
    if not library.is_file():
        library.parent.mkdir(parents=True, exist_ok=True)
        part = library.with_suffix(f".{os.getpid()}")
        _run(["gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(part), str(SOURCE)])
        part.rename(library)
    return library


def _run(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        raise ToolError(f"no {command[0]}: install gcc and binutils")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


if __name__ == "__main__":
    amx_alone = sys.argv[1:2] == [AMX_ALONE]
    arguments = sys.argv[1 + amx_alone :]
    if not arguments:
        sys.exit(__doc__)
    try:
        variables = environment(amx_alone=amx_alone)
    except ToolError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    os.execve(sys.executable, [sys.executable, *arguments], variables)  # noqa: S606 (nothing to escape)
