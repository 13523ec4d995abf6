"""Decisions of an int8 .onnx file that change in Python alone when float weights change in their last bit.

`python -m tests.web.last_bits ARTEFACT DATA.tsv [SEEDS]`. Half of the scales of the layer normalisations
become the next float32. Another processor or a browser rounds its sums otherwise, which changes as much: what
this prints is the noise that two machines can't fall below.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime import Matcher
from tests.web.golden import pairs_of

PAIRS, FUZZED, STEP = 2000, 500, 50


def shaken(artefact: Path, out: Path, seed: int) -> int:
    """A copy of the artefact whose scales differ; how many were changed."""
    shutil.copytree(artefact, out)
    model = onnx.load(str(out / "model.onnx"))
    scales = {node.input[1] for node in model.graph.node if node.op_type == "LayerNormalization"}
    draw, count = np.random.default_rng(seed), 0
    for tensor in model.graph.initializer:
        if tensor.name in scales:
            values = numpy_helper.to_array(tensor)
            chosen = draw.random(values.shape) < 0.5
            above = np.nextafter(values, np.float32(np.inf))
            tensor.CopyFrom(numpy_helper.from_array(np.where(chosen, above, values), tensor.name))
            count += int(chosen.sum())
    onnx.save(model, str(out / "model.onnx"))
    write_checksums(out)
    return count


def answers(matcher: Matcher, pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Scores (N,) and logits (N, labels), in the calls of the web tests."""
    parts = [pairs[at : at + STEP] for at in range(0, len(pairs), STEP)]
    return np.concatenate([matcher.score(one) for one in parts]), np.concatenate(
        [matcher.logits(one) for one in parts]
    )


def main(artefact: str, data: str, seeds: str = "3") -> None:
    """Print a line for each seed."""
    pairs = pairs_of(PAIRS, FUZZED, data)
    matcher = Matcher.load(artefact)
    scores, logits = answers(matcher, pairs)
    for seed in range(1, int(seeds) + 1):
        with tempfile.TemporaryDirectory() as folder:
            count = shaken(Path(artefact), Path(folder) / "shaken", seed)
            other, others = answers(Matcher.load(Path(folder) / "shaken"), pairs)
        threshold = matcher.card.threshold
        changed = int(((scores >= threshold) != (other >= threshold)).sum())
        largest = float(np.abs(logits - others).max())
        sys.stdout.write(
            f"seed {seed}: {count} scales, {changed} of {len(pairs)} decisions, logits by {largest:.4f}\n"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
