"""Promise of the runtime's distribution: one package, light to import."""

import subprocess
import sys

import pytest

import mobilebert_runtime

HEAVY = ("torch", "tensorflow", "transformers", "scipy", "sklearn", "pyarrow", "matplotlib", "onnx")


def loaded(code, names):
    """Which of the modules a fresh interpreter has loaded after this code."""
    script = f"import sys\n{code}\nprint([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module", ["mobilebert_runtime.matcher", "mobilebert_runtime.tokenizer", "mobilebert_export.cli"]
)
def test_what_runs_an_artefact_loads_no_training_package(module):
    assert loaded(f"import {module}", HEAVY) == "[]"


def test_reading_a_card_loads_neither_numpy_nor_a_runtime():
    names = ("numpy", "tokenizers", "ai_edge_litert", "onnxruntime")
    assert loaded("from mobilebert_runtime import ArtefactError, read_card", names) == "[]"


def test_every_public_name_is_there():
    assert {name: getattr(mobilebert_runtime, name).__name__ for name in mobilebert_runtime.__all__} == {
        name: name for name in mobilebert_runtime.__all__
    }
    with pytest.raises(AttributeError, match="no attribute 'Macher'"):
        mobilebert_runtime.Macher  # noqa: B018
