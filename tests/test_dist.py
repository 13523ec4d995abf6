"""`make dist`: what a release holds, and what its building leaves behind."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser

import pytest

from mobilebert_runtime.card import MATCHING, check_checksums
from mobilebert_runtime.matcher import Matcher
from tests.conftest import ROOT
from tests.helpers import tiny_tasks

HOME = "https://forge.example/team/project"


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    return tiny_tasks.write(tmp_path_factory.mktemp("dist") / "artefact", MATCHING, "roberta")


@pytest.fixture(scope="module")
def dist(tmp_path_factory, artefact):
    """Everything, with a tiny artefact in the place of two matchers' real ones."""
    out = tmp_path_factory.mktemp("out") / "dist"
    models = [
        word for name in ("matcher-open-m", "matcher-qqp-s") for word in ("--model", name, str(artefact))
    ]
    command = [sys.executable, str(ROOT / "scripts" / "make_dist.py"), str(out), "--home", HOME, *models]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return out


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_a_release_holds_packages_models_and_checksums(dist):
    kinds = {"-py3-none-any.whl", ".tar.gz"}
    expected = {f"mobilebert_{name}-0.1.0{kind}" for name in ("export", "runtime") for kind in kinds}
    expected |= {f"mobilebert_model_{name}-0.1.0-py3-none-any.whl" for name in ("open_m", "qqp_s")}
    for name in ("matcher-open-m", "matcher-qqp-s"):
        expected |= {f"{name}-none.onnx", f"{name}-none-onnx.zip"}
    assert {file.name for file in dist.iterdir()} == expected | {"SHA256SUMS"}
    sums = dict(line.split("  ")[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in expected}


def test_a_data_wheel_is_the_artefact_and_no_code(dist, artefact, tmp_path):
    wheel = dist / "mobilebert_model_open_m-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    package = tmp_path / "mobilebert_model_open_m"
    assert [path.name for path in package.rglob("*.py")] == ["__init__.py"]
    assert (package / "__init__.py").read_text().startswith('"""matcher-open-m')
    made = package / "artefact"
    assert {file.name: file.read_bytes() for file in made.iterdir()} == {
        file.name: file.read_bytes() for file in artefact.iterdir()
    }
    check_checksums(made)
    assert Matcher.load(made).score([("a", "b")]) == Matcher.load(artefact).score([("a", "b")])
    found = metadata(wheel)
    assert (found["Name"], found["License-Expression"]) == ("mobilebert-model-open-m", "Apache-2.0")
    assert found.get_all("Requires-Dist") is None
    assert found.get_payload().startswith("# Model card: matcher-open-m")
    research = metadata(dist / "mobilebert_model_qqp_s-0.1.0-py3-none-any.whl")
    assert research["License-Expression"] == "LicenseRef-Research-Only"


def test_the_folder_as_a_zip_is_the_artefact(dist, artefact, tmp_path):
    with zipfile.ZipFile(dist / "matcher-open-m-none-onnx.zip") as archive:
        archive.extractall(tmp_path)
    assert Matcher.load(tmp_path / "matcher-open-m-none-onnx").score([("a", "b")]).shape == (1,)


@pytest.mark.parametrize("name", ["export", "runtime"])
def test_metadata_says_what_an_index_shows(dist, name):
    found = metadata(dist / f"mobilebert_{name}-0.1.0-py3-none-any.whl")
    assert f"Homepage, {HOME}" in found.get_all("Project-URL")
    assert any(one.startswith("Programming Language :: Python :: 3.") for one in found.get_all("Classifier"))
    assert found["Description-Content-Type"] == "text/markdown"
    assert len(found.get_payload()) > 500


def test_building_leaves_no_folder_whose_files_end_in_the_next_wheel(tmp_path):
    """setuptools packs whatever lies in build/lib: a module that is gone would stay in the wheel."""
    source = tmp_path / "mobilebert_runtime"
    skipped = shutil.ignore_patterns("*.egg-info", "__pycache__", "build")
    shutil.copytree(ROOT / "mobilebert_runtime", source, ignore=skipped)
    (source / "gone.py").write_text("")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]

    def modules(where):
        subprocess.run(
            [*pip, "--wheel-dir", str(tmp_path / where), str(source)], check=True, capture_output=True
        )
        [wheel] = (tmp_path / where).glob("*.whl")
        return set(zipfile.ZipFile(wheel).namelist())

    assert "mobilebert_runtime/gone.py" in modules("first")
    assert not (source / "build").exists()
    (source / "gone.py").unlink()
    second = modules("second")
    assert "mobilebert_runtime/gone.py" not in second
    assert "mobilebert_runtime/setup.py" not in second
