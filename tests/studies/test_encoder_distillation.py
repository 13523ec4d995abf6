"""Promise: a narrow BERT learns a wide one's representations, and only it is trained."""

import gzip
import json
import lzma
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mobilebert_models import EncoderConfig, build, load_classifier, load_pretrained, preset, save_pretrained
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.training_config import TrainingConfig
from studies.common import script
from studies.length_bias.distill_encoder import (
    ProjectedStudent,
    RepresentationWeights,
    distil_encoder,
    draw_texts,
    inherit_embeddings,
    main,
    matched_layers,
    representation_loss,
)
from studies.length_bias.representations import bert_representations
from tests.helpers.networks import padded_batch, randomise
from tests.helpers.texts import MINILM

TEACHER = EncoderConfig(
    hidden_size=48,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=64,
)
STUDENT = replace(TEACHER, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
WORDS = ["the", "old", "river", "ran", "past", "a", "quiet", "town", "where", "people", "sold", "bread"]


def paragraphs(count=60, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        sentences = [" ".join(rng.choice(WORDS, rng.integers(4, 12))).capitalize() for _ in range(4)]
        lines.append(". ".join(sentences) + ".")
    return "\n".join(lines) + "\n"


def teacher():
    return randomise(build(TEACHER, None, seed=0))


def test_bert_tiny_has_the_papers_parameters():
    model = build(preset("bert-tiny"), "pair_classifier", 2, seed=0)
    assert sum(p.numel() for p in model.parameters()) == 4_386_178


def test_inherited_embeddings_are_the_best_of_their_rank():
    ours, widen = inherit_embeddings(STUDENT, teacher())
    theirs = teacher().embeddings
    table = theirs.word_embeddings.weight.detach().double().clone()
    left, values, right = torch.linalg.svd(table, full_matrices=False)
    best = left[:, :16] @ torch.diag(values[:16]) @ right[:16]
    best[0] = 0  # the student's pad row
    got = (ours.embeddings.word_embeddings.weight @ widen.t()).double()
    torch.testing.assert_close(got, best, rtol=1e-3, atol=1e-4)
    # Positions and token types: projected orthogonally on the same 16 directions.
    projector = right[:16].t() @ right[:16]
    for name in ("position_embeddings", "token_type_embeddings"):
        source = getattr(theirs, name).weight.detach().double()
        got = (getattr(ours.embeddings, name).weight @ widen.t()).double()
        torch.testing.assert_close(got, source @ projector, rtol=1e-3, atol=1e-4)


def test_layers_are_spread_evenly():
    assert matched_layers(2, 6) == [0, 3, 6]
    assert matched_layers(4, 12) == [0, 3, 6, 9, 12]
    assert matched_layers(3, 3) == [0, 1, 2, 3]


def test_loss_is_its_transcription_text_by_text():
    master = teacher()
    student, widen = inherit_embeddings(STUDENT, master, seed=1)
    projected_student = ProjectedStudent(randomise(student), widen)
    batch = padded_batch(length=9)
    with torch.no_grad():
        for linear in projected_student.maps:
            linear.bias.normal_(generator=torch.Generator().manual_seed(3))
        target = master(**batch, capture=True)
        _, parts = representation_loss(projected_student, target, batch, RepresentationWeights())
        output = projected_student.student(**batch, capture=True)
    mask, maps = batch["attention_mask"].bool(), projected_student.maps
    hidden = []
    for ours, theirs, linear in zip((0, 1, 2), (0, 2, 4), maps, strict=False):
        errors = [
            (
                F.layer_norm(linear(output.hidden_states[ours][b, t]), (48,))
                - F.layer_norm(target.hidden_states[theirs][b, t], (48,))
            )
            .square()
            .mean()
            .item()
            for b in range(len(mask))
            for t in range(mask.shape[1])
            if mask[b, t]
        ]
        hidden.append(np.mean(errors))
    assert parts["hidden"] == pytest.approx(np.mean(hidden), rel=1e-4)
    small = [output.last_hidden_state[b][mask[b]].mean(0) for b in range(len(mask))]
    large = [target.last_hidden_state[b][mask[b]].mean(0) for b in range(len(mask))]

    def cosine(x, y):
        return (x @ y / x.norm() / y.norm()).item()

    rows = range(len(mask))
    assert parts["sentence"] == pytest.approx(
        np.mean([1 - cosine(maps[3](small[b]), large[b]) for b in rows]), rel=1e-4
    )
    assert parts["pooled"] == pytest.approx(
        np.mean([1 - cosine(maps[4](output.pooled[b]), large[b]) for b in rows]), rel=1e-4
    )
    gaps = [(cosine(small[a], small[b]) - cosine(large[a], large[b])) ** 2 for a in rows for b in rows]
    assert parts["similarity"] == pytest.approx(np.mean(gaps), rel=1e-3)


def test_padding_does_not_change_a_pooled_text():
    hidden, mask = torch.randn(1, 3, 4), torch.ones(1, 3)
    padded = torch.cat([hidden, torch.full((1, 5, 4), 99.0)], 1)
    torch.testing.assert_close(pooled(padded, torch.tensor([[1, 1, 1, 0, 0, 0, 0, 0]])), pooled(hidden, mask))


def test_representations_come_back_in_the_order_of_the_texts():
    tokenizer, model = PairTokenizer.load(MINILM), teacher()
    texts = ["a long sentence about the old river and its rain", "bread", "books in the rain"] * 60
    together = bert_representations(model, tokenizer, texts)
    for i in (0, 1, 2, 179):
        alone = bert_representations(model, tokenizer, [texts[i]])
        for name, rows in together.items():
            torch.testing.assert_close(rows[i], alone[name][0], rtol=1e-4, atol=1e-5)


def test_distillation_lowers_every_part_and_reaches_only_the_student(tmp_path):
    tokenizer, master = PairTokenizer.load(MINILM), teacher()
    before = {k: v.clone() for k, v in master.state_dict().items()}
    (tmp_path / "c.txt").write_text(paragraphs())
    texts = draw_texts([tmp_path / "c.txt"], 120, seed=0)
    pairs = list(pairwise(WORDS))
    loop = TrainingConfig(epochs=16, batch_size=20, learning_rate=3e-3)
    scores = np.arange(len(pairs), dtype=float)
    student, record = distil_encoder(
        STUDENT, master, tokenizer, texts, loop, tmp_path / "run", similar=(pairs, scores)
    )
    first, last = record["curve"][0], record["curve"][-1]
    for part in ("loss", "hidden", "sentence", "pooled", "similarity"):
        assert last[part] < first[part], part
    assert last["loss"] < 0.7 * first["loss"]
    assert all(torch.equal(v, before[k]) for k, v in master.state_dict().items())
    assert set(student.state_dict()) == set(build(STUDENT, None).state_dict()), "the maps are dropped"
    assert student.config == STUDENT, "with the dropout that fine-tuning wants"
    fresh, _ = inherit_embeddings(STUDENT, master, seed=0)
    changed = {k for k, v in student.state_dict().items() if not torch.equal(v, fresh.state_dict()[k])}
    assert {"pooler.dense.weight", "embeddings.word_embeddings.weight"} <= changed
    metadata = record["metadata"]
    assert metadata["sts_spearman_teacher"] != metadata["sts_spearman_before"]
    assert record["evaluations"][-1].keys() == {"step", "sts_spearman"}


def test_texts_are_sentences_every_third_with_its_successor(tmp_path):
    (tmp_path / "c.txt").write_text(paragraphs(40))
    texts = draw_texts([tmp_path / "c.txt"], 100, seed=0)
    assert texts == draw_texts([tmp_path / "c.txt"], 100, seed=0)
    assert texts != draw_texts([tmp_path / "c.txt"], 100, seed=1)
    following = dict(
        pair
        for line in paragraphs(40).splitlines()
        for sentences in [[f"{s}." for s in line.rstrip(".").split(". ")]]
        for pair in pairwise(sentences)
    )
    pairs = [text for text in texts if not isinstance(text, str)]
    assert pairs
    assert len(pairs) < len(texts) / 2
    assert all(following[a] == b for a, b in pairs)


@pytest.mark.parametrize(
    "config",
    [
        replace(STUDENT, hidden_size=48),
        replace(STUDENT, vocab_size=100),
        replace(STUDENT, max_position_embeddings=65),
    ],
)
def test_student_that_cannot_inherit_is_an_error(config):
    with pytest.raises(ModelError, match="expected a plain BERT narrower than the teacher's 48"):
        inherit_embeddings(config, teacher())


def small_teacher(folder):
    save_pretrained(teacher(), folder, tokenizer_from=MINILM)
    return folder


def test_command_leaves_a_model_that_can_be_fine_tuned(tmp_path, monkeypatch):
    from mobilebert_models import presets

    monkeypatch.setitem(presets.PRESETS, "bert-tiny", STUDENT)
    source = small_teacher(tmp_path / "teacher")
    for opener, ending in ((lzma.open, "xz"), (gzip.open, "gz")):
        with opener(tmp_path / f"c.txt.{ending}", "wt") as file:
            file.write(paragraphs(20, seed=len(ending)))
    (tmp_path / "sts.tsv").write_text(
        "score\tsentence1\tsentence2\n" + "".join(f"{i}.5\ta\t{w}\n" for i, w in enumerate(WORDS[:5]))
    )
    arguments = [
        "--teacher",
        str(source),
        "--out",
        str(tmp_path / "run"),
        "--sentences",
        "40",
    ]
    arguments += ["--corpus", str(tmp_path / "c.txt.xz"), "--corpus", str(tmp_path / "c.txt.gz")]
    arguments += ["--sts", str(tmp_path / "sts.tsv"), "--threads", "1"]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    assert done.value.code == 0
    model = load_classifier(tmp_path / "run" / "model", num_labels=2, seed=0)
    assert model.config.hidden_size == 16
    bare = load_pretrained(tmp_path / "run" / "model")
    assert torch.equal(bare.pooler.dense.weight, model.encoder.pooler.dense.weight)
    assert PairTokenizer.load(tmp_path / "run" / "model").vocab_size == 30522
    record = json.loads((tmp_path / "run" / "representations.json").read_text())
    assert record["metadata"]["corpus"] == ["c.txt.xz", "c.txt.gz"]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    assert done.value.code == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.write_bytes(lzma.compress(paragraphs().encode())[:-40]), "damaged or truncated"),
        (lambda path: path.write_bytes(b"plain text"), "damaged or truncated"),
        (lambda path: path.write_bytes(lzma.compress("Café.".encode("latin-1"))), "not UTF-8"),
        (
            lambda path: path.write_bytes(lzma.compress(b"One sentence of words.\n")),
            "distinct sentences, 40 wanted",
        ),
    ],
)
def test_bad_corpus_is_an_error_of_the_user(tmp_path, capsys, make, message):
    path = tmp_path / "c.txt.xz"
    make(path)
    arguments = [
        "--corpus",
        str(path),
        "--out",
        str(tmp_path / "run"),
        "--sentences",
        "40",
    ]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    assert done.value.code == 2
    assert message in capsys.readouterr().err


def test_unknown_teacher_is_an_error_of_the_user(tmp_path, capsys):
    with pytest.raises(SystemExit) as done:
        script.run(main, ["--corpus", "c.txt", "--out", str(tmp_path), "--teacher", "bert-huge"])
    assert done.value.code == 2
    assert "'bert-huge' is unknown" in capsys.readouterr().err


def test_draw_needs_enough_sentences(tmp_path):
    (tmp_path / "c.txt").write_text("A short sentence here.\n" * 50)
    with pytest.raises(DataError, match="1 distinct sentences, 2 wanted"):
        draw_texts([tmp_path / "c.txt"], 2)
