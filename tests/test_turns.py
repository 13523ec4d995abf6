"""Promise: a slow test that no landing runs does not exist."""

import re
from collections import Counter

import pytest

from tests.turns import ROOT, SWEEP_PARTS, TURNS, part_of, part_of_commit, turn_of, turn_of_commit

SLOW = re.compile(r"mark\.slow\b")


def slow_files():
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in files if SLOW.search(path.read_text(encoding="utf-8"))]


def test_every_slow_test_has_a_turn_and_every_turn_has_tests():
    assert {turn_of(path) for path in slow_files()} == set(TURNS)


def test_the_most_precise_place_decides():
    assert turn_of("tests/e2e/test_export_table.py") == "exports"
    assert turn_of("tests/e2e/test_interruptions.py") == "trainings"


def test_a_file_in_no_turn_is_an_error():
    with pytest.raises(LookupError, match="elsewhere"):
        turn_of("tests/elsewhere/test_new.py")


def test_the_commit_has_a_turn():
    assert turn_of_commit() in TURNS
    assert part_of_commit() in range(SWEEP_PARTS)


def test_the_parts_of_a_sweep_are_about_as_large():
    sizes = Counter(part_of(f"test_folder[{number}]") for number in range(600))
    assert set(sizes) == set(range(SWEEP_PARTS))
    assert max(sizes.values()) < 2 * min(sizes.values())


def test_every_sweep_is_slow():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"mark\.sweep\b", text)) <= len(SLOW.findall(text)), path
