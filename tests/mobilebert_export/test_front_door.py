"""What a newcomer types first: version, completion, slips of the fingers, help, a missing extra."""

import importlib.metadata
import itertools
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

from mobilebert_export.command_line import extras
from mobilebert_export.command_line import program as cli
from tests.conftest import ROOT

# An import of what the extras bring fails as if it were not installed.
WITHOUT = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in {absent!r} else found(name, *rest)
from mobilebert_export.command_line.program import main
main(sys.argv[1:])
"""


def run(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "mobilebert_export", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def said(capsys, *words):
    with pytest.raises(SystemExit) as end:
        cli.main(list(words))
    out, err = capsys.readouterr()
    return end.value.code, out, err


def test_the_version_is_the_distributions(capsys):
    version = importlib.metadata.version("mobilebert-export")
    assert said(capsys, "--version") == (0, f"mobilebert-export {version}\n", "")


@pytest.mark.parametrize(("typed", "meant"), [("mtach", "match"), ("exprot", "export"), ("serach", "search")])
def test_a_slip_names_the_command_that_was_meant(capsys, typed, meant):
    code, out, err = said(capsys, typed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"did you mean `{meant}`" in err
    assert "did you mean" not in said(capsys, "xyzzy")[2]


def test_shells_complete_commands_and_options():
    def completed(words, place):
        program = "mobilebert_export.command_line.program"
        script = f"import sys; sys.argv = ['mobilebert']; from {program} import main; main()"
        environment = {"_MOBILEBERT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | environment,
        )
        return done.stdout.split()

    assert completed("mobilebert exp", 1) == ["export"]
    assert completed("mobilebert export --qu", 2) == ["--quant"]


def test_exports_help_begins_with_what_most_exports_need():
    shown = run("export", "--help", COLUMNS="100").stdout
    headings = re.findall(r"─ ([A-Z][^─]+?) ─", shown)
    assert headings[0] == "Options"
    assert {"Lengths", "Quantisation", "Verification and latency"} <= set(headings)
    first = shown[: shown.index(headings[1])]
    assert set(re.findall(r"--[a-z-]+", first)) == {
        "--out",
        "--model",
        "--target",
        "--layout",
        "--quant",
        "--force",
        "--help",
    }


@pytest.mark.parametrize("name", ["export", "calibrate", "ship"])
def test_help_wraps_where_the_terminal_ends_and_nowhere_else(name):
    """No line of a paragraph stops early: the next line's first word would not have fitted."""
    lines = run(name, "--help", COLUMNS="80").stdout.split("╭")[0].splitlines()
    text = [line.strip() for line in lines[3:]]
    for line, following in itertools.pairwise(text):
        if line and following:
            assert len(line) + 1 + len(following.split()[0]) > 76, (line, following)


@pytest.mark.parametrize("name", sorted(extras.NEEDED))
def test_a_command_without_its_extra_says_so_in_one_line(name, tmp_path):
    absent = {name for names in extras.EXTRAS.values() for name in names} | set(extras.FURTHER)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(absent=absent), name],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f'pip install "mobilebert-export[{extras.NEEDED[name]}]"' in done.stderr


def test_an_extra_that_only_some_uses_need_is_named(monkeypatch, capsys):
    def absent(*_, **__):
        raise ModuleNotFoundError("No module named 'ray'", name="ray.data")

    monkeypatch.setattr(cli, "app", absent)
    code, _, err = said(capsys, "mine", "x")
    assert (code, err) == (
        2,
        'mobilebert: mine: ray is not installed; pip install "mobilebert-export[ray]"\n',
    )


def test_the_extras_are_those_of_the_distribution():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.EXTRAS) | set(extras.FURTHER.values()) <= set(declared)
    assert set(extras.NEEDED) <= set(cli.FOLDERS)
    base = set(cli.FOLDERS) - set(extras.NEEDED)
    assert base == {"run", "match", "search", "push", "phone", "web"}


def test_the_table_of_models_has_the_shipped_ones_with_the_size_of_their_weights(capsys):
    found = json.loads(said(capsys, "models", "--json")[1])
    for name in ("matcher-open-m", "matcher-open-s", "matcher-qqp-m", "matcher-qqp-s"):
        weights = ROOT / "models/mobilebert_models/shipped" / name / "model.safetensors"
        assert found[name]["bytes"]["weights"] == weights.stat().st_size
    assert "weights" not in found["bert-base"]["bytes"]
