"""What the tests of the web package need: node, its packages and built tests, Chromium; skipped where absent.

`make web-test` sets MOBILEBERT_WEB, and what is absent then is a failure.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


def absent(why):
    if os.environ.get("MOBILEBERT_WEB"):
        pytest.fail(why)
    pytest.skip(f"not run: {why}")


@pytest.fixture(scope="session")
def node():
    """Runs a program of web/ and returns what its last line says."""
    program = shutil.which("node")
    if program is None:
        absent("no node on PATH; `apt-get install nodejs`, 20 or later")
    if not (WEB / "node_modules/esbuild").is_dir():
        absent("web/node_modules is not there; `make web` installs it")
    subprocess.run([program, "test/build.mjs"], cwd=WEB, check=True, timeout=120)

    def run(script, *arguments, timeout=1800):
        done = subprocess.run(
            # The program runs in web/; a path of the user's is relative to where the tests were started.
            [program, script, *(str(one.resolve() if isinstance(one, Path) else one) for one in arguments)],
            cwd=WEB,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{script}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return json.loads(done.stdout.strip().split("\n")[-1])

    return run


@pytest.fixture(scope="session")
def browser(node):
    """The same, for programs that start Chromium."""
    if not Path(CHROMIUM).exists():
        absent(f"no {CHROMIUM}; `apt-get install chromium`, or set CHROMIUM")
    return node
