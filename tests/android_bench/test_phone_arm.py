"""Promise: an artefact's answers on Arm are those on x86 but for float rounding, whatever the processor.

The bundle that goes to a phone runs here in user-mode emulation, which executes the real Arm kernels of the
runtimes; a model of each generation picks other ones (plain, dot product, int8 matrix product, SVE).
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from android_bench.emulation import emulator
from android_bench.measuring.sample_pairs import PAIRS
from android_bench.runner.bundle import ROOT, Bundle
from android_bench.toolchain import tools
from mobilebert_runtime.card import read_card
from mobilebert_runtime.matcher import Matcher, positive_probability
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import phone_probe
from tests.helpers.phones import require, run_lab
from tests.helpers.small_matcher import artefact

# `make android-test-all` runs all of them; each push one without and one with int8 matrix products.
CPUS = ("cortex-a53", "cortex-a76", "cortex-a710", "max")
ALL = os.environ.get("MOBILEBERT_ANDROID_ALL") == "1"
CHOSEN = CPUS if ALL else (CPUS[0], CPUS[2])
# MobileBERT with static int8 ranges: where they are found at run time few operators are all integers.
SHIPPED = {
    "tflite": ROOT / "artefacts" / "matcher-qqp-m-int8",
    "onnx": ROOT / "artefacts" / "matcher-qqp-m-int8-onnx",
}
# ONNX Runtime's kernels for the newest extensions are emulated at a minute and more an inference.
SHIPPED_PAIRS = {"tflite": 3, "onnx": 1}
LIMIT_S = 1200
pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT_S + 60)]
# Float operators sum in another order on Arm: share of the largest logit.
ROUNDING = 1e-5
# What that may do to the logits of matcher-qqp-m in int8: where a number lies at the edge between two int8
# steps it takes the other one. The largest difference seen in 2,000 pairs of its files, of which nine in ten
# differ by less than 1e-4 (results/quantize/int8-processors.md).
INT8_BOUND = 0.04
# TFLite operators whose result may differ though their inputs are the same; seen: the first three. A float
# product sums in the order that suits the processor; int8 recipes leave the products of attention in float.
APPROXIMATE = {
    ("SOFTMAX", "float32"),
    ("FULLY_CONNECTED", "float32"),
    ("BATCH_MATMUL", "float32"),
    ("TANH", "float32"),
}


@pytest.fixture(scope="module")
def unpacked():
    """Target → folder of the unpacked bundle."""

    def folder(target):
        require("qemu")
        path = tools.tools_folder() / f"runner-{target}.tar"
        if not path.exists():
            pytest.skip(f"not run: no {path.name}; run `make android-tools`")
        return emulator.arm_programs(target)

    return folder


def emulate(cpu, target, *arguments):
    """Run the bundle's Python on an emulated processor."""
    emulator.run(emulator.PROCESSORS[cpu], target, arguments, limit_s=LIMIT_S)


def on_arm(cpu, target, folder, pairs, tmp_path, threads=1):
    """Logits (N, labels) of pairs, computed by the bundle on an emulated processor."""
    task = {"action": "match", "folder": str(folder), "pairs": pairs, "threads": threads, "cores": "all"}
    task |= {"nonce": "0", "out": str(tmp_path / "result.json")}
    (tmp_path / "task.json").write_text(json.dumps(task))
    emulate(cpu, target, "-m", "android_bench.runner.device", tmp_path / "task.json")
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["device"]["architecture"] == "aarch64"
    return np.array(result["logits"], np.float32)


def compare(cpu, unpacked, folder, pairs, tmp_path):
    """Logits here and on an emulated Arm processor."""
    target = read_card(folder).target
    unpacked(target)
    here = Matcher.load(folder).logits(pairs)
    there = on_arm(cpu, target, folder, pairs, tmp_path)
    assert here.shape == there.shape
    assert np.abs(here).max() > 0
    return here, there


def shipped(target):
    folder = SHIPPED[target]
    if not folder.is_dir():
        pytest.skip(f"not run: no {folder.relative_to(ROOT)}; run `make android-artefacts`")
    return folder


@pytest.mark.parametrize("cpu", CHOSEN)
def test_float_tflite_differs_in_rounding_only(cpu, unpacked, tmp_path):
    here, there = compare(cpu, unpacked, artefact("tflite", "none"), PAIRS[:12], tmp_path)
    assert np.allclose(here, there, rtol=0, atol=ROUNDING * np.abs(here).max())


@pytest.mark.parametrize("cpu", CHOSEN)
def test_int8_onnx_differs_in_rounding_only(cpu, unpacked, tmp_path):
    """Its linear layers sum integers, which neither processor saturates; the products of attention are float.

    An eight-bit sum that saturated, or one activation rounded another way, would be a thousand times more.
    """
    here, there = compare(cpu, unpacked, artefact("onnx", "int8"), PAIRS[:12], tmp_path)
    assert np.allclose(here, there, rtol=0, atol=ROUNDING * np.abs(here).max())


@pytest.mark.parametrize("quant", ["none", "int8"])
@pytest.mark.parametrize("cpu", CHOSEN)
def test_four_threads_give_the_bits_of_one(cpu, quant, unpacked, tmp_path):
    """So the paper's four threads change the time alone, which an emulator can't tell."""
    unpacked("tflite")
    folder = artefact("tflite", quant)
    one, four = (on_arm(cpu, "tflite", folder, PAIRS[:12], tmp_path, threads) for threads in (1, 4))
    assert np.abs(one).max() > 0
    assert np.array_equal(one, four)


def differing_operators(cpu, unpacked, folder, count, tmp_path):
    """Kind and type of operators that get the same bits here and on Arm: all, and those that then differ."""
    unpacked("tflite")
    exposed, inputs, out = (tmp_path / name for name in ("exposed.tflite", "inputs.npz", "out.npz"))
    operators = phone_probe.expose(folder / "model.tflite", exposed)
    encoded = PairTokenizer.load(folder).encode(PAIRS[:count], read_card(folder).seq_len)
    np.savez(inputs, **encoded)
    here = phone_probe.run(exposed, encoded)
    emulate(cpu, "tflite", phone_probe.__file__, exposed, inputs, out)
    there = np.load(out)
    same = {index: np.array_equal(value, there[str(index)]) for index, value in here.items()}
    fed_alike = [
        (kind, here[written[0]].dtype.name, all(same[index] for index in written))
        for kind, read, written in operators
        if all(same[index] for index in read)
    ]
    assert np.array_equal(here[operators[-1][2][0]][:, 0], Matcher.load(folder).logits_of(encoded))
    return [row[:2] for row in fed_alike], {row[:2] for row in fed_alike if not row[2]}


def check_operators(cpu, unpacked, folder, count, tmp_path):
    """Integer operators and conversions agree to the bit; of the float ones only `APPROXIMATE` may not."""
    compared, differ = differing_operators(cpu, unpacked, folder, count, tmp_path)
    assert ("FULLY_CONNECTED", "int8") in compared
    assert ("QUANTIZE", "int8") in compared
    assert differ <= APPROXIMATE, differ


@pytest.mark.parametrize("cpu", CHOSEN)
def test_integer_operators_of_tflite_are_bit_identical(cpu, unpacked, tmp_path):
    check_operators(cpu, unpacked, artefact("tflite", "int8"), 3, tmp_path)


@pytest.mark.skipif(not ALL, reason="not run: part of `make android-test-all`")
@pytest.mark.parametrize("cpu", CHOSEN)
def test_integer_operators_of_the_shipped_tflite_are_bit_identical(cpu, unpacked, tmp_path):
    check_operators(cpu, unpacked, shipped("tflite"), 1, tmp_path)


@pytest.mark.parametrize("target", SHIPPED)
@pytest.mark.parametrize("cpu", CHOSEN)
def test_shipped_int8_decides_alike(cpu, target, unpacked, tmp_path):
    folder = shipped(target)
    here, there = compare(cpu, unpacked, folder, PAIRS[: SHIPPED_PAIRS[target]], tmp_path)
    matcher = Matcher.load(folder)
    assert np.abs(here - there).max() <= INT8_BOUND
    shift = matcher.card.shift(PAIRS[: len(here)])
    one, other = (positive_probability(logits, matcher.card, shift) for logits in (here, there))
    assert [matcher.label(p) for p in one] == [matcher.label(p) for p in other]


def test_from_this_machine_through_adb_to_arm_and_back(unpacked, tmp_path):
    """`mobilebert phone bench` and `match` end to end: push, run under emulation, pull, check, report."""
    adbd, qemu = require("adbd", "qemu")
    unpacked("tflite")
    runner = Bundle.read(tools.tools_folder() / "runner-tflite.tar")
    folder = artefact("tflite", "none")
    work = {"adbd": str(adbd), "qemu": str(qemu / "usr/bin/qemu-aarch64"), "arm_bundle": str(runner.path)}
    work |= {"arm_artefact": str(folder), "artefact": str(folder), "pairs": [list(p) for p in PAIRS[:2]]}
    found = run_lab(tmp_path, ["emulated_arm"], **work)["emulated_arm"]
    assert found["code"] == 0, found
    assert "emulated: no latency claim" in found["out"]
    data = json.loads((tmp_path / "emulated.json").read_text())
    assert data["mobilebert"]["emulated"] is True
    assert data["machine"]["architecture"] == "aarch64"
    assert "emulated: no latency claim" in Path(tmp_path / "emulated.md").read_text()
    assert found["match"]["code"] == 0, found["match"]
    scores = [json.loads(line)["score"] for line in found["match"]["out"].splitlines()]
    expected = Matcher.load(folder).score(PAIRS[:2])
    assert np.allclose(scores, expected, rtol=0, atol=1e-5)
