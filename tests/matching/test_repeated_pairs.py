"""Promise: a pair that occurs several times, in either order, is on one side of a split, and is counted."""

import numpy as np
import pytest

from mobilebert_export.evaluation import scoring
from mobilebert_export.shipping.ship import split_file
from mobilebert_matching.data.labelled_pairs import read_split
from mobilebert_matching.data.repeated_pairs import (
    TRAINING_PAIRS,
    pair_hashes,
    pair_key,
    repetitions,
    save_training_pairs,
    seen_in_training,
)
from mobilebert_matching.evaluation import pair_evaluation
from mobilebert_matching.length_bias.training_sets import find_data, training_part
from mobilebert_runtime.errors import DataError
from tests.helpers.toys import WORDS, write_pairs

ROWS = 800


def repeated_rows():
    """800 rows of 200 pairs: 75% repeat one, swapped, in capitals, with other spaces, or of another label."""
    rng = np.random.default_rng(57)
    base = [(f"{a} {n}", f"{b} {n}") for n, (a, b) in enumerate(rng.choice(WORDS, (200, 2)))]
    labels = rng.integers(0, 2, 200)
    rows = [(pair, int(label)) for pair, label in zip(base, labels, strict=True)]
    forms = (
        lambda a, b: (a, b),
        lambda a, b: (b, a),
        lambda a, b: (a.upper(), b),
        lambda a, b: (f" {b} ", a.replace(" ", "  ")),
    )
    for n in rng.integers(0, 200, 600).tolist():
        pair = forms[int(rng.integers(len(forms)))](*base[n])
        rows.append((pair, int(labels[n]) ^ int(rng.random() < 0.05)))
    order = rng.permutation(len(rows))
    return [rows[i][0] for i in order], np.array([rows[i][1] for i in order])


def keys(pairs):
    return {pair_key(pair) for pair in pairs}


def test_one_file_of_three_quarters_repetitions_is_split_without_a_leak_and_says_so(tmp_path):
    pairs, labels = repeated_rows()
    said = []
    folder = split_file(write_pairs(tmp_path / "mine.tsv", pairs, labels), tmp_path / "data", said.append)
    train, dev = (read_split(folder, part) for part in ("train", "dev"))
    assert len(train.pairs) + len(dev.pairs) == ROWS
    assert 120 <= len(dev.pairs) <= 160
    assert not keys(train.pairs) & keys(dev.pairs)
    assert set(train.labels) == set(dev.labels) == {0, 1}
    found = repetitions(pairs, labels)
    labelled = {(pair_key(pair), int(label)) for pair, label in zip(pairs, labels, strict=True)}
    several = [key for key in keys(pairs) if {(key, 0), (key, 1)} <= labelled]
    assert (found.rows, found.repeated, found.conflicting) == (ROWS, 600, len(several))
    assert several
    assert f"600 of 800 rows repeat an earlier pair, in either order; {len(several)} pairs have" in said[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_held_out_part_of_the_training_file_has_no_pair_of_it(tmp_path, seed):
    write_pairs(tmp_path / "train.tsv", *repeated_rows())
    train, dev, facts = training_part(find_data(tmp_path), "original", seed=seed)
    assert len(train) + len(dev) == ROWS
    assert 30 <= len(dev) <= 40
    assert not keys(train.pairs) & keys(dev.pairs)
    assert facts["dev_pairs_in_training"] == 0
    assert facts["repetitions"]["repeated"] == 600


def test_given_parts_that_share_pairs_are_counted(tmp_path):
    pairs, labels = repeated_rows()
    write_pairs(tmp_path / "train.tsv", pairs, labels)
    swapped = [(b, a) for a, b in pairs[:7]]
    others = [(f"some {n}", f"other {n}") for n in range(9)]
    write_pairs(tmp_path / "dev.tsv", swapped + others, np.arange(16) % 2)
    facts = training_part(find_data(tmp_path), "original")[2]
    assert facts["dev_pairs_in_training"] == 7


def test_a_label_whose_every_pair_has_another_label_too_can_not_be_split(tmp_path):
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("e", "f")]
    file = write_pairs(tmp_path / "mine.tsv", pairs, [0, 1, 0, 0])
    with pytest.raises(DataError, match="0 of 3 different pairs have the label 1"):
        split_file(file, tmp_path / "data")


class Stub:
    def __call__(self, pairs):
        return np.linspace(0, 1, len(pairs))


def test_evaluate_says_how_many_pairs_were_trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_evaluation, "evaluate", lambda *_: {"pairs": 20})  # figures take seconds
    monkeypatch.setattr(scoring, "open_scorer", lambda *_, **__: scoring.Scorer(Stub(), 0.5, "stub"))
    pairs, labels = repeated_rows()
    test = [(b.upper(), a) for a, b in pairs[:5]] + [(f"new {n}", f"other {n}") for n in range(15)]
    file = write_pairs(tmp_path / "test.tsv", test, np.arange(20) % 2)
    model = tmp_path / "run" / "model"
    model.mkdir(parents=True)
    assert scoring.evaluate(model, file).seen_in_training is None
    save_training_pairs(model.parent, pairs)
    assert (model.parent / TRAINING_PAIRS).stat().st_size < 8 * ROWS
    assert scoring.evaluate(model, file).seen_in_training == 5
    train = write_pairs(tmp_path / "train.tsv", pairs, labels)
    assert scoring.evaluate("shipped", file, train).to_json()["seen_in_training"] == 5
    (model.parent / TRAINING_PAIRS).write_bytes(b"\x93NUMPY no array")
    with pytest.raises(DataError, match=r"training_pairs\.npy: is damaged"):
        scoring.evaluate(model, file)


def test_hashes_of_pairs_know_no_order():
    assert np.array_equal(pair_hashes([("a b", "C")]), pair_hashes([("c", "A  B"), ("a b", "c")]))
    assert seen_in_training([("x", "y"), ("C", "a b")], pair_hashes([("a b", "c")])) == 1
    assert len(pair_hashes([])) == 0
