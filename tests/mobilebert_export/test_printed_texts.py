"""Promise: what is printed of users' texts, names and paths is shown as it is, and can't steer a terminal."""

import ast
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.table import Table

from mobilebert_export import console
from mobilebert_export.command_line.commands.artefact.match import line
from mobilebert_export.command_line.program import main
from mobilebert_export.command_line.written_results import as_json, as_lines
from mobilebert_export.terminal import Terminal, markdown
from mobilebert_models import MatcherSettings
from mobilebert_models.loading.labels import read_labels
from mobilebert_runtime.errors import ModelError, printable
from tests.helpers.toys import toy_pairs, write_pairs

ROOT = Path(__file__).parents[2]
INSTALLED = ("mobilebert_runtime", "models", "matching", "training", "android_bench", "mobilebert_export")
MARKING = ("rich.console", "rich.markdown", "rich")
# What rich takes for markup, what a terminal obeys, and what turns a line around.
MARKUP = ("x[/b]", "[bold]y", "[/]", "[link=http://a.b]z", ":smile:")
CONTROL = ("\x1b[31mred", "a\x9b2Jb", "a\x07b", "c\rd", "\u202egnp.exe", "e\x7ff", "\x00g", "h\u2028i")


def raw(text):
    """Characters of a text that a terminal obeys."""
    return [one for one in text if one not in "\n\t" and printable(one) != one]


def written(show):
    """What a function prints on a console that is a file."""
    file = io.StringIO()
    show(Terminal(file=file, width=200))
    return file.getvalue()


@pytest.mark.parametrize("text", [*MARKUP, *CONTROL])
def test_lines_tables_titles_and_pages_show_texts_as_they_are(text):
    def table(terminal):
        rows = Table(text, title=text)
        rows.add_row(text)
        terminal.print(rows)

    shown = printable(text)
    for out, times in (
        (written(lambda terminal: terminal.print(text)), 1),
        (written(table), 3),
        (written(lambda terminal: terminal.print(f"{text} and {text}", style="bold")), 2),
    ):
        assert out.count(shown) == times, out
        assert not raw(out)
    assert not raw(written(lambda terminal: terminal.print(markdown(f"# {text}\n\n{text}"))))


@pytest.mark.parametrize("text", [*MARKUP, *CONTROL])
def test_the_lines_of_a_command_at_work_show_texts_as_they_are(text, capfd, monkeypatch):
    with console.shown_steps() as progress:
        progress(text)
        progress(f"  remark {text}")
    with Terminal(stderr=True).status(text) as status:
        status.update(text)
    with console.reading(text) as report:
        report(1, 2)
    console.plain_lines(text)
    said = capfd.readouterr().err
    assert said.count(printable(text)) >= 3
    assert not raw(said)


@pytest.mark.parametrize("name", ["x[/b].tsv", "[red]a.tsv", "e\x1b[31m.tsv"])
def test_commands_survive_the_names_of_their_files(name, tmp_path, capfd):
    (tmp_path / name).parent.mkdir(exist_ok=True)  # the closing tag's slash is a folder's
    file = write_pairs(tmp_path / name, *toy_pairs(64))
    with pytest.raises(SystemExit) as done:
        main(["audit", str(file), "--json", str(tmp_path / "out.json")])
    assert done.value.code == 0
    assert json.loads((tmp_path / "out.json").read_text())["quartiles"]
    assert not raw(capfd.readouterr().out)
    with pytest.raises(SystemExit) as done:
        main(["audit", str(file), "--label", name])
    assert done.value.code == 2
    said = capfd.readouterr().err
    assert not raw(said)
    assert printable(name) in said


@pytest.mark.parametrize("text", CONTROL)
def test_results_show_labels_and_texts_on_one_line(text):
    rows = [line({"score": 0.5, "label": f"{text}\n\tx"}, as_json=flag) for flag in (False, True)]
    rows += [as_lines(1, [{"label": text, "score": 0.5}]), as_json(text, [{"label": text}])]
    for row in rows:
        assert not raw(row)
        assert row.count("\n") == 1
    assert json.loads(rows[3])["texts"] == [text]  # JSON gives the text back


@pytest.mark.parametrize("label", ["a\x1b[0m", "tab\there", "two\nlines", " ", "\u202e"])
def test_models_with_labels_that_can_not_be_shown_are_refused(label, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"id2label": {"0": "no", "1": label}}))
    with pytest.raises(ModelError, match="is empty, or has characters that can't be shown"):
        read_labels(tmp_path)
    replace(MatcherSettings(), labels=("no", label)).save(tmp_path)
    with pytest.raises(ModelError, match="is empty, or has characters that can't be shown"):
        MatcherSettings.load(tmp_path)


def test_a_closed_standard_output_is_refused_in_one_line():
    command = 'exec "$1" -m mobilebert_export models >&-'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "mobilebert: standard output is closed; send it to a file, or to /dev/null\n"


def calls(tree, name):
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == name
    ]


def test_no_other_module_prints_through_a_console_that_reads_markup():
    seen = 0
    for package in INSTALLED:
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module in MARKING:
                    names = {one.name for one in node.names}
                    assert path.name in ("terminal.py", "progress.py") or names <= {"get_console"}, path
            for made in (*calls(tree, "Console"), *calls(tree, "TextColumn")):
                seen += 1
                given = {word.arg: ast.unparse(word.value) for word in made.keywords}
                assert given.get("markup") == "False", f"{path}: {ast.unparse(made)}"
    assert seen >= 4
