"""A verified ONNX artefact in the layout of `transformers` models, for tools that know nothing of ours.

    DIR/config.json                     names the task's labels
        tokenizer.json, tokenizer_config.json, special_tokens_map.json, vocab.txt
        onnx/model_quantized.onnx       int64 ids in; `last_hidden_state`, `logits` out
        recipe.json, report.json        of the artefact

transformers.js, fastembed and a plain ONNX Runtime open it. The graph is the artefact's own, with casts
before its inputs. What those tools cannot do stands in the way or is left to the caller:

- the temperature is divided out inside the graph, so that a softmax of `logits` is the artefact's score;
- `last_hidden_state` of a network that returns one vector of a text is that vector at every token: the mean
  over tokens, and the first token, are the vector;
- a length shift, and an order of a pair's texts, have no place: such artefacts are refused;
- nobody corrects the spelling, or puts a prompt before a text: texts are read as they are.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_export.console import Progress, quiet
from mobilebert_export.pipeline.artefact_folder import check_output
from mobilebert_export.pipeline.export_request import ARTEFACT_LAYOUT, ExportRequest
from mobilebert_export.pipeline.exporter import ExportResult, export
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import (
    CARD_FILE,
    EMBEDDING,
    EMBEDDING_NAME,
    OUTPUT_NAME,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
    TOKENS_AXIS,
    ArtefactCard,
    check_checksums,
    read_card,
)
from mobilebert_runtime.card_parts import TOKENIZER_FILE, VOCABULARY_FILE
from mobilebert_runtime.errors import CheckError, OptionError
from mobilebert_runtime.files import replacing_folder, write_json

HIDDEN = "last_hidden_state"
MODEL_NAMES = {"none": "model.onnx", "fp16": "model_fp16.onnx"}
QUANTIZED = "model_quantized.onnx"
DTYPES = {"none": "fp32", "fp16": "fp16"}
HEADS = {TOKEN_CLASSIFICATION: "ForTokenClassification", EMBEDDING: "Model"}
# What the file was not written for is compared on this many random inputs of each length.
PROBES = 4
LENGTHS = (9, 31)


def export_transformers(request: ExportRequest, progress: Progress = quiet) -> ExportResult:
    """Export a verified artefact and write it in this layout; the report is the artefact's.

    Raises:
        UserError, VerificationError: those of `mobilebert_export.pipeline.exporter.export`.
        OptionError, CheckError: those of `write_transformers_layout`.
    """
    check_output(request.out, force=request.force)
    with tempfile.TemporaryDirectory() as scratch:
        artefact = Path(scratch) / "artefact"
        result = export(replace(request, out=artefact, layout=ARTEFACT_LAYOUT), progress)
        progress("Write the layout of transformers")
        write_transformers_layout(artefact, request.out)
    return replace(result, path=request.out)


def check_layout(card: ArtefactCard) -> None:
    """Refuse an artefact whose answers these tools could not give.

    Raises:
        OptionError: naming what stands in the way.
    """
    why = None
    if card.target != "onnx":
        why = f"is a {card.target} file; give --target onnx"
    elif card.task == QUESTION_ANSWERING:
        why = "answers questions, whose start and end these tools read as two outputs; leave --layout away"
    elif len(card.buckets) < 2:
        why = "has one sequence length, and these tools need any; give more --buckets"
    elif card.length_shift is not None:
        why = "has a length shift, which these tools do not add; take it out of matcher.json"
    elif card.tokenizer.sort_texts:
        why = "sorts the texts of a pair, which these tools do not; leave --layout away"
    elif card.tokenizer.truncation_side == "left":
        why = "cuts the beginning of long texts, which these tools do not; leave --layout away"
    elif card.embedding is not None and card.embedding.default_prompt is not None:
        why = "puts a prompt before every text, which these tools do not; set default_prompt_name to null"
    if why:
        raise OptionError(f"--layout transformers: the artefact {why}")


def write_transformers_layout(artefact: Path, out: Path) -> Path:
    """Write an artefact in this layout, and compare the new file with the old one.

    Args:
        artefact: a folder that `mobilebert export --target onnx` wrote.
        out: folder to make; one that is there is replaced.

    Returns:
        The model file.

    Raises:
        ArtefactError: the artefact is damaged.
        OptionError: see `check_layout`.
        CheckError: the new file answers otherwise than the old one.
    """
    card = read_card(artefact)
    check_layout(card)
    check_checksums(artefact)
    name = MODEL_NAMES.get(card.quant, QUANTIZED)
    with replacing_folder(out) as folder:
        (folder / "onnx").mkdir()
        model = folder / "onnx" / name
        _rewrite(artefact / card.model_file, model, card)
        _compare(artefact / card.model_file, model, card)
        _write_tokenizer(artefact / TOKENIZER_FILE, folder / TOKENIZER_FILE)
        for file in (VOCABULARY_FILE, "recipe.json", "report.json", "report.md"):
            if (artefact / file).is_file():
                shutil.copyfile(artefact / file, folder / file)
        specials = _special_tokens(artefact, card)
        write_json(folder / "special_tokens_map.json", specials)
        write_json(folder / "tokenizer_config.json", _tokenizer_config(card, specials))
        write_json(folder / "config.json", _config(artefact, card))
    return out / "onnx" / name


def _rewrite(source: Path, target: Path, card: ArtefactCard) -> None:
    """Int64 inputs, the temperature inside, and a vector for each token."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    proto = onnx.load(source)
    graph = proto.graph
    _prefix_values(graph, {value.name for value in (*graph.input, *graph.output)})
    before, after, inputs = [], [], []
    for value in graph.input:
        axes = [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        inputs.append(helper.make_tensor_value_info(value.name, TensorProto.INT64, axes))
        before.append(helper.make_node("Cast", [value.name], [f"own_{value.name}"], to=TensorProto.INT32))
    outputs = []
    batch, tokens = inputs[0].type.tensor_type.shape.dim[0].dim_param, TOKENS_AXIS
    names = [value.name for value in graph.output]
    if EMBEDDING_NAME in names:
        size = card.outputs(card.seq_len)[EMBEDDING_NAME][1]
        for name, numbers in (("own_middle", [1]), ("own_size", [size])):
            graph.initializer.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        after += [
            helper.make_node("Unsqueeze", [f"own_{EMBEDDING_NAME}", "own_middle"], ["own_row"]),
            helper.make_node("Shape", ["input_ids"], ["own_shape"]),
            helper.make_node("Concat", ["own_shape", "own_size"], ["own_rows"], axis=0),
            helper.make_node("Expand", ["own_row", "own_rows"], [HIDDEN]),
        ]
        # First, for fastembed takes the first output.
        outputs.append(helper.make_tensor_value_info(HIDDEN, TensorProto.FLOAT, [batch, tokens, size]))
    if OUTPUT_NAME in names:
        shape = (batch, *card.outputs(card.seq_len)[OUTPUT_NAME][1:])
        axes = [batch, tokens, shape[-1]] if len(shape) > 2 else list(shape)
        graph.initializer.append(
            numpy_helper.from_array(np.array(card.temperature, np.float32), "own_temperature")
        )
        after.append(helper.make_node("Div", [f"own_{OUTPUT_NAME}", "own_temperature"], [OUTPUT_NAME]))
        outputs.append(helper.make_tensor_value_info(OUTPUT_NAME, TensorProto.FLOAT, axes))
    inside = list(graph.node)
    for part, values in (
        (graph.node, [*before, *inside, *after]),
        (graph.input, inputs),
        (graph.output, outputs),
    ):
        del part[:]
        part.extend(values)
    onnx.checker.check_model(proto)
    target.write_bytes(proto.SerializeToString())


def _write_tokenizer(source: Path, target: Path) -> None:
    """Without a padding or truncation of the file's own, which tools would do to every text."""
    data = json.loads(source.read_text(encoding="utf-8")) | {"padding": None, "truncation": None}
    target.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


def _prefix_values(graph: Any, names: set[str]) -> None:
    """Free the names of inputs and outputs: inside the graph they become `own_NAME`."""
    for node in graph.node:
        for given in (node.input, node.output):
            for i, name in enumerate(given):
                if name in names:
                    given[i] = f"own_{name}"


def _compare(old: Path, new: Path, card: ArtefactCard) -> None:
    """Raise `CheckError` unless both files answer alike to random ids, padding among them."""
    import onnxruntime

    first, second = (
        onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]) for file in (old, new)
    )
    draw = np.random.default_rng(0)
    for length in LENGTHS:
        ids = draw.integers(1, 100, (PROBES, length))
        mask = (np.arange(length) < draw.integers(3, length, PROBES)[:, None]).astype(np.int64)
        every = {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {name: every[name] for name in card.inputs}
        names = [output.name for output in first.get_outputs()]
        was = dict(
            zip(names, first.run(names, {k: v.astype(np.int32) for k, v in given.items()}), strict=True)
        )
        names = [output.name for output in second.get_outputs()]
        now = dict(zip(names, second.run(names, given), strict=True))
        _same(was, now, card)


def _same(was: Mapping[str, NDArray[Any]], now: Mapping[str, NDArray[Any]], card: ArtefactCard) -> None:
    expected = {}
    if OUTPUT_NAME in was:
        expected[OUTPUT_NAME] = was[OUTPUT_NAME] / np.float32(card.temperature)
    if EMBEDDING_NAME in was:
        tokens = now[HIDDEN].shape[1]
        expected[HIDDEN] = np.repeat(was[EMBEDDING_NAME][:, None], tokens, axis=1)
    for name, value in expected.items():
        if now[name].shape != value.shape or not np.allclose(now[name], value, rtol=0, atol=1e-5):
            raise CheckError(f"{name} of the rewritten file is not the artefact's; nothing was written")


def _special_tokens(artefact: Path, card: ArtefactCard) -> dict[str, str]:
    """By the names that `transformers` gives them, as far as the vocabulary has them."""
    vocabulary = load(artefact).tokenizer.vocabulary()
    names = {number: token for token, number in vocabulary.items()}
    known = {
        "pad_token": (names[card.tokenizer.pad_id or 0],),
        "unk_token": ("[UNK]", "<unk>"),
        "cls_token": ("[CLS]", "<s>"),
        "sep_token": ("[SEP]", "</s>"),
        "mask_token": ("[MASK]", "<mask>"),
    }
    found = {name: next((one for one in words if one in vocabulary), None) for name, words in known.items()}
    return {name: token for name, token in found.items() if token is not None}


def _tokenizer_config(card: ArtefactCard, specials: Mapping[str, str]) -> dict[str, Any]:
    # transformers.js feeds token types where the class is BERT's, and transformers types of its own.
    pair = card.tokenizer.template.pair
    typed = pair is None or any(item.endswith(":1") for item in pair)
    bert = card.tokenizer.kind == "wordpiece" and typed
    return {
        "tokenizer_class": "BertTokenizer" if bert else "PreTrainedTokenizerFast",
        "model_max_length": card.seq_len,
        "clean_up_tokenization_spaces": False,
        **({"do_lower_case": card.tokenizer.lowercase} if bert else {}),
        **specials,
    }


def _config(artefact: Path, card: ArtefactCard) -> dict[str, Any]:
    """A BERT's, whatever the network: these tools take from it the labels, and how inputs are named."""
    labels = dict(enumerate(card.labels))
    names = {"softmax": "single_label_classification", "sigmoid": "multi_label_classification"}
    problem = names.get(card.activation or "", "regression") if card.labels else None
    vocabulary = len(load(artefact).tokenizer.vocabulary())
    size = card.embedding.size if card.embedding else None
    return {
        "architectures": [f"Bert{HEADS.get(card.task, 'ForSequenceClassification')}"],
        "model_type": "bert",
        "vocab_size": vocabulary,
        "max_position_embeddings": card.seq_len,
        "type_vocab_size": 2,
        "pad_token_id": card.tokenizer.pad_id,
        **({"hidden_size": size} if size else {}),
        **({"id2label": {str(i): name for i, name in labels.items()}} if labels else {}),
        **({"label2id": {name: i for i, name in labels.items()}, "problem_type": problem} if labels else {}),
        "transformers.js_config": {"dtype": DTYPES.get(card.quant, "q8")},
        # For whoever asks what the artefact said, its card.
        "mobilebert": json.loads((artefact / CARD_FILE).read_text(encoding="utf-8")),
    }
