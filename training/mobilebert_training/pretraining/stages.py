"""Pretrain a model by a strategy: its stages one after the other, each resumable, each with its record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from mobilebert_models import EncoderConfig, PretrainingHead, build, save_pretrained
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import replacing
from mobilebert_training.batches import DrawnExamples
from mobilebert_training.checkpoint import save_whole
from mobilebert_training.initialization.pretraining_student import inherit_pretraining
from mobilebert_training.pretraining.examples import DEVELOPMENT, ExampleRecipe, Examples, Order, collate
from mobilebert_training.pretraining.pretraining_loss import PretrainingLoss, forward, trained
from mobilebert_training.pretraining.shards import Corpus
from mobilebert_training.pretraining.strategies import PretrainingStage, Strategy, stages, strategy
from mobilebert_training.run_directory import claim, weights_hash
from mobilebert_training.trainer import checkpoint_activations, parameter_groups, processes, train
from mobilebert_training.training_config import TrainingConfig

_AT_A_TIME = 32  # development examples in a batch


@dataclass(frozen=True)
class PretrainingPlan:
    """What to do: a strategy, its budget, how to optimise, what examples to draw."""

    strategy: str
    # The steps of `engine` are those of pretraining; these come on top, for every strategy alike.
    transfer_steps: int
    engine: TrainingConfig
    examples: ExampleRecipe
    development_examples: int = 512


def start(
    config: EncoderConfig, teacher: PretrainingHead | None, plan: PretrainingPlan, corpus: Corpus
) -> PretrainingHead:
    """The student before the first step.

    Raises:
        ModelError: the corpus does not fit the config, or the teacher the student.
    """
    vocabulary = corpus.special.vocab_size
    if config.vocab_size != vocabulary or config.max_position_embeddings < corpus.seq_len:
        raise ModelError(
            f"student: {config.vocab_size} tokens and {config.max_position_embeddings} positions; "
            f"the corpus has {vocabulary} and {corpus.seq_len}"
        )
    chosen = strategy(plan.strategy)
    if chosen.needs_teacher and teacher is None:
        raise ModelError(f"strategy {plan.strategy!r} needs a teacher; give one, or strategy 'bare'")
    if chosen.inherits and teacher is not None:
        return inherit_pretraining(config, teacher, plan.engine.seed)
    return cast(PretrainingHead, build(config, "pretraining", seed=plan.engine.seed))


def bare_teacher(encoder: Encoder, plan: Strategy) -> PretrainingHead:
    """An encoder as the teacher of strategies that ask for nothing but its layers; its head is random.

    Raises:
        ModelError: the strategy distils the teacher's MLM distribution.
    """
    if any(phase.weights.mlm_distillation for phase in plan.phases):
        raise ModelError(
            "teacher: an encoder without an MLM head; this strategy distils its MLM distribution"
        )
    return under_new_heads(encoder, seed=0)


def under_new_heads(encoder: Encoder, seed: int) -> PretrainingHead:
    """An encoder with random heads for masked words and pairs, in eval mode."""
    model = cast(PretrainingHead, build(encoder.config, "pretraining", seed=seed))
    model.encoder = encoder
    return model.eval()


def pretrain(
    student: PretrainingHead,
    teacher: PretrainingHead | None,
    corpus: Corpus,
    plan: PretrainingPlan,
    out: Path,
    *,
    workers: int = 0,
    metadata: dict[str, Any] | None = None,
    force: bool = False,
) -> list[dict[str, Any]]:
    """Run a strategy's stages on `student` in place; returns one record a stage.

    Args:
        student: from `start`.
        teacher: not changed; None for a strategy without one.
        corpus: one document in 50 is held out for development.
        plan: what to do.
        out: folder of the run; finished stages and a checkpoint there are taken up.
        workers: processes that draw examples beside each training process.
        metadata: what else the records shall say.
        force: begin anew where `out` holds a run of other inputs.

    Raises:
        ResumeError: `out` holds a run of another student, teacher, corpus or plan.
    """
    state = processes()
    known = asdict(plan) | {"student": student.config.to_dict(), "corpus": corpus.fingerprint}
    known["teacher"] = None if teacher is None else weights_hash(teacher)
    claim(out, "pretraining", known, write=state.is_main_process, force=force)
    state.wait_for_everyone()
    training, development = corpus.split(DEVELOPMENT)
    examples = Examples(corpus, training, plan.examples)
    held_out = _development(corpus, development, plan)
    if plan.engine.checkpoint_activations:
        checkpoint_activations(student.encoder)
    student.to(state.device)
    if teacher is not None:
        teacher.to(state.device)
    layers = student.config.num_hidden_layers
    in_turn = stages(strategy(plan.strategy), layers, plan.transfer_steps, plan.engine.steps)
    firsts = accumulate((stage.steps for stage in in_turn), initial=0)
    records = [
        _stage(student, teacher, stage, first, examples, held_out, plan, out, workers, metadata)
        for stage, first in zip(in_turn, firsts, strict=False)
    ]
    student.requires_grad_(True).eval()
    return records


def pretrained(
    student: PretrainingHead,
    teacher: PretrainingHead | None,
    corpus: Corpus,
    plan: PretrainingPlan,
    out: Path,
    tokenizer_from: str | Path,
) -> Path:
    """The model directory `out`/model of a student that several runs start or learn from.

    `pretrain` trains it the first time and reads it back later, into `student` too.

    Raises:
        ResumeError: `out` holds a student of other settings.
    """
    pretrain(student, teacher, corpus, plan, out)
    return keep(student, out, tokenizer_from)


def keep(student: PretrainingHead, out: Path, tokenizer_from: str | Path) -> Path:
    """The model directory `out`/model of what `pretrain` trained, written where it is not there yet."""
    directory = out / "model"
    if not directory.is_dir():
        save_pretrained(student, directory, tokenizer_from=tokenizer_from)
    return directory


def evaluate(student: PretrainingHead, batches: dict[str, Sequence[dict[str, Any]]]) -> dict[str, float]:
    """Loss and accuracy at masked tokens, and pair accuracy for each kind of pair, on development batches.

    A model is asked both kinds of pairs, whichever it learned (ALBERT Table 5); label 0 is the pair as it
    stands in the text in both.
    """
    figures: dict[str, float] = {}
    was_training = student.training
    student.eval()
    device = next(student.parameters()).device
    with torch.no_grad():
        for kind, given in batches.items():
            loss = right = masked = right_pairs = pairs = 0.0
            for batch in given:
                here = {k: v.to(device) for k, v in batch.items()}
                output = forward(student, here, capture=False)
                mlm, pair = cast(Tensor, output.mlm_logits).float(), cast(Tensor, output.pair_logits)
                labels = here["masked_labels"]
                loss += torch.nn.functional.cross_entropy(mlm, labels, reduction="sum").item()
                right += (mlm.argmax(-1) == labels).sum().item()
                masked += len(labels)
                right_pairs += (pair.argmax(-1) == here["pair_labels"]).sum().item()
                pairs += len(pair)
            figures |= {f"{kind}_accuracy": right_pairs / pairs}
            # The masked tokens of a model's own kind of pairs, which come first.
            figures = {"mlm_loss": loss / masked, "mlm_accuracy": right / masked} | figures
    student.train(was_training)
    return figures


def _stage(
    student: PretrainingHead,
    teacher: PretrainingHead | None,
    stage: PretrainingStage,
    first: int,
    examples: Examples,
    held_out: dict[str, Sequence[dict[str, Any]]],
    plan: PretrainingPlan,
    out: Path,
    workers: int,
    metadata: dict[str, Any] | None,
) -> dict[str, Any]:
    kept = out / f"{stage.name}.weights"
    if kept.is_file():
        student.load_state_dict(torch.load(kept, weights_only=True))
        if processes().is_main_process:
            kept.with_suffix(".checkpoint").unlink(missing_ok=True)  # of a run that was killed here
        return json.loads((out / f"{stage.name}.json").read_text(encoding="utf-8"))
    config = replace(plan.engine, steps=stage.steps)
    groups = parameter_groups(trained(student, stage), config.weight_decay)
    parameters = [(p, group["factor"]) for group in groups for p in group["params"]]
    known = (metadata or {}) | {"strategy": plan.strategy, "weights": asdict(stage.weights)}
    known |= {"learns": stage.learns, "trained_parameters": sum(p.numel() for p, _ in parameters)}
    # The figures say nothing between two layers, nor of a head that neither teacher nor student has.
    headless = stage.weights.matches_hidden_states and not stage.weights.mlm
    evaluates = isinstance(stage.learns, str) and not headless
    source = DrawnExamples(
        examples,
        Order(examples.chunks, config.batch_size, config.seed, first).batch,
        partial(collate, pad=examples.special.pad),
        {"corpus": examples.corpus.fingerprint},
        workers,
    )

    def keep() -> None:
        state = processes()
        if state.is_main_process:
            save_whole(student.state_dict(), kept)
        state.wait_for_everyone()

    return train(
        student,
        source,
        PretrainingLoss(student, teacher, stage),
        config,
        out,
        name=stage.name,
        parameters=parameters,
        evaluate=(lambda: evaluate(student, held_out)) if evaluates else None,
        metadata=known,
        keep=keep,
    )


def _development(
    corpus: Corpus, chunks: np.ndarray, plan: PretrainingPlan
) -> dict[str, Sequence[dict[str, Any]]]:
    """Fixed development batches with the plan's kind of pairs first, then the other kind."""
    kinds = sorted(("nsp", "sop"), key=lambda kind: kind != plan.examples.pairs)
    some = chunks[: plan.development_examples]
    batches: dict[str, Sequence[dict[str, Any]]] = {}
    for kind in kinds:
        examples = Examples(corpus, some, replace(plan.examples, pairs=kind))
        drawn = [examples[(0, int(i))] for i in some]
        pad = corpus.special.pad
        batches[kind] = [collate(drawn[i : i + _AT_A_TIME], pad) for i in range(0, len(drawn), _AT_A_TIME)]
    return batches


def draw_curves(records: Sequence[dict[str, Any]], path: Path) -> None:
    """The loss of every stage, one after the other, and its development figures, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    start_step = 0
    for record in records:
        steps = [start_step + point["step"] for point in record["curve"]]
        axes.plot(steps, [point["loss"] for point in record["curve"]], label=record["stage"])
        start_step += record["config"]["steps"]
        axes.axvline(start_step, color="0.85", linewidth=0.8, zorder=0)
    axes.set(xlabel="update", ylabel="training loss of the stage")
    axes.legend(fontsize="small", ncols=2)
    with replacing(path, force=True) as partly:
        figure.savefig(partly, dpi=120, format="png")
