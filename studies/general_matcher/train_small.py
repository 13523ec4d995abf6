"""matcher-open-s: matcher-open-m's trunk pruned once more, with it and the large teachers' vectors to follow.

A batch is either texts with a target of the two large teachers or others, which matcher-open-m reads along; a
share of them is misspelt for the student alone. The same command resumes.

    python -m studies.general_matcher.train_small --large runs/general/m --out runs/general/s
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn
from typer import Option

from distill.init.cut_vocabulary import frequent_entries, write_cut_tokenizer
from mobilebert_runtime.tokenizer import PairTokenizer
from models import load_pretrained, packaged_directory, preset, save_pretrained
from models.layers import Encoder, encoder_of
from studies.common.script import Threads, run
from studies.general_matcher.batches import WINDOW, TrainingTexts, near_texts, window
from studies.general_matcher.development import development_figures
from studies.general_matcher.noise import Misspeller
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared, fast_products, generator
from studies.general_matcher.prune import prune
from studies.general_matcher.stages import Run, Settings, run_stage
from studies.general_matcher.teachers import read_texts
from studies.general_matcher.train_trunk import EMBEDDING_STEPS, PRUNED_ON, counted
from studies.general_matcher.trunk import HELD, Targets, embed, sentence_vectors, vector_loss


def main(
    large: Annotated[Path, Option(help="Run folder of matcher-open-m, finished or not.")],
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    seconds: Annotated[float, Option(min=0, help="Seconds of training.")] = 1500,
    rate: Annotated[float, Option(help="Peak learning rate.")] = 5e-4,
    size: Annotated[int, Option(min=2, help="Texts a batch.")] = 80,
    share: Annotated[float, Option(min=0, max=1, help="Of MiniLM in the target; the rest is MPNet.")] = 0.5,
    labelled: Annotated[float, Option(min=0, max=1, help="Share of batches with a target of both.")] = 0.3,
    noise: Annotated[float, Option(min=0, max=1, help="Share of their texts that are misspelt.")] = 0.25,
    seed: Annotated[int, Option(help="Of batches and misspellings.")] = 0,
    threads: Threads = 1,
) -> None:
    """Prune, heal, and write OUT/trunk."""
    torch.set_num_threads(threads)
    texts, folder, config = (
        read_texts(cache / "texts.tsv"),
        packaged_directory("minilm"),
        preset("matcher-open-s"),
    )
    misspell = Misspeller(shared / "data/typos/words.tsv")
    out.mkdir(parents=True, exist_ok=True)
    trunk = latest(large)
    if not (out / "pruned").is_dir():
        kept = frequent_entries(folder, texts, config.vocab_size)
        write_cut_tokenizer(folder, kept, out / "tokenizer")
    known = TrainingTexts(texts, PairTokenizer.load(out / "tokenizer"), misspell, noise, seed)
    if not (out / "pruned").is_dir():
        seen = [known.batch(rows) for rows in np.arange(HELD, HELD + PRUNED_ON).reshape(-1, 50)]
        pruned = prune(
            reading(trunk, kept), config, counted(known, config.vocab_size), seen, EMBEDDING_STEPS, seed
        )
        save_pretrained(pruned, out / "pruned", tokenizer_from=out / "tokenizer")
    student = encoder_of(load_pretrained(out / "pruned"))
    theirs = TrainingTexts(texts, PairTokenizer.load(folder), misspell, noise, seed)
    targets = Targets(cache, len(texts), share)

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

    def loss(index: np.ndarray, step: int) -> tuple[Tensor, dict[str, float]]:
        rows = index if index[0] >= 0 else -1 - index
        with fast_products():
            ours = sentence_vectors(student, known.noisy_batch(rows, step))
            if index[0] < 0:
                with torch.no_grad():
                    target = sentence_vectors(trunk, theirs.batch(rows))
            else:
                target = torch.from_numpy(targets.values[rows])
        value, parts = vector_loss(ours, target)
        prefix = "fresh_" if index[0] < 0 else ""
        return value, {f"{prefix}{name}": part for name, part in parts.items()}

    def figures() -> dict[str, float]:
        found = development_figures(lambda t: embed(student, known.tokenizer, t), shared / "data")
        rows = np.flatnonzero(targets.there[:HELD])
        vectors = embed(student, known.tokenizer, [texts[i] for i in rows])
        return {"held_cosine": round(float((vectors * targets.values[rows]).sum(1).mean()), 4)} | found

    run_stage(Run(out, student), "heal", Settings(rate, seconds), drawn, loss, figures)
    student.eval()
    save_pretrained(student, out / "trunk", tokenizer_from=out / "tokenizer")


def latest(large: Path) -> Encoder:
    """The trunk of a run, or what its last checkpoint holds."""
    if (large / "trunk").is_dir():
        return encoder_of(load_pretrained(large / "trunk"))
    encoder = encoder_of(load_pretrained(large / "pruned"))
    encoder.load_state_dict(torch.load(large / "checkpoint.pt", weights_only=True)["model"])
    return encoder.eval()


def reading(encoder: Encoder, kept: list[int]) -> Encoder:
    """A copy that reads the entries `kept` of its vocabulary."""
    cut = copy.deepcopy(encoder)
    cut.embeddings.word_embeddings = nn.Embedding.from_pretrained(
        encoder.embeddings.word_embeddings.weight[torch.tensor(kept)].detach(), freeze=True
    )
    cut.config = replace(encoder.config, vocab_size=len(kept))
    return cut


if __name__ == "__main__":
    run(main)
