"""Promise of the runtime's distribution: one package, light to import."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mobilebert_runtime
from mobilebert_runtime.matcher import Matcher
from tests.conftest import ROOT
from tests.helpers import small_matcher
from tests.helpers.model_directories import model_directory

OPTIMUM = "optimum==2.3.0"  # of the extra
HEAVY = ("torch", "tensorflow", "transformers", "scipy", "sklearn", "pyarrow", "matplotlib", "onnx")


def loaded(code, names):
    """Which of the modules a fresh interpreter has loaded after this code."""
    script = f"import sys\n{code}\nprint([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module",
    ["mobilebert_runtime.matcher", "mobilebert_runtime.tokenizer", "mobilebert_export.command_line.program"],
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


# Interpreters of a machine that has several: the oldest that the runtime promises, and the newest.
VERSIONS = ("3.9", "3.13")
SCORE = """
import sys
import mobilebert_runtime
from mobilebert_runtime import Matcher
for name in mobilebert_runtime.__all__:
    getattr(mobilebert_runtime, name)
print(Matcher.load(sys.argv[1]).score([("a moon", "the moon")])[0])
"""


def installed_here():
    """The folders of installed packages, as a .pth file names them; a shared environment has several."""
    return "\n".join(place for place in sys.path if place.endswith("site-packages"))


def interpreter(version):
    """A Python of this version: on the PATH (pyenv's stand-ins may not run), or of pyenv."""
    pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")
    for found in filter(None, (shutil.which(f"python{version}"), *pyenv)):
        tried = subprocess.run([found, "-m", "venv", "--help"], capture_output=True, check=False)
        if not tried.returncode:
            return str(found)
    return None


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of both distributions, built from a copy: building leaves folders behind."""
    work = tmp_path_factory.mktemp("wheels")
    source = work / "source"
    skipped = shutil.ignore_patterns(
        ".*", "__pycache__", "*.egg-info", "artefacts", "build", "results", "runs"
    )
    shutil.copytree(ROOT, source, ignore=skipped)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(work)]
    for project in (source / "mobilebert_runtime", source):
        done = subprocess.run([*pip, str(project)], capture_output=True, text=True, check=False)
        if done.returncode and "setuptools" in done.stderr:
            pytest.skip(f"not run: no index for the build's setuptools ({done.stderr.strip()[-200:]})")
        assert not done.returncode, done.stderr
    return {name: next(work.glob(f"mobilebert_{name}-*.whl")) for name in ("runtime", "export")}


def test_each_wheel_holds_its_packages_and_nothing_else(wheels):
    def tops(wheel):
        names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        return {name for name in names if not name.endswith(".dist-info")}

    assert tops(wheels["runtime"]) == {"mobilebert_runtime"}
    program = {f"mobilebert_{name}" for name in ("models", "matching", "training", "quantize", "export")}
    program |= {"android_bench", "optimum"}  # the latter is the folder in which optimum looks for commands
    assert tops(wheels["export"]) == program
    assert wheels["runtime"].stat().st_size < 100_000
    inside = {name for name in zipfile.ZipFile(wheels["runtime"]).namelist() if "dist-info" not in name}
    folder = Path(mobilebert_runtime.__file__).parent
    assert inside == {
        f"mobilebert_runtime/{path.name}" for path in folder.glob("*.py") if path.name != "setup.py"
    } | {"mobilebert_runtime/py.typed"}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_in_an_empty_environment_scores_as_here(
    version, wheels, onnx_artefact, tflite_artefact, tmp_path
):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"not run: no Python {version} here")
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True)
    inside = tmp_path / "venv" / "bin" / "python"
    install = [str(inside), "-m", "pip", "install", "--quiet", f"{wheels['runtime']}[tflite,onnx]"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not run: pip can't install into Python {version}: {done.stderr.strip()[-200:]}")
    shipped = ROOT / "artefacts" / "matcher-int8"  # there after `make export`
    for artefact in (onnx_artefact, tflite_artefact, *([shipped] if shipped.is_dir() else [])):
        run = [str(inside), "-I", "-c", SCORE, str(artefact)]
        done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        expected = Matcher.load(artefact).score([("a moon", "the moon")])[0]
        assert float(done.stdout) == pytest.approx(float(expected), abs=1e-5 if artefact != shipped else 0.02)


@pytest.mark.slow
def test_both_wheels_in_a_fresh_environment_export(wheels, tmp_path):
    """What they need beside themselves is this environment's; nothing is downloaded again."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    inside = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    install = [str(inside), "-m", "pip", "install", "--quiet", "--no-deps", *map(str, wheels.values())]
    subprocess.run(install, check=True)
    (site / "locked.pth").write_text(installed_here())
    command = ["export", "--model", str(small_matcher.model_directory()), "--quant", "none", "--no-measure"]
    command += ["--seq-len", "32", "--out", str(tmp_path / "made")]
    run = [str(inside), "-I", "-m", "mobilebert_export", *command]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    where = [str(inside), "-I", "-c", "import mobilebert_export as e; print(e.__file__)"]
    assert str(site) in subprocess.run(where, capture_output=True, text=True, check=True).stdout
    assert Matcher.load(tmp_path / "made").score([("a", "b")]).shape == (1,)


@pytest.mark.slow
def test_optimums_program_exports(wheels, tmp_path):
    """Our file joins the namespace of optimum's commands; what both need is this environment's."""
    assert f'"{OPTIMUM}"' in (ROOT / "pyproject.toml").read_text()
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    inside = tmp_path / "venv" / "bin"
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    install = [str(inside / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*install, OPTIMUM, *map(str, wheels.values())], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"not run: pip can't install {OPTIMUM}: {done.stderr.strip()[-200:]}")
    (site / "locked.pth").write_text(installed_here())

    def optimum(*words):
        command = [str(inside / "optimum-cli"), "export", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    model = ["--model", str(small_matcher.model_directory()), "--sequence_length", "32"]
    for kind, quant, expected in (("tflite", "int8", "int8"), ("onnx-mobile", "int8-dynamic", "dynamic")):
        done = optimum(kind, *model, "--quantize", quant, f"made-{kind}")
        assert done.returncode == 0, done.stderr
        made = Matcher.load(tmp_path / f"made-{kind}")
        assert (made.card.quant, made.card.seq_len) == (expected, 32)
        assert made.score([("a", "b")]).shape == (1,)
    again = optimum("tflite", *model, "made-tflite")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    unnamed = model_directory(tmp_path / "unnamed", "bert", "text-matching")
    config = json.loads((unnamed / "config.json").read_text())
    config |= {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    (unnamed / "config.json").write_text(json.dumps(config))
    words = ("onnx-mobile", "--model", str(unnamed), "--sequence_length", "32")
    refused = optimum(*words, "made-unnamed")
    assert refused.returncode == 2
    named = [word.strip(".,;()") for word in refused.stderr.split() if word.startswith("--")]
    assert {"--task", "--positive"} <= set(named)
    known = optimum("onnx-mobile", "--help").stdout
    assert all(name in known for name in named), "it advises what it takes"
    said = ("--task", "text-matching", "--positive", "LABEL_1")
    assert optimum(*words, *said, "made-unnamed").returncode == 0
