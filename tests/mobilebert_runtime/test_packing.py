"""Which pairs run packed, that they score as they do alone, and one run where the order does not matter."""

import gc
import itertools
import random
import shutil
import weakref
from dataclasses import replace

import numpy as np
import pytest
from ai_edge_litert.tools import flatbuffer_utils as fb

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export import samples
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.pipeline.loading import load_source
from mobilebert_export.verification.network_outputs import AnyArtefact, network_inputs
from mobilebert_export.verification.verify import verify
from mobilebert_quantize.recipes import RECIPES
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_quantize.tflite.int8 import products, quantize_tflite
from mobilebert_runtime.backends import PackedGraph, _packed_shape
from mobilebert_runtime.card import PACKED_SIGNATURE, read_card, read_recipe
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.packing import PackedShape, _fill, plan
from tests.helpers import small_matcher

QUERY = "How can I learn to swim?"
TEXTS = [text for pair in PAIRS for text in pair]
LENGTHS = small_matcher.BUCKETS


def bucket(tokens):
    return next((length for length in (16, 32, 64, 128) if length >= tokens), 128)


def rows_of(seed):
    """Encoded pairs of three queries, in any order, and where each text came from."""
    draw = random.Random(seed)
    queries = [[1, *draw.choices(range(4, 90), k=length), 2] for length in (3, 9, 30)]
    rows = []
    for _ in range(40):
        query, text = draw.choice(queries), [1, *draw.choices(range(4, 90), k=draw.randint(1, 50)), 2]
        rows.append((query + text, [0] * len(query) + [1] * len(text)))
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_a_pack_holds_whole_texts_of_one_query_within_its_shape(seed):
    rows, shape = rows_of(seed), PackedShape(seq_len=128, texts=5)
    packs = plan(rows, shape, bucket)
    places = [place for pack, _ in packs for place in pack]
    assert len(places) > len(rows) / 2
    assert len(places) == len(set(places))
    for pack, (ids, types) in packs:
        assert len(pack) <= shape.texts
        assert len(ids) == len(types) <= shape.seq_len
        assert sum(bucket(len(rows[place][0])) for place in pack) > shape.seq_len
        assert types == sorted(types)
        assert set(types) == set(range(len(pack) + 1))
        parts = [
            list(part) for _, part in itertools.groupby(zip(ids, types, strict=True), key=lambda one: one[1])
        ]
        for place, part in zip(pack, parts[1:], strict=True):
            assert [token for token, _ in parts[0] + part] == rows[place][0]


def test_few_short_pairs_run_alone():
    row = ([1, 5, 2, 1, 6, 2], [0, 0, 0, 1, 1, 1])
    shape = PackedShape(seq_len=128, texts=12)
    assert plan([row] * 8, shape, bucket) == []
    assert [pack for pack, _ in plan([row] * 9, shape, bucket)] == [list(range(9))]
    assert plan([], shape, bucket) == []


@pytest.mark.parametrize("quant", ["none", pytest.param("dynamic", marks=pytest.mark.slow)])
def test_packed_pairs_score_as_they_do_alone(quant):
    matcher = Matcher.load(small_matcher.embedding_artefact("tflite", quant))
    pairs = [(QUERY, text) for text in TEXTS]
    alone = np.concatenate([matcher.logits([pair]) for pair in pairs])
    calls = watch(matcher)
    together = matcher.logits(pairs)
    assert calls["packed"] >= 2
    assert calls["packed"] + calls["single"] < len(pairs) / 2
    spread = np.ptp(alone, axis=0).max()
    assert spread > 0.1
    np.testing.assert_allclose(together, alone, atol=1e-5 if quant == "none" else 0.01 * spread)
    hits = matcher.rank(QUERY, TEXTS, top_k=3)
    np.testing.assert_allclose([hit.score for hit in hits], np.sort(matcher.score(pairs))[::-1][:3])


def watch(matcher):
    """Counts of the inferences that `matcher` makes from now on."""
    calls, graph, run = {"packed": 0, "single": 0}, matcher.backend.packed, matcher.backend.run

    def counted(kind, call):
        def counting(inputs):
            calls[kind] += 1
            return call(inputs)

        return counting

    matcher.backend.run = counted("single", run)
    if graph is not None:
        matcher.backend.packed = PackedGraph(graph.shape, counted("packed", graph.run))
    return calls


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_a_symmetric_score_of_an_embedding_matcher_takes_one_run(target):
    matcher = Matcher.load(small_matcher.embedding_artefact(target, "none"))
    assert matcher.card.symmetric
    calls = watch(matcher)
    for a, b in PAIRS[:6]:
        before = calls["single"]
        both = matcher.score([(a, b)], symmetric=True)
        assert calls["single"] == before + 1
        np.testing.assert_array_equal(both, matcher.score([(b, a)], symmetric=True))
        mean = (matcher.score([(a, b)]) + matcher.score([(b, a)])) / 2
        np.testing.assert_allclose(both, mean, atol=1e-6)


def test_a_cross_encoder_is_not_symmetric_and_an_embedder_no_matcher():
    assert not Matcher.load(small_matcher.artefact("onnx", "none")).card.symmetric
    folder = small_matcher.embedding_artefact("tflite", "none")
    assert Embedder.load(folder).embed(["one", "two"]).shape == (2, 32)


def test_report_compares_packed_pairs_with_pytorch_and_finds_a_graph_that_errs():
    folder = small_matcher.embedding_artefact("tflite", "none")
    network = load_source(
        read_recipe(folder), folder, str(small_matcher.scratch() / "embedding-model")
    ).network
    artefact, texts = AnyArtefact.load(folder), samples.verification_texts("text-matching", 2)
    tolerance = RECIPES["tflite-none"].tolerance
    right = verify(network, artefact, texts, tolerance)
    assert right.failures == ()
    assert list(right.to_json()["by_seq_len"]) == [*map(str, LENGTHS), PACKED_SIGNATURE]
    long = [(f"{a} " * 30, f"{b} " * 30) for a, b in texts]
    found = verify(network, artefact, long, replace(tolerance, min_rank_agreement=-1))
    assert list(found.to_json()["by_seq_len"]) == [*map(str, LENGTHS)], "no two of these run packed"
    graph = artefact.backend.packed
    artefact.backend.packed = PackedGraph(
        graph.shape, lambda inputs: {"logits": np.roll(graph.run(inputs)["logits"], 1, axis=1)}
    )
    wrong = verify(network, artefact, texts, tolerance)
    assert any(one.startswith("packed: max |Δlogit|") for one in wrong.failures)
    assert all(one.startswith("packed: ") for one in wrong.failures)


def inputs_of(matcher):
    return network_inputs(PAIRS, matcher.tokenizer, matcher.card.seq_len, matcher.card.inputs)


def test_static_ranges_leave_the_packed_graph_out_and_the_artefact_is_read_as_before(tmp_path):
    source = small_matcher.embedding_artefact("tflite", "none")
    folder = tmp_path / "static"
    shutil.copytree(source, folder)
    plain = Matcher.load(source)
    quantize_tflite(
        source / "model.tflite", folder / "model.tflite", RECIPES["tflite-int8"], inputs_of(plain)
    )
    write_checksums(folder)
    matcher = Matcher.load(folder)
    assert matcher.backend.packed is None
    assert TfliteGraph.read(folder / "model.tflite").signature == f"seq_{LENGTHS[-1]}"
    pairs = [(QUERY, text) for text in TEXTS]
    np.testing.assert_array_equal(matcher.logits(pairs), np.concatenate([matcher.logits([p]) for p in pairs]))


def test_the_packed_graph_has_the_products_of_the_longest_and_shares_its_weights(tmp_path):
    """By the products' numbers, recipes say which stay in float."""
    folder = small_matcher.embedding_artefact("tflite", "none")
    file = folder / "model.tflite"
    graphs = {graph.signature: graph for graph in TfliteGraph.all_of(fb.read_model(str(file)))}
    longest, packed = (
        [graphs[name].shape(product.outputs[0])[-1] for product in products(graphs[name])]
        for name in (f"seq_{LENGTHS[-1]}", PACKED_SIGNATURE)
    )
    assert longest == packed
    word_bytes = 30522 * 32
    small = tmp_path / "dynamic.tflite"
    quantize_tflite(file, small, RECIPES["tflite-dynamic"], inputs_of(Matcher.load(folder)))
    buffers = [buffer.data for buffer in fb.read_model(str(small)).buffers if buffer.data is not None]
    assert sum(len(data) >= word_bytes for data in buffers) == 1, "one table of words for all graphs"
    assert len({bytes(data) for data in buffers if len(data) > 256}) == sum(len(d) > 256 for d in buffers)


def test_a_packed_graph_that_does_not_fit_the_card_is_refused(tmp_path):
    folder = tmp_path / "cross-encoder"
    shutil.copytree(small_matcher.embedding_artefact("tflite", "none"), folder)
    card = read_card(folder)
    inputs = dict.fromkeys(card.inputs, ("int32", (1, 64)))
    outputs = {"logits": ("float32", (1, 6, 2))}
    assert _packed_shape(folder, card, inputs, outputs) == PackedShape(64, 6)
    wrong = [
        (card, inputs, {"logits": ("float32", (1, 6, 3))}),
        (card, inputs, outputs | {"embedding": ("float32", (1, 32))}),
        (card, inputs | {"input_ids": ("int32", (1, 32))}, outputs),
        (card, inputs | {"input_ids": ("int64", (1, 64))}, outputs),
        (card, dict.fromkeys(card.inputs, ("int32", (1, 32))), outputs),
        (card, {}, {}),
        (replace(card, embedding=None), inputs, outputs),
    ]
    for one, given, returned in wrong:
        with pytest.raises(ArtefactError, match="signature packed has inputs"):
            _packed_shape(folder, one, given, returned)


def first_fit(query, places, rows, shape):
    """The rule itself: the longest text first, into the first pack with room for it."""
    packs = []
    for place in sorted(places, key=lambda place: -len(rows[place][0])):
        tokens = len(rows[place][0]) - len(query)
        for pack in packs:
            used = len(query) + sum(len(rows[one][0]) - len(query) for one in pack)
            if used + tokens <= shape.seq_len and len(pack) < shape.texts:
                pack.append(place)
                break
        else:
            packs.append([place])
    return packs


@pytest.mark.parametrize("seed", range(8))
def test_full_packs_are_not_looked_at_again_and_the_others_are_those_of_the_rule(seed):
    rows, shape = rows_of(seed), PackedShape(seq_len=128, texts=5)
    by_query = {}
    for place, (ids, types) in enumerate(rows):
        by_query.setdefault(tuple(ids[: types.count(0)]), []).append(place)
    for query, places in by_query.items():
        assert _fill(query, places, rows, shape) == first_fit(query, places, rows, shape)


def test_a_matcher_that_packs_is_freed_with_its_last_user():
    matcher = Matcher.load(small_matcher.embedding_artefact("tflite", "none"))
    assert matcher.backend.packed is not None
    alive = weakref.ref(matcher.backend)
    gc.disable()
    try:
        del matcher
        assert alive() is None
    finally:
        gc.enable()
