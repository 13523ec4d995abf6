"""`mobilebert distill`: teach a small student what a fine-tuned teacher knows."""

from pathlib import Path
from typing import Annotated

from typer import Option


def distill(
    teacher: Annotated[Path, Option(help="Model directory of a fine-tuned pair classifier.")],
    data: Annotated[Path, Option(help="Folder with train.tsv and dev.tsv.")],
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    student: Annotated[
        str, Option(help="Preset of the student, or a Kronecker-factored model directory.")
    ] = "matcher",
    recipe: Annotated[str, Option(help="Distillation recipe.")] = "matcher",
    seed: Annotated[int, Option(help="Of initial weights and mining.")] = 0,
    threads: Annotated[int, Option(help="CPU threads.")] = 2,
    force: Annotated[bool, Option("--force", help="Replace a finished model in OUT.")] = False,
) -> None:
    """Distil a student: inherit, layer-wise transfer, joint transfer, task.

    Beside the labelled pairs the teacher labels pairs mined from their texts; pairs of dev.tsv and test.tsv
    are never mined. Leaves OUT/model (fp16, decision settings fitted on dev.tsv) and one record a stage.
    """
    import numpy as np
    import torch
    from rich.console import Console

    import models
    from distill.mining import mine_pairs
    from distill.objectives import UNLABELLED
    from distill.recipe import recipe as find_recipe
    from distill.student import inherit, start_factored
    from distill.transfer import distil
    from matching.calibration import fit_settings
    from matching.output import refuse_finished
    from matching.split import read_split
    from matching.train import predict_logits
    from matching.wordpiece import PairTokenizer

    refuse_finished(out / "model", force=force)
    plan = find_recipe(recipe)
    factored = student not in models.PRESETS and Path(student).is_dir()
    config = None if factored else models.preset(student)
    train, dev = read_split(data, "train"), read_split(data, "dev")
    held_out = dev.pairs + (read_split(data, "test").pairs if (data / "test.tsv").is_file() else [])
    torch.set_num_threads(threads)
    master, tokenizer = models.load_classifier(teacher), PairTokenizer.load(teacher)
    console = Console(stderr=True)
    with console.status("mining unlabelled pairs"):
        texts = [text for pair in train.pairs for text in pair]
        known = train.pairs + held_out
        mined = mine_pairs(texts, plan.mined_pairs, known=known, seed=seed) if plan.mined_pairs else []
    console.print(f"{len(train.pairs):,} labelled and {len(mined):,} mined pairs")
    pairs = train.pairs + mined
    labels = np.concatenate([train.labels, np.full(len(mined), UNLABELLED)])
    pupil = start_factored(student, master) if config is None else inherit(config, master, seed)
    facts = {"teacher": teacher.name, "student": Path(student).name, "recipe": recipe, "data": data.name}
    facts |= {"seed": seed, "labelled_pairs": len(train.pairs), "mined_pairs": len(mined), "threads": threads}
    distil(pupil, master, tokenizer, pairs, labels, dev, plan, out, facts)
    settings = fit_settings(predict_logits(pupil, tokenizer, dev.pairs), dev.labels)
    models.save_pretrained(pupil, out / "model", tokenizer_from=teacher, settings=settings, half=True)
