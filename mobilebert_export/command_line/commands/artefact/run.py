"""`mobilebert run`: do an artefact's task on texts from arguments, a file or standard input."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.card import EMBEDDING, MATCHING, TOKEN_CLASSIFICATION
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from mobilebert_export.command_line.look_up import LookUp
    from mobilebert_runtime.artefact import ArtefactModel
    from mobilebert_runtime.vector_index import Index

BATCH = 64
Answers = list[dict[str, Any]]


def run(
    *,
    artefact: Annotated[Path, opt.INPUT_FOLDER, Argument(help="Artefact folder.")],
    texts: Annotated[list[str] | None, Argument(help="Texts; of pairs, one after the other.")] = None,
    file: Annotated[
        Path | None,
        opt.PIPED,
        Option(help="Texts from a file (TSV, CSV, JSON Lines, Parquet), or - for standard input."),
    ] = None,
    text_a: Annotated[str | None, Option(help="Column of the texts, or of the first of two.")] = None,
    text_b: opt.TextB = None,
    top: Annotated[
        int | None,
        opt.Number(1, 10_000),
        Option(help="Labels, answers or neighbours to print per input; default: 1, with --index 10."),
    ] = None,
    index: Annotated[
        Path | None,
        opt.INPUT_FOLDER,
        Option(help="Folder of an index: its texts that mean the same as each text."),
    ] = None,
    build_index: Annotated[
        Path | None,
        opt.OutputFolder(replaces="vectors.npy"),
        Option(help="Make this folder an index of the texts, for --index."),
    ] = None,
    words: opt.OwnWords = None,
    no_spelling: opt.NoSpelling = False,
    threads: opt.Threads = 1,
    json_lines: Annotated[bool, Option("--json", help="One JSON object per input.")] = False,
    force: opt.Force = False,
) -> None:
    """Do what an artefact is for: match, classify, label tokens, answer questions, or embed texts.

    An input is a text, or two where the artefact reads pairs (a question comes before its context). On
    standard input each line is one, the two texts of a pair with a tab between them. Prints a line for each
    result, tab-separated, with the number of the input in front where one input has several.
    """
    from mobilebert_export.command_line.input_texts import given_inputs, read_correction, read_file
    from mobilebert_export.command_line.look_up import LookUp
    from mobilebert_export.command_line.written_results import as_json, as_lines
    from mobilebert_export.console import silenced
    from mobilebert_runtime.artefact import load
    from mobilebert_runtime.card import read_card

    if file is not None and texts:
        raise OptionError("give either texts or --file, not both")
    opt.of_file("--file", None if str(file) == "-" else file, {"--text-a": text_a, "--text-b": text_b})
    opt.check_texts(texts or ())
    card = read_card(artefact)
    _check_options(card.task, top, index, build_index)
    parts = 1 if index or build_index else card.texts
    correction = read_correction(words, no_spelling=no_spelling)
    inputs = read_file(file, parts, text_a, text_b) if file else given_inputs(texts or [], parts)
    if index or build_index:
        with silenced():
            look_up = LookUp(artefact, threads, correction)
        questions = [str(one) for one in inputs]
        if build_index:
            look_up.index(questions).save(build_index, force=force)
            return
        answers, several = _looked_up(look_up, _read_index(index), top or 10), True
    else:
        with silenced():
            model = load(artefact, threads, **correction)
        answers, several = _answers(model, top)
    for start in range(0, len(inputs), BATCH):
        batch = inputs[start : start + BATCH]
        for number, (given, found) in enumerate(zip(batch, answers(batch), strict=True), start + 1):
            sys.stdout.write(
                as_json(given, found) if json_lines else as_lines(number if several else None, found)
            )


def _check_options(task: str, top: int | None, index: Path | None, build_index: Path | None) -> None:
    if index and build_index:
        raise OptionError("give --index or --build-index, not both")
    if top and not index and task in {MATCHING, TOKEN_CLASSIFICATION, EMBEDDING}:
        raise OptionError(f"--top: says how many of an index's texts, labels or answers; {task} has none")


def _read_index(folder: Path | None) -> "Index":
    from mobilebert_runtime.vector_index import Index

    return Index.load(str(folder))


def _looked_up(look_up: "LookUp", index: "Index", top: int) -> Callable[[Sequence[Any]], list[Answers]]:
    """What answers a batch of questions from an index."""
    return lambda batch: [look_up.search(question, index, top) for question in batch]


def _answers(
    model: "ArtefactModel", top: int | None
) -> tuple[Callable[[Sequence[Any]], list[Answers]], bool]:
    """What answers a batch, with the fields of every result, and whether an input can have several."""
    from mobilebert_runtime.embedder import Embedder
    from mobilebert_runtime.matcher import Matcher
    from mobilebert_runtime.question_answerer import QuestionAnswerer
    from mobilebert_runtime.text_classifier import TextClassifier
    from mobilebert_runtime.token_classifier import TokenClassifier

    if isinstance(model, Matcher):

        def scored(batch: Sequence[Any]) -> list[Answers]:
            return [[{"score": one, "label": model.label(one)}] for one in model.score(batch).tolist()]

        return scored, False
    if isinstance(model, TextClassifier):
        # Of several labels that are not classes of one choice, all are of interest.
        count = top or (1 if model.card.activation == "softmax" else len(model.card.labels))

        def classified(batch: Sequence[Any]) -> list[Answers]:
            return [
                [{"label": name, "score": score} for name, score in list(one.items())[:count]]
                for one in model.classify(batch)
            ]

        return classified, min(count, len(model.card.labels)) > 1
    if isinstance(model, TokenClassifier):

        def labelled(batch: Sequence[Any]) -> list[Answers]:
            return [[span._asdict() for span in one] for one in model.entities(batch)]

        return labelled, True
    if isinstance(model, QuestionAnswerer):

        def answered(batch: Sequence[Any]) -> list[Answers]:
            return [
                [one._asdict() for one in model.answers(question, context, top or 1)]
                for question, context in batch
            ]

        return answered, (top or 1) > 1
    if not isinstance(model, Embedder):
        raise TypeError(type(model))

    def embedded(batch: Sequence[Any]) -> list[Answers]:
        return [[{"vector": vector.tolist()}] for vector in model.embed(batch)]

    return embedded, False
