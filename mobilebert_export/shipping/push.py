"""An artefact folder on the Hugging Face hub, with a model card whose metadata the hub reads."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from mobilebert_export.evaluation.evaluation_page import PAGE_FILE
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
    ArtefactCard,
    check_checksums,
    read_card,
)
from mobilebert_runtime.errors import CheckError, OptionError

# Our tasks in the hub's words.
PIPELINE_TAGS = {
    MATCHING: "text-classification",
    CLASSIFICATION: "text-classification",
    TOKEN_CLASSIFICATION: "token-classification",
    QUESTION_ANSWERING: "question-answering",
    EMBEDDING: "sentence-similarity",
}
CLASSES = {
    MATCHING: ("Matcher", 'score([("How old is the Moon?", "What is the age of the Moon?")])'),
    CLASSIFICATION: ("TextClassifier", 'classify(["What a day!"])'),
    TOKEN_CLASSIFICATION: ("TokenClassifier", 'entities(["Ada lives in Paris."])'),
    QUESTION_ANSWERING: ("QuestionAnswerer", 'answers("Who swims?", "Ada swims.", 1)'),
    EMBEDDING: ("Embedder", 'embed(["How old is the Moon?"])'),
}


class PushError(CheckError):
    """The hub did not take the files."""


def push(artefact: Path, repository: str, *, license_name: str | None = None, private: bool = False) -> str:
    """Upload an artefact folder and its card; a repository that is not there is made.

    Who uploads is who `hf auth login`, or the variable HF_TOKEN, says.

    Args:
        artefact: a folder that `export` wrote.
        repository: OWNER/NAME.
        license_name: of the weights, as the hub abbreviates it.
        private: where the repository is made.

    Returns:
        the address of the commit.

    Raises:
        OptionError: the name can't be a repository's.
        ArtefactError: the folder is damaged.
        PushError: the hub refused, or can't be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise OptionError(f"{repository}: can't be a repository ({error}); give OWNER/NAME") from None
    if repository.count("/") != 1:
        raise OptionError(f"{repository}: give OWNER/NAME")
    card = read_card(artefact)
    check_checksums(artefact)
    api = HfApi()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "artefact"
        shutil.copytree(artefact, folder)
        report = json.loads((artefact / "report.json").read_text(encoding="utf-8"))
        page = model_card(repository, card, report, license_name) + own_figures(artefact)
        (folder / PAGE_FILE).write_text(page, encoding="utf-8")
        try:
            api.create_repo(repository, private=private, exist_ok=True)
            done = api.upload_folder(
                repo_id=repository,
                folder_path=folder,
                commit_message=f"{card.quant} {card.target} by mobilebert-export",
            )
        except Exception as error:  # of the hub, of HTTP, of the file system: they share no base class
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise PushError(
                f"{repository}: {api.endpoint} did not take it ({reason}); sign in with `hf auth login`, "
                "or set HF_TOKEN"
            ) from error
    return str(done.commit_url)


def own_figures(artefact: Path) -> str:
    """What `ship` wrote about an artefact's figures, as a section; empty where it wrote nothing."""
    page = artefact / PAGE_FILE
    if not page.is_file():
        return ""
    return "\n## Figures\n" + page.read_text(encoding="utf-8").partition("\n")[2]


def model_card(repository: str, card: ArtefactCard, report: dict[str, Any], license_name: str | None) -> str:
    """README.md for the hub: metadata as YAML, what the file is, how it is used, how it was verified."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        language="en",
        license=license_name,
        library_name="mobilebert-runtime",
        pipeline_tag=PIPELINE_TAGS[card.task],
        tags=[card.target, "litert" if card.target == "tflite" else "onnxruntime", card.quant, card.task],
    )
    name, call = CLASSES[card.task]
    file_format = "TFLite" if card.target == "tflite" else "ONNX"
    verified = report["verification"]
    made_of = report["model"]
    megabytes = report["bytes"]["model"] / 1e6
    lengths = ", ".join(str(bucket.seq_len) for bucket in card.buckets)
    rows = [
        ("task", card.task),
        ("file", f"`{card.model_file}`, {megabytes:.1f} MB, {card.quant}"),
        ("tokens", f"{lengths}; an input runs in the smallest length that holds it"),
        ("made of", f"{made_of['name']}, SHA-256 {made_of['sha256'][:12]}…"),
        ("verified on", f"{verified['pairs']} inputs against the PyTorch model"),
        ("largest change of a logit", f"{verified['max_abs_logit']:.3g}"),
    ]
    if verified.get("label_agreement") is not None:
        rows.append(("same decision", f"{verified['label_agreement']:.2%}"))
    table = "\n".join(f"| {what} | {value} |" for what, value in rows)
    return f"""---
{data.to_yaml().strip()}
---

# {repository.split("/")[1]}

A model for {card.task} as one verified {file_format} file, made by mobilebert-export.
It runs without torch and transformers.

```python
# pip install "mobilebert-runtime[{"tflite" if card.target == "tflite" else "onnx"}]" huggingface_hub
from huggingface_hub import snapshot_download
from mobilebert_runtime import {name}

model = {name}.load(snapshot_download("{repository}"))
model.{call}
```

| | |
|---|---|
{table}

`report.md` has every figure of the verification; `SHA256SUMS` covers the files that are loaded.
"""
