"""Promise of the CPUID mask: a runtime sees no AVX-512 and computes what an AVX2 processor computes."""

import json
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

from android_bench.emulation import emulator
from android_bench.measuring import machine
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import write_json
from studies.common import cpuid_mask
from tests.helpers.small_matcher import artefact

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("gcc") or not shutil.which("objdump"),
    reason="needs gcc and objdump on x86-64",
)
# Prints EAX, EBX, ECX, EDX of leaves 0, 1, 7 and of 7's subleaf 1.
ASKS = """
#include <cpuid.h>
#include <stdio.h>
int main(void) {
    unsigned a, b, c, d, leaves[4][2] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}};
    for (int i = 0; i < 4; i++) {
        __cpuid_count(leaves[i][0], leaves[i][1], a, b, c, d);
        /* EBX of leaf 1 holds the number of the core that answers. */
        printf("%u %u %u %u\\n", a, i == 1 ? 0 : b, c, d);
    }
}
"""
# Of leaf 7 in Linux's names (arch/x86/include/asm/cpufeatures.h): register, bit.
KEPT = {"avx2": (1, 5), "bmi2": (1, 8), "erms": (1, 9), "gfni": (2, 8), "vaes": (2, 9)}
HIDDEN = {"avx512f": (1, 16), "avx512bw": (1, 30), "avx512vl": (1, 31), "avx512_vnni": (2, 11)}
AMX = {"amx_bf16": 22, "amx_tile": 24, "amx_int8": 25}  # of EDX
pairs = [
    ("How do I learn to cook?", "What is a way to learn cooking?"),
    ("Is tea good?", "Who invented tea?"),
]


def answered(program, environment=None):
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    return [[int(value) for value in line.split()] for line in done.stdout.splitlines()]


@pytest.fixture
def asking(tmp_path):
    source, program = tmp_path / "asks.c", tmp_path / "asks"
    source.write_text(ASKS)
    subprocess.run(["gcc", "-o", program, source], check=True)
    return program


@pytest.mark.slow
def test_a_patched_program_gets_every_bit_but_those_that_are_hidden(asking):
    before = answered(asking)
    patched = asking.with_name("patched")
    content = asking.read_bytes()
    where = cpuid_mask.addresses(asking)
    patched.write_bytes(cpuid_mask.without_cpuid(content, where))
    patched.chmod(0o755)
    after = answered(patched, cpuid_mask.environment())
    flags = machine.read_flags()
    for name, (register, bit) in {**KEPT, **HIDDEN}.items():
        assert bool(before[2][register] >> bit & 1) is (name in flags), name
    for name, (register, bit) in HIDDEN.items():
        assert not after[2][register] >> bit & 1, name
    for name, (register, bit) in KEPT.items():
        assert bool(after[2][register] >> bit & 1) is (name in flags), name
    assert before[:2] == after[:2], "other leaves are the processor's"
    if not any(flag.startswith(cpuid_mask.HIDDEN) for flag in flags):
        assert before == after
    without_amx = answered(patched, cpuid_mask.environment(amx_alone=True))
    amx = sum(1 << bit for bit in AMX.values())
    assert not without_amx[2][3] & amx
    assert [row[:3] for row in without_amx[:3]] == [row[:3] for row in before[:3]]
    assert without_amx[2][3] == before[2][3] & ~amx
    for name, bit in AMX.items():
        assert bool(before[2][3] >> bit & 1) is (name in flags), name


def test_what_is_no_cpuid_is_not_replaced(asking):
    content, (where, *_) = asking.read_bytes(), cpuid_mask.addresses(asking)
    for wrong in (where + 1, 1 << 40):
        with pytest.raises(ToolError, match=f"{wrong:#x}"):
            cpuid_mask.without_cpuid(content, [wrong])


def test_a_missing_tool_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="objdump"):
        cpuid_mask.addresses(tmp_path)


def test_hidden_flags_are_in_the_machine_s_description_and_change_its_id(monkeypatch):
    plain = machine.describe()
    monkeypatch.setenv(machine.HIDDEN_FLAGS, "avx2 fma")
    described = machine.describe()
    assert {"avx2", "fma"}.isdisjoint(described["flags"])
    assert set(described["hidden_flags"]) == {"avx2", "fma"}
    assert (described["id"] == plain["id"]) is {"avx2", "fma"}.isdisjoint(plain["flags"])
    assert plain["hidden_flags"] == []


def test_an_unknown_runtime_is_named(tmp_path):
    with pytest.raises(ToolError, match="no_such_runtime"):
        cpuid_mask.copied("no_such_runtime", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_a_runtime_answers_as_on_an_emulated_haswell(target, tmp_path):
    """qemu's Haswell has no AVX-512 at all: to the last bit what the mask makes of this processor."""
    try:
        tools.find("qemu")
    except ToolError as error:
        pytest.skip(str(error))
    folder = artefact(target, "int8").resolve()

    def logits(name, run):
        result = tmp_path / f"{name}.json"
        task = {"action": "match", "folder": str(folder), "pairs": pairs, "threads": 1, "cores": "all"}
        write_json(tmp_path / f"{name}.task", task | {"nonce": name, "out": str(result)})
        run(["-m", "android_bench.runner.device", str(tmp_path / f"{name}.task")])
        return np.array(json.loads(result.read_text())["logits"])

    def masked(arguments):
        subprocess.run([sys.executable, *arguments], env=cpuid_mask.environment(), check=True)

    def emulated(arguments):
        emulator.run(emulator.PROCESSORS["haswell"], target, arguments)

    np.testing.assert_array_equal(logits("masked", masked), logits("emulated", emulated))


@pytest.mark.slow
def test_the_command_runs_python_on_the_copies_and_passes_its_exit_code():
    asked = "import ai_edge_litert as t, onnxruntime as o; print(t.__file__, o.__file__); raise SystemExit(3)"
    command = [sys.executable, "-m", "studies.common.cpuid_mask", "-c", asked]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 3, done.stderr
    assert all("cpuid-mask" in path for path in done.stdout.split())
