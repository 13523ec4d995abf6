"""Articles of a SQuAD file to fine-tune on, and articles kept back, for `mobilebert finetune --task squad`.

Only questions that have an answer, unless --all-questions: half of so few questions without one teach a
reader to give none.

python -m studies.any_encoder.span_data --out runs/squad
mobilebert finetune --task squad --data runs/squad --out runs/reader --epochs 10 --lr 2e-4 --batch-size 16
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from mobilebert_runtime.files import refuse_finished, replacing_folder, write_json
from studies.common.records import read_json
from studies.common.script import Force, console, run

SQUAD = Path("../shared/data/squad/dev-5-articles.json")


def main(
    out: Annotated[Path, Option(help="Folder for train.json and dev.json.")],
    squad: Annotated[Path, Option(help="A file in SQuAD's JSON.")] = SQUAD,
    kept_back: Annotated[
        int, Option(min=0, help="Articles of dev.json, the last of the file; 0: all are in both.")
    ] = 2,
    all_questions: Annotated[
        bool, Option("--all-questions", help="Those without an answer, too, as SQuAD 2.0 has them.")
    ] = False,
    force: Force = False,
) -> None:
    """Split a file by its articles."""
    refuse_finished(out, force=force)
    whole = read_json(squad)
    articles = whole["data"]
    learned = len(articles) - kept_back
    parts = {"train": articles[:learned], "dev": articles[learned:] or articles}
    with replacing_folder(out) as partial:
        for name, part in parts.items():
            kept = part if all_questions else [_answerable(article) for article in part]
            write_json(partial / f"{name}.json", {"version": whole.get("version"), "data": kept})
            console().print(f"{name}: {', '.join(article['title'] for article in part)}")


def _answerable(article: dict[str, Any]) -> dict[str, Any]:
    """An article without the questions that its text does not answer."""
    paragraphs = [
        paragraph | {"qas": [entry for entry in paragraph["qas"] if not entry.get("is_impossible")]}
        for paragraph in article["paragraphs"]
    ]
    return article | {"paragraphs": paragraphs}


if __name__ == "__main__":
    run(main)
