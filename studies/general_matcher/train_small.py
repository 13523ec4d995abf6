"""Heal matcher-s, shrunk out of matcher-m's trunk, with that trunk as its teacher on every kind of text.

A batch is either texts that only matcher-m reads (its vectors, and its layers where both read the same word
pieces) or texts with a target of the two large teachers, a share of them misspelt. The same command resumes.

    python -m studies.general_matcher.train_small --large runs/general/m/trunk --out runs/general/s
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

from distill.init.cut_vocabulary import frequent_entries, write_cut_tokenizer
from mobilebert_runtime.tokenizer import PairTokenizer
from models import load_pretrained, packaged_directory, preset, save_pretrained
from models.layers import Encoder, EncoderOutput, encoder_of
from studies.common.script import Threads, run
from studies.general_matcher.batches import WINDOW, TrainingTexts, near_texts, window
from studies.general_matcher.development import development_figures
from studies.general_matcher.noise import Misspeller
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared, generator
from studies.general_matcher.shrink import shrink
from studies.general_matcher.stages import Run, Settings, run_stage
from studies.general_matcher.teachers import mean_pool, read_texts
from studies.general_matcher.trunk import HELD, Targets, embed, sentence_vectors, transfer_loss, vector_loss

FEWEST_ALIKE = 5  # texts a batch needs, split alike by both vocabularies, for its layers to be compared


def main(
    large: Annotated[Path, Option(help="Model directory of matcher-m's trunk.")],
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    seconds: Annotated[float, Option(min=0, help="Seconds of training.")] = 2100,
    rate: Annotated[float, Option(help="Peak learning rate.")] = 1e-3,
    size: Annotated[int, Option(min=2, help="Texts a batch.")] = 80,
    share: Annotated[float, Option(min=0, max=1, help="Of MiniLM in the target; the rest is MPNet.")] = 0.4,
    labelled: Annotated[float, Option(min=0, max=1, help="Share of batches with a target of both.")] = 0.5,
    noise: Annotated[float, Option(min=0, max=1, help="Share of their texts that are misspelt.")] = 0.25,
    seed: Annotated[int, Option(help="Of batches and misspellings.")] = 0,
    threads: Threads = 1,
) -> None:
    """Shrink, heal, and write OUT/trunk."""
    torch.set_num_threads(threads)
    texts, folder, config = read_texts(cache / "texts.tsv"), packaged_directory("minilm"), preset("matcher-s")
    trunk = encoder_of(load_pretrained(large)).eval()
    misspell = Misspeller(shared / "data/typos/words.tsv")
    out.mkdir(parents=True, exist_ok=True)
    kept = frequent_entries(folder, texts, config.vocab_size)
    write_cut_tokenizer(folder, kept, out / "tokenizer")
    student = shrink(trunk, config, kept)
    theirs = TrainingTexts(texts, PairTokenizer.load(folder), misspell, noise, seed)
    known = TrainingTexts(texts, PairTokenizer.load(out / "tokenizer"), misspell, noise, seed)
    targets = Targets(cache, len(texts), share)
    healing = Healing(trunk, student, theirs, known, targets)

    def drawn(step: int) -> list[np.ndarray]:
        targets.refresh()
        draw = generator(f"{seed} {step}")
        near = near_texts(cache, draw)
        labels = window(targets.rows, known.lengths, size, (seed, 19, step), near)
        fresh = window(known.usable, known.lengths, size, (seed, 20, step))
        count = round(WINDOW * labelled)
        both = labels[:count] + [-1 - rows for rows in fresh[: WINDOW - count]]  # below zero: not labelled
        draw.shuffle(both)
        return both

    def figures() -> dict[str, float]:
        found = development_figures(lambda t: embed(student, known.tokenizer, t), shared / "data")
        rows = np.flatnonzero(targets.there[:HELD])
        vectors = embed(student, known.tokenizer, [texts[i] for i in rows])
        return {"held_cosine": round(float((vectors * targets.values[rows]).sum(1).mean()), 4)} | found

    run_stage(Run(out, student), "heal", Settings(rate, seconds), drawn, healing.loss, figures)
    student.eval()
    save_pretrained(student, out / "trunk", tokenizer_from=out / "tokenizer")


@dataclass(frozen=True)
class Healing:
    """The loss of the small trunk; the two read the same texts through their own vocabularies."""

    large: Encoder
    small: Encoder
    theirs: TrainingTexts
    ours: TrainingTexts
    targets: Targets

    def loss(self, index: np.ndarray, step: int) -> tuple[Tensor, dict[str, float]]:
        """Of labelled texts, or of others, whose numbers are −1 − text."""
        if index[0] >= 0:
            with torch.autocast("cpu", torch.bfloat16):
                vectors = sentence_vectors(self.small, self.ours.noisy_batch(index, step))
            return vector_loss(vectors, torch.from_numpy(self.targets.values[index]))
        index = -1 - index
        batch, wide = self.ours.batch(index), self.theirs.batch(index)
        with torch.autocast("cpu", torch.bfloat16):
            with torch.no_grad():
                teacher = self.large(**wide, capture=True)
            output = self.small(**batch, capture=True)
        target, vectors = (
            F.normalize(mean_pool(found.hidden_states[-1].float(), read["attention_mask"]), dim=-1)
            for found, read in ((teacher, wide), (output, batch))
        )
        value, parts = vector_loss(vectors, target)
        alike = torch.from_numpy(np.flatnonzero(self.theirs.lengths[index] == self.ours.lengths[index]))
        if len(alike) >= FEWEST_ALIKE:
            mask = batch["attention_mask"][alike]
            width = int(mask.sum(1).max())
            theirs, ours = (_part(found, alike, width) for found in (teacher, output))
            layers, _ = transfer_loss(theirs, ours, mask[:, :width])
            value, parts = value + layers, parts | {"layers": layers.item()}
        return value, {f"fresh_{name}": part for name, part in parts.items()}


def _part(output: EncoderOutput, rows: Tensor, width: int) -> EncoderOutput:
    """Some texts of a captured batch and their first `width` positions."""
    return EncoderOutput(
        output.last_hidden_state[rows, :width],
        output.pooled[rows],
        [states[rows, :width] for states in output.hidden_states],
        [scores[rows][..., :width, :width] for scores in output.attention_scores],
    )


if __name__ == "__main__":
    run(main)
