"""From text to trunk: a bottleneck student learns MiniLM's layers and both teachers' sentence vectors.

    python -m recipes.mobilebert_trunk.train --out ~/mission/run --mpnet FOLDER

The same command resumes, from the last checkpoint; on other inputs it refuses. `--hours` counts the
processor's hours and may change between calls: the rate stays at its peak until a fifth of them is left, and
falls to nothing from there. OUT/record.jsonl has losses and figures, OUT/trunk the weights once all is done.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from torch import Tensor, nn
from torch.nn import functional as F
from typer import Option

from mobilebert_models import EncoderConfig, load_pretrained, preset, read_config, save_pretrained
from mobilebert_models.loading.packaged import packaged_directory
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_models.weights.word_codes import looks_coded
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import file_sha256, save_array
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.checkpoint import save_whole
from mobilebert_training.distillation.losses import vector_losses
from mobilebert_training.distillation.vector_targets import fit_target_map
from mobilebert_training.training_config import ResumeError
from recipes.general_matchers.batches import window
from recipes.general_matchers.near import neighbours
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import fast_products, generator
from recipes.general_matchers.pool import SHARD, Pool, write_pool_once
from recipes.general_matchers.prune import coded_words
from recipes.general_matchers.stages import note
from recipes.general_matchers.teachers import MAX_LENGTH, MPNET_SHA256, Encode, load_minilm, load_mpnet
from recipes.general_matchers.trunk import sentence_vectors, transfer_loss
from recipes.mobilebert_trunk.start import warm_start
from recipes.mobilebert_trunk.watch import agreement, embedder, free_figures
from studies.common.script import console, run

HELD = 2048  # first texts of the pool, which are not trained on
BEGIN = 2  # shards that the teachers have read before training begins
NOTED, SAVED, MEASURED = 50, 180.0, 900.0  # steps; processor seconds between two of each
WARM_UP, DECAY = 60, 0.01
CODED = 2  # columns of a word embedding that share a code: four bits a number
FITTED_ON, FITTED_AT_ONCE = 2400, 48  # texts that the start is fitted to; of a batch

# matcher-m's network with MiniLM's positions cut, word embeddings twice as wide, and no pooler.
SHAPE = replace(
    preset("matcher-m"), embedding_size=256, max_position_embeddings=128, classifier_activation=False
)


@dataclass(frozen=True)
class Settings:
    """How the student is trained; a checkpoint belongs to one of these."""

    rate: float = 2.5e-4  # peak rate
    size: int = 256  # texts a batch
    share: float = 0.3  # of MiniLM in the targets; the rest is MPNet
    noise: float = 0.15  # share of texts that are misspelt for the student
    layers: float = 3600.0  # processor seconds at first in which layers are compared and words learned, too
    reading: float = 0.35  # share of the time that the teachers get until they have read all texts
    average: float = 0.999  # of the weights that are measured and written: kept in every step
    seed: int = 0


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is taken up again.")],
    mpnet: Annotated[Path, Option(help="Folder of all-mpnet-base-v2.")],
    shared: Annotated[Path, Option(help="Folder with data/ and corpora/.")] = Path("../shared"),
    start: Annotated[
        Path | None, Option(help="Begin from this encoder of MiniLM's width, layers and heads instead.")
    ] = None,
    hours: Annotated[float, Option(min=0.01, help="Processor hours, all in all.")] = 10.0,
    threads: Annotated[int, Option(min=1, help="Threads of the products.")] = 1,
    read_beside: Annotated[
        bool,
        Option("--read-beside", help="`recipes.mobilebert_trunk.read` runs beside it and reads."),
    ] = False,
) -> None:
    """Train for what is left of the hours, then write OUT/trunk."""
    torch.set_num_threads(threads)
    settings, minilm = Settings(), packaged_directory("minilm")
    tokenizer = PairTokenizer.load(minilm)
    write_pool_once(shared, out / "pool", tokenizer)
    files = [out / "pool/texts.tsv", minilm / "model.safetensors"]
    files += [] if start is None else [start / "model.safetensors"]
    shape = SHAPE if start is None else read_config(start)
    training = Training(
        out,
        shared / "data",
        minilm,
        lambda: (load_minilm(), load_mpnet(mpnet)),
        shape,
        settings,
        input_hash(settings, shape, files),
        start,
        read_beside,
    )
    training.run(hours * 3600)
    save_pretrained(training.averaged.eval(), out / "trunk", tokenizer_from=minilm)


def input_hash(settings: Settings, shape: EncoderConfig, files: list[Path]) -> str:
    """One hash of all that decides what a run learns."""
    parts = [asdict(settings), shape.to_dict(), [file_sha256(path) for path in files], MPNET_SHA256]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def load_state(path: Path, inputs: str) -> dict[str, Any]:
    """The checkpoint of a run, empty where there is none.

    Raises:
        ResumeError: it is of a run on other inputs.
    """
    if not path.is_file():
        return {}
    state: dict[str, Any] = torch.load(path, weights_only=True)
    if state["inputs"] != inputs:
        raise ResumeError(
            f"{path}: holds a run on other texts, teachers, shape or settings; give another --out"
        )
    return state


class Training:
    """A run: the student, its average, its optimiser, and the pool that teachers read meanwhile.

    Args:
        out: folder of the run, with the pool in it.
        data: data sets, for figures and misspellings; neither without it.
        folder: of the teacher whose layers are compared.
        readers: opens the two who read the pool; called only where it is not read.
        shape: of the student.
        settings: how it is trained.
        inputs: `input_hash`.
        start: model directory that the student begins from; without one it is made near the teacher.
        read_beside: whether another process lets the teachers read the pool.

    Raises:
        DataError: another process shall read the pool and has not begun.
        ResumeError: see `load_state`.
    """

    def __init__(
        self,
        out: Path,
        data: Path | None,
        folder: Path,
        readers: Callable[[], tuple[Encode, Encode]],
        shape: EncoderConfig,
        settings: Settings,
        inputs: str,
        start: Path | None = None,
        read_beside: bool = False,
    ) -> None:
        self.start = start or out / "start"
        self.out, self.data, self.settings, self.inputs = out, data, settings, inputs
        self.folder, self.shape = folder, shape
        self.step, self.used, self.seen = 0, 0.0, 0
        self.reading = 0.0  # of the used seconds
        state = load_state(out / "checkpoint.pt", inputs)
        self.tokenizer = PairTokenizer.load(folder)
        self.pool = Pool(out / "pool", self.tokenizer)
        self.teacher = encoder_of(load_pretrained(folder)).eval().requires_grad_(False)
        self.read_beside = read_beside
        self.readers = None if self.pool.complete or read_beside else readers()
        self.misspell = Misspeller(data / MISSPELLINGS if data else None)
        while self.pool.read < min(BEGIN * SHARD, len(self.pool.texts)):
            self._read()
        self.map = self._target_map()
        self.student = self._started()
        self.averaged = encoder_of(load_pretrained(self.start))
        self.averaged.pooler = None
        groups = [
            {"params": [p for p in self.student.parameters() if p.ndim > 1], "weight_decay": DECAY},
            {"params": [p for p in self.student.parameters() if p.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.98), fused=True)
        if state:
            self.student.load_state_dict(state["student"])
            self.averaged.load_state_dict(state["averaged"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step, self.used, self.seen = state["step"], state["used"], state["seen"]
            self.reading = state["reading"]
        self.near, self.near_of = neighbours(self.pool.near[: self.pool.read]), self.pool.read

    def _read(self) -> None:
        if self.readers is None:
            raise DataError(
                f"{self.pool.folder}: {self.pool.read:,} texts are read; training begins at {BEGIN * SHARD:,}"
            )
        began = time.process_time()
        self.pool.read_shard(*self.readers)
        spent = time.process_time() - began
        self.used += spent
        self.reading += spent
        self._note(read=self.pool.read, texts_a_second=round(SHARD / spent, 1))

    def _read_on(self) -> None:
        """Let the teachers read when their time is not used up, or take what they have read beside."""
        if self.read_beside:
            self.pool.refresh()
        elif not self.pool.complete and self.reading < self.settings.reading * self.used:
            self._read()
        if self.pool.read > 1.5 * self.near_of or (self.pool.complete and self.near_of < self.pool.read):
            self.near, self.near_of = neighbours(self.pool.near[: self.pool.read]), self.pool.read

    def _target_map(self) -> np.ndarray:
        path = self.out / "map.npy"
        if not path.is_file():
            read = slice(0, BEGIN * SHARD)
            save_array(path, fit_target_map(self.pool.wide[read], self.pool.near[read]).astype(np.float32))
        found: np.ndarray = np.load(path)
        return found

    def _started(self) -> Encoder:
        if not self.start.is_dir():
            batches = self.pool.batches(
                np.arange(HELD, min(HELD + FITTED_ON, self.pool.read)), FITTED_AT_ONCE
            )
            counts = np.bincount(self.pool.ids[: self.pool.starts[-1] // 4], minlength=self.shape.vocab_size)
            begun = warm_start(self.shape, self.teacher, batches, counts, self.settings.seed)
            save_pretrained(begun, self.start, tokenizer_from=self.folder)
        student = encoder_of(load_pretrained(self.start))
        student.pooler = None
        return student

    def run(self, budget: float) -> None:
        """Train until so many processor seconds are used."""
        if self.step == 0:
            self._note(start=True, dev=self.figures(self.student))
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        saved = measured = self.used
        sums: dict[str, list[Tensor]] = {}
        batches: list[np.ndarray] = []
        noted, noted_texts = time.process_time(), self.seen
        self.student.train()
        with Progress(*columns, console=console()) as bar:
            shown = bar.add_task("training", total=budget, completed=int(self.used))
            while self.used < budget:
                began = time.process_time()
                self._read_on()
                noted += time.process_time() - began
                began = time.process_time()
                batches = batches or self._window()
                if self._vectors_only() and self._words(self.student).requires_grad:
                    self._keep_words()
                for name, part in self._learn(batches.pop(), budget).items():
                    sums.setdefault(name, []).append(part.detach())
                self.used += time.process_time() - began
                bar.update(shown, completed=self.used, description=f"step {self.step:,}")
                if self.step % NOTED == 0:
                    losses = {name: round(float(torch.stack(p).mean()), 5) for name, p in sums.items()}
                    rate = (self.seen - noted_texts) / (time.process_time() - noted)
                    self._note(losses=losses, texts_a_second=round(rate, 1))
                    sums, noted, noted_texts = {}, time.process_time(), self.seen
                if self.used - measured > MEASURED:
                    self._note(dev=self.figures(self.averaged))
                    measured, noted, noted_texts = self.used, time.process_time(), self.seen
                if self.used - saved > SAVED:
                    self._save()
                    saved = self.used
        self._save()
        self._note(finished=True, dev=self.figures(self.averaged))

    def _vectors_only(self) -> bool:
        """Layers have been compared for long enough."""
        return self.used - self.reading > self.settings.layers

    @staticmethod
    def _words(encoder: Encoder) -> nn.Parameter:
        table: nn.Parameter = encoder.embeddings.word_embeddings.weight
        return table

    def _keep_words(self) -> None:
        """From here on word embeddings stay as product codes, and all else is learned around them."""
        words = self._words(self.averaged).detach()
        if not looks_coded(words):
            counts = np.bincount(self.pool.ids, minlength=len(words))
            table = coded_words(words, counts, self.settings.seed, CODED)
            with torch.no_grad():
                for encoder in (self.student, self.averaged):
                    self._words(encoder).copy_(table)
        self._words(self.student).requires_grad_(False)

    def _window(self) -> list[np.ndarray]:
        draw = generator(f"{self.settings.seed} {self.step}")
        near = self.near if draw.random() < 0.5 else None
        known = np.arange(HELD, self.near_of if near is not None else self.pool.read)
        batches = window(known, self.pool.lengths, self.settings.size, (self.settings.seed, self.step), near)
        return [batch[batch >= HELD] for batch in batches]

    def _learn(self, index: np.ndarray, budget: float) -> dict[str, Tensor]:
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.rate * rate_factor(self.step, self.used, budget)
        loss, parts = self._loss(index)
        self.optimiser.zero_grad()
        loss.backward()
        parts["gradient"] = nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        self.seen += len(index)
        with torch.no_grad():
            kept = min(self.settings.average, self.step / (self.step + 10))
            for ours, theirs in zip(self.averaged.parameters(), self.student.parameters(), strict=True):
                ours.lerp_(theirs, 1 - kept)
        return parts

    def _loss(self, index: np.ndarray) -> tuple[Tensor, dict[str, Tensor]]:
        target, similarity = self._targets(index)
        if self._vectors_only():
            with fast_products():
                ours = sentence_vectors(self.student, self._noisy(index))
            return vector_losses(ours, target, similarity)
        batch = self.pool.batch(index)
        mask = batch["attention_mask"]
        with fast_products():
            with torch.no_grad():
                theirs = self.teacher(**batch, capture=True)
            output = self.student(**batch, capture=True)
        ours = F.normalize(pooled(output.last_hidden_state.float(), mask), dim=-1)
        loss, parts = vector_losses(ours, target, similarity)
        layers, more = transfer_loss(theirs, output, mask)
        return loss + layers, parts | {name: torch.tensor(part) for name, part in more.items()}

    def _targets(self, index: np.ndarray) -> tuple[Tensor, Tensor]:
        """Unit targets (B, H), and the teachers' cosines of the texts with each other, (B, B)."""
        share = self.settings.share
        near, wide = (torch.from_numpy(v[index].astype(np.float32)) for v in (self.pool.near, self.pool.wide))
        blend = share * near + (1 - share) * F.normalize(wide @ torch.from_numpy(self.map), dim=-1)
        return F.normalize(blend, dim=-1), share * near @ near.T + (1 - share) * wide @ wide.T

    def _noisy(self, index: np.ndarray) -> dict[str, Tensor]:
        draw = generator(f"{self.settings.seed} {self.step} noise")
        rows = [self.pool.row(i) for i in index]
        noisy = [k for k in range(len(index)) if draw.random() < self.settings.noise]
        wrong = [self.misspell.noisy(self.pool.texts[index[k]], draw) for k in noisy]
        for k, (ids, _) in zip(noisy, self.tokenizer.ids(wrong, MAX_LENGTH), strict=True):
            rows[k] = ids
        return self.pool.batch_of(rows)

    def figures(self, encoder: Encoder) -> dict[str, float]:
        """Of an encoder, on free data and on the texts held out."""
        embed = embedder(encoder, self.tokenizer)
        target, similarity = self._targets(np.arange(HELD))
        held = agreement(embed(self.pool.texts[:HELD]), target.numpy(), similarity.numpy())
        return (free_figures(embed, self.data) if self.data else {}) | held

    def _save(self) -> None:
        state = {
            "inputs": self.inputs,
            "student": self.student.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "used": self.used,
            "seen": self.seen,
            "reading": self.reading,
        }
        save_whole(state, self.out / "checkpoint.pt")

    def _note(self, **values: Any) -> None:
        known = {"step": self.step, "seconds": round(self.used, 1), "texts": self.seen}
        note(self.out, console().print, **(known | values))


def rate_factor(step: int, used: float, budget: float) -> float:
    """Of the peak rate: a warm-up, a plateau, and a fall to nothing in the last fifth of the budget."""
    return min(1.0, (step + 1) / WARM_UP) * min(1.0, max(0.0, 5 * (1 - used / budget)))


if __name__ == "__main__":
    run(main)
