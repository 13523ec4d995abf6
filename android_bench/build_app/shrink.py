"""Shrink classes and move them all, as R8 does in a release build, with Debian's ProGuard.

R8 itself is in Google's repository alone. Since Android's Gradle plugin 9.1 it repackages by default: every
class that no rule pins gets another name, in the package without a name.
"""

from collections.abc import Sequence
from pathlib import Path

from android_bench.build_app import java
from android_bench.toolchain import tools


def shrink(
    jars: Sequence[Path], out: Path, rules: Sequence[str | Path], provided: Sequence[Path], work: Path
) -> dict[str, str]:
    """Write one jar of the classes that are reached, renamed, and of all other files as they are.

    Args:
        jars: the app and its libraries.
        out: the jar that is written.
        rules: what to keep: lines, or files of lines such as an AAR's proguard.txt.
        provided: jars and folders of classes that are there at run time: the platform.
        work: a folder for the list of new names.

    Returns:
        New names of the classes by their old names.

    Raises:
        BuildError: ProGuard refused the rules or the classes.
        ToolError: it was not fetched.
    """
    program = tools.find("proguard") / "usr/share/java/proguard.jar"
    mapping = work / "mapping.txt"
    options = [
        *("-injars", ":".join(map(str, jars)), "-outjars", str(out)),
        *("-libraryjars", ":".join(map(str, provided))),
        *("-repackageclasses", "-allowaccessmodification", "-dontnote"),
        *("-printmapping", str(mapping), "-optimizationpasses", "2"),
    ]
    for rule in rules:
        options += ["-include", str(rule)] if isinstance(rule, Path) else [rule]
    java.run([java.java(), "-Xss300000", "-cp", program, "proguard.ProGuard", *options])
    lines = mapping.read_text(encoding="utf-8").splitlines()
    pairs = (
        line.rstrip(":").split(" -> ") for line in lines if line and not line[0].isspace() and line[0] != "#"
    )
    return dict(pairs)
