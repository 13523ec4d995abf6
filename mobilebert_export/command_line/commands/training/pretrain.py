"""`mobilebert pretrain`: masked tokens and sentence pairs, alone or under a teacher."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt


def pretrain(
    corpus: Annotated[Path, opt.INPUT_FOLDER, Argument(help="Folder that `mobilebert corpus build` wrote.")],
    out: opt.RunFolder,
    steps: Annotated[int, opt.COUNT, Option(help="Updates of pretraining (or of pretraining distillation).")],
    student: Annotated[
        str, opt.MODEL, Option(help="Preset, or a model directory whose config.json is taken.")
    ] = "mobilebert",
    strategy: Annotated[
        str, Option(help="bare, pd, akt, jkt, pkt, pkt-soft, pd-fmt, kronecker or kronecker-encoder.")
    ] = "bare",
    teacher: Annotated[
        str | None,
        opt.MODEL,
        Option(
            help="Model directory with a pretraining head and the student's feature-map size; a Kronecker "
            "strategy also learns from a bare encoder, such as minilm."
        ),
    ] = None,
    transfer_steps: Annotated[
        int, opt.COUNT_OR_NONE, Option(help="Additional updates of knowledge transfer.")
    ] = 0,
    batch_size: Annotated[int, opt.BATCH, Option(help="Sequences of an update, over all processes.")] = 256,
    accumulate: Annotated[int, opt.BATCH, Option(help="Micro-batches of a process in an update.")] = 1,
    optimiser: Annotated[str, Option(help="lamb or adamw.")] = "lamb",
    lr: Annotated[float, opt.RATE, Option(help="Peak learning rate.")] = 1.76e-3,
    warmup: Annotated[float, opt.SHARE, Option(help="Share of the updates spent on warm-up.")] = 0.1,
    dtype: opt.TrainingType = "float32",
    shard: Annotated[
        bool, Option("--shard", help="Split weights and optimiser moments over the processes.")
    ] = False,
    checkpoint_activations: Annotated[
        bool,
        Option("--checkpoint-activations", help="Recompute activations: less memory, a third more time."),
    ] = False,
    checkpoint_every: Annotated[int, opt.COUNT, Option(help="Updates between checkpoints.")] = 200,
    evaluate_every: Annotated[
        int, opt.COUNT_OR_NONE, Option(help="Updates between development figures; 0: at the end.")
    ] = 0,
    pairs: Annotated[str | None, Option(help="nsp or sop; default: what the corpus was built with.")] = None,
    masking: Annotated[
        str | None, Option(help="token or ngram; default: what the corpus was built with.")
    ] = None,
    seed: opt.Seed = 0,
    workers: Annotated[int, opt.PROCESSES, Option(help="Processes that draw examples.")] = 0,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Pretrain a model on token shards.

    Under `accelerate launch -m mobilebert_export pretrain …` or torchrun it runs on many devices; the global
    batch stays what --batch-size says. Leaves OUT/model, a record a stage, curves.png, TensorBoard's files.
    """
    import json
    from contextlib import nullcontext
    from dataclasses import replace

    import torch

    import mobilebert_models
    from mobilebert_models import PretrainingHead
    from mobilebert_models.networks.layers import Encoder
    from mobilebert_runtime.errors import ModelError
    from mobilebert_runtime.files import refuse_finished
    from mobilebert_training.pretraining.examples import ExampleRecipe
    from mobilebert_training.pretraining.shards import Corpus
    from mobilebert_training.pretraining.stages import PretrainingPlan, bare_teacher, draw_curves, start
    from mobilebert_training.pretraining.stages import pretrain as run
    from mobilebert_training.pretraining.strategies import strategy as find_strategy
    from mobilebert_training.run_directory import locked
    from mobilebert_training.trainer import processes
    from mobilebert_training.training_config import TrainingConfig

    refuse_finished(out / "model", force=force)
    shards = Corpus(corpus)
    defaults = json.loads((corpus / "examples.json").read_text(encoding="utf-8"))
    recipe = ExampleRecipe(pairs or defaults["pairs"], masking or defaults["masking"], seed)
    engine = TrainingConfig(
        steps=steps,
        batch_size=batch_size,
        accumulate=accumulate,
        optimiser=optimiser,
        learning_rate=lr,
        warmup=warmup,
        dtype=dtype,
        shard=shard,
        checkpoint_activations=checkpoint_activations,
        seed=seed,
        checkpoint_every=checkpoint_every,
        evaluate_every=evaluate_every,
    )
    plan = PretrainingPlan(strategy, transfer_steps, engine, recipe)
    torch.set_num_threads(threads)
    config = (
        mobilebert_models.read_config(Path(student))
        if Path(student).is_dir()
        else mobilebert_models.preset(student)
    )
    # A preset does not know the vocabulary it is trained with.
    config = replace(config, vocab_size=shards.special.vocab_size, pad_token_id=shards.special.pad)
    master = None
    if teacher is not None:
        loaded = mobilebert_models.load_pretrained(mobilebert_models.find_directory(teacher))
        if isinstance(loaded, Encoder) and strategy.startswith("kronecker"):
            master = bare_teacher(loaded, find_strategy(strategy))
        elif isinstance(loaded, PretrainingHead):
            master = loaded
        else:
            raise ModelError(f"{teacher}: holds no pretraining head; pretrain a teacher first")
    network = start(config, master, plan, shards)
    main = processes().is_main_process
    with locked(out) if main else nullcontext():
        facts = {"threads": threads}
        records = run(network, master, shards, plan, out, workers=workers, metadata=facts, force=force)
        if main:
            draw_curves(records, out / "curves.png")
            mobilebert_models.save_pretrained(network, out / "model", tokenizer_from=corpus)
