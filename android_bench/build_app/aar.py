"""Build the Android library without Gradle: an AAR, its POM, and a listing of its public classes.

    OUT/mobilebert-runtime-0.1.0.aar    classes.jar, AndroidManifest.xml, R.txt, proguard.txt, aar-metadata
        mobilebert-runtime-0.1.0.pom    for a Maven repository in a folder
        api.txt                         public and protected members, as library/api.txt has them

Version and the oldest Android are read from library/build.gradle. No runtime is inside.
"""

import re
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from android_bench.build_app import apk, java, publication, shrink

LIBRARY = java.ANDROID_BENCH / "library"
# No clock in the archive: the same sources give the same bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
# What Android's Gradle plugin asks before it takes an AAR.
METADATA = """aarFormatVersion=1.0
aarMetadataVersion=1.0
minCompileSdk={min_sdk}
minCompileSdkExtension=0
minAndroidGradlePluginVersion=1.0.0
coreLibraryDesugaringEnabled=false
"""
RUNTIME = publication.Publication(
    "mobilebert-runtime",
    "Runs text models that mobilebert-export exported: pairs, vectors, classes, names, answers, an FAQ.",
)


def min_sdk() -> int:
    """The oldest Android that the library runs on, of library/build.gradle; `BuildError` without one."""
    return int(java.gradle_value(LIBRARY / "build.gradle", "minSdk"))


def build(out: Path, work: Path) -> Path:
    """Write the AAR with its POM and listing into a folder; returns the AAR's path.

    Args:
        out: the folder, made if it is not there.
        work: an empty folder for everything in between.

    Raises:
        BuildError: a tool refused the sources.
        ToolError: a tool was not fetched.
    """
    sdk = apk.Sdk()
    classes = work / "classes"
    java.compile_library(classes, sdk.platform)
    jar = work / "classes.jar"
    archive(jar, [classes, java.LIBRARY / "main/resources"], zipfile.ZIP_STORED)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{RUNTIME.name}-{RUNTIME.version}.aar"
    rules = (LIBRARY / "consumer-rules.pro").read_bytes()
    write(path, java.gradle_value(LIBRARY / "build.gradle", "namespace"), jar, rules)
    path.with_suffix(".pom").write_text(RUNTIME.pom(), encoding="utf-8")
    (out / "api.txt").write_text(listing(jar), encoding="utf-8")
    return path


def write(
    path: Path, namespace: str, jar: Path, rules: bytes, assets: Mapping[str, bytes] | None = None
) -> None:
    """Write an AAR.

    Args:
        path: the file.
        namespace: package of its manifest.
        jar: its classes.
        rules: what an app's shrinker must keep.
        assets: files for an app's assets, by their names there.
    """
    manifest = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<manifest xmlns:android="http://schemas.android.com/apk/res/android" '
        f'package="{namespace}">\n    <uses-sdk android:minSdkVersion="{min_sdk()}" />\n</manifest>\n'
    )
    members = {
        "AndroidManifest.xml": manifest.encode(),
        "classes.jar": jar.read_bytes(),
        "R.txt": b"",  # it has no resources
        "proguard.txt": rules,
        "META-INF/com/android/build/gradle/aar-metadata.properties": METADATA.format(
            min_sdk=min_sdk()
        ).encode(),
    }
    members |= {f"assets/{name}": content for name, content in (assets or {}).items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            _add(opened, name, content)


def listing(jar: Path) -> str:
    """Public and protected members of the public classes of a jar, in order, as javap writes them."""
    with zipfile.ZipFile(jar) as opened:
        classes = sorted(name[:-6].replace("/", ".") for name in opened.namelist() if name.endswith(".class"))
    said = java.run(["javap", "-protected", "-cp", jar, *classes])
    blocks = re.findall(r"^((?:public|protected) .*?^\})", said, re.MULTILINE | re.DOTALL)
    return "\n".join(blocks) + "\n"


def compile_app(
    aar: Path, sources: Path, manifest: Path, out: Path, work: Path, *, shrunk: bool = False
) -> Path:
    """A signed APK of a Java app that is compiled against the platform and the AAR, and nothing else.

    Args:
        aar: the library.
        sources: the app's Java.
        manifest: its manifest, whose activities keep their names.
        out: the .apk.
        work: an empty folder for everything in between.
        shrunk: shrink and move all classes by the rules that the AAR brings.

    Raises:
        BuildError: a tool refused the sources.
        ToolError: a tool was not fetched.
    """
    sdk = apk.Sdk()
    with zipfile.ZipFile(aar) as opened:
        opened.extract("classes.jar", work)
        opened.extract("proguard.txt", work)
    jar = work / "classes.jar"
    java.compile_sources([sources], work / "app", [jar], sdk.platform)
    code = [jar, work / "app"]
    if shrunk:
        activities = re.findall(
            r'<activity[^>]*android:name="([\w.]+)"', manifest.read_text(encoding="utf-8")
        )
        rules: list[str | Path] = [
            work / "proguard.txt",
            *(f"-keep class {name} {{ <init>(); }}" for name in activities),
        ]
        small = work / "shrunk.jar"
        shrink.shrink(code, small, rules, [sdk.platform], work)
        code = [small]
    return package_app(code, manifest, {}, out, work)


def package_app(
    code: Sequence[Path], manifest: Path, assets: Mapping[str, bytes], out: Path, work: Path
) -> Path:
    """A signed APK of compiled code, jars and folders, with the other files of the jars and some assets."""
    sdk, base = apk.Sdk(), work / "base.apk"
    java.dex(code, work / "classes.dex", sdk.dx)
    versions = ("--min-sdk-version", str(min_sdk()), "--version-code", "1", "--version-name", RUNTIME.version)
    sdk.aapt2("link", "-o", base, "--manifest", manifest, "-I", sdk.platform, *versions)
    with zipfile.ZipFile(base, "a", zipfile.ZIP_DEFLATED) as opened:
        opened.write(work / "classes.dex", "classes.dex")
        for jar in (path for path in code if path.is_file()):
            with zipfile.ZipFile(jar) as library:
                for name in library.namelist():
                    if not name.endswith((".class", "/")) and not name.startswith("META-INF/"):
                        opened.writestr(name, library.read(name))
        for name, content in assets.items():
            opened.writestr(f"assets/{name}", content)
    return apk.sign(sdk, base, out, work, min_sdk())


def archive(path: Path, folders: Sequence[Path], compression: int = zipfile.ZIP_DEFLATED) -> None:
    """A zip file of the files in some folders, by name.

    Classes that go into an AAR are stored: the AAR compresses them as one, to three quarters of what
    they take one by one.
    """
    with zipfile.ZipFile(path, "w") as opened:
        for folder in folders:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    _add(opened, str(file.relative_to(folder)), file.read_bytes(), compression)


def _add(opened: zipfile.ZipFile, name: str, content: bytes, compression: int = zipfile.ZIP_DEFLATED) -> None:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.compress_type = compression
    entry.external_attr = 0o644 << 16
    opened.writestr(entry, content)


def main(arguments: list[str]) -> None:
    """`OUT`: build into a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        path = build(Path(arguments[0]), Path(temporary))
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e3:.0f} kB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
