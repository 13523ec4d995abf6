"""Write a finished trunk, and its head where there is one, as a model directory.

The directory is read by `models.load_pretrained` (encoder), by transformers, and by sentence-transformers
(modules.json: transformer, mean pooling, normalisation). The pair decision is two files of its own. Of a run
that was cut off, the last checkpoint is packaged with --checkpoint.

    python -m studies.general_matcher.package --trunk runs/general/m/trunk --out runs/general/matcher-open-m
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated

import torch
from typer import Option

from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import refuse_finished
from models import build, load_pretrained, packaged_directory, preset, save_pretrained
from models.layers import encoder_of
from studies.common.script import Force, console, run

_MODULES = "sentence_transformers.models."


def main(
    out: Annotated[Path, Option(help="The model directory.")],
    trunk: Annotated[Path | None, Option(help="Model directory of a finished trunk.")] = None,
    checkpoint: Annotated[
        Path | None, Option(help="Folder of an unfinished run, in the place of --trunk.")
    ] = None,
    arch: Annotated[str, Option(help="Preset of --checkpoint.")] = "matcher-s",
    head: Annotated[Path | None, Option(help="Folder of head.safetensors and decision.json.")] = None,
    force: Force = False,
) -> None:
    """Write the directory."""
    refuse_finished(out, force=force)
    if (trunk is None) == (checkpoint is None):
        raise OptionError("give either --trunk or --checkpoint")
    if trunk is not None:
        encoder, tokenizer = encoder_of(load_pretrained(trunk)), trunk
    elif checkpoint is not None:
        encoder = encoder_of(build(preset(arch), None, seed=0))
        encoder.load_state_dict(torch.load(checkpoint / "checkpoint.pt", weights_only=True)["model"])
        cut = checkpoint / "tokenizer"
        tokenizer = cut if cut.is_dir() else packaged_directory("minilm")
    save_pretrained(encoder, out, tokenizer_from=tokenizer, half=True)
    write_pooling(out, encoder.config.hidden_size)
    if head is not None:
        for name in ("head.safetensors", "decision.json"):
            shutil.copyfile(head / name, out / name)
    parameters = sum(p.numel() for p in encoder.parameters())
    console().print(f"{parameters:,} parameters, {(out / 'model.safetensors').stat().st_size:,} bytes")


def write_pooling(directory: Path, size: int) -> None:
    """How token states become a sentence vector, in sentence-transformers' files."""
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": _MODULES + kind}
        for i, (path, kind) in enumerate(modules)
    ]
    (directory / "modules.json").write_text(json.dumps(listed, indent=2) + "\n")
    (directory / "1_Pooling").mkdir(exist_ok=True)
    (directory / "2_Normalize").mkdir(exist_ok=True)
    pooling = {
        "word_embedding_dimension": size,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
    }
    (directory / "1_Pooling/config.json").write_text(json.dumps(pooling, indent=2) + "\n")
    (directory / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 128, "do_lower_case": False}, indent=2) + "\n"
    )


if __name__ == "__main__":
    run(main)
