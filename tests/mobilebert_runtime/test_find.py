"""Promise of `load`: a shipped matcher is found by its name, where pip or the hub's library put it."""

import shutil
import sys

import numpy as np
import pytest

import mobilebert_runtime
from mobilebert_runtime import Matcher, read_card
from mobilebert_runtime.errors import ArtefactError, OptionError, ToolError
from mobilebert_runtime.find import find_folder, package_of

PAIR = [("How old is the Moon?", "What is the age of the Moon?")]


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache of the hub, and nothing of the machine's own."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hf" / "hub"


def install(artefact, site, package):
    folder = site / package
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('data alone: nobody imports it')")
    shutil.copytree(artefact, folder / "artefact")


def cache(artefact, hub, name, revision="abc123", *, main=True):
    model = hub / f"models--{name.replace('/', '--')}"
    shutil.copytree(artefact, model / "snapshots" / revision)
    if main:
        (model / "refs").mkdir(exist_ok=True)
        (model / "refs" / "main").write_text(revision)


def test_an_installed_data_package_is_found_by_its_name(onnx_artefact, hub, tmp_path, monkeypatch):
    install(onnx_artefact, tmp_path / "site", "mobilebert_model_open_m")
    install(onnx_artefact, tmp_path / "site", "mobilebert_model_qqp_s")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    expected = Matcher.load(onnx_artefact).score(PAIR)
    for name in ("matcher-open-m", "matcher-qqp-s", "open-m"):
        np.testing.assert_array_equal(Matcher.load(name).score(PAIR), expected)
        np.testing.assert_array_equal(mobilebert_runtime.load(name).score(PAIR), expected)
        assert read_card(name).target == "onnx"
    assert "mobilebert_model_open_m" not in sys.modules
    assert package_of("matcher-open-m") == "mobilebert_model_open_m"


def test_a_model_in_the_hubs_cache_is_found_by_its_name(onnx_artefact, hub):
    cache(onnx_artefact, hub, "someone/matcher-open-s")
    cache(onnx_artefact, hub, "someone/matcher-open-s", "older", main=False)
    for name in ("matcher-open-s", "someone/matcher-open-s"):
        assert find_folder(name) == hub / "models--someone--matcher-open-s" / "snapshots" / "abc123"
        assert Matcher.load(name).score(PAIR).shape == (1,)
    cache(onnx_artefact, hub, "another/matcher-open-s", main=False)
    with pytest.raises(ArtefactError, match="matcher-open-s: the hub's cache holds several"):
        Matcher.load("matcher-open-s")
    assert find_folder("another/matcher-open-s").parent.parent.name == "models--another--matcher-open-s"


def test_a_folder_that_is_there_comes_first(onnx_artefact, hub, tmp_path):
    cache(onnx_artefact, hub, "someone/mine")
    shutil.copytree(onnx_artefact, tmp_path / "mine")
    assert str(find_folder("mine")) == "mine"
    assert Matcher.load("mine").score(PAIR).shape == (1,)


@pytest.mark.parametrize(
    "name", ["matcher-open-m", "./matcher-open-m", "a/b/c", "..", "someone/nothing", "x" * 999]
)
def test_what_is_nowhere_is_said(name, hub):
    with pytest.raises(ArtefactError, match=r"no such artefact folder|not an artefact folder"):
        Matcher.load(name)


def test_a_model_file_is_no_folder(onnx_artefact, hub):
    for name in (onnx_artefact / "model.onnx", str(onnx_artefact / "model.onnx"), "nowhere/model.tflite"):
        with pytest.raises(ArtefactError, match="is a model file; give the folder that holds it"):
            Matcher.load(name)


@pytest.mark.parametrize("threads", [0, -1, 1025, "2", 2.0, None, [2], float("nan")])
def test_threads_that_are_no_number_of_threads_are_refused(threads, onnx_artefact):
    for load in (Matcher.load, mobilebert_runtime.load):
        with pytest.raises((ArtefactError, OptionError), match="give a whole number from 1 to 1024"):
            load(onnx_artefact, threads)


def test_a_number_of_threads_may_be_numpys(onnx_artefact):
    expected = Matcher.load(onnx_artefact, 2).score(PAIR)
    np.testing.assert_array_equal(Matcher.load(onnx_artefact, np.int64(2)).score(PAIR), expected)


@pytest.mark.parametrize(
    ("minimum", "advice"),
    [
        ({}, "`pip install ai-edge-litert` or `pip install tflite-runtime`"),
        ({"tflite": "2.14"}, "`pip install ai-edge-litert` or `pip install tflite-runtime`"),
        ({"tflite": "2.18"}, "`pip install ai-edge-litert`$"),
    ],
)
def test_a_missing_runtime_is_advised_by_what_the_card_needs(
    minimum, advice, onnx_artefact, tmp_path, monkeypatch
):
    import json

    from mobilebert_export.pipeline.artefact_folder import write_checksums

    folder = shutil.copytree(onnx_artefact, tmp_path / "a")
    card = json.loads((folder / "io.json").read_text())
    card |= {"target": "tflite", "model_file": "model.tflite", "minimum_runtime": minimum}
    (folder / "io.json").write_text(json.dumps(card))
    (folder / "model.onnx").rename(folder / "model.tflite")
    write_checksums(folder)
    for module in ("ai_edge_litert", "ai_edge_litert.interpreter", "tflite_runtime"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ToolError, match=f"not installed: {advice}"):
        Matcher.load(folder)
