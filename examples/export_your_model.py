"""A pair classifier of `transformers` becomes a verified int8 artefact, and both are asked the same question.

python examples/export_your_model.py MODEL OUT [POSITIVE]

MODEL is a directory that `save_pretrained` wrote: a BERT, ALBERT or MobileBERT for sequence classification
with two labels, and its tokenizer. OUT must not exist. POSITIVE is the label that means a match, where the
names do not say so, such as LABEL_1. `mobilebert export --model MODEL --out OUT --positive LABEL_1` does the
same.
"""

import sys
from pathlib import Path

import torch
from rich.console import Console
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_runtime import Matcher
from mobilebert_runtime.errors import UserError

PAIR = ("How old is the Moon?", "What is the age of the Moon?")


def main(model: str, out: str, positive: str | None = None) -> None:
    """Export, then print the probability of a match that `transformers` and the int8 file give."""
    request = ExportRequest(
        out=Path(out), model=model, positive=positive, target="tflite", quant="int8", buckets=(32, 64)
    )
    export(request, Console(stderr=True))

    tokens = AutoTokenizer.from_pretrained(model)(*PAIR, return_tensors="pt")
    matcher = Matcher.load(out)
    with torch.inference_mode():
        logits = AutoModelForSequenceClassification.from_pretrained(model).eval()(**tokens).logits  # (1, 2)
    print(f"transformers    {logits.softmax(-1)[0, matcher.card.positive]:.3f}")
    print(f"int8 artefact   {matcher.score([PAIR])[0]:.3f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except UserError as error:
        sys.exit(str(error))
