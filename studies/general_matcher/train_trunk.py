"""Teach a MobileBERT-style trunk general sentence vectors: layers first, then the vectors of better teachers.

Stages, each with a budget in seconds of training (evaluation and loading not counted):

- layerwise: every layer alone, reading MiniLM's feature map below it;
- joint: all layers together, MiniLM's feature maps, attention and sentence vectors;
- vectors: mean-pooled vectors against those of both teachers, a share of texts misspelt; among them batches
  of texts that only MiniLM has read, as in joint;
- again: the same once more, with a warm-up of its own.

    python -m studies.general_matcher.train_trunk --out runs/general/m

The learning rate follows the share of the budget that is used. The same command resumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from typer import Option

from distill.init.cut_vocabulary import frequent_entries, with_entries, write_cut_tokenizer
from distill.init.student import inherit
from distill.task.task_distillation import teacher_forced
from mobilebert_runtime.tokenizer import PairTokenizer
from models import EncoderConfig, PairClassifier, load_classifier, packaged_directory, preset, save_pretrained
from models.layers import Encoder
from studies.common.script import Threads, run
from studies.general_matcher.batches import WINDOW, TrainingTexts, near_texts, window
from studies.general_matcher.development import development_figures
from studies.general_matcher.noise import Misspeller
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared, generator
from studies.general_matcher.stages import Draw, Loss, Run, Settings, run_stage
from studies.general_matcher.teachers import mean_pool, read_texts
from studies.general_matcher.trunk import HELD, Targets, embed, sentence_vectors, transfer_loss, vector_loss

STAGES = ("layerwise", "joint", "vectors", "again")
TRANSFER_SIZE = 48  # texts a batch where the teacher runs along
FRESH_UNTIL = 0.7  # of the budget; then labelled batches alone


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    arch: Annotated[str, Option(help="Preset of the trunk: MiniLM's feature map and heads.")] = "matcher-m",
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    layerwise: Annotated[float, Option(min=0, help="Seconds of the first stage.")] = 420,
    joint: Annotated[float, Option(min=0, help="Seconds of the second stage.")] = 1200,
    vectors: Annotated[float, Option(min=0, help="Seconds of the third stage.")] = 2500,
    again: Annotated[float, Option(min=0, help="Seconds of the third stage once more.")] = 0,
    transfer_rate: Annotated[float, Option(help="Peak rate of layerwise; joint has half of it.")] = 2e-3,
    rate: Annotated[float, Option(help="Peak rate of vectors.")] = 1e-3,
    again_rate: Annotated[float, Option(help="Peak rate of again.")] = 6e-4,
    size: Annotated[int, Option(min=2, help="Labelled texts a batch.")] = 96,
    noise: Annotated[float, Option(min=0, max=1, help="Share of texts that are misspelt.")] = 0.25,
    share: Annotated[float, Option(min=0, max=1, help="Of MiniLM in the target; the rest is MPNet.")] = 0.4,
    fresh: Annotated[float, Option(min=0, max=1, help="Share of batches that only MiniLM has read.")] = 0.5,
    seed: Annotated[int, Option(help="Of first layers, batches and misspellings.")] = 0,
    threads: Threads = 1,
) -> None:
    """Run the stages that are not finished, and write OUT/trunk."""
    torch.set_num_threads(threads)
    texts, config = read_texts(cache / "texts.tsv"), preset(arch)
    misspell = Misspeller(shared / "data/typos/words.tsv")
    out.mkdir(parents=True, exist_ok=True)
    master, folder = seated_teacher(config, texts, out)
    known = TrainingTexts(texts, PairTokenizer.load(folder), misspell, noise, seed)
    student = inherit(config, master, seed).encoder
    lessons = Lessons(master.encoder.eval(), student, known, shared / "data", cache, seed)
    progress = Run(out, student)
    todo = STAGES[STAGES.index(progress.stage) if progress.stage else 0 :]
    if "layerwise" in todo:
        settings = Settings(transfer_rate, layerwise)
        run_stage(progress, "layerwise", settings, lessons.plain("layerwise"), lessons.transfer(True), dict)
    if "joint" in todo:
        settings = Settings(transfer_rate / 2, joint)
        draw, loss = lessons.plain("joint"), lessons.transfer(False)
        run_stage(progress, "joint", settings, draw, loss, lessons.figures)
    targets = Targets(cache, len(texts), share)
    for name, settings in (("vectors", Settings(rate, vectors)), ("again", Settings(again_rate, again))):
        if name in todo and settings.budget:
            draw = lessons.mixed(targets, progress, settings, fresh, size)
            loss = lessons.vectors(targets)
            run_stage(progress, name, settings, draw, loss, lambda: lessons.figures(targets))
    student.eval()
    save_pretrained(student, out / "trunk", tokenizer_from=folder)


def seated_teacher(config: EncoderConfig, texts: list[str], out: Path) -> tuple[PairClassifier, Path]:
    """MiniLM reading the student's vocabulary, and the folder of that tokenizer."""
    folder = packaged_directory("minilm")
    master = load_classifier(folder, num_labels=2)
    if config.vocab_size == master.config.vocab_size:
        return master, folder
    kept = frequent_entries(folder, texts, config.vocab_size)
    write_cut_tokenizer(folder, kept, out / "tokenizer")
    return with_entries(master, kept), out / "tokenizer"


@dataclass(frozen=True)
class Lessons:
    """What the stages draw, what they lose, how they are measured."""

    teacher: Encoder
    student: Encoder
    known: TrainingTexts
    data: Path
    cache: Path
    seed: int

    def plain(self, stage: str) -> Draw:
        """Texts at random; no labels needed."""
        known, seed = self.known, self.seed
        return lambda step: window(known.usable, known.lengths, TRANSFER_SIZE, (seed, len(stage), step))

    def transfer(self, forced: bool) -> Loss:
        """Layers as the teacher's; with layers that read the student's own, the sentence vector too."""

        def loss(index: np.ndarray, step: int) -> tuple[Tensor, dict[str, float]]:  # noqa: ARG001 (as `Loss`)
            batch = self.known.batch(index)
            with torch.autocast("cpu", torch.bfloat16):
                with torch.no_grad():
                    target = self.teacher(**batch, capture=True)
                if forced:
                    ours = teacher_forced(self.student, batch, target)
                else:
                    ours = self.student(**batch, capture=True)
            value, parts = transfer_loss(target, ours, batch["attention_mask"])
            if forced:
                return value, parts
            ours_vector, target_vector = (
                F.normalize(mean_pool(output.hidden_states[-1].float(), batch["attention_mask"]), dim=-1)
                for output in (ours, target)
            )
            sentence = (1 - (ours_vector * target_vector).sum(1)).mean()
            return value + sentence, parts | {"sentence": sentence.item()}

        return loss

    def mixed(self, targets: Targets, progress: Run, settings: Settings, fresh: float, size: int) -> Draw:
        """Labelled batches, half of them of near texts, and among them batches that only MiniLM reads.

        The latter have their numbers below zero: −1 − text.
        """
        known, seed = self.known, self.seed

        def drawn(step: int) -> list[np.ndarray]:
            targets.refresh()
            draw = generator(f"{seed} {step}")
            near = near_texts(self.cache, draw)
            labelled = window(targets.rows, known.lengths, size, (seed, 9, step), near)
            part = fresh if progress.used < FRESH_UNTIL * settings.budget else 0.0
            plain = window(known.usable, known.lengths, TRANSFER_SIZE, (seed, 10, step))
            chosen = [-1 - rows for rows in plain if draw.random() < part]
            both = labelled[: WINDOW - len(chosen)] + chosen
            draw.shuffle(both)
            return both

        return drawn

    def vectors(self, targets: Targets) -> Loss:
        """Of a batch that `mixed` drew."""
        transfer = self.transfer(False)

        def loss(index: np.ndarray, step: int) -> tuple[Tensor, dict[str, float]]:
            if index[0] < 0:
                value, parts = transfer(-1 - index, step)
                return value, {f"fresh_{name}": part for name, part in parts.items()}
            with torch.autocast("cpu", torch.bfloat16):
                ours = sentence_vectors(self.student, self.known.noisy_batch(index, step))
            return vector_loss(ours, torch.from_numpy(targets.values[index]))

        return loss

    def figures(self, targets: Targets | None = None) -> dict[str, float]:
        """Development figures, with `targets` also the fit to them on texts that are not trained on."""
        tokenizer = self.known.tokenizer
        found = development_figures(lambda texts: embed(self.student, tokenizer, texts), self.data)
        if targets is None:
            return found
        rows = np.flatnonzero(targets.there[:HELD])
        ours = embed(self.student, tokenizer, [self.known.texts[int(i)] for i in rows])
        fit = float((ours * targets.values[rows]).sum(1).mean())
        return {"held_cosine": round(fit, 4), "labelled": int(targets.there.sum())} | found


if __name__ == "__main__":
    run(main)
