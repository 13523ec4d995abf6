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
from tests.helpers.artefact_mutations import Reader, mutate
from tests.web.conftest import WEB

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
SCORED = [list(pair) for pair in PAIRS[:6]]
# Of each target; together the acceptance's 200.
COUNT = int(os.environ.get("MOBILEBERT_WEB_DAMAGE", "100" if os.environ.get("MOBILEBERT_WEB") else "12"))
NEAR = 1e-4


class NodeReader:
    """A process of web/test/node_compare.ts that opens folders; made anew when one has killed or kept it."""

    def __init__(self, patience=120.0):
        self.patience = patience
        self.process = None

    def read(self, folder):
        if self.process is None:
            self.process = subprocess.Popen(
                ["node", WEB / "dist-test/node_compare.js", "--answer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=WEB,
            )
        self.process.stdin.write(json.dumps({"artefact": str(folder), "pairs": SCORED}) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"verdict": "crashed" if ready else "hung"}

    def close(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_the_same_damage_is_refused(target, request, node, tmp_path, capsys):
    artefact = request.getfixturevalue(f"{target}_artefact")
    python, web = Reader(SCORED), NodeReader()
    counts, wrong = Counter(), []
    assert web.read(artefact)["scores"] == pytest.approx(python.read(artefact)["scores"], abs=NEAR)
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
        print(f"\n{target}: {COUNT} damaged folders, (in the model, Python, web): {dict(counts)}")
    assert not wrong
    assert counts[False, "refused", "refused"] > COUNT / 4
