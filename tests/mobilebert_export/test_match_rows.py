"""`mobilebert match`: rows stay aligned or are refused; odd texts and outputs end without a traceback."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from mobilebert_export.command_line import program as cli

HEADER = "label\ttext_a\ttext_b\n"
BAD = HEADER + "x\ta\tb\n1\tonly one\n\nyes\tc\t\n0\te\tf\n"  # lines 3, 4 and 5 hold no two texts
STRANGE = ["", " \t", "\u3000", "x" * 100_001, "\udce9t\udce9", "\ud800"]


def run(artefact, *words: str, **given) -> subprocess.CompletedProcess[bytes]:
    """The real program in a process of its own, its arguments as bytes."""
    command = [sys.executable, "-m", "mobilebert_export", "match", "--artefact", str(artefact), *words]
    return subprocess.run([os.fsencode(word) for word in command], check=False, **given)


def ask(capfd, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        cli.main(["match", *words])
    said = capfd.readouterr()
    return end.value.code, said.out, said.err


def test_a_warning_is_one_line_without_path_and_code(onnx_artefact, capfd):
    code, out, err = ask(capfd, "--artefact", str(onnx_artefact), "👍", "👎")
    assert (code, out.count("\n"), err.count("\n")) == (0, 1, 1)
    assert err.startswith("warning: entry 1: ('👍', '👎') are the same tokens")


@pytest.fixture
def feed(monkeypatch):
    """Sets standard input."""

    def set_input(content: str) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))

    return set_input


def test_bad_rows_are_refused_with_file_row_and_reason(onnx_artefact, tsv, capfd):
    code, out, err = ask(capfd, "--artefact", str(onnx_artefact), "--pairs", str(tsv(BAD)))
    assert (code, out) == (2, "")
    assert "pairs.tsv" in err
    for reason in (
        "wrong number of fields: line 3",
        "blank line: line 4",
        "empty or missing: line 5 (text_b)",
    ):
        assert reason in err


def test_skipped_rows_keep_their_place_and_labels_of_any_kind_do_not_matter(onnx_artefact, tsv, capfd):
    words = ("--artefact", str(onnx_artefact), "--pairs", str(tsv(BAD)), "--skip-bad")
    code, out, err = ask(capfd, *words)
    lines = out.split("\n")
    assert code == 0
    assert "3 rows without a score" in err
    assert [bool(line.strip()) for line in lines] == [True, False, False, False, True, False]
    assert lines[1:4] == ["\t"] * 3
    rows = [json.loads(line) for line in ask(capfd, *words, "--json")[1].splitlines()]
    assert [row.get("line") for row in rows] == [None, 3, 4, 5, None]
    assert [row["text_b"] for row in rows if row["score"] is not None] == ["b", "f"]
    assert {row["problem"] for row in rows if row["score"] is None} == {
        "wrong number of fields", "blank line", "text is empty or missing",
    }  # fmt: skip


def test_standard_input_is_a_file_of_pairs(onnx_artefact, tsv, capfd, feed):
    good = HEADER + "".join(f"1\ttext {n}\tother {n}\n" for n in range(150))
    expected = ask(capfd, "--artefact", str(onnx_artefact), "--pairs", str(tsv(good)))
    feed(good)
    assert ask(capfd, "--artefact", str(onnx_artefact), "--pairs", "-")[:2] == expected[:2]
    assert expected[1].count("\n") == 150
    for content in (BAD, "", "no table\n", HEADER):
        feed(content)
        code, out, err = ask(capfd, "--artefact", str(onnx_artefact), "--pairs", "-")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "standard input" in err


def test_a_row_of_ten_megabytes_is_refused(onnx_artefact, tsv, capfd):
    rows = tsv(HEADER + "1\ta\tb\n1\t" + "word " * 2_000_000 + "\tb\n")
    code, out, err = ask(capfd, "--artefact", str(onnx_artefact), "--pairs", str(rows))
    assert (code, out) == (2, "")
    assert "line 3 (text_a: 10,000,000 characters)" in err


@pytest.mark.parametrize("text", STRANGE)
@pytest.mark.parametrize("second", [False, True])
def test_texts_that_are_none_are_refused(text, second, onnx_artefact, capfd):
    texts = ["fine", text] if second else [text, "fine"]
    code, out, err = ask(capfd, "--artefact", str(onnx_artefact), *texts)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"text {1 + second} " in err


def test_latin_1_bytes_a_full_device_and_a_closed_pipe_end_in_one_line(onnx_artefact, tsv):
    done = run(onnx_artefact, "caf\udce9", "coffee", capture_output=True)
    assert done.returncode == 2
    assert done.stderr == b"mobilebert: text 1 is not valid UTF-8\n"
    if os.path.exists("/dev/full"):  # noqa: PTH110
        with open("/dev/full", "wb") as full:  # noqa: PTH123
            done = run(onnx_artefact, "a", "b", stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert done.stderr.startswith(b"mobilebert: disk full")
        assert done.stderr.count(b"\n") == 1
    reader, writer = os.pipe()
    os.close(reader)
    done = run(onnx_artefact, "a", "b", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_output_that_an_encoding_lacks_is_escaped(onnx_artefact, tsv):
    rows = tsv(HEADER + "1\t漢字 😀\té\n")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = run(onnx_artefact, "--pairs", str(rows), "--json", capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["text_a"] == "漢字 😀"
    done = run(onnx_artefact, "--pairs", "漢字.tsv", capture_output=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", [["match", "--pairs", "-", "--artefact"], ["run", "--file", "-"]])
def test_a_closed_standard_input_is_one_line(onnx_artefact, words):
    command = [sys.executable, "-m", "mobilebert_export", *words, str(onnx_artefact)]
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "standard input: is closed" in done.stderr
