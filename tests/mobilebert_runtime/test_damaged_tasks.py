"""Promise of every task's class: a damaged artefact is refused, or answers; never a traceback or a NaN."""

import random
import shutil
from collections import Counter

import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime.card import CLASSIFICATION, EMBEDDING, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from tests.helpers import tiny_tasks
from tests.helpers.artefact_mutations import SPLIT_BY_JSON, Reader, mutate

GIVEN = [[a[:10], b] for a, b in PAIRS[:4]]
TASKS = [CLASSIFICATION, TOKEN_CLASSIFICATION, QUESTION_ANSWERING, EMBEDDING]
# Fields of io.json whose other values, in their range, are other answers.
DECISIONS = ("activation", "context")


@pytest.mark.parametrize("count", [15, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", TASKS)
def test_damage_with_corrected_checksums(tmp_path, task, count):
    artefact = tiny_tasks.write(tmp_path / "whole", task, "roberta")
    reader = Reader(GIVEN)
    before = reader.read(artefact)["scores"]
    counts, wrong = Counter(), []
    folder = tmp_path / "damaged"
    for seed in range(count):
        shutil.copytree(artefact, folder)
        said = mutate(folder, random.Random(seed), SPLIT_BY_JSON)
        found = reader.read(folder)
        shutil.rmtree(folder)
        verdict = found["verdict"]
        in_card = said.startswith("io.json")
        if verdict == "accepted" and found["scores"] != before:
            verdict = "accepted, other answers"
            decides = said.startswith(tuple(f"io.json {name}" for name in DECISIONS))
            # What a byte-level BPE splits off is in no second file, so nothing can tell that it is another.
            if found["nan"] or (in_card and not decides):
                wrong.append((seed, said, found))
        if verdict in ("hung", "traceback") or (verdict == "crashed" and not said.startswith("model bytes")):
            wrong.append((seed, said, found))
        counts[verdict] += 1
    reader.close()
    assert not wrong
    assert counts["refused"] > count / 2
