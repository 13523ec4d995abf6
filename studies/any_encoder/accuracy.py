"""Accuracy and bytes of a model's artefacts: our float and int8 files, and other quantisers' files.

The figure is of the model's task: Spearman's correlation of cosines (sentence vectors) or of values (a
regression) with people's scores; accuracy at the artefact's threshold and AUC (a matcher), with the share of
decisions that differ from our float TFLite file's.

    python -m studies.any_encoder.accuracy minilm --out results/any_encoder/minilm.json
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy.stats import spearmanr
from typer import Argument, Option

from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_matching.data.glue import TaskData, find_task, read_file
from mobilebert_matching.evaluation.metrics import auc
from mobilebert_runtime.artefact import ArtefactModel, load
from mobilebert_runtime.card import read_recipe
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import DataError, OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.text_classifier import TextClassifier
from studies.any_encoder.artefacts import PEERS, make_artefacts
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, command_line, console, run

MULTILINGUAL = Path(__file__).with_name("multilingual_pairs.tsv")
FLOAT = "tflite-none"  # whose decisions the others' are compared with


def read_scored(path: Path, prefix: str = "", most: int | None = None) -> TaskData:
    """Text pairs of a file with people's scores, or with 1 for a match and 0 for none.

    `prefix` comes before each text; errors as `mobilebert_matching.data.glue.read_task`.
    """
    pairs, targets = read_file(path, find_task("sts-b"))  # whose targets are numbers
    return TaskData([(prefix + a, prefix + b) for a, b in pairs[:most]], targets[:most])


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
    peer: Annotated[
        list[str] | None, Option(help="Another quantiser, of studies.any_encoder.artefacts; default: all.")
    ] = None,
    most: Annotated[int | None, Option(min=10, help="Pairs, from the first on; default: all.")] = None,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Export, quantise by the peers, and write the accuracy and the bytes of each file."""
    check_outputs(out, force=force)
    if unknown := set(peer or ()) - PEERS.keys():
        raise OptionError(f"--peer {unknown.pop()!r} is none of {', '.join(PEERS)}")
    sets = {pairs.parent.name: read_scored(pairs, prefix, most)}
    if multilingual:
        sets["multilingual"] = read_scored(MULTILINGUAL, prefix)
    folder = work / out.stem
    request = ExportRequest(
        out=folder, model=model, task=task, texts=texts, positive=positive, seq_len=128, measure=False
    )
    files: dict[str, Any] = {}
    answers: dict[str, dict[str, np.ndarray]] = {}
    folders, refused = make_artefacts(request, peer or list(PEERS))
    for name, path in folders.items():
        console().print(f"{name}: accuracy")
        artefact = load(path, threads)
        files[name] = {"bytes": (path / artefact.card.model_file).stat().st_size}
        if artefact.card.quant in ("none", "int8"):
            files[name]["recipe"] = read_recipe(path)["recipe"]["name"]
        answers[name] = {of: kept_scores(artefact, path, of, data.pairs) for of, data in sets.items()}
        for of, data in sets.items():
            files[name][of] = figures(artefact, answers[name][of], answers[FLOAT][of], data.targets)
    counts = {name: len(data.pairs) for name, data in sets.items()}
    facts = {"command": command_line(), "artefacts": str(folder), "pairs": counts, "files": files}
    write_json(out, facts | ({"refused": refused} if refused else {}))


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
