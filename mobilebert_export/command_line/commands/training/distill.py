"""`mobilebert distill`: teach a small student what a fine-tuned teacher knows."""

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.config_command import command_from
from mobilebert_training.distillation.distillation_config import DistillationConfig


def run(config: DistillationConfig) -> None:
    """Distil a student: inherit, layer-wise transfer, joint transfer, task.

    Beside the labelled pairs the teacher labels pairs mined from their texts; pairs of dev.tsv and test.tsv
    are never mined. A student of a smaller vocabulary than its teacher keeps the word pieces that are
    frequent in the training texts. Leaves OUT/model (fp16, decision settings fitted on dev.tsv) and one
    record a stage.
    """
    from rich.console import Console

    from mobilebert_export import library

    with Console(stderr=True).status("") as status:
        library.distill(**vars(config), bar=True, progress=status.update)


distill = command_from(
    DistillationConfig,
    run,
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
