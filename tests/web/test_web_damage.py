"""A damaged artefact with corrected checksums: the web package refuses what Python refuses."""

import json
import os
import random
import select
import shutil
import subprocess
from collections import Counter

import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime import Matcher
from mobilebert_runtime.card import MATCHING, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from mobilebert_runtime.errors import DataError
from tests.helpers import tiny_tasks
from tests.helpers.artefact_mutations import Reader, mutate
from tests.web.conftest import WEB

pytestmark = pytest.mark.timeout(3600)
SCORED = [list(pair) for pair in PAIRS[:6]]
# Of each target; together the acceptance's 200.
COUNT = int(os.environ.get("MOBILEBERT_WEB_DAMAGE", "100" if os.environ.get("MOBILEBERT_WEB") else "12"))
NEAR = 1e-4


class WebReader:
    """A program of web/ that opens folders of a directory; made anew when one has killed or kept it."""

    def __init__(self, where, directory, patience=120.0):
        programs = {
            "node": ["dist-test/node_compare.js", "--answer"],
            "chromium": ["test/browser_answer.mjs", str(directory)],
        }
        self.where, self.program = where, programs[where]
        self.patience = patience
        self.process = None

    def read(self, folder, pairs=SCORED, options=None):
        """The verdict on a folder; `options` of `load` where the program is node."""
        if self.process is None:
            self.process = subprocess.Popen(
                ["node", *self.program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=WEB,
            )
        artefact = folder.name if self.where == "chromium" else str(folder)
        self.process.stdin.write(
            json.dumps({"artefact": artefact, "pairs": pairs, "options": options or {}}) + "\n"
        )
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"verdict": "crashed" if ready else "hung"}

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.communicate()
            self.process = None


@pytest.mark.slow
@pytest.mark.parametrize("where", ["node", "chromium"])
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_the_same_damage_is_refused(target, where, request, tmp_path, capsys):
    request.getfixturevalue("browser" if where == "chromium" else "node")
    artefact = shutil.copytree(request.getfixturevalue(f"{target}_artefact"), tmp_path / "whole")
    python, web = Reader(SCORED), WebReader(where, tmp_path)
    counts, wrong = Counter(), []
    whole = web.read(artefact)
    assert whole["scores"] == pytest.approx(python.read(artefact)["scores"], abs=NEAR)
    assert whole["fingerprint"] == Matcher.load(artefact).fingerprint
    for seed in range(COUNT):
        folder = tmp_path / "damaged"
        shutil.copytree(artefact, folder)
        said = mutate(folder, random.Random(seed))
        expected, found = python.read(folder), web.read(folder)
        shutil.rmtree(folder)
        in_model = said.startswith("model bytes")
        verdicts = expected["verdict"], found["verdict"]
        counts[in_model, *verdicts] += 1
        alike = verdicts == ("refused", "refused") or (
            verdicts == ("accepted", "accepted")
            and (in_model or found["scores"] == pytest.approx(expected["scores"], abs=NEAR))
        )
        # A model file's own damage is met by two versions of a runtime: each may refuse what the other runs.
        if not alike and not (in_model and found["verdict"] in ("accepted", "refused", "crashed")):
            wrong.append((seed, said, expected, found))
    python.close()
    web.close()
    with capsys.disabled():
        print(f"\n{target}, {where}: {COUNT} damaged folders, (in the model, Python, web): {dict(counts)}")
    assert not wrong
    assert counts[False, "refused", "refused"] > COUNT / 4


@pytest.mark.parametrize("where", ["node", pytest.param("chromium", marks=pytest.mark.slow)])
def test_tasks_that_the_package_does_not_have_are_refused(where, request, tmp_path):
    request.getfixturevalue("browser" if where == "chromium" else "node")
    web = WebReader(where, tmp_path)
    for task in (TOKEN_CLASSIFICATION, QUESTION_ANSWERING):
        folder = tiny_tasks.write(tmp_path / task, task)
        said = web.read(folder)
        assert said["verdict"] == "refused"
        assert said["why"].endswith(
            f"{task}: is for {task}, which this package does not do; run it in Python or on Android"
        )
    web.close()


def test_a_pair_with_an_empty_text_is_refused(node, tmp_path):
    folder = tiny_tasks.write(tmp_path / "matcher", MATCHING)
    web = WebReader("node", tmp_path)
    for blank in ("", " \u2003\x1f\x85\n"):
        said = web.read(folder, [["a text", "b"], ["a text", blank]])
        assert said["why"] == "DataError: entry 2: its second text is empty; leave the pair out"
        with pytest.raises(DataError, match="entry 2: its second text is empty"):
            Matcher.load(folder).score([("a text", "b"), ("a text", blank)])
    web.close()
