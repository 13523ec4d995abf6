"""`mobilebert search`, and the look-up of `run`: vectors find candidates, the decision ranks them."""

import json

import pytest

from mobilebert_export.command_line import program as cli
from mobilebert_export.command_line.look_up import CANDIDATES
from mobilebert_runtime.card import MATCHING
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.matcher import Matcher
from tests.helpers import tiny_tasks

TEXTS = [
    f"{what} {where}" for what in ("swim", "sing", "read", "sleep") for where in ("here", "there", "now")
]
FILE = "n\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(TEXTS))


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search") / "artefact"
    return tiny_tasks.write(folder, MATCHING, "roberta", embedding=Embedding(24, False))


@pytest.fixture
def ask(capfd):
    def run(*words):
        with pytest.raises(SystemExit) as end:
            cli.main([str(word) for word in words])
        said = capfd.readouterr()
        return end.value.code, said.out, said.err

    return run


def test_candidates_come_by_vectors_and_their_order_from_the_decision(ask, artefact, tsv):
    code, out, _ = ask("search", "swim", "--artefact", artefact, "--index", tsv(FILE), "--top", 3, "--json")
    assert code == 0
    embedder, matcher = Embedder.load(artefact), Matcher.load(artefact)
    near = embedder.search("swim", embedder.index(TEXTS), CANDIDATES)
    assert len(near) < len(TEXTS)
    scores = matcher.score([("swim", hit.text) for hit in near]).tolist()
    expected = sorted(zip(scores, near, strict=True), key=lambda one: -one[0])[:3]
    found = json.loads(out)["results"]
    assert [(one["place"], one["text"]) for one in found] == [(hit.place, hit.text) for _, hit in expected]
    assert [one["score"] for one in found] == pytest.approx([score for score, _ in expected])
    assert [one["label"] for one in found] == [matcher.label(score) for score, _ in expected]


def test_the_index_is_kept_beside_the_file_until_the_file_changes(ask, artefact, tsv):
    file = tsv(FILE)
    words = ("search", "sing now", "--artefact", artefact, "--index", file)
    kept = file.with_name(file.name + ".index")
    assert "indexed 12 texts" in ask(*words)[2]
    made = (kept / "vectors.npy").stat().st_mtime_ns
    assert "indexed" not in ask(*words)[2]
    assert (kept / "vectors.npy").stat().st_mtime_ns == made
    file.write_text(FILE + "12\tsomething else\n")
    code, out, err = ask(*words, "--top", 13)
    assert (code, len(out.splitlines())) == (0, 13)
    assert "indexed 13 texts" in err
    # The folder itself, without the file.
    assert ask("search", "sing now", "--artefact", artefact, "--index", kept, "--top", 13)[1] == out


def test_run_does_both_uses_of_one_file(ask, artefact, tmp_path):
    index = tmp_path / "index"
    assert ask("run", artefact, *TEXTS, "--build-index", index)[0] == 0
    code, out, _ = ask("run", artefact, "swim", "--index", index, "--top", 2, "--json")
    assert code == 0
    ranked = json.loads(out)["results"]
    assert [list(one) for one in ranked] == [["place", "score", "label", "text"]] * 2
    assert ranked[0]["score"] >= ranked[1]["score"]


def test_a_text_file_holds_a_text_on_each_line(ask, artefact, tmp_path):
    file = tmp_path / "faq.txt"
    file.write_text("\n".join(TEXTS) + "\n\n")
    code, out, _ = ask("search", "swim", "--artefact", artefact, "--index", file, "--top", 12)
    assert code == 0
    assert {line.split("\t")[-1] for line in out.splitlines()} == set(TEXTS)


def test_what_cannot_be_searched_is_one_line(ask, artefact, tsv, tmp_path):
    plain = tiny_tasks.write(tmp_path / "plain", MATCHING, "roberta")
    file = tsv(FILE)
    occupied = file.with_name(file.name + ".index")
    occupied.mkdir()
    (occupied / "mine").touch()
    for words, says in (
        (("--artefact", plain, "--index", file, "a"), "its network returns no vectors"),
        (("--artefact", artefact, "--index", file, "a"), "no part of an index"),
        (("--artefact", artefact, "--index", file), "give either questions or --file"),
        (("--artefact", artefact, "--index", tmp_path / "none.tsv", "a"), "no such file or folder"),
        (("--artefact", artefact, "--index", occupied, "--text-a", "text", "a"), "--text-a"),
    ):
        code, out, err = ask("search", *words)
        assert (code, out, err.count("\n")) == (2, "", 1), words
        assert says in err
    assert (occupied / "mine").is_file()
