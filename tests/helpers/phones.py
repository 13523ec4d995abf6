"""What the tests of the phone need, and the lab that stands in for one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]


def require(*names):
    """The folders of fetched tools and a kernel that gives namespaces; what lacks them is not run."""
    if subprocess.run(["unshare", "-Ur", "-m", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("not run: this kernel gives no user and network namespaces")
    try:
        return [tools.find(name) for name in names]
    except ToolError as error:
        pytest.skip(f"not run: {error}")


def run_lab(folder, scenarios, limit_s=900, **work):
    """Do scenarios in namespaces of their own; what each found."""
    out = folder / "found.json"
    scratch = folder / "scratch"
    scratch.mkdir()
    work |= {"scenarios": scenarios, "out": str(out), "folder": str(scratch)}
    task = folder / "work.json"
    task.write_text(json.dumps(work))
    command = ["unshare", "-Ur", "-m", "-n", "--kill-child", "-p", "-f", "--mount-proc"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.helpers.phone_lab", str(task)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    shutil.rmtree(scratch, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(out.read_text())
