"""`mobilebert distill-encoder`: a small BERT learns a large one's representations from plain text."""

from pathlib import Path
from typing import Annotated

from typer import Option


def distill_encoder(
    corpus: Annotated[list[Path], Option(help="Text, a paragraph a line (.txt, .xz, .gz); may be repeated.")],
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    student: Annotated[str, Option(help="Preset of the student, a plain BERT.")] = "bert-tiny",
    teacher: Annotated[str, Option(help="minilm, or the model directory of a wider BERT.")] = "minilm",
    sentences: Annotated[int, Option(min=1, help="Training texts drawn from the corpus.")] = 50_000,
    epochs: Annotated[float, Option(help="Passes over them.")] = 1.0,
    batch_size: Annotated[int, Option(help="Texts a step.")] = 32,
    lr: Annotated[float, Option(help="Peak learning rate.")] = 1.5e-3,
    sts: Annotated[
        Path | None, Option(help="Labelled similar sentences (STS-B) to measure before and after.")
    ] = None,
    seed: Annotated[int, Option(help="Of the draw, the first layers and the order.")] = 0,
    threads: Annotated[int, Option(help="CPU threads.")] = 2,
    force: Annotated[bool, Option("--force", help="Replace a finished model in OUT.")] = False,
) -> None:
    """Distil a small BERT encoder from a larger one on plain text, before any task.

    Word embeddings start as the truncated SVD of the teacher's; then feature maps, sentence embeddings and
    the pooled output are matched. Leaves OUT/model, to fine-tune with `train-matcher --arch OUT/model`, and
    OUT/representations.json.
    """
    from typing import Any

    import torch
    from rich.console import Console

    import models
    from matching.data.pairs import read_pairs
    from mobilebert_runtime.errors import DataError
    from mobilebert_runtime.files import refuse_finished
    from mobilebert_runtime.tokenizer import PairTokenizer
    from models.layers import encoder_of
    from studies.length_bias.encoder_distillation import distil_encoder, draw_texts
    from training.loop import LoopConfig

    refuse_finished(out / "model", force=force)
    config = models.preset(student)
    source = models.find_directory(teacher)
    master = encoder_of(models.load_pretrained(source))
    tokenizer = PairTokenizer.load(source)
    similar = None
    if sts is not None:
        table = read_pairs(sts)
        if table.labels is None:
            raise DataError(f"{sts}: has no column of similarities; expected score or label")
        similar = (table.pairs, table.labels)
    torch.set_num_threads(threads)
    console = Console(stderr=True)
    with console.status("drawing sentences"):
        texts = draw_texts(corpus, sentences, seed=seed)
    pairs = sum(not isinstance(text, str) for text in texts)
    console.print(f"{len(texts):,} texts, {pairs:,} of them two sentences")
    facts: dict[str, Any] = {
        "teacher": teacher if not Path(teacher).is_dir() else source.name,
        "student": student,
    }
    facts |= {"corpus": [path.name for path in corpus], "texts_of_two_sentences": pairs, "threads": threads}
    loop = LoopConfig(epochs=epochs, batch_size=batch_size, learning_rate=lr, seed=seed)
    encoder, _ = distil_encoder(
        config,
        master,
        tokenizer,
        texts,
        loop,
        out,
        similar=similar,
        facts=facts,
    )
    models.save_pretrained(encoder, out / "model", tokenizer_from=source)
