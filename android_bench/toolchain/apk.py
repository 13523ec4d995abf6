"""Build the app without Gradle, from the same sources, with Debian's tools.

Proves manifest, resources, code, alignment and signature. Google's libraries are not in Debian: this build is
compiled against the signatures in app/src/stubs and says on screen that it has no runtime. Numbers such as
minSdk are read from app/build.gradle, so the two builds cannot drift apart.
"""

import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from android_bench.toolchain import java, tools
from mobilebert_export.artefact import check_checksums

APP = java.ROOM / "app"
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
        text = (APP / "build.gradle").read_text(encoding="utf-8")

        def value(name: str) -> str:
            found = re.search(rf"^\s*{name}\s+'?([^'\s]+)'?\s*$", text, re.MULTILINE)
            if not found:
                raise java.BuildError(f"{APP / 'build.gradle'} has no {name}")
            return found[1]

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
        """Find the tools; `ToolUnavailableError` when one was not fetched."""
        self.root = tools.find("sdk")
        self.dx = tools.find("dex")
        self.platform = self.dx / "usr/share/java/com.android.android-23.jar"
        paths = (f"{LIBRARIES}/android", LIBRARIES, "usr/lib", "usr/lib/p7zip")
        self._libraries = {"LD_LIBRARY_PATH": ":".join(str(self.root / path) for path in paths)}

    def aapt(self, *arguments: str | Path) -> str:
        """Android's asset packager."""
        return java.run([self.root / "usr/bin/aapt", *arguments], self._libraries)

    def zipalign(self, *arguments: str | Path) -> str:
        """Places uncompressed entries so that a device can map them."""
        return java.run([self.root / "usr/bin/zipalign", *arguments], self._libraries)

    def apksigner(self, *arguments: str | Path) -> str:
        """Signs and verifies."""
        jars = self.root / "usr/share/java"
        path = f"{jars / 'apksigner.jar'}:{jars / 'apksig.jar'}"
        return java.run([java.java(), "-cp", path, "com.android.apksigner.ApkSignerTool", *arguments])


def build(out: Path, artefacts: Sequence[Path], work: Path) -> Path:
    """Write a signed APK with some artefact folders in it.

    Args:
        out: the .apk.
        artefacts: folders that `mobilebert export` wrote; their checksums are compared first.
        work: an empty folder for everything in between; a debug key is made there.

    Raises:
        BuildError: a tool refused the sources.
        ToolUnavailableError: a tool was not fetched.
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
    base = work / "base.apk"
    sources: list[str | Path] = [
        "-M",
        manifest,
        "-S",
        APP / "src/main/res",
        "-A",
        work / "assets",
        "-I",
        sdk.platform,
    ]
    stored = ("-0", "tflite", "-0", "onnx")  # uncompressed, so that the app can map the model
    sdk.aapt("package", "-f", "-m", *sources, *stored, "-J", generated, "-F", base)
    _add_code(base, work, [generated], sdk)
    aligned = work / "aligned.apk"
    sdk.zipalign("-f", "-p", "4", base, aligned)
    key = _debug_key(work / "debug.p12")
    part = out.with_suffix(".part")
    credentials = ("--ks", str(key), "--ks-pass", "pass:android", "--ks-key-alias", "debug")
    schemes = (f"--v{number}-signing-enabled={on}" for number, on in ((1, "false"), (2, "true"), (3, "true")))
    minimum = ("--min-sdk-version", str(settings.min_sdk))
    sdk.apksigner("sign", *credentials, *schemes, *minimum, "--out", part, aligned)
    out.parent.mkdir(parents=True, exist_ok=True)
    part.rename(out)
    return out


def describe(apk: Path) -> dict[str, str]:
    """What the tools say of an APK: `badging` (manifest), `signature` (verified schemes), `alignment`."""
    sdk, settings = Sdk(), Settings.read()
    return {
        "badging": sdk.aapt("dump", "badging", apk),
        "manifest": sdk.aapt("dump", "xmltree", apk, "AndroidManifest.xml"),
        "signature": sdk.apksigner("verify", "--verbose", "--min-sdk-version", str(settings.min_sdk), apk),
        "alignment": sdk.zipalign("-c", "-v", "4", apk),
    }


def _manifest(settings: Settings, path: Path) -> Path:
    """The manifest with what Gradle would add: package, version, SDK range."""
    text = (APP / "src/main/AndroidManifest.xml").read_text(encoding="utf-8")
    head = (
        f'<manifest package="{settings.package}" android:versionCode="{settings.version_code}" '
        f'android:versionName="{settings.version_name}" '
    )
    sdk = f'<uses-sdk android:minSdkVersion="{settings.min_sdk}" '
    sdk += f'android:targetSdkVersion="{settings.target_sdk}" />'
    text = text.replace("<manifest ", head, 1).replace("<application", f"{sdk}\n    <application", 1)
    path.write_text(text, encoding="utf-8")
    return path


def _add_code(apk: Path, work: Path, generated: Sequence[Path], sdk: Sdk) -> None:
    """Compile, turn into Dalvik code, and add that and the core's resource files."""
    core, stubs, app = work / "core", work / "stubs", work / "app"
    java.compile_sources([java.CORE / "main"], core, platform=sdk.platform)
    java.compile_sources([APP / "src/stubs/java"], stubs, platform=sdk.platform)
    java.compile_sources([APP / "src/main/java", *generated], app, [core, stubs], platform=sdk.platform)
    java.dex([core, app], work / "classes.dex", sdk.dx)
    resources = java.CORE / "main/resources"
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
    """`OUT.apk ARTEFACT…`: build in a temporary folder and print the size."""
    out = Path(arguments[0])
    with tempfile.TemporaryDirectory() as work:
        build(out, [Path(one) for one in arguments[1:]], Path(work))
    sys.stdout.write(f"{out}: {out.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
