"""Teach a small BERT the representations of a large one on plain text, before any task.

The stand-in for pretrained weights of a size that nobody publishes as a package. The widths differ, so every
feature map of the student is compared through a linear map of its own that is learned along and then dropped
(TinyBERT, Jiao et al. 2020, Eq. 8-9).

    python -m studies.length_bias.distill_encoder --corpus TEXT.txt --out runs/bert-tiny
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typer import Option

import mobilebert_models
from mobilebert_matching.data.pairs import read_pairs
from mobilebert_models import EncoderConfig, build
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder, EncoderOutput, encoder_of
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.batches import LengthBuckets, Tensors
from mobilebert_training.distillation.losses import normalised_feature_map_transfer
from mobilebert_training.finetuning.encoded_pairs import padded
from mobilebert_training.initialization.student import factorise_embedding, freeze
from mobilebert_training.run_directory import values_hash
from mobilebert_training.trainer import Parts, train
from mobilebert_training.training_config import LossNormalizers, TrainingConfig
from studies.common.script import Force, Threads, console, run, shown
from studies.length_bias.representations import MAX_LENGTH, bert_representations
from studies.length_bias.sentences import BottomKSampler, read_paragraphs

SENTENCE_WORDS = range(3, 31)
NAME = "representations"  # of the stage: its record is representations.json


@dataclass(frozen=True)
class RepresentationWeights:
    """Weight of each part of the loss."""

    hidden: float = 1.0  # normalised feature maps, mean over embedding output and layers
    sentence: float = 1.0  # 1 − cosine of the mapped mean-pooled embedding and the teacher's
    pooled: float = 1.0  # 1 − cosine of the mapped pooler output and the teacher's mean-pooled embedding
    similarity: float = 5.0  # squared difference of the cosines between the texts of a batch, unmapped


def main(
    corpus: Annotated[
        list[Path], Option(help="Text, one paragraph per line (.txt, .xz, .gz); may be repeated.")
    ],
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is resumed.")],
    student: Annotated[str, Option(help="Preset of the student, a plain BERT.")] = "bert-tiny",
    teacher: Annotated[str, Option(help="minilm, or the model directory of a wider BERT.")] = "minilm",
    sentences: Annotated[int, Option(min=1, help="Training texts drawn from the corpus.")] = 50_000,
    epochs: Annotated[float, Option(help="Passes over them.")] = 1.0,
    batch_size: Annotated[int, Option(help="Texts a step.")] = 32,
    lr: Annotated[float, Option(help="Peak learning rate.")] = 1.5e-3,
    sts: Annotated[
        Path | None, Option(help="Labelled similar sentences (STS-B) to measure before and after.")
    ] = None,
    seed: Annotated[int, Option(help="Of the draw, the first layers and the order.")] = 0,
    threads: Threads = 2,
    force: Force = False,
) -> None:
    """Distil a small BERT encoder from a larger one on plain text, before any task.

    Word embeddings start as the truncated SVD of the teacher's; then feature maps, sentence embeddings and
    the pooled output are matched. Leaves OUT/model, to fine-tune with `train-matcher --arch OUT/model`, and
    OUT/representations.json.
    """
    refuse_finished(out / "model", force=force)
    source = mobilebert_models.find_directory(teacher)
    network, tokenizer = encoder_of(mobilebert_models.load_pretrained(source)), PairTokenizer.load(source)
    similar = None
    if sts is not None:
        table = read_pairs(sts)
        if table.labels is None:
            raise DataError(f"{sts}: has no column of similarities; expected score or label")
        similar = (table.pairs, table.labels)
    torch.set_num_threads(threads)
    with console().status("drawing sentences"):
        texts = draw_texts(corpus, sentences, seed=seed)
    pairs = sum(not isinstance(text, str) for text in texts)
    console().print(f"{len(texts):,} texts, {pairs:,} of them two sentences")
    metadata: dict[str, Any] = {"teacher": shown(teacher), "student": student}
    metadata |= {
        "corpus": [path.name for path in corpus],
        "texts_of_two_sentences": pairs,
        "threads": threads,
    }
    loop = TrainingConfig(epochs=epochs, batch_size=batch_size, learning_rate=lr, seed=seed)
    config = mobilebert_models.preset(student)
    encoder, _ = distil_encoder(
        config, network, tokenizer, texts, loop, out, similar=similar, metadata=metadata
    )
    mobilebert_models.save_pretrained(encoder, out / "model", tokenizer_from=source)


class ProjectedStudent(nn.Module):
    """A student and the maps into the teacher's width that exist only while it learns.

    Args:
        student: width E.
        widen: (H, E) with `student word embedding @ widen.T` ≈ teacher word embedding: where the maps start.
    """

    def __init__(self, student: Encoder, widen: Tensor) -> None:
        super().__init__()
        self.student = student
        maps = len(student.layers) + 3  # embedding output, layers, sentence, pooled
        self.maps = nn.ModuleList(nn.Linear(*widen.t().shape) for _ in range(maps))
        with torch.no_grad():
            for linear in self.maps:
                cast(nn.Linear, linear).weight.copy_(widen)
                nn.init.zeros_(cast(Tensor, linear.bias))


def inherit_embeddings(config: EncoderConfig, teacher: Encoder, seed: int = 0) -> tuple[Encoder, Tensor]:
    """A small BERT whose embeddings are the teacher's in their best E dimensions; `seed` draws the rest.

    Returns:
        The student, and `widen` (H, E), the way back to the teacher's width.

    Raises:
        ModelError: the student is no narrower plain BERT with the teacher's vocabulary.
    """
    theirs = teacher.config
    if (
        config.model_type != "bert"
        or theirs.model_type != "bert"
        or config.hidden_size >= theirs.hidden_size
        or (config.vocab_size, config.type_vocab_size) != (theirs.vocab_size, theirs.type_vocab_size)
        or config.max_position_embeddings > theirs.max_position_embeddings
    ):
        raise ModelError(
            f"student: expected a plain BERT narrower than the teacher's {theirs.hidden_size} with its "
            f"{theirs.vocab_size} words and at most its {theirs.max_position_embeddings} positions"
        )
    student = cast(Encoder, build(config, None, seed=seed))
    source, target = teacher.embeddings, student.embeddings
    with torch.no_grad():
        small, widen = factorise_embedding(source.word_embeddings.weight, config.hidden_size)
        narrow = torch.linalg.pinv(widen.double()).t().to(widen.dtype)  # (H, E)
        target.word_embeddings.weight.copy_(small)
        target.word_embeddings.weight[config.pad_token_id].zero_()
        positions = source.position_embeddings.weight[: config.max_position_embeddings]
        target.position_embeddings.weight.copy_(positions @ narrow)
        target.token_type_embeddings.weight.copy_(source.token_type_embeddings.weight @ narrow)
    return student, widen


def draw_texts(paths: Sequence[Path], count: int, *, seed: int = 0) -> list[Pair | str]:
    """`count` training texts: sentences, every third one together with the one that follows it.

    Two sentences give [SEP] and the second token type a meaning, as in BERT's own pretraining.

    Raises:
        DataError: as `read_paragraphs`, or there are fewer sentences.
    """
    drawn: BottomKSampler[Pair | str] = BottomKSampler(count, seed)
    seen = 0
    for sentences in read_paragraphs(paths):
        usable = [s for s in sentences if len(s.split()) in SENTENCE_WORDS]
        for sentence, following in zip_longest(usable, usable[1:]):
            seen += 1
            drawn.add(sentence, (sentence, following) if following and seen % 3 == 0 else sentence)
    texts = drawn.items()
    if len(texts) < count:
        raise DataError(f"corpus: {len(texts):,} distinct sentences, {count:,} wanted; ask for fewer")
    return texts


def distil_encoder(
    config: EncoderConfig,
    teacher: Encoder,
    tokenizer: PairTokenizer,
    texts: Sequence[Pair | str],
    loop: TrainingConfig,
    out: Path,
    *,
    weights: RepresentationWeights = RepresentationWeights(),
    similar: tuple[Sequence[Pair], np.ndarray] | None = None,
    metadata: dict[str, Any] | None = None,
) -> tuple[Encoder, dict[str, Any]]:
    """Teach a fresh student of shape `config` on `texts`; returns it and its training record.

    Args:
        config: a plain BERT narrower than the teacher.
        teacher: not changed.
        tokenizer: of both.
        texts: N sentences or pairs of them.
        loop: the optimisation; its seed also draws the student's first layers.
        out: directory for the record and the checkpoint; an interrupted run is taken up there.
        weights: of the parts of the loss.
        similar: sentence pairs and their (N,) similarities; the record then holds Spearman's correlation of
            them with the cosine of mean-pooled embeddings: teacher, student before, student after.
        metadata: what else the record shall say.

    Raises:
        ModelError: as `inherit_embeddings`.
        ResumeError: `out` holds a checkpoint of another configuration.
    """
    freeze(teacher, frozen=True)
    teacher.eval()
    # A network of 0.4M parameters beside its embeddings has nothing to regularise away in one pass.
    bare = replace(config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    student, widen = inherit_embeddings(bare, teacher, loop.seed)
    projected_student = ProjectedStudent(student, widen)
    encoded = tokenizer.ids(texts, MAX_LENGTH)

    def loss(
        projected_student: ProjectedStudent, batch: Tensors, normalizers: LossNormalizers
    ) -> tuple[Tensor, Parts]:
        with torch.no_grad():
            target = teacher.to(batch["input_ids"].device)(**batch, capture=True)
        total, parts = representation_loss(projected_student, target, batch, weights)
        return total * normalizers.sequences, parts

    known = dict(metadata or {}) | {"weights": asdict(weights), "student_config": config.to_dict()}

    def evaluate() -> dict[str, float]:
        return {"sts_spearman": similarity_correlation(student, tokenizer, *similar)} if similar else {}

    if similar:
        known["sts_spearman_teacher"] = similarity_correlation(teacher, tokenizer, *similar)
        known["sts_spearman_before"] = similarity_correlation(student, tokenizer, *similar)
    lengths = [len(ids) for ids, _ in encoded]
    source = LengthBuckets(
        lengths, lambda batch: padded(tokenizer, [encoded[i] for i in batch.index]), values_hash(texts)
    )
    record = train(projected_student, source, loss, loop, out, name=NAME, evaluate=evaluate, metadata=known)
    finished = cast(Encoder, build(config, None, seed=loop.seed))
    finished.load_state_dict(student.state_dict())
    return finished, record


def representation_loss(
    projected_student: ProjectedStudent,
    target: EncoderOutput,
    inputs: dict[str, Tensor],
    weights: RepresentationWeights,
) -> tuple[Tensor, Parts]:
    """The weighted loss of a batch and its parts; `target` is the teacher's captured output on `inputs`."""
    mask = inputs["attention_mask"]
    output = projected_student.student(**inputs, capture=True)
    *hidden_maps, sentence_map, pooled_map = projected_student.maps
    layers = matched_layers(len(output.hidden_states) - 1, len(target.hidden_states) - 1)
    hidden = [
        normalised_feature_map_transfer(target.hidden_states[layer], widen(ours), mask)
        for layer, widen, ours in zip(layers, hidden_maps, output.hidden_states, strict=True)
    ]
    theirs, ours = (pooled(o.last_hidden_state, mask) for o in (target, output))
    parts = {
        "hidden": torch.stack(hidden).mean(),
        "sentence": (1 - F.cosine_similarity(sentence_map(ours), theirs)).mean(),
        "pooled": (1 - F.cosine_similarity(pooled_map(output.pooled), theirs)).mean(),
        "similarity": (cosines(ours) - cosines(theirs)).square().mean(),
    }
    total = torch.stack([getattr(weights, name) * part for name, part in parts.items()]).sum()
    return total, parts


def matched_layers(student: int, teacher: int) -> list[int]:
    """For embedding output and each student layer, the teacher's feature map it imitates: spread evenly."""
    return [round(layer * teacher / student) for layer in range(student + 1)]


def cosines(embeddings: Tensor) -> Tensor:
    """Cosine of every two rows: (B, H) → (B, B)."""
    unit = F.normalize(embeddings, dim=-1)
    return unit @ unit.t()


def similarity_correlation(
    encoder: Encoder, tokenizer: PairTokenizer, pairs: Sequence[Pair], scores: np.ndarray
) -> float:
    """Spearman's correlation of mean-pooled embeddings' cosines with (N,) human scores (the STS measure)."""
    from scipy.stats import spearmanr

    left, right = (
        bert_representations(encoder, tokenizer, [pair[side] for pair in pairs])["embeddings"]
        for side in (0, 1)
    )
    return float(spearmanr(F.cosine_similarity(left, right).numpy(), scores).statistic)


if __name__ == "__main__":
    run(main)
