"""`mobilebert run`: an artefact of any task on arguments, files, standard input; bad input is one line."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from mobilebert_export.command_line import program as cli
from mobilebert_runtime import load
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TASKS,
    TOKEN_CLASSIFICATION,
)
from mobilebert_runtime.vector_index import Index
from tests.helpers import tiny_tasks

TEXTS = ["How do I learn to swim?", "The moon is far away.", "A river, and a stone."]
PAIR = ("Who swims?", "Ada swims in the river and Bob swims in the sea.")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = tmp_path_factory.mktemp("run")
    return {task: tiny_tasks.write(made / task, task, "roberta") for task in TASKS}


@pytest.fixture
def ask(capfd, folders):
    def run(task, *words):
        with pytest.raises(SystemExit) as end:
            cli.main(["run", str(folders[task]), *map(str, words)])
        said = capfd.readouterr()
        return end.value.code, said.out, said.err

    return run


@pytest.fixture
def feed(monkeypatch):
    def set_input(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return set_input


def results(out):
    return [json.loads(line)["results"] for line in out.splitlines()]


def test_each_task_gives_what_its_class_gives(ask, folders):
    def asked(task, *words):
        code, out, _ = ask(task, "--json", *words)
        assert code == 0
        return results(out)

    matcher = load(folders[MATCHING])
    [score] = matcher.score([PAIR]).tolist()
    assert asked(MATCHING, *PAIR) == [[{"score": score, "label": matcher.label(score)}]]
    [classes] = load(folders[CLASSIFICATION]).classify(TEXTS[:1])
    expected = [{"label": name, "score": score} for name, score in classes.items()]
    assert asked(CLASSIFICATION, TEXTS[0]) == [expected[:1]]
    assert asked(CLASSIFICATION, TEXTS[0], "--top", "2") == [expected[:2]]
    entities = load(folders[TOKEN_CLASSIFICATION]).entities(TEXTS)
    assert asked(TOKEN_CLASSIFICATION, *TEXTS) == [[one._asdict() for one in row] for row in entities]
    answers = load(folders[QUESTION_ANSWERING]).answers(*PAIR, 3)
    assert asked(QUESTION_ANSWERING, *PAIR, "--top", "3") == [[one._asdict() for one in answers]]
    vectors = load(folders[EMBEDDING]).embed(TEXTS).tolist()
    assert asked(EMBEDDING, *TEXTS) == [[{"vector": vector}] for vector in vectors]


def test_plain_lines_have_the_fields_and_where_there_may_be_several_the_input(ask, folders):
    code, out, _ = ask(MATCHING, *PAIR, *PAIR)
    assert code == 0
    score, label = out.splitlines()[1].split("\t")
    assert (len(out.splitlines()), label) == (2, load(folders[MATCHING]).label(float(score)))
    _, out, _ = ask(CLASSIFICATION, *TEXTS, "--top", "3")
    assert [line.split("\t")[0] for line in out.splitlines()] == list("111222333")
    _, out, _ = ask(TOKEN_CLASSIFICATION, *TEXTS)
    entities = load(folders[TOKEN_CLASSIFICATION]).entities(TEXTS)
    expected = [(str(n), one.label, str(one.start)) for n, row in enumerate(entities, 1) for one in row]
    found = [line.split("\t") for line in out.splitlines()]
    assert [(fields[0], fields[1], fields[3]) for fields in found] == expected
    _, out, _ = ask(EMBEDDING, TEXTS[0])
    assert len(out.split("\t")) == 24


def test_files_and_standard_input_give_what_arguments_give(ask, feed, tsv):
    _, expected, _ = ask(CLASSIFICATION, *TEXTS)
    lines = "\n".join(TEXTS)
    for name, content in (
        ("a.tsv", "n\ttext\n" + "".join(f"{i}\t{text}\n" for i, text in enumerate(TEXTS))),
        ("a.jsonl", "".join(json.dumps({"sentence": text, "n": 1}) + "\n" for text in TEXTS)),
        ("b.tsv", "only one column\n" + lines),
    ):
        assert ask(CLASSIFICATION, "--file", tsv(content, name)) == (0, expected, "")
    for content in (lines, lines + "\n", "\ufeff" + lines.replace("\n", "\r\n")):
        feed(content.encode())
        assert ask(CLASSIFICATION, "--file", "-")[:2] == (0, expected)
    _, expected, _ = ask(QUESTION_ANSWERING, *PAIR)
    assert ask(QUESTION_ANSWERING, "--file", tsv("question\tcontext\n" + "\t".join(PAIR)))[1] == expected
    feed("\t".join(PAIR).encode())
    assert ask(QUESTION_ANSWERING, "--file", "-")[1] == expected


def test_an_index_is_made_and_searched(ask, tmp_path, folders):
    assert ask(EMBEDDING, *TEXTS, "--build-index", tmp_path / "index") == (0, "", "")
    embedder, index = load(folders[EMBEDDING]), Index.load(tmp_path / "index")
    code, out, _ = ask(EMBEDDING, TEXTS[1], "--index", tmp_path / "index", "--top", "2", "--json")
    assert code == 0
    assert results(out) == [[hit._asdict() for hit in embedder.search(TEXTS[1], index, 2)]]
    assert results(out)[0][0]["place"] == 1
    code, _, err = ask(EMBEDDING, *TEXTS, "--build-index", tmp_path / "index")
    assert (code, err.count("\n")) == (2, 1)
    assert ask(EMBEDDING, *TEXTS, "--build-index", tmp_path / "index", "--force")[0] == 0


@pytest.mark.parametrize(
    ("task", "words", "says"),
    [
        (MATCHING, ["one"], "1 texts; this artefact reads two texts for each pair"),
        (CLASSIFICATION, [], "0 texts; this artefact reads a text"),
        (CLASSIFICATION, [" "], "text 1 is empty"),
        (CLASSIFICATION, ["a", "--index", "."], "its network returns no vectors"),
        (MATCHING, ["a", "b", "--top", "2"], "text-matching has none"),
        (EMBEDDING, ["a", "--top", "2"], "sentence-embedding has none"),
        (EMBEDDING, ["a", "--index", "."], "SHA256SUMS: missing"),
        (QUESTION_ANSWERING, ["why " * 99, "because " * 99], "the question has"),
        (CLASSIFICATION, ["a", "--file", "-"], "not both"),
    ],
)
def test_bad_input_is_one_line(ask, task, words, says):
    code, out, err = ask(task, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("task", "content", "says"),
    [
        (CLASSIFICATION, "a\tb\n1\t2\n", "no known text column, such as text; name it with --text-a"),
        (CLASSIFICATION, "text\ttext\n1\t2\n", "more than one column 'text'"),
        (CLASSIFICATION, "text\nfine\n\nfine\n", "line 3: text is empty or missing"),
        (CLASSIFICATION, "text\tn\nfine\t1\n \t2\n", "line 3: text is empty or missing"),
        (CLASSIFICATION, "text\n", "no row"),
        (MATCHING, "a\tb\n1\t2\n", "no known text columns"),
    ],
)
def test_bad_files_are_one_line_that_names_the_place(ask, tsv, task, content, says):
    path = tsv(content)
    code, out, err = ask(task, "--file", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(path) in err
    assert says in err


def test_a_column_of_texts_that_is_not_there_is_named(ask, tsv):
    code, _, err = ask(CLASSIFICATION, "--file", tsv("text\tn\n1\t2\n"), "--text-a", "question")
    assert code == 2
    assert "no column 'question' for --text-a; the file has text, n" in err


@pytest.mark.parametrize(
    ("task", "content", "says"),
    [
        (CLASSIFICATION, b"", "is empty"),
        (CLASSIFICATION, b"fine\n\xff\n", "not valid UTF-8"),
        (CLASSIFICATION, b"fine\n\nfine\n", "line 2: text is empty"),
        (MATCHING, b"only one\n", "line 1 has 1 fields"),
    ],
)
def test_bad_standard_input_is_one_line(ask, feed, task, content, says):
    feed(content)
    code, out, err = ask(task, "--file", "-")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"standard input: {says}" in err


def test_another_kind_of_folder_is_one_line(capfd, tmp_path):
    with pytest.raises(SystemExit):
        cli.main(["run", str(tmp_path), "text"])
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert "not an artefact folder" in err
