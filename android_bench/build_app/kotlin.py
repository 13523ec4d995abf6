"""Compile Kotlin with the compiler of npm's registry; Maven's and Google's repositories are not needed."""

import os
from collections.abc import Sequence
from pathlib import Path

from android_bench.build_app import java
from android_bench.toolchain import tools

# dx, which makes Dalvik code here, knows classes for lambdas and plain concatenation, and no Java after 8.
PLAIN = ("-jvm-target", "1.8", "-Xlambdas=class", "-Xsam-conversions=class", "-Xstring-concat=inline")
COMPILER = ("kotlin-compiler.jar", "kotlin-stdlib.jar", "kotlin-script-runtime.jar", "kotlin-reflect.jar")
LIBRARIES = ("kotlin-stdlib.jar", "kotlinx-coroutines-core-jvm.jar")


def libraries() -> list[Path]:
    """Kotlin's standard library and its coroutines; `ToolError` where the compiler was not fetched."""
    folder = tools.find("kotlin") / "lib"
    return [folder / name for name in LIBRARIES]


def compile_sources(
    places: Sequence[Path], out: Path, classpath: Sequence[Path], *, explicit: bool = False
) -> None:
    """Compile every .kt under some places to Java 8 classes; warnings are errors.

    Args:
        places: files and folders.
        out: where the classes go.
        classpath: jars and folders beside Kotlin's own libraries.
        explicit: of a library: what is public must say so.

    Raises:
        BuildError: the compiler refused the sources.
        ToolError: it was not fetched.
    """
    folder = tools.find("kotlin") / "lib"
    compiler = os.pathsep.join(str(folder / name) for name in COMPILER)
    path = os.pathsep.join(map(str, [*classpath, *libraries()]))
    options = [
        "-no-stdlib",
        "-no-reflect",
        "-Werror",
        *PLAIN,
        *(["-Xexplicit-api=strict"] if explicit else []),
    ]
    program = [java.java(), "-Xmx700m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", compiler]
    java.run(
        [*program, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", *options, "-cp", path, "-d", out, *places]
    )
