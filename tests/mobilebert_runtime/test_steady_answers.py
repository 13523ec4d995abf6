"""Promise: a pair has one TFLite score, whatever runs beside it; scoring keeps no memory and calls nobody."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher
from tests.helpers.texts import fuzzed_lines

ROOT = Path(__file__).parents[2]
LINES = [line for line in fuzzed_lines(160, seed=8) if line.strip()]
PAIRS = list(zip(LINES, reversed(LINES), strict=True))
ACCENTS = [("Café à la crème", "coffee"), ("Ångström, naïve", "résumé"), ("Việt Nam", "Tiếng Việt")]


@pytest.fixture(scope="module")
def folder():
    return small_matcher.artefact("tflite", "int8")


def test_a_score_is_the_same_alone_in_batches_in_any_order_and_on_any_threads(folder):
    expected = Matcher.load(folder, threads=1).score(PAIRS)
    assert len(np.unique(expected)) > len(PAIRS) / 2
    order = np.random.default_rng(0).permutation(len(PAIRS))
    for threads in (1, 2, 4):
        matcher = Matcher.load(folder, threads=threads)
        np.testing.assert_array_equal(matcher.score([PAIRS[i] for i in order]), expected[order])
        alone = [matcher.score([pair])[0] for pair in PAIRS[:40]]
        np.testing.assert_array_equal(alone, expected[:40])


def test_composed_and_decomposed_letters_have_one_score(folder):
    matcher = Matcher.load(folder)
    composed, decomposed = (
        [tuple(unicodedata.normalize(form, text) for text in pair) for pair in ACCENTS]
        for form in ("NFC", "NFD")
    )
    assert composed != decomposed
    np.testing.assert_array_equal(matcher.score(composed), matcher.score(decomposed))


MEASURED = """
import gc, sys
from mobilebert_runtime.matcher import Matcher
from tests.mobilebert_runtime.test_steady_answers import PAIRS

def memory():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

folder, scores, loads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
matcher = Matcher.load(folder)

def score(count):
    for _ in range(0, count, len(PAIRS)):
        matcher.score(PAIRS)

def load(count):
    for _ in range(count):
        Matcher.load(folder).score(PAIRS[:1])

score(2_000)
before = memory()
score(scores)
scored = memory() - before
load(50)
before = memory()
load(loads)
print(scored, memory() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="not run: no /proc")
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_ten_thousand_scores_and_250_loads_keep_no_memory(target):
    """A row of tokens or a vocabulary that stayed would show: 10,000 × 1 kB, 250 × 230 kB."""
    folder = small_matcher.artefact(target, "int8")
    words = [sys.executable, "-c", MEASURED, folder, "10000", "250"]
    done = subprocess.run(
        list(map(str, words)), cwd=ROOT, capture_output=True, text=True, check=True, timeout=1200
    )
    scored, loaded = map(int, done.stdout.split())
    print(f"{target}: 10,000 scores kept {scored / 1e6:.1f} MB, 250 loads {loaded / 1e6:.1f} MB")
    assert scored < 10_000 * 1_000
    assert loaded < 250 * 100_000


PAIRS_OF_WORDS = [(f"how are {word}s", f"the {word} " * (i + 1)) for i, word in enumerate("abcdefghijklmnop")]
ALONE = """
import runpy, sys

def refuse(event, given):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        raise SystemExit(f"called the network: {event} {given}")

sys.addaudithook(refuse)
runpy.run_module("mobilebert_export", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["match", "evaluate", "audit", "models"])
def test_commands_that_only_read_call_no_network(command, folder, tmp_path):
    data = tmp_path / "pairs.tsv"
    rows = [f"{i % 2}\t{a}\t{b}" for i, (a, b) in enumerate(PAIRS_OF_WORDS)]
    data.write_text("\n".join(["label\ttext_a\ttext_b", *rows]) + "\n", encoding="utf-8")
    given = {
        "match": ["--artefact", folder, "--pairs", data],
        "evaluate": [folder, "--data", data],
        "audit": [data],
        "models": [],
    }[command]
    words = [sys.executable, "-c", ALONE, command, *given]
    done = subprocess.run(list(map(str, words)), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "called the network" not in done.stderr
