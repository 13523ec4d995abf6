"""Today's habit, measured: cosine of all-MiniLM-L6-v2 sentence embeddings, threshold fitted on dev.

python benchmarks/cosine_baseline.py FOLDER OUT.json      (FOLDER has train.tsv, dev.tsv, test.tsv)
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

import models
from matching.calibration import fit_threshold
from matching.evaluation import evaluate
from matching.length_divergence import Quartiles, pairwise, word_counts
from matching.output import write_json
from matching.split import read_split
from matching.wordpiece import PairTokenizer


def embed(encoder: torch.nn.Module, tokenizer: PairTokenizer, texts: Sequence[str]) -> np.ndarray:
    """Mean of the last layer over the tokens of each text, unit length, (N, 384): the model card's recipe."""
    # A text alone is [CLS] text [SEP]: the separator of the empty second text is cut off.
    encoded = [(ids[:-1], types[:-1]) for ids, types in tokenizer.ids([(t, "") for t in texts], 128)]
    out = np.zeros((len(texts), encoder.config.hidden_size), np.float32)
    order = np.argsort([len(ids) for ids, _ in encoded], kind="stable")
    for start in range(0, len(order), 128):
        index = order[start : start + 128]
        batch = {k: torch.from_numpy(v) for k, v in tokenizer.pad([encoded[i] for i in index], None).items()}
        with torch.inference_mode():
            hidden = encoder(**batch).last_hidden_state
        weight = batch["attention_mask"][:, :, None].float()
        mean = (hidden * weight).sum(1) / weight.sum(1)
        out[index] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return out


def main(folder: Path, out: Path) -> None:
    """Score dev and test, fit the threshold on dev, write the figures of test."""
    directory = models.packaged_directory("minilm")
    encoder, tokenizer = models.load_pretrained(directory), PairTokenizer.load(directory)
    scores = {}
    for name in ("dev", "test"):
        pairs, _ = read_split(folder, name)
        first, second = (embed(encoder, tokenizer, side) for side in zip(*pairs, strict=True))
        scores[name] = ((first * second).sum(1) + 1) / 2  # cosine, moved from [-1, 1] to [0, 1]
    threshold = fit_threshold(scores["dev"], read_split(folder, "dev").labels)
    train = read_split(folder, "train").pairs
    quartiles = Quartiles.of(pairwise(*(word_counts(side) for side in zip(*train, strict=True))))
    pairs, labels = read_split(folder, "test")
    record = {"matcher": "cosine of all-MiniLM-L6-v2", "data": f"{folder.name}/test.tsv"}
    write_json(out, record | evaluate(pairs, labels, scores["test"], threshold, quartiles))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
