"""The Arm programs are unpacked once, also where two processes ask for them at the same time."""

import json
import tarfile
from pathlib import Path

import pytest

from android_bench.emulation import emulator
from android_bench.runner.bundle import OUR_FILES, ROOT
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import file_sha256


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of our files alone, in a folder of tools."""
    path = tmp_path / "runner-onnx.tar"
    with tarfile.open(path, "w") as tar:
        for name in OUR_FILES:
            tar.add(ROOT / name, f"site/{name}")
    facts = {"target": "onnx", "machine": "aarch64", "abi": "arm64-v8a", "versions": {}}
    path.with_suffix(".json").write_text(json.dumps(facts | {"sha256": file_sha256(path)}))
    monkeypatch.setattr(tools, "tools_folder", lambda: tmp_path)
    return path


def test_who_comes_second_takes_what_is_there(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Path.rename

    def later(self: Path, target: Path) -> Path:
        if not target.exists():  # the other process, between our look and our rename
            target.mkdir()
            (target / "site").mkdir()
        return plain(self, target)

    monkeypatch.setattr(Path, "rename", later)
    folder = emulator.arm_programs("onnx")
    assert sorted(path.name for path in bundle.parent.iterdir()) == sorted(
        [bundle.name, bundle.with_suffix(".json").name, folder.name]
    )
    assert list(folder.rglob("*.py")) == [], "the other's folder stays"


def test_it_is_unpacked_once_and_whole(bundle: Path) -> None:
    folder = emulator.arm_programs("onnx")
    made = (folder / "site" / OUR_FILES[0]).stat().st_mtime_ns
    assert emulator.arm_programs("onnx") == folder
    assert (folder / "site" / OUR_FILES[0]).stat().st_mtime_ns == made
    assert {str(path.relative_to(folder / "site")) for path in folder.rglob("*.py")} >= set(OUR_FILES)


def test_a_bundle_of_older_files_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "OUR_FILES", (*OUR_FILES, "pyproject.toml"))
    with pytest.raises(ToolError, match=r"runner-onnx\.tar has an older pyproject\.toml: run"):
        emulator.arm_programs("onnx")
