"""Models fine-tuned on one data set, asked about others (KroneckerBERT appendix A.2, Table 9).

python -m studies.kronecker.out_of_domain --model runs/teacher/model --data ../shared/data/glue/mrpc \
        --out results/kronecker/out-of-domain.json
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Option

from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_matching.data.labelled_pairs import read_labelled
from mobilebert_matching.evaluation import metrics
from mobilebert_runtime.files import write_json
from studies.common.markdown import table
from studies.common.records import Json, check_outputs, write_text
from studies.common.script import Force, Threads, console, run, shown


def main(
    *,
    model: Annotated[
        list[str],
        Option(help="Model directory, artefact folder or 'shipped' (repeat; the first is compared with)."),
    ],
    data: Annotated[list[Path], Option(help="Labelled pairs, or a folder with test.tsv (repeat for more).")],
    out: Annotated[Path, Option(help="JSON file to make; the table lies beside it as .md.")],
    max_pairs: Annotated[int | None, Option(min=1, help="The first so many pairs of each.")] = None,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """How much of its accuracy a model keeps away from home.

    Every model scores every data set at the threshold chosen on its own development pairs.
    """
    text = out.with_suffix(".md")
    check_outputs(out, text, force=force)
    files = [path / "test.tsv" if path.is_dir() else path for path in data]
    sets = {"/".join(file.parts[-2:]): read_labelled(file) for file in files}
    rows = []
    with console().status("") as status:
        for name in model:
            scorer = open_scorer(name, threads)
            for where, (pairs, labels) in sets.items():
                status.update(f"{name} on {where}")
                scores = scorer.score_all(pairs[:max_pairs], lambda *_: None)
                found = figures(labels[:max_pairs], scores, scorer.threshold)
                rows.append({"model": shown(name), "data": where} | found)
    write_json(out, {"rows": rows})
    write_text(text, page(rows))
    print(page(rows))  # noqa: T201


def figures(labels: np.ndarray, probabilities: np.ndarray, threshold: float) -> Json:
    """What one model says about one data set.

    Accuracy depends on a threshold that was chosen at home and on how many pairs are positive; the area under
    the ROC curve on neither, so it tells what a model knows from where it draws the line.

    Args:
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
    """
    predicted = (probabilities >= threshold).astype(np.int64)
    right = int((predicted == labels).sum())
    return {
        "pairs": len(labels),
        "positives": float(labels.mean()),
        "accuracy": right / len(labels),
        "interval": metrics.wilson(right, len(labels)),
        "balanced_accuracy": metrics.balanced_accuracy(labels, predicted),
        "auc": metrics.auc(labels, probabilities),
    }


def page(rows: Sequence[Json]) -> str:
    """A Markdown page: a row a model, a column a data set; accuracy, what the first model has more, AUC.

    Args:
        rows: of `figures`, each with `model` and `data`; every model on every data set.
    """
    names = list(dict.fromkeys(row["model"] for row in rows))
    data = list(dict.fromkeys(row["data"] for row in rows))
    found = {(row["model"], row["data"]): row for row in rows}
    lines = []
    for name in names:
        cells = []
        for where in data:
            here, first = found[name, where], found[names[0], where]
            drop = 100 * (here["accuracy"] - first["accuracy"])
            change = "" if name == names[0] else f" ({drop:+.1f})"
            cells.append(f"{100 * here['accuracy']:.1f}{change}, AUC {here['auc']:.3f}")
        lines.append([name, *cells])
    counts = ", ".join(
        f"{where}: {found[names[0], where]['pairs']:,} pairs, "
        f"{100 * found[names[0], where]['positives']:.0f}% positive"
        for where in data
    )
    note = (
        "Accuracy in per cent at each model's own threshold; in brackets the difference from the first model."
    )
    return f"{table(['model', *data], lines)}\n\n{note} {counts}.\n"


if __name__ == "__main__":
    run(main)
