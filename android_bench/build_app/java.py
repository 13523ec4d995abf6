"""Compiles and runs Java with the machine's JDK and the fetched tools, without Gradle."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from mobilebert_runtime.errors import CheckError, ToolError

ANDROID_BENCH = Path(__file__).resolve().parents[1]
CORE = ANDROID_BENCH / "core" / "src"
LIBRARY = ANDROID_BENCH / "library" / "src"


class BuildError(CheckError):
    """A tool refused the sources or a test failed."""


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """Standard output of a command; what it said is in the `BuildError` when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}".strip()
        raise BuildError(f"{Path(command[0]).name} stopped with {done.returncode}: {said[-4000:]}")
    return done.stdout


def java() -> str:
    """The java program; `ToolError` when there is no JDK 11 or later."""
    for program in ("java", "javac"):
        if which(program) is None:
            raise ToolError(f"no {program} on PATH; install a JDK, 11 or later")
    return "java"


def compile_sources(
    places: Sequence[Path], out: Path, classpath: Sequence[Path] = (), platform: Path | None = None
) -> None:
    """Compile files, and every .java under folders, to Java 8 classes against a platform's stubs or the JDK.

    Warnings are errors, except that source 8 is old and that android.jar's stubs lack annotations.
    """
    java()
    files = [path for place in places for path in ([place] if place.is_file() else place.rglob("*.java"))]
    sources = sorted(map(str, files))
    out.mkdir(parents=True, exist_ok=True)
    target = ["-source", "8", "-target", "8", "-bootclasspath", platform] if platform else ["--release", "8"]
    path = ["-cp", os.pathsep.join(map(str, classpath))] if classpath else []
    lint = ["-Xlint:all,-options,-classfile,-processing", "-Werror"]
    run(["javac", "-encoding", "UTF-8", "-nowarn", *lint, *target, *path, "-d", out, *sources])


def compile_library(out: Path, platform: Path | None = None) -> None:
    """Compile the library into `out`, against signatures of the runtimes that are never packaged."""
    stubs = out.with_name(f"{out.name}-stubs")
    compile_sources([LIBRARY / "stubs"], stubs, platform=platform)
    compile_sources([LIBRARY / "main"], out, [stubs], platform)


def run_junit(classes: Sequence[str], classpath: Sequence[Path], properties: Mapping[str, str]) -> str:
    """Run JUnit 4 classes; the report, or a `BuildError` that holds it."""
    settings = [f"-D{name}={value}" for name, value in properties.items()]
    limits = ["-Xmx1g", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8"]
    path = os.pathsep.join(map(str, classpath))
    return run([java(), *limits, *settings, "-cp", path, "org.junit.runner.JUnitCore", *classes])


def dex(folders: Sequence[Path], out: Path, dx: Path) -> None:
    """Turn class files into Dalvik code for Android 8 (API 26) and later."""
    jar = dx / "usr" / "share" / "java" / "com.android.dx.jar"
    options = ["--dex", "--min-sdk-version=26", f"--output={out}"]
    run([java(), "-cp", jar, "com.android.dx.command.Main", *options, *folders])


def undex(code: Path, jar: Path, enjarify: Path) -> None:
    """Turn Dalvik code back into class files: what ships can then be tested on a JVM."""
    path = {"PYTHONPATH": str(enjarify)}
    run([sys.executable, "-m", "enjarify.main", "-f", "-o", jar, code], path)


def gradle_value(script: Path, name: str) -> str:
    """The value of a line `name value` or `name = value` of a build.gradle.

    Raises:
        BuildError: there is no such line.
    """
    text = script.read_text(encoding="utf-8")
    found = re.search(rf"^\s*{name}\s+(?:=\s*)?'?([^'\s]+)'?\s*$", text, re.MULTILINE)
    if not found:
        raise BuildError(f"{script} has no {name}")
    return found[1]
