"""A pair classifier of `transformers` becomes a verified int8 artefact, and both are asked the same question.

python examples/export_your_model.py MODEL OUT

MODEL is a directory that `save_pretrained` wrote: a BERT, ALBERT or MobileBERT for sequence classification
with two labels, and its tokenizer. OUT must not exist. `mobilebert export --model MODEL --out OUT` does the
same.
"""

import sys

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import mobilebert_export as mb
from mobilebert_runtime import Matcher

PAIR = ("How old is the Moon?", "What is the age of the Moon?")


def main(model: str, out: str) -> None:
    """Export, then print the probability of a match that `transformers` and the int8 file give."""
    result = mb.export(
        model, out, target="tflite", quant="int8", seq_len=64, buckets=(32, 64), progress=print
    )
    print(f"rank agreement  {result.verification.rank_agreement:.4f}")

    tokens = AutoTokenizer.from_pretrained(model)(*PAIR, return_tensors="pt")
    with torch.inference_mode():
        logits = AutoModelForSequenceClassification.from_pretrained(model).eval()(**tokens).logits  # (1, 2)
    print(f"transformers    {logits.softmax(-1)[0, 1]:.3f}")
    print(f"{result.recipe:15} {Matcher.load(out).score([PAIR])[0]:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
