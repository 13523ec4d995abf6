"""Promise of `make maven`: Maven resolves the repository, and a Kotlin app is built from its files alone."""

import hashlib
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile

import pytest

from android_bench.build_app import aar, apk, java, kotlin, maven, publication
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError
from tests.helpers import phone_tasks, tiny_tasks
from tests.helpers.documented_commands import blocks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NAME = "matcher-tiny"
POM_NAMESPACE = "{http://maven.apache.org/POM/4.0.0}"
PLUGIN = "org/apache/maven/plugins/maven-dependency-plugin"


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    task, kind, fields = phone_tasks.ARTEFACTS["matching-one-logit"]
    return tiny_tasks.write(tmp_path_factory.mktemp("artefact") / NAME, task, kind, **fields)


@pytest.fixture(scope="module")
def repository(tmp_path_factory, artefact):
    """The zip file, unpacked."""
    folder = tmp_path_factory.mktemp("maven")
    work = folder / "work"
    work.mkdir()
    try:
        archive = maven.build(folder / "out", artefact, NAME, work)
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder / "unpacked")
    return folder / "unpacked"


def publications():
    return [aar.RUNTIME, maven.ktx(), maven.model(NAME)]


def place(repository, one):
    return repository.joinpath(*publication.GROUP.split("."), one.name, one.version)


def test_every_file_has_its_checksums_and_every_library_its_parts(repository):
    for one in publications():
        folder, stem = place(repository, one), f"{one.name}-{one.version}"
        names = {path.name for path in folder.iterdir()}
        files = {f"{stem}{suffix}" for suffix in (".aar", ".pom", ".module", "-sources.jar", "-javadoc.jar")}
        assert names == files | {f"{name}.{digest}" for name in files for digest in publication.DIGESTS}
        for path in (folder / name for name in files):
            for digest in publication.DIGESTS:
                told = path.with_name(f"{path.name}.{digest}").read_text()
                assert told == hashlib.new(digest, path.read_bytes()).hexdigest()
        assert (folder.parent / "maven-metadata.xml").is_file()


def test_poms_say_what_maven_central_asks_and_modules_the_same(repository):
    for one in publications():
        folder, stem = place(repository, one), f"{one.name}-{one.version}"
        root = ET.parse(folder / f"{stem}.pom").getroot()
        for tag in (
            "name",
            "description",
            "url",
            "licenses/license/url",
            "developers/developer/name",
            "scm/url",
        ):
            path = "/".join(f"{POM_NAMESPACE}{part}" for part in tag.split("/"))
            assert root.findtext(path), f"{one.name}: {tag}"
        told = [
            tuple(row.findtext(f"{POM_NAMESPACE}{tag}") for tag in ("groupId", "artifactId", "version"))
            for row in root.iter(f"{POM_NAMESPACE}dependency")
        ]
        module = json.loads((folder / f"{stem}.module").read_text())
        for variant in module["variants"]:
            for file in variant["files"]:
                assert file["sha256"] == hashlib.sha256((folder / file["url"]).read_bytes()).hexdigest()
                assert file["size"] == (folder / file["url"]).stat().st_size
        [runtime] = [one for one in module["variants"] if one["attributes"]["org.gradle.usage"] == "java-api"]
        needs = [(row["group"], row["module"], row["version"]["requires"]) for row in runtime["dependencies"]]
        assert needs == told


def test_the_model_arrives_whole(repository, artefact, tmp_path):
    one = maven.model(NAME)
    with zipfile.ZipFile(place(repository, one) / f"{one.name}-{one.version}.aar") as opened:
        opened.extractall(tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "assets" / NAME).iterdir()} == {
        path.name: path.read_bytes() for path in artefact.iterdir()
    }
    properties = (tmp_path / "META-INF/com/android/build/gradle/aar-metadata.properties").read_text()
    assert "minCompileSdk=26" in properties


def kotlins_repository(folder):
    """Kotlin's own libraries, which come from Maven Central otherwise, under their names."""
    for one, jar in zip((maven.KOTLIN, maven.COROUTINES), kotlin.libraries(), strict=True):
        home = folder.joinpath(*one.group.split("."), one.name, one.version)
        home.mkdir(parents=True)
        shutil.copy(jar, home / f"{one.name}-{one.version}.jar")
        (home / f"{one.name}-{one.version}.pom").write_text(
            f"<project><modelVersion>4.0.0</modelVersion><groupId>{one.group}</groupId>"
            f"<artifactId>{one.name}</artifactId><version>{one.version}</version></project>"
        )
    return folder


def test_maven_resolves_it_without_a_network(repository, tmp_path):
    if shutil.which("mvn") is None:
        pytest.skip("not run: no mvn on PATH; install Maven")
    try:
        debian = tools.find("maven-dependency") / "usr/share/maven-repo"
        junit = tools.find("junit") / "usr/share/maven-repo"  # which the plugin asks for
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    [version] = [path.name for path in (debian / PLUGIN).iterdir() if list(path.glob("*.jar"))]
    places = {
        "zip": repository,
        "kotlin": kotlins_repository(tmp_path / "kotlin"),
        "central": debian,  # in the place of the network's
    }
    rows = "".join(
        f"<dependency><groupId>{publication.GROUP}</groupId><artifactId>{one.name}</artifactId>"
        f"<version>{one.version}</version><type>aar</type></dependency>"
        for one in publications()[1:]
    )
    known = "".join(
        f"<repository><id>{name}</id><url>file://{path}</url></repository>" for name, path in places.items()
    )
    plugins = "".join(
        f"<pluginRepository><id>{name}</id><url>file://{path}</url></pluginRepository>"
        for name, path in (("central", debian), ("junit", junit))
    )
    (tmp_path / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>app</groupId><artifactId>app</artifactId>"
        f"<version>1</version><packaging>pom</packaging><repositories>{known}</repositories>"
        f"<pluginRepositories>{plugins}</pluginRepositories><dependencies>{rows}</dependencies></project>"
    )
    goal = f"org.apache.maven.plugins:maven-dependency-plugin:{version}:copy-dependencies"
    (tmp_path / "settings.xml").write_text("<settings/>")
    options = [
        "-B",
        "-s",
        "settings.xml",
        f"-Dmaven.repo.local={tmp_path / 'local'}",
        "-DoutputDirectory=found",
    ]
    done = subprocess.run(
        ["mvn", *options, goal], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:]
    wanted = {f"{one.name}-{one.version}.aar" for one in publications()}
    assert wanted <= {path.name for path in (tmp_path / "found").iterdir()}
    for one in publications():
        name = f"{one.name}-{one.version}.aar"
        assert (tmp_path / "found" / name).read_bytes() == (place(repository, one) / name).read_bytes()


def unpacked(repository, folder):
    """Jars and assets of the libraries in the repository."""
    jars, assets = [], {}
    for one in publications():
        with zipfile.ZipFile(place(repository, one) / f"{one.name}-{one.version}.aar") as opened:
            jar = folder / f"{one.name}.jar"
            jar.write_bytes(opened.read("classes.jar"))
            jars += [jar] if zipfile.ZipFile(jar).namelist() else []
            assets |= {
                name.removeprefix("assets/"): opened.read(name)
                for name in opened.namelist()
                if name.startswith("assets/")
            }
    return jars, assets


def test_a_kotlin_app_is_built_from_it_alone_and_signed(repository, tmp_path):
    jars, assets = unpacked(repository, tmp_path)
    sample = maven.KTX / "sample"
    sdk = apk.Sdk()
    kotlin.compile_sources([sample / "kotlin"], tmp_path / "app", [*jars, sdk.platform])
    code = [*jars, *map(without_versions(tmp_path), kotlin.libraries()), tmp_path / "app"]
    out = aar.package_app(code, sample / "AndroidManifest.xml", assets, tmp_path / "app.apk", tmp_path)
    said = sdk.apksigner("verify", "--verbose", "--min-sdk-version", "26", out)
    assert "v3 scheme (APK Signature Scheme v3): true" in said
    with zipfile.ZipFile(out) as opened:
        assert f"assets/{NAME}/model.onnx" in opened.namelist()
        code = opened.read("classes.dex")
    for name in (
        b"Lmobilebert/sample/FaqActivity;",
        b"Lmobilebert/ktx/Faq;",
        b"Lmobilebert/runtime/FaqStore;",
    ):
        assert name in code


def without_versions(folder):
    """A jar without its classes for later Javas, which Android's tools leave out too."""

    def copy(jar):
        out = folder / jar.name
        with zipfile.ZipFile(jar) as opened, zipfile.ZipFile(out, "w") as kept:
            for name in opened.namelist():
                if not name.startswith("META-INF/") and "module-info" not in name:
                    kept.writestr(name, opened.read(name))
        return out

    return copy


def test_the_kotlin_of_the_page_compiles_against_it(repository, tmp_path):
    """Each block is a function of its own; the last ones give what they open to the app."""
    jars, _ = unpacked(repository, tmp_path)
    imports = "android.content.Context java.io.File java.net.URL kotlinx.coroutines.* mobilebert.ktx.*"
    imports += " kotlinx.coroutines.flow.Flow mobilebert.runtime.* mobilebert.sample.downloadArtefact"
    given = "context: Context, typed: Flow<String>, folder: File, show: (Any?) -> Unit"
    found = blocks("docs/android.md", "kotlin")
    assert len(found) == 5
    functions = [f"suspend fun page{number}({given}) {{\n{lines}}}\n" for number, lines in enumerate(found)]
    page = tmp_path / "Page.kt"
    page.write_text("".join(f"import {name}\n" for name in imports.split()) + "".join(functions))
    download = maven.KTX / "sample/kotlin/mobilebert/sample/Download.kt"
    kotlin.compile_sources([page, download], tmp_path / "page", [*jars, apk.Sdk().platform])
    assert max(len([line for line in lines.splitlines() if line.strip()]) for lines in found) <= 12


def test_coroutines_are_cancelled_and_the_last_text_is_answered(repository, artefact, tmp_path):
    jars, _ = unpacked(repository, tmp_path)
    junit = tools.find("junit") / "usr" / "share" / "java"
    path = [*jars, junit / "junit4.jar", junit / "hamcrest-core.jar"]
    kotlin.compile_sources([maven.KTX / "src/test/kotlin"], tmp_path / "tests", path)
    report = java.run_junit(
        ["mobilebert.ktx.FaqTest"], [tmp_path / "tests", *path, *kotlin.libraries()], {"golden": artefact}
    )
    assert re.search(r"OK \(5 tests\)", report)


def test_the_samples_download_goes_on_where_it_stopped(repository, tmp_path):
    """docs/android.md shows its use; an app copies the file."""
    jars, _ = unpacked(repository, tmp_path)
    junit = tools.find("junit") / "usr" / "share" / "java"
    path = [*jars, junit / "junit4.jar", junit / "hamcrest-core.jar"]
    sample = maven.KTX / "sample"
    sources = [sample / "kotlin/mobilebert/sample/Download.kt", sample / "test/kotlin"]
    kotlin.compile_sources(sources, tmp_path / "tests", path)
    report = java.run_junit(
        ["mobilebert.sample.DownloadTest"], [tmp_path / "tests", *path, *kotlin.libraries()], {}
    )
    assert re.search(r"OK \(5 tests\)", report)
