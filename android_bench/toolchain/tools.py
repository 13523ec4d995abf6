"""The table of tools the Android work uses, and how each gets into the tools folder."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from android_bench.toolchain.debian import ToolUnavailableError, unpack

JAVA = (
    "default-jre-headless",
    "default-jre",
    "default-jdk-headless",
    "ca-certificates-java",
    "java-wrappers",
)


@dataclass(frozen=True)
class Tool:
    """One row: which packages of which release, and the file that proves it is there."""

    purpose: str
    packages: tuple[str, ...]
    suite: str
    proof: str
    architecture: str = "amd64"
    assumed: tuple[str, ...] = ()


TOOLS: dict[str, Tool] = {
    "junit": Tool("run the Java tests", ("junit4",), "bookworm", "usr/share/java/junit4.jar", assumed=JAVA),
    # bookworm has no adbd, and its qemu 7.2 crashes in LiteRT's kernels: both come from the next release.
    "adbd": Tool("a device's side of adb", ("adbd",), "trixie", "usr/lib/android-sdk/platform-tools/adbd"),
    "qemu": Tool("run Arm programs", ("qemu-user",), "trixie", "usr/bin/qemu-aarch64"),
    "sdk": Tool(
        "resources, alignment and signature of an APK; Dalvik code back to Java classes",
        ("aapt", "zipalign", "apksigner", "enjarify"),
        "bookworm",
        "usr/bin/aapt",
        assumed=JAVA,
    ),
    # The last release that has dx and an android.jar.
    "dex": Tool(
        "Java classes to Dalvik code, the platform's class stubs",
        ("dalvik-exchange", "libandroid-23-java"),
        "bullseye",
        "usr/share/java/com.android.dx.jar",
        assumed=JAVA,
    ),
    "arm64-python": Tool(
        "the runner bundle's Python",
        ("python3.11-minimal", "libpython3.11-stdlib", "libstdc++6", "libgomp1"),
        "bookworm",
        "usr/bin/python3.11",
        architecture="arm64",
        assumed=("dpkg", "debconf", "perl-base", "media-types", "tar", "libdb5.3", "libsqlite3-0"),
    ),
}


def tools_folder() -> Path:
    """Where the tools are: $MOBILEBERT_ANDROID_TOOLS or build/android-tools of the checkout."""
    default = Path(__file__).resolve().parents[2] / "build" / "android-tools"
    return Path(os.environ.get("MOBILEBERT_ANDROID_TOOLS", default))


def find(name: str) -> Path:
    """The folder of a tool that was fetched; a missing one is a `ToolUnavailableError`."""
    folder = tools_folder() / name
    if not (folder / TOOLS[name].proof).exists():
        raise ToolUnavailableError(f"{name} ({TOOLS[name].purpose}) is not fetched; run `make android-tools`")
    return folder


def fetch(name: str) -> Path:
    """Fetch a tool unless it is there; half a tool never gets the final name."""
    tool, folder = TOOLS[name], tools_folder() / name
    if (folder / tool.proof).exists():
        return folder
    building = folder.with_name(f".{name}.building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        unpack(tool.packages, tool.suite, tool.architecture, building, tool.assumed)
        if not (building / tool.proof).exists():
            raise ToolUnavailableError(f"{name}: the packages came without {tool.proof}")
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def main(names: list[str]) -> int:
    """Fetch the named tools (all by default); 1 when one cannot be had. Each says so on one line."""
    failed = 0
    for name in names or TOOLS:
        try:
            fetch(name)
            sys.stdout.write(f"{name}: there\n")
        except ToolUnavailableError as error:
            failed = 1
            sys.stdout.write(f"{name}: not available: {error}\n")
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
