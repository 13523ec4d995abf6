"""What a Maven repository says of a library: its POM, Gradle's module metadata, and checksums."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from android_bench.build_app import java

# Where Maven Central would have the project: a name on GitHub that is ours is proof of the group.
OWNER, PROJECT = "mobilebert-export", "mobilebert-export"
GROUP = f"io.github.{OWNER}"
URL = f"https://github.com/{OWNER}/{PROJECT}"
DIGESTS = ("md5", "sha1", "sha256", "sha512")
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 https://maven.apache.org/xsd/maven-4.0.0.xsd">
  <!-- do_not_remove: published-with-gradle-metadata -->
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{name}</artifactId>
  <version>{version}</version>
  <packaging>aar</packaging>
  <name>{name}</name>
  <description>{description}</description>
  <url>{url}</url>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>
      <distribution>repo</distribution>
    </license>
  </licenses>
  <developers>
    <developer>
      <id>{owner}</id>
      <name>The {owner} authors</name>
      <url>{url}</url>
    </developer>
  </developers>
  <scm>
    <connection>scm:git:{url}.git</connection>
    <developerConnection>scm:git:{url}.git</developerConnection>
    <url>{url}</url>
  </scm>
{dependencies}</project>
"""
DEPENDENCY = """    <dependency>
      <groupId>{0.group}</groupId>
      <artifactId>{0.name}</artifactId>
      <version>{0.version}</version>{1}
      <scope>compile</scope>
    </dependency>
"""
METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>{0.group}</groupId>
  <artifactId>{0.name}</artifactId>
  <versioning>
    <latest>{0.version}</latest>
    <release>{0.version}</release>
    <versions>
      <version>{0.version}</version>
    </versions>
  </versioning>
</metadata>
"""


@dataclass(frozen=True)
class Coordinates:
    """Where a library is found."""

    group: str
    name: str
    version: str
    packaging: str = "jar"


@dataclass(frozen=True)
class Publication:
    """A library as an .aar file, and what it needs."""

    name: str
    description: str
    needs: tuple[Coordinates, ...] = ()

    @property
    def version(self) -> str:
        """That of library/build.gradle, which all share."""
        return java.gradle_value(java.ANDROID_BENCH / "library" / "build.gradle", "version")

    @property
    def coordinates(self) -> Coordinates:
        """Its own."""
        return Coordinates(GROUP, self.name, self.version, "aar")

    def pom(self) -> str:
        """The POM, as Maven Central asks for it."""
        rows = "".join(
            DEPENDENCY.format(one, "\n      <type>aar</type>" if one.packaging == "aar" else "")
            for one in self.needs
        )
        dependencies = f"  <dependencies>\n{rows}  </dependencies>\n" if rows else ""
        return POM.format(
            group=GROUP,
            name=self.name,
            version=self.version,
            description=self.description,
            url=URL,
            owner=OWNER,
            dependencies=dependencies,
        )

    def module(self, aar: Path, sources: Path, javadoc: Path) -> str:
        """Gradle's module metadata, which Gradle prefers to the POM."""
        needs = [
            {"group": one.group, "module": one.name, "version": {"requires": one.version}}
            for one in self.needs
        ]
        library = {
            "org.gradle.category": "library",
            "org.gradle.dependency.bundling": "external",
            "org.gradle.libraryelements": "aar",
        }
        variants = [
            {
                "name": f"release{name}Publication",
                "attributes": library | {"org.gradle.usage": f"java-{usage}"},
                "dependencies": needs,
                "files": [_file(aar)],
            }
            for name, usage in (("Api", "api"), ("Runtime", "runtime"))
        ]
        for kind, path in (("sources", sources), ("javadoc", javadoc)):
            attributes = {
                "org.gradle.category": "documentation",
                "org.gradle.dependency.bundling": "external",
                "org.gradle.docstype": kind,
                "org.gradle.usage": "java-runtime",
            }
            variants.append(
                {
                    "name": f"release{kind.title()}Publication",
                    "attributes": attributes,
                    "files": [_file(path)],
                }
            )
        component = {"group": GROUP, "module": self.name, "version": self.version}
        data = {
            "formatVersion": "1.1",
            "component": component | {"attributes": {"org.gradle.status": "release"}},
            "createdBy": {"gradle": {"version": "9.1.0"}},
            "variants": variants,
        }
        return json.dumps(data, indent=2) + "\n"

    def publish(self, repository: Path, aar: Path, sources: Path, javadoc: Path) -> Path:
        """Put the library into a repository's folder, each file with its checksums; the version's folder.

        Args:
            repository: the root.
            aar: the library.
            sources: a jar of what it is made of.
            javadoc: a jar of its documentation.
        """
        home = repository.joinpath(*GROUP.split("."), self.name)
        folder = home / self.version
        folder.mkdir(parents=True)
        stem = f"{self.name}-{self.version}"
        files = {
            f"{stem}.aar": aar.read_bytes(),
            f"{stem}-sources.jar": sources.read_bytes(),
            f"{stem}-javadoc.jar": javadoc.read_bytes(),
            f"{stem}.pom": self.pom().encode(),
        }
        for name, content in files.items():
            _write(folder / name, content)
        paths = [folder / f"{stem}{suffix}" for suffix in (".aar", "-sources.jar", "-javadoc.jar")]
        _write(folder / f"{stem}.module", self.module(*paths).encode())
        _write(home / "maven-metadata.xml", METADATA.format(self.coordinates).encode())
        return folder


def _file(path: Path) -> dict[str, object]:
    content = path.read_bytes()
    sums = {digest: hashlib.new(digest, content).hexdigest() for digest in reversed(DIGESTS)}
    return {"name": path.name, "url": path.name, "size": len(content), **sums}


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for digest in DIGESTS:
        path.with_name(f"{path.name}.{digest}").write_text(hashlib.new(digest, content).hexdigest())
