"""Records of studies: packed ones read like loose ones."""

import json

import pytest

from mobilebert_runtime.errors import DataError
from studies.common import pack
from studies.common.records import PACKED, read_all, read_folder, read_json, recorded
from studies.common.script import command
from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path):
    for name, value in {"b.seed0": 2, "a.seed0": 1, "a.seed1": 3}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"value": value}))
    pack.main(tmp_path)
    return tmp_path


def test_packed_records_are_read_by_name_and_pattern(folder):
    assert [path.name for path in folder.iterdir()] == [PACKED]
    assert list(read_folder(folder)) == ["a.seed0.json", "a.seed1.json", "b.seed0.json"]
    assert [record["value"] for record in read_all(folder, "*.seed0.json")] == [1, 2]


def test_a_packed_run_is_not_made_again_and_a_loose_one_goes_before_it(folder):
    assert recorded(folder / "a.seed1.json", lambda: pytest.fail("made again")) == {"value": 3}
    (folder / "a.seed1.json").write_text(json.dumps({"value": 4}))
    assert recorded(folder / "a.seed1.json", dict) == {"value": 4}
    assert recorded(folder / "c.seed0.json", lambda: {"value": 5}) == {"value": 5}
    pack.main(folder)
    assert [record["value"] for record in read_all(folder)] == [1, 4, 2, 5]
    assert [path.name for path in folder.iterdir()] == [PACKED]


def test_a_damaged_archive_is_named_and_deletes_nothing(folder):
    (folder / PACKED).write_bytes(b"no archive")
    (folder / "new.json").write_text("{}")
    for read in (read_folder, pack.main):
        with pytest.raises(DataError, match=PACKED):
            read(folder)
    assert (folder / "new.json").is_file()


def test_a_compressed_record_is_read_where_there_is_no_plain_one():
    assert read_json(ROOT / "results" / "front_page" / "speed.json")["summary"]


def test_pack_is_a_command():
    assert [parameter.name for parameter in command(pack.main).params] == ["folder"]
