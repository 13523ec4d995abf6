"""Promise of training/mobilebert_training/pretraining: each stage trains what its row says."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_models import EncoderConfig
from mobilebert_models import build as build_model
from mobilebert_models.config import KroneckerRule
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_training.initialization.pretraining_student import inherit_pretraining
from mobilebert_training.pretraining.corpus import Packing, build
from mobilebert_training.pretraining.examples import DEVELOPMENT, ExampleRecipe, Examples, Order, collate
from mobilebert_training.pretraining.pretraining_loss import PretrainingLoss, forward, trained
from mobilebert_training.pretraining.shards import Corpus
from mobilebert_training.pretraining.stages import PretrainingPlan, evaluate, pretrain, start
from mobilebert_training.pretraining.strategies import STRATEGIES, stages, strategy
from mobilebert_training.training_config import LossNormalizers, ResumeError, TrainingConfig
from tests.helpers.networks import randomise
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text

LAYERS = 3
STUDENT = EncoderConfig(
    model_type="mobilebert",
    vocab_size=30522,
    hidden_size=16,
    num_hidden_layers=LAYERS,
    num_attention_heads=2,
    intermediate_size=8,
    max_position_embeddings=32,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    embedding_size=8,
    intra_bottleneck_size=8,
    num_feedforward_networks=2,
    hidden_act="relu",
)
TEACHER = replace(
    STUDENT, intra_bottleneck_size=32, intermediate_size=64, num_feedforward_networks=1, hidden_act="gelu"
)
ENGINE = TrainingConfig(steps=3, batch_size=4, checkpoint_every=2, record_every=1, learning_rate=1e-3)


def plan(name, **engine):
    return PretrainingPlan(name, 3, replace(ENGINE, **engine), ExampleRecipe(), development_examples=8)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretraining")
    (folder / "text.txt").write_text(text(120))
    return build([folder / "text.txt"], MINILM, folder / "built", Packing(seq_len=32))


@pytest.fixture(scope="module")
def teacher():
    return randomise(build_model(TEACHER, "pretraining", seed=7))


@pytest.fixture(scope="module")
def batch(corpus):
    examples = Examples(corpus, np.arange(len(corpus)), ExampleRecipe())
    return collate([examples[(0, i)] for i in range(6)], corpus.special.pad)


# What each stage of each strategy trains: patterns of the student's parameter names.
LAYER = [f"encoder.encoder.layer.{i}" for i in range(LAYERS)]
EVERYTHING = {"encoder.embeddings", *LAYER, "encoder.pooler", "cls"}
TRAINED = {
    "bare": {"bare": EVERYTHING},
    "pd": {"distil": EVERYTHING},
    "akt": {"auxiliary": EVERYTHING},
    "jkt": {"joint": set(LAYER), "distil": EVERYTHING},
    "pkt": {
        "layer-01": {LAYER[0]},
        "layer-02": {LAYER[1]},
        "layer-03": {LAYER[2]},
        "distil": EVERYTHING,
    },
    "pkt-soft": {
        "layer-01": {LAYER[0]},
        "layer-02": set(LAYER[:2]),
        "layer-03": set(LAYER),
        "distil": EVERYTHING,
    },
    "pd-fmt": {
        "layer-01": {LAYER[0]},
        "layer-02": {LAYER[1]},
        "layer-03": {LAYER[2]},
        "distil": EVERYTHING,
    },
    "kronecker": {"kronecker": EVERYTHING},
    "kronecker-encoder": {"kronecker": {"encoder.embeddings", *LAYER}},
}


def part_of(name):
    """The row of `TRAINED` that a parameter belongs to."""
    return next(p for p in EVERYTHING if name.startswith(p + "."))


@pytest.mark.parametrize("name", STRATEGIES)
def test_gradients_reach_exactly_what_a_stage_trains(name, teacher, batch):
    found = {}
    for stage in stages(STRATEGIES[name], LAYERS, 6, 4):
        student = randomise(build_model(STUDENT, "pretraining", seed=1))
        factors = dict(trained(student, stage))
        loss, _ = PretrainingLoss(student, teacher, stage)(student, batch, LossNormalizers())
        loss.backward()
        reached = {n for n, p in student.named_parameters() if p.grad is not None}
        listed = {n for n, p in student.named_parameters() if p in factors}
        assert reached == listed == {n for n, p in student.named_parameters() if p.requires_grad}
        found[stage.name] = {part_of(n) for n in listed}
        # A part is trained whole, but for the key biases, to which a softmax is blind.
        for n, p in student.named_parameters():
            if n in listed:
                assert p.grad.any() or n.endswith("key.bias"), n
            assert (n in listed) == (part_of(n) in found[stage.name])
        if isinstance(stage.learns, int):
            for n, p in student.named_parameters():
                if p in factors:
                    assert factors[p] == (1.0 if part_of(n) == LAYER[stage.learns] else stage.below)
        assert all(p.grad is None for p in teacher.parameters())
    assert found == TRAINED[name]


def test_every_strategy_has_the_same_budget():
    for name, row in STRATEGIES.items():
        assert sum(s.steps for s in stages(row, LAYERS, 7, 5)) == 12, name
    assert [s.steps for s in stages(STRATEGIES["pkt"], 3, 7, 5)] == [2, 2, 3, 5]
    with pytest.raises(OptionError, match="2 transfer steps for 3 layers"):
        stages(STRATEGIES["pkt"], 3, 2, 5)
    with pytest.raises(OptionError, match="'ablation' is unknown"):
        strategy("ablation")


def test_parts_of_the_loss_are_the_objectives(teacher, batch):
    from mobilebert_training.distillation import losses as objectives

    student = randomise(build_model(STUDENT, "pretraining", seed=1))
    ours, theirs = (forward(m, batch, capture=True) for m in (student, teacher))
    mask = batch["attention_mask"]
    auxiliary = stages(STRATEGIES["akt"], LAYERS, 6, 4)[0]
    loss, parts = PretrainingLoss(student, teacher, auxiliary)(student, batch, LossNormalizers())
    hard = objectives.masked_language_model(ours.mlm_logits, batch["masked_labels"])
    soft = objectives.soft_label_transfer(theirs.mlm_logits, ours.mlm_logits)
    pair = objectives.sentence_pair(ours.pair_logits, batch["pair_labels"])
    expected = (hard + soft) / 2 + pair  # MobileBERT Eq. 4, α = 0.5 as in appendix D
    layers = range(LAYERS)
    maps = [(theirs.encoder.hidden_states[i + 1], ours.encoder.hidden_states[i + 1]) for i in layers]
    heads = [(theirs.encoder.attention_scores[i], ours.encoder.attention_scores[i]) for i in layers]
    for function, pairs in (
        (objectives.normalised_feature_map_transfer, maps),
        (objectives.feature_map_statistics, maps),
        (objectives.attention_transfer, heads),
    ):
        expected = expected + sum(function(t, s, mask) for t, s in pairs) / LAYERS
    torch.testing.assert_close(loss, expected)
    assert set(parts) == {"feature_map", "statistics", "attention", "mlm", "mlm_distillation", "pair"}
    second = stages(STRATEGIES["pkt"], LAYERS, 6, 4)[1]
    _, parts = PretrainingLoss(student, teacher, second)(student, batch, LossNormalizers(tokens=0.5))
    torch.testing.assert_close(
        parts["attention"], 0.5 * objectives.attention_transfer(*heads[1], mask), rtol=1e-5, atol=0
    )


def test_mlm_logits_at_masked_tokens_are_the_heads(teacher, batch):
    output = forward(teacher, batch, capture=False)
    inputs = {k: batch[k] for k in ("input_ids", "attention_mask", "token_type_ids")}
    mlm, pair = teacher(**inputs)
    torch.testing.assert_close(output.mlm_logits, mlm.flatten(0, 1)[batch["masked_index"]])
    torch.testing.assert_close(output.pair_logits, pair)


def test_bottleneck_student_of_a_bottleneck_teacher_inherits_all_but_its_layers(teacher):
    student = inherit_pretraining(STUDENT, teacher)
    for name, value in student.state_dict().items():
        if not name.startswith("encoder.encoder."):
            assert torch.equal(value, teacher.state_dict()[name]), name


def test_bottleneck_student_of_a_plain_bert_classifies_words_as_it_does():
    plain = EncoderConfig(
        vocab_size=200, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32
    )
    bert = randomise(build_model(plain, "pretraining", seed=3))
    small = replace(STUDENT, vocab_size=200, max_position_embeddings=512, classifier_activation=True)
    student = inherit_pretraining(small, bert)
    hidden = torch.randn(5, 16)
    ours, theirs = (
        m.cls["predictions"](hidden, m.encoder.embeddings.word_embeddings) for m in (student, bert)
    )
    # The student's activation in the head is ReLU; beside it the two are one function.
    student.cls["predictions"].transform.act = bert.cls["predictions"].transform.act
    ours = student.cls["predictions"](hidden, student.encoder.embeddings.word_embeddings)
    torch.testing.assert_close(ours, theirs)
    table = bert.encoder.embeddings.word_embeddings.weight
    near = student.encoder.embeddings.embedding_transformation.weight[:, 8:16]
    residual = table - table[:, :8] @ near.t()
    assert (table[:, :8].t() @ residual).abs().max() < 1e-3 * table.square().sum()  # least squares


def test_kronecker_student_starts_as_the_teachers_nearest_sums():
    from mobilebert_models.kronecker.compress import compress

    plain = EncoderConfig(
        vocab_size=200, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    bert = randomise(build_model(plain, "pretraining", seed=3))
    rules = (KroneckerRule("*.intermediate.dense", 4, 4, 2),)
    student = inherit_pretraining(replace(plain, kronecker=rules), bert)
    expected = compress(bert, rules)[0].state_dict()
    assert all(torch.equal(v, expected[k]) for k, v in student.state_dict().items())


def test_what_cannot_be_inherited_or_compared_is_an_error(teacher, corpus):
    with pytest.raises(ModelError, match="hidden_size 32 must equal the teacher's 16"):
        inherit_pretraining(replace(STUDENT, hidden_size=32), teacher)
    with pytest.raises(ModelError, match=r"word_embeddings.weight .* cannot be copied"):
        inherit_pretraining(replace(STUDENT, embedding_size=4), teacher)
    stage = stages(STRATEGIES["pkt"], LAYERS, 6, 4)[0]
    deeper = build_model(replace(STUDENT, num_hidden_layers=4), "pretraining")
    with pytest.raises(ModelError, match="num_hidden_layers 4 must equal"):
        PretrainingLoss(deeper, teacher, stage)
    with pytest.raises(ModelError, match="needs a teacher"):
        start(STUDENT, None, plan("pkt"), corpus)
    with pytest.raises(ModelError, match="the corpus has 30522 and 32"):
        start(replace(STUDENT, max_position_embeddings=16), None, plan("bare"), corpus)


def test_progressive_run_keeps_stages_resumes_and_refuses_another(tmp_path, teacher, corpus):
    before = {k: v.clone() for k, v in teacher.state_dict().items()}
    student = start(STUDENT, teacher, plan("pkt"), corpus)
    first = {k: v.clone() for k, v in student.state_dict().items()}
    records = pretrain(student, teacher, corpus, plan("pkt"), tmp_path)
    assert [r["stage"] for r in records] == ["layer-01", "layer-02", "layer-03", "distil"]
    assert all(torch.equal(v, before[k]) for k, v in teacher.state_dict().items())
    one = torch.load(tmp_path / "layer-01.weights", weights_only=True)
    moved = {part_of(k) for k, v in one.items() if not torch.equal(v, first[k])}
    assert moved == {LAYER[0]}
    figures = records[-1]["evaluations"][-1]
    assert set(figures) == {"step", "mlm_loss", "mlm_accuracy", "nsp_accuracy", "sop_accuracy"}
    done = {k: v.clone() for k, v in student.state_dict().items()}
    for name in ("distil.weights", "layer-03.weights"):
        (tmp_path / name).unlink()
    again = start(STUDENT, teacher, plan("pkt"), corpus)
    pretrain(again, teacher, corpus, plan("pkt"), tmp_path)
    assert all(torch.equal(v, done[k]) for k, v in again.state_dict().items())
    for other, master, what in (
        (plan("pkt", seed=5), teacher, "engine"),
        (plan("jkt"), teacher, "strategy"),
        (plan("pkt"), randomise(build_model(TEACHER, "pretraining", seed=8)), "teacher"),
    ):
        with pytest.raises(ResumeError, match=f"other {what}"):
            pretrain(again, master, corpus, other, tmp_path)


def test_a_stage_goes_on_in_the_text_where_the_one_before_it_stopped(tmp_path, teacher, corpus, monkeypatch):
    read, batch_of = [], Order.batch

    def noted(order, step):
        read.append(batch_of(order, step))
        return read[-1]

    monkeypatch.setattr(Order, "batch", noted)
    given = plan("pkt")
    pretrain(start(STUDENT, teacher, given, corpus), teacher, corpus, given, tmp_path)
    chunks, _ = corpus.split(DEVELOPMENT)
    whole = Order(chunks, given.engine.batch_size, given.engine.seed)
    total = given.transfer_steps + given.engine.steps
    assert read == [batch_of(whole, step) for step in range(total)]
    assert read[0] not in read[1:]


def test_evaluation_counts_what_a_loop_counts(teacher, batch):
    figures = evaluate(teacher, {"sop": [batch, batch], "nsp": [batch]})
    inputs = {k: batch[k] for k in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        words, pair = teacher(**inputs)
    logits = words.flatten(0, 1)[batch["masked_index"]].double().log_softmax(-1)
    right = sum(int(row.argmax() == label) for row, label in zip(logits, batch["masked_labels"], strict=True))
    loss = -sum(float(row[label]) for row, label in zip(logits, batch["masked_labels"], strict=True))
    count = len(batch["masked_labels"])
    assert figures["mlm_accuracy"] == pytest.approx(right / count)
    assert figures["mlm_loss"] == pytest.approx(loss / count, rel=1e-5)
    agree = (pair.argmax(1) == batch["pair_labels"]).float().mean().item()
    assert figures["nsp_accuracy"] == figures["sop_accuracy"] == pytest.approx(agree)


def test_command_pretrains_a_teacher_then_a_student(tmp_path, corpus):
    from mobilebert_export.command_line.program import main
    from mobilebert_models import load_pretrained

    folder = tmp_path / "corpus"
    folder.symlink_to(corpus.folder)
    (corpus.folder / "examples.json").write_text(json.dumps({"pairs": "sop", "masking": "ngram", "seed": 0}))
    directories = {}
    for name, config in (("teacher", TEACHER), ("student", STUDENT)):
        directories[name] = tmp_path / f"{name}-config"
        directories[name].mkdir()
        (directories[name] / "config.json").write_text(json.dumps(config.to_dict()))
    common = ["--steps", "2", "--batch-size", "4", "--optimiser", "adamw", "--threads", "1"]
    out = tmp_path / "runs"

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main(["pretrain", str(folder), *common, *arguments])
        return done.value.code

    assert run("--student", str(directories["teacher"]), "--out", str(out / "teacher")) == 0
    given = ["--student", str(directories["student"]), "--teacher", str(out / "teacher" / "model")]
    given += ["--out", str(out / "student"), "--strategy", "jkt", "--transfer-steps", "2"]
    assert run(*given) == 0
    assert type(load_pretrained(out / "student" / "model")).__name__ == "PretrainingHead"
    assert (out / "student" / "curves.png").stat().st_size > 5000
    record = json.loads((out / "student" / "distil.json").read_text())
    assert record["metadata"]["strategy"] == "jkt"
    assert run(*given) == 2  # a finished model is not replaced unasked
    assert run(*given, "--seed", "4") == 2  # another seed is another run
    assert run("--out", str(tmp_path / "none"), "--strategy", "pkt") == 2  # no teacher


def test_corpus_folder_without_a_corpus_is_a_named_error(tmp_path):
    with pytest.raises(ValueError, match="no finished corpus"):
        Corpus(tmp_path)
