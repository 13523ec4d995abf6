"""Which instructions the runtime executes for one inference on an emulated Arm processor, block by block.

qemu writes a line for each basic block that it runs and disassembles each once; the blocks between two marks
(emulation/inferences.py) are one inference. Counts are exact, and the same each time: they say which kernels
a runtime chooses on a processor and how much these do, never how long it takes.
"""

import os
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from android_bench.emulation import emulator, inferences
from android_bench.emulation.elf_symbols import Symbols
from android_bench.measuring.external_model import describe
from android_bench.measuring.latency import Pairs, encode
from android_bench.measuring.rounds import MeasurementError
from android_bench.measuring.sample_pairs import PAIRS
from android_bench.profiling.instructions import InstructionCount

# Size of the guest's address space: with one of its own, libraries lie at the same addresses each time.
_SPACE = "0x1000000000"
# Mask and value of A64's B and BL; CBZ to TBNZ; B.cond; exceptions; BR, BLR and RET.
_BRANCHES = (
    (0x7C000000, 0x14000000),
    (0x7C000000, 0x34000000),
    (0xFF000000, 0x54000000),
    (0xFF000000, 0xD4000000),
    (0xFE000000, 0xD6000000),
)


@dataclass(frozen=True)
class Block:
    """A basic block of the runtime's code.

    Attributes:
        address: where it begins in the library's file.
        function: that holds it.
        code: its instructions, four bytes each, as the processor reads them.
        load: executions until the first inference ends, less those of `inference`.
        inference: executions in the second inference.
    """

    address: int
    function: str
    code: tuple[bytes, ...]
    load: int
    inference: int


def trace(folder: Path, processor: emulator.Processor, pairs: Pairs = PAIRS[:1]) -> list[Block]:
    """The blocks that an artefact's runtime runs for one input on an Arm processor (a minute).

    Raises:
        ToolError: the emulator or the Arm programs are not there.
        MeasurementError: the program failed in emulation.
    """
    target = describe(folder).target
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs.npz"
        np.savez(inputs, **encode(folder, pairs))  # type: ignore[arg-type]
        program = (inferences.__file__, folder.resolve(), inputs)
        log = Path(scratch) / "trace"
        os.mkfifo(log)
        space = ("-R", _SPACE)
        # Where the code lies is found by a run without a trace: all of Python's blocks would be too many.
        maps = emulator.run(processor, target, program, space).splitlines()
        ranges = ",".join(f"0x{start}+0x{size:x}" for start, size in map(_range, maps))
        options = (*space, "-d", "in_asm,exec,nochain,strace", "-dfilter", ranges, "-D", str(log))
        reader = _Reader(log)
        reader.start()
        traced = emulator.run(processor, target, program, options).splitlines()
        reader.join()
        if traced != maps:
            raise MeasurementError(f"{processor.name}: the runtime's code lay elsewhere in the second run")
    if len(reader.marks) != 2:
        raise MeasurementError(
            f"{processor.name}: {len(reader.marks)} ends of inferences in the trace, not 2"
        )
    return _blocks(reader, maps)


def count_instructions(
    folder: Path, processor: emulator.Processor, pairs: Pairs = PAIRS[:1]
) -> InstructionCount:
    """Instructions of the runtime for one input by function, as `instructions.count_instructions` here."""
    kernels: Counter[str] = Counter()
    load = 0
    for block in trace(folder, processor, pairs):
        kernels[block.function] += block.inference * len(block.code)
        load += block.load * len(block.code)
    found = {function: count for function, count in kernels.most_common() if count > 0}
    return InstructionCount(sum(found.values()), load, found)


class _Reader(threading.Thread):
    """Reads the emulator's trace while it is written.

    Attributes:
        code: address of a block → its instructions.
        marks: at the end of each inference, executions of each line of the trace until then.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.code: dict[int, tuple[bytes, ...]] = {}
        self.marks: list[Counter[bytes]] = []

    def run(self) -> None:
        with self.path.open("rb", buffering=1 << 20) as lines:
            self.read(lines)

    def read(self, lines: Iterable[bytes]) -> None:
        """Count a trace's lines.

        A block runs: "Trace 0: 0x7fc3 [00001001/000000055c24a80c/00000001/00000200]". It is translated:
        "IN:", a line "0x55c24a80c:  d503201f  nop" for each instruction, an empty line.
        """
        runs: Counter[bytes] = Counter()
        mark = inferences.MARK.encode()
        block: list[bytes] = []
        address = None
        for line in lines:
            if line.startswith(b"Trace "):
                runs[line] += 1
            elif line.startswith(b"0x"):
                place, _, text = line.partition(b":")
                address = int(place, 16) if address is None else address
                block.append(bytes.fromhex(text.split()[0].decode())[::-1])
            elif mark in line:
                self.marks.append(runs.copy())
            elif block and not line.strip():
                self.code[address or 0] = tuple(block)
                block, address = [], None


def _blocks(reader: _Reader, maps: Iterable[str]) -> list[Block]:
    """The trace's lines as blocks with the functions that hold them."""
    regions = []
    for line in maps:
        start, size = _range(line)
        path = Path(line.split(maxsplit=5)[5])
        regions.append((int(start, 16), size, int(line.split()[2], 16), Symbols.read(path)))
    first, second = (_by_address(mark) for mark in reader.marks)
    found = []
    for address, code in reader.code.items():
        inference = second[address] - first[address]
        load = first[address] - inference
        begin, _, offset, symbols = next(one for one in regions if one[0] <= address < one[0] + one[1])
        place = address - begin + offset
        found.append(Block(place, symbols.function_at(place), code, load, inference))
    return joined(found)


def joined(blocks: Iterable[Block]) -> list[Block]:
    """Blocks that the emulator cut, though no branch ends them (at a page's end), with what follows.

    The second part may be entered by itself too; what is left of its executions stays a block.
    """
    by_address = {block.address: block for block in blocks}
    for first in sorted(by_address.values(), key=lambda block: -block.address):
        second = by_address.get(first.address + 4 * len(first.code))
        if second is None or is_branch(first.code[-1]) or second.inference < first.inference:
            continue
        by_address[first.address] = replace(first, code=first.code + second.code)
        rest = replace(second, load=second.load - first.load, inference=second.inference - first.inference)
        by_address[second.address] = rest
    return [block for block in by_address.values() if block.load or block.inference]


def is_branch(word: bytes) -> bool:
    """Does an A64 instruction leave the sequence: a branch, call, return or exception?"""
    code = int.from_bytes(word, "little")
    return any(code & mask == value for mask, value in _BRANCHES)


def _by_address(runs: Mapping[bytes, int]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for line, count in runs.items():
        counts[int(line.split(b"/")[1], 16)] += count
    return counts


def _range(line: str) -> tuple[str, int]:
    """Start, in hexadecimal, and size of a line of /proc/PID/maps."""
    start, end = line.split(maxsplit=1)[0].split("-")
    return start, int(end, 16) - int(start, 16)
