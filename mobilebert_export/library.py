"""Functions of `import mobilebert_export as mb`: each is what the command of its name calls.

Packages that a function needs are imported when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mobilebert_export.console import Progress, quiet, training_bar

if TYPE_CHECKING:
    from android_bench.gate.verdict import Limits, Verdict
    from android_bench.measuring.latency_record import Record
    from mobilebert_export.pipeline.export_request import ExportOptions
    from mobilebert_export.pipeline.exporter import ExportResult
    from mobilebert_export.pipeline.in_memory import Model
    from mobilebert_export.shipping.ship import ShipResult
    from mobilebert_models import EmbeddingMatcher, MatcherSettings, PairClassifier
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_training.distillation.distillation import DistillationResult

SETTINGS = "matcher.json"  # of a model directory: how its matcher decides
SHOWN_PAIRS = 3  # of those that score highest without labels


@dataclass(frozen=True)
class TrainingResult:
    """A matcher that was trained."""

    model: Path  # directory: weights, tokenizer, decision settings
    settings: MatcherSettings  # fitted on the development pairs
    record: dict[str, Any]  # settings, loss curve and development figures: the content of finetune.json


@dataclass(frozen=True)
class GateResult:
    """What the gate says of a candidate, and the sessions that it judged."""

    verdict: Verdict
    record: Record

    @property
    def passed(self) -> bool:
        """Whether a slowdown of 8% is ruled out and nothing else grew."""
        return self.verdict.verdict == "pass"


def export(
    model: Model,
    out: str | Path,
    *,
    tokenizer: object = None,
    progress: Progress = quiet,
    **options: Unpack[ExportOptions],
) -> ExportResult:
    """Write a verified TFLite or ONNX artefact folder.

    The artefact is run on real padded pairs in its own runtime and compared with the PyTorch model. Nothing
    lies under `out` unless every step has passed.

    Args:
        model: a model directory, a hub id, the name of a shipped matcher, or a network in memory: one of
            `mobilebert_models`, a model of `transformers`, a `SentenceTransformer`.
        out: artefact folder to make.
        tokenizer: of a network in memory, unless it is a `SentenceTransformer`: a tokenizer of
            `transformers`, or a directory that holds one.
        progress: called with the title of each step as it begins; an indented line is a remark.
        options: `target` ("tflite" or "onnx"), `quant` ("int8", "dynamic", "none", …), `calibration` (a file
            of text pairs) and the other fields of `ExportRequest`.

    Raises:
        UserError: a wrong option or file, or a model that is not supported; nothing was written.
        VerificationError: the artefact does not agree with the PyTorch model.
    """
    from mobilebert_export.pipeline.export_request import TRANSFORMERS_LAYOUT, ExportRequest
    from mobilebert_export.pipeline.exporter import export as carry_out
    from mobilebert_export.pipeline.in_memory import model_directory
    from mobilebert_export.pipeline.transformers_layout import export_transformers

    with model_directory(model, tokenizer) as directory:
        request = ExportRequest(Path(out), directory, **options)  # type: ignore[arg-type]
        carry = export_transformers if request.layout == TRANSFORMERS_LAYOUT else carry_out
        return carry(request, progress)


def train(
    data: str | Path,
    out: str | Path,
    *,
    arch: str = "matcher-open-m",
    train_set: str = "original",
    init: str | Path | None = None,
    group: str | None = None,
    max_pairs: int | None = None,
    epochs: float | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    dtype: str = "float32",
    seed: int = 0,
    threads: int = 2,
    force: bool = False,
    bar: bool = False,
    progress: Progress = quiet,
) -> TrainingResult:
    """Train a text matcher on labelled pairs.

    Args:
        data: folder with train.tsv and perhaps dev.tsv.
        out: folder of the run; an interrupted run there is resumed.
        arch: shipped matcher or model directory to go on from; or "minilm" or "bert-tiny": a cross-encoder.
        train_set: "original", or "adversarial": without length bias.
        init: model directory that bert-tiny starts from.
        group: column of the query, where the folder holds ranked lists.
        max_pairs: train on so many pairs, drawn at random.
        epochs: passes over the training pairs, at most; this and the next three have defaults by `arch`.
        batch_size: pairs per step.
        learning_rate: peak learning rate.
        patience: stop after so many epochs without a better development figure; 0: never.
        dtype: "float32", or "bf16" where the processor or GPU has it.
        seed: of initial weights, order and dropout.
        threads: CPU threads.
        force: replace a finished model.
        bar: show a progress bar and development figures on stdout.
        progress: told of pairs that occur several times.

    Raises:
        UserError: an option, the data or the folder does not fit.
    """
    import json

    from mobilebert_models import MatcherSettings
    from mobilebert_training.finetuning.matcher_training import train_matcher

    with training_bar(shown=bar):
        model = train_matcher(
            Path(data),
            Path(out),
            arch=arch,
            train_set=train_set,  # type: ignore[arg-type]
            init=None if init is None else Path(init),
            group=group,
            max_pairs=max_pairs,
            seed=seed,
            threads=threads,
            force=force,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            patience=patience,
            dtype=dtype,
            progress=progress,
        )
    record = json.loads((Path(out) / "finetune.json").read_text(encoding="utf-8"))
    return TrainingResult(model, MatcherSettings.load(model), record)


def distill(
    teacher: str | Path | Sequence[str | Path],
    data: str | Path,
    out: str | Path,
    *,
    student: str = "matcher-m",
    recipe: str | None = None,
    epochs: float | None = None,
    start: str | None = None,
    debias: float = 0.0,
    labels: str | Path | None = None,
    dtype: str = "float32",
    seed: int = 0,
    threads: int = 2,
    force: bool = False,
    bar: bool = False,
    progress: Progress = quiet,
) -> DistillationResult:
    """Teach a small student what fine-tuned matchers or embedders know.

    Args:
        teacher: model directory of a fine-tuned pair classifier; or an embedder: "minilm", or a
            sentence-transformers folder. The answers of several are averaged.
        data: folder with train.tsv and dev.tsv; of an embedder a file of texts, one a line.
        out: folder of the run; an interrupted run there is resumed.
        student: preset of the student, of an embedder "mobilebert-tiny" or "mobilebert"; a Kronecker-factored
            model directory; or "kronecker-seventh".
        recipe: distillation recipe; default: "matcher-m", of an embedder "embedder".
        epochs: of an embedder, passes over the texts; default: 1.
        start: trained model of the student's shape to start from.
        debias: share of the length bias to remove from the targets; 1: all.
        labels: folder of what the teachers say, to share between students; default: `out`/labels.
        dtype: "float32", or "bf16" where the processor or GPU has it.
        seed: of initial weights and mining.
        threads: CPU threads.
        force: replace a finished model.
        bar: as for `train`.
        progress: called with what is being done.

    Raises:
        UserError: an option, the data, a model or the folder does not fit.
    """
    from mobilebert_training.distillation.distillation import distill as carry_out
    from mobilebert_training.distillation.distillation_config import DistillationConfig

    teachers = (teacher,) if isinstance(teacher, str | Path) else teacher
    config = DistillationConfig(
        teacher=tuple(map(str, teachers)),
        data=Path(data),
        out=Path(out),
        student=student,
        recipe=recipe,
        epochs=epochs,
        start=start,
        debias=debias,
        labels=None if labels is None else Path(labels),
        dtype=dtype,
        seed=seed,
        threads=threads,
        force=force,
    )
    with training_bar(shown=bar):
        return carry_out(config, progress)


def calibrate(
    model: str | Path,
    data: str | Path | None = None,
    *,
    out: str | Path | None = None,
    texts: Sequence[str] | None = None,
    false_matches: float | None = None,
    debias: bool | None = None,
    equal_recall: bool = False,
    positive: str | None = None,
    threads: int = 2,
    force: bool = False,
    progress: Progress = quiet,
) -> MatcherSettings:
    """Fit the decision of a matcher on labelled pairs, without length bias, and write it to its matcher.json.

    With `texts` the threshold alone is set, without labels: see `unlabelled_calibration`.

    Args:
        model: directory of a matcher with two labels; with `out` also the name of a shipped one.
        data: one file of pairs, or a folder with dev.tsv and perhaps train.tsv, whose lengths say how large
            the bias is.
        out: folder of a calibrated copy; None: `model` itself is changed.
        texts: instead of `data`, stored texts of which each means something else.
        false_matches: with `texts`, the share of them that may be taken for the nearest other one.
        debias: fit for pairs whose difference in length says nothing of the label; None: where there are
            enough pairs for it.
        equal_recall: also find as many matches at equal and at unequal lengths; debiases.
        positive: class that means a match, where the model's class names do not say so.
        threads: CPU threads.
        force: replace `out`, or the model's matcher.json.
        progress: told what became of the length bias, or how many of the texts match another one.

    Raises:
        UserError: the model, the data or an option does not fit.
    """
    import shutil

    from mobilebert_models import SHIPPED_MATCHERS, find_directory
    from mobilebert_runtime.errors import OptionError, OutputError
    from mobilebert_runtime.files import replacing, replacing_folder
    from mobilebert_runtime.find import CARD_FILE

    if (data is None) == (texts is None):
        raise OptionError("--data, --texts: give one of them")
    if (texts is None) != (false_matches is None):
        raise OptionError("--texts, --false-matches: give both, or neither")
    if texts is not None and (debias is not None or equal_recall):
        given_flag = "--equal-recall" if debias is None else "--debias" if debias else "--no-debias"
        raise OptionError(f"{given_flag}: needs labelled pairs; give --data instead of --texts")
    if equal_recall and debias is False:
        raise OptionError("--equal-recall: changes how the length bias is removed; leave out --no-debias")
    named = str(model) in ("shipped", *SHIPPED_MATCHERS) or not Path(model).is_dir()
    if out is None and named:
        raise OptionError(f"{model}: only a folder is changed itself; give --out for a calibrated copy")
    directory = Path(model) if out is None else find_directory(str(model))
    if (directory / CARD_FILE).is_file():
        raise OptionError(
            f"{model}: is an artefact; calibrate the model directory that it was made of, then export that"
        )

    def fitted() -> MatcherSettings:
        from mobilebert_training.finetuning.calibration import fit_decision

        network, tokenizer, given = _matcher_of_two(directory, positive, threads)
        if texts is not None and false_matches is not None:
            return _fit_to_texts(directory, network, tokenizer, given, texts, false_matches, progress)
        return fit_decision(
            network,
            tokenizer,
            given,
            Path(str(data)),
            debias=1.0 if debias or equal_recall else 0.0 if debias is False else None,
            equal_recall=equal_recall,
            progress=progress,
        )

    if out is None:
        with replacing(directory / SETTINGS, force=force) as partial:
            settings = fitted()
            settings.write(partial)
        return settings
    if directory.resolve() in (Path(out).resolve(), *Path(out).resolve().parents):
        raise OptionError(f"--out {out}: is in {model}, or {model} itself; choose another folder")
    if Path(out).exists() and not force:
        raise OutputError(f"{out}: exists already; choose another name").or_with("replace it", "--force")
    with replacing_folder(Path(out)) as copy:
        settings = fitted()
        # The page of figures is of the matcher that was not calibrated.
        shutil.copytree(directory, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("README.md"))
        settings.save(copy)
    return settings


def _matcher_of_two(
    directory: Path, positive: str | None, threads: int
) -> tuple[PairClassifier | EmbeddingMatcher, PairTokenizer, MatcherSettings]:
    """A matcher, its tokenizer and its settings; `ModelError` where it has other than two labels."""
    import torch

    from mobilebert_models import MatcherSettings, ModelError, load_pair_network
    from mobilebert_runtime.tokenizer import PairTokenizer

    torch.set_num_threads(threads)
    network, tokenizer = load_pair_network(directory), PairTokenizer.load(directory)
    if network.num_labels != 2:
        raise ModelError(f"{directory}: has {network.num_labels} labels; this fits matchers of two")
    return network, tokenizer, MatcherSettings.load(directory, positive)


def _fit_to_texts(
    directory: Path,
    network: PairClassifier | EmbeddingMatcher,
    tokenizer: PairTokenizer,
    given: MatcherSettings,
    texts: Sequence[str],
    false_matches: float,
    progress: Progress,
) -> MatcherSettings:
    """Settings whose threshold follows from the scores of each text and the nearest other one.

    Raises:
        ModelError: the matcher gives no vectors.
        DataError: too few texts.
    """
    import numpy as np

    from mobilebert_matching.evaluation.score_calibration import probabilities
    from mobilebert_matching.evaluation.unlabelled_calibration import (
        nearest_others,
        require_enough,
        threshold_without_labels,
    )
    from mobilebert_models import EmbeddingMatcher, ModelError
    from mobilebert_training.finetuning.encoded_pairs import predict_logits, sentence_vectors

    if not isinstance(network, EmbeddingMatcher):
        raise ModelError(f"{directory}: gives no vectors of texts; give --data with labelled pairs")
    different = list(dict.fromkeys(texts))
    require_enough(len(different), false_matches)
    places = nearest_others(sentence_vectors(network, tokenizer, different))
    pairs = [(different[a], different[b]) for a, b in places]
    scores = probabilities(predict_logits(network, tokenizer, pairs), given, pairs)
    threshold = threshold_without_labels(scores, false_matches)
    matched = int((scores >= threshold).sum())
    progress(f"{matched} of {len(pairs):,} texts match their nearest other one; the highest scores:")
    # Two texts that are nearest to each other are one pair.
    _, first = np.unique(np.sort(places, axis=1), axis=0, return_index=True)
    for place in sorted(first, key=lambda place: -scores[place])[:SHOWN_PAIRS]:
        progress(f"  {scores[place]:.3f}  {pairs[place][0]!r}  {pairs[place][1]!r}")
    return replace(given, threshold=threshold)


def ship(
    data: str | Path,
    out: str | Path,
    *,
    matcher: str | Sequence[str] = "matcher-open-m",
    teachers: int = 1,
    debias: float = 1.0,
    quant: str = "int8",
    threads: int = 2,
    quick: bool = False,
    bar: bool = False,
    progress: Progress = quiet,
) -> ShipResult:
    """Make matchers for your own pairs: trained, calibrated, exported, verified and measured.

    What is finished in `out` is not done again.

    Args:
        data: folder with train.tsv, dev.tsv and, for measuring, test.tsv; or one file of labelled pairs.
        out: output folder.
        matcher: one or several of matcher-open-m, matcher-open-s, matcher-m and matcher-s.
        teachers: number of teachers, whose answers are averaged.
        debias: share of the length bias to remove from the targets; 1: all.
        quant: quantisation of the artefacts, as for `export`.
        threads: CPU threads.
        quick: a few steps of everything, to check that it runs; the result is useless.
        bar: as for `train`.
        progress: as for `export`.

    Raises:
        UserError: an option or the data does not fit.
        VerificationError: an artefact does not agree with its model.
    """
    from mobilebert_export.shipping.ship import ShipConfig
    from mobilebert_export.shipping.ship import ship as carry_out

    names = (matcher,) if isinstance(matcher, str) else tuple(matcher)
    config = ShipConfig(Path(data), Path(out), names, teachers, debias, quant, threads, quick)
    with training_bar(shown=bar):
        return carry_out(config, progress)


def gate(
    base: str | Path,
    candidate: str | Path,
    *,
    threads: int = 1,
    sessions: int = 7,
    seconds: float = 2.0,
    retries: int = 2,
    instructions: str | None = None,
    inputs: Sequence[Any] | None = None,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GateResult:
    """Is the candidate slower or larger than the base? Both are measured in turn, in one run.

    Args:
        base: artefact folder, or the record of an earlier run: RUN.json#NAME.
        candidate: the same.
        threads: CPU threads.
        sessions: of each, a process each; fewer than 7 are inconclusive.
        seconds: of steady measurement per session.
        retries: repeat a session this often while the machine is troubled.
        instructions: also count the instructions of an inference: "here" or "arm64".
        inputs: texts or pairs of many lengths to run; built-in ones by default.
        limits: `android_bench.gate.verdict.Limits`: how much slower and larger is allowed.
        progress: called with (sessions done, sessions in all).

    Raises:
        UserError: an artefact or a record is damaged.
    """
    from android_bench.gate import verdict as rules
    from android_bench.measuring.latency import name_candidates
    from android_bench.measuring.sample_pairs import PAIRS
    from mobilebert_runtime.errors import OptionError

    names = [str(base), str(candidate)]
    if all(".json" in name and not Path(name).is_dir() for name in names):
        if instructions:
            raise OptionError("--instructions: works on artefacts, not on records")
        before, after = map(rules.Side.read, names)
        return GateResult(rules.gate(before, after, limits), after.record)
    first, second = name_candidates(names, threads)
    record, verdict = rules.run_gate(
        first,
        second,
        sessions=sessions,
        seconds=seconds,
        retries=retries,
        inputs=inputs or PAIRS,
        instructions=instructions,
        limits=limits,
        progress=progress,
    )
    return GateResult(verdict, record)
