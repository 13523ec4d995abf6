"""Promise of the Gradle project, which never runs here: its files fit each other and the plain build."""

import re
import tomllib
import xml.etree.ElementTree as ET

import pytest
import yaml

from android_bench.build_app import aar, apk, java, kotlin, maven
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError

APP = java.ANDROID_BENCH / "app"
BENCHMARK = APP / "macrobenchmark"
SCRIPTS = [folder / "build.gradle" for folder in (APP, aar.LIBRARY, maven.KTX, BENCHMARK)]
NAMESPACES = ("mobilebert.bench", "mobilebert.runtime", "mobilebert.ktx", "mobilebert.macrobenchmark")
OLDEST = ("26", "26", "26", "29")  # Macrobenchmark reads traces of a release build from Android 10 on
WORKFLOW = java.ANDROID_BENCH.parent / ".github/workflows/android.yml"


def catalog():
    return tomllib.loads((APP / "gradle/libs.versions.toml").read_text(encoding="utf-8"))


def modules():
    """Folders of the modules by name."""
    text = (APP / "settings.gradle").read_text(encoding="utf-8")
    named = re.findall(r"':(\w+)'", text.partition("include")[2].splitlines()[0])
    places = dict(re.findall(r"project\(':(\w+)'\)\.projectDir = file\('([^']+)'\)", text))
    assert places.keys() <= set(named)
    return {name: places.get(name, name) for name in named}


def test_every_alias_is_in_the_catalog_and_every_version_is_used():
    found = catalog()
    rows = [*found["libraries"].values(), *found["plugins"].values()]
    assert {row["version"]["ref"] for row in rows} == set(found["versions"])
    text = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    plugins = {name.replace(".", "-") for name in re.findall(r"alias\(libs\.plugins\.([\w.]+)\)", text)}
    libraries = set(re.findall(r"(?:implementation|compileOnly|api) libs\.(\w+)", text))
    assert (plugins, libraries) == (set(found["plugins"]), set(found["libraries"]))


def test_modules_compile_against_one_platform_and_have_their_namespaces():
    for path, namespace, oldest in zip(SCRIPTS, NAMESPACES, OLDEST, strict=True):
        assert java.gradle_value(path, "compileSdk") == "36"
        assert java.gradle_value(path, "minSdk") == oldest
        assert java.gradle_value(path, "namespace") == namespace
    assert apk.Settings.read().target_sdk == 36


def test_settings_name_the_modules_that_are_there():
    assert modules().keys() == {"library", "ktx", "macrobenchmark"}
    for folder in modules().values():
        assert (APP / folder / "build.gradle").is_file()


def test_the_repository_and_the_catalog_name_the_same_coroutines():
    assert catalog()["versions"]["coroutines"] == maven.COROUTINES.version


def test_gradle_is_one_that_the_plugin_takes():
    """Android's Gradle plugin 9.1 needs 9.3.1 (its release notes)."""
    text = (APP / "gradle/wrapper/gradle-wrapper.properties").read_text(encoding="utf-8")
    [version] = re.findall(r"gradle-([\d.]+)-bin\.zip", text)
    assert tuple(map(int, version.split("."))) >= (9, 3, 1)
    assert catalog()["versions"]["agp"].startswith("9.1.")


@pytest.mark.slow
def test_the_benchmark_compiles_and_finds_what_it_looks_for_in_the_app(tmp_path):
    """Against AndroidX's signatures as we know them; its views and its trace section are those of the app."""
    source = next((BENCHMARK / "src/main/kotlin").rglob("StartBenchmark.kt"))
    text = source.read_text(encoding="utf-8")
    views = set(re.findall(r'By\.res\(APP, "(\w+)"\)', text))
    layouts = "".join(path.read_text() for path in (APP / "src/main/res/layout").glob("*.xml"))
    assert views == {"match", "score"}
    assert all(f'"@+id/{name}"' in layouts for name in views)
    sources = "".join(path.read_text() for path in (APP / "src/main/java").rglob("*.java"))
    [section] = re.findall(r'TraceSectionMetric\("([^"]+)"\)', text)
    assert f'LOADING = "{section}"' in sources
    assert '" · "' in sources  # the row of an artefact in the list
    [told] = re.findall(r'APP = "([^"]+)"', text)
    assert told == apk.Settings.read().package
    profiled = ET.parse(APP / "src/release/AndroidManifest.xml").find("application/profileable")
    assert profiled.get("{http://schemas.android.com/apk/res/android}shell") == "true"
    try:
        junit = tools.find("junit") / "usr" / "share" / "java"
        path = [junit / "junit4.jar", junit / "hamcrest-core.jar"]
        kotlin.compile_sources(
            [BENCHMARK / "src/main/kotlin", BENCHMARK / "src/stubs/kotlin"], tmp_path / "classes", path
        )
    except ToolError as error:
        pytest.skip(f"not run: {error}")


def test_the_workflow_builds_what_is_there_with_the_wrappers_gradle():
    """It never ran; that its actions are pinned is test_project_files.py's promise."""
    steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["emulator"]["steps"]
    [version] = [step["with"]["gradle-version"] for step in steps if "gradle-version" in step.get("with", {})]
    wrapper = (APP / "gradle/wrapper/gradle-wrapper.properties").read_text(encoding="utf-8")
    assert f"gradle-{version}-bin.zip" in wrapper
    text = WORKFLOW.read_text(encoding="utf-8")
    named = set(re.findall(r"[ ]:(\w+):\w+", text))
    assert named == {"ktx", "macrobenchmark"} <= modules().keys()
    assert "providers.gradleProperty('abi')" in (APP / "build.gradle").read_text(encoding="utf-8")
    assert "-Pabi=x86_64" in text
    [instrumentation] = re.findall(r"am instrument .* mobilebert\.bench/([\w.]+)", text)
    assert (APP / "src/main/java" / f"{instrumentation.replace('.', '/')}.java").is_file()
