"""`mobilebert search`: the nearest of many texts, by vectors and then by the decision about pairs."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import OptionError


def search(
    *,
    questions: Annotated[list[str] | None, Argument(help="What is looked for.")] = None,
    index: Annotated[
        Path,
        opt.INPUT_FILE_OR_FOLDER,
        Option(help="File of texts (TSV, CSV, JSON Lines, Parquet, or .txt: one a line), or an index."),
    ],
    artefact: Annotated[
        Path, opt.MODEL, Option(help="Artefact folder, or an installed model such as matcher-open-m.")
    ] = Path("artefacts/matcher-int8"),
    file: Annotated[
        Path | None, opt.PIPED, Option(help="Questions from a file, or - for standard input.")
    ] = None,
    text_a: Annotated[str | None, Option(help="Column of the texts in --index.")] = None,
    top: Annotated[int, opt.Number(1, 10_000), Option(help="So many texts for each question.")] = 5,
    words: opt.OwnWords = None,
    no_spelling: opt.NoSpelling = False,
    threads: opt.Threads = 1,
    json_lines: Annotated[bool, Option("--json", help="One JSON object per question.")] = False,
) -> None:
    """Find the texts that mean the same as a question.

    Vectors find ten candidates among all texts, and the artefact's decision ranks them. The vectors of a file
    are kept beside it, in FILE.index, and made again when the file, the artefact, --words or --no-spelling
    changes.

    Prints, best first and separated by tabs: the text's place in the file (from 0), the probability that both
    mean the same, the label that the threshold gives, the text; with several questions their number in front.
    """
    from mobilebert_export.command_line.input_texts import read_correction, read_file
    from mobilebert_export.command_line.look_up import LookUp, index_of_file
    from mobilebert_export.command_line.written_results import as_json, as_lines
    from mobilebert_export.console import silenced
    from mobilebert_export.terminal import Terminal
    from mobilebert_runtime.vector_index import Index

    if bool(questions) == (file is not None):
        raise OptionError("give either questions or --file")
    if text_a and index.is_dir():
        raise OptionError("--text-a: says how a file is read, and --index is a folder; leave --text-a away")
    opt.check_texts(questions or ())
    asked = [str(one) for one in (read_file(file, 1, None, None) if file else questions or [])]
    texts = None if index.is_dir() else [str(one) for one in read_file(index, 1, text_a, None)]
    console, correction = Terminal(stderr=True), read_correction(words, no_spelling=no_spelling)
    with silenced():
        look_up = LookUp(artefact, threads, correction)
    if texts is None:
        known = Index.load(index)
    else:
        with console.status(f"{len(texts):,} texts of {index.name}"):
            known, built = index_of_file(look_up, index, texts)
        if built:
            console.print(f"indexed {len(texts):,} texts in {index.name}.index", highlight=False)
    several = len(asked) > 1
    for number, question in enumerate(asked, 1):
        found = look_up.search(question, known, top)
        sys.stdout.write(
            as_json(question, found) if json_lines else as_lines(number if several else None, found)
        )
