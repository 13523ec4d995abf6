"""Promise: two exports of a model are the same bytes, in whatever environment; reports and checksums too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mobilebert_runtime.files import file_sha256
from tests.helpers.small_matcher import model_directory

ROOT = Path(__file__).parents[2]
# Hash seed, locale, time zone, umask and threads of PyTorch.
PLACES = (("1", "C", "UTC", 0o022, "1"), ("2", "C.UTF-8", "Asia/Tokyo", 0o077, "2"))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["onnx", "tflite"])
def test_exports_in_two_environments_are_the_same_bytes(target, tmp_path):
    found = []
    for number, (seed, locale, zone, mask, threads) in enumerate(PLACES):
        out = tmp_path / str(number)
        words = ["--model", model_directory(), "--target", target, "--quant", "int8", "--no-measure"]
        more = ["--seq-len", 32, "--out", out]
        environment = {"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone, "OMP_NUM_THREADS": threads}
        subprocess.run(
            [sys.executable, "-m", "mobilebert_export", "export", *map(str, [*words, *more])],
            check=True,
            cwd=ROOT,
            env=os.environ | environment,
            umask=mask,
        )
        found.append({path.name: file_sha256(path) for path in out.iterdir()})
        assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o666 & ~mask}
    assert {"SHA256SUMS", "report.json"} < found[0].keys()
    assert found[0] == found[1]
