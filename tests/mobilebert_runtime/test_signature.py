"""Promise of signed artefacts: what somebody else made or changed is refused before it is read."""

import base64
import shutil
import subprocess

import pytest

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime import signature
from mobilebert_runtime.errors import ArtefactError, OptionError
from mobilebert_runtime.matcher import Matcher
from tests.helpers.tiny_artefacts import onnx_model, write_artefact

pytest.importorskip("cryptography", reason="not run: no cryptography; the extra `sign` brings it")
from tests.helpers.minisign_keys import write_keys


@pytest.fixture
def keys(tmp_path):
    return write_keys(tmp_path / "keys")


@pytest.fixture
def signed(tmp_path, keys):
    folder = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    signature.sign(folder, keys[0])
    return folder


def test_a_signed_artefact_opens_with_the_key_as_a_file_or_a_line(signed, keys):
    line = keys[1].read_text().splitlines()[1]
    scores = [Matcher.load(signed, public_key=key).score([("a", "b")])[0] for key in (None, keys[1], line)]
    assert len(set(scores)) == 1


def test_unsigned_changed_and_foreign_artefacts_are_refused(signed, keys, tmp_path):
    card = signed / "io.json"
    card.write_text(card.read_text().replace('"threshold": 0.5', '"threshold": 0.1'))
    write_checksums(signed)
    Matcher.load(signed)
    with pytest.raises(ArtefactError, match="does not fit"):
        Matcher.load(signed, public_key=keys[1])
    signature.sign(signed, write_keys(tmp_path / "theirs", b"2" * 32)[0])
    with pytest.raises(ArtefactError, match="another key"):
        Matcher.load(signed, public_key=keys[1])
    (signed / signature.SIGNATURE_FILE).unlink()
    with pytest.raises(ArtefactError, match="not signed"):
        Matcher.load(signed, public_key=keys[1])


@pytest.mark.parametrize("line", range(4))
def test_every_line_of_a_signature_counts(signed, keys, line):
    path = signed / signature.SIGNATURE_FILE
    lines = path.read_text().split("\n")
    good = "\n".join(lines)
    letter = "A" if lines[line][10] != "A" else "B"
    for broken in ("", lines[line][:-4], lines[line][:10] + letter + lines[line][11:]):
        path.write_text("\n".join([*lines[:line], broken, *lines[line + 1 :]]))
        if line == 0 and broken.startswith(signature.COMMENT):
            continue  # the rest of the untrusted comment is anybody's
        with pytest.raises(ArtefactError):
            Matcher.load(signed, public_key=keys[1])
    path.write_text(good)
    Matcher.load(signed, public_key=keys[1])


@pytest.mark.parametrize("which", ["missing", "public", "locked", "damaged"])
def test_what_is_no_usable_key_is_refused(keys, tmp_path, which):
    data = bytearray(base64.b64decode(keys[0].read_text().splitlines()[1]))
    path = tmp_path / "other.sec"
    if which == "public":
        shutil.copy(keys[1], path)
    elif which != "missing":
        data[2 if which == "locked" else 70] ^= 0x53
        path.write_text(f"untrusted comment: x\n{base64.b64encode(data).decode()}\n")
    with pytest.raises(OptionError, match=f"password|{which}|not a minisign secret key"):
        signature.read_secret_key(path)
    folder = write_artefact(tmp_path / "matcher", "onnx", onnx_model())
    with pytest.raises((OptionError, ArtefactError), match=r"not a minisign public key|is not signed"):
        Matcher.load(folder, public_key=path)


def test_minisign_itself_verifies_the_signature(signed, keys):
    if not shutil.which("minisign"):
        pytest.skip("not run: no minisign; apt-get install minisign")
    check = ["minisign", "-Vm", str(signed / "SHA256SUMS"), "-p", str(keys[1])]
    subprocess.run(check, check=True, capture_output=True)


def test_an_export_is_signed_and_a_bad_key_is_refused_before_the_work(keys, tmp_path):
    from tests.helpers import small_matcher

    with pytest.raises(OptionError, match="not a minisign secret key"):
        small_matcher.report("onnx", "none", tmp_path / "made", sign=keys[1])
    assert not (tmp_path / "made").exists()
    small_matcher.report("onnx", "none", tmp_path / "made", sign=keys[0])
    assert Matcher.load(tmp_path / "made", public_key=keys[1]).score([("a", "b")]).shape == (1,)
