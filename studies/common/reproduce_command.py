"""`mobilebert reproduce`: the training runs behind a paper's tables, as far as they are missing."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option


def reproduce(
    study: Annotated[
        str,
        Argument(
            help="length-bias: Table 2 and Figure 2 of Jiang et al. 2022; debiasing: ways to train without "
            "length bias, compared; "
            "transfer: Tables 8 and 9 of MobileBERT and Table 5 of ALBERT, scaled down; "
            "kronecker: Table 6 of KroneckerBERT, and its factors against low-rank ones."
        ),
    ],
    out: Annotated[Path, Option(help="Folder of the records, one JSON file a run.")],
    runs: Annotated[Path, Option(help="Folder of the trained matchers, one folder a run.")],
    arch: Annotated[list[str] | None, Option(help="Only this architecture (repeat for more).")] = None,
    data: Annotated[
        list[str] | None,
        Option(help="Only this data set (repeat for more); kronecker: one folder of labelled pairs."),
    ] = None,
    train_set: Annotated[list[str] | None, Option(help="Only original, or only adversarial.")] = None,
    seeds: Annotated[list[int] | None, Option("--seed", help="Seed (repeat for more); default 0.")] = None,
    init: Annotated[Path | None, Option(help="Model directory that bert-tiny starts from.")] = None,
    init_description: Annotated[
        str | None, Option(help="Where those weights are from, for the records.")
    ] = None,
    data_root: Annotated[Path | None, Option(help="Folder of the data sets.")] = None,
    max_pairs: Annotated[int | None, Option(min=1, help="Another cap on training pairs.")] = None,
    method: Annotated[list[str] | None, Option(help="debiasing: only this method (repeat for more).")] = None,
    start: Annotated[
        str,
        Option(
            help="debiasing: what all methods start from: the encoder of shipped, minilm or a directory, "
            "or a random matchpyramid, bimpm or esim."
        ),
    ] = "shipped",
    teacher: Annotated[
        Path | None,
        Option(
            help="debiasing, kronecker: model directory of a classifier fine-tuned on the (biased) pairs."
        ),
    ] = None,
    epochs: Annotated[
        float | None,
        Option(help="Passes over the labelled pairs: of debiasing 1, of kronecker what its recipes say."),
    ] = None,
    corpus: Annotated[
        Path | None, Option(help="transfer, kronecker: token shards of `mobilebert corpus build`.")
    ] = None,
    scale: Annotated[str, Option(help="transfer: small, short, cpu, gpu or toy.")] = "cpu",
    only: Annotated[
        list[str] | None, Option("--cell", help="transfer, kronecker: only this run (repeat for more).")
    ] = None,
    encoder: Annotated[
        str, Option(help="kronecker: what it was before, the teacher of pretraining.")
    ] = "minilm",
    pretraining_steps: Annotated[int, Option(min=1, help="kronecker: updates of pretraining.")] = 500,
    pretraining_batch: Annotated[int, Option(min=1, help="kronecker: windows an update of it.")] = 32,
    dry_run: Annotated[
        bool, Option("--dry-run", help="transfer: updates and hours, at 20 GFLOP/s, and stop.")
    ] = False,
    threads: Annotated[int, Option(help="CPU threads.")] = 1,
) -> None:
    """Train and test every run of a study that has no record yet.

    A run that was killed goes on where it was. Processes with different data sets, architectures or seeds
    can work side by side.
    """
    import torch
    from rich.console import Console

    from matching.data.datasets import TRAIN_SETS
    from studies.common.paper_data import PAPER_DATA
    from studies.length_bias.runs import PAPER_ARCHITECTURES, cells, run_cell

    if study == "transfer":
        torch.set_num_threads(threads)
        _transfer(corpus, out, runs, scale, seeds or [0], only, dry_run=dry_run)
        return
    if study == "debiasing":
        torch.set_num_threads(threads)
        settings = {"epochs": 1.0 if epochs is None else epochs, "max_pairs": max_pairs}
        _debiasing(data or ["qqp"], data_root, start, teacher, out, runs, seeds or [0], method, settings)
        return
    if study == "kronecker":
        torch.set_num_threads(threads)
        limits = {
            "epochs": epochs,
            "max_pairs": max_pairs,
            "pretraining_steps": pretraining_steps,
            "pretraining_batch": pretraining_batch,
        }
        _kronecker(data, teacher, encoder, corpus, limits, out, runs, seeds or [0], only)
        return
    if study != "length-bias":
        raise BadParameter(
            f"{study!r} is unknown; expected length-bias, debiasing, transfer, kronecker", param_hint="STUDY"
        )
    names: dict[str, tuple[list[str] | None, list[str]]] = {
        "--data": (data, list(PAPER_DATA)),
        "--arch": (arch, list(PAPER_ARCHITECTURES)),
        "--train-set": (train_set, list(TRAIN_SETS)),
    }
    for flag, (asked, known) in names.items():
        for name in asked or ():
            if name not in known:
                raise BadParameter(
                    f"{name!r} is unknown; expected one of {', '.join(known)}", param_hint=flag
                )
    datas, archs, train_sets = (asked or known for asked, known in names.values())
    torch.set_num_threads(threads)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for cell in cells(datas, archs, train_sets, seeds or [0]):  # type: ignore[arg-type]
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


def _transfer(
    corpus: Path | None,
    out: Path,
    runs: Path,
    scale: str,
    seeds: list[int],
    cells: list[str] | None,
    *,
    dry_run: bool,
) -> None:
    import json

    from rich.console import Console
    from rich.table import Table

    from distill.pretraining.shards import Corpus
    from mobilebert_runtime.files import replacing, write_json
    from studies.transfer.ablation import CELLS, budget, run_ablation, summarise
    from studies.transfer.report import draw
    from studies.transfer.report import table as report

    if corpus is None:
        raise BadParameter("the study transfer needs token shards", param_hint="--corpus")
    shards = Corpus(corpus)
    console = Console(stderr=True, highlight=False)
    if dry_run:
        table = Table("run", "updates", "GFLOP an update", "hours a seed at 20 GFLOP/s")
        for row in budget(scale, shards, gigaflops=20.0):
            figures = f"{row['updates']:,}", f"{row['gigaflop_an_update']:.1f}", f"{row['hours']:.2f}"
            table.add_row(row["run"], *figures)
        console.print(table)
        return
    for name, record in run_ablation(scale, shards, out, runs, seeds=seeds, cells=cells or tuple(CELLS)):
        development = {k: round(v, 4) for k, v in record["development"].items()}
        console.print(f"{name}: {record['seconds']:.0f} s, {development}", markup=False)
    # Every record of this scale that there is, also those of other seeds and earlier calls.
    paths = sorted((out / "cells").glob(f"{scale}-*.json"))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    write_json(out / f"ablation-{scale}.json", summarise(found))
    tables = report(found)
    with replacing(out / f"ablation-{scale}.md", force=True) as partial_path:
        partial_path.write_text(f"{tables}\n![Loss at masked tokens](ablation-{scale}.png)\n", "utf-8")
    with replacing(out / f"ablation-{scale}.png", force=True) as partial_path:
        draw(found, partial_path)
    console.print(tables, markup=False)


def _debiasing(
    data: list[str],
    data_root: Path | None,
    start: str,
    teacher: Path | None,
    out: Path,
    runs: Path,
    seeds: list[int],
    methods: list[str] | None,
    settings: dict[str, Any],
) -> None:
    import json

    from rich.console import Console

    from matching.data.mining import mine_pairs
    from mobilebert_runtime.files import replacing
    from studies.common.paper_data import paper_data
    from studies.debiasing.methods import METHODS, find_method
    from studies.debiasing.report import draw, table
    from studies.debiasing.runs import Study, StudySettings
    from training.fit_matcher import TRAINING
    from training.matchers import WORD_NETWORKS

    if len(data) > 1:
        raise BadParameter("the study debiasing takes one data set", param_hint="--data")
    names = methods or [
        name for name, row in METHODS.items() if teacher or not (row.needs_teacher or row.needs_extra)
    ]
    for name in names:
        find_method(name)
    if start in WORD_NETWORKS:
        settings["learning_rate"] = TRAINING[start].learning_rate
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    folder = paper_data(data[0], data_root)
    for seed in seeds:
        study = Study(folder, start, StudySettings(seed=seed, **settings), out, runs, mine_pairs, teacher)
        for name in names:
            record = study.run(name)
            fair = record["test"]["adversarial"]
            console.print(
                f"{name}, seed {seed}: {record['training']['seconds']:.0f} s, accuracy "
                f"{record['test']['accuracy']:.4f}, adversarial {fair['accuracy']:.4f}, "
                f"gap {fair['tpr_gap']['value']}",
                markup=False,
            )
    # Every record that there is, also those of earlier calls.
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob("*.seed*.json"))]
    with replacing(out / "report.md", force=True) as partial_path:
        partial_path.write_text(f"{table(found)}\n![Accuracy and true positive rates](report.png)\n", "utf-8")
    with replacing(out / "report.png", force=True) as partial_path:
        draw(found, partial_path)


def _kronecker(
    data: list[str] | None,
    teacher: Path | None,
    encoder: str,
    corpus: Path | None,
    limits: dict[str, Any],
    out: Path,
    runs: Path,
    seeds: list[int],
    cells: list[str] | None,
) -> None:
    from rich.console import Console

    from models import find_directory
    from studies.kronecker.runs import DEFAULT_CELLS, Budget, Setting, study

    if teacher is None:
        raise BadParameter("the study kronecker needs a fine-tuned teacher", param_hint="--teacher")
    if data is None or len(data) != 1:
        raise BadParameter("the study kronecker takes one folder, the teacher's", param_hint="--data")
    setting = Setting(Path(data[0]), teacher, find_directory(encoder), corpus, Budget(**limits))
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for record in study(cells or DEFAULT_CELLS, seeds, setting, out, runs):
        console.print(
            f"{record['data']} {record['cell']} seed {record['seed']}: "
            f"{record['times_fewer_parameters']:.2f} times fewer parameters, accuracy "
            f"{record['test']['accuracy']:.4f}, {record['kept']:.2%} of the teacher's",
            markup=False,
        )
