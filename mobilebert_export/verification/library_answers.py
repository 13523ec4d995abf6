"""Compares an artefact with the model as its own library loads it, from text to answer.

The other check (`verification.verify`) feeds our PyTorch network what our tokenizer made, so it can't see a
setting that both ignore. Here `sentence-transformers` or `transformers` loads the model directory by itself,
and both sides get texts on which settings matter: longer than every limit, in capitals, with accents,
ideographs and special tokens typed in, with every prompt.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from mobilebert_export.verification.network_outputs import Text
from mobilebert_export.verification.verify import VerificationError
from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import CLASSIFICATION, MATCHING, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair

if TYPE_CHECKING:
    from mobilebert_models import ModelTask

Floats = NDArray[np.float32]
# Largest |Δ| of a value, relative to the largest value where that is above 1: float32 against float32.
TOLERANCE = 1e-4
MOST_TYPED = 8  # special and added tokens that are typed into texts
BATCH = 1  # a text alone, without padding
_HEADS = {
    MATCHING: "AutoModelForSequenceClassification",
    CLASSIFICATION: "AutoModelForSequenceClassification",
    TOKEN_CLASSIFICATION: "AutoModelForTokenClassification",
    QUESTION_ANSWERING: "AutoModelForQuestionAnswering",
}
_PLAIN = (
    "How old is the Moon?",
    "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG",
    "Café, naïve, Ångström, Ǆ, ß and ﬁ; Ελλάδα, Москва",
    "數學 is 数学 in Chinese, 数学 in Japanese and 수학 in Korean",
    "e\u0301 is one letter\u00a0and\u2003these are spaces\tand\ttabs ",
    "  two spaces  before,\nand a new line  ",
    "don't, can't, it's; 3.14 → 10 000 € (50%) — “quoted” … #tag @name",
    "emoji 🙂👩‍💻 and a control\u0007character",
    "x",
    "Ada Lovelace was born in London in 1815 and wrote about the Analytical Engine.",
)


@dataclass(frozen=True)
class LibraryAgreement:
    """How far a float artefact is from the model's own library."""

    library: str  # name and version
    texts: int  # that were compared, with each prompt
    largest: float  # largest |Δ| of a value
    allowed: float
    limit: int | None  # tokens that the library reads; None where it has no limit

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence beyond the tolerance; empty within it."""
        if self.largest <= self.allowed:
            return ()
        said = (
            f"differs from {self.library} on {self.texts} texts by {self.largest:.1e}, above "
            f"{self.allowed:.0e}: a setting of the model directory is not applied; report it with the "
            "directory's configs"
        )
        return (said,)

    def require_passed(self, where: Path) -> None:
        """Raise `VerificationError` beyond the tolerance."""
        if self.failures:
            raise VerificationError(f"{where}: {self.failures[0]}")

    def to_json(self) -> dict[str, object]:
        """Plain data for report.json."""
        return asdict(self)


@dataclass(frozen=True)
class Library:
    """A model in its own library, and how it answers."""

    name: str
    tokenizer: Any  # of transformers
    limit: int | None  # tokens, without an artefact's own limit
    prompts: tuple[str, ...]  # names
    answers: Callable[[Sequence[Text], int, str | None], list[Floats]]

    @classmethod
    def load(cls, folder: Path, directory: Path, task: ModelTask) -> Library:
        """Load a model directory by `sentence-transformers` where it is one of its, else by `transformers`.

        Args:
            folder: the model directory.
            directory: that holds its config.json: the same, or a module of it.
            task: what the model does.

        Raises:
            ModelError: the library can't load it.
        """
        from transformers.utils import logging

        from mobilebert_models.loading.sentence_modules import read_cross_encoder

        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            if task.modules is not None:
                return _embedder(folder)
            if read_cross_encoder(folder) is not None:
                return _cross_encoder(folder)
            return _transformers(directory, task.name)
        except (OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ModelError(
                f"{folder}: its own library can't load it, so nothing says what its answers are "
                f"({lines[0][:200]}); save it again with save_pretrained"
            ) from error
        finally:
            if shown:
                logging.enable_progress_bar()


def compare_from_text(
    library: Library, artefact: ArtefactModel, more: Sequence[str] = ()
) -> LibraryAgreement:
    """Ask both the same texts, those of `probing_texts` and `more`; an artefact in float32."""
    card = artefact.card
    texts = probing_texts(library.tokenizer, card.task, card.texts, card.seq_len, more)
    largest, scale, count = 0.0, 1.0, 0
    for prompt in (None, *library.prompts):
        expected = library.answers(texts, card.seq_len, prompt)
        found = artefact_answers(artefact, texts, prompt)
        count += len(texts)
        for one, other in zip(expected, found, strict=True):
            if one.shape != other.shape:
                largest = float("inf")
                continue
            scale = max(scale, float(np.abs(one).max(initial=0)))
            largest = max(largest, float(np.abs(one - other).max(initial=0)))
    return LibraryAgreement(library.name, count, largest, TOLERANCE * scale, library.limit)


def probing_texts(
    tokenizer: Any, task: str, texts: int, seq_len: int, more: Sequence[str] = ()
) -> list[Text]:
    """Texts, or pairs of them, on which the settings of a tokenizer matter.

    Args:
        tokenizer: of `transformers`, whose special and added tokens are typed in.
        task: of the card; a question is never cut, so it is a short one.
        texts: that an input has.
        seq_len: tokens of an artefact; some texts are far longer.
        more: texts beside them.
    """
    added = sorted(tokenizer.added_tokens_decoder.items(), key=lambda item: (not item[1].special, -item[0]))
    typed = [str(token) for _, token in added][:MOST_TYPED]
    singles = [*_PLAIN, *more, *(f"the {token}, typed{token}in" for token in typed)]
    words = [word for text in _PLAIN for word in text.split()]
    longer = [" ".join(words[i:] + words[:i]) for i in (0, 7)]
    singles += [" ".join([one] * (1 + seq_len // 40)) for one in longer]
    if texts == 1:
        return list(singles)
    if task == QUESTION_ANSWERING:
        return [("Who?", text) for text in singles]
    shifted = [*singles[3:], *singles[:3]]
    return [*zip(singles, shifted, strict=True), (singles[-1], singles[0]), (singles[0], singles[-1])]


def artefact_answers(artefact: ArtefactModel, texts: Sequence[Text], prompt: str | None) -> list[Floats]:
    """What the artefact's network says of each text, by its own tokenizer: vectors, or logits.

    Of token classifiers a row for each token, of readers of spans the logits of all windows; a matcher by one
    logit gives its score.
    """
    card = artefact.card
    if isinstance(artefact, Embedder):
        return list(artefact.embed(cast("Sequence[str]", texts), prompt))
    if card.task == QUESTION_ANSWERING:
        pairs = cast("Sequence[Pair]", texts)
        windows = [artefact.tokenizer.windows(a, b, card.seq_len, int(card.stride or 0)) for a, b in pairs]
        rows = artefact.run_rows([(one.ids, one.types) for found in windows for one in found])
        lengths = [len(one.ids) for found in windows for one in found]
        kept = iter([row[:length] for row, length in zip(rows, lengths, strict=True)])
        return [np.concatenate([next(kept) for _ in found]) for found in windows]
    if card.task == TOKEN_CLASSIFICATION:
        spans = [artefact.tokenizer.spans(text, card.seq_len) for text in cast("Sequence[str]", texts)]
        rows = artefact.run_rows([(one.ids, one.types) for one in spans])
        return [row[: len(one.ids)] for row, one in zip(rows, spans, strict=True)]
    return artefact.run_rows(artefact.tokenizer.ids(texts, card.seq_len))


def _embedder(folder: Path) -> Library:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": "float32"}
    )
    limit = model.max_seq_length

    def answers(texts: Sequence[Text], seq_len: int, prompt: str | None) -> list[Floats]:
        model.max_seq_length = min(limit or seq_len, seq_len)
        return list(model.encode(list(texts), prompt_name=prompt, batch_size=BATCH, show_progress_bar=False))

    names = tuple(name for name, text in model.prompts.items() if text)
    return Library(_version("sentence-transformers"), model.tokenizer, limit, names, answers)


def _cross_encoder(folder: Path) -> Library:
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": "float32"})
    limit = model.max_seq_length

    def answers(texts: Sequence[Text], seq_len: int, prompt: str | None) -> list[Floats]:
        del prompt
        model.max_seq_length = min(limit or seq_len, seq_len)
        found = model.predict(
            list(texts), activation_fn=torch.nn.Identity(), batch_size=BATCH, show_progress_bar=False
        )
        return [np.atleast_1d(row) for row in found]

    return Library(_version("sentence-transformers"), model.tokenizer, limit, (), answers)


def _transformers(directory: Path, task: str) -> Library:
    import torch
    import transformers

    kind = getattr(transformers, _HEADS[task])
    model = kind.from_pretrained(str(directory), dtype=torch.float32, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory), local_files_only=True)
    limit = tokenizer.model_max_length

    def forward(encoded: Any) -> Any:
        with torch.inference_mode():
            found = model(**encoded)
        if task == QUESTION_ANSWERING:
            return torch.stack([found.start_logits, found.end_logits], -1).numpy()
        return found.logits.numpy()

    def answers(texts: Sequence[Text], seq_len: int, prompt: str | None) -> list[Floats]:
        del prompt
        longest = int(min(limit, seq_len))
        if task == QUESTION_ANSWERING:
            return [windows(*cast("tuple[str, str]", pair), longest) for pair in texts]
        rows = []
        for one in texts:  # alone: padding changes what a MobileBERT of transformers answers
            given = (one,) if isinstance(one, str) else one
            encoded = tokenizer(*given, truncation=True, max_length=longest, return_tensors="pt")
            rows.append(forward(encoded)[0])
        return rows

    def windows(question: str, context: str, longest: int) -> Floats:
        encoded = tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=longest,
            stride=longest // 3,
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        encoded.pop("overflow_to_sample_mapping", None)
        lengths = encoded["attention_mask"].sum(1).tolist()
        return np.concatenate([row[:n] for row, n in zip(forward(encoded), lengths, strict=True)])

    known = int(limit) if limit < model.config.max_position_embeddings else None
    return Library(_version("transformers"), tokenizer, known, (), answers)


def _version(package: str) -> str:
    return f"{package} {importlib.metadata.version(package)}"
