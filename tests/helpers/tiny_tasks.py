"""Artefacts of every task around a network of one table: a token's row, or the mean of a text's rows.

The same table is a `transformers` model, for its pipelines.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    MODEL_FILES,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
    ArtefactCard,
    Bucket,
)
from mobilebert_runtime.card_parts import Embedding, TokenizerCard
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import tokenizer_kinds

SEQ_LEN = 48
INPUTS = ("input_ids", "attention_mask")
SPREAD = 3.0  # of the logits


def write(folder: Path, task: str, kind: str = "bert", **fields) -> Path:
    """An artefact of a task with a tokenizer of `tokenizer_kinds.KINDS`; `fields` change its card."""
    tokenizer_kinds.write(kind, folder)
    tokenizer = PairTokenizer.load(folder)
    side = fields.pop("truncation_side", "right")
    lowercase = True if tokenizer.kind == "wordpiece" else None
    plain = ArtefactCard(
        target="onnx",
        quant="none",
        model_file=MODEL_FILES["onnx"],
        buckets=(Bucket(SEQ_LEN),),
        labels=("different", "same"),
        attention_mask_value=-60.0,
        minimum_runtime={},
        inputs=INPUTS,
        tokenizer=TokenizerCard(
            tokenizer.kind, lowercase, tokenizer.pad_id, tokenizer.template, truncation_side=side
        ),
    )
    given = {
        MATCHING: {},
        CLASSIFICATION: {"texts": 1, "labels": ("a", "b", "c")},
        TOKEN_CLASSIFICATION: {"texts": 1, "labels": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")},
        QUESTION_ANSWERING: {"labels": (), "activation": None, "stride": 8},
        EMBEDDING: {"texts": 1, "labels": (), "activation": None, "embedding": Embedding(24, False)},
    }[task]
    card = replace(plain, **{"task": task} | given | fields)
    (folder / card.model_file).write_bytes(_onnx(card, tokenizer.vocab_size))
    (folder / "io.json").write_text(json.dumps(card.to_json()))
    write_checksums(folder)
    return folder


def table(rows: int, width: int) -> np.ndarray:
    """The only weights, float32 (vocabulary, width); `width` numbers for each token."""
    return (SPREAD * np.random.default_rng(width).normal(size=(rows, width))).astype(np.float32)


def _onnx(card: ArtefactCard, vocabulary: int) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    given = [helper.make_tensor_value_info(name, TensorProto.INT32, [1, SEQ_LEN]) for name in card.inputs]
    shapes = card.outputs(SEQ_LEN)
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["mask", "last"], ["count"], keepdims=1),
        helper.make_node("Div", ["mask", "count"], ["weights"]),
    ]
    tensors = [
        numpy_helper.from_array(np.array([1]), "last"),
        numpy_helper.from_array(np.array([0]), "first"),
    ]
    for name, shape in shapes.items():
        tensors.append(numpy_helper.from_array(table(vocabulary, shape[-1]), f"table {name}"))
        token_wise = len(shape) == 3
        nodes.append(
            helper.make_node(
                "Gather", [f"table {name}", "input_ids"], [name if token_wise else f"all {name}"]
            )
        )
        if not token_wise:
            nodes.append(helper.make_node("Squeeze", [f"all {name}", "first"], [f"rows {name}"]))
            nodes.append(helper.make_node("MatMul", ["weights", f"rows {name}"], [name]))
    graph = helper.make_graph(nodes, "tiny", given, outputs, tensors)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def mean_rows(ids: list[int], width: int, vocabulary: int) -> np.ndarray:
    """What a pooled output is for these tokens, float64 (width,)."""
    return table(vocabulary, width)[ids].astype(np.float64).mean(0)


def transformers_model(labels, vocabulary: int, *, token_wise: bool, problem_type: str | None = None):
    """The same network for the pipelines of `transformers`."""
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import TokenClassifierOutput

    class Table(PreTrainedModel):
        config_class = PreTrainedConfig

        def __init__(self, config):
            super().__init__(config)
            self.table = torch.nn.Embedding.from_pretrained(torch.from_numpy(table(vocabulary, len(labels))))

        def forward(self, input_ids, attention_mask=None, **_):
            rows = self.table(input_ids)
            return TokenClassifierOutput(logits=rows if token_wise else rows.mean(1))

    names = dict(enumerate(labels))
    config = PreTrainedConfig(id2label=names, label2id={name: i for i, name in names.items()})
    config.problem_type = problem_type
    return Table(config).eval()
