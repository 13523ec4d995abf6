"""How much of a text's length can be read off a network's representation of it: Table 3 of Jiang et al. 2022.

python -m studies.length_bias.probe bimpm esim minilm --runs runs/length_bias --corpus TEXT.txt \
        --json results/length_bias/probing.json
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import torch
from torch import Tensor
from typer import Argument, Option

import mobilebert_models
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from studies.common.markdown import with_interval
from studies.common.records import read_json
from studies.common.script import Threads, console, run
from studies.length_bias.representations import bert_representations
from studies.length_bias.sentlen import BINS, MAJORITY, ProbeConfig, SentLen, probe, sentlen
from studies.length_bias.word_level.word_matcher import build_word_matcher, load_word_matcher

RECURRENT = ("bimpm", "esim")
PER_BIN = (2000, 500, 1000)  # sentences of a length bin to train, stop and test the classifier
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


def main(
    corpus: Annotated[
        list[Path], Option(help="Text, one paragraph per line (.txt, .xz, .gz); may be repeated.")
    ],
    json_file: Annotated[Path, Option("--json", help="The record; what it holds already is not redone.")],
    model: Annotated[
        list[str] | None,
        Argument(help="Before training: bimpm, esim, minilm, or the model directory of an encoder."),
    ] = None,
    runs: Annotated[
        Path | None, Option(help="Folder of trained matchers, as studies.length_bias.table2 leaves it.")
    ] = None,
    train: Annotated[int, Option(min=1, help="Sentences a length bin to train the classifier on.")] = PER_BIN[
        0
    ],
    dev: Annotated[int, Option(min=1, help="Sentences a bin to stop it by.")] = PER_BIN[1],
    test: Annotated[int, Option(min=1, help="Sentences a bin to test it on.")] = PER_BIN[2],
    seed: Annotated[int, Option(help="Of the drawn sentences.")] = 0,
    random_networks: Annotated[
        int, Option(min=1, help="Random bimpm and esim networks to average over.")
    ] = 3,
    threads: Threads = 2,
) -> None:
    """Probe representations for sentence length: SentLen of Conneau et al. 2018, six bins of 5 to 28 words.

    A small classifier is trained on frozen representations: the max-pooled BiLSTM outputs of BiMPM and ESIM,
    the averaged output layer and the [CLS] output of a BERT. Of the trained matchers those of the original
    training sets are probed, as in the paper.
    """
    torch.set_num_threads(threads)
    wanted = subjects(model or [], runs, random_networks)
    drawn = {"corpus": [path.name for path in corpus], "per_bin": [train, dev, test], "seed": seed}
    record = ProbeRecord.open(json_file, ProbeConfig(), drawn)
    with console().status("drawing sentences"):
        task = sentlen(corpus, (train, dev, test), seed)
    for subject in wanted:
        if record.has(subject):
            console().print(f"{subject.name}: there already")
            continue
        with console().status(subject.name):
            rows = record.add(subject, representations(subject, task.texts), task)
        for row in rows:
            value = with_interval(row["accuracy"], row["interval"], 4)
            console().print(f"{subject.name} {row['representation']}: {value}")


def subjects(names: Sequence[str], runs: Path | None, random_networks: int) -> list[Subject]:
    """Networks before training by name, and the trained ones of a folder of runs.

    Args:
        names: bimpm and esim stand for random networks, any other is a packaged encoder or a model directory.
        runs: its folders DATA.ARCH.original.seedN with a finished model are taken; MatchPyramid, which makes
            no representation of a single text, is not.
        random_networks: how many of a recurrent architecture.

    Raises:
        DataError: nothing to probe, or `runs` is no folder.
        ModelError: a name is neither a packaged encoder nor a directory.
    """
    found = []
    for name in names:
        if name in RECURRENT:
            found += [Subject(name, "untrained", None, seed, None) for seed in range(random_networks)]
        else:
            source = mobilebert_models.find_directory(name)
            found.append(Subject(_arch(source, name), "untrained", None, 0, source))
    if runs is not None:
        if not runs.is_dir():
            raise DataError(f"{runs}: no such folder; studies.length_bias.table2 makes it")
        for model in sorted(runs.glob(f"*.{_TRAINED_ON}.seed*/model")):
            data, arch, _, seed = model.parent.name.split(".")
            if arch != "matchpyramid":
                found.append(Subject(arch, "trained", data, int(seed.removeprefix("seed")), model))
    if not found:
        raise DataError("nothing to probe: name models, or give --runs with finished runs")
    return found


def representations(subject: Subject, texts: Sequence[str]) -> dict[str, Tensor]:
    """Every representation that a network makes of N texts, by name, each (N, D).

    Raises:
        ModelError: the network cannot be loaded.
    """
    if subject.arch in RECURRENT:
        matcher = (
            build_word_matcher(subject.arch, seed=subject.seed)
            if subject.source is None
            else load_word_matcher(subject.source)
        )
        return {"bilstm_max": torch.from_numpy(matcher.represent(texts))}
    source = cast(Path, subject.source)
    model = mobilebert_models.load_pretrained(source)
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
            DataError: the file holds another task or classifier.
            DataError: it is no JSON.
        """
        settings = {
            "task": task | {"words": [[b.start, b.stop - 1] for b in BINS]},
            # As JSON gives it back: a tuple becomes a list.
            "classifier": asdict(config) | {"seeds": list(config.seeds)},
        }
        if path.is_file():
            values = read_json(path)
            if any(values.get(name) != value for name, value in settings.items()):
                raise DataError(
                    f"{path}: holds another task or classifier; use its settings or another --json"
                )
            return cls(path, config, values)
        if not path.parent.is_dir():
            raise DataError(f"{path}: the folder {path.parent} does not exist; make it first")
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
    config = mobilebert_models.read_config(source)
    return next(
        (preset for preset, known in mobilebert_models.PRESETS.items() if known == config), Path(name).name
    )


if __name__ == "__main__":
    run(main)
