"""Recorded trainings of the length-divergence study: figures over seeds, and the directions they show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mobilebert_runtime.errors import DataError
from studies.common.records import read_folder
from studies.length_bias.published import ARCHITECTURES, DATA, METRICS, TABLE_2

TRAIN_SETS = ("original", "adversarial")
TESTS = ("original", "adversarial")
# Prefix of a test's name in the records → its data sets. TrecQA's clean dev set is a second test because the
# paper's "1117 for testing" is the size of that one.
PREFIXES: dict[str, tuple[str, ...]] = {"": tuple(DATA), "clean_dev_": ("trecqa",)}


class Figure(NamedTuple):
    """A metric over the seeds of a run config, in per cent."""

    mean: float
    low: float  # 95% interval over test examples, its bounds averaged over seeds
    high: float
    seeds: tuple[float, ...]  # the value of each


@dataclass(frozen=True)
class Direction:
    """By how many points a combination of data set and architecture moves the way the paper says."""

    data: str
    arch: str
    prefix: str  # of the tests
    points: Mapping[str, float]  # by metric, means over seeds
    seeds: int
    agreeing: int  # seeds in which at least one metric moves that way

    @property
    def holds(self) -> bool:
        """At least one metric moves that way: the counting that gives the paper's own 14 and 15 of 16."""
        return any(points > 0 for points in self.points.values())

    @property
    def holds_in_all(self) -> bool:
        """Every metric of the table does."""
        return all(points > 0 for points in self.points.values())


class Runs:
    """Recorded trainings: at most one for each data set, architecture, training set and seed."""

    def __init__(self, records: Iterable[dict[str, Any]]) -> None:
        self._runs: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
        for record in records:
            key = record["data"], record["arch"], record["train_set"]
            self._runs.setdefault(key, {})[int(record["seed"])] = record

    @classmethod
    def load(cls, folder: Path) -> Runs:
        """Every JSON file of a folder; an absent folder holds no runs.

        Raises:
            DataError: a file is not the record of a run, or lacks a metric of Table 2.
        """
        return cls(_checked(folder / name, record) for name, record in read_folder(folder).items())

    def __len__(self) -> int:
        return sum(len(seeds) for seeds in self._runs.values())

    def of(self, data: str, arch: str, train_set: str) -> list[dict[str, Any]]:
        """The records of a run config by ascending seed."""
        seeds = self._runs.get((data, arch, train_set), {})
        return [seeds[seed] for seed in sorted(seeds)]

    def missing(self) -> list[str]:
        """Names of the run configs without any run."""
        configs = [(d, a, t) for d in DATA for a in ARCHITECTURES for t in TRAIN_SETS]
        return [".".join(config) for config in configs if not self.of(*config)]

    def figure(self, data: str, arch: str, train_set: str, test: str, metric: str) -> Figure | None:
        """A metric of a run config; None where there is no run. `test` is one of `TESTS` behind a prefix."""
        found = [record["tests"][test] for record in self.of(data, arch, train_set)]
        if not found:
            return None
        values = tuple(100 * figures[metric] for figures in found)
        low, high = (
            100 * sum(figures["intervals"][metric][side] for figures in found) / len(found) for side in (0, 1)
        )
        return Figure(sum(values) / len(values), low, high, values)

    def drop(self, data: str, arch: str, prefix: str = "") -> Direction | None:
        """Points that the matcher of the original training set loses on the adversarial test set."""
        return self._direction(data, arch, prefix, ("original", "original"), ("original", "adversarial"))

    def gain(self, data: str, arch: str, prefix: str = "") -> Direction | None:
        """Points that adversarial training wins on the adversarial test set."""
        return self._direction(
            data, arch, prefix, ("adversarial", "adversarial"), ("original", "adversarial")
        )

    def _direction(
        self, data: str, arch: str, prefix: str, above: tuple[str, str], below: tuple[str, str]
    ) -> Direction | None:
        """`above` minus `below`, each a training and a test set, over the seeds that both have."""
        more, less = (
            {int(record["seed"]): record["tests"][prefix + test] for record in self.of(data, arch, train_set)}
            for train_set, test in (above, below)
        )
        seeds = sorted(more.keys() & less.keys())
        if not seeds:
            return None
        points = {
            metric: [100 * (more[seed][metric] - less[seed][metric]) for seed in seeds]
            for metric in METRICS[data]
        }
        return Direction(
            data,
            arch,
            prefix,
            {metric: sum(of_seeds) / len(seeds) for metric, of_seeds in points.items()},
            len(seeds),
            sum(any(p > 0 for p in of_metrics) for of_metrics in zip(*points.values(), strict=True)),
        )


def printed_directions() -> tuple[list[Direction], list[Direction]]:
    """Drops and gains of the paper's own Table 2, one a combination, in the same form as ours."""
    drops, gains = [], []
    for data in DATA:
        for arch in ARCHITECTURES:
            printed = {metric: TABLE_2[data, metric][arch] for metric in METRICS[data]}
            drop = {metric: row.original - row.adversarial for metric, row in printed.items()}
            gain = {metric: row.adversarial_gain for metric, row in printed.items()}
            drops.append(Direction(data, arch, "", drop, 1, int(any(p > 0 for p in drop.values()))))
            gains.append(Direction(data, arch, "", gain, 1, int(any(p > 0 for p in gain.values()))))
    return drops, gains


def _checked(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    try:
        for name, known in (("data", DATA), ("arch", ARCHITECTURES), ("train_set", TRAIN_SETS)):
            if record[name] not in known:
                raise DataError(f"{path}: {name} is {record[name]!r}; expected one of {', '.join(known)}")
        for prefix, data in PREFIXES.items():
            for test in TESTS if record["data"] in data else ():
                figures = record["tests"][prefix + test]
                for metric in METRICS[record["data"]]:
                    _ = float(figures[metric]), *map(float, figures["intervals"][metric])
        int(record["seed"])
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: not the record of a run ({error!r}); remake it") from error
    return record
