"""`mobilebert finetune`: a GLUE-style task or SQuAD from local files, one run or the paper's search."""

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import file_sha256


def finetune(
    task: Annotated[
        str, opt.Choice("mrpc", "sts-b", "mnli", "squad"), Option(help="mrpc, sts-b, mnli or squad.")
    ],
    data: Annotated[
        Path,
        opt.INPUT_FOLDER,
        Option(help="Folder with train.tsv, dev.tsv, test.tsv; squad: train*.json, dev*.json."),
    ],
    out: opt.RunFolder,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    model: Annotated[
        str, opt.MODEL, Option(help="minilm, shipped, a model directory, or untrained.")
    ] = "minilm",
    grid: Annotated[
        bool, Option("--grid", help="Search all combinations; without lists the paper's 270.")
    ] = False,
    batch_size: Annotated[str, opt.BATCHES, Option(help="One, or a list for --grid such as 16,32,48.")] = "",
    lr: Annotated[str, opt.RATES, Option(help="Peak learning rate, or a list.")] = "",
    epochs: Annotated[str, opt.RATES, Option(help="Passes over the training data, or a list.")] = "",
    max_len: Annotated[int, opt.TOKENS, Option(help="squad: tokens of a window over the text.")] = 384,
    dtype: opt.TrainingType = "float32",
    seed: opt.Seed = 0,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Fine-tune on a GLUE-style task or SQuAD and report its official figures.

    The best run by its development figure stays in OUT/model and OUT/best.json, with test figures where the
    data has a test file; every run leaves OUT/cells/NAME.json. Without --grid: batch 32, 5e-5, 3 epochs.
    """
    import torch

    import mobilebert_models
    from mobilebert_export.terminal import Terminal
    from mobilebert_runtime.files import refuse_finished, write_json
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_training.finetuning.hyperparameter_search import (
        BATCH_SIZES,
        EPOCHS,
        LEARNING_RATES,
        Cell,
        search,
    )
    from mobilebert_training.finetuning.hyperparameter_search import grid as combinations
    from mobilebert_training.finetuning.initial_model import UNTRAINED, start_directory, start_model
    from mobilebert_training.run_directory import locked, model_hashes

    finished = out / "best.json"
    refuse_finished(finished, force=force)
    torch.set_num_threads(threads)
    defaults = (BATCH_SIZES, LEARNING_RATES, EPOCHS) if grid else ((32,), (5e-5,), (3,))
    lists = [
        _numbers(name, given, default)
        for name, given, default in zip(
            ("--batch-size", "--lr", "--epochs"), (batch_size, lr, epochs), defaults, strict=True
        )
    ]
    cells = combinations([int(size) for size in lists[0]], lists[1], lists[2])
    if len(cells) > 1 and not grid:
        raise OptionError(f"{len(cells)} combinations; add --grid to search them")
    source = start_directory(model)
    names = ColumnNames(text_a, text_b, label)
    if task == "squad" and names.given:
        raise OptionError("--text-a, --text-b and --label name columns; SQuAD's files have none")
    with known_columns(data, names) as folder:
        work = (
            _Squad(data, source, max_len)
            if task == "squad"
            else _Pairs(task, folder, PairTokenizer.load(source))
        )
        inputs = {
            "task": task,
            "data": work.hashes(folder),
            "model": model_hashes(source),
            "untrained": model == UNTRAINED,
            "seed": seed,
            "dtype": dtype,
        }
    name = source.resolve().name if Path(model).is_dir() else model
    facts = {
        "task": task,
        "data": data.resolve().name,
        "model": name,
        "seed": seed,
        "dtype": dtype,
        "sizes": work.sizes,
    }

    def run(cell: Cell, folder: Path) -> tuple[Any, dict[str, Any]]:
        network = start_model(model, work.head, work.outputs, seed)
        return network, work.train(network, cell.loop(seed, dtype), folder)

    def keep(network: Any) -> None:
        mobilebert_models.save_pretrained(
            network,
            out / "model",
            tokenizer_from=source,
            problem_type=work.problem_type,
            labels=work.labels,
        )

    console = Terminal(stderr=True)
    with locked(out):
        best = search(
            cells,
            run,
            keep,
            out,
            select=work.select,
            metadata=facts,
            inputs=inputs,
            force=force,
            callback=console.print,
        )
    tested = work.test(mobilebert_models.load_pretrained(out / "model"))
    if tested:
        best["test"] = tested
        write_json(finished, best)
    for split in ("dev", "test"):
        if split in best:
            shown = ", ".join(f"{k} {v:.4f}" for k, v in best[split].items())
            console.print(f"best of {len(cells)} on {split}: {shown}")


class _Pairs:
    """A task of `mobilebert_matching.data.glue`."""

    def __init__(self, name: str, folder: Path, tokenizer: Any) -> None:
        from mobilebert_matching.data.glue import find_task, read_task

        self.task = find_task(name)
        self.data = read_task(folder, self.task)
        self.tokenizer = tokenizer
        self.head = "pair_classifier"
        self.outputs = len(self.task.labels) or 1
        # A logit without it is the log-odds of a class.
        self.problem_type = None if self.task.labels else "regression"
        self.labels = self.task.names
        self.select = self.task.figures[0]
        self.sizes = {split: len(part.pairs) for split, part in self.data.items()}

    def train(self, network: Any, loop: Any, out: Path) -> dict[str, Any]:
        from mobilebert_training.finetuning.glue_finetuning import finetune_task

        return finetune_task(network, self.tokenizer, self.task, self.data, loop, out)

    def hashes(self, folder: Path) -> dict[str, str]:
        """Of the data, by file name."""
        return {file.name: file_sha256(file) for file in sorted(folder.glob("*.tsv"))}

    def test(self, network: Any) -> dict[str, float] | None:
        from mobilebert_matching.evaluation.glue_metrics import task_figures
        from mobilebert_training.finetuning.glue_finetuning import predict_task

        if "test" not in self.data:
            return None
        pairs, targets = self.data["test"]
        return task_figures(self.task, targets, predict_task(network, self.tokenizer, pairs))


class _Squad:
    """SQuAD v1.1 or v2; its test sets are not public."""

    head, outputs, select, problem_type, labels = "span_qa", 2, "f1", None, ()

    def __init__(self, folder: Path, directory: Path, max_len: int) -> None:
        from mobilebert_matching.data.squad import find_split, read_squad

        self._files = {split: find_split(folder, split) for split in ("train", "dev")}

        self.data = {split: read_squad(path) for split, path in self._files.items()}
        self.directory, self.max_len = directory, max_len
        self.sizes = {split: len(part) for split, part in self.data.items()}

    def train(self, network: Any, loop: Any, out: Path) -> dict[str, Any]:
        from mobilebert_training.finetuning.squad_finetuning import finetune_squad

        return finetune_squad(network, self.directory, self.data, loop, out, self.max_len)

    def hashes(self, folder: Path) -> dict[str, str]:  # noqa: ARG002 (as for pairs)
        """Of the data, by file name, with what else the windows depend on."""
        return {file.name: file_sha256(file) for file in self._files.values()} | {
            "max_len": str(self.max_len)
        }

    def test(self, network: Any) -> None:
        """Nothing to test on."""


def _numbers(name: str, given: str, default: Any) -> list[float]:
    if not given:
        return list(default)
    try:
        values = [float(part) for part in given.split(",")]
    except ValueError as error:
        raise OptionError(f"{name} {given!r}: expected numbers separated by commas") from error
    if min(values) <= 0:
        raise OptionError(f"{name} {given!r}: expected numbers above 0")
    return values
