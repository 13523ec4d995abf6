"""Make a general sentence encoder of MiniLM: prune it, heal its layers, then learn vectors of two teachers.

Stages, each with a budget in seconds of training (evaluation and loading not counted):

- joint: MiniLM's feature maps, attention and sentence vectors;
- vectors: mean-pooled vectors against those of both teachers, and on texts without a label against
  MiniLM's, which reads along; a share of the texts misspelt for the student alone.

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

from distill.general.batches import WINDOW, TrainingTexts, near_texts, window
from distill.general.development import development_figures
from distill.general.noise import Misspeller
from distill.general.options import CACHE, SHARED, Cache, Shared, fast_products, generator
from distill.general.prune import prune
from distill.general.stages import Draw, Loss, Run, Settings, run_stage
from distill.general.teachers import mean_pool, read_sources, read_texts
from distill.general.trunk import HELD, Targets, embed, sentence_vectors, transfer_loss, vector_loss
from distill.init.cut_vocabulary import frequent_entries, with_entries, write_cut_tokenizer
from mobilebert_export.four_bits import Layers, in_four_bits
from mobilebert_runtime.tokenizer import PairTokenizer
from models import (
    EncoderConfig,
    find_directory,
    load_classifier,
    load_pretrained,
    packaged_directory,
    preset,
    save_pretrained,
)
from models.layers import Encoder, encoder_of
from studies.common.script import Threads, run

STAGES = ("joint", "vectors")
TRANSFER_SIZE = 48  # texts a batch of joint
PRUNED_ON, SEEN = 2000, 12_000  # texts whose activations choose what stays, and whose words are counted
ROUNDED_ON = 1500  # texts whose activations say how weights are rounded
EMBEDDING_STEPS = 600
ASKED = ("questions", "trecqa_question")  # sources of questions that people have asked


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    arch: Annotated[
        str, Option(help="Preset of the trunk: MiniLM's feature map and heads.")
    ] = "matcher-open-m",
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    begin: Annotated[
        str | None,
        Option(
            "--from", help="Model whose trunk to go on from, in the place of pruning; give --joint 0 with it."
        ),
    ] = None,
    kept: Annotated[
        float,
        Option(min=0, max=1, help="Of --from's weights in the trunk that is written; chosen on dev pairs."),
    ] = 0.0,
    joint: Annotated[float, Option(min=0, help="Seconds of the first stage.")] = 900,
    vectors: Annotated[float, Option(min=0, help="Seconds of the second stage.")] = 1800,
    transfer_rate: Annotated[float, Option(help="Peak rate of joint.")] = 3e-4,
    rate: Annotated[float, Option(help="Peak rate of vectors.")] = 3e-4,
    size: Annotated[int, Option(min=2, help="Labelled texts a batch.")] = 96,
    noise: Annotated[float, Option(min=0, max=1, help="Share of texts that are misspelt.")] = 0.25,
    share: Annotated[
        float, Option(min=0, max=1, help="Of MiniLM in the target; the rest is MPNet. 1: MPNet is not read.")
    ] = 0.5,
    fresh: Annotated[float, Option(min=0, max=1, help="Share of batches that only MiniLM has read.")] = 0.5,
    asked: Annotated[
        int, Option(min=1, help="Times a question that someone asked counts where texts are drawn.")
    ] = 1,
    four_bits: Annotated[
        Layers, Option(help="Linear layers whose weights are put on a grid of four bits at the end.")
    ] = "none",
    seed: Annotated[int, Option(help="Of the embedding's fit, batches and misspellings.")] = 0,
    threads: Threads = 1,
) -> None:
    """Run the stages that are not finished, and write OUT/trunk."""
    torch.set_num_threads(threads)
    texts, config = read_texts(cache / "texts.tsv"), preset(arch)
    misspell = Misspeller(shared / "data/typos/words.tsv")
    out.mkdir(parents=True, exist_ok=True)
    master, folder = seated_teacher(config, texts, out)
    known = TrainingTexts(texts, PairTokenizer.load(folder), misspell, noise, seed)
    if begin is None and not (out / "pruned").is_dir():
        counts = counted(known, config.vocab_size)
        seen = [known.batch(rows) for rows in np.arange(HELD, HELD + PRUNED_ON).reshape(-1, 50)]
        pruned = prune(master, config, counts, seen, EMBEDDING_STEPS, seed)
        save_pretrained(pruned, out / "pruned", tokenizer_from=folder)
    student = encoder_of(load_pretrained(find_directory(begin) if begin else out / "pruned"))
    lessons = Lessons(master, student, known, shared / "data", cache, seed)
    progress = Run(out, student)
    todo = STAGES[STAGES.index(progress.stage) if progress.stage else 0 :]
    if "joint" in todo:
        run_stage(
            progress,
            "joint",
            Settings(transfer_rate, joint),
            lessons.plain,
            lessons.transfer,
            lessons.figures,
        )
    targets = Targets(cache, len(texts), share)
    more = np.isin(read_sources(cache / "texts.tsv"), ASKED)
    draw = lessons.mixed(targets, fresh, size, np.where(more, asked, 1))
    loss = lessons.vectors(targets)
    run_stage(progress, "vectors", Settings(rate, vectors), draw, loss, lambda: lessons.figures(targets))
    student.eval()
    if begin is not None:
        average(student, encoder_of(load_pretrained(find_directory(begin))), kept)
    read = [texts[int(row)] for row in targets.rows[:ROUNDED_ON]]
    student = in_four_bits(student, known.tokenizer, read, four_bits)
    save_pretrained(student, out / "trunk", tokenizer_from=folder)


def average(student: Encoder, before: Encoder, kept: float) -> None:
    """Move the student's weights back by `kept` of the way it came: what was learned before is kept better.

    Wortsman et al. 2022, "Robust fine-tuning of zero-shot models".
    """
    old = dict(before.named_parameters())
    with torch.no_grad():
        for name, parameter in student.named_parameters():
            parameter.lerp_(old[name], kept)


def seated_teacher(config: EncoderConfig, texts: list[str], out: Path) -> tuple[Encoder, Path]:
    """MiniLM reading the student's vocabulary, and the folder of that tokenizer."""
    folder = packaged_directory("minilm")
    master = load_classifier(folder, num_labels=2)
    if config.vocab_size == master.config.vocab_size:
        return master.encoder.eval(), folder
    kept = frequent_entries(folder, texts, config.vocab_size)
    write_cut_tokenizer(folder, kept, out / "tokenizer")
    return with_entries(master, kept).encoder.eval(), out / "tokenizer"


def counted(known: TrainingTexts, entries: int) -> np.ndarray:
    """How often each entry of a vocabulary occurs in some of the texts, (V,)."""
    ids = np.concatenate([ids for ids, _ in known.encoded[HELD : HELD + SEEN]])
    return np.bincount(ids, minlength=entries)


@dataclass(frozen=True)
class Lessons:
    """What the stages draw, what they lose, how they are measured."""

    teacher: Encoder
    student: Encoder
    known: TrainingTexts
    data: Path
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
        value, parts = transfer_loss(target, ours, batch["attention_mask"])
        ours_vector, target_vector = (
            F.normalize(mean_pool(output.hidden_states[-1].float(), batch["attention_mask"]), dim=-1)
            for output in (ours, target)
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
        found = development_figures(lambda texts: embed(self.student, tokenizer, texts), self.data)
        if targets is None:
            return found
        rows = np.flatnonzero(targets.there[:HELD])
        ours = embed(self.student, tokenizer, [self.known.texts[int(i)] for i in rows])
        fit = float((ours * targets.values[rows]).sum(1).mean())
        return {"held_cosine": round(fit, 4), "labelled": int(targets.there.sum())} | found


if __name__ == "__main__":
    run(main)
