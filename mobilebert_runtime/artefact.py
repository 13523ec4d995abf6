"""Opens, checks and runs an artefact folder; shared by the classes of all tasks.

```python
model = load("artefacts/matcher-int8", threads=2)  # a Matcher, TextClassifier, …: as its card says
```

A .tflite file runs in `ai-edge-litert` or, on older systems, in `tflite-runtime`; a .onnx file in
`onnxruntime`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact_files import ArtefactFiles, read_files
from mobilebert_runtime.backends import Backend, open_backend
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    OUTPUT_NAME,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
    ArtefactCard,
)
from mobilebert_runtime.card_parts import SPELLING_FILE, TOKENIZER_FILE, VOCABULARY_FILE
from mobilebert_runtime.checked import as_text
from mobilebert_runtime.errors import ArtefactError, DataError, ModelError, OptionError
from mobilebert_runtime.packing import Encoded, plan
from mobilebert_runtime.spelling import SpellingCorrector
from mobilebert_runtime.texts import as_texts
from mobilebert_runtime.tokenizer import PairTokenizer

MOST_THREADS = 1024
# The class of each task, and its module.
CLASSES = {
    MATCHING: ("Matcher", "matcher"),
    CLASSIFICATION: ("TextClassifier", "text_classifier"),
    TOKEN_CLASSIFICATION: ("TokenClassifier", "token_classifier"),
    QUESTION_ANSWERING: ("QuestionAnswerer", "question_answerer"),
    EMBEDDING: ("Embedder", "embedder"),
}
Model = TypeVar("Model", bound="ArtefactModel")


class ArtefactModel:
    """A network in a runtime, with its card and tokenizer.

    One object may be called from many threads at once. A .tflite file then runs one inference at a time, as
    its interpreter has one set of tensors; with one object per thread, inferences run side by side and each
    object holds the weights. Measured for the shipped int8 artefact, 8 threads on two busy cores: 76 scores a
    second on one object, 121 with one object each (one thread: 68). ONNX Runtime needs no lock.
    """

    task: ClassVar[str]
    output: ClassVar[str] = OUTPUT_NAME  # what is read of the network

    def __init__(
        self,
        card: ArtefactCard,
        tokenizer: PairTokenizer,
        backend: Backend,
        fingerprint: str = "",
        name: str = "",
    ) -> None:
        self.card = card
        self.fingerprint = fingerprint  # of what makes its answers, 64 hexadecimal digits
        self.tokenizer = tokenizer
        self.backend = backend
        self._name = name

    def __repr__(self) -> str:
        card = self.card
        return f"<{type(self).__name__} {self._name!r}: {card.target}, {card.quant}, {card.seq_len} tokens>"

    @classmethod
    def load(
        cls: type[Model],
        directory: str | Path,
        threads: int = 1,
        *,
        public_key: str | Path | None = None,
        signed_since: str | None = None,
        words: Iterable[str] | None = None,
        spelling: bool = True,
    ) -> Model:
        """Open an artefact folder, checking every file against its checksum first.

        Whatever happens to the folder afterwards, the model stays what it is.

        Args:
            directory: the folder `mobilebert export` wrote; or the name of an installed data package, such as
                "matcher-open-m", or of a model in the hub's cache (`find.find_folder`).
            threads: CPU threads of one inference, 1 to 1024.
            public_key: minisign's, as a file or a line; the artefact must then be signed with it.
            signed_since: a date in ISO format; the signature must not be older.
            words: texts whose words the artefact's spelling correction leaves as they are, in any case: your
                names of products, medicines or people.
            spelling: correct misspelt words, where the artefact does so.

        Raises:
            ArtefactError: the folder is missing, damaged or not signed as asked, a file is not what io.json
                says, or the artefact is for another task.
            OptionError: the key or the date is not one, or the artefact corrects nothing that `words` or
                `spelling` could change.
            DataError: an entry of `words` is no text, or empty.
            ToolError: the runtime the model needs is not installed.
        """
        count = check_threads(threads)
        return cls._open(read_files(directory, public_key, signed_since), count, words, spelling=spelling)

    @classmethod
    def _open(
        cls: type[Model],
        files: ArtefactFiles,
        threads: int,
        words: Iterable[str] | None,
        *,
        spelling: bool,
    ) -> Model:
        card, folder = files.card, files.folder
        if not cls.reads(card):
            right = CLASSES[card.task][0]
            raise ArtefactError(f"{folder}: is for {card.task}; open it with {right}, not {cls.__name__}")
        tokenizer = read_tokenizer(files)
        fingerprint = files.fingerprint
        if words is not None or not spelling:
            tokenizer, said = respelt(tokenizer, words, spelling=spelling)
            fingerprint = sha256(f"{fingerprint}\n{said}".encode()).hexdigest()
        model = files.contents[card.model_file]
        backend = open_backend(folder / card.model_file, model, card, threads)
        return cls(card, tokenizer, backend, fingerprint, folder.name)

    @classmethod
    def reads(cls, card: ArtefactCard) -> bool:
        """Is an artefact with this card for this class?"""
        return card.task == cls.task

    def outputs_of(self, encoded: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        """The network's answers to encoded inputs.

        Args:
            encoded: int32 (N, S) by input name, S a bucket.

        Returns:
            float32 (N, …) as the card's output, without its batch axis of 1.
        """
        count, width = encoded[self.card.inputs[0]].shape
        most = self.backend.most_rows
        found = [
            self._run({name: encoded[name][i : i + most] for name in self.card.inputs})
            for i in range(0, count, most)
        ]
        shape = self.card.outputs(width or self.card.seq_len)[self.output][1:]
        return np.concatenate(found) if found else np.zeros((0, *shape), np.float32)

    def run_rows(self, rows: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        """The network's answer to each input, which runs in the smallest bucket that holds it.

        Where the file takes several inputs at once, those of one bucket and like length run together, padded
        to a multiple of 8 tokens. Answers may then differ from those of one input alone as they do between
        buckets: in the last bits, and in integers by a rounding.
        """
        lengths = [len(ids) for ids, _ in rows]
        order = sorted(range(len(rows)), key=lambda place: lengths[place])
        found: dict[int, NDArray[np.float32]] = {}
        for bucket, group in groupby(order, key=lambda place: self.card.bucket(lengths[place]).seq_len):
            same = list(group)
            for start in range(0, len(same), self.backend.most_rows):
                places = same[start : start + self.backend.most_rows]
                width = bucket
                if len(places) > 1:
                    eighths = -(-lengths[places[-1]] // 8)
                    width = min(bucket, max(8 * eighths, self.card.buckets[0].seq_len))
                encoded = self.tokenizer.pad([rows[place] for place in places], width)
                found.update(zip(places, self.outputs_of(encoded)))
        return [found[place] for place in range(len(rows))]

    def run_packed(self, rows: Sequence[Encoded]) -> dict[int, NDArray[np.float32]]:
        """Logits of the pairs that run packed, float32 (labels,) by place in `rows`.

        These are pairs with the same first text, as far as that saves time; none where the file has no graph
        for it.
        """
        graph = self.backend.packed
        if graph is None:
            return {}
        tokens, shape = graph.shape.seq_len, (1, graph.shape.texts, len(self.card.labels))
        found: dict[int, NDArray[np.float32]] = {}
        for places, packed in plan(rows, graph.shape, lambda length: self.card.bucket(length).seq_len):
            encoded = self.tokenizer.pad([packed], tokens)
            answer = graph.run({name: encoded[name] for name in self.card.inputs})[OUTPUT_NAME]
            found.update(zip(places, check_answer(answer, shape)[0]))
        return found

    def _run(self, inputs: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        found = self.backend.run(inputs)[self.output]
        count, width = inputs[self.card.inputs[0]].shape
        return check_answer(found, (count, *self.card.outputs(width)[self.output][1:]))


def load(
    directory: str | Path,
    threads: int = 1,
    *,
    public_key: str | Path | None = None,
    signed_since: str | None = None,
    words: Iterable[str] | None = None,
    spelling: bool = True,
) -> ArtefactModel:
    """Open an artefact folder with the class of its task; as `ArtefactModel.load`."""
    count, files = check_threads(threads), read_files(directory, public_key, signed_since)
    name, module = CLASSES[files.card.task]
    chosen: type[ArtefactModel] = getattr(import_module(f"mobilebert_runtime.{module}"), name)
    return chosen._open(files, count, words, spelling=spelling)


def respelt(
    tokenizer: PairTokenizer, words: Iterable[str] | None, *, spelling: bool
) -> tuple[PairTokenizer, str]:
    """A tokenizer that corrects less, and a text that tells what it leaves alone: a word a line, or a hyphen.

    Args:
        tokenizer: of an artefact.
        words: texts whose words are left alone.
        spelling: whether anything is corrected.

    Raises:
        OptionError: it corrects nothing, or nothing is to be corrected although there are `words`.
        DataError: an entry of `words` is no text, or empty.
    """
    if tokenizer.spelling is None:
        raise OptionError("words, spelling: the artefact corrects no words; leave them out")
    if words is None:
        return tokenizer.without_spelling(), "-"
    if not spelling:
        raise OptionError("words: are left as they are by the correction, which spelling=False turns off")
    listed = as_texts(words, 1)
    for number, text in enumerate(listed, 1):
        if not text or text.isspace():
            raise DataError(f"words: entry {number} is empty; leave it out")
    corrector = tokenizer.spelling.keeping(listed)
    return tokenizer.with_spelling(corrector), "".join(f"{word}\n" for word in sorted(corrector.kept))


def check_threads(threads: Any) -> int:
    """A number of threads, also one of numpy's; raises `ArtefactError` for anything else."""
    try:
        count = operator.index(threads)
    except TypeError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise ArtefactError(f"threads is {threads!r:.60}; give a whole number from 1 to {MOST_THREADS}")
    return count


def check_answer(found: NDArray[np.float32], expected: tuple[int, ...]) -> NDArray[np.float32]:
    """What a network returned, checked against io.json: a damaged file may return something else.

    Raises:
        ArtefactError: it has another shape, or numbers that are not finite.
    """
    if found.shape != expected or not np.isfinite(found).all():
        raise ArtefactError("the network's answer is not a row of finite numbers; export the artefact again")
    return found


def read_tokenizer(files: ArtefactFiles) -> PairTokenizer:
    """The artefact's tokenizer, which must be what the card says of it; `ArtefactError` where it is not."""
    path, said = files.folder / TOKENIZER_FILE, files.card.tokenizer

    def text(name: str) -> str:
        return as_text(files.contents[name], files.folder / name)

    try:
        spelling = None
        if said.spelling:
            spelling = SpellingCorrector.parse(text(SPELLING_FILE), files.folder / SPELLING_FILE)
        tokenizer = PairTokenizer.read(
            path,
            said.pad_id,
            None,
            spelling,
            sort_texts=said.sort_texts,
            truncation_side=said.truncation_side,
            content=files.contents[TOKENIZER_FILE],
        )
        template = tokenizer.template
    except ModelError as error:
        raise ArtefactError(str(error)) from None
    if said.kind == "wordpiece" and not tokenizer.reads_as_bert(lowercase=bool(said.lowercase)):
        case = "lowercase" if said.lowercase else "cased"
        raise ArtefactError(f"{path}: is not a {case} BERT's WordPiece; export the artefact again")
    if tokenizer.kind != said.kind:
        raise ArtefactError(f"{path}: is not the {said.kind} that io.json names; export the artefact again")
    if template.single != said.template.single or said.template.pair not in (None, template.pair):
        raise ArtefactError(f"{path}: its template is not that of io.json; export the artefact again")
    if VOCABULARY_FILE in said.files:
        entries = text(VOCABULARY_FILE).split("\n")
        if tokenizer.vocabulary() != {
            token: i for i, token in enumerate(entries[:-1] if not entries[-1] else entries)
        }:
            raise ArtefactError(
                f"{path}: its entries are not those of {VOCABULARY_FILE}; export the artefact again"
            )
    return tokenizer
