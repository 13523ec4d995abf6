"""A Maven repository of the Android libraries, as a folder and as a zip file, without Gradle.

    OUT/repository/io/github/…    POM, module metadata, .aar, sources, documentation, each with checksums
        mobilebert-maven.zip      the same; an app adds the unpacked folder to its repositories

mobilebert-runtime is the Java library, mobilebert-runtime-ktx its Kotlin layer, and
mobilebert-runtime-model-NAME an artefact in an app's assets.
"""

import argparse
import sys
import tempfile
import zipfile
from pathlib import Path

from android_bench.build_app import aar, apk, java, kotlin
from android_bench.build_app.publication import GROUP, Coordinates, Publication
from mobilebert_runtime.card import check_checksums

KTX = java.ANDROID_BENCH / "ktx"
ARCHIVE = "mobilebert-maven.zip"
# Of the compiler that the Kotlin layer is built with, and of the coroutines in its package.
KOTLIN = Coordinates("org.jetbrains.kotlin", "kotlin-stdlib", "2.4.20")
COROUTINES = Coordinates("org.jetbrains.kotlinx", "kotlinx-coroutines-core", "1.8.0")


def ktx() -> Publication:
    """The Kotlin layer."""
    needs = (aar.RUNTIME.coordinates, KOTLIN, COROUTINES)
    return Publication(
        "mobilebert-runtime-ktx",
        "Kotlin for mobilebert-runtime: an FAQ in five lines, suspend functions, flows.",
        needs,
    )


def model(name: str) -> Publication:
    """An artefact as a dependency."""
    return Publication(
        f"mobilebert-runtime-model-{name.removeprefix('matcher-')}",
        f"The artefact {name} for an app's assets.",
        (aar.RUNTIME.coordinates,),
    )


def build(out: Path, artefact: Path, name: str, work: Path) -> Path:
    """Write the repository and its zip file; the zip file's path.

    Args:
        out: a folder, made if it is not there; its `repository` must not be there.
        artefact: the folder that the model's library packages.
        name: the model's name, and the folder's in an app's assets.
        work: an empty folder for everything in between.

    Raises:
        ArtefactError: the artefact is damaged.
        BuildError: a tool refused the sources.
        ToolError: a tool was not fetched.
    """
    check_checksums(artefact)
    repository = out / "repository"
    library = aar.build(work / "aar", work / "library")
    _publish_runtime(repository, library, work)
    _publish_ktx(repository, library, work)
    _publish_model(repository, artefact, name, work)
    archive = out / ARCHIVE
    aar.archive(archive, [repository])
    return archive


def _publish_runtime(repository: Path, library: Path, work: Path) -> None:
    sources = java.LIBRARY / "main/java"
    jar = work / "runtime-sources.jar"
    aar.archive(jar, [sources])
    stubs = work / "documented-stubs"
    java.compile_sources([java.LIBRARY / "stubs"], stubs)
    pages = work / "javadoc"
    quiet = ["-quiet", "-Xdoclint:none", "-notimestamp", "-encoding", "UTF-8", "-source", "8"]
    java.run(["javadoc", *quiet, "-d", pages, "-cp", stubs, "-sourcepath", sources, "mobilebert.runtime"])
    documentation = work / "runtime-javadoc.jar"
    aar.archive(documentation, [pages])
    aar.RUNTIME.publish(repository, library, jar, documentation)


def _publish_ktx(repository: Path, library: Path, work: Path) -> None:
    sources = KTX / "src/main/kotlin"
    with zipfile.ZipFile(library) as opened:
        opened.extract("classes.jar", work / "core")
    classes = work / "ktx"
    kotlin.compile_sources([sources], classes, [work / "core/classes.jar", apk.Sdk().platform], explicit=True)
    jar, aar_path = work / "ktx.jar", work / "ktx.aar"
    aar.archive(jar, [classes], zipfile.ZIP_STORED)
    aar.write(aar_path, "mobilebert.ktx", jar, b"")  # nothing in it is found by name
    packed = work / "ktx-sources.jar"
    aar.archive(packed, [sources])
    # Kotlin's documentation generator is in no registry here: the comments are in the sources.
    ktx().publish(repository, aar_path, packed, _note(work, "The documentation is in the sources' comments."))


def _publish_model(repository: Path, artefact: Path, name: str, work: Path) -> None:
    files = {f"{name}/{path.name}": path.read_bytes() for path in sorted(artefact.iterdir())}
    empty, path = work / "empty.jar", work / "model.aar"
    aar.archive(empty, [])
    namespace = f"mobilebert.model.{name.replace('-', '_')}"
    aar.write(path, namespace, empty, b"", files)
    note = _note(work, f"The files of {name}; see mobilebert-export for how they were made.")
    model(name).publish(repository, path, note, note)


def _note(work: Path, text: str) -> Path:
    """A jar with a README, where Maven Central asks for one and there is nothing else to put into it."""
    folder = work / "note"
    folder.mkdir(exist_ok=True)
    (folder / "README.txt").write_text(text + "\n", encoding="utf-8")
    jar = work / "note.jar"
    aar.archive(jar, [folder])
    return jar


def main(arguments: list[str]) -> None:
    """`OUT ARTEFACT NAME`: build into a folder."""
    parser = argparse.ArgumentParser(prog="python -m android_bench.build_app.maven")
    parser.add_argument("out", type=Path)
    parser.add_argument("artefact", type=Path)
    parser.add_argument("name")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        path = build(given.out, given.artefact, given.name, Path(temporary))
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB, group {GROUP}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
