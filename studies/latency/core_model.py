"""Cycles that blocks of Arm code take on a core, by llvm-mca's models of cores.

A block is taken for the body of a loop: its instructions repeated, every load answered by the first cache,
every branch predicted. What a slow memory or a mispredicted branch adds is not in it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from android_bench.measuring.rounds import MeasurementError
from android_bench.toolchain import tools

ITERATIONS = 100
# Regions in one call of llvm-mca.
_AT_ONCE = 500


def cycles(blocks: Sequence[tuple[bytes, ...]], core: str) -> list[float]:
    """Cycles of one execution of each block among many.

    Args:
        blocks: each some instructions of four bytes.
        core: llvm's name of it, such as "cortex-a55".

    Raises:
        ToolError: `make android-tools` has not fetched llvm.
        MeasurementError: llvm does not know an instruction or the core.
    """
    text = disassemble({word for block in blocks for word in block})
    found: list[float] = []
    for start in range(0, len(blocks), _AT_ONCE):
        lines = []
        for number, block in enumerate(blocks[start : start + _AT_ONCE]):
            lines += [f"# LLVM-MCA-BEGIN {number}", *(text[word] for word in block), "# LLVM-MCA-END"]
        given = ("-mtriple=aarch64", f"-mcpu={core}", "-mattr=+all", f"-iterations={ITERATIONS}", "-json")
        answer = json.loads(_llvm("llvm-mca", given, lines))
        regions = answer["CodeRegions"]
        if len(regions) != min(_AT_ONCE, len(blocks) - start):
            raise MeasurementError(f"llvm-mca answered for {len(regions)} blocks of {len(blocks) - start}")
        found += [one["SummaryView"]["TotalCycles"] / ITERATIONS for one in regions]
    return found


def a55_limits(blocks: Sequence[tuple[bytes, ...]]) -> list[float]:
    """Cycles that a block takes on a Cortex-A55 at least, if nothing waits for a result.

    It issues two instructions a cycle. A multiply–accumulate of 128 bits takes both vector units (Arm,
    Cortex-A55 Software Optimization Guide 3.0: throughput 1), and a load of 128 bits two cycles in which
    nothing else is issued (microsoft/onnxruntime#10754). llvm's model knows neither for `fmla` and `ldr`.
    """
    text = disassemble({word for block in blocks for word in block})
    taken = {word: _a55_cycles(line) for word, line in text.items()}
    return [max(len(block) / 2, sum(taken[word] for word in block)) for block in blocks]


def _a55_cycles(line: str) -> float:
    mnemonic, kind = operation(line)
    if mnemonic in ("fmla", "fmls", "sdot", "udot", "smlal", "smlal2"):
        return float(kind in ("4s", "8h"))
    registers = line.partition("\t")[2].partition("[")[0].replace(",", " ").split()
    return 2.0 * sum(one[:1] == "q" for one in registers) if mnemonic in ("ldr", "ldp", "ldur") else 0.0


def operation(line: str) -> tuple[str, str]:
    """Mnemonic and type of the first operand of a disassembled vector instruction: ("fmla", "4s")."""
    mnemonic, _, operands = line.partition("\t")
    return mnemonic, operands.partition(",")[0].partition(".")[2]


def disassemble(words: Iterable[bytes]) -> dict[bytes, str]:
    """Instructions as the assembler reads them, by their four bytes."""
    ordered = sorted(words)
    lines = [" ".join(f"0x{byte:02x}" for byte in word) for word in ordered]
    printed = _llvm("llvm-mc", ("--triple=aarch64", "-mattr=+all", "--disassemble"), lines).splitlines()
    found = [line.strip() for line in printed if line.startswith("\t") and not line.startswith("\t.")]
    if len(found) != len(ordered):
        raise MeasurementError(f"llvm-mc knows {len(found)} of {len(ordered)} instructions")
    return dict(zip(ordered, found, strict=True))


def _llvm(program: str, options: Sequence[str], lines: Sequence[str]) -> str:
    """Run a program of the fetched llvm, with the libraries that came with it."""
    folder = tools.find("llvm")
    libraries = ":".join(
        str(folder / place) for place in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
    )
    loader: list[str | Path] = [folder / "lib64/ld-linux-x86-64.so.2", "--library-path", libraries]
    command = [*loader, folder / "usr/lib/llvm-19/bin" / program, *options]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing on standard error"]
        raise MeasurementError(f"{program} stopped with {done.returncode}: {said[-1]}")
    return done.stdout
