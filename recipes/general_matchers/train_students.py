"""Train several small sentence encoders at once on the vectors of two teachers, on an accelerator.

The teachers read along, so that texts can be new at every step (`recipes.general_matchers.text_stream`). Word
embeddings are product codes whose codebooks are trained, and from a share of the budget on matrices are
rounded to four bits in every step, so that the rest learns to do with them. The learning rate falls with
what is left of the budget; the same call resumes, and on other inputs refuses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from mobilebert_matching.mining.job import read_texts
from mobilebert_models import EncoderConfig, find_directory, load_pretrained, save_pretrained
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.checkpoint import save_whole
from mobilebert_training.distillation.losses import vector_losses
from mobilebert_training.distillation.vector_targets import fit_target_map
from mobilebert_training.run_directory import claim, locked, model_hashes
from recipes.general_matchers.batches import TrainingTexts
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import device, moved
from recipes.general_matchers.phrase_questions import PhraseQuestions, read_words
from recipes.general_matchers.prune import prune
from recipes.general_matchers.stages import note, rate_at, recipe_inputs
from recipes.general_matchers.teachers import read_sources, read_text_column
from recipes.general_matchers.text_stream import Batch, TextStream
from recipes.general_matchers.train_trunk import (
    ASKED,
    EMBEDDING_STEPS,
    counted,
    looked_at,
    teacher_with_vocabulary,
)
from recipes.general_matchers.trainable_grids import (
    Layers,
    begin_rounding,
    is_rounding,
    linear_layers,
    make_ordinary,
    make_trainable,
)
from recipes.general_matchers.trunk import embed, held, sentence_vectors

NEAR, WIDE = "near", "wide"  # the teachers
NEAREST = 16  # near texts of each text
MAPPED_ON, ROTATED_ON = 65_536, 8192  # texts by which the wide teacher's vectors are mapped, targets rotated
NOTED, SAVED = 50, 120.0  # steps, seconds
DECAY = 0.01
PREFETCHED = 8  # batches that each worker makes ahead
NEAREST_BLOCK = 2048  # texts whose near ones are looked up at once


@dataclass(frozen=True)
class StudentConfig:
    """Of what a student is made, and how it is trained."""

    name: str  # of its folder
    shape: EncoderConfig
    parent: str = "minilm"  # model to prune, as far as OUT/NAME/start is not there
    four_bits: Layers = "all"  # linear layers that are rounded
    rate: float = 5e-4  # peak rate
    similarity: float = 1.0  # times that the similarities within a batch count in the loss

    def make(self, out: Path, texts: list[str], seed: int) -> Student:
        """The student, begun from `parent` where OUT/NAME/start is not there."""
        return Student(self, out, texts, seed)


@dataclass(frozen=True)
class TrunkTraining:
    """Who learns from whom, of what texts, for how long."""

    out: Path  # folder of the run; an interrupted run there is resumed
    cache: Path  # folder of texts.tsv
    sentences: Path  # more texts, one a line
    near: Path  # the teacher in whose width targets lie
    wide: Path  # the other one
    students: Sequence[StudentConfig]
    data: Path | None = None  # data sets, for real misspellings
    seconds: float = 500  # of training
    share: float = 0.3  # of the near teacher in the targets
    rounding: float = 0.6  # share of the budget after which weights are rounded
    noise: float = 0.15  # share of texts that are misspelt for the students
    size: int = 1024  # texts a batch
    workers: int = 12  # processes that make batches
    questions: bool = False  # three eighths of each batch are questions about the phrases of `sentences`
    words: Path | None = None  # words for these questions with their frequencies, see `read_words`
    seed: int = 0


class Teachers:
    """Both teachers on the device, and what they say as one target.

    Attributes:
        tokenizers: by teacher.
        map: (W, H), of the wide teacher's vectors into the near one's width.
    """

    def __init__(self, near: Path, wide: Path, share: float) -> None:
        self.share, self.device = share, device()
        folders = {NEAR: near, WIDE: wide}
        self.tokenizers = {name: PairTokenizer.load(folder) for name, folder in folders.items()}
        self.encoders = {name: load_teacher(folder) for name, folder in folders.items()}
        self.map = torch.empty(0)

    def vectors(self, batch: Batch) -> dict[str, Tensor]:
        """Unit vectors (B, H) and (B, W) of a batch."""
        with torch.no_grad():
            return {n: sentence_vectors(e, moved(batch[n], self.device)) for n, e in self.encoders.items()}

    def read(self, texts: Sequence[str], size: int) -> dict[str, Tensor]:
        """Unit vectors of many texts, (N, H) and (N, W), `size` at a time."""
        return {
            name: torch.from_numpy(embed(encoder, self.tokenizers[name], texts, size)).to(self.device)
            for name, encoder in self.encoders.items()
        }

    def targets(self, vectors: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Unit targets (B, H), and how near the texts are to each other in both teachers' eyes, (B, B)."""
        near, wide = vectors[NEAR], vectors[WIDE]
        blend = self.share * near + (1 - self.share) * F.normalize(wide @ self.map, dim=-1)
        return F.normalize(blend, dim=-1), self.similarity(vectors, vectors)

    def similarity(self, some: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> Tensor:
        """The teachers' cosines of some texts with others, weighed by their shares: (B, C)."""
        shares = {NEAR: self.share, WIDE: 1 - self.share}
        return torch.stack([k * some[name] @ others[name].T for name, k in shares.items()]).sum(0)

    def nearest(self, vectors: Mapping[str, Tensor]) -> np.ndarray:
        """The nearest other texts of each text, (N, NEAREST), fewer where there are not so many."""
        found, texts = [], len(vectors[NEAR])
        for start in range(0, texts, NEAREST_BLOCK):
            some = {name: values[start : start + NEAREST_BLOCK] for name, values in vectors.items()}
            similarity = self.similarity(some, vectors)
            rows = torch.arange(len(similarity), device=similarity.device)
            similarity[rows, start + rows] = -torch.inf
            found.append(similarity.topk(min(NEAREST, texts - 1), dim=1).indices.cpu())
        return torch.cat(found).numpy()


def load_teacher(folder: Path) -> Encoder:
    """An encoder that only reads, on the device; on an accelerator in float16."""
    encoder = encoder_of(load_pretrained(folder)).eval().requires_grad_(False).to(device())
    return encoder.half() if device().type == "cuda" else encoder


class Student:
    """A student in training: its words are product codes, its matrices can be in four bits.

    Args:
        config: of what it is made.
        out: folder of the run.
        texts: by which a pruned parent's units and words are chosen.
        seed: of the parent's codes.

    Attributes:
        reader: name of the first student with its vocabulary; they read the same batches.
        rotation: (W, W), of the targets to where its vectors lie; these may be wider than W.
    """

    def __init__(self, config: StudentConfig, out: Path, texts: list[str], seed: int) -> None:
        self.config, self.folder, self.reader = config, out / config.name, config.name
        start = self.folder / "start"
        if not start.is_dir():
            self.begin(start, texts, seed)
        self.tokenizer, self.encoder = PairTokenizer.load(start), encoder_of(load_pretrained(start))
        self.encoder.pooler = None
        self.make_trainable()
        self.encoder.to(device())
        parameters = list(self.encoder.parameters())
        groups = [
            {"params": [p for p in parameters if p.ndim == 2], "weight_decay": DECAY},
            {"params": [p for p in parameters if p.ndim != 2], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=config.rate, betas=(0.9, 0.98), fused=True)
        self.rotation = torch.empty(0)

    def begin(self, start: Path, texts: list[str], seed: int) -> None:
        """Write the encoder that training begins with."""
        teacher, source = teacher_with_vocabulary(self.config.parent, self.config.shape, texts, self.folder)
        known = TrainingTexts(texts, PairTokenizer.load(source), Misspeller(None), 0.0, seed)
        counts = counted(known, self.config.shape.vocab_size)
        pruned = prune(teacher, self.config.shape, counts, looked_at(known), EMBEDDING_STEPS, seed)
        save_pretrained(pruned, start, tokenizer_from=source)

    def make_trainable(self) -> None:
        """Train codebooks, and what is rounded later."""
        make_trainable(self.encoder, linear_layers(self.encoder, self.config.four_bits))

    def step(self, batch: Batch, target: Tensor, similarity: Tensor, rate: float, done: float) -> Tensor:
        """Learn from a batch at a rate when a share of the budget is used; the parts of the loss, (K,)."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        loss, parts = self.loss(batch, target @ self.rotation, similarity, done)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.encoder.parameters(), 1.0)
        self.optimiser.step()
        return torch.stack([part.detach() for part in parts.values()])

    def loss(
        self,
        batch: Batch,
        target: Tensor,
        similarity: Tensor,
        done: float,  # noqa: ARG002 (of students whose loss changes)
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """`vector_losses` of a batch."""
        with on_device_products():
            ours = sentence_vectors(self.encoder, moved(batch[self.reader], device()))
        return vector_losses(ours, target, similarity, self.config.similarity)

    def write(self) -> None:
        """Write the encoder as an ordinary model directory, NAME/trunk."""
        make_ordinary(self.encoder.cpu())
        save_pretrained(self.encoder.eval(), self.folder / "trunk", tokenizer_from=self.folder / "start")


def on_device_products() -> torch.autocast:
    """bfloat16 products on an accelerator."""
    return torch.autocast(device().type, torch.bfloat16, enabled=device().type == "cuda")


def train_students(config: TrunkTraining, progress: Callable[[str], None] = lambda _: None) -> None:
    """Train for what is left of the budget, and write OUT/NAME/trunk of every student.

    Args:
        config: who learns from whom.
        progress: called with what is done and with each line of the record.

    Raises:
        DataError: questions are asked for, and the sentences have no phrases for them, or the words no
            frequencies.
        ResumeError: OUT holds a run with other inputs, or another process works there.
    """
    words = read_words(config.words) if config.words else None
    with locked(config.out):
        claim(config.out, "students", inputs_of(config))
        _train_students(config, words, progress)


def inputs_of(config: TrunkTraining) -> dict[str, Any]:
    """What decides the students' weights; a run may be given more seconds later."""
    parents = {student.parent for student in config.students}
    options = ("share", "rounding", "noise", "size", "questions", "seed")
    models = {
        "students": [repr(student) for student in config.students],
        "teachers": [model_hashes(config.near), model_hashes(config.wide)],
        "parents": {name: model_hashes(find_directory(name)) for name in sorted(parents)},
    }
    read = recipe_inputs(config.data, config.cache / "texts.tsv", config.sentences, config.words)
    return {name: getattr(config, name) for name in options} | models | read


def _train_students(
    config: TrunkTraining, words: Mapping[str, float] | None, progress: Callable[[str], None]
) -> None:
    torch.manual_seed(config.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    texts = read_text_column(config.cache / "texts.tsv")
    students = [student.make(config.out, texts, config.seed) for student in config.students]
    progress(f"{len(students)} students are there")
    used, step = _take_up(config.out, students)
    if used < config.seconds:
        _train(config, students, texts, words, used, step, progress)
    for student in students:
        student.write()


def _train(
    config: TrunkTraining,
    students: list[Student],
    texts: list[str],
    words: Mapping[str, float] | None,
    used: float,
    step: int,
    progress: Callable[[str], None],
) -> None:
    where, first = device(), held(len(texts))
    sentences = read_texts([config.sentences])
    questions = PhraseQuestions(sentences, words) if config.questions else None  # refuses before any reading
    teachers = Teachers(config.near, config.wide, config.share)
    vectors = teachers.read(texts, config.size)
    held_out = {name: values[:first] for name, values in vectors.items()}
    vectors = {name: values[first:] for name, values in vectors.items()}
    wide, near = (vectors[name][:MAPPED_ON].cpu().numpy() for name in (WIDE, NEAR))
    teachers.map = torch.from_numpy(fit_target_map(wide, near)).to(where, torch.float32)
    _find_readers(students)
    if step == 0:
        _rotate_targets(students, teachers, vectors, texts[first:], config.size)
    stream = TextStream(
        texts[first:],
        np.where(np.isin(read_sources(config.cache / "texts.tsv"), ASKED), 2.0, 1.0)[first:],
        teachers.nearest(vectors),
        sentences,
        questions,
        teachers.tokenizers,
        {student.reader: student.tokenizer for student in students},
        Misspeller(config.data / MISSPELLINGS if config.data else None),
        config.noise,
        config.size,
        config.seed + step,
    )
    progress(f"teachers have read {len(texts):,} texts; {len(sentences):,} sentences beside them")
    batches: Iterator[Batch] = iter(
        DataLoader(
            stream,
            batch_size=None,
            num_workers=config.workers,
            prefetch_factor=PREFETCHED if config.workers else None,
            pin_memory=where.type == "cuda",
        )
    )
    rounded = any(is_rounding(student.encoder) for student in students)
    saved, began = used, time.monotonic() - used
    sums = [torch.zeros((), device=where) for _ in students]
    for student in students:
        student.encoder.train()
    while used < config.seconds:
        batch = next(batches)
        if not rounded and used > config.rounding * config.seconds:
            rounded = True
            for student in students:
                begin_rounding(student.encoder, moved(batch[student.reader], where))
        target, similarity = teachers.targets(teachers.vectors(batch))
        for row, student in enumerate(students):
            rate = rate_at(used / config.seconds, step, student.config.rate)
            sums[row] = sums[row] + student.step(batch, target, similarity, rate, used / config.seconds)
        step += 1
        if step % NOTED == 0:
            names = [student.config.name for student in students]
            by_name = {
                name: [round(part, 5) for part in (row / NOTED).tolist()]  # waits for the device
                for name, row in zip(names, sums, strict=True)
            }
            note(config.out, progress, step=step, seconds=round(used, 1), losses=by_name)
            sums = [torch.zeros((), device=where) for _ in students]
        used = time.monotonic() - began
        if used - saved > SAVED:
            _save(config.out, students, step, used)
            saved = used
    _save(config.out, students, step, used)
    target, _ = teachers.targets(held_out)
    fit = {}
    for student in students:
        ours = torch.from_numpy(embed(student.encoder, student.tokenizer, texts[:first], config.size))
        wanted = (target @ student.rotation).cpu()
        fit[student.config.name] = float((ours[:, : wanted.shape[1]] * wanted).sum(1).mean())
    note(config.out, progress, step=step, seconds=round(used, 1), finished=True, held_cosine=fit)


def _find_readers(students: Sequence[Student]) -> None:
    """Find the first student with each student's vocabulary."""
    for student in students:
        vocabulary = student.tokenizer.vocabulary()
        same = (other for other in students if other.tokenizer.vocabulary() == vocabulary)
        student.reader = next(same).config.name


def _rotate_targets(
    students: Sequence[Student],
    teachers: Teachers,
    vectors: Mapping[str, Tensor],
    texts: Sequence[str],
    size: int,
) -> None:
    """Rotate each student's targets to where its own vectors lie before training (orthogonal Procrustes)."""
    target, _ = teachers.targets({name: values[:ROTATED_ON] for name, values in vectors.items()})
    wanted = target.cpu().numpy()
    for student in students:
        ours = embed(student.encoder, student.tokenizer, texts[:ROTATED_ON], size)[:, : wanted.shape[1]]
        student.rotation = torch.from_numpy(fit_target_map(wanted, ours)).to(device(), torch.float32)


def _take_up(out: Path, students: Sequence[Student]) -> tuple[float, int]:
    """Seconds and steps of the run that was interrupted, whose weights and targets the students take."""
    path = out / "checkpoint.pt"
    if not path.is_file():
        return 0.0, 0
    state = torch.load(path, weights_only=True, map_location="cpu")
    for student in students:
        student.encoder.load_state_dict(state["models"][student.config.name])
        student.rotation = state["rotations"][student.config.name].to(device())
        student.optimiser.load_state_dict(state["optimisers"][student.config.name])
    return state["used"], state["step"]


def _save(out: Path, students: Sequence[Student], step: int, used: float) -> None:
    state: dict[str, Any] = {"used": used, "step": step}
    state["models"] = {student.config.name: student.encoder.state_dict() for student in students}
    state["rotations"] = {student.config.name: student.rotation for student in students}
    state["optimisers"] = {student.config.name: student.optimiser.state_dict() for student in students}
    save_whole(state, out / "checkpoint.pt")
