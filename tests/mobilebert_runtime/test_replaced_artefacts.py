"""Promise of loading: one artefact, whole, whatever another process does to its folder meanwhile."""

import json
import os
import shutil
import threading

import numpy as np
import pytest

from mobilebert_export.pipeline.artefact_folder import new_folder, write_checksums
from mobilebert_runtime.artefact_files import read_files
from mobilebert_runtime.errors import ArtefactError, OptionError
from mobilebert_runtime.matcher import Matcher

PAIRS = [("How old is the Moon?", "What is the age of the Moon?")]
FEW, MANY = 25, 500  # loads beside as many replacements


def two_exports(artefact, folder, sign=None):
    """The same network with temperature 1 and labels of its own, and with temperature 4 and others."""
    found = {}
    for temperature, labels in ((1.0, ["different", "same"]), (4.0, ["other", "alike"])):
        out = folder / f"export-{temperature:g}"
        shutil.copytree(artefact, out)
        card = json.loads((out / "io.json").read_text()) | {"temperature": temperature, "labels": labels}
        (out / "io.json").write_text(json.dumps(card))
        write_checksums(out)
        if sign:
            sign(out)
        matcher = Matcher.load(out)
        found[matcher.card.labels] = (out, float(matcher.score(PAIRS)[0]), matcher.fingerprint)
    return found


def replace_folder(export, out):
    with new_folder(out, force=True) as building:
        shutil.copytree(export, building, dirs_exist_ok=True)


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_loads_beside_replacements_are_of_one_export(target, signed, count, request, tmp_path):
    key, sign = None, None
    if signed:
        pytest.importorskip("cryptography", reason="not run: no cryptography; the extra `sign` brings it")
        from mobilebert_runtime import signature
        from tests.helpers.minisign_keys import write_keys

        secret, key = write_keys(tmp_path / "keys")

        def sign(folder):
            signature.sign(folder, secret)

    exports = two_exports(request.getfixturevalue(f"{target}_artefact"), tmp_path, sign)
    if signed:  # every third replacement is unsigned
        unsigned = tmp_path / "unsigned"
        shutil.copytree(next(iter(exports.values()))[0], unsigned)
        (unsigned / "SHA256SUMS.minisig").unlink()
        card = json.loads((unsigned / "io.json").read_text()) | {"labels": ["no", "yes"]}
        (unsigned / "io.json").write_text(json.dumps(card))
        write_checksums(unsigned)
    folders = [*(one[0] for one in exports.values()), *([unsigned] if signed else [])]
    out = tmp_path / "served"
    replace_folder(folders[0], out)
    replaced, loading = [], threading.Event()

    def replace():
        while len(replaced) < count or not loading.is_set():
            replace_folder(folders[len(replaced) % len(folders)], out)
            replaced.append(1)

    writer = threading.Thread(target=replace)
    writer.start()
    loaded, refused, mixed = 0, [], []
    while loaded < count or len(replaced) < count:
        try:
            matcher = Matcher.load(out, public_key=key)
        except ArtefactError as error:
            refused.append(str(error))
            continue
        loaded += 1
        _, score, fingerprint = exports.get(matcher.card.labels, (None, None, None))
        if matcher.score(PAIRS)[0] != score or matcher.fingerprint != fingerprint:
            mixed.append(matcher.card.labels)
    loading.set()
    writer.join()
    assert len(replaced) >= count
    assert not mixed
    assert all(signed and "is not signed" in one for one in refused), refused
    if signed:
        replace_folder(unsigned, out)
        with pytest.raises(ArtefactError, match="is not signed"):
            Matcher.load(out, public_key=key)


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("change", ["overwrite", "cut", "delete"])
def test_a_loaded_model_does_not_see_what_becomes_of_its_file(target, change, request, tmp_path):
    folder = tmp_path / "served"
    shutil.copytree(request.getfixturevalue(f"{target}_artefact"), folder)
    matcher = Matcher.load(folder)
    before = matcher.score(PAIRS)
    path = folder / matcher.card.model_file
    if change == "delete":
        shutil.rmtree(folder)
    elif change == "cut":
        os.truncate(path, 100)
    else:
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
    np.testing.assert_array_equal(matcher.score(PAIRS), before)


def test_every_file_is_read_once(onnx_artefact, monkeypatch):
    import builtins
    import io

    opened, real = [], io.open

    def watched(file, *arguments, **options):
        opened.append(os.path.basename(str(file)))  # noqa: PTH119 (a descriptor may come as well)
        return real(file, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "open", watched)
        patched.setattr(io, "open", watched)
        Matcher.load(onnx_artefact)
    mine = [name for name in opened if (onnx_artefact / name).is_file()]
    assert sorted(mine) == sorted(path.name for path in onnx_artefact.iterdir())


def test_weights_in_another_file_are_refused(onnx_artefact, tmp_path):
    import onnx

    folder = tmp_path / "external"
    shutil.copytree(onnx_artefact, folder)
    model = onnx.load(folder / "model.onnx")
    onnx.save(
        model, folder / "model.onnx", save_as_external_data=True, location="weights", size_threshold=500
    )
    write_checksums(folder)
    with pytest.raises(ArtefactError, match=r"model\.onnx: keeps weights in another file"):
        Matcher.load(folder)


def test_a_signature_older_than_asked_is_refused(onnx_artefact, tmp_path, monkeypatch):
    pytest.importorskip("cryptography", reason="not run: no cryptography; the extra `sign` brings it")
    from mobilebert_runtime import signature
    from tests.helpers.minisign_keys import write_keys

    secret, public = write_keys(tmp_path / "keys")
    folder = tmp_path / "signed"
    shutil.copytree(onnx_artefact, folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764288000")  # 2025-11-28, 00:00 UTC
    signature.sign(folder, secret)
    for since in ("2025-11-28", "2025-11-28T01:00:00+01:00", "2020-01-01"):
        assert read_files(folder, public, since).card.target == "onnx"
    for since in ("2025-11-28T00:00:01", "2025-11-29"):
        with pytest.raises(ArtefactError, match="was signed 2025-11-28 00:00:00 UTC, not since"):
            Matcher.load(folder, public_key=public, signed_since=since)
    for wrong in ("yesterday", "", 5):
        with pytest.raises(OptionError, match="signed_since is"):
            Matcher.load(folder, public_key=public, signed_since=wrong)
    with pytest.raises(OptionError, match="without a public_key"):
        Matcher.load(folder, signed_since="2025-11-28")
