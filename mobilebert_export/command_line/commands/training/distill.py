"""`mobilebert distill`: teach a small student what a fine-tuned teacher knows."""

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.config_command import command_from
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_training.distillation.distillation_config import DistillationConfig


def run(config: DistillationConfig, **columns: str | None) -> None:
    """Distil a student: inherit, layer-wise transfer, joint transfer, task.

    Besides the labelled pairs, the teacher labels pairs mined from their texts; texts of dev.tsv and test.tsv
    are never mined. A student of a smaller vocabulary than its teacher keeps the word pieces that are
    frequent in the training texts. Leaves OUT/model (fp16, decision settings fitted on dev.tsv) and one
    record a stage.
    """
    from mobilebert_export import library
    from mobilebert_export.terminal import Terminal

    with (
        known_columns(config.data, ColumnNames(**columns)) as data,
        Terminal(stderr=True).status("") as status,
    ):
        library.distill(**vars(config) | {"data": data}, bar=True, progress=status.update)


distill = command_from(
    DistillationConfig,
    run,
    opt.LABELLED_COLUMNS,
    teacher=opt.INPUT_FOLDER,
    data=opt.INPUT_FOLDER,
    out=opt.RUN_FOLDER,
    student=opt.MODEL,
    start=opt.MODEL,
    debias=opt.STRENGTH,
    labels=opt.RUN_FOLDER,
    seed=opt.SEEDS,
    threads=opt.THREADS,
)
