"""`mobilebert reproduce`: the training runs behind a paper's tables, as far as they are missing."""

from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option


def reproduce(
    study: Annotated[str, Argument(help="length-bias: Table 2 and Figure 2 of Jiang et al. 2022.")],
    out: Annotated[Path, Option(help="Folder of the records, one JSON file a run.")],
    runs: Annotated[Path, Option(help="Folder of the trained matchers, one folder a run.")],
    arch: Annotated[list[str] | None, Option(help="Only this architecture (repeat for more).")] = None,
    data: Annotated[list[str] | None, Option(help="Only this data set (repeat for more).")] = None,
    train_set: Annotated[list[str] | None, Option(help="Only original, or only adversarial.")] = None,
    seeds: Annotated[list[int] | None, Option("--seed", help="Seed (repeat for more); default 0.")] = None,
    init: Annotated[Path | None, Option(help="Model directory that bert-tiny starts from.")] = None,
    init_description: Annotated[
        str | None, Option(help="Where those weights are from, for the records.")
    ] = None,
    data_root: Annotated[Path | None, Option(help="Folder of the data sets.")] = None,
    max_pairs: Annotated[int | None, Option(min=1, help="Another cap on training pairs.")] = None,
    threads: Annotated[int, Option(help="CPU threads.")] = 1,
) -> None:
    """Train and test every matcher of a study that has no record yet.

    A run that was killed goes on where it was. Processes with different data sets, architectures or seeds
    can work side by side.
    """
    import torch
    from rich.console import Console

    from matching.benchmarks import KNOWN, TRAIN_SETS
    from matching.length_bias import PAPER_ARCHITECTURES, cells, run_cell

    if study != "length-bias":
        raise BadParameter(f"{study!r} is unknown; expected length-bias", param_hint="STUDY")
    chosen = {
        "--data": (data or list(KNOWN), list(KNOWN)),
        "--arch": (arch or list(PAPER_ARCHITECTURES), list(PAPER_ARCHITECTURES)),
        "--train-set": (train_set or list(TRAIN_SETS), list(TRAIN_SETS)),
    }
    for flag, (names, known) in chosen.items():
        for name in names:
            if name not in known:
                raise BadParameter(
                    f"{name!r} is unknown; expected one of {', '.join(known)}", param_hint=flag
                )
    torch.set_num_threads(threads)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    lists = [names for names, _ in chosen.values()]
    for cell in cells(*lists, seeds or [0]):
        if (out / "cells" / f"{cell.name}.json").is_file():
            console.print(f"{cell.name}: there already", markup=False)
            continue
        record = run_cell(
            cell,
            out,
            runs,
            data_root=data_root,
            init=init,
            init_description=init_description,
            max_pairs=max_pairs,
        )
        tests = {
            name: {k: round(v, 4) for k, v in test.items() if isinstance(v, float)}
            for name, test in record["tests"].items()
        }
        seconds = record["seconds_with_evaluation"]
        console.print(
            f"{cell.name}: {seconds:.0f} s, {record['epochs_run']:.1f} epochs, {tests}", markup=False
        )
