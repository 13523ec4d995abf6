"""Promise of the library's rules: a release build, shrunk and moved, answers as a debug build.

An app that asks artefacts of every task is shrunk by the rules of the AAR and nothing else, and every class
of it gets another name in another package. Networks run in ONNX Runtime through the bridge, and in a
stand-in for LiteRT that is outside the app, as LiteRT's own rules keep its names.
"""

import importlib.metadata
import platform
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from android_bench.build_app import aar, apk, java, native, shrink
from android_bench.toolchain import tools
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.errors import ToolError
from tests.helpers import phone_tasks
from tests.helpers.tiny_artefacts import write_artefact

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TEST = java.LIBRARY / "test" / "java"
KEEP_MAIN = "-keep class mobilebert.shrunk.Answers { public static void main(java.lang.String[]); }"
# Found by name from C: the only class of the library that keeps its own.
PINNED = "mobilebert.runtime.OnnxBridge"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The AAR's classes and rules, the app, the stand-in for LiteRT, and the bridge for this machine."""
    folder = tmp_path_factory.mktemp("shrunk")
    files = importlib.metadata.files("onnxruntime")
    runtime = next(Path(f.locate()) for f in files if re.match(r"libonnxruntime\.so\.\d", f.name))
    try:
        tools.find("proguard")
        with zipfile.ZipFile(aar.build(folder / "aar", folder / "work")) as archive:
            archive.extractall(folder)
        native.build(f"{platform.machine()}-linux-gnu", runtime, folder / "native")
        platform_classes = apk.Sdk().platform
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    (folder / "native" / native.RUNTIME_NAME).symlink_to(runtime)
    java.compile_sources([TEST / "org/tensorflow"], folder / "litert")
    java.compile_sources([TEST / "mobilebert/shrunk"], folder / "app", [folder / "classes.jar"])
    return folder, platform_classes


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory):
    """One of every task for ONNX Runtime, a matcher that corrects spelling, and a matcher for LiteRT."""
    folder = tmp_path_factory.mktemp("artefacts")
    found = list(phone_tasks.write_artefacts(folder).values())
    model = bytes([1]) + bytes(100)  # the stand-in has one signature then
    found.append(write_artefact(folder / "litert", "tflite", model))
    spelling = write_artefact(folder / "spelling", "tflite", model)
    (spelling / "spelling.txt").write_text("the\nweather\ntomorrow\n")
    card = (spelling / "io.json").read_text()
    assert '"spelling": null' in card
    (spelling / "io.json").write_text(card.replace('"spelling": null', '"spelling": "spelling.txt"'))
    write_checksums(spelling)
    return [*found, spelling]


def answers(folder, classes, main, artefacts):
    path = ":".join(map(str, [*classes, folder / "litert"]))
    libraries = f"-Djava.library.path={folder / 'native'}"
    return java.run([java.java(), "-Dfile.encoding=UTF-8", libraries, "-cp", path, main, *artefacts])


def test_a_shrunk_and_moved_build_answers_like_the_unshrunk_one(built, artefacts, tmp_path):
    folder, platform_classes = built
    jar = tmp_path / "shrunk.jar"
    names = shrink.shrink(
        [folder / "classes.jar", folder / "app"],
        jar,
        [folder / "proguard.txt", KEEP_MAIN],
        [platform_classes],
        tmp_path,
    )
    kept = {old for old, new in names.items() if "." in new}
    assert kept == {PINNED, "mobilebert.shrunk.Answers"}
    with zipfile.ZipFile(jar) as archive:
        assert not any(
            name.startswith("mobilebert/runtime/") and "OnnxBridge" not in name for name in archive.namelist()
        )
    before = answers(folder, [folder / "classes.jar", folder / "app"], "mobilebert.shrunk.Answers", artefacts)
    after = answers(folder, [jar], "mobilebert.shrunk.Answers", artefacts)
    assert before.count("\n") > 3 * len(artefacts)
    assert "refused" not in before
    assert {"ONNX Runtime", "LiteRT stand-in"} <= set(re.findall(r"ONNX Runtime|LiteRT stand-in", before))
    assert after == before


def test_a_table_beside_its_class_would_be_lost(built, artefacts, tmp_path):
    """How the tables lay until they got a folder that is no package: a release build failed at once."""
    folder, platform_classes = built
    old = tmp_path / "old.jar"
    with zipfile.ZipFile(folder / "classes.jar") as archive, zipfile.ZipFile(old, "w") as copy:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "mobilebert/runtime/Files.class":
                # The constant with its length: a relative name, as the class asked for.
                content = content.replace(b"\x00\x14/mobilebert-runtime/", b"\x00\x00")
            copy.writestr(name.replace("mobilebert-runtime/", "mobilebert/runtime/"), content)
    jar = tmp_path / "shrunk.jar"
    shrink.shrink(
        [old, folder / "app"], jar, [folder / "proguard.txt", KEEP_MAIN], [platform_classes], tmp_path
    )
    plain = answers(folder, [old, folder / "app"], "mobilebert.shrunk.Answers", artefacts[:1])
    moved = answers(folder, [jar], "mobilebert.shrunk.Answers", artefacts[:1])
    assert "refused" not in plain
    assert "refused: the table unicode.txt is not in the app" in moved


def test_onnx_runtimes_own_classes_keep_their_names(built, tmp_path):
    """Its library looks them up from C, and its AAR brings no rules: ours do."""
    folder, platform_classes = built
    java.compile_sources([java.LIBRARY / "stubs/java/ai"], tmp_path / "runtime")
    names = shrink.shrink(
        [folder / "classes.jar", folder / "app", tmp_path / "runtime"],
        tmp_path / "shrunk.jar",
        [folder / "proguard.txt", KEEP_MAIN],
        [platform_classes],
        tmp_path,
    )
    runtime = {old: new for old, new in names.items() if old.startswith("ai.onnxruntime.")}
    assert len(runtime) >= len(list((tmp_path / "runtime").rglob("*.class")))
    assert all(old == new for old, new in runtime.items())


def test_the_sample_app_is_shrunk_by_the_same_rules_and_signed(built, tmp_path):
    folder, _ = built
    [built_aar] = (folder / "aar").glob("*.aar")
    sample = aar.LIBRARY / "sample"
    sizes = {}
    for name, shrunk in (("whole", False), ("small", True)):
        work = tmp_path / name
        work.mkdir()
        out = aar.compile_app(
            built_aar, sample / "java", sample / "AndroidManifest.xml", work / "app.apk", work, shrunk=shrunk
        )
        said = apk.Sdk().apksigner("verify", "--verbose", "--min-sdk-version", "26", out)
        assert "v3 scheme (APK Signature Scheme v3): true" in said
        with zipfile.ZipFile(out) as archive:
            sizes[name] = archive.getinfo("classes.dex").file_size
            assert archive.read("mobilebert-runtime/unicode.txt").startswith(b"#")
    assert sizes["small"] < 0.8 * sizes["whole"]
    shutil.rmtree(tmp_path)
