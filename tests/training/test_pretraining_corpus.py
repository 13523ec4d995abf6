"""Promise of distill/corpus, shards, masking, examples: text becomes the same examples from the same seed."""

import json
import lzma
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from mobilebert_matching.data.plain_text import read_documents
from mobilebert_runtime.errors import DataError
from mobilebert_training.pretraining import masking
from mobilebert_training.pretraining.corpus import Packing, SentenceTokenizer, build, cut_long, pack
from mobilebert_training.pretraining.examples import ExampleRecipe, Examples, Order, collate, shortened
from mobilebert_training.pretraining.shards import Corpus
from tests.helpers.texts import MINILM, fuzzed_lines
from tests.helpers.texts import documents as text

PACKING = Packing(seq_len=48, shard_characters=6000, seed=5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text(text())
    return build([folder / "text.txt"], MINILM, folder / "built", PACKING)


def files(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def test_documents_end_at_blank_lines_and_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\n\n\nthree\n")
    with lzma.open(tmp_path / "b.txt.xz", "wt") as file:
        file.write("four\n \nfive")
    found = list(read_documents([tmp_path / "a.txt", tmp_path / "b.txt.xz"]))
    assert found == [["one", "two"], ["three"], ["four"], ["five"]]


def test_word_by_word_tokens_are_the_librarys_on_fuzzed_text():
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    lines = fuzzed_lines(5000)
    expected = [e.ids for e in library.encode_batch(lines, add_special_tokens=False)]
    assert SentenceTokenizer(MINILM / "tokenizer.json").ids(lines) == expected
    special = {library.token_to_id(t) for t in ("[SEP]", "[CLS]", "[MASK]")}
    assert any("[SEP]" in line for line in lines)
    assert not special & {i for ids in expected for i in ids}


def test_any_number_of_workers_writes_the_same_bytes_and_another_seed_others(tmp_path, corpus):
    source = corpus.folder.parent / "text.txt"
    parallel = build([source], MINILM, tmp_path / "parallel", PACKING, workers=2)
    assert files(parallel.folder) == files(corpus.folder)
    assert len(corpus.meta["shards"]) > 2
    other = build([source], MINILM, tmp_path / "other", replace(PACKING, seed=6))
    assert other.fingerprint != corpus.fingerprint == parallel.fingerprint


def test_killed_build_keeps_its_shards_and_ends_the_same(tmp_path, corpus):
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "import mobilebert_training.pretraining.corpus as c\n"
        "import tests.training.test_pretraining_corpus as t\nwrite = c.write_shard\n"
        "def kill_at_third(path, *rest):\n"
        "    if '00002' in path.name: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    write(path, *rest)\n"
        "c.write_shard = kill_at_third\n"
        "c.build([Path(sys.argv[1])], t.MINILM, Path(sys.argv[2]), t.PACKING)\n"
    )
    source, out = corpus.folder.parent / "text.txt", tmp_path / "built"
    killed = subprocess.run([sys.executable, "-c", script, str(source), str(out)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(DataError, match="no finished corpus"):
        Corpus(out)
    kept = (out / "shard-00001.arrow").stat().st_mtime_ns
    build([source], MINILM, out, PACKING)
    assert (out / "shard-00001.arrow").stat().st_mtime_ns == kept
    assert files(out) == files(corpus.folder)


def test_chunks_hold_the_text_in_order_and_never_a_sentence_alone(corpus):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    held = {}
    for chunk in (corpus[i] for i in range(len(corpus))):
        assert len(chunk.starts) >= 3
        assert (np.diff(chunk.starts) > 0).all()
        held.setdefault(chunk.document, []).extend(chunk.tokens.tolist())
    for number, lines in enumerate(read_documents([corpus.folder.parent / "text.txt"])):
        whole = tokenizer.encode("\n".join(lines), add_special_tokens=False).ids
        assert held[number] == whole[: len(held[number])]  # at most the last sentence is missing
        assert len(whole) - len(held[number]) < 45
    assert corpus.meta["tokens"] == sum(map(len, held.values()))


def test_pack_takes_sentences_until_the_target_and_a_tenth_is_short():
    sentences = [[7] * 5 for _ in range(4000)]
    chunks = pack(sentences, 61, 0.1, np.random.default_rng(0))
    assert [c[0] for c in chunks[1:]] == [c[1] for c in chunks[:-1]]
    assert all(5 * (b - a) >= t or b == 4000 for a, b, t in chunks)
    assert all(5 * (b - a - 1) < t or b - a == 2 for a, b, t in chunks)
    # 10% of about 330 chunks: four standard deviations are 6.6 points.
    assert abs(np.mean([t < 61 for _, _, t in chunks]) - 0.1) < 0.066
    continues = np.array([False, True])
    assert list(cut_long([0, 1, 0, 1, 1, 0, 1], 4, continues)) == [[0, 1, 0, 1], [1, 0, 1]]
    assert list(cut_long([0, 0, 1, 0, 0], 3, continues)) == [[0, 0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"seq_len": 64}, "other seq_len"),
        ({"seed": 9}, "other seed"),
    ],
)
def test_another_plan_in_the_same_folder_is_refused(corpus, change, match):
    with pytest.raises(DataError, match=match):
        build([corpus.folder.parent / "text.txt"], MINILM, corpus.folder, replace(PACKING, **change))


def test_bad_input_is_a_named_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        build([tmp_path / "none.txt"], MINILM, tmp_path / "out", PACKING)
    (tmp_path / "one.txt").write_text("A single line")
    with pytest.raises(DataError, match="no document of two sentences"):
        build([tmp_path / "one.txt"], MINILM, tmp_path / "out", PACKING)
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        build([tmp_path / "one.txt"], tmp_path, tmp_path / "out", PACKING)
    with pytest.raises(DataError, match="'mlm'; expected one of nsp, sop"):
        ExampleRecipe(pairs="mlm")


def everything(corpus):
    return np.arange(len(corpus))


@pytest.mark.parametrize("pairs", ["nsp", "sop"])
def test_segments_are_what_their_label_says(corpus, pairs):
    special = corpus.special
    examples = Examples(corpus, everything(corpus), ExampleRecipe(pairs, "token", seed=1))
    labels, lengths = [], {0: [], 1: []}
    for epoch in range(6):
        for index in range(len(corpus)):
            e = examples[(epoch, index)]
            ids = e.ids.copy()
            ids[e.positions] = e.labels
            assert ids[0] == special.cls
            assert ids[-1] == ids[e.types.argmax() - 1] == special.sep
            assert len(ids) <= PACKING.seq_len
            a, b = ids[1 : e.types.argmax() - 1], ids[e.types.argmax() : -1]
            own = corpus[index].tokens.tolist()
            place = [find(own, part.tolist()) for part in (a, b)]
            if e.pair == 0:
                assert 0 <= place[0] < place[1]
            elif pairs == "sop":
                assert place[0] > place[1] >= 0
            labels.append(e.pair)
            lengths[e.pair].append((len(a), len(b)))
    count = len(labels)
    assert abs(np.mean(labels) - 0.5) < 4 * 0.5 / np.sqrt(count)
    if pairs == "nsp":  # length gives nothing away: means within four standard errors
        zero, one = (np.array(lengths[k])[:, 1] for k in (0, 1))
        assert abs(zero.mean() - one.mean()) < 4 * np.sqrt(zero.var() / len(zero) + one.var() / len(one))


def find(own, part):
    return next((i for i in range(len(own) - len(part) + 1) if own[i : i + len(part)] == part), -1)


def test_random_segments_come_from_another_document(corpus):
    examples = Examples(corpus, everything(corpus), ExampleRecipe("nsp", seed=1))
    for index in range(len(corpus)):
        rng = np.random.default_rng(index)
        document = corpus[index].document
        piece = examples._elsewhere(document, 9, rng).tolist()
        homes = {
            corpus[i].document for i in everything(corpus) if find(corpus[i].tokens.tolist(), piece) >= 0
        }
        assert homes - {document}


def test_examples_follow_from_seed_epoch_and_chunk_alone(corpus):
    first, again = (Examples(corpus, everything(corpus), ExampleRecipe("sop", "ngram", 3)) for _ in range(2))
    batch = [(e, i) for e in range(3) for i in (0, 5, 2)]
    for item in reversed(batch):
        again[item]
    for item in batch:
        a, b = first[item], again[item]
        assert np.array_equal(a.ids, b.ids)
        assert np.array_equal(a.positions, b.positions)
    assert not np.array_equal(first[(0, 5)].positions, first[(1, 5)].positions)  # masked anew every epoch


def test_masks_are_15_percent_80_10_10():
    rng = np.random.default_rng(0)
    special = toy_special()
    ids = rng.integers(10, 1000, 203)
    segment = np.repeat([-1, 0, -1, 1, -1], [1, 120, 1, 80, 1])
    kept = masked = changed = total = 0
    for _ in range(300):
        m = masking.mask(ids, segment, special, "token", rng)
        assert len(m.positions) == 30  # 15% of 200
        assert (np.diff(m.positions) > 0).all()
        assert (segment[m.positions] >= 0).all()
        assert np.array_equal(m.labels, ids[m.positions])
        untouched = np.delete(np.arange(203), m.positions)
        assert np.array_equal(m.ids[untouched], ids[untouched])
        total += 30
        masked += (m.ids[m.positions] == special.mask).sum()
        kept += (m.ids[m.positions] == m.labels).sum()
        changed += ((m.ids[m.positions] != m.labels) & (m.ids[m.positions] != special.mask)).sum()
        assert (m.ids[m.positions] > 4).sum() + (m.ids[m.positions] == special.mask).sum() == 30
    for share, expected in ((masked, 0.8), (changed, 0.1), (kept, 0.1)):
        assert abs(share / total - expected) < 4 * np.sqrt(expected * (1 - expected) / total) + 1e-3


def test_ngrams_are_whole_words_with_one_over_n():
    rng = np.random.default_rng(0)
    special = toy_special()
    assert pytest.approx([6 / 11, 3 / 11, 2 / 11]) == masking.NGRAM
    # Words far apart from the budget's edge: long enough that almost every draw fits.
    size = 4000
    ids = rng.integers(10, 1000, size)
    segment = np.where(np.arange(size) < size // 2, 0, 1)
    continues = special.continuations
    begins = ~continues[ids]
    begins[[0, size // 2]] = True
    counts = np.zeros(4)
    for _ in range(10):
        m = masking.mask(ids, segment, special, "ngram", rng)
        assert len(m.positions) == 600
        taken = np.zeros(size + 1, bool)
        taken[m.positions] = True
        # A word is hidden whole or not at all.
        word = np.cumsum(begins) - 1
        share = np.bincount(word, taken[:-1]) / np.bincount(word)
        assert set(np.unique(share)) <= {0.0, 1.0}
    # Lone runs of words: at 15% the neighbours of a run are mostly free, so run lengths show p(n) but for
    # runs that touch; a low budget makes those rare.
    old, masking.SHARE = masking.SHARE, 0.004
    try:
        for _ in range(400):
            m = masking.mask(ids, segment, special, "ngram", rng)
            words = np.unique((np.cumsum(begins) - 1)[m.positions])
            for run in np.split(words, np.flatnonzero(np.diff(words) > 1) + 1):
                counts[min(len(run), 4) - 1] += 1
    finally:
        masking.SHARE = old
    normalizers = counts[:3] / counts.sum()
    # The last run is cut to what is left of the budget: a tenth of the runs may be too short.
    assert np.abs(normalizers - [6 / 11, 3 / 11, 2 / 11]).max() < 0.06
    assert normalizers[0] > normalizers[1] > normalizers[2] > 0.1


def toy_special():
    from mobilebert_training.pretraining.shards import SpecialTokens

    continues = np.zeros(1000, bool)
    continues[700:] = True
    return SpecialTokens(1, 2, 0, 3, 1000, continues, np.arange(5, 1000))


def test_a_very_short_example_still_has_something_to_guess():
    special = toy_special()
    ids = np.array([1, 10, 800, 801, 2, 20, 900, 2])
    segment = np.array([-1, 0, 0, 0, -1, 1, 1, -1])
    m = masking.mask(ids, segment, special, "ngram", np.random.default_rng(0))
    assert m.positions.tolist() in ([1, 2, 3], [5, 6])


def test_longer_segment_is_shortened_as_bert_does():
    for a in range(1, 12):
        for b in range(1, 12):
            for limit in range(2, 16):
                x, y = a, b
                while x + y > limit:
                    x, y = (x - 1, y) if x > y else (x, y - 1)
                assert sorted(shortened(a, b, limit)) == sorted((x, y))
                assert shortened(a, b, limit)[0] <= a
                assert shortened(a, b, limit)[1] <= b


def test_batches_pad_and_point_at_the_masked_tokens(corpus):
    examples = Examples(corpus, everything(corpus), ExampleRecipe(seed=2))
    drawn = [examples[(0, i)] for i in range(6)]
    batch = collate(drawn, corpus.special.pad)
    flat = batch["input_ids"].reshape(-1)
    expected = np.concatenate([e.ids[e.positions] for e in drawn])
    assert np.array_equal(flat[batch["masked_index"]].numpy(), expected)
    assert batch["attention_mask"].sum(1).tolist() == [len(e.ids) for e in drawn]
    assert not batch["input_ids"][batch["attention_mask"] == 0].any()


def test_order_is_a_new_permutation_each_epoch():
    chunks = np.arange(100, 123)
    order = Order(chunks, 5, seed=1)
    epochs = [[item for s in range(4) for item in order.batch(4 * e + s)] for e in range(2)]
    for number, epoch in enumerate(epochs):
        assert {e for e, _ in epoch} == {number}
        assert len({i for _, i in epoch}) == 20
    assert [i for _, i in epochs[0]] != [i for _, i in epochs[1]]
    assert Order(chunks, 5, seed=1).batch(6) == order.batch(6)
    with pytest.raises(DataError, match="do not fill a batch of 24"):
        Order(chunks, 24, seed=1)


def test_development_documents_are_apart(corpus):
    train, development = corpus.split(5)
    assert len(train) + len(development) == len(corpus)
    assert not set(corpus.documents[train]) & set(corpus.documents[development])


def test_command_builds_and_says_what(tmp_path, capsys):
    from mobilebert_export.command_line.program import main

    (tmp_path / "text.txt").write_text(text(4))
    arguments = ["corpus", "build", str(tmp_path / "text.txt"), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--workers", "1", "--pairs", "sop"])
    assert done.value.code == 0
    assert "4 documents" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "examples.json").read_text())["pairs"] == "sop"
    with pytest.raises(SystemExit) as refused:
        main([*arguments, "--pairs", "mlm"])
    assert refused.value.code == 2
