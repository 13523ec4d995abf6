"""Promise of the runtime: one matcher may be called from many threads at once, and every answer is right."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mobilebert_export import samples
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher

CALLS = 48  # of every thread count, each over all pairs: more than 10,000 scores


@pytest.mark.parametrize("threads", [8, 32])
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_many_threads_on_one_matcher_give_the_answers_of_one(target, threads):
    matcher = Matcher.load(small_matcher.artefact(target, "int8"))
    pairs = samples.verification_pairs()
    expected = matcher.score(pairs)
    assert len(np.unique(expected)) > len(pairs) / 2
    orders = [np.random.default_rng(seed).permutation(len(pairs)) for seed in range(CALLS)]
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda order: matcher.score([pairs[i] for i in order]), orders))
    wrong = sum(
        np.count_nonzero(scores != expected[order]) for scores, order in zip(found, orders, strict=True)
    )
    assert sum(map(len, found)) >= 10_000
    assert wrong == 0
