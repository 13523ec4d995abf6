"""One artefact, several sequence lengths: the same answers, the weights once."""

import json

import numpy as np
import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export.pipeline.export_request import DEFAULT_BUCKETS, ExportRequest
from mobilebert_quantize.tflite.file import write_compact
from mobilebert_runtime.backends import MOST_ROWS
from mobilebert_runtime.card import Bucket, read_card
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher

BUCKETS = SHORT, LONG = small_matcher.BUCKETS
EVERY = [("tflite", "none"), ("tflite", "int8"), ("onnx", "none"), ("onnx", "int8")]


def fixed(matcher, pairs):
    """Logits with every pair padded to the largest bucket."""
    return matcher.logits_of(matcher.tokenizer.encode(pairs, LONG))


@pytest.mark.parametrize(("target", "quant"), EVERY)
def test_buckets_give_the_answers_of_the_full_length(target, quant):
    matcher = Matcher.load(small_matcher.artefact(target, quant))
    lengths = [len(ids) for ids, _ in matcher.tokenizer.ids(PAIRS, LONG)]
    assert min(lengths) <= SHORT < max(lengths)
    expected, found = fixed(matcher, PAIRS), matcher.logits(PAIRS)
    spread = np.ptp(expected, axis=0).max()
    assert np.abs(found - expected).max() <= (1e-5 if quant == "none" else 0.02 * spread)
    middle = np.median(expected[:, 1] - expected[:, 0])
    clear = np.abs(expected[:, 1] - expected[:, 0] - middle) > 0.02 * spread
    called = [(logits[:, 1] - logits[:, 0] > middle)[clear] for logits in (expected, found)]
    np.testing.assert_array_equal(*called)


@pytest.mark.parametrize(("target", "quant"), EVERY)
def test_the_smallest_bucket_that_holds_a_pair_runs(target, quant):
    matcher = Matcher.load(small_matcher.artefact(target, quant))
    asked = []

    class Watching:
        most_rows = 1
        packed = None

        def run(self, inputs):
            asked.append(inputs["input_ids"].shape[1])
            return {"logits": np.zeros((1, 2), np.float32)}

    matcher.backend = Watching()
    matcher.score(PAIRS)
    lengths = [len(ids) for ids, _ in matcher.tokenizer.ids(PAIRS, LONG)]
    assert sorted(asked) == sorted(SHORT if length <= SHORT else LONG for length in lengths)


@pytest.mark.parametrize("quant", ["none", "int8"])
def test_an_onnx_file_takes_several_inputs_of_like_length_at_once(quant):
    matcher = Matcher.load(small_matcher.artefact("onnx", quant))
    one_by_one = np.concatenate([matcher.logits([pair]) for pair in PAIRS])
    calls, run = [], matcher.backend.run

    def watched(inputs):
        calls.append(inputs["input_ids"].shape)
        return run(inputs)

    matcher.backend.run = watched
    together = matcher.logits(PAIRS)
    spread = np.ptp(one_by_one, axis=0).max()
    np.testing.assert_allclose(together, one_by_one, atol=1e-5 if quant == "none" else 0.02 * spread)
    lengths = sorted(len(ids) for ids, _ in matcher.tokenizer.ids(PAIRS, LONG))
    short = [length for length in lengths if length <= SHORT]
    long = [length for length in lengths if length > SHORT]
    groups = [same[i : i + MOST_ROWS] for same in (short, long) for i in range(0, len(same), MOST_ROWS)]
    assert len(groups) < len(PAIRS) / 2
    assert [rows for rows, _ in calls] == [len(group) for group in groups]
    for group, (rows, width) in zip(groups, calls, strict=True):
        assert max(group) <= width <= (SHORT if max(group) <= SHORT else LONG)
        assert rows == 1 or width < max(group) + 8 or width == SHORT

    calls.clear()
    symmetric = matcher.score(PAIRS[:1], symmetric=True)
    assert [rows for rows, _ in calls] == [2]
    turned = matcher.score([(b, a) for a, b in PAIRS[:1]], symmetric=True)
    np.testing.assert_allclose(symmetric, turned, atol=1e-6)


def test_a_tflite_file_takes_one_input_at_a_time():
    assert Matcher.load(small_matcher.artefact("tflite", "none")).backend.most_rows == 1


@pytest.mark.parametrize("quant", ["none", "int8"])
def test_a_tflite_file_holds_every_weight_once(quant):
    from ai_edge_litert.tools import flatbuffer_utils as fb

    path = small_matcher.artefact("tflite", quant) / "model.tflite"
    model = fb.read_model(str(path))
    assert [signature.signatureKey for signature in model.signatureDefs] == [b"seq_64", b"seq_32"]
    used = [
        {tensor.buffer for tensor in graph.tensors if len(_data(model, tensor)) > 1024}
        for graph in model.subgraphs
    ]
    # Only the table of positions is cut to a length.
    assert len(used[0] ^ used[1]) == 2
    data = [bytes(buffer.data) for buffer in model.buffers if buffer.data is not None and len(buffer.data)]
    assert len(data) == len(set(data))
    # The network itself is tiny here; what a second length adds is shapes and names, not a twentieth of a
    # second set of weights.
    assert path.stat().st_size < 1.15 * sum(map(len, data))


@pytest.mark.parametrize("quant", ["none", "int8"])
def test_parts_that_are_written_once_are_read_as_they_were(quant, tmp_path):
    """The same graphs from a file that repeats everything, which is a tenth larger without the weights."""
    from ai_edge_litert.tools import flatbuffer_utils as fb

    path = small_matcher.artefact("tflite", quant) / "model.tflite"
    plain, again = tmp_path / "plain.tflite", tmp_path / "again.tflite"
    plain.write_bytes(fb.convert_object_to_bytearray(fb.read_model(str(path))))
    write_compact(fb.read_model(str(plain)), again)
    assert again.read_bytes() == path.read_bytes()
    found, repeated = fb.read_model(str(path)), fb.read_model(str(plain))
    assert _parts(found) == _parts(repeated)
    weights = sum(len(buffer.data) for buffer in found.buffers if buffer.data is not None)
    assert path.stat().st_size - weights < 0.9 * (plain.stat().st_size - weights)


def _parts(model):
    """What a runtime reads of a parsed file, without the constants."""
    tensors, operators = [], []
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            scales = None if tensor.quantization is None else tensor.quantization.scale
            given = None if scales is None else (list(scales), list(tensor.quantization.zeroPoint))
            tensors.append((tensor.name, tensor.type, list(tensor.shape), tensor.buffer, given))
        for op in graph.operators:
            options = {n: np.array(v).tolist() for n, v in _fields(op.builtinOptions)}
            operators.append((op.opcodeIndex, list(op.inputs), list(op.outputs), options))
    return tensors, operators


def _fields(options):
    return () if options is None else vars(options).items()


def _data(model, tensor):
    data = model.buffers[tensor.buffer].data
    return b"" if data is None else data


def test_verification_covers_every_bucket():
    report = json.loads((small_matcher.artefact("tflite", "int8") / "report.json").read_text())
    found = report["verification"]
    assert list(found["by_seq_len"]) == ["32", "64"]
    assert found["label_agreement"] == min(one["label_agreement"] for one in found["by_seq_len"].values())
    assert found["max_abs_logit"] == max(one["max_abs_logit"] for one in found["by_seq_len"].values())


def test_cards_name_the_buckets():
    tflite, onnx = (read_card(small_matcher.artefact(target, "none")) for target in ("tflite", "onnx"))
    assert tflite.buckets == (Bucket(32, "seq_32"), Bucket(64, "seq_64"))
    assert onnx.buckets == (Bucket(32), Bucket(64))


def test_the_default_buckets_end_in_the_sequence_length(tmp_path):
    def lengths(seq_len):
        return tuple(one.seq_len for one in ExportRequest(out=tmp_path, seq_len=seq_len).card_buckets(512))

    assert lengths(128) == DEFAULT_BUCKETS
    assert lengths(50) == (16, 32, 50)
    assert lengths(16) == (16,)


def test_a_model_of_fewer_tokens_ends_the_default_buckets(tmp_path):
    request = ExportRequest(out=tmp_path)
    assert [one.seq_len for one in request.card_buckets(96)] == [16, 32, 64, 96]
    assert [one.seq_len for one in request.card_buckets(20)] == [16, 20]
