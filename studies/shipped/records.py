"""Records of the matchers that are shipped, and of those they are compared with, by name and test.

A folder holds, all of them optional, NAME.TEST.json (`mobilebert evaluate`), NAME.invariances.json
(`mobilebert invariances`), latency*.json (`mobilebert bench`) and speed.json (`matcher_speed.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from mobilebert_runtime.errors import DataError
from studies.common.records import read_folder

QQP = "qqp-test"
TRANSFERS = {"twitter_url": "Twitter-URL", "mrpc": "MRPC"}  # never trained on when they are tests here
INVARIANCES = "invariances"
SPEED = "speed.json"
LATENCY = "latency*.json"

# NAME of a record → what the page calls it. NAME.int8 and NAME.float are artefacts of it, NAME.original the
# same student trained on the original instead of a bias-free set, NAME.symmetric the mean over both orders.
OURS = {
    "teacher": "teacher",
    "matcher-m": "matcher-m",
    "matcher-s": "matcher-s",
}
STUDENTS = tuple(name for name in OURS if name != "teacher")
OTHERS = {
    "cosine-minilm-l6": "all-MiniLM-L6-v2, cosine",
    "cosine-paraphrase-l3": "paraphrase-MiniLM-L3-v2, cosine",
    "matchpyramid.original": "MatchPyramid",
    "matchpyramid.adversarial": "MatchPyramid, bias-free training",
    "bimpm.original": "BiMPM",
    "bimpm.adversarial": "BiMPM, bias-free training",
    "esim.original": "ESIM",
    "esim.adversarial": "ESIM, bias-free training",
    "bert-tiny.original": "BERT_TINY",
    "bert-tiny.adversarial": "BERT_TINY, bias-free training",
}
VARIANTS = {
    "": "",
    ".int8": ", int8",
    ".float": ", float artefact",
    ".original": ", trained on the original set",
    ".symmetric": ", both orders",
}
TITLES = {
    name + variant: title + addition for name, title in OURS.items() for variant, addition in VARIANTS.items()
} | OTHERS
# A record of an older program lacks the adversarial test and some intervals, but never these.
_NEEDED = ("matcher", "data", "pairs", "accuracy", "accuracy_interval", "auc", "ece", "categories")
_SPEED_NEEDED = ("base", "pairs", "threads", "matchers")
Json = dict[str, Any]


class Cost(NamedTuple):
    """An artefact in an interleaved latency run, with its accuracy on the QQP test."""

    name: str  # of the artefact's folder
    ms: float  # median
    megabytes: float  # model file
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class ShipRecords:
    """Everything a folder holds; what was not recorded is not there."""

    evaluations: Mapping[str, Mapping[str, Json]]  # NAME → test → record, in the order of `TITLES`
    invariances: Mapping[str, Json]  # NAME → record
    latencies: Mapping[str, Json]  # stem of the file → record of `mobilebert bench`
    speed: Json | None

    @classmethod
    def load(cls, folder: Path) -> ShipRecords:
        """Read a folder.

        Raises:
            DataError: no such folder, a damaged record, or a name that the page does not know.
        """
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; `mobilebert evaluate … --json` fills it")
        evaluations: dict[str, dict[str, Json]] = {name: {} for name in TITLES}
        moved: dict[str, Json] = {}
        latencies: dict[str, Json] = {}
        speed: Json | None = None
        for file, record in read_folder(folder).items():
            path = folder / file
            if file == SPEED:
                speed = _checked(path, record, _SPEED_NEEDED)
                continue
            if fnmatchcase(file, LATENCY):
                latencies[path.stem] = _latency(path, record)
                continue
            name, _, test = path.stem.rpartition(".")
            if name not in TITLES or test not in (QQP, *TRANSFERS, INVARIANCES):
                raise DataError(
                    f"{path}: expected NAME.TEST.json with NAME one of {', '.join(TITLES)} and TEST one of "
                    f"{', '.join((QQP, *TRANSFERS, INVARIANCES))}; rename or remove it"
                )
            if test == INVARIANCES:
                moved[name] = _checked(path, record, ("matcher", "pairs", "perturbations"))
            else:
                evaluations[name][test] = _checked(path, record, _NEEDED)
        if speed and speed["base"] not in TITLES:
            raise DataError(f"{folder / SPEED}: its base {speed['base']!r} is none of {', '.join(TITLES)}")
        return cls(
            {name: tests for name, tests in evaluations.items() if tests},
            {name: moved[name] for name in TITLES if name in moved},
            latencies,
            speed,
        )

    def test(self, name: str, test: str = QQP, part: str = "original") -> Json | None:
        """The figures of a matcher on a test, or on its "adversarial" part; None where not recorded."""
        record = self.evaluations.get(name, {}).get(test)
        return record if record is None or part == "original" else record.get("adversarial")

    def costs(self, latency: Json) -> list[Cost]:
        """The artefacts of a latency run whose accuracy is recorded, fastest first."""
        tested = {
            Path(tests[QQP]["matcher"]).name: tests[QQP]
            for tests in self.evaluations.values()
            if QQP in tests
        }
        found = [
            Cost(
                name,
                summary["p50_ms"],
                latency["facts"][name]["bytes"] / 1e6,
                tested[name]["accuracy"],
                *tested[name]["accuracy_interval"],
            )
            for name, summary in latency["summary"].items()
            if name in tested
        ]
        return sorted(found, key=lambda cost: cost.ms)

    def missing(self) -> list[str]:
        """Files that the page would show and that are not there, one name each."""
        wanted = [
            *(f"{name}.{test}" for name in OURS for test in (QQP, *TRANSFERS)),
            f"teacher.symmetric.{QQP}",
            *(f"{name}.int8.{QQP}" for name in STUDENTS),
            *(f"{name}.original.{QQP}" for name in STUDENTS),
            *(f"{name}.{QQP}" for name in OTHERS),
        ]
        absent = [key for key in wanted if self.test(key.rpartition(".")[0], key.rpartition(".")[2]) is None]
        absent += [f"{name}.{INVARIANCES}" for name in OURS if name not in self.invariances]
        absent += [] if self.latencies else ["latency"]
        return absent + ([] if self.speed else ["speed"])


def dominated(costs: list[Cost]) -> set[str]:
    """Names of the artefacts that another beats: as fast and as accurate, and better in one of the two."""
    return {
        one.name
        for one in costs
        for other in costs
        if other.ms <= one.ms
        and other.accuracy >= one.accuracy
        and (other.ms < one.ms or other.accuracy > one.accuracy)
    }


def _latency(path: Path, record: Json) -> Json:
    _checked(path, record, ("summary", "facts", "settings"))
    record.setdefault("candidates", record.get("contenders"))  # the name in records of older programs
    if not record["candidates"]:
        raise DataError(f"{path}: lacks candidates; remake it")
    return record


def _checked(path: Path, record: Json, needed: tuple[str, ...]) -> Json:
    absent = [key for key in needed if key not in record] if isinstance(record, dict) else list(needed)
    if absent:
        raise DataError(f"{path}: lacks {', '.join(absent)}; remake it")
    return record
