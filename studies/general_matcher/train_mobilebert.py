"""MobileBERT-tiny and MobileBERT (Table 1 of the paper) under two teachers, on an accelerator.

The teachers read along, as for matcher-open-s (`recipes.general_matchers.train_students`). In the first part
of the budget MiniLM's layers teach too: four student layers to each, all at once (section 3.6).

    python -m studies.general_matcher.train_mobilebert --out runs/general/mobilebert

The same command resumes. OUT/NAME/trunk is a sentence-transformers folder, which `mobilebert export` reads.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F
from typer import Option

from mobilebert_models import find_directory, preset, save_pretrained
from mobilebert_models.loading.embedders import save_embedder
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.losses import vector_losses
from mobilebert_training.initialization.deeper_student import as_teacher, fitted_start
from recipes.general_matchers.batches import TrainingTexts
from recipes.general_matchers.noise import Misspeller
from recipes.general_matchers.numerics import device, moved
from recipes.general_matchers.text_stream import Batch
from recipes.general_matchers.train_students import (
    NEAR,
    Student,
    StudentConfig,
    TrunkTraining,
    load_teacher,
    on_device_products,
    train_students,
)
from recipes.general_matchers.train_trunk import teacher_with_vocabulary
from recipes.general_matchers.trunk import transfer_loss
from studies.common.script import console, run
from studies.general_matcher.options import (
    CACHE,
    MPNET,
    SENTENCES,
    SHARED,
    Cache,
    NearShare,
    Noise,
    Seconds,
    Sentences,
    Shared,
    Size,
    Wide,
    Workers,
)

ARCHS = ("mobilebert-tiny", "mobilebert")
TRANSFER = 0.4  # share of the budget in which layers are compared


class DeeperStudent(Student):
    """A student with several layers to each layer of the teacher in whose width targets lie."""

    def __init__(self, config: StudentConfig, out: Path, texts: list[str], seed: int) -> None:
        super().__init__(config, out, texts, seed)
        self.teacher = load_teacher(find_directory(config.parent))

    def begin(self, start_at: Path, texts: list[str], seed: int) -> None:
        """Write the encoder that training begins with: see `fitted_start`."""
        shape = self.config.shape
        teacher, folder = teacher_with_vocabulary(self.config.parent, shape, texts, self.folder)
        known = TrainingTexts(texts, PairTokenizer.load(folder), Misspeller(None), 0.0, seed)
        rows = [known.encoded[i] for i in known.usable]
        begun = fitted_start(shape, teacher, known.tokenizer, rows, seed)
        save_pretrained(begun, start_at, tokenizer_from=folder)

    def make_trainable(self) -> None:
        """Every weight is trained as it is."""

    def loss(
        self, batch: Batch, target: Tensor, similarity: Tensor, done: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """`vector_losses`; at first the layers' too, of texts as the teacher reads them."""
        if done > TRANSFER:
            loss, parts = super().loss(batch, target, similarity, done)
            return loss, parts | {"layers": torch.zeros_like(loss)}
        read = moved(batch[NEAR], device())
        with on_device_products():
            with torch.no_grad():
                theirs = self.teacher(**read, capture=True)
            output = self.encoder(**read, capture=True)
        layers, _ = transfer_loss(theirs, as_teacher(output, self.teacher.config), read["attention_mask"])
        hidden = output.last_hidden_state.float()
        ours = F.normalize(pooled(hidden, read["attention_mask"]), dim=-1)
        loss, parts = vector_losses(ours, target, similarity)
        return loss + layers, parts | {"layers": layers}

    def write(self) -> None:
        """Write NAME/trunk."""
        save_embedder(self.encoder.cpu().eval(), self.folder / "trunk", tokenizer_from=self.folder / "start")


class DeeperConfig(StudentConfig):
    """Of what a deeper student is made."""

    def make(self, out: Path, texts: list[str], seed: int) -> Student:
        """The student, begun near its teacher where OUT/NAME/start is not there."""
        return DeeperStudent(self, out, texts, seed)


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is resumed.")],
    arch: Annotated[list[str] | None, Option(help="Presets of the students.")] = None,
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    sentences: Sentences = SENTENCES,
    near: Annotated[str, Option(help="Teacher whose layers are followed.")] = "minilm",
    wide: Wide = MPNET,
    seconds: Seconds = 500,
    rate: Annotated[float, Option(help="Peak rate.")] = 5e-4,
    share: NearShare = 0.3,
    noise: Noise = 0.15,
    size: Size = 1024,
    workers: Workers = 7,
    seed: Annotated[int, Option(help="Of fresh weights, texts, misspellings and edits.")] = 0,
) -> None:
    """Train, and write OUT/ARCH/trunk of every student."""
    shapes = {name: replace(preset(name), attention_probs_dropout_prob=0.0) for name in arch or ARCHS}
    config = TrunkTraining(
        out=out,
        cache=cache,
        sentences=sentences,
        near=find_directory(near),
        wide=find_directory(wide),
        students=[DeeperConfig(name, shape, near, rate=rate) for name, shape in shapes.items()],
        data=shared / "data",
        seconds=seconds,
        share=share,
        noise=noise,
        size=size,
        workers=workers,
        questions=True,
        seed=seed,
    )
    train_students(config, console().print)


if __name__ == "__main__":
    run(main)
