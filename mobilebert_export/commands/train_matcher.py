"""`mobilebert train-matcher`: fine-tune a pair classifier on a folder of labelled pairs."""

from pathlib import Path
from typing import Annotated

from typer import Option


def train_matcher(
    data: Annotated[Path, Option(help="Folder with train.tsv and dev.tsv.")],
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    arch: Annotated[str, Option(help="minilm, or a model directory to start from.")] = "minilm",
    epochs: Annotated[float, Option(help="Passes over the training pairs.")] = 2.0,
    batch_size: Annotated[int, Option(help="Pairs a step.")] = 64,
    lr: Annotated[float, Option(help="Peak learning rate.")] = 8e-5,
    seed: Annotated[int, Option(help="Of initial classifier, order, dropout.")] = 0,
    threads: Annotated[int, Option(help="CPU threads.")] = 2,
    force: Annotated[bool, Option("--force", help="Replace a finished model in OUT.")] = False,
) -> None:
    """Fine-tune a pair classifier on labelled pairs.

    Leaves OUT/model (a model directory whose decision settings are fitted on dev.tsv) and OUT/finetune.json
    (settings, loss curve, dev accuracy).
    """
    import torch

    import models
    from matching.calibration import fit_settings
    from matching.loop import LoopConfig
    from matching.output import refuse_finished
    from matching.split import read_split
    from matching.train import finetune, predict_logits
    from matching.wordpiece import PairTokenizer

    refuse_finished(out / "model", force=force)
    train, dev = read_split(data, "train"), read_split(data, "dev")
    source = Path(arch) if Path(arch).is_dir() else models.packaged_directory(arch)
    torch.set_num_threads(threads)
    labels = int(train.labels.max()) + 1
    model = models.load_classifier(source, num_labels=labels, seed=seed)
    tokenizer = PairTokenizer.load(source)
    config = LoopConfig(epochs=epochs, batch_size=batch_size, learning_rate=lr, seed=seed)
    facts = {"arch": arch, "data": data.name, "threads": threads}
    finetune(model, tokenizer, train.pairs, train.labels, dev, config, out, facts)
    settings = fit_settings(predict_logits(model, tokenizer, dev.pairs), dev.labels)
    models.save_pretrained(model, out / "model", tokenizer_from=source, settings=settings)
