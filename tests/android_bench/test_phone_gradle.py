"""Promise of the Gradle project, which never runs here: its files fit each other and the plain build."""

import re
import tomllib

from android_bench.build_app import aar, apk, java, maven

APP = java.ANDROID_BENCH / "app"
SCRIPTS = [APP / "build.gradle", aar.LIBRARY / "build.gradle", maven.KTX / "build.gradle"]


def catalog():
    return tomllib.loads((APP / "gradle/libs.versions.toml").read_text(encoding="utf-8"))


def test_every_alias_is_in_the_catalog_and_every_version_is_used():
    found = catalog()
    rows = [*found["libraries"].values(), *found["plugins"].values()]
    assert {row["version"]["ref"] for row in rows} == set(found["versions"])
    text = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    plugins = {name.replace(".", "-") for name in re.findall(r"alias\(libs\.plugins\.([\w.]+)\)", text)}
    libraries = set(re.findall(r"(?:implementation|compileOnly|api) libs\.(\w+)", text))
    assert (plugins, libraries) == (set(found["plugins"]), set(found["libraries"]))


def test_modules_compile_against_one_platform_and_have_their_namespaces():
    for path, namespace in zip(
        SCRIPTS, ("mobilebert.bench", "mobilebert.runtime", "mobilebert.ktx"), strict=True
    ):
        assert java.gradle_value(path, "compileSdk") == "36"
        assert java.gradle_value(path, "minSdk") == "26"
        assert java.gradle_value(path, "namespace") == namespace
    assert apk.Settings.read().target_sdk == 36


def test_settings_name_the_modules_that_are_there():
    text = (APP / "settings.gradle").read_text(encoding="utf-8")
    for name, folder in re.findall(r"project\(':(\w+)'\)\.projectDir = file\('([^']+)'\)", text):
        assert f"':{name}'" in text.partition("include")[2].splitlines()[0]
        assert (APP / folder / "build.gradle").is_file()
    assert "../library" in text


def test_the_repository_and_the_catalog_name_the_same_coroutines():
    assert catalog()["versions"]["coroutines"] == maven.COROUTINES.version


def test_gradle_is_one_that_the_plugin_takes():
    """Android's Gradle plugin 9.1 needs 9.3.1 (its release notes)."""
    text = (APP / "gradle/wrapper/gradle-wrapper.properties").read_text(encoding="utf-8")
    [version] = re.findall(r"gradle-([\d.]+)-bin\.zip", text)
    assert tuple(map(int, version.split("."))) >= (9, 3, 1)
    assert catalog()["versions"]["agp"].startswith("9.1.")
