"""Reads the parts of an artefact's card: buckets, tokenizer and template, vectors, versions.

Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mobilebert_runtime.checked import Fields
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.length_shift import LengthShift

# What a card may say; everything beyond is a damaged or a made-up one.
TOKENS = (3, 1 << 16)
MOST_BUCKETS = 64
MOST_ADDED = 100.0  # to the log-odds
MOST_SPECIALS = 8  # tokens around one text or two
LARGEST_ID = (1 << 31) - 1
FLOAT32 = 3.4e38

LONGEST_LABEL = 200  # characters
MOST_PROMPTS = 64
LONGEST_PROMPT_NAME = 64
LONGEST_PROMPT = 4000  # characters

# How vectors are compared, as sentence-transformers calls it; of distances the score is their negative.
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
TRUNCATION_SIDES = ("right", "left")
TOKENIZER_KINDS = ("wordpiece", "byte-level-bpe", "unigram")
TOKENIZER_FILE, VOCABULARY_FILE, SPELLING_FILE = "tokenizer.json", "vocab.txt", "spelling.txt"


class CardError(ArtefactError):
    """Fields of a card that are out of range or contradict each other; whoever read it adds where."""


@dataclass(frozen=True)
class Bucket:
    """A sequence length that the model file can be run at."""

    seq_len: int  # tokens; every input is int32 (1, seq_len)
    # Name of the .tflite signature; None where the file has only one, or takes any length (.onnx).
    signature: str | None = None


@dataclass(frozen=True)
class Embedding:
    """The vector of a text that the network returns.

    Raises:
        ArtefactError: the similarity is unknown, or the default prompt is none of the prompts.
    """

    size: int  # D of float32 (1, D)
    normalized: bool  # of length 1, so that a dot product is the cosine
    similarity: str = SIMILARITIES[0]  # by which vectors are compared
    prompts: Mapping[str, str] = field(default_factory=dict)  # what is put before a text, by name
    default_prompt: str | None = None  # name of the one that is taken where none is asked for

    def __post_init__(self) -> None:
        if self.similarity not in SIMILARITIES:
            raise CardError(f"similarity {self.similarity!r:.60} is none of {', '.join(SIMILARITIES)}")
        if self.default_prompt is not None and self.default_prompt not in self.prompts:
            raise CardError(f"default_prompt {self.default_prompt!r:.60} is none of the prompts")
        if len(self.prompts) > MOST_PROMPTS:
            raise CardError(f"{len(self.prompts)} prompts; at most {MOST_PROMPTS} are allowed")
        for name, prompt in self.prompts.items():
            named = name.isprintable() and 0 < len(name.strip()) <= len(name) <= LONGEST_PROMPT_NAME
            if not named or len(prompt) > LONGEST_PROMPT:
                raise CardError(
                    f"prompt {name!r:.60} needs a name of 1 to {LONGEST_PROMPT_NAME} printable characters "
                    f"and at most {LONGEST_PROMPT} of its own"
                )

    def to_json(self) -> dict[str, Any]:
        """The member `embedding` of a card; what is as usual is left out."""
        settings = {"similarity": self.similarity} if self.similarity != SIMILARITIES[0] else {}
        prompts = {"prompts": dict(self.prompts), "default_prompt": self.default_prompt}
        return {
            "size": self.size,
            "normalized": self.normalized,
            **settings,
            **(prompts if self.prompts else {}),
        }


@dataclass(frozen=True)
class Template:
    """Special tokens around the texts, in the syntax of tokenizers' TemplateProcessing.

    An item is a special token or one of the texts $A and $B, followed by ":1" where its token type is 1.

    Raises:
        ArtefactError: a text is missing, repeated or out of order, or there are too many special tokens.
    """

    single: tuple[str, ...]
    pair: tuple[str, ...] | None

    def __post_init__(self) -> None:
        for name, items, texts in (("single", self.single, ["$A"]), ("pair", self.pair, ["$A", "$B"])):
            if items is None:
                continue
            names = [split_item(item)[0] for item in items]
            if [one for one in names if one in ("$A", "$B")] != texts or not all(names):
                raise CardError(f"template {name} {list(items)!r:.120} does not hold {' and '.join(texts)}")
            if len(items) > len(texts) + MOST_SPECIALS:
                raise CardError(f"template {name} has more than {MOST_SPECIALS} special tokens")
            if list(items) != [make_item(*split_item(item)) for item in items]:
                raise CardError(f"template {name} {list(items)!r:.120} is not in its shortest form")


def split_item(item: str) -> tuple[str, int]:
    """Token or text, and its token type."""
    name, colon, kind = item.rpartition(":")
    return (name, int(kind)) if colon and name and kind in ("0", "1") else (item, 0)


def make_item(name: str, kind: int) -> str:
    """The item of a template; the token type is written where it is not 0."""
    return f"{name}:{kind}" if kind else name


BERT_TEMPLATE = Template(("[CLS]", "$A", "[SEP]"), ("[CLS]", "$A", "[SEP]", "$B:1", "[SEP]:1"))


@dataclass(frozen=True)
class TokenizerCard:
    """How texts become ids.

    Raises:
        ArtefactError: the kind is unknown, or `lowercase` does not fit it.
    """

    kind: str = "wordpiece"
    lowercase: bool | None = True  # of a WordPiece; None for other kinds
    pad_id: int = 0
    template: Template = BERT_TEMPLATE
    spelling: bool = False  # words are corrected by spelling.txt first (`SpellingCorrector`)
    sort_texts: bool = False  # that text of a pair is read first whose token ids come first (`PairTokenizer`)
    truncation_side: str = TRUNCATION_SIDES[0]  # where a text that is too long loses its tokens

    def __post_init__(self) -> None:
        if self.kind not in TOKENIZER_KINDS:
            raise CardError(f"tokenizer kind {self.kind!r:.60} is none of {', '.join(TOKENIZER_KINDS)}")
        if (self.lowercase is None) is (self.kind == "wordpiece"):
            raise CardError(f"tokenizer lowercase {self.lowercase!r} does not fit kind {self.kind}")
        if self.truncation_side not in TRUNCATION_SIDES:
            raise CardError(
                f"tokenizer truncation_side {self.truncation_side!r:.60} is none of "
                f"{', '.join(TRUNCATION_SIDES)}"
            )
        if self.sort_texts and self.truncation_side != TRUNCATION_SIDES[0]:
            raise CardError(f"tokenizer truncation_side {self.truncation_side} does not fit sort_texts")
        if self.spelling and not self.lowercase:
            raise CardError(f"tokenizer spelling does not fit a {self.kind} that keeps capitals")

    @property
    def files(self) -> tuple[str, ...]:
        """What the artefact folder must hold of it."""
        files = (TOKENIZER_FILE, VOCABULARY_FILE) if self.kind == "wordpiece" else (TOKENIZER_FILE,)
        return (*files, SPELLING_FILE) if self.spelling else files

    def to_json(self, truncation: str) -> dict[str, Any]:
        """The member `tokenizer` of a card."""
        return {
            "kind": self.kind,
            "file": TOKENIZER_FILE,
            "vocab": VOCABULARY_FILE if VOCABULARY_FILE in self.files else None,
            "lowercase": self.lowercase,
            "truncation": truncation,
            "pad_id": self.pad_id,
            "template": {name: items and list(items) for name, items in asdict(self.template).items()},
            "spelling": SPELLING_FILE if self.spelling else None,
            "sort_texts": self.sort_texts,
            **(
                {}
                if self.truncation_side == TRUNCATION_SIDES[0]
                else {"truncation_side": self.truncation_side}
            ),
        }


BERT_TOKENIZER = TokenizerCard()


def read_tokenizer(fields: Fields, truncation: str) -> TokenizerCard:
    """The member `tokenizer` of a card."""
    found = fields.object("tokenizer").only(
        *("kind", "file", "vocab", "lowercase", "truncation", "pad_id", "template", "spelling", "sort_texts"),
        "truncation_side",
    )
    templates = found.object("template")
    card = TokenizerCard(
        kind=found.text("kind"),
        lowercase=found.take("lowercase", bool, type(None)),
        pad_id=found.integer("pad_id", 0, LARGEST_ID),
        template=Template(
            _read_items(templates, "single"),
            None if templates.take("pair", list, type(None)) is None else _read_items(templates, "pair"),
        ),
        spelling=found.take("spelling", str, type(None)) is not None,
        sort_texts=found.take("sort_texts", bool),
        truncation_side=found.text("truncation_side")
        if "truncation_side" in found.data
        else TRUNCATION_SIDES[0],
    )
    expected = card.to_json(truncation)
    for name in ("file", "vocab", "truncation", "spelling"):
        if found.take(name, str, type(None)) != expected[name]:
            raise fields.fault(f"tokenizer {name} is {found.data[name]!r:.60}, not {expected[name]!r}")
    return card


def _read_items(fields: Fields, name: str) -> tuple[str, ...]:
    values = fields.take(name, list)
    if len(values) > MOST_SPECIALS + 2:
        raise fields.fault(f"template {name} has more than {MOST_SPECIALS} special tokens")
    items = [Fields({name: value}, fields.where).text(name, 200) for value in values]
    return tuple(make_item(*split_item(item)) for item in items)


def read_embedding(fields: Fields) -> Embedding | None:
    """The member `embedding`, or None."""
    if fields.take("embedding", dict, type(None)) is None:
        return None
    found = fields.object("embedding")
    prompts_too = ("prompts", "default_prompt") if "prompts" in found.data else ()
    found.only("size", "normalized", "similarity", *prompts_too)
    similarity = found.text("similarity") if "similarity" in found.data else SIMILARITIES[0]
    prompts, default = {}, None
    if "prompts" in found.data:
        given = found.object("prompts")
        prompts = {name: str(given.take(name, str)) for name in given.data}
        default = found.take("default_prompt", str, type(None))
    return Embedding(
        found.integer("size", 1, 1 << 16), found.take("normalized", bool), similarity, prompts, default
    )


def read_buckets(fields: Fields) -> tuple[Bucket, ...]:
    """The members `buckets` and `seq_len`."""
    longest = fields.integer("seq_len", *TOKENS)
    entries = fields.objects("buckets", MOST_BUCKETS)
    buckets = tuple(
        Bucket(
            entry.integer("seq_len", *TOKENS),
            entry.text("signature") if entry.take("signature", str, type(None)) is not None else None,
        )
        for entry in entries
    )
    lengths = [bucket.seq_len for bucket in buckets]
    if not lengths or lengths != sorted(set(lengths)) or lengths[-1] != longest:
        raise fields.fault(
            f"buckets of {lengths} tokens with seq_len {longest!r}: "
            "expected ascending lengths that end in seq_len"
        )
    return buckets


def read_versions(fields: Fields) -> Mapping[str, str]:
    """The member `minimum_runtime`: versions by runtime."""
    versions = {name: fields.text(name) for name in fields.data}
    for name, version in versions.items():
        if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}", version):
            raise fields.fault(f"minimum_runtime of {name!r:.60} is {version!r}, not a version such as 2.14")
    return versions


def read_shift(fields: Fields) -> LengthShift | None:
    """The member `length_shift`, or None."""
    if fields.take("length_shift", dict, type(None)) is None:
        return None
    shift = fields.object("length_shift")
    quartiles, added = (
        shift.numbers("quartiles", 0.0, FLOAT32),
        shift.numbers("added", -MOST_ADDED, MOST_ADDED),
    )
    try:
        return LengthShift(quartiles, added)
    except ValueError as error:
        raise fields.fault(f"length_shift: {error}") from None
