"""MobileBERT-tiny (24 layers; Table 1 and appendix E of the paper) as a sentence encoder of two teachers.

Stages, each with a budget in processor seconds of training (the start, evaluation and loading not counted):

- joint: feature maps, attention and sentence vectors of MiniLM, four student layers to each of its layers
  (joint knowledge transfer, MobileBERT section 3.6);
- vectors: mean-pooled vectors against those of MiniLM and MPNet, as for matcher-open-m.

    python -m studies.general_matcher.train_mobilebert_tiny --out runs/general/tiny

The same command resumes, and refuses on other inputs. OUT/trunk is a sentence-transformers folder, which
`mobilebert export` reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Option

from mobilebert_models import find_directory, load_pretrained, preset, save_pretrained
from mobilebert_models.networks.layers import Encoder, EncoderOutput, encoder_of
from mobilebert_runtime.files import refuse_finished, write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.run_directory import claim, code_hash, locked, model_hashes
from recipes.general_matchers.batches import TrainingTexts
from recipes.general_matchers.noise import MISSPELLINGS, Misspeller
from recipes.general_matchers.numerics import fast_products
from recipes.general_matchers.stages import Run, Settings, recipe_inputs, run_stage
from recipes.general_matchers.teachers import read_text_column
from recipes.general_matchers.train_trunk import STAGES, TrunkStages, teacher_with_vocabulary
from recipes.general_matchers.trunk import Targets
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.deeper_student import as_teacher, fitted_start
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is resumed.")],
    arch: Annotated[str, Option(help="Preset of the student.")] = "mobilebert-tiny",
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    joint: Annotated[float, Option(min=0, help="Processor seconds of the first stage.")] = 500,
    vectors: Annotated[float, Option(min=0, help="Processor seconds of the second stage.")] = 800,
    transfer_rate: Annotated[float, Option(help="Peak rate of joint.")] = 2e-4,
    rate: Annotated[float, Option(help="Peak rate of vectors.")] = 2e-4,
    size: Annotated[int, Option(min=2, help="Labelled texts a batch.")] = 64,
    noise: Annotated[float, Option(min=0, max=1, help="Share of texts that are misspelt.")] = 0.25,
    share: Annotated[float, Option(min=0, max=1, help="Of MiniLM in the target; the rest is MPNet.")] = 0.35,
    fresh: Annotated[float, Option(min=0, max=1, help="Share of batches with MiniLM's vectors alone.")] = 0.0,
    seed: Annotated[int, Option(help="Of fresh weights, batches and misspellings.")] = 0,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Run what is not finished, and write OUT/trunk."""
    refuse_finished(out / "trunk", force=force)
    options = {"transfer_rate": transfer_rate, "rate": rate, "size": size, "noise": noise, "share": share}
    inputs = options | {
        "arch": arch,
        "fresh": fresh,
        "seed": seed,
        "teacher": model_hashes(find_directory("minilm")),
        "study": code_hash(("studies.general_matcher",)),
    }
    with locked(out):
        claim(out, "trunk", inputs | recipe_inputs(shared / "data", cache / "texts.tsv"), force=force)
        torch.set_num_threads(threads)
        texts = read_text_column(cache / "texts.tsv")
        config = replace(preset(arch), attention_probs_dropout_prob=0.0)
        teacher, folder = teacher_with_vocabulary("minilm", config, texts, out)
        misspell = Misspeller(shared / "data" / MISSPELLINGS)
        known = TrainingTexts(texts, PairTokenizer.load(folder), misspell, noise, seed)
        if not (out / "start").is_dir():
            begun = fitted_start(config, teacher, known, seed)
            save_pretrained(begun, out / "start", tokenizer_from=folder)
        student = encoder_of(load_pretrained(out / "start"))
        stages = DeeperStages(teacher, student, known, shared / "data", cache, seed)
        progress = Run(out, student, console().print)
        if not progress.stage:
            progress.note(start=True, dev=stages.figures())
        todo = STAGES[STAGES.index(progress.stage) if progress.stage else 0 :]
        if "joint" in todo:
            settings = Settings(transfer_rate, joint, processor=True)
            run_stage(progress, "joint", settings, stages.plain, stages.transfer, stages.figures)
        targets = Targets(cache, len(texts), share)
        draw = stages.mixed(targets, fresh, size, np.ones(len(texts), int))
        loss = stages.vectors(targets)
        settings = Settings(rate, vectors, processor=True)
        run_stage(progress, "vectors", settings, draw, loss, lambda: stages.figures(targets))
        write_embedder(student.eval(), out / "trunk", folder)


@dataclass(frozen=True)
class DeeperStages(TrunkStages):
    """Those of a student with several layers to each layer of its teacher."""

    def comparable(self, ours: EncoderOutput) -> EncoderOutput:
        """One of the student's layers to each of the teacher's."""
        return as_teacher(ours, self.teacher.config)

    def figures(self, targets: Targets | None = None) -> dict[str, float]:
        """Those of `TrunkStages`, in the products of training."""
        with fast_products():
            return super().figures(targets)


def write_embedder(encoder: Encoder, directory: Path, tokenizer: Path) -> None:
    """A sentence-transformers folder: the encoder, the mean over its tokens, unit length."""
    save_pretrained(encoder, directory, tokenizer_from=tokenizer)
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"idx": k, "name": str(k), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for k, (kind, path) in enumerate(kinds.items())
    ]
    (directory / "modules.json").write_text(json.dumps(modules, indent=2) + "\n", encoding="utf-8")
    (directory / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": encoder.config.hidden_size, "pooling_mode_mean_tokens": True}
    write_json(directory / "1_Pooling/config.json", pooling)


if __name__ == "__main__":
    run(main)
