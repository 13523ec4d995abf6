"""Pack a folder of records, one JSON file each, into its records.jsonl.xz.

python -m studies.common.pack results/length_bias/cells
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from mobilebert_runtime.errors import DataError
from studies.common.records import pack
from studies.common.script import run


def main(folder: Annotated[Path, Argument(help="Folder of the JSON files, which are deleted.")]) -> None:
    """Pack all JSON files of a folder; what was packed before stays, unless a loose file has its name."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    print(f"{folder}: {pack(folder)} records packed")  # noqa: T201


if __name__ == "__main__":
    run(main)
