"""`mobilebert out-of-domain`: models of one data set on the pairs of others."""

from pathlib import Path
from typing import Annotated

from typer import Option


def out_of_domain(
    *,
    model: Annotated[
        list[str],
        Option(help="Model directory, artefact folder or 'shipped' (repeat; the first is compared with)."),
    ],
    data: Annotated[list[Path], Option(help="Labelled pairs, or a folder with test.tsv (repeat for more).")],
    out: Annotated[Path, Option(help="JSON file to make; the table lies beside it as .md.")],
    max_pairs: Annotated[int | None, Option(min=1, help="The first so many pairs of each.")] = None,
    threads: Annotated[int, Option(help="CPU threads.")] = 1,
    force: Annotated[bool, Option("--force", help="Replace existing files.")] = False,
) -> None:
    """How much of its accuracy a model keeps away from home (KroneckerBERT, Table 9).

    Every model scores every data set at the threshold chosen on its own development pairs.
    """
    from rich.console import Console

    from matching.data.labelled_pairs import read_labelled
    from mobilebert_export.scoring import open_scorer
    from mobilebert_runtime.files import check_output, replacing, write_json
    from studies.kronecker.out_of_domain import figures, table

    page = out.with_suffix(".md")
    for path in (out, page):
        check_output(path, force=force)
    sets = {}
    for path in data:
        file = path / "test.tsv" if path.is_dir() else path
        sets["/".join(file.parts[-2:])] = read_labelled(file)
    rows = []
    with Console(stderr=True).status("") as status:
        for name in model:
            scorer = open_scorer(name, threads)
            for where, (pairs, labels) in sets.items():
                status.update(f"{name} on {where}")
                count = len(pairs) if max_pairs is None else min(max_pairs, len(pairs))
                scores = scorer.score_all(pairs[:count], lambda *_: None)
                found = figures(labels[:count], scores, scorer.threshold)
                rows.append({"model": _shown(name), "data": where} | found)
    write_json(out, {"rows": rows})
    with replacing(page, force=True) as partial:
        partial.write_text(table(rows), encoding="utf-8")
    Console(highlight=False, soft_wrap=True).print(table(rows), markup=False)


def _shown(name: str) -> str:
    """A directory's name; of RUN/model the run's."""
    path = Path(name)
    return path.parent.name if path.name == "model" else path.name
