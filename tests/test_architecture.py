"""Promise of the house: imports point one way; what runs an artefact carries no training package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Left to right: a room may import those before it (and itself).
ROOMS = {
    "models": set(),
    "matching": {"models"},
    "distill": {"models", "matching"},
    "quantize": {"models", "matching"},
    "mobilebert_export": {"models", "matching", "distill", "quantize", "android_bench"},
    "android_bench": {"matching", "mobilebert_export"},
}
# What android_bench may use of the rooms that know torch: the parts that do not.
TORCH_FREE = {
    "mobilebert_runtime.matcher",
    "mobilebert_export.artefact_folder",
    "mobilebert_runtime.tokenizer",
    "matching.data.pairs",
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room):
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in imports(path)
        if name.split(".")[0] in ROOMS.keys() - ROOMS[room] - {room}
    ]
    assert not wrong


def test_android_bench_knows_no_torch_and_only_the_torch_free_parts():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "android_bench").rglob("*.py"))
        for name in imports(path)
        if name.split(".")[0] in {"torch", "tensorflow", "transformers", "models"}
        or (name.split(".")[0] in {"matching", "mobilebert_export"} and name not in TORCH_FREE)
    ]
    assert not wrong


def test_nothing_outside_the_program_imports_it():
    wrong = [
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if path.name != "__main__.py"
        and "commands" not in path.parts
        and any(n.startswith(("mobilebert_export.cli", "mobilebert_export.commands")) for n in imports(path))
    ]
    assert not wrong


@pytest.mark.parametrize(
    "module", ["mobilebert_runtime.matcher", "mobilebert_export.cli", "mobilebert_runtime.tokenizer"]
)
def test_what_runs_an_artefact_loads_no_training_package(module):
    heavy = "torch", "tensorflow", "transformers", "scipy", "sklearn", "pyarrow", "matplotlib", "onnx"
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
