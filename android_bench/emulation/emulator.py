"""Processors that this machine is not, in qemu's user mode: they execute the runtimes' real kernels, slowly.

The Arm ones run the bundle that goes to a phone (android_bench/runner), the x86 one this very Python. The
runtimes choose their kernels by what qemu's model of a processor can do and by the name that it gives in
/proc/cpuinfo. Its answers are those of the processor, its times are not.
"""

import os
import shutil
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from android_bench.measuring.rounds import run_program
from android_bench.runner.bundle import OUR_FILES, ROOT, Bundle
from android_bench.toolchain import tools
from mobilebert_runtime.errors import OptionError, ToolError

LIMIT_S = 3600.0
# One thread everywhere and a fixed hash seed: the same instructions each time.
QUIET = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Processor:
    """An emulated processor.

    Attributes:
        name: for reports.
        program: of qemu, "qemu-aarch64" or "qemu-x86_64".
        model: what `-cpu` is given.
        kernels: what its instructions offer to int8 kernels.
    """

    name: str
    program: str
    model: str
    kernels: str

    @property
    def arm(self) -> bool:
        """Does it run the bundle of Arm programs?"""
        return self.program == "qemu-aarch64"


PROCESSORS = {
    "haswell": Processor("Haswell", "qemu-x86_64", "Haswell", "AVX2, no VNNI"),
    "cortex-a53": Processor("Cortex-A53", "qemu-aarch64", "cortex-a53", "NEON alone"),
    "cortex-a55": Processor("Cortex-A55", "qemu-aarch64", "cortex-a55", "dot product"),
    "cortex-a76": Processor("Cortex-A76", "qemu-aarch64", "cortex-a76", "dot product"),
    "cortex-a710": Processor("Cortex-A710", "qemu-aarch64", "cortex-a710", "int8 matrix product, SVE2"),
    # All that qemu knows but SVE and SME: int8 matrix products in a core of a name that no runtime knows.
    "i8mm": Processor("Armv8 with i8mm", "qemu-aarch64", "max,sve=off,sme=off", "int8 matrix product"),
    "max": Processor("qemu's max", "qemu-aarch64", "max", "int8 matrix product, SVE2, SME"),
}


def processor(name: str) -> Processor:
    """A row of `PROCESSORS`; an unknown name is an `OptionError`."""
    if name not in PROCESSORS:
        raise OptionError(f"processor {name!r} is none of {', '.join(PROCESSORS)}")
    return PROCESSORS[name]


def arm_programs(target: str) -> Path:
    """The folder of the unpacked bundle for "tflite" or "onnx", unpacked when first asked for.

    Raises:
        ToolError: `make android-tools` has not made the bundle, or made it from older files than these.
    """
    path = tools.tools_folder() / f"runner-{target}.tar"
    if not path.exists():
        raise ToolError(f"no {path}; run `make android-tools`")
    made = Bundle.read(path)
    folder = path.with_name(f"runner-{target}-{made.sha256[:12]}")
    with tarfile.open(path) as tar:
        held = set(tar.getnames())
        for name in OUR_FILES:
            found = tar.extractfile(f"site/{name}") if f"site/{name}" in held else None
            if found is None or found.read() != (ROOT / name).read_bytes():
                raise ToolError(f"{path.name} has an older {name}: run `make android-tools`")
        if not folder.is_dir():
            part = folder.with_name(f".{folder.name}.{os.getpid()}")
            tar.extractall(part, filter="data")
            try:
                part.rename(folder)
            except OSError:  # another process was faster
                shutil.rmtree(part)
                if not folder.is_dir():
                    raise
    return folder


def python(
    processor: Processor, target: str, arguments: Sequence[str | Path], options: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Command and environment that run Python with a runtime on an emulated processor.

    Args:
        processor: of `PROCESSORS`.
        target: "tflite" or "onnx"; the bundle of an Arm processor holds one of the two.
        arguments: of Python.
        options: of qemu.

    Raises:
        ToolError: qemu or the bundle is not there.
    """
    program = tools.find("qemu") / "usr/bin" / processor.program
    started = [program, "-cpu", processor.model, *options]
    if processor.arm:
        home = arm_programs(target)
        loader = home / "bin/ld-linux-aarch64.so.1", "--library-path", home / "lib"
        started += [*loader, home / "bin/python3.11"]
        place = {"PYTHONHOME": str(home), "PYTHONPATH": str(home / "site")}
    else:
        started += [sys.executable]
        place = {"PYTHONPATH": str(ROOT)}
    return [str(part) for part in (*started, *arguments)], os.environ | QUIET | place


def run(
    processor: Processor,
    target: str,
    arguments: Sequence[str | Path],
    options: Sequence[str] = (),
    limit_s: float = LIMIT_S,
) -> str:
    """Run Python on an emulated processor (see `python`) and return what it printed.

    Raises:
        ToolError: qemu or the bundle is not there.
        MeasurementError: the program failed or took longer than `limit_s`; the message has its last line.
    """
    command, environment = python(processor, target, arguments, options)
    return run_program(command, environment, f"{processor.name}, in emulation,", limit_s)
