"""A model directory's answers in this project, without a conversion, against its own library's."""

from importlib import import_module
from types import SimpleNamespace

import torch

from mobilebert_export.pipeline.card import artefact_card
from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.verification.library_answers import Library, compare_from_text
from mobilebert_quantize.recipes import find_recipe
from mobilebert_runtime.artefact import CLASSES, read_tokenizer
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.card_parts import TOKENIZER_FILE, VOCABULARY_FILE
from mobilebert_runtime.errors import UserError
from tests.helpers.texts import fuzzed_lines

SEQ_LEN = 48
# What the files of a task do not say.
OPTIONS = {
    "text-classification": {"task": "text-classification", "texts": 1},
    "one-logit": {"task": "text-matching"},
    "regression": {"task": "text-classification", "texts": 1},
    "multi-label": {"task": "text-classification", "texts": 1},
}


class TorchBackend:
    """A PyTorch network in the place of a runtime."""

    packed = None
    most_rows = 1

    def __init__(self, model, card):
        self.network, self.card = model.network, card

    def run(self, inputs):
        with torch.inference_mode():
            found = self.network(*(torch.from_numpy(inputs[name]) for name in self.card.inputs))
        found = found if isinstance(found, tuple) else (found,)
        return dict(zip(self.card.outputs(1), (one.numpy() for one in found), strict=True))


def opened(model, seq_len=SEQ_LEN):
    """The runtime's object of a loaded model, in PyTorch: all but the conversion is as exported."""
    seq_len = min(seq_len, model.longest)
    card = artefact_card(model, find_recipe("onnx", "none"), (Bucket(seq_len),))
    entries = sorted(model.tokenizer.vocabulary().items(), key=lambda entry: entry[1])
    lines = "".join(f"{token}\n" for token, _ in entries)
    contents = {TOKENIZER_FILE: model.tokenizer_json, VOCABULARY_FILE: lines.encode()}
    files = SimpleNamespace(card=card, folder=model.folder, contents=contents)
    name, module = CLASSES[card.task]
    kind = getattr(import_module(f"mobilebert_runtime.{module}"), name)
    return kind(card, read_tokenizer(files), TorchBackend(model, card))


def compared(folder, task, more=(), **options):
    """The agreement with the library, or the refusal as a text."""
    try:
        model = load_model(str(folder), **OPTIONS.get(task, {}) | options)
        artefact = opened(model)
    except UserError as error:
        return str(error)
    library = Library.load(model.folder, model.directory, model.task)
    return compare_from_text(library, artefact, (*more, *fuzzed_lines(12, seed=3)))
