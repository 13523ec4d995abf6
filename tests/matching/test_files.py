"""Writing files: whole or absent, never over another by accident."""

import contextlib

import pytest

from mobilebert_runtime.errors import OutputError
from mobilebert_runtime.files import replacing


def test_an_output_is_whole_or_absent(tmp_path):
    out = tmp_path / "out.txt"
    with contextlib.suppress(RuntimeError), replacing(out, force=False) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with replacing(out, force=False) as partial:
        partial.write_text("one")
    with pytest.raises(OutputError, match="exists"), replacing(out, force=False):
        pass
    with replacing(out, force=True) as partial:
        partial.write_text("two")
    assert out.read_text() == "two"
    with pytest.raises(OutputError, match="does not exist"), replacing(tmp_path / "no" / "out", force=True):
        pass
    with pytest.raises(OutputError, match="is a directory"), replacing(tmp_path, force=True):
        pass
