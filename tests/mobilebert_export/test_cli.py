"""The program's front: a table of commands that costs nothing until one of them runs."""

import importlib
import json
import subprocess
import sys

import pytest

from mobilebert_export.command_line import program as cli

HEAVY = ("torch", "numpy", "transformers", "litert_torch", "onnx", "onnxruntime", "tokenizers", "matplotlib")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The real program in a process of its own."""
    command = [sys.executable, "-m", "mobilebert_export", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_imports_nothing_heavy():
    script = (
        "import sys\nfrom mobilebert_export.command_line.program import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    code = end.code\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "LOADED [] 0" in done.stdout
    for name in cli.FOLDERS:
        assert f" {name} " in done.stdout


@pytest.mark.parametrize("name", sorted(cli.FOLDERS))
def test_every_row_of_the_table_has_its_command(name):
    before = set(sys.modules)
    attribute = name.replace("-", "_")
    module = importlib.import_module(
        f"mobilebert_export.command_line.commands.{cli.FOLDERS[name]}.{attribute}"
    )
    assert not {"torch", "litert_torch"} & (set(sys.modules) - before), "heavy import at module level"
    assert getattr(module, attribute).__doc__
    assert cli.load_command(name).name == name


def test_an_unknown_command_and_an_unknown_flag_are_one_line_and_exit_2():
    for arguments in (["exprot"], ["export", "--quantt", "int8"], ["match", "--threads", "many"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("mobilebert: ")


def test_without_a_command_the_help_is_shown():
    done = run()
    assert done.returncode == 2
    assert "Usage" in done.stdout
    assert done.stderr.strip() == ""


def test_a_defect_keeps_its_traceback(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(ZeroDivisionError):
        cli.main(["models"])


def test_an_error_with_an_exit_code_becomes_one_line(monkeypatch, capsys):
    class BadInputError(Exception):
        exit_code = 2

    def refuse(*_: object, **__: object) -> None:
        raise BadInputError("first line\nsecond line " + "x" * 10_000 + " do this instead")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as end:
        cli.main(["models"])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) < 700
    assert said.startswith("mobilebert: first line second line")
    assert said.endswith("do this instead\n")


def test_models_as_json_and_as_a_table(capsys):
    with pytest.raises(SystemExit):
        cli.main(["models", "--json"])
    found = json.loads(capsys.readouterr().out)
    row = found["mobilebert"]
    assert row["parameters"]["total"] == sum(n for part, n in row["parameters"].items() if part != "total")
    assert row["bytes"]["fp32"] == 4 * row["parameters"]["total"]
    assert row["seq_len"] == 128
    with pytest.raises(SystemExit):
        cli.main(["models"])
    table = capsys.readouterr().out
    for name in found:
        assert name in table
    assert "…" not in table  # no figure is cut
