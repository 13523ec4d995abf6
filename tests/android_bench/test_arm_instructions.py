"""Promise of Arm instruction counts: exact, of the runtime alone, and the gate goes red when they grow."""

import ctypes
import json
import sys
from pathlib import Path

import pytest

from android_bench.emulation import arm_instructions, emulator
from android_bench.emulation.arm_instructions import Block
from android_bench.emulation.elf_symbols import Symbols
from android_bench.emulation.inferences import MARK
from android_bench.measuring.latency import BenchError
from android_bench.measuring.latency_record import check_architecture
from android_bench.toolchain import tools
from mobilebert_export.command_line.program import main
from mobilebert_runtime.errors import ToolError
from tests.helpers.small_matcher import artefact

TRACE = f"""\
9052 brk(NULL) = 0x0000000aaaae2000
----------------
IN:
0x55c24a80c:  d503201f  nop
0x55c24a810:  4e8e9ca3  sdot     v3.4s, v5.16b, v14.16b

Trace 0: 0x7fc39174ca40 [00001001/000000055c24a80c/00000001/00000200]
Trace 0: 0x7fc39174ca40 [00001001/000000055c24a80c/00000001/00000200]
9052 faccessat(AT_FDCWD,"{MARK}",F_OK,0) = -1 errno=2 (No such file or directory)
Trace 0: 0x7fc39174ca40 [00001001/000000055c24a80c/00000001/00000200]
IN:
0x55ba1d9b0:  d65f03c0  ret

Trace 1: 0x7fc39174cd40 [00001001/000000055ba1d9b0/00000001/00000200]
9052 faccessat(AT_FDCWD,"{MARK}",F_OK,0) = -1 errno=2 (No such file or directory)
Trace 0: 0x7fc39174ca40 [00001001/000000055c24a80c/00000001/00000200]
"""


def test_a_trace_is_read_block_by_block_up_to_each_mark():
    reader = arm_instructions._Reader(Path())
    reader.read(TRACE.encode().splitlines(keepends=True))
    assert reader.code == {
        0x55C24A80C: (bytes.fromhex("1f2003d5"), bytes.fromhex("a39c8e4e")),
        0x55BA1D9B0: (bytes.fromhex("c0035fd6"),),
    }
    assert [sum(mark.values()) for mark in reader.marks] == [2, 4]


def test_a_block_cut_at_a_page_is_joined_with_what_follows():
    """The second part is entered by itself twice more; a branch ends a block for good."""
    add, branch = bytes.fromhex("00040091"), bytes.fromhex("c0ffff54")
    parts = [
        Block(0xFFC, "f", (add,), 1, 10),
        Block(0x1000, "f", (add, branch), 1, 12),
        Block(0x1008, "g", (add,), 1, 2),
    ]
    assert arm_instructions.joined(parts) == [
        Block(0xFFC, "f", (add, add, branch), 1, 10),
        Block(0x1000, "f", (add, branch), 0, 2),
        Block(0x1008, "g", (add,), 1, 2),
    ]


@pytest.mark.parametrize(
    ("word", "leaves"),
    [
        *((word, True) for word in ("00000014", "c0ffff54", "400000b4", "40000036", "c0035fd6", "010000d4")),
        *((word, False) for word in ("1f2003d5", "a39c8e4e", "000440ad")),
    ],
)
def test_branches_are_known(word, leaves):
    assert arm_instructions.is_branch(bytes.fromhex(word)) is leaves


def test_a_library_s_functions_are_found_by_their_place_in_the_file():
    package = pytest.importorskip("ai_edge_litert")
    path = Path(package.__file__).parent / "libLiteRt.so"
    name = "LiteRtCreateEnvironment"
    address = ctypes.cast(ctypes.CDLL(str(path))[name], ctypes.c_void_p).value
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if path.name in line]
    spans = [([int(end, 16) for end in words[0].split("-")], int(words[2], 16)) for words in lines]
    (offset,) = (address - start + at for (start, end), at in spans if start <= address < end)
    assert Symbols.read(path).function_at(offset) == name
    with pytest.raises(ValueError, match="not a little-endian 64-bit ELF"):
        Symbols.read(Path(__file__))


def test_what_cannot_be_counted_is_refused_before_any_work(tmp_path, monkeypatch, capsys):
    with pytest.raises(BenchError, match="'mips' is none of here, arm64"):
        check_architecture("mips", [])
    for arguments in (["gate", "a", "b"], ["bench", "a"]):
        with pytest.raises(SystemExit) as caught:
            main([*arguments, "--arch", "arm64"])
        assert caught.value.code == 2
        assert "add --instructions" in capsys.readouterr().err
    monkeypatch.setenv("MOBILEBERT_ANDROID_TOOLS", str(tmp_path))
    with pytest.raises(ToolError, match="make android-tools"):
        emulator.python(emulator.processor("cortex-a55"), "tflite", ())


def test_an_installed_package_without_the_emulator_says_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "android_bench.emulation", None)  # as if it were not there
    with pytest.raises(ToolError, match=r"--arch arm64: the emulator is no part of the installed package"):
        check_architecture("arm64", [tmp_path])


@pytest.fixture
def arm():
    """The emulator and the Arm programs for .tflite files."""
    for needed in (tools.tools_folder() / "runner-tflite.tar", tools.tools_folder() / "qemu"):
        if not needed.exists():
            pytest.skip(f"not run: no {needed.name}; run `make android-tools`")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("cpu", "kernel"), [("cortex-a55", "neondot_cortex_a55"), ("i8mm", "neoni8mm")])
def test_the_kernels_of_a_processor_are_named_and_counted_alike_twice(arm, cpu, kernel):
    first, second = (
        arm_instructions.count_instructions(artefact("tflite", "int8"), emulator.processor(cpu))
        for _ in range(2)
    )
    assert first.inference == sum(first.kernels.values()) > 100_000
    assert abs(first.inference - second.inference) <= 0.001 * first.inference
    assert kernel in next(name for name in first.kernels if "qs8_qc8w_gemm" in name)
    assert first.load > first.inference, "weights are packed when a model is loaded"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_gate_is_red_where_arm_kernels_do_more(arm, tmp_path, capsys):
    """The float file does more than the int8 one on both cores, whatever this machine's clock says."""
    base, candidate = artefact("tflite", "int8"), artefact("tflite", "none")
    options = ["--sessions", 1, "--seconds", 0.01, "--retries", 0, "--out", tmp_path / "gate"]
    with pytest.raises(SystemExit) as caught:
        main(list(map(str, ["gate", base, candidate, "--instructions", "--arch", "arm64", *options])))
    assert caught.value.code == 1
    verdict = json.loads((tmp_path / "gate.json").read_text())["gate"]
    assert verdict["verdict"] == "regression"
    for core in ("Cortex-A55", "Cortex-A710"):
        assert any(f"instructions per inference on {core}" in reason for reason in verdict["reasons"])
