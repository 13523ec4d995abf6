"""What int8 gains on Arm cores, estimated without one: kernels, instructions, cycles; one table.

    python -m studies.latency.arm_kernels artefacts/FLOAT artefacts/INT8 --out results/bench/arm-kernels

The runtime's real kernels run one input in qemu, which writes down every basic block (measured in emulation:
which kernels are chosen, how many instructions they execute). llvm-mca's model of a core says how many cycles
each block takes (modelled). Their sums' ratios are the estimate. Traces are kept under runs/arm-kernels.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from android_bench.emulation import emulator
from android_bench.emulation.arm_instructions import Block, trace
from mobilebert_runtime.card import read_card
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import file_sha256, write_json
from studies.common.markdown import table
from studies.common.records import Json, check_outputs, recorded, write_text
from studies.common.script import Force, command_line, console, run
from studies.latency.core_model import a55_limits, cycles, disassemble, operation

FOLDER = Path(__file__).resolve().parents[2] / "runs" / "arm-kernels"


@dataclass(frozen=True)
class Core:
    """A core whose cycles are modelled.

    Attributes:
        name: for the page.
        processor: of `emulator.PROCESSORS`, on which the blocks were executed.
        model: llvm's name of the model.
        note: why that processor and that model stand for it.
        ideal: take `core_model.a55_limits` instead of the model's cycles.
    """

    name: str
    processor: str
    model: str
    note: str
    ideal: bool = False


CORES = (
    Core(
        "Cortex-A55, llvm's model",
        "cortex-a55",
        "cortex-a55",
        "its own model, in order: each instruction waits for what it reads",
    ),
    Core(
        "Cortex-A55, limits of issue",
        "cortex-a55",
        "cortex-a55",
        "no model: two instructions a cycle, one 128-bit product, two cycles for a 128-bit load",
        ideal=True,
    ),
    Core("Cortex-A76", "cortex-a76", "neoverse-n1", "the model of Neoverse N1, the same design"),
    Core("Cortex-A710", "cortex-a710", "neoverse-n2", "the model of Neoverse N2, the same design"),
    Core(
        "Cortex-X3",
        "cortex-a710",
        "neoverse-v2",
        "the model of Neoverse V2, the same design; the blocks that a Cortex-A710 executes",
    ),
)
PROCESSORS = ("cortex-a55", "cortex-a76", "cortex-a710", "i8mm")
# What a kernel works for, by its name; the first that fits.
OPERATORS = (
    ("int8 ↔ float", r"vcvt|quant_pack|rminmax"),
    ("packing", r"pack"),
    ("int8 products", r"_(qs8|qd8|qp8)_.*gemm|kai_(run|kernel)_matmul_clamp_f32_qai8dxp"),
    ("float products", r"_f32_(qc8w_)?gemm|kai_run_matmul"),
    ("softmax", r"raddstoreexpminusmax|_rmax_|softmax"),
    ("additions and scales", r"_v(add|mul|max|min|clamp|addc|mulc|subc|rsubc|tanh|sub)_|_vaddc|_vmulc"),
    ("copies", r"transpos|copy|memcpy|memset|_pad_"),
)
OTHER = "else"
# Multiply–accumulates of one instruction, by its mnemonic and the type of its result.
PRODUCTS = {
    ("fmla", "4s"): 4,
    ("fmla", "8h"): 8,
    ("sdot", "4s"): 16,
    ("smmla", "4s"): 32,
    ("smlal", "8h"): 8,
    ("smlal2", "8h"): 8,
    ("smlal", "4s"): 4,
    ("smlal2", "4s"): 4,
}


def main(
    artefacts: Annotated[list[Path], Argument(help="Artefacts of one network: float first, then int8.")],
    out: Annotated[Path, Option(help="Writes OUT.json and OUT.md.")],
    force: Force = False,
) -> None:
    """Count and model an inference of each artefact on each core."""
    check_outputs(out.with_suffix(".json"), out.with_suffix(".md"), force=force)
    cards = [read_card(folder) for folder in artefacts]
    if len(artefacts) < 2 or cards[0].quant != "none" or len({card.seq_len for card in cards}) > 1:
        raise OptionError("give a float artefact and integer ones of the same length after it")
    counted: dict[str, Json] = {}
    modelled: dict[str, Json] = {}
    for folder in artefacts:
        for name in PROCESSORS:
            console().print(f"{folder.name} on {name}")
            blocks = traced(folder, name)
            counted.setdefault(name, {})[folder.name] = count(blocks)
            for core in (one for one in CORES if one.processor == name):
                modelled.setdefault(core.name, {})[folder.name] = model(blocks, core)
    about = {
        "command": command_line(),
        "tokens": cards[0].seq_len,
        "runtime": f"ai-edge-litert {importlib.metadata.version('ai-edge-litert')}",
        "artefacts": {
            folder.name: {"quant": card.quant, "sha256": file_sha256(folder / card.model_file)}
            for folder, card in zip(artefacts, cards, strict=True)
        },
    }
    record = about | {"measured_in_emulation": counted, "modelled": modelled}
    write_json(out.with_suffix(".json"), record)
    write_text(out.with_suffix(".md"), page(record))


def traced(folder: Path, name: str) -> list[Block]:
    """The blocks of one inference on an emulated processor, traced once for a model file."""
    digest = file_sha256(folder / read_card(folder).model_file)[:12]

    def make() -> Json:
        blocks = trace(folder, emulator.processor(name))
        rows = [
            [block.address, block.function, b"".join(block.code).hex(), block.load, block.inference]
            for block in blocks
            if block.inference > 0
        ]
        return {"blocks": rows}

    kept = recorded(FOLDER / digest / f"{name}.json", make)["blocks"]
    return [
        Block(address, function, _words(bytes.fromhex(code)), load, inference)
        for address, function, code, load, inference in kept
    ]


def _words(code: bytes) -> tuple[bytes, ...]:
    return tuple(code[at : at + 4] for at in range(0, len(code), 4))


def operator_of(function: str) -> str:
    """What a kernel works for: a row of `OPERATORS`, or `OTHER`."""
    return next((kind for kind, pattern in OPERATORS if re.search(pattern, function)), OTHER)


def count(blocks: Sequence[Block]) -> Json:
    """Instructions of an inference: all, by operator, and of the twelve largest kernels."""
    kernels: Counter[str] = Counter()
    for block in blocks:
        kernels[block.function] += block.inference * len(block.code)
    operators: Counter[str] = Counter()
    for function, instructions in kernels.items():
        operators[operator_of(function)] += instructions
    return {
        "instructions": kernels.total(),
        "operators": dict(operators.most_common()),
        "kernels": dict(kernels.most_common(12)),
    }


def model(blocks: Sequence[Block], core: Core) -> Json:
    """Cycles of an inference: all, by operator, and the inner loops of the three largest kernels."""
    codes = [block.code for block in blocks]
    each = a55_limits(codes) if core.ideal else cycles(codes, core.model)
    operators: Counter[str] = Counter()
    kernels: Counter[str] = Counter()
    for block, taken in zip(blocks, each, strict=True):
        operators[operator_of(block.function)] += round(block.inference * taken)
        kernels[block.function] += round(block.inference * taken)
    loops = []
    for function, total in kernels.most_common(3):
        share, number = max(
            (block.inference * each[number], number)
            for number, block in enumerate(blocks)
            if block.function == function
        )
        code = blocks[number].code
        loops.append(
            {
                "kernel": function,
                "instructions": len(code),
                "cycles": each[number],
                "products": products(code),
                "share_of_kernel": round(share / total, 4),
            }
        )
    return {"cycles": kernels.total(), "operators": dict(operators.most_common()), "inner_loops": loops}


def products(code: Sequence[bytes]) -> int:
    """Multiply–accumulates of a block."""
    text = disassemble(set(code))
    return sum(PRODUCTS.get(operation(text[word]), 0) for word in code)


def page(record: Json) -> str:
    """The tables of a record: the estimate first."""
    names = list(record["artefacts"])
    base, *others = names
    counted: Mapping[str, Json] = record["measured_in_emulation"]
    modelled: Mapping[str, Json] = record["modelled"]
    estimates = []
    for core in CORES:
        cycles_of, instructions_of = modelled[core.name], counted[core.processor]
        ratios = [cycles_of[other]["cycles"] / cycles_of[base]["cycles"] for other in others]
        executed = instructions_of[base]["instructions"]
        ratios += [instructions_of[other]["instructions"] / executed for other in others]
        estimates.append([core.name, *(f"{ratio:.2f}" for ratio in ratios), core.note])
    head = ["core", *(f"{name}, cycles (modelled)" for name in others)]
    head += [*(f"{name}, instructions (measured in emulation)" for name in others), "model of the core"]
    return f"""# int8 on Arm, an estimate

`{base}` and integer files of the same network, one input of {record["tokens"]} tokens, one thread,
{record["runtime"]}. No Arm core was timed. Remade, after `make android-tools`, by
`{record["command"]}`.

## Expected int8/float ratio

{table(head, estimates)}

It is wrong where `mobilebert phone bench` with these files and `--threads 1`, on one such core, finds a ratio
more than a quarter away (on a Cortex-A55: outside what its two rows span). What could make it so: weights or
activations that come from a slow memory (the float file moves four times the bytes, so int8 would gain more),
a clock that falls under load, another version of XNNPACK.

## Kernels (measured in emulation)

{table(["processor", "file", "largest kernels, share of instructions"], _kernel_rows(counted))}

## Instructions of an inference by operator, in millions (measured in emulation)

{_operators_table(counted, "instructions", lambda name: emulator.PROCESSORS[name].name)}

## Cycles of an inference by operator, in millions (modelled)

{_operators_table(modelled, "cycles", str)}

## Inner loops (modelled; products counted in the code)

{table(["core", "file", "kernel", "instructions", "cycles", "products a cycle"], _loop_rows(modelled))}
"""


def _kernel_rows(counted: Mapping[str, Json]) -> list[list[str]]:
    return [
        [
            emulator.PROCESSORS[name].name,
            artefact,
            "; ".join(
                f"`{kernel}` {number / found['instructions']:.0%}"
                for kernel, number in list(found["kernels"].items())[:4]
            ),
        ]
        for name, files in counted.items()
        for artefact, found in files.items()
    ]


def _loop_rows(modelled: Mapping[str, Json]) -> list[list[str]]:
    return [
        [
            name,
            artefact,
            f"`{loop['kernel']}`",
            str(loop["instructions"]),
            f"{loop['cycles']:.1f}",
            f"{loop['products'] / loop['cycles']:.1f}",
        ]
        for name, files in modelled.items()
        for artefact, found in files.items()
        for loop in found["inner_loops"]
        if loop["products"]
    ]


def _operators_table(found: Mapping[str, Json], total: str, shown: Callable[[str], str]) -> str:
    kinds = [*(kind for kind, _ in OPERATORS), OTHER]
    rows = [
        [
            shown(name),
            artefact,
            *(f"{one['operators'].get(kind, 0) / 1e6:.1f}" for kind in kinds),
            f"{one[total] / 1e6:.1f}",
        ]
        for name, files in found.items()
        for artefact, one in files.items()
    ]
    return table(["", "file", *kinds, "all"], rows)


if __name__ == "__main__":
    run(main)
