"""The site of `mobilebert web` in headless Chromium: matches, searches, measures; by keyboard; offline."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from android_bench.phone.web_result import import_web_result
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.web_site import write_site
from mobilebert_runtime import LengthShift, Matcher, load, read_card
from mobilebert_runtime.card import CLASSIFICATION, EMBEDDING, MATCHING
from tests.helpers import small_matcher, tiny_tasks
from tests.helpers.texts import fuzzed_lines
from tests.web import golden
from tests.web.conftest import WEB, absent

pytestmark = pytest.mark.timeout(7200)
FULL = bool(os.environ.get("MOBILEBERT_WEB"))
PAIRS, FUZZED, SINGLES = (2000, 500, 500) if FULL else (120, 40, 40)
# The task's tolerances: of logits in float, of decisions in integers.
FLOAT, DECISIONS = 1e-3, 0.002
SHIFT = LengthShift((0.1, 0.4, 1.0), (-0.5, 0.0, 0.3, 1.2))
KINDS = [
    ("bert", MATCHING, {}),
    ("bert", MATCHING, {"length_shift": SHIFT, "temperature": 1.7, "positive": 1, "threshold": 0.01}),
    ("bert", MATCHING, {"labels": ("same",), "activation": "sigmoid", "threshold": 0.4}),
    ("bert", MATCHING, {"labels": ("likeness",), "activation": "identity", "threshold": 1.0}),
    ("mpnet", CLASSIFICATION, {"activation": "sigmoid"}),
    ("roberta", CLASSIFICATION, {}),
    ("roberta", CLASSIFICATION, {"texts": 2}),
    ("modernbert", EMBEDDING, {}),
    ("xlm-roberta", CLASSIFICATION, {"activation": "identity"}),
]


def artefact_of(target):
    """The user's artefact (MOBILEBERT_TFLITE, MOBILEBERT_ONNX), or the small one of the test run."""
    given = os.environ.get(f"MOBILEBERT_{target.upper()}")
    return Path(given) if given else small_matcher.embedding_artefact(target, "int8")


def compared(program, artefact, tmp_path, inputs, singles):
    file = golden.write(load(artefact), inputs, singles, tmp_path / "golden.json")
    found = program(artefact, file)
    print(json.dumps(found))
    assert found["otherIds"] == 0, found["examples"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("where", ["node_compare", "browser_compare"])
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_int8_answers_are_python_s(target, where, request, tmp_path):
    run = request.getfixturevalue("browser" if where == "browser_compare" else "node")
    script = "test/browser_compare.mjs" if where == "browser_compare" else "dist-test/node_compare.js"
    pairs = golden.pairs_of(PAIRS, FUZZED)
    singles = fuzzed_lines(SINGLES, seed=5)
    found = compared(lambda *given: run(script, *given), artefact_of(target), tmp_path, pairs, singles)
    assert found["decisions"] <= DECISIONS * len(pairs)
    assert found.get("elsewhere", []) == []


@pytest.mark.parametrize(("kind", "task", "fields"), KINDS)
def test_every_task_and_kind_of_tokenizer_in_float(kind, task, fields, node, tmp_path):
    artefact = tiny_tasks.write(tmp_path / "artefact", task, kind, **fields)
    lines = fuzzed_lines(SINGLES, seed=3)
    card = load(artefact).card
    inputs = golden.pairs_of(SINGLES, SINGLES // 2) if card.texts == 2 else lines
    found = compared(
        lambda *given: node("dist-test/node_compare.js", *given), artefact, tmp_path, inputs, lines
    )
    assert max(found["logit"], found["score"], found["vector"]) <= FLOAT
    assert found["decisions"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "task"), [("bert", MATCHING), ("roberta", CLASSIFICATION), ("modernbert", EMBEDDING)]
)
def test_the_tasks_in_chromium_in_float(kind, task, browser, tmp_path):
    artefact = tiny_tasks.write(tmp_path / "artefact", task, kind)
    lines = fuzzed_lines(SINGLES, seed=4)
    inputs = golden.pairs_of(SINGLES, SINGLES // 2) if task == MATCHING else lines
    found = compared(
        lambda *given: browser("test/browser_compare.mjs", *given), artefact, tmp_path, inputs, lines
    )
    assert max(found["logit"], found["score"], found["vector"]) <= FLOAT
    assert found["decisions"] == 0
    assert found["elsewhere"] == []


def test_the_order_of_a_pair_that_is_sorted(node, tmp_path):
    artefact = tiny_tasks.write(tmp_path / "artefact", MATCHING, "bert")
    card = read_card(artefact)
    sorts = replace(card, tokenizer=replace(card.tokenizer, sort_texts=True))
    (artefact / "io.json").write_text(json.dumps(sorts.to_json()))
    write_checksums(artefact)
    compared(
        lambda *given: node("dist-test/node_compare.js", *given),
        artefact,
        tmp_path,
        golden.pairs_of(SINGLES, SINGLES // 2),
        [],
    )


def test_the_built_files_are_those_of_the_source(node):
    node_modules = WEB / "node_modules"
    assert node_modules.is_dir()
    subprocess.run([shutil.which("node"), "build.mjs", "--check"], cwd=WEB, check=True, timeout=300)


@pytest.mark.slow
def test_the_site_as_a_visitor_uses_it(browser, tmp_path):
    # A small network of random weights would find no answer.
    given = os.environ.get("MOBILEBERT_TFLITE")
    artefact = Path(given) if given else WEB.parent / "artefacts/matcher-int8"
    if not artefact.is_dir():
        absent(f"no {artefact}; `make export` writes it")
    write_site([artefact], tmp_path / "site", WEB / "node_modules")
    record = tmp_path / "record.json"
    matcher = Matcher.load(artefact)
    [first, typed] = matcher.score(
        [
            ("How do I learn to swim?", "What is the best way to learn swimming?"),
            ("How old is the Moon?", "How far away is the Moon?"),
        ],
        symmetric=True,
    ).tolist()
    lines = 10_000 if FULL else 600
    wanted = (round(100 * typed), matcher.label(typed))
    found = browser("test/site_test.mjs", tmp_path / "site", record, lines, *wanted)
    print(json.dumps(found))
    assert found["elsewhere"] == found["errors"] == found["missing"] == found["unnamed"] == []
    assert found["keyboard"] == ["Skip to the content", "tab-match", "tab-faq", "text-a"]
    assert abs(int(found["first"]["number"].rstrip("%")) - 100 * first) <= 2
    assert found["first"] == found["offline"]
    assert found["isolated"]
    assert found["faqRead"] < found["faqLines"], "the answer has to come while the lines are read"
    # The machine's own pauses, when nothing is read, are no fault of the page.
    assert found["longestPauseMs"] < 200 + 2 * found["longestPauseBeforeMs"]
    assert import_web_result(record, artefact).comparison.settings["runner"] == "web"
