"""Whole artefact folders around a network of one table and one matrix, for tests that measure, not score."""

import json
import re
from pathlib import Path

import numpy as np

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.card import INPUT_NAMES, MODEL_FILES, OUTPUT_NAME, ArtefactCard, Bucket
from mobilebert_runtime.card_parts import TokenizerCard

SEQ_LEN = 64
WORDS = sorted({word for pair in PAIRS for text in pair for word in re.findall(r"\w+|[^\w\s]", text.lower())})
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]


def write_artefact(folder: Path, target: str, model: bytes) -> Path:
    """Put a model file into a complete artefact folder with a tokenizer of its own."""
    from tokenizers import BertWordPieceTokenizer

    folder.mkdir(parents=True)
    (folder / MODEL_FILES[target]).write_bytes(model)
    card = ArtefactCard(
        target=target,
        quant="none",
        model_file=MODEL_FILES[target],
        buckets=(Bucket(SEQ_LEN),),
        labels=("different", "same"),
        positive=1,
        threshold=0.5,
        temperature=1.0,
        attention_mask_value=-60.0,
        tokenizer=TokenizerCard(pad_id=0),
        minimum_runtime={},
    )
    (folder / "io.json").write_text(json.dumps(card.to_json()))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    BertWordPieceTokenizer({word: i for i, word in enumerate(VOCABULARY)}).save(
        str(folder / "tokenizer.json")
    )
    write_checksums(folder)
    return folder


def onnx_model(width: int = 8) -> bytes:
    """Embedding, (mask + types) as weights of a sum, linear; an id outside the vocabulary is an error."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(0)
    ints = [helper.make_tensor_value_info(name, TensorProto.INT32, [1, SEQ_LEN]) for name in INPUT_NAMES]
    logits = helper.make_tensor_value_info(OUTPUT_NAME, TensorProto.FLOAT, [1, 2])
    weights = {
        "table": generator.normal(size=(len(VOCABULARY), width)).astype(np.float32),
        "linear": generator.normal(size=(width, 2)).astype(np.float32),
        "first_axis": np.array([0]),
    }
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["batch"]),
        helper.make_node("Squeeze", ["batch", "first_axis"], ["embedded"]),
        helper.make_node("Add", ["attention_mask", "token_type_ids"], ["both"]),
        helper.make_node("Cast", ["both"], ["scale"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["scale", "embedded"], ["pooled"]),
        helper.make_node("MatMul", ["pooled", "linear"], [OUTPUT_NAME]),
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "tiny", ints, [logits], tensors)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def tflite_model(file: Path, width: int = 1024) -> bytes:
    """The same network through litert-torch; about seven seconds.

    So wide that its operators take longer than the microsecond that LiteRT's profiler counts in.
    """
    import litert_torch
    import torch

    class Tiny(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(len(VOCABULARY), width)
            self.linear = torch.nn.Linear(width, 2)

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
        ) -> dict[str, torch.Tensor]:
            scale = (attention_mask + token_type_ids)[..., None]  # (1, S) → (1, S, 1)
            return {OUTPUT_NAME: self.linear((self.table(input_ids) * scale).sum(1))}

    example = {name: torch.ones(1, SEQ_LEN, dtype=torch.int32) for name in INPUT_NAMES}
    litert_torch.convert(Tiny().eval(), sample_kwargs=example).export(str(file))
    return file.read_bytes()
