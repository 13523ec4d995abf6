"""The debiasing methods compared: one start, one number of steps, every method, both tests.

    python -m studies.debiasing.compare --data ../shared/data/qqp --out results/debiasing/encoder \
        --runs runs/debiasing/encoder

A record is a JSON file of its own, so that a finished method is not run again and an interrupted one goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn
from typer import Option

import mobilebert_models
from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.evaluation.pair_evaluation import evaluate
from mobilebert_matching.evaluation.score_calibration import fit_settings
from mobilebert_matching.length_bias.bias_audit import load_quartiles
from mobilebert_matching.length_bias.length_divergence import CATEGORIES
from mobilebert_matching.length_bias.length_prior import adjusted
from mobilebert_matching.length_bias.training_sets import DEV_PAIRS, DataSet, Examples, training_part
from mobilebert_matching.mining.tfidf import mine_pairs
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.batches import Batch, LengthBuckets, Tensors
from mobilebert_training.distillation.teacher_logits import teacher_logits
from mobilebert_training.finetuning.encoded_pairs import swap_flags
from mobilebert_training.finetuning.fit_matcher import TrainableMatcher
from mobilebert_training.finetuning.initial_model import start_directory, start_model
from mobilebert_training.finetuning.matchers import EncoderMatcher
from mobilebert_training.run_directory import values_hash
from mobilebert_training.trainer import Parts, train
from mobilebert_training.training_config import LossNormalizers, ResumeError, TrainingConfig
from studies.common.paper_data import HeldOut, held_out_parts, paper_data
from studies.common.records import read_all, read_folder, read_json, write_text
from studies.common.script import Out, Runs, Seeds, Threads, console, run
from studies.debiasing.methods import (
    METHODS,
    DebiasedTrainingSet,
    DebiasingInput,
    Method,
    debiased_training_set,
    debiasing_loss,
    find_method,
    missing_label,
)
from studies.debiasing.report import draw, page
from studies.length_bias.word_level.word_matcher import (
    NETWORKS,
    TRAINING,
    build_word_matcher,
    load_matcher,
)

# Mined pairs that are labelled for each one that augmentation lacks, by the label it lacks: of pairs mined
# from QQP whose lengths diverge most (CAT4) matcher-qqp-m calls 6% equal, of the others 14%.
TRIES = {1: 18.0, 0: 1.5}
PROPOSALS = 12  # mined pairs a text at most: more than there are, so all of them
RESAMPLES = 2000

# As `mining.mine_pairs`: takes texts, a number of pairs, `known` ones to leave out, and a `seed`.
Miner = Callable[..., list[Pair]]


def main(
    out: Out,
    runs: Runs,
    data: Annotated[str, Option(help="qqp, twitter_url, or a folder of labelled pairs.")] = "qqp",
    data_root: Annotated[Path | None, Option(help="Folder of the named data sets.")] = None,
    start: Annotated[
        str,
        Option(
            help="What all methods start from: the encoder of a shipped matcher, minilm or a directory, or a "
            "random matchpyramid, bimpm or esim."
        ),
    ] = "matcher-qqp-m",
    teacher: Annotated[
        Path | None, Option(help="Model directory of a classifier fine-tuned on the (biased) pairs.")
    ] = None,
    method: Annotated[list[str] | None, Option(help="Only this method (repeat for more).")] = None,
    seeds: Seeds = None,
    epochs: Annotated[float, Option(help="Passes over the labelled pairs.")] = 1.0,
    max_pairs: Annotated[int | None, Option(min=1, help="At most so many labelled pairs.")] = None,
    threads: Threads = 1,
) -> None:
    """Train and test every method that has no record yet; then OUT/report.md and report.png of all records.

    Without --method: all methods that the options allow, those with a teacher if one is given.
    """
    torch.set_num_threads(threads)
    names = method or [
        name for name, row in METHODS.items() if teacher or not (row.needs_teacher or row.needs_extra)
    ]
    for name in names:
        find_method(name)
    folder = paper_data(data, data_root)
    config = RunConfig(epochs=epochs, max_pairs=max_pairs)
    if start in NETWORKS:
        config = replace(config, learning_rate=TRAINING[start].learning_rate)
    for seed in seeds or [0]:
        comparison = Comparison(folder, start, replace(config, seed=seed), out, runs, mine_pairs, teacher)
        for name in names:
            record = comparison.run(name)
            fair = record["test"]["adversarial"]
            console().print(
                f"{name}, seed {seed}: {record['training']['seconds']:.0f} s, accuracy "
                f"{record['test']['accuracy']:.4f}, adversarial {fair['accuracy']:.4f}, "
                f"gap {fair['tpr_gap']['value']}"
            )
    found = read_all(out, "*.seed*.json")  # also those of earlier calls
    write_text(out / "report.md", f"{page(found)}\n![Accuracy and true positive rates](report.png)\n")
    draw(found, out / "report.png")


@dataclass(frozen=True)
class RunConfig:
    """What all methods share."""

    epochs: float = 1.0  # over the labelled pairs; every method takes as many steps
    batch_size: int = 64
    learning_rate: float = (
        5e-4  # of the task stage of `mobilebert_training.distillation.distillation_recipes`
    )
    max_pairs: int | None = None  # at most so many labelled pairs, drawn at random
    seed: int = 0


@dataclass(frozen=True)
class Comparison:
    """Where everything comes from and goes to."""

    data: DataSet  # pairs, with train.tsv and test.tsv
    start: str  # a model as in `initial_model`, of which the encoder is taken; or a word-level matcher
    config: RunConfig
    out: Path  # of the records
    runs: Path  # of models, checkpoints and the teacher's logits
    mine: Miner
    teacher: Path | None = None  # model directory of a classifier trained on the biased pairs

    def record_path(self, name: str) -> Path:
        """Where the record of a method lies once it is finished."""
        return self.out / f"{name}.seed{self.config.seed}.json"

    def run(self, name: str) -> dict[str, Any]:
        """Train a method unless its model is there, test it unless its record is there; returns the record.

        Raises:
            OptionError: an unknown method, one that needs a teacher and has none, or data with lists.
            ResumeError: a record or a run of other settings is in the way.
            DataError: a file cannot be read.
            ModelError: `start` or `teacher` cannot.
        """
        method = find_method(name)
        if self.data.group is not None:
            raise OptionError(f"{self.data.name} holds lists; the methods are for pairs")
        asks = method.needs_teacher or method.needs_extra
        teacher = self.teacher if asks else None
        if asks and teacher is None:
            raise OptionError(f"{name} needs a teacher's labels; give --teacher")
        sources = self._sources(teacher)
        path = self.record_path(name)
        if path.name in read_folder(self.out):
            return _checked(path, sources)
        trained = method.trained_as or name
        folder = self.runs / f"{trained}.seed{self.config.seed}"
        _claim(folder / "sources.json", sources)
        if not (folder / "model").is_dir():
            self._train(debiased_training_set(trained, self._material(method, teacher)), folder)
        record = {
            "method": name,
            "summary": method.summary,
            "seed": self.config.seed,
            "data": self.data.name,
            "start": self.start,
            "teacher": str(teacher) if teacher else None,
            "sources": sources,
            "training": read_json(folder / "training.json"),
        }
        record |= self._test(name, folder)
        self.out.mkdir(parents=True, exist_ok=True)
        write_json(path, record)
        return record

    @cached_property
    def _parts(self) -> tuple[LabelledPairs, Examples, HeldOut]:
        """Training pairs, development pairs, and the test with the rows of its adversarial version."""
        examples, dev, _ = training_part(
            self.data,
            "original",
            seed=self.config.seed,
            max_pairs=self.config.max_pairs,
            max_dev=DEV_PAIRS,
        )
        return LabelledPairs(examples.pairs, examples.labels), dev, held_out_parts(self.data)[0]

    @cached_property
    def _hashes(self) -> dict[str, str]:
        labelled, dev, test = self._parts
        parts = labelled, dev, test.examples
        data = {"data": _hash(*(json.dumps([part.pairs, part.labels.tolist()]) for part in parts))}
        if self.start in NETWORKS:
            return data  # random weights, which follow from the seed
        return data | {"start": _weights_hash(start_directory(self.start))}

    def _sources(self, teacher: Path | None) -> dict[str, Any]:
        """What a run depends on, by content; a run that goes on must depend on the same."""
        hashes = self._hashes | ({"teacher": _weights_hash(teacher)} if teacher else {})
        return {"start": self.start, "sha256": hashes, "settings": asdict(self.config)}

    def _material(self, method: Method, teacher: Path | None) -> DebiasingInput:
        plain = DebiasingInput(self._parts[0], self.config.seed)
        if teacher is not None and method.needs_teacher:
            plain = replace(plain, teacher_logits=self._teacher_logits(teacher, plain.labelled.pairs))
        if teacher is not None and method.needs_extra:
            candidates = self._candidates(plain)
            labels = self._teacher_logits(teacher, candidates).argmax(1)
            plain = replace(plain, extra=LabelledPairs(candidates, labels))
        return plain

    def _candidates(self, plain: DebiasingInput) -> list[Pair]:
        """Mined pairs for a teacher to label, as many of each category as its missing label is worth."""
        pairs, labels = plain.labelled
        known = [*pairs, *self._parts[1].pairs, *self._parts[2].examples.pairs]
        texts = [text for pair in pairs for text in pair]
        mined = self.mine(texts, PROPOSALS * len(texts), known=known, seed=self.config.seed)
        own, place = plain.prior.category(pairs), plain.prior.category(mined)
        chosen = []
        for category in CATEGORIES:
            label, missing = missing_label(labels[own == category], plain.prior.overall)
            free = np.flatnonzero(place == category)
            rng = np.random.default_rng((self.config.seed, category))
            chosen.append(rng.permutation(free)[: round(TRIES[label] * missing)])
        return [mined[row] for row in np.concatenate(chosen)]

    def _teacher_logits(self, teacher: Path, pairs: list[Pair]) -> np.ndarray:
        """Logits (N, 2) of the teacher, kept in `runs`."""
        network, tokenizer = mobilebert_models.load_classifier(teacher), PairTokenizer.load(teacher)
        return teacher_logits(network, tokenizer, pairs, self.runs / "teacher_logits")

    def _train(self, plan: DebiasedTrainingSet, folder: Path) -> None:
        """Fine-tune the start; leaves training.json and, at the very end, model/ in `folder`."""
        matcher = self._fresh_matcher()
        prepared = matcher.prepare(plan.labelled.pairs)
        size, rate, seed = self.config.batch_size, self.config.learning_rate, self.config.seed
        config = TrainingConfig(self.config.epochs, size, rate, seed=seed)
        config = replace(config, steps=config.total_steps(len(self._parts[0].pairs)))
        names = ("targets", "weights", "expert")
        terms = {name: torch.from_numpy(getattr(plan, name)).float() for name in names}

        def collate(batch: Batch) -> Tensors:
            inputs = matcher.inputs(prepared, batch.index, swap_flags(batch))
            return inputs | {name: values[batch.index] for name, values in terms.items()}

        def loss(network: nn.Module, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
            given = [batch.pop(name) for name in terms]
            return debiasing_loss(network(**batch).float(), *given) * normalizers.sequences, {}

        metadata = {"categories": self._balance(plan)}
        taught = [values.reshape(len(values), -1).numpy() for values in terms.values()]
        source = LengthBuckets(
            prepared.lengths, collate, values_hash(plan.labelled.pairs, np.column_stack(taught))
        )
        train(matcher.network, source, loss, config, folder, name="training", metadata=metadata)
        matcher.save(folder / "model")

    def _fresh_matcher(self) -> TrainableMatcher:
        seed = self.config.seed
        if self.start in NETWORKS:
            return build_word_matcher(self.start, seed=seed)
        network = start_model(self.start, "pair_classifier", seed=seed)
        return EncoderMatcher(network, start_directory(self.start), arch=self.start)

    def _balance(self, plan: DebiasedTrainingSet) -> list[dict[str, Any]]:
        """Pairs of each label in each category, and the ratio of labels by weights and targets."""
        category, labels = (
            DebiasingInput(self._parts[0]).prior.category(plan.labelled.pairs),
            plan.labelled.labels,
        )
        mass = plan.weights[:, None] * plan.targets  # (M, 2)
        out = []
        for c in CATEGORIES:
            inside = category == c
            negative, positive = np.bincount(labels[inside], minlength=2).tolist()
            row = {"category": f"CAT{c}", "negative": negative, "positive": positive}
            total = mass[inside].sum(axis=0)
            out.append(row | {"weighted_ratio": float(total[1] / total[0]) if inside.any() else None})
        return out

    def _test(self, name: str, folder: Path) -> dict[str, Any]:
        """Decision settings fitted on dev, every figure on test, and what is won over `original`."""
        _, dev, held_out = self._parts
        test = held_out.examples
        logits = self._logits(folder)
        if strength := find_method(name).shift:
            shifts = [DebiasingInput(self._parts[0]).prior.shift(part.pairs) for part in (dev, test)]
            logits = [adjusted(own, shift, strength) for own, shift in zip(logits, shifts, strict=True)]
        decision = fit_settings(logits[0], dev.labels)
        probabilities = softmax(logits[1].astype(np.float64) / decision.temperature, axis=1)[:, 1]
        quartiles = load_quartiles(self.data.file("train"), "pairwise")
        right = (probabilities >= decision.threshold) == test.labels
        np.save(self._right_path(name), right)
        reference, won = self._right_path("original"), None
        if name != "original" and reference.is_file():
            before, fair = np.load(reference), held_out.adversarial
            won = {
                "original": _difference(right, before),
                "adversarial": _difference(right[fair], before[fair]),
            }
        return {
            "temperature": decision.temperature,
            "test": evaluate(test.pairs, test.labels, probabilities, decision.threshold, quartiles),
            "accuracy_won_over_original": won,
        }

    def _logits(self, folder: Path) -> list[np.ndarray]:
        """Logits of the development and test pairs, (N, 2) each, kept beside the model."""
        path = folder / "logits.npz"
        if not path.is_file():
            matcher, (_, dev, held_out) = load_matcher(folder / "model"), self._parts
            found = {"dev": matcher.predict(dev.pairs), "test": matcher.predict(held_out.examples.pairs)}
            partial = folder / "logits.partial.npz"
            np.savez(partial, **found)  # type: ignore[arg-type]
            partial.replace(path)
        with np.load(path) as kept:
            return [kept["dev"], kept["test"]]

    def _right_path(self, name: str) -> Path:
        """Which test pairs a method got right, for paired comparisons."""
        return self.runs / f"{name}.seed{self.config.seed}.right.npy"


def _difference(own: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Accuracy won over another matcher on the same pairs, with a paired bootstrap interval."""
    won = own.astype(np.int64) - other
    counts = np.bincount(won + 1, minlength=3)  # worse, alike, better: all that the difference depends on
    drawn = np.random.default_rng(0).multinomial(len(won), counts / len(won), RESAMPLES)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / len(won), [0.025, 0.975])
    return {"value": float(won.mean()), "low": float(low), "high": float(high)}


def _claim(path: Path, sources: dict[str, Any]) -> None:
    """Note what a run depends on, or check that the run found there depends on the same."""
    if path.is_file():
        _checked(path, sources)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"sources": sources})


def _checked(path: Path, sources: dict[str, Any]) -> dict[str, Any]:
    """A JSON file whose `sources` are these."""
    found = read_json(path)
    if found.get("sources") != sources:
        raise ResumeError(
            f"{path}: is of a run from {found.get('sources')}, this one is from {sources}; "
            "use the same settings and files, or other --out and --runs"
        )
    return found


def _hash(*texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def _weights_hash(directory: Path) -> str:
    path = directory / "model.safetensors"
    if not path.is_file():
        raise ModelError(f"{path}: no such file; give a model directory")
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    run(main)
