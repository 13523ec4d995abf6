"""Two encoders of README's plot that `mobilebert export` does not make, as folders that `bench` reads.

python -m studies.shipped.front_page_encoders paraphrase-MiniLM-L3-v2.onnx --out artefacts

`static-minilm`: vectors of tokens, as model2vec 0.10 distils them: MiniLM reads `[CLS] token [SEP]` for
each token of its vocabulary but the unused ones, the mean of the three states goes through a PCA to 256
dimensions and is weighted by 1e-4 / (1e-4 + p), p the token's frequency by Zipf's law from its rank in the
vocabulary. A text's vector is the mean of its tokens'. Stored in eight bits, one scale for a token's row.

`paraphrase-l3`: the published ONNX file at a fixed length of 128 tokens, its last layer the only output.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from typer import Argument, Option

import mobilebert_models
from android_bench.measuring.external_model import ExternalModel
from mobilebert_models.loading.pretrained import TOKENIZER_FILES
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import replacing_folder
from mobilebert_runtime.tokenizer import PairTokenizer
from studies.common.script import Force, Threads, run

if TYPE_CHECKING:
    import onnx

STATIC, PARAPHRASE = "static-minilm", "paraphrase-l3"
SEQ_LEN = 128
DIMENSIONS = 256
SIF = 1e-4  # model2vec's default
BATCH = 512
OPSET, IR_VERSION = 17, 8
SMALLEST = 1e-12  # scale of a row of zeros
UNUSED = re.compile(r"\[unused\d+\]")
INPUTS = ("input_ids", "attention_mask")


def token_vectors(directory: Path, tokens: Sequence[int], ends: tuple[int, int]) -> np.ndarray:
    """MiniLM's vector of each token, (N, 384): the mean of the states of [CLS], token and [SEP]."""
    network = mobilebert_models.load_pretrained(directory)
    start, end = ends
    parts = []
    for first in range(0, len(tokens), BATCH):
        words = torch.tensor(tokens[first : first + BATCH])
        ids = torch.stack([torch.full_like(words, start), words, torch.full_like(words, end)], 1)  # (B, 3)
        with torch.inference_mode():
            found = network(
                input_ids=ids, attention_mask=torch.ones_like(ids), token_type_ids=torch.zeros_like(ids)
            )
        parts.append(found.last_hidden_state.mean(1).numpy())
    return np.concatenate(parts)


def static_table(vectors: np.ndarray, dimensions: int = DIMENSIONS) -> np.ndarray:
    """The vectors after PCA and weighting: (V, H), the tokens by falling frequency → (V, dimensions)."""
    centred = vectors - vectors.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)  # by rising variance
    inverse_rank = 1 / np.arange(2, len(vectors) + 2)
    frequency = inverse_rank / inverse_rank.sum()
    weights = SIF / (SIF + frequency)
    return np.asarray((centred @ directions[:, ::-1][:, :dimensions]) * weights[:, None], np.float32)


def lookup_graph(table: np.ndarray) -> onnx.ModelProto:
    """ONNX graph: ids (1, 128) → rows of a table (V, D) from eight bits, float32 (1, 128, D)."""
    from onnx import TensorProto, helper, numpy_helper

    scales = np.maximum(np.abs(table).max(1, keepdims=True), SMALLEST) / 127
    stored = {"table": np.round(table / scales).astype(np.int8), "scales": scales.astype(np.float32)}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["rows"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Gather", ["scales", "input_ids"], ["steps"]),
        helper.make_node("Mul", ["wide", "steps"], ["states"]),
    ]
    graph = helper.make_graph(
        nodes,
        STATIC,
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, SEQ_LEN])],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, [1, SEQ_LEN, table.shape[1]])],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def fixed_length(source: Path) -> onnx.ModelProto:
    """The published encoder at (1, 128), with its last layer as the only output.

    Raises:
        DataError: not one output of rank 3.
    """
    import onnx

    model = onnx.load(str(source))
    outputs = [one for one in model.graph.output if len(one.type.tensor_type.shape.dim) == 3]
    if len(outputs) != 1:
        raise DataError(f"{source}: {len(outputs)} outputs of rank 3; expected one, the last layer")
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    for one in model.graph.input:
        for axis, size in zip(one.type.tensor_type.shape.dim, (1, SEQ_LEN), strict=True):
            axis.dim_value = size
    for axis, size in zip(outputs[0].type.tensor_type.shape.dim, (1, SEQ_LEN), strict=False):
        axis.dim_value = size
    del model.graph.value_info[:]
    return model


def write(model: onnx.ModelProto, folder: Path, quant: str) -> None:
    """A folder that `bench` measures and `studies.general_matcher.evaluate` reads."""
    import onnx

    inputs = {name: (name, "int64") for name in INPUTS if name in [one.name for one in model.graph.input]}
    with replacing_folder(folder) as partial:
        onnx.save(model, str(partial / "model.onnx"))
        for name in TOKENIZER_FILES:
            shutil.copyfile(mobilebert_models.packaged_directory("minilm") / name, partial / name)
        ExternalModel("onnx", quant, "model.onnx", SEQ_LEN, inputs).write(partial)


def main(
    paraphrase: Annotated[Path, Argument(help="paraphrase-MiniLM-L3-v2.onnx of the package.")],
    out: Annotated[Path, Option(help="Folder of the two folders.")] = Path("artefacts"),
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write both folders."""
    for name in (STATIC, PARAPHRASE):
        if (out / name).exists() and not force:
            raise DataError(f"{out / name}: exists already; add --force")
    fixed = fixed_length(paraphrase)
    torch.set_num_threads(threads)
    directory = mobilebert_models.packaged_directory("minilm")
    entries = (directory / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    start, end = PairTokenizer.load(directory).ids([""], SEQ_LEN)[0][0]
    special = {start, end, entries.index("[PAD]")}
    known = [n for n, entry in enumerate(entries) if n not in special and not UNUSED.fullmatch(entry)]
    table = np.zeros((len(entries), DIMENSIONS), np.float32)  # what says nothing about a text adds nothing
    table[known] = static_table(token_vectors(directory, known, (start, end)))
    write(fixed, out / PARAPHRASE, "none")
    write(lookup_graph(table), out / STATIC, "int8")


if __name__ == "__main__":
    run(main)
