"""`mobilebert import-tensorflow`: a Google checkpoint becomes a model directory."""

from pathlib import Path
from typing import Annotated

from typer import Option


def import_tensorflow(
    checkpoint: Annotated[
        Path, Option(help="Prefix of the checkpoint, such as mobilebert/mobilebert_variables.ckpt.")
    ],
    config: Annotated[Path, Option(help="bert_config.json of the checkpoint.")],
    vocab: Annotated[Path, Option(help="vocab.txt of the checkpoint.")],
    out: Annotated[Path, Option(help="Model directory to make.")],
    force: Annotated[bool, Option("--force", help="Replace a model directory that exists.")] = False,
) -> None:
    """Turn a TensorFlow 1 checkpoint of BERT or MobileBERT into a model directory.

    Needs the extra `mobilebert-export[tensorflow]`.
    """
    import tempfile

    from tokenizers import BertWordPieceTokenizer

    import models
    from mobilebert_runtime.files import refuse_finished
    from models.convert.tensorflow_checkpoint import read_tensorflow_checkpoint

    refuse_finished(out, force=force)
    if not vocab.is_file():
        raise models.ModelError(f"{vocab}: no such file; give the vocab.txt of the checkpoint")
    model = read_tensorflow_checkpoint(checkpoint, config)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_bytes(vocab.read_bytes())
        BertWordPieceTokenizer(str(vocab), lowercase=True).save(str(Path(folder) / "tokenizer.json"))
        models.save_pretrained(model, out, tokenizer_from=folder)
