"""`mobilebert distill`: teach a small student what a fine-tuned matcher or an embedder knows."""

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.config_command import command_from
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_runtime.errors import OptionError
from mobilebert_training.distillation.distillation_config import DistillationConfig


def run(config: DistillationConfig, **columns: str | None) -> None:
    """Distil a student: a matcher from labelled pairs, or an embedder from texts.

    A fine-tuned pair classifier teaches with labelled pairs: inherit, layer-wise transfer, joint transfer,
    task. It also labels pairs mined from their texts; texts of dev.tsv and test.tsv are never mined. A
    student of a smaller vocabulary than its teacher keeps the word pieces that are frequent in the training
    texts. Leaves OUT/model (fp16, decision settings fitted on dev.tsv) and one record a stage.

    An embedder, such as minilm, teaches with texts alone. Its student has several layers for each of its own:
    mobilebert-tiny and mobilebert have four for each of MiniLM's. First feature maps, attention and sentence
    vectors are compared, then sentence vectors only. Further teachers give nothing but sentence vectors.
    Leaves OUT/model, a sentence-transformers folder that `export`, `train-matcher` and `finetune` take.
    """
    from mobilebert_export import library
    from mobilebert_export.terminal import Terminal

    names = ColumnNames(**columns)
    if names.given and config.data.is_file():
        raise OptionError(
            "--text-a, --text-b, --label, --positive-label: name columns of pairs; texts have none"
        )
    with (
        known_columns(config.data, names) as data,
        Terminal(stderr=True).status("") as status,
    ):
        library.distill(**vars(config) | {"data": data}, bar=True, progress=status.update)


distill = command_from(
    DistillationConfig,
    run,
    opt.LABELLED_COLUMNS,
    teacher=opt.MODEL,
    data=opt.INPUT_FILE_OR_FOLDER,
    out=opt.RUN_FOLDER,
    student=opt.MODEL,
    start=opt.MODEL,
    debias=opt.STRENGTH,
    epochs=opt.RATE,
    labels=opt.RUN_FOLDER,
    dtype=opt.TRAINING_TYPES,
    seed=opt.SEEDS,
    threads=opt.THREADS,
)
