"""Columns named on the command line: a copy of the data in which they have the names that readers know."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mobilebert_runtime.errors import DataError, UserError

TEXT_A, TEXT_B, LABEL = "text_a", "text_b", "label"
PARTS = ("train", "dev", "test")
LABELS_SHOWN = 5  # where the positive one is none of them


@dataclass(frozen=True)
class ColumnNames:
    """What was given of --text-a, --text-b, --label and --positive-label."""

    text_a: str | None = None
    text_b: str | None = None
    label: str | None = None
    positive_label: str | None = None
    group: str | None = None  # of --group, kept under its own name

    @property
    def given(self) -> bool:
        """Whether anything has to be renamed."""
        return any((self.text_a, self.text_b, self.label, self.positive_label))


@contextmanager
def known_columns(data: Path, names: ColumnNames) -> Iterator[Path]:
    """The data itself where nothing is named, else a copy with the columns text_a, text_b and label.

    The copy is deleted at the end.

    Args:
        data: a file, or a folder with train.tsv, dev.tsv, test.tsv.
        names: of its columns.

    Raises:
        DataError: a column is missing, a row is damaged, or no row has the positive label.
    """
    if not names.given:
        yield data
        return
    labels: set[str] = set()
    with tempfile.TemporaryDirectory() as temporary:
        # Records name the last two parts of a path.
        folder = Path(temporary) / data.resolve().parent.name
        if data.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            copy = folder / f"{data.stem}.tsv"
            labels |= write_copy(data, names, copy)
        else:
            copy = folder / data.resolve().name
            copy.mkdir(parents=True, exist_ok=True)
            for file in (data / f"{part}.tsv" for part in PARTS):
                if file.is_file():
                    labels |= write_copy(file, names, copy / file.name)
        if names.positive_label is not None and labels and names.positive_label not in labels:
            shown = ", ".join(map(repr, sorted(labels)[:LABELS_SHOWN]))
            more = " …" if len(labels) > LABELS_SHOWN else ""
            raise DataError(
                f"{data}: no row has the positive label {names.positive_label!r}; "
                f"name one that is there: {shown}{more}"
            )
        try:
            yield copy
        except UserError as error:  # says what the user gave
            error.args = (str(error).replace(str(copy), str(data)),)
            raise


def write_copy(file: Path, names: ColumnNames, out: Path) -> set[str]:
    """Write a table's texts and labels as TSV under the known names.

    Returns:
        With a positive label: the labels that the table has.

    Raises:
        DataError: a column is missing, a row is damaged, or with a positive label a row has no label.
    """
    from mobilebert_matching.data.pairs import Columns, find_columns
    from mobilebert_matching.data.table_files import MARKS_ARE_TEXT, open_table
    from mobilebert_runtime.files import replacing

    table = open_table(file)
    asked = Columns(names.text_a, names.text_b, names.label, names.group)
    found = find_columns(table.columns, file, asked)
    if names.positive_label is not None and found.label is None:
        raise DataError(f"{file}: has no column of labels; name it").or_with("say which it is", "--label")
    columns = {TEXT_A: str(found.text_a), TEXT_B: str(found.text_b)}
    columns |= {LABEL: found.label} if found.label else {}
    columns |= {found.group: found.group} if found.group else {}
    labels: set[str] = set()
    with replacing(out, force=True) as partial, partial.open("w", encoding="utf-8", newline="\n") as target:
        target.write("\t".join([*columns, MARKS_ARE_TEXT]) + "\n")
        for block in table.blocks(list(columns.values())):
            if block.bad:
                first = block.bad[0]
                detail = f" ({first.detail})" if first.detail else ""
                raise DataError(f"{file}: line {first.line}: {first.reason}{detail}; mend or remove this row")
            for line, row in zip(block.lines, zip(*block.values, strict=True), strict=True):
                cells = ["" if value is None else " ".join(str(value).split()) for value in row]
                if names.positive_label is not None:
                    if not cells[2]:
                        raise DataError(f"{file}: line {line}: label is empty; mend or remove this row")
                    given = str(row[2]).strip()
                    labels.add(given)
                    cells[2] = str(int(given == names.positive_label))
                target.write("\t".join([*cells, ""]) + "\n")
    return labels
