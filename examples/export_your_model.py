"""A pair classifier of `transformers` becomes a verified int8 artefact, and both are asked the same question.

python examples/export_your_model.py MODEL OUT [POSITIVE]

MODEL is a directory that `save_pretrained` wrote: a BERT, ALBERT or MobileBERT for sequence classification
with two labels, and its tokenizer. OUT must not exist. POSITIVE is the label that means a match, where the
names do not say so, such as LABEL_1. `mobilebert export --model MODEL --out OUT --positive LABEL_1` does the
same.
"""

import sys

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import mobilebert_export as mb

PAIR = ("How old is the Moon?", "What is the age of the Moon?")


def main(model: str, out: str, positive: str | None = None) -> None:
    """Export, then print the probability of a match that `transformers` and the int8 file give."""
    result = mb.export(model, out, quant="int8", positive=positive, buckets=(32, 64), progress=print)
    print(f"rank agreement  {result.verification.rank_agreement:.4f}")

    tokens = AutoTokenizer.from_pretrained(model)(*PAIR, return_tensors="pt")
    matcher = mb.Matcher.load(out)
    with torch.inference_mode():
        logits = AutoModelForSequenceClassification.from_pretrained(model).eval()(**tokens).logits  # (1, 2)
    print(f"transformers    {logits.softmax(-1)[0, matcher.card.positive]:.3f}")
    print(f"{result.recipe:15} {matcher.score([PAIR])[0]:.3f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except mb.UserError as error:
        sys.exit(str(error))
