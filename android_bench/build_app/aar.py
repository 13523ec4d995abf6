"""Build the Android library without Gradle: an AAR, its POM, and a listing of its public classes.

    OUT/mobilebert-runtime-0.1.0.aar    classes.jar, AndroidManifest.xml, R.txt, proguard.txt
        mobilebert-runtime-0.1.0.pom    for a Maven repository in a folder
        api.txt                         public and protected members, as library/api.txt has them

Name, version and the oldest Android are read from library/build.gradle. No runtime is inside.
"""

import re
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from android_bench.build_app import apk, java

LIBRARY = java.ANDROID_BENCH / "library"
# No clock in the archive: the same sources give the same bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{name}</artifactId>
  <version>{version}</version>
  <packaging>aar</packaging>
  <licenses>
    <license>
      <name>Apache-2.0</name>
    </license>
  </licenses>
</project>
"""


@dataclass(frozen=True)
class Coordinates:
    """What build.gradle says of the library."""

    group: str
    name: str
    version: str
    namespace: str
    min_sdk: int

    @classmethod
    def read(cls) -> "Coordinates":
        """Read library/build.gradle; a missing line is a `BuildError`."""
        value = partial(java.gradle_value, LIBRARY / "build.gradle")
        return cls(
            group=value("groupId"),
            name=value("artifactId"),
            version=value("version"),
            namespace=value("namespace"),
            min_sdk=int(value("minSdk")),
        )


def build(out: Path, work: Path) -> Path:
    """Write the AAR with its POM and listing into a folder; returns the AAR's path.

    Args:
        out: the folder, made if it is not there.
        work: an empty folder for everything in between.

    Raises:
        BuildError: a tool refused the sources.
        ToolError: a tool was not fetched.
    """
    sdk, names = apk.Sdk(), Coordinates.read()
    classes = work / "classes"
    java.compile_library(classes, sdk.platform)
    jar = work / "classes.jar"
    _archive(jar, [classes, java.LIBRARY / "main/resources"])
    uses = f'<uses-sdk android:minSdkVersion="{names.min_sdk}" />'
    manifest = (LIBRARY / "src/main/AndroidManifest.xml").read_text(encoding="utf-8")
    manifest = manifest.replace("<manifest ", f'<manifest package="{names.namespace}" ', 1)
    manifest = manifest.replace(" />\n", f">\n    {uses}\n</manifest>\n", 1)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{names.name}-{names.version}.aar"
    members = {
        "AndroidManifest.xml": manifest.encode(),
        "classes.jar": jar.read_bytes(),
        "R.txt": b"",  # it has no resources
        "proguard.txt": (LIBRARY / "consumer-rules.pro").read_bytes(),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            _add(archive, name, content)
    described = POM.format(group=names.group, name=names.name, version=names.version)
    path.with_suffix(".pom").write_text(described, encoding="utf-8")
    (out / "api.txt").write_text(listing(jar), encoding="utf-8")
    return path


def listing(jar: Path) -> str:
    """Public and protected members of the public classes of a jar, in order, as javap writes them."""
    with zipfile.ZipFile(jar) as archive:
        classes = sorted(
            name[:-6].replace("/", ".") for name in archive.namelist() if name.endswith(".class")
        )
    said = java.run(["javap", "-protected", "-cp", jar, *classes])
    blocks = re.findall(r"^((?:public|protected) .*?^\})", said, re.MULTILINE | re.DOTALL)
    return "\n".join(blocks) + "\n"


def compile_app(aar: Path, sources: Path, manifest: Path, out: Path, work: Path) -> Path:
    """A signed APK of an app that is compiled against the platform and the AAR, and nothing else.

    Raises:
        BuildError: a tool refused the sources.
        ToolError: a tool was not fetched.
    """
    sdk, names = apk.Sdk(), Coordinates.read()
    with zipfile.ZipFile(aar) as archive:
        archive.extract("classes.jar", work)
    jar, base = work / "classes.jar", work / "base.apk"
    java.compile_sources([sources], work / "app", [jar], sdk.platform)
    java.dex([jar, work / "app"], work / "classes.dex", sdk.dx)
    versions = (
        "--min-sdk-version",
        str(names.min_sdk),
        "--version-code",
        "1",
        "--version-name",
        names.version,
    )
    sdk.aapt2("link", "-o", base, "--manifest", manifest, "-I", sdk.platform, *versions)
    with zipfile.ZipFile(base, "a", zipfile.ZIP_DEFLATED) as archive, zipfile.ZipFile(jar) as library:
        archive.write(work / "classes.dex", "classes.dex")
        for name in library.namelist():
            if not name.endswith(".class"):
                archive.writestr(name, library.read(name))
    return apk.sign(sdk, base, out, work, names.min_sdk)


def _archive(path: Path, folders: list[Path]) -> None:
    """A zip file of the files in some folders, by name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    _add(archive, str(file.relative_to(folder)), file.read_bytes())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def main(arguments: list[str]) -> None:
    """`OUT`: build into a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        path = build(Path(arguments[0]), Path(temporary))
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e3:.0f} kB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
