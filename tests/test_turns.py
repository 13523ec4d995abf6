"""Promise: a slow test that no landing runs does not exist."""

import re

import pytest

from tests.turns import ROOT, TURNS, turn_of, turn_of_commit

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
