"""`mobilebert match`: scores from an artefact, for one pair or a file of pairs."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import DataError, OptionError, printable

if TYPE_CHECKING:
    from mobilebert_matching.data.pairs import PairTable

BATCH = 64


def match(
    *,
    texts: Annotated[list[str] | None, Argument(metavar="TEXT_A TEXT_B", help="The two texts.")] = None,
    artefact: Annotated[Path, opt.MODEL, Option(help="Artefact folder, or an installed model.")] = Path(
        "artefacts/matcher-int8"
    ),
    pairs: Annotated[
        Path | None,
        opt.PIPED,
        Option(help="File of pairs (TSV, CSV, JSON Lines), or - for TSV on standard input."),
    ] = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    skip_bad: Annotated[
        bool, Option("--skip-bad", help="Leave rows that hold no two texts without a score.")
    ] = False,
    threads: opt.Threads = 1,
    symmetric: opt.Symmetric = False,
    words: opt.OwnWords = None,
    no_spelling: opt.NoSpelling = False,
    json_lines: Annotated[bool, Option("--json", help="One JSON object per pair.")] = False,
) -> None:
    """Score one pair, or a file of pairs, with an artefact.

    Prints, per pair and separated by a tab, the probability that the two texts match and the label that the
    artefact's threshold gives. A file with a bad row is refused; with --skip-bad both fields of its line stay
    empty (as JSON: null, with the row's line and problem), so that output and file stay aligned. A text that
    begins with two dashes goes after a lone --.
    """
    from mobilebert_export.command_line.input_texts import read_correction
    from mobilebert_export.console import silenced
    from mobilebert_export.terminal import Terminal
    from mobilebert_runtime.matcher import Matcher

    if pairs is None and len(texts or ()) != 2:
        raise OptionError(f"{len(texts or ())} texts; give two, or a file with --pairs")
    if pairs is not None and texts:
        raise OptionError("give either two texts or --pairs, not both")
    opt.of_file("--pairs", pairs, {"--text-a": text_a, "--text-b": text_b, "--skip-bad": skip_bad})
    opt.check_texts(texts or ())
    table = read_rows(pairs, text_a, text_b, skip_bad=skip_bad) if pairs else None
    asked = table.pairs if table else [(texts[0], texts[1])] if texts else []
    correction = read_correction(words, no_spelling=no_spelling)
    with silenced():
        matcher = Matcher.load(artefact, threads, **correction)
    console = Terminal(stderr=True)
    with console.status("") as status:

        def rows() -> Iterator[dict[str, Any]]:
            for start in range(0, len(asked), BATCH):
                batch = asked[start : start + BATCH]
                scores = matcher.score(batch, symmetric=symmetric).tolist()
                for (a, b), score in zip(batch, scores, strict=True):
                    yield {"score": round(score, 6), "label": matcher.label(score), "text_a": a, "text_b": b}
                status.update(f"{start + len(batch):,} of {len(asked):,} pairs")

        for row in aligned(rows(), table) if table else rows():
            sys.stdout.write(line(row, as_json=json_lines))
    if table and table.problems:
        console.print(f"{len(table.problems):,} rows without a score: {'; '.join(table.problems.describe())}")


def read_rows(pairs: Path, text_a: str | None, text_b: str | None, *, skip_bad: bool) -> "PairTable":
    """The file's pairs, or standard input's."""
    from mobilebert_export.command_line.input_texts import standard_input
    from mobilebert_matching.data.pairs import Columns, PairReader

    asked = Columns(text_a, text_b)
    if str(pairs) != "-":
        return PairReader(pairs, asked, labels="none").read(skip_bad=skip_bad)
    with tempfile.NamedTemporaryFile(suffix=".tsv") as copy:  # the readers go over a file twice
        shutil.copyfileobj(standard_input(), copy)
        copy.flush()
        try:
            return PairReader(copy.name, asked, labels="none").read(skip_bad=skip_bad)
        except DataError as error:
            raise DataError(str(error).replace(copy.name, "standard input")) from None


def aligned(rows: Iterator[dict[str, Any]], table: "PairTable") -> Iterator[dict[str, Any]]:
    """The scored rows, and between them, at its line of the file, one without a score for each bad row."""
    bad = {number: str(reason) for reason, lines in table.problems.lines.items() for number in lines}
    for number in sorted([*table.lines.tolist(), *bad]):
        if number in bad:
            yield {"score": None, "label": None, "line": number, "problem": bad[number]}
        else:
            yield next(rows)


def line(row: dict[str, Any], *, as_json: bool) -> str:
    """A row of output."""
    if as_json:
        readable = (sys.stdout.encoding or "").lower().startswith("utf")
        return printable(json.dumps(row, ensure_ascii=not readable)) + "\n"
    if row["score"] is None:
        return "\t\n"
    return f"{row['score']:.6f}\t{printable(' '.join(row['label'].split()))}\n"
