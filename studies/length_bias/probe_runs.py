"""Which networks SentLen probes, and the record of what it found: Table 3 of Jiang et al. 2022."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

import models
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from models.layers import encoder_of
from studies.length_bias.recorded_runs import read_json
from studies.length_bias.representations import bert_representations
from studies.length_bias.sentlen import BINS, MAJORITY, ProbeConfig, ProbeError, SentLen, probe
from training.matchers import WordMatcher, build_matcher, load_matcher

RECURRENT = ("bimpm", "esim")
_TRAINED_ON = "original"  # Table 3 probes the matchers of the original training sets


@dataclass(frozen=True)
class Subject:
    """A network to be probed."""

    arch: str
    state: str  # "untrained" or "trained": on pairs; a pretrained BERT is untrained in this sense
    data: str | None  # which pairs; None before training
    seed: int
    source: Path | None  # model directory; None: a random network of `seed`

    @property
    def name(self) -> str:
        """For progress and messages."""
        return " ".join(filter(None, [self.arch, self.state, self.data, f"seed {self.seed}"]))


def subjects(names: Sequence[str], runs: Path | None, random_networks: int) -> list[Subject]:
    """Networks before training by name, and the trained ones of a folder of runs.

    Args:
        names: bimpm and esim stand for random networks, any other is a packaged encoder or a model directory.
        runs: its folders DATA.ARCH.original.seedN with a finished model are taken; MatchPyramid, which makes
            no representation of a single text, is not.
        random_networks: how many of a recurrent architecture.

    Raises:
        ProbeError: nothing to probe, or `runs` is no folder.
        ModelError: a name is neither a packaged encoder nor a directory.
    """
    found = []
    for name in names:
        if name in RECURRENT:
            found += [Subject(name, "untrained", None, seed, None) for seed in range(random_networks)]
        else:
            source = models.find_directory(name)
            found.append(Subject(_arch(source, name), "untrained", None, 0, source))
    if runs is not None:
        if not runs.is_dir():
            raise ProbeError(f"{runs}: no such folder; `mobilebert reproduce length-bias` makes it")
        for model in sorted(runs.glob(f"*.{_TRAINED_ON}.seed*/model")):
            data, arch, _, seed = model.parent.name.split(".")
            if arch != "matchpyramid":
                found.append(Subject(arch, "trained", data, int(seed.removeprefix("seed")), model))
    if not found:
        raise ProbeError("nothing to probe: name models, or give --runs with finished runs")
    return found


def representations(subject: Subject, texts: Sequence[str]) -> dict[str, Tensor]:
    """Every representation that a network makes of N texts, by name, each (N, D).

    Raises:
        ModelError: the network cannot be loaded.
    """
    if subject.arch in RECURRENT:
        matcher = (
            build_matcher(subject.arch, seed=subject.seed)
            if subject.source is None
            else load_matcher(subject.source)
        )
        return {"bilstm_max": torch.from_numpy(cast(WordMatcher, matcher).represent(texts))}
    source = cast(Path, subject.source)
    model = models.load_pretrained(source)
    return bert_representations(encoder_of(model), PairTokenizer.load(source), texts)


class ProbeRecord:
    """What has been probed so far, in a JSON file that is complete after every network."""

    def __init__(self, path: Path, config: ProbeConfig, values: dict[str, Any]) -> None:
        self._path, self._config, self._values = path, config, values

    @classmethod
    def open(cls, path: Path, config: ProbeConfig, task: dict[str, Any]) -> ProbeRecord:
        """Take up the record at `path`, or begin one.

        Args:
            path: the JSON file.
            config: the classifier.
            task: what tells this task from another: corpus, sizes, seed.

        Raises:
            ProbeError: the file holds another task or classifier.
            RecordError: it is no JSON.
        """
        settings = {
            "task": task | {"words": [[b.start, b.stop - 1] for b in BINS]},
            # As JSON gives it back: a tuple becomes a list.
            "classifier": asdict(config) | {"seeds": list(config.seeds)},
        }
        if path.is_file():
            values = read_json(path)
            if any(values.get(name) != value for name, value in settings.items()):
                raise ProbeError(
                    f"{path}: holds another task or classifier; use its settings or another --json"
                )
            return cls(path, config, values)
        if not path.parent.is_dir():
            raise ProbeError(f"{path}: the folder {path.parent} does not exist; make it first")
        return cls(path, config, settings | {"majority": MAJORITY, "rows": []})

    def has(self, subject: Subject) -> bool:
        """This network is in the record."""
        return any(_key(subject).items() <= row.items() for row in self._values["rows"])

    def add(self, subject: Subject, found: dict[str, Tensor], task: SentLen) -> list[dict[str, Any]]:
        """Probe every representation of a network, write the record, and return the new rows."""
        rows = [
            _key(subject) | {"representation": name} | probe(features, task, self._config)
            for name, features in found.items()
        ]
        self._values["rows"] += rows
        write_json(self._path, self._values)
        return rows


def _key(subject: Subject) -> dict[str, Any]:
    return {"arch": subject.arch, "state": subject.state, "data": subject.data, "network": subject.seed}


def _arch(source: Path, name: str) -> str:
    """The preset a model directory has the shape of, else the name of the directory."""
    config = models.read_config(source)
    return next((preset for preset, known in models.PRESETS.items() if known == config), Path(name).name)
