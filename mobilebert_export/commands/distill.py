"""`mobilebert distill`: teach a small student what a fine-tuned teacher knows."""

from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_export import options as opt


def distill(
    teacher: Annotated[
        list[Path],
        opt.INPUT_FOLDER,
        Option(
            help="Model directory of a fine-tuned pair classifier; of several the first one's layers count."
        ),
    ],
    data: Annotated[Path, opt.INPUT_FOLDER, Option(help="Folder with train.tsv and dev.tsv.")],
    out: opt.RunFolder,
    student: Annotated[
        str, opt.MODEL, Option(help="Preset of the student, or a Kronecker-factored model directory.")
    ] = "matcher-m",
    recipe: Annotated[str, Option(help="Distillation recipe.")] = "matcher-m",
    start: Annotated[
        str | None,
        opt.MODEL,
        Option(help="Trained model of the student's shape to go on from: a directory or 'shipped'."),
    ] = None,
    level: Annotated[
        float, opt.LEVEL, Option(help="Share of the length-divergence bias taken out of the targets; 1: all.")
    ] = 0.0,
    labels: Annotated[
        Path | None,
        opt.RUN_FOLDER,
        Option(help="Folder of the teachers' labels, to share between students. [OUT/labels]"),
    ] = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Distil a student: inherit, layer-wise transfer, joint transfer, task.

    Beside the labelled pairs the teacher labels pairs mined from their texts; pairs of dev.tsv and test.tsv
    are never mined. A student of a smaller vocabulary than its teacher keeps the word pieces that are
    frequent in the training texts. Leaves OUT/model (fp16, decision settings fitted on dev.tsv) and one
    record a stage.
    """
    import torch
    from rich.console import Console

    import models
    from distill.init.student import StudentStart, init_student, start_factored
    from distill.task.distillation_data import gather, task_targets, teachers_logits
    from distill.task.distillation_recipes import recipe as find_recipe
    from distill.task.task_distillation import distil
    from matching.evaluation.score_calibration import fit_level_settings, fit_settings
    from matching.length_bias.length_prior import LengthPrior
    from mobilebert_runtime.files import refuse_finished
    from mobilebert_runtime.tokenizer import PairTokenizer
    from training.encoded_pairs import predict_logits

    refuse_finished(out / "model", force=force)
    plan = find_recipe(recipe)
    torch.set_num_threads(threads)
    console = Console(stderr=True)
    with console.status("mining unlabelled pairs"):
        distillation_data = gather(data, plan.mined_pairs, seed)
    console.print(
        f"{len(distillation_data.train.pairs):,} labelled and {len(distillation_data.mined):,} mined pairs"
    )
    if student not in models.PRESETS and Path(student).is_dir():
        master = models.load_classifier(teacher[0])
        initial = StudentStart(start_factored(student, master), master, teacher[0])
    else:
        begun = None if start is None else models.find_directory(start)
        initial = init_student(
            models.preset(student), teacher[0], distillation_data.texts, out, seed=seed, start=begun
        )
    targets = None
    if plan.soft_labelled or (level and not plan.matches_hidden_states):
        with console.status("teachers label the pairs") as status:
            said = teachers_logits(
                teacher,
                distillation_data.pairs,
                labels or out / "labels",
                lambda share: status.update(f"teachers label the pairs: {share:.0%}"),
            )
        targets = task_targets(distillation_data, said, level)
    tokenizer = PairTokenizer.load(initial.tokenizer)
    facts = {
        "teacher": [path.name for path in teacher],
        "student": Path(student).name,
        "start": start and Path(start).name,
        "recipe": recipe,
        "data": data.name,
        "level": level,
        "seed": seed,
        "labelled_pairs": len(distillation_data.train.pairs),
        "mined_pairs": len(distillation_data.mined),
        "threads": threads,
    }
    pupil = initial.student
    distil(
        pupil,
        initial.teacher,
        tokenizer,
        distillation_data.pairs,
        distillation_data.labels,
        distillation_data.dev,
        plan,
        out,
        facts,
        targets,
    )
    logits, dev = predict_logits(pupil, tokenizer, distillation_data.dev.pairs), distillation_data.dev
    prior = LengthPrior.fit(*distillation_data.train) if level else None
    settings = fit_level_settings(logits, dev, prior) if prior else fit_settings(logits, dev.labels)
    models.save_pretrained(
        pupil, out / "model", tokenizer_from=initial.tokenizer, settings=settings, half=True
    )
