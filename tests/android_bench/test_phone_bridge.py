"""Promise of library/jni: Java reaches ONNX Runtime through the bridge, which asks nothing else of a system.

The source that a phone gets is compiled a second time for this machine, where Java runs the shipped classes
against the runtime of the Python package. Only a phone can show that Android loads the other library.
"""

import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from android_bench.build_app import java, native
from android_bench.measuring.sample_pairs import PAIRS
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.matcher import Matcher
from tests.helpers.small_matcher import artefact

pytestmark = pytest.mark.slow

FUNCTIONS = {"JNI_OnLoad"} | {
    f"Java_mobilebert_runtime_OnnxBridge_{name}" for name in ("version", "open", "run", "release")
}


def elf(option, path):
    """What readelf says of a library."""
    if shutil.which("readelf") is None:
        pytest.skip("not run: no readelf on PATH; install binutils")
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def built(build):
    """A library, or the reason why it can't be built here."""
    try:
        return build()
    except ToolError as error:
        pytest.skip(f"not run: {error}")


@pytest.fixture(scope="module")
def for_a_phone(tmp_path_factory):
    return built(lambda: native.phone_libraries(tmp_path_factory.mktemp("phone")))


@pytest.fixture(scope="module")
def for_this_machine(tmp_path_factory):
    """A folder with ONNX Runtime's library for Linux and the bridge to it, as Java's library path."""
    folder = tmp_path_factory.mktemp("here")
    files = importlib.metadata.files("onnxruntime")
    runtime = next(Path(f.locate()) for f in files if re.match(r"libonnxruntime\.so\.\d", f.name))
    built(lambda: native.build(f"{platform.machine()}-linux-gnu", runtime, folder))
    (folder / native.RUNTIME_NAME).symlink_to(runtime)
    return folder


def test_it_exports_what_java_looks_for_and_needs_only_the_runtime(for_a_phone):
    bridge = for_a_phone[1]
    symbols = [line.split()[6:8] for line in elf("--dyn-syms", bridge).splitlines() if " FUNC " in line]
    assert {name for place, name in symbols if place != "UND"} == FUNCTIONS
    assert [name.partition("@")[0] for place, name in symbols if place == "UND"] == ["OrtGetApiBase"]
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", elf("--dynamic", bridge))
    assert needed == [native.RUNTIME_NAME]


def test_both_libraries_are_for_arm_and_for_pages_of_16_kib(for_a_phone):
    for library in for_a_phone:
        assert "AArch64" in elf("--file-header", library)
        steps = [
            int(line.split()[-1], 16) for line in elf("--segments", library).splitlines() if "LOAD" in line
        ]
        assert steps
        assert all(step % native.PAGE_BYTES == 0 for step in steps), library


def test_texts_through_java_get_pythons_logits(for_this_machine, tmp_path):
    folder = tmp_path / "artefact"
    shutil.copytree(artefact("onnx", "int8"), folder)
    pairs = [*PAIRS, (" ".join(a for a, _ in PAIRS), " ".join(b for _, b in PAIRS))]
    logits = Matcher.load(folder).logits(pairs).tolist()
    rows = [{"a": a, "b": b, "logits": row} for (a, b), row in zip(pairs, logits, strict=True)]
    (folder / "expected.json").write_text(json.dumps(rows))
    try:
        jars = tools.find("junit") / "usr" / "share" / "java"
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    path = [tmp_path / "main", tmp_path / "test", jars / "junit4.jar", jars / "hamcrest-core.jar"]
    java.compile_library(path[0])
    java.compile_sources([java.LIBRARY / "test/java/mobilebert/runtime/OnnxBridgeTest.java"], path[1], path)
    settings = {"golden": folder, "java.library.path": for_this_machine}
    settings["version"] = importlib.metadata.version("onnxruntime")
    resources = java.LIBRARY / "main" / "resources"
    report = java.run_junit(["mobilebert.runtime.OnnxBridgeTest"], [*path, resources], settings)
    assert "OK (4 tests)" in report
