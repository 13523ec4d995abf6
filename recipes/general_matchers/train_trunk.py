"""Make a general sentence encoder of MiniLM: prune it, heal its layers, then learn vectors of two teachers.

Stages, each with a budget in seconds of training (evaluation and loading not counted):

- joint: MiniLM's feature maps, attention and sentence vectors;
- vectors: mean-pooled vectors against those of both teachers, and on texts without a label against
  MiniLM's, which reads along; a share of the texts misspelt for the student alone.

The learning rate follows the share of the budget that is used. The same call resumes; on other inputs it
refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models import (
    EncoderConfig,
    find_directory,
    load_classifier,
    load_pretrained,
    preset,
    save_pretrained,
)
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.initialization.cut_vocabulary import (
    frequent_entries,
    with_entries,
    write_cut_tokenizer,
)
from mobilebert_training.run_directory import claim, locked, model_hashes
from recipes.general_matchers.batches import WINDOW, TrainingTexts, near_texts, window
from recipes.general_matchers.development import development_figures
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import fast_products, generator
from recipes.general_matchers.prune import prune
from recipes.general_matchers.stages import Draw, Loss, Run, Settings, recipe_inputs, run_stage
from recipes.general_matchers.teachers import read_sources, read_text_column
from recipes.general_matchers.trunk import Targets, embed, sentence_vectors, transfer_loss, vector_loss

STAGES = ("joint", "vectors")
TRANSFER_SIZE = 48  # texts a batch of joint
PRUNED_ON, SEEN = 2000, 12_000  # texts whose activations choose what stays, and whose words are counted
ROUNDED_ON = 1500  # texts whose activations say how weights are rounded
EMBEDDING_STEPS = 600
ASKED = ("questions", "trecqa_question")  # sources of questions that people have asked
# Where a run lies and for how long it goes on: another of these may resume it.
NO_INPUTS = ("out", "cache", "data", "joint", "vectors", "threads")

Rounding = Callable[[Encoder, PairTokenizer, Sequence[str]], Encoder]


@dataclass(frozen=True)
class TrunkConfig:
    """From what a trunk is made, for how long, and how."""

    out: Path  # folder of the run; an interrupted run there is resumed
    cache: Path  # folder of texts.tsv, the teachers' vectors and the neighbours
    arch: str = "matcher-open-m"  # preset of the trunk: MiniLM's feature map and heads
    data: Path | None = None  # data sets: development figures and real misspellings; neither without it
    kept: float = 0.0  # of the weights before training in the trunk that is written; chosen on dev pairs
    joint: float = 900  # seconds of the first stage; loading and evaluation are not counted
    vectors: float = 1800  # seconds of the second stage
    transfer_rate: float = 3e-4  # peak rate of joint
    rate: float = 3e-4  # peak rate of vectors
    size: int = 96  # labelled texts a batch
    noise: float = 0.25  # share of texts that are misspelt
    share: float = 0.5  # of MiniLM in the target; the rest is MPNet. 1: MPNet is not read
    fresh: float = 0.5  # share of batches that only MiniLM has read
    asked: int = 1  # times a question that someone asked counts where texts are drawn
    seed: int = 0  # of the embedding's fit, batches and misspellings
    threads: int = 1


def train_trunk(
    config: TrunkConfig, rounded: Rounding | None = None, progress: Callable[[str], None] = lambda _: None
) -> None:
    """Run the stages that are not finished, and write OUT/trunk.

    Args:
        config: what is made of what.
        rounded: what becomes of the trained trunk, given its tokenizer and texts whose activations say which
            errors matter, such as `recipes.general_matchers.four_bit_weights.in_four_bits`.
        progress: called with each line of the record.

    Raises:
        ResumeError: OUT holds a run with other inputs, or another process works there.
    """
    with locked(config.out):
        claim(config.out, "trunk", inputs_of(config))
        _train_trunk(config, rounded, progress)


def inputs_of(config: TrunkConfig) -> dict[str, Any]:
    """What decides the weights of a trunk; its stages may be given more seconds later."""
    options = {name: value for name, value in vars(config).items() if name not in NO_INPUTS}
    options["teacher"] = model_hashes(find_directory("minilm"))
    return options | recipe_inputs(config.data, config.cache / "texts.tsv")


def _train_trunk(config: TrunkConfig, rounded: Rounding | None, progress: Callable[[str], None]) -> None:
    torch.set_num_threads(config.threads)
    texts, shape = read_text_column(config.cache / "texts.tsv"), preset(config.arch)
    out, seed = config.out, config.seed
    misspell = Misspeller(config.data / MISSPELLINGS if config.data else None)
    out.mkdir(parents=True, exist_ok=True)
    teacher, folder = teacher_with_vocabulary("minilm", shape, texts, out)
    known = TrainingTexts(texts, PairTokenizer.load(folder), misspell, config.noise, seed)
    if not (out / "pruned").is_dir():
        counts = counted(known, shape.vocab_size)
        pruned = prune(teacher, shape, counts, looked_at(known), EMBEDDING_STEPS, seed)
        save_pretrained(pruned, out / "pruned", tokenizer_from=folder)
    student = encoder_of(load_pretrained(out / "pruned"))
    stages = TrunkStages(teacher, student, known, config.data, config.cache, seed)
    run = Run(out, student, progress)
    todo = STAGES[STAGES.index(run.stage) if run.stage else 0 :]
    if "joint" in todo:
        run_stage(
            run,
            "joint",
            Settings(config.transfer_rate, config.joint),
            stages.plain,
            stages.transfer,
            stages.figures,
        )
    targets = Targets(config.cache, len(texts), config.share)
    more = np.isin(read_sources(config.cache / "texts.tsv"), ASKED)
    draw = stages.mixed(targets, config.fresh, config.size, np.where(more, config.asked, 1))
    loss = stages.vectors(targets)
    settings = Settings(config.rate, config.vectors)
    run_stage(run, "vectors", settings, draw, loss, lambda: stages.figures(targets))
    student.eval()
    if config.kept:
        average(student, encoder_of(load_pretrained(out / "pruned")), config.kept)
    if rounded is not None:
        read = [texts[int(row)] for row in targets.rows[:ROUNDED_ON]]
        student = rounded(student, known.tokenizer, read)
    save_pretrained(student, out / "trunk", tokenizer_from=folder)


def average(student: nn.Module, before: nn.Module, kept: float) -> None:
    """Move the student's weights back by `kept` of the way it came: what was learned before is kept better.

    Wortsman et al. 2022, "Robust fine-tuning of zero-shot models".
    """
    old = dict(before.named_parameters())
    with torch.no_grad():
        for name, parameter in student.named_parameters():
            parameter.lerp_(old[name], kept)


def teacher_with_vocabulary(
    name: str, config: EncoderConfig, texts: list[str], out: Path
) -> tuple[Encoder, Path]:
    """A model that reads the student's vocabulary, its frequent entries, and the folder of that tokenizer."""
    folder = find_directory(name)
    teacher = load_classifier(folder, num_labels=2)
    if config.vocab_size == teacher.config.vocab_size:
        return teacher.encoder.eval(), folder
    kept = frequent_entries(folder, texts, config.vocab_size)
    write_cut_tokenizer(folder, kept, out / "tokenizer")
    return with_entries(teacher, kept).encoder.eval(), out / "tokenizer"


def counted(known: TrainingTexts, entries: int) -> np.ndarray:
    """How often each entry of a vocabulary occurs in some of the texts, (V,)."""
    ids = np.concatenate([ids for ids, _ in known.encoded[known.held : known.held + SEEN]])
    return np.bincount(ids, minlength=entries)


def looked_at(known: TrainingTexts) -> list[dict[str, Tensor]]:
    """Batches of texts whose activations choose what pruning keeps."""
    rows = np.arange(known.held, min(known.held + PRUNED_ON, len(known.texts)))
    return [known.batch(rows[start : start + 50]) for start in range(0, len(rows), 50)]


@dataclass(frozen=True)
class TrunkStages:
    """What the stages draw, what they lose, how they are measured."""

    teacher: Encoder
    student: Encoder
    known: TrainingTexts
    data: Path | None  # without it there are no development figures
    cache: Path
    seed: int

    def plain(self, step: int) -> list[np.ndarray]:
        """Texts at random; no labels needed."""
        return window(self.known.usable, self.known.lengths, TRANSFER_SIZE, (self.seed, 1, step))

    def transfer(self, index: np.ndarray, step: int) -> tuple[Tensor, dict[str, float]]:  # noqa: ARG002
        """Layers and sentence vectors as the teacher's."""
        batch = self.known.batch(index)
        with fast_products():
            with torch.no_grad():
                target = self.teacher(**batch, capture=True)
            ours = self.student(**batch, capture=True)
        mask = batch["attention_mask"]
        value, parts = transfer_loss(target, ours, mask)
        ours_vector, target_vector = (
            F.normalize(pooled(output.last_hidden_state.float(), mask), dim=-1) for output in (ours, target)
        )
        sentence, more = vector_loss(ours_vector, target_vector)
        return value + sentence, parts | more

    def mixed(self, targets: Targets, fresh: float, size: int, times: np.ndarray) -> Draw:
        """Labelled batches and among them batches that only MiniLM reads; half of the windows of near texts.

        The latter have their numbers below zero: −1 − text. `times` (N,): how often a text counts among the
        labelled ones that are drawn.
        """
        known, seed = self.known, self.seed

        def drawn(step: int) -> list[np.ndarray]:
            targets.refresh()
            draw = generator(f"{seed} {step}")
            near = near_texts(self.cache, draw)
            rows = np.intersect1d(targets.rows, known.usable)
            rows = np.repeat(rows, times[rows])
            labelled = window(rows, known.lengths, size, (seed, 9, step), near)
            plain = window(known.usable, known.lengths, size, (seed, 10, step), near)
            labelled = [batch[targets.there[batch]] for batch in labelled]  # near texts may have no label
            count = round(WINDOW * fresh)
            both = labelled[: WINDOW - count] + [-1 - rows for rows in plain[:count]]
            draw.shuffle(both)
            return both

        return drawn

    def vectors(self, targets: Targets) -> Loss:
        """Of a batch that `mixed` drew."""

        def loss(index: np.ndarray, step: int) -> tuple[Tensor, dict[str, float]]:
            rows = index if index[0] >= 0 else -1 - index
            with fast_products():
                ours = sentence_vectors(self.student, self.known.noisy_batch(rows, step))
                if index[0] < 0 and targets.read[rows].all():
                    target = F.normalize(torch.from_numpy(targets.close[rows]).float(), dim=-1)
                elif index[0] < 0:
                    with torch.no_grad():
                        target = sentence_vectors(self.teacher, self.known.batch(rows))
                else:
                    target = torch.from_numpy(targets.values[rows])
            value, parts = vector_loss(ours, target)
            prefix = "fresh_" if index[0] < 0 else ""
            return value, {f"{prefix}{name}": part for name, part in parts.items()}

        return loss

    def figures(self, targets: Targets | None = None) -> dict[str, float]:
        """Development figures, with `targets` also the fit to them on texts that are not trained on."""
        tokenizer = self.known.tokenizer
        found = {}
        if self.data is not None:
            found = development_figures(lambda texts: embed(self.student, tokenizer, texts), self.data)
        if targets is None:
            return found
        rows = np.flatnonzero(targets.there[: self.known.held])
        ours = embed(self.student, tokenizer, [self.known.texts[int(i)] for i in rows])
        wanted = targets.values[rows]
        fit = float((ours[:, : wanted.shape[1]] * wanted).sum(1).mean())
        return {"held_cosine": round(fit, 4), "labelled": int(targets.there.sum())} | found
