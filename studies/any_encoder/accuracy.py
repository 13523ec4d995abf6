"""Accuracy and bytes of a model's artefacts: our float and int8 files, and other quantisers' files.

The figure is of the model's task: Spearman's correlation of cosines (sentence vectors) or of values (a
regression) with people's scores; accuracy at the artefact's threshold and AUC (a matcher), with the share of
decisions that differ from our float TFLite file's.

    python -m studies.any_encoder.accuracy minilm --out results/any_encoder/minilm.json
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy.stats import spearmanr
from typer import Argument, Option

from matching.evaluation.metrics import auc
from mobilebert_export.export_request import ExportRequest
from mobilebert_runtime.artefact import ArtefactModel, load
from mobilebert_runtime.card import read_recipe
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.text_classifier import TextClassifier
from studies.any_encoder.artefacts import make_artefacts
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, command_line, console, run

MULTILINGUAL = Path(__file__).with_name("multilingual_pairs.tsv")
TARGETS = ("score", "label")  # the column of people's scores, or of 0 and 1
FLOAT = "tflite-none"  # whose decisions the others' are compared with


@dataclass(frozen=True)
class ScoredPairs:
    """Text pairs with people's scores of how alike they are, or with 1 for a match and 0 for none."""

    pairs: list[tuple[str, str]]
    targets: np.ndarray  # float64 (N,)

    @classmethod
    def read(cls, path: Path, prefix: str = "", most: int | None = None) -> ScoredPairs:
        """A TSV file with a column score or label and two columns of texts; `prefix` comes before each text.

        Raises:
            DataError: the file has other columns.
        """
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            names = list(reader.fieldnames or ())
            target = next((name for name in TARGETS if name in names), None)
            texts = [name for name in names if name not in {target, "language"}]
            if target is None or len(texts) != 2:
                raise DataError(
                    f"{path}: columns {', '.join(names)}; expected two texts and a score or label"
                )
            rows = list(reader)[:most]
        first, second = ([prefix + row[name] for row in rows] for name in texts)
        return cls(list(zip(first, second, strict=True)), np.array([float(row[target]) for row in rows]))


def main(
    model: Annotated[str, Argument(help="Model directory, or 'minilm'.")],
    out: Annotated[Path, Option(help="JSON file of the record.")],
    work: Annotated[
        Path, Option(help="Folder for the artefacts of all models; those that are there are kept.")
    ] = Path("runs/any_encoder"),
    pairs: Annotated[Path, Option(help="Test pairs with a score or a label.")] = Path(
        "../shared/data/glue/sts-b/test.tsv"
    ),
    task: Annotated[str | None, Option(help="As of `mobilebert export`.")] = None,
    texts: Annotated[int | None, Option(help="As of `mobilebert export`.")] = None,
    positive: Annotated[str | None, Option(help="As of `mobilebert export`.")] = None,
    prefix: Annotated[str, Option(help="Before each text, such as 'query: ' for E5.")] = "",
    multilingual: Annotated[bool, Option("--multilingual", help="Other languages too.")] = False,
    most: Annotated[int | None, Option(min=10, help="Pairs, from the first on; default: all.")] = None,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Export, quantise by the peers, and write the accuracy and the bytes of each file."""
    check_outputs(out, force=force)
    sets = {pairs.parent.name: ScoredPairs.read(pairs, prefix, most)}
    if multilingual:
        sets["multilingual"] = ScoredPairs.read(MULTILINGUAL, prefix)
    folder = work / out.stem
    request = ExportRequest(
        out=folder, model=model, task=task, texts=texts, positive=positive, seq_len=128, measure=False
    )
    files: dict[str, Any] = {}
    answers: dict[str, dict[str, np.ndarray]] = {}
    for name, path in make_artefacts(request).items():
        console().print(f"{name}: accuracy")
        artefact = load(path, threads)
        files[name] = {"bytes": (path / artefact.card.model_file).stat().st_size}
        if artefact.card.quant in ("none", "int8"):
            files[name]["recipe"] = read_recipe(path)["recipe"]["name"]
        answers[name] = {of: kept_scores(artefact, path, of, data.pairs) for of, data in sets.items()}
        for of, data in sets.items():
            files[name][of] = figures(artefact, answers[name][of], answers[FLOAT][of], data.targets)
    counts = {name: len(data.pairs) for name, data in sets.items()}
    write_json(out, {"command": command_line(), "artefacts": str(folder), "pairs": counts, "files": files})


def kept_scores(artefact: ArtefactModel, folder: Path, of: str, pairs: list[tuple[str, str]]) -> np.ndarray:
    """`scores`, which lie beside the artefact's folder from then on: an interrupted run goes on."""
    path = folder.with_name(f"{folder.name}.{of}.{len(pairs)}.npy")
    if not path.is_file() or path.stat().st_mtime < (folder / artefact.card.model_file).stat().st_mtime:
        np.save(path, scores(artefact, pairs))
    return np.asarray(np.load(path))


def scores(artefact: ArtefactModel, pairs: list[tuple[str, str]]) -> np.ndarray:
    """How alike the artefact finds each pair, (N,): a cosine, a value, or the probability of a match.

    Raises:
        DataError: the artefact's task gives no such number.
    """
    if isinstance(artefact, Matcher):
        return artefact.score(pairs)
    if isinstance(artefact, TextClassifier) and artefact.card.activation == "identity":
        return artefact.logits(pairs)[:, 0]
    if isinstance(artefact, Embedder):
        first, second = (artefact.embed([pair[i] for pair in pairs]) for i in (0, 1))
        norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        return np.asarray((first * second).sum(1) / norms)
    raise DataError(f"an artefact for {artefact.card.task} does not say how alike two texts are")


def figures(
    artefact: ArtefactModel, found: np.ndarray, in_float: np.ndarray, targets: np.ndarray
) -> dict[str, float]:
    """What is reported of one file on one set."""
    if not isinstance(artefact, Matcher) or artefact.card.activation == "identity":
        return {"spearman": round(float(spearmanr(found, targets)[0]), 4)}
    decided = found >= artefact.card.threshold
    return {
        "accuracy": round(float((decided == targets).mean()), 4),
        "auc": round(auc(targets.astype(int), found), 4),
        "changed decisions": round(float((decided != (in_float >= artefact.card.threshold)).mean()), 4),
    }


if __name__ == "__main__":
    run(main)
