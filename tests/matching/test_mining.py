"""Mining by vectors: near texts as by brute force, each pair once, the same bytes from shards and Ray."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from mobilebert_matching.mining.job import PAIRS, STAGES, MiningConfig, MiningJob, Shard, read_texts
from mobilebert_matching.mining.stages import FARTHER, RANKS, merge_pairs, work_of
from mobilebert_runtime.errors import DataError, OptionError, OutputError
from tests.helpers.letter_vectors import letter_vectors, some_texts

CONFIG = MiningConfig("letters", block_size=32)
ROOT = Path(__file__).parents[2]


def mined(out: Path, shards: int, config: MiningConfig = CONFIG) -> MiningJob:
    """All stages, in so many shards, the last one first."""
    for stage in STAGES:
        for number in range(shards, 0, -1):
            job = MiningJob(out, some_texts(), config)
            work = work_of(stage, job, lambda: letter_vectors)
            for block in Shard(number, shards).blocks(job.blocks):
                work(block)
    merge_pairs(job)
    return job


def files(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
    }


def test_near_texts_are_those_of_a_brute_force_search(tmp_path) -> None:
    job = mined(tmp_path, 1)
    vectors = np.concatenate(list(job.arrays("vectors"))).astype(np.float64)
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -np.inf)
    found = np.concatenate(list(job.arrays("neighbours")))
    assert found.shape == (len(job.texts), RANKS)
    expected = -np.sort(-similar, axis=1)[:, :RANKS]
    np.testing.assert_allclose(np.take_along_axis(similar, found, 1), expected, atol=1e-6)


def test_each_pair_is_there_once_with_its_cosine_and_from_where_it_says(tmp_path) -> None:
    job = mined(tmp_path, 1)
    rows = [line.split("\t") for line in (tmp_path / PAIRS).read_text().splitlines()]
    assert rows.pop(0) == ["sentence1", "sentence2", "score", "drawn"]
    number = {text: i for i, text in enumerate(job.texts)}
    pairs = [frozenset((number[a], number[b])) for a, b, _, _ in rows]
    assert len(set(pairs)) == len(pairs)
    assert {len(pair) for pair in pairs} == {2}
    assert {number[a] for a, _, _, _ in rows} | {number[b] for _, b, _, _ in rows} == set(number.values())
    vectors = np.concatenate(list(job.arrays("vectors"))).astype(np.float64)
    near = np.concatenate(list(job.arrays("neighbours")))
    for a, b, score, drawn in rows:
        assert float(score) == pytest.approx(vectors[number[a]] @ vectors[number[b]], abs=6e-5)
        ranks = {
            1 + near[i].tolist().index(j)
            for i, j in ((number[a], number[b]), (number[b], number[a]))
            if j in near[i]
        }
        if drawn == "near":
            assert min(ranks) <= 3
        elif drawn == "farther":
            assert any(rank in FARTHER for rank in ranks)
    kinds = [drawn for *_, drawn in rows]
    assert {kind: kinds.count(kind) > 100 for kind in set(kinds)} == dict.fromkeys(
        ("near", "farther", "random"), True
    )


def test_eight_shards_write_the_bytes_of_one_process(tmp_path) -> None:
    mined(tmp_path / "one", 1)
    mined(tmp_path / "eight", 8)
    assert files(tmp_path / "one") == files(tmp_path / "eight")


def test_a_stage_wants_the_one_before_of_every_shard(tmp_path) -> None:
    job = MiningJob(tmp_path, some_texts(), CONFIG)
    work_of("vectors", job, lambda: letter_vectors)(0)
    with pytest.raises(DataError, match=r"have no vectors yet"):
        job.require_before("neighbours")
    with pytest.raises(DataError, match=r"have no pairs yet"):
        merge_pairs(job)


def test_another_job_does_not_go_on_in_the_folder(tmp_path) -> None:
    MiningJob(tmp_path, some_texts(), CONFIG)
    with pytest.raises(OutputError, match="texts 300, not 299"):
        MiningJob(tmp_path, some_texts()[1:], CONFIG)
    with pytest.raises(OutputError, match="seed 0, not 1"):
        MiningJob(tmp_path, some_texts(), MiningConfig("letters", block_size=32, seed=1))


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "a/b", "3/8/1", "-1/8", ""])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected such as 3/8"):
        Shard.parse(text)


def test_shards_share_all_blocks() -> None:
    parts = [list(Shard.parse(f"{i}/3").blocks(10)) for i in (1, 2, 3)]
    assert sorted(chain.from_iterable(parts)) == list(range(10))


def test_texts_are_read_once_and_a_tab_is_refused(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\none\n")
    assert read_texts([tmp_path / "a.txt"]) == ["one", "two"]
    (tmp_path / "b.txt").write_text("one\ntwo\tthree\n")
    with pytest.raises(DataError, match="has a tab"):
        read_texts([tmp_path / "b.txt"])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_workers_of_a_ray_cluster_write_the_same_bytes(tmp_path) -> None:
    """With the `ray` extra in a folder of its own: it is no part of the locked environment."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "ray")]
    subprocess.run([*install, "ray[data]==2.60.0", f"numpy=={np.__version__}"], check=True)
    mined(tmp_path / "one", 1)
    program = "from tests.helpers.letter_vectors import mine_on_ray; mine_on_ray({!r})".format(
        str(tmp_path / "two")
    )
    paths = os.pathsep.join([str(ROOT), *sys.path[1:], str(tmp_path / "ray")])
    environment = os.environ | {"PYTHONPATH": paths, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=tmp_path, timeout=600)
    assert files(tmp_path / "one") == files(tmp_path / "two")
