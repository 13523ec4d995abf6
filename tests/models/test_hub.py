"""Hub ids: found in huggingface_hub's cache without a network, refused in one line where they are not."""

import pytest
from huggingface_hub import constants

from mobilebert_models import find_directory
from mobilebert_models.loading.hub import is_hub_id
from mobilebert_models.loading.packaged import packaged_directory
from mobilebert_runtime.errors import ModelError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ID = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache laid out by hand as huggingface_hub's, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    home = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = home / "snapshots" / COMMIT
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(COMMIT)
    snapshot.mkdir(parents=True)
    blobs = home / "blobs"
    blobs.mkdir()
    for path in packaged_directory("minilm").iterdir():
        if path.is_file():
            (blobs / path.name).symlink_to(path)
            (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
    return snapshot


def test_a_cached_id_is_its_snapshot(cache):
    found = find_directory(ID)
    assert found.resolve() == cache.resolve()
    assert (found / "config.json").is_file()


def test_a_folder_of_the_same_name_comes_first(cache, tmp_path, monkeypatch):
    (tmp_path / "here" / ID).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert not is_hub_id(ID)
    assert str(find_directory(ID)) == ID


@pytest.mark.parametrize(
    "name",
    ["runs/mine", "Models/mine", "out/model", "checkpoints/7", "here/mistyped", "./a/b", "../a", "a/b/c"],
)
def test_a_mistyped_path_is_never_looked_up(cache, tmp_path, monkeypatch, capfd, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", None)
    with pytest.raises(ModelError, match="no such directory; give a path"):
        find_directory(name)
    assert capfd.readouterr().err == ""


def test_an_id_is_said_and_needs_no_folder(cache, capfd):
    find_directory(ID)
    assert capfd.readouterr().err == f"fetching {ID} from the hub\n"


def test_what_is_not_cached_is_one_line_that_says_where_it_looked(cache, tmp_path):
    with pytest.raises(ModelError) as error:
        find_directory("nobody/nothing")
    said = str(error.value)
    assert "\n" not in said
    for part in ("'nobody/nothing'", "no such directory", str(tmp_path), "give a directory"):
        assert part in said


def test_a_snapshot_without_safetensors_is_refused(cache):
    (cache / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"no model\.safetensors; convert it with transformers"):
        find_directory(ID)


@pytest.mark.parametrize("name", ["minilm", "a/b/c", "/etc/model", "../model", "a/", "C:\\model", "a b/c"])
def test_other_names_are_no_ids(name):
    assert not is_hub_id(name)
    with pytest.raises(ModelError, match="is unknown"):
        find_directory("nothing of that name")
