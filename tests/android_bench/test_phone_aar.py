"""Promise of the Android library: a small AAR of a known interface that apps compile against alone."""

import re
import zipfile

import pytest

from android_bench.build_app import aar, apk, java
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from tests.helpers.documented_commands import blocks

pytestmark = pytest.mark.slow

SAMPLE = aar.LIBRARY / "sample"
# What an app grows by before its shrinker has seen it; a runtime is several megabytes.
SIZE_BUDGET = 150_000


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aar")
    try:
        return aar.build(folder / "out", folder / "work")
    except ToolError as error:
        pytest.skip(f"not run: {error}")


def test_it_has_what_an_aar_has_and_is_small(built):
    with zipfile.ZipFile(built) as archive:
        metadata = "META-INF/com/android/build/gradle/aar-metadata.properties"
        parts = {"AndroidManifest.xml", "classes.jar", "R.txt", "proguard.txt", metadata}
        assert set(archive.namelist()) == parts
        manifest = archive.read("AndroidManifest.xml").decode()
        assert archive.read("proguard.txt") == (aar.LIBRARY / "consumer-rules.pro").read_bytes()
    assert 'package="mobilebert.runtime"' in manifest
    assert 'android:minSdkVersion="26"' in manifest
    assert "uses-permission" not in manifest
    assert built.stat().st_size <= SIZE_BUDGET
    pom = built.with_suffix(".pom").read_text()
    one = aar.RUNTIME.coordinates
    for tag, value in (("groupId", one.group), ("artifactId", one.name), ("version", one.version)):
        assert f"<{tag}>{value}</{tag}>" in pom
    gradle = aar.LIBRARY / "build.gradle"
    assert (java.gradle_value(gradle, "groupId"), java.gradle_value(gradle, "artifactId")) == (
        one.group,
        one.name,
    )


def test_its_classes_are_java_8_and_the_library_alone(built, tmp_path):
    with zipfile.ZipFile(built) as archive:
        archive.extract("classes.jar", tmp_path)
    with zipfile.ZipFile(tmp_path / "classes.jar") as jar:
        names = jar.namelist()
        for name in names:
            assert name.startswith(("mobilebert/runtime/", "mobilebert-runtime/")), name
            if name.endswith(".class"):
                assert jar.read(name)[:8] == bytes.fromhex("cafebabe00000034"), name
    assert "mobilebert-runtime/unicode.txt" in names
    assert "mobilebert-runtime/categories.txt" in names


def test_its_interface_is_the_listed_one(built):
    """A change of what apps see is seen here: copy the new listing over the old one if it is meant."""
    assert (built.parent / "api.txt").read_text() == (aar.LIBRARY / "api.txt").read_text()


def test_everything_that_apps_see_says_whether_it_may_be_null():
    """Kotlin takes it from the annotations; a primitive is never null."""
    plain = re.compile(r"\b(void|boolean|int|long|float|double)$")
    for path in sorted((java.LIBRARY / "main/java").rglob("*.java")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"^public (?:final |abstract )?(?:class|interface|enum) ", text, re.MULTILINE):
            continue
        for before, result, name in re.findall(
            r"((?:  @\w+\n)*)  public (?:static )?(?:synchronized )?([\w.<>\[\]]+) (\w+)\(", text
        ):
            told = "@NonNull" in before or "@Nullable" in before or "@Override" in before
            assert told or plain.search(result), f"{path.name}: {name}"


def test_the_same_sources_give_the_same_bytes(built, tmp_path):
    again = aar.build(tmp_path / "out", tmp_path / "work")
    assert again.read_bytes() == built.read_bytes()


def test_an_app_compiles_against_it_alone_and_is_signed(built, tmp_path):
    source = next((SAMPLE / "java").rglob("*.java")).read_text()
    assert len([line for line in source.splitlines() if line.strip()]) <= 40
    work = tmp_path / "work"
    work.mkdir()
    out = aar.compile_app(
        built, SAMPLE / "java", SAMPLE / "AndroidManifest.xml", tmp_path / "sample.apk", work
    )
    said = apk.Sdk().apksigner("verify", "--verbose", "--min-sdk-version", "26", out)
    assert "v3 scheme (APK Signature Scheme v3): true" in said
    with zipfile.ZipFile(out) as archive:
        archive.extract("classes.dex", tmp_path)
        assert archive.read("mobilebert-runtime/categories.txt").startswith(b"#")
    java.undex(
        tmp_path / "classes.dex",
        tmp_path / "again.jar",
        tools.find("sdk") / "usr/lib/python3/dist-packages",
    )
    with zipfile.ZipFile(tmp_path / "again.jar") as jar:
        classes = set(jar.namelist())
    assert {"mobilebert/sample/SampleActivity.class", "mobilebert/runtime/Matcher.class"} <= classes
    assert not [
        name
        for name in classes
        if name.startswith(("androidx", "org/tensorflow", "com/google", "ai/onnxruntime"))
    ]


def test_the_java_of_the_page_compiles_against_it(built, tmp_path):
    [lines] = blocks("docs/android.md", "java")
    page = tmp_path / "Page.java"
    page.write_text(
        "import android.content.Context;\nimport android.util.Log;\nimport java.util.List;\n"
        "import mobilebert.runtime.*;\n"
        f"final class Page {{ void show(Context context, List<String> questions) {{\n{lines}}} }}\n"
    )
    with zipfile.ZipFile(built) as archive:
        archive.extract("classes.jar", tmp_path)
    java.compile_sources([page], tmp_path / "out", [tmp_path / "classes.jar"], apk.Sdk().platform)
    assert len(lines.splitlines()) <= 10
