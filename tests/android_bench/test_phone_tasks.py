"""Promise of the phone's library: every task's answers are Python's, as classes and as dex turned back."""

import csv
import importlib.metadata
import platform
import re
from pathlib import Path

import pytest

from android_bench.build_app import java, native
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from tests.helpers import phone_tasks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

RESOURCES = java.LIBRARY / "main" / "resources"
TESTS = java.LIBRARY / "test/java/mobilebert/runtime"
COUNT = (TESTS / "TasksTest.java").read_text(encoding="utf-8").count("@Test")
QUESTIONS, QUERIES = 900, 300


def clinc150(shared_data):
    """Questions and queries of CLINC150: the training texts, some of each intent, and test texts."""

    def texts(name, count):
        with (shared_data / "data" / "intents" / "clinc150" / name).open(encoding="utf-8") as file:
            rows = [row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        return rows[:: len(rows) // count][:count]

    return texts("train.tsv", QUESTIONS), texts("test.tsv", QUERIES)


@pytest.fixture(scope="module")
def golden(tmp_path_factory, shared_data):
    folder = tmp_path_factory.mktemp("golden")
    phone_tasks.write_golden(folder)
    phone_tasks.write_faq(folder / "faq", *clinc150(shared_data))
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Compiled library and tests, JUnit's archives, and a folder with the bridge for this machine."""
    folder = tmp_path_factory.mktemp("built")
    files = importlib.metadata.files("onnxruntime")
    runtime = next(Path(f.locate()) for f in files if re.match(r"libonnxruntime\.so\.\d", f.name))
    try:
        native.build(f"{platform.machine()}-linux-gnu", runtime, folder / "native")
        jars = tools.find("junit") / "usr" / "share" / "java"
        (folder / "native" / native.RUNTIME_NAME).symlink_to(runtime)
        java.compile_library(folder / "library")
        junit = [jars / "junit4.jar", jars / "hamcrest-core.jar"]
        sources = [TESTS / "TasksTest.java", TESTS / "Golden.java"]
        java.compile_sources(sources, folder / "test", [folder / "library", *junit])
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    return folder, junit


def run(golden, built, code):
    folder, junit = built
    settings = {"golden": golden, "java.library.path": folder / "native"}
    path = [code, RESOURCES, folder / "test", *junit]
    report = java.run_junit(["mobilebert.runtime.TasksTest"], path, settings)
    assert f"OK ({COUNT} tests)" in report


def test_answers_equal_pythons_on_the_jvm(golden, built):
    run(golden, built, built[0] / "library")


def test_answers_of_the_dex_that_ships_equal_pythons(golden, built, tmp_path):
    try:
        dx, enjarify = tools.find("dex"), tools.find("sdk") / "usr/lib/python3/dist-packages"
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    java.dex([built[0] / "library"], tmp_path / "classes.dex", dx)
    java.undex(tmp_path / "classes.dex", tmp_path / "again.jar", enjarify)
    run(golden, built, tmp_path / "again.jar")
