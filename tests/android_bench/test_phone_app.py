"""Promise of android_bench/app: its sources build into an APK that a phone from Android 8 on installs."""

import re
import zipfile

import pytest

from android_bench.build_app import apk, java, native
from android_bench.toolchain import tools
from mobilebert_runtime.card import check_checksums
from mobilebert_runtime.errors import ArtefactError, ToolError
from tests.helpers.tiny_artefacts import onnx_model, write_artefact

pytestmark = pytest.mark.slow

SHIPPED = java.ANDROID_BENCH.parent / "artefacts" / "matcher-int8"
SIZE_LIMIT = 25_000_000


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The APK with one artefact, and what the tools say of it."""
    folder = tmp_path_factory.mktemp("apk")
    artefact = write_artefact(folder / "tiny", "onnx", onnx_model())
    library = folder / "libstandin.so"
    library.write_bytes(b"any content is packaged: what it must be is test_phone_bridge.py's promise")
    out = folder / "app.apk"
    try:
        apk.build(out, [artefact], folder / "work", [library])
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    return out, apk.describe(out)


def test_manifest_says_what_gradle_says(built):
    badging = built[1]["badging"]
    settings = apk.Settings.read()
    assert f"package: name='{settings.package}'" in badging
    assert f"sdkVersion:'{settings.min_sdk}'" in badging
    assert f"targetSdkVersion:'{settings.target_sdk}'" in badging
    assert "application-debuggable" not in badging
    assert "launchable-activity: name='mobilebert.bench.app.MainActivity'" in badging
    assert "uses-permission" not in badging


def test_native_libraries_are_unpacked_when_it_is_installed(built):
    """So their place in the APK, which this zipalign aligns for pages of 4 KiB, does not matter."""
    assert re.search(r"extractNativeLibs\(0x010104ea\)=(true|\(type 0x12\)0xffffffff)", built[1]["manifest"])
    assert "native-code: 'arm64-v8a'" in built[1]["badging"]
    with zipfile.ZipFile(built[0]) as archive:
        assert archive.getinfo("lib/arm64-v8a/libstandin.so").compress_type == zipfile.ZIP_DEFLATED


def test_it_is_signed_and_aligned(built):
    said = built[1]["signature"]
    assert "v2 scheme (APK Signature Scheme v2): true" in said
    assert "v3 scheme (APK Signature Scheme v3): true" in said
    assert "Verification successful" in built[1]["alignment"]


def test_a_screen_that_measures_stays_when_anything_about_the_phone_changes(built):
    """Made anew, it would stop its run; the other screens are made anew and find what they held."""
    [flags] = re.findall(r"configChanges\(0x0101001f\)=(?:\(type 0x11\))?(0x[0-9a-f]+)", built[1]["manifest"])
    names = {  # android.content.pm.ActivityInfo.CONFIG_* that the build knows
        "locale": 0x4,
        "keyboard": 0x10,
        "keyboardHidden": 0x20,
        "navigation": 0x40,
        "orientation": 0x80,
        "screenLayout": 0x100,
        "uiMode": 0x200,
        "screenSize": 0x400,
        "smallestScreenSize": 0x800,
        "layoutDirection": 0x2000,
        "fontScale": 0x40000000,
    }
    assert {name for name, flag in names.items() if not int(flags, 16) & flag} == set()


def test_every_component_of_the_manifest_is_in_the_code(built, tmp_path):
    out, said = built
    with zipfile.ZipFile(out) as archive:
        archive.extract("classes.dex", tmp_path)
        # Android reads the table through the class loader, from a folder that no shrinker moves.
        assert archive.read("mobilebert-runtime/unicode.txt").startswith(b"#")
    enjarify = tools.find("sdk") / "usr/lib/python3/dist-packages"
    java.undex(tmp_path / "classes.dex", tmp_path / "classes.jar", enjarify)
    with zipfile.ZipFile(tmp_path / "classes.jar") as jar:
        classes = {name.removesuffix(".class").replace("/", ".") for name in jar.namelist()}
    named = set(re.findall(r'android:name\(0x01010003\)="(mobilebert[\w.]+)"', said["manifest"]))
    kinds = {"MainActivity", "BenchmarkActivity", "MatchActivity", "FaqActivity", "BenchInstrumentation"}
    assert named == {f"mobilebert.bench.app.{kind}" for kind in kinds}
    assert named <= classes
    assert "mobilebert.runtime.WordPiece" in classes
    # The stand-ins the build was compiled against must not shadow the real runtimes.
    assert not [
        name for name in classes if name.startswith(("org.tensorflow", "com.google", "ai.onnxruntime"))
    ]


def test_the_artefact_arrives_whole(built, tmp_path):
    with zipfile.ZipFile(built[0]) as archive:
        for name in archive.namelist():
            if name.startswith("assets/artefacts/tiny/"):
                archive.extract(name, tmp_path)
    check_checksums(tmp_path / "assets/artefacts/tiny")


def test_a_damaged_artefact_is_refused(tmp_path):
    artefact = write_artefact(tmp_path / "tiny", "onnx", onnx_model())
    (artefact / "vocab.txt").write_text("[PAD]\n")
    try:
        with pytest.raises(ArtefactError, match=r"vocab\.txt"):
            apk.build(tmp_path / "app.apk", [artefact], tmp_path / "work")
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    assert not (tmp_path / "app.apk").exists()


def test_with_the_shipped_artefact_it_is_small(tmp_path):
    """Native libraries, ten megabytes more, do not count: a Gradle build brings its own."""
    if not SHIPPED.is_dir():
        pytest.skip("not run: no artefacts/matcher-int8; run `make android-artefacts`")
    try:
        apk.build(tmp_path / "app.apk", [SHIPPED], tmp_path / "work")
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    with zipfile.ZipFile(tmp_path / "app.apk") as archive:
        packaged = {name for name in archive.namelist() if name.startswith("assets/artefacts/matcher-int8/")}
    assert packaged == {f"assets/artefacts/matcher-int8/{path.name}" for path in SHIPPED.iterdir()}
    assert (tmp_path / "app.apk").stat().st_size <= SIZE_LIMIT


def test_with_its_runtime_it_answers_through_the_bridge(tmp_path):
    """`make apk` packages both libraries, and the classes that load them."""
    artefact = write_artefact(tmp_path / "tiny", "onnx", onnx_model())
    try:
        libraries = native.phone_libraries(tmp_path / "native")
        apk.build(tmp_path / "app.apk", [artefact], tmp_path / "work", libraries)
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    with zipfile.ZipFile(tmp_path / "app.apk") as archive:
        for library in libraries:
            assert archive.read(f"lib/arm64-v8a/{library.name}") == library.read_bytes()
        assert b"Lmobilebert/runtime/OnnxBridge;" in archive.read("classes.dex")
    assert "v3 scheme (APK Signature Scheme v3): true" in apk.describe(tmp_path / "app.apk")["signature"]
