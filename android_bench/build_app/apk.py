"""Build the app without Gradle, from the same sources, with Debian's tools.

Proves manifest, resources, code, alignment and signature. Google's libraries are not in Debian: this build is
compiled against the signatures in library/src/stubs. It runs .onnx artefacts where ONNX Runtime and our
bridge to it were packaged, and says on screen which runtime it lacks. Numbers such as minSdk are read from
app/build.gradle, so the two builds cannot drift apart.
"""

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from android_bench.build_app import java, native
from android_bench.toolchain import tools
from mobilebert_runtime.card import check_checksums
from mobilebert_runtime.errors import ToolError

APP = java.ANDROID_BENCH / "app"
ABI = "arm64-v8a"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
KEY = ("-storetype", "PKCS12", "-storepass", "android", "-keypass", "android", "-alias", "debug")


@dataclass(frozen=True)
class Settings:
    """What build.gradle says of the app."""

    package: str
    min_sdk: int
    target_sdk: int
    version_code: int
    version_name: str

    @classmethod
    def read(cls) -> "Settings":
        """Read app/build.gradle; a missing line is a `BuildError`."""
        value = partial(java.gradle_value, APP / "build.gradle")
        return cls(
            package=value("applicationId"),
            min_sdk=int(value("minSdk")),
            target_sdk=int(value("targetSdk")),
            version_code=int(value("versionCode")),
            version_name=value("versionName"),
        )


class Sdk:
    """The unpacked Debian tools as commands."""

    def __init__(self) -> None:
        """Find the tools; `ToolError` when one was not fetched."""
        self.root = tools.find("sdk")
        self.dx = tools.find("dex")
        self.platform = self.dx / "usr/share/java/com.android.android-23.jar"
        paths = (f"{LIBRARIES}/android", LIBRARIES, "usr/lib", "usr/lib/p7zip")
        self._libraries = {"LD_LIBRARY_PATH": ":".join(str(self.root / path) for path in paths)}

    def aapt2(self, *arguments: str | Path) -> str:
        """Android's asset packager."""
        return java.run([self.root / "usr/bin/aapt2", *arguments], self._libraries)

    def zipalign(self, *arguments: str | Path) -> str:
        """Places uncompressed entries so that a device can map them."""
        return java.run([self.root / "usr/bin/zipalign", *arguments], self._libraries)

    def apksigner(self, *arguments: str | Path) -> str:
        """Signs and verifies."""
        jars = self.root / "usr/share/java"
        path = f"{jars / 'apksigner.jar'}:{jars / 'apksig.jar'}"
        return java.run([java.java(), "-cp", path, "com.android.apksigner.ApkSignerTool", *arguments])


def build(out: Path, artefacts: Sequence[Path], work: Path, libraries: Sequence[Path] = ()) -> Path:
    """Write a signed APK with some artefact folders in it.

    Args:
        out: the .apk.
        artefacts: folders that `mobilebert export` wrote; their checksums are compared first.
        work: an empty folder for everything in between; a debug key is made there.
        libraries: native libraries for 64-bit Arm, see `native.phone_libraries`.

    Raises:
        BuildError: a tool refused the sources.
        ToolError: a tool was not fetched.
        ArtefactError: a folder is damaged.
    """
    sdk, settings = Sdk(), Settings.read()
    assets = work / "assets" / "artefacts"
    assets.mkdir(parents=True)
    for folder in artefacts:
        check_checksums(folder)
        shutil.copytree(folder, assets / folder.name)
    generated = work / "generated"
    generated.mkdir()
    manifest = _manifest(settings, work / "AndroidManifest.xml")
    base, resources = work / "base.apk", work / "resources.zip"
    sdk.aapt2("compile", "--dir", APP / "src/main/res", "-o", resources)
    versions = (
        *("--min-sdk-version", str(settings.min_sdk), "--target-sdk-version", str(settings.target_sdk)),
        *("--version-code", str(settings.version_code), "--version-name", settings.version_name),
    )
    places = ("-I", sdk.platform, "-A", work / "assets", "--java", generated)
    sdk.aapt2("link", "-o", base, "--manifest", manifest, *places, *versions, resources)
    _add_code(base, work, [generated], sdk)
    with zipfile.ZipFile(base, "a", zipfile.ZIP_DEFLATED) as archive:
        for library in libraries:
            archive.write(library, f"lib/{ABI}/{library.name}")
    return sign(sdk, base, out, work, settings.min_sdk)


def sign(sdk: Sdk, unsigned: Path, out: Path, work: Path, min_sdk: int) -> Path:
    """Align an APK and sign it with a debug key that is made in `work`."""
    aligned = work / "aligned.apk"
    sdk.zipalign("-f", "-p", "4", unsigned, aligned)
    key = _debug_key(work / "debug.p12")
    part = out.with_suffix(".part")
    credentials = ("--ks", str(key), "--ks-pass", "pass:android", "--ks-key-alias", "debug")
    schemes = (f"--v{number}-signing-enabled={on}" for number, on in ((1, "false"), (2, "true"), (3, "true")))
    minimum = ("--min-sdk-version", str(min_sdk))
    sdk.apksigner("sign", *credentials, *schemes, *minimum, "--out", part, aligned)
    out.parent.mkdir(parents=True, exist_ok=True)
    part.rename(out)
    return out


def describe(apk: Path) -> dict[str, str]:
    """What the tools say of an APK: `badging` (manifest), `signature` (verified schemes), `alignment`."""
    sdk, settings = Sdk(), Settings.read()
    return {
        "badging": sdk.aapt2("dump", "badging", apk),
        "manifest": sdk.aapt2("dump", "xmltree", "--file", "AndroidManifest.xml", apk),
        "signature": sdk.apksigner("verify", "--verbose", "--min-sdk-version", str(settings.min_sdk), apk),
        "alignment": sdk.zipalign("-c", "-v", "4", apk),
    }


def _manifest(settings: Settings, path: Path) -> Path:
    """The manifest with what Gradle would add and aapt2 takes no option for.

    Native libraries are compressed and unpacked when the app is installed: mapped from inside the APK they
    would have to be aligned to 16 KiB, which this zipalign does not know.
    """
    text = (APP / "src/main/AndroidManifest.xml").read_text(encoding="utf-8")
    text = text.replace("<manifest ", f'<manifest package="{settings.package}" ', 1)
    text = text.replace("<application", '<application android:extractNativeLibs="true"', 1)
    path.write_text(text, encoding="utf-8")
    return path


def _add_code(apk: Path, work: Path, generated: Sequence[Path], sdk: Sdk) -> None:
    """Compile, turn into Dalvik code, and add that and the library's resource files."""
    library, core, app = work / "library", work / "core", work / "app"
    java.compile_library(library, sdk.platform)
    java.compile_sources([java.CORE / "main"], core, [library], sdk.platform)
    java.compile_sources([APP / "src/main/java", *generated], app, [library, core], sdk.platform)
    java.dex([library, core, app], work / "classes.dex", sdk.dx)
    resources = java.LIBRARY / "main/resources"
    with zipfile.ZipFile(apk, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.write(work / "classes.dex", "classes.dex")
        for path in sorted(resources.rglob("*")):
            if path.is_file():
                archive.write(path, str(path.relative_to(resources)))


def _debug_key(path: Path) -> Path:
    """A key like the one Android Studio signs debug builds with; it is no secret."""
    options = ["-keyalg", "RSA", "-keysize", "2048", "-validity", "10000", "-dname", "CN=Android Debug"]
    java.run(["keytool", "-genkeypair", "-keystore", path, *KEY, *options])
    return path


def main(arguments: list[str]) -> None:
    """`OUT.apk ARTEFACT…`: build in a temporary folder, with ONNX Runtime where it was fetched."""
    out = Path(arguments[0])
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        libraries: list[Path] = []
        try:
            libraries = native.phone_libraries(work / "native")
        except ToolError as error:
            sys.stderr.write(f"no runtime inside: {error}\n")
        build(out, [Path(one) for one in arguments[1:]], work, libraries)
    names = ", ".join(library.name for library in libraries) or "no native library"
    sys.stdout.write(f"{out}: {out.stat().st_size / 1e6:.1f} MB, {names}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
