"""Do a reader's float and integer artefacts give the same answers to a SQuAD file's questions?

    R=results/any_encoder
    python -m studies.any_encoder.span_agreement runs/reader/tflite-none --out $R/spans.json

An answer is the same where it begins and ends at the same characters; with --may-be-none it may be empty, as
SQuAD 2.0 asks of readers that learned from questions without an answer. Two integer files are made of the
float one without verification, so that readers which an export would refuse are measured too; --exported
adds artefacts that `mobilebert export` made.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from mobilebert_runtime.files import write_json
from mobilebert_runtime.question_answerer import QuestionAnswerer
from studies.any_encoder.artefacts import ai_edge_dynamic, our_dynamic, quantise_copy
from studies.any_encoder.span_data import SQUAD
from studies.common.records import check_outputs, read_json
from studies.common.script import Force, Threads, command_line, console, run

Span = tuple[int, int]
QUANTISERS = {"dynamic": our_dynamic, "ai-edge-dynamic": ai_edge_dynamic}


def main(
    reference: Annotated[Path, Argument(help="Artefact folder of the float reader.")],
    out: Annotated[Path, Option(help="JSON file of the record.")],
    squad: Annotated[Path, Option(help="A file in SQuAD's JSON.")] = SQUAD,
    exported: Annotated[
        list[Path] | None, Option(help="Artefact folder to compare as well; may be given several times.")
    ] = None,
    may_be_none: Annotated[bool, Option("--may-be-none", help="Let an answer be empty.")] = False,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Quantise the reader, answer every question and write how many answers are the float reader's."""
    check_outputs(out, force=force)
    asked = questions(squad)
    expected = spans(reference, asked, may_be_none, threads)
    found: dict[str, Any] = {}
    folders = {folder.name: folder for folder in exported or ()}
    for name, quantise in QUANTISERS.items():
        folders[name] = reference.with_name(f"{reference.name}.{name}")
        if not folders[name].is_dir():
            quantise_copy(reference, folders[name], quantise)
    for name, folder in folders.items():
        answered = spans(folder, asked, may_be_none, threads)
        same = {title: [answered[key] == expected[key] for key, *_ in rows] for title, rows in asked.items()}
        counts = {title: {"questions": len(row), "same": sum(row)} for title, row in same.items()}
        every = [one for row in same.values() for one in row]
        found[name] = {
            "same": round(sum(every) / len(every), 4),
            "articles": counts,
        }
        console().print(f"{name}: {sum(every)} of {len(every)} answers are those of {reference.name}")
    write_json(out, {"command": command_line(), "questions": len(expected), "artefacts": found})


def questions(squad: Path) -> dict[str, list[tuple[str, str, str]]]:
    """(id, question, context) by the title of the article."""
    return {
        article["title"]: [
            (entry["id"], entry["question"], paragraph["context"])
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
        for article in read_json(squad)["data"]
    }


def spans(
    folder: Path, asked: dict[str, list[tuple[str, str, str]]], may_be_none: bool, threads: int
) -> dict[str, Span]:
    """First and last character of the best answer by the question's id."""
    reader = QuestionAnswerer.load(folder, threads)
    rows = [row for article in asked.values() for row in article]
    asked_of = [(question, context) for _, question, context in rows]
    answers = reader.answer(asked_of, may_be_none=may_be_none)
    return {row[0]: (answer.start, answer.end) for row, answer in zip(rows, answers, strict=True)}


if __name__ == "__main__":
    run(main)
