"""Fixtures every room's tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The licensed data sets beside the checkout; absent on a user's machine, where the test skips."""
    folder = Path(os.environ.get("MOBILEBERT_SHARED", ROOT.parent / "shared"))
    if not (folder / "data" / "qqp" / "test.tsv").is_file():
        pytest.skip(f"no licensed data at {folder} (set MOBILEBERT_SHARED to the folder that holds data/)")
    return folder
