"""`mobilebert import-tensorflow`: a Google checkpoint becomes a model directory."""

from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_export.command_line import options as opt


def import_tensorflow(
    checkpoint: Annotated[
        Path,
        opt.NAMED_PATH,
        Option(help="Prefix of the checkpoint, such as mobilebert/mobilebert_variables.ckpt."),
    ],
    config: Annotated[Path, opt.INPUT_FILE, Option(help="bert_config.json of the checkpoint.")],
    vocab: Annotated[Path, opt.INPUT_FILE, Option(help="vocab.txt of the checkpoint.")],
    out: Annotated[Path, opt.MODEL_FOLDER, Option(help="Model directory to make.")],
    force: opt.Force = False,
) -> None:
    """Turn a TensorFlow 1 checkpoint of BERT or MobileBERT into a model directory.

    Needs the extra `mobilebert-export[tensorflow]`.
    """
    import tempfile

    from tokenizers import BertWordPieceTokenizer

    import mobilebert_models
    from mobilebert_models.convert.tensorflow_checkpoint import read_tensorflow_checkpoint
    from mobilebert_runtime.files import refuse_finished

    refuse_finished(out, force=force)
    if not vocab.is_file():
        raise mobilebert_models.ModelError(f"{vocab}: no such file; give the vocab.txt of the checkpoint")
    model = read_tensorflow_checkpoint(checkpoint, config)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_bytes(vocab.read_bytes())
        BertWordPieceTokenizer(str(vocab), lowercase=True).save(str(Path(folder) / "tokenizer.json"))
        mobilebert_models.save_pretrained(model, out, tokenizer_from=folder)
