"""A sub-word vocabulary from plain text: ALBERT's SentencePiece (section 4.1) or BERT's WordPiece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.implementations import BertWordPieceTokenizer
from tokenizers.models import Unigram

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import refuse_finished, replacing_folder, write_json

KINDS = ("sentencepiece", "wordpiece")
# Their ids are their places: ALBERT's order, and BERT's.
SENTENCEPIECE_SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
WORDPIECE_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CHECKED_LINES = 1000  # of the text, for the record's figures
_LONGEST_LINE = 1 << 16  # bytes; SentencePiece leaves out longer ones


def train_vocabulary(
    lines: Iterable[str],
    kind: str,
    size: int,
    out: Path,
    *,
    most_lines: int = 1_000_000,
    force: bool = False,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Learn a vocabulary and write the tokenizer files of a model directory.

    Leaves `out`/tokenizer.json, vocab.txt (WordPiece) or spiece.model (SentencePiece), and vocabulary.json.

    Args:
        lines: text, lower-cased and stripped of accents here.
        kind: one of `KINDS`.
        size: entries, special ones included.
        out: folder to make.
        most_lines: the first so many lines are learned from; a unigram model's memory grows with them.
        force: replace a folder that exists.
        metadata: what else the record shall say.

    Returns:
        The record: entries, lines, and on the first lines tokens a word and the share of unknown tokens.

    Raises:
        DataError: see there.
        OutputError: `out` exists and `force` is off.
    """
    if kind not in KINDS:
        raise DataError(f"--kind {kind!r} is unknown; expected one of {', '.join(KINDS)}")
    refuse_finished(out, force=force)
    sample: list[str] = []
    counted = _Counted(islice(lines, most_lines), sample)
    with replacing_folder(out) as folder:
        train = _sentencepiece if kind == "sentencepiece" else _wordpiece
        tokenizer = train(counted, size, folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        record = {"kind": kind, "entries": tokenizer.get_vocab_size(), "lines": counted.lines}
        record |= _figures(tokenizer, sample) | (metadata or {})
        write_json(folder / "vocabulary.json", record)
    return record


def albert_tokenizer(pieces: list[tuple[str, float]]) -> Tokenizer:
    """ALBERT's tokenizer of text pairs from the pieces of a unigram model and their log-probabilities."""
    tokenizer = Tokenizer(Unigram(pieces, SENTENCEPIECE_SPECIAL.index("<unk>")))
    tokenizer.normalizer = _normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in SENTENCEPIECE_SPECIAL])
    cls, sep = ((name, SENTENCEPIECE_SPECIAL.index(name)) for name in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[cls, sep]
    )
    return tokenizer


class _Counted:
    """Lines passed on, counted, the first of them kept."""

    def __init__(self, lines: Iterator[str], sample: list[str]) -> None:
        self._source, self._sample = lines, sample
        self.lines = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._source:
            self.lines += 1
            if len(self._sample) < _CHECKED_LINES:
                self._sample.append(line)
            yield line


def _normalizer() -> Any:
    """ALBERT's preprocessing: plain quotes, decomposed, no accents, lower case, single blanks."""
    return normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )


def _sentencepiece(lines: Iterable[str], size: int, folder: Path) -> Tokenizer:
    try:
        import sentencepiece
    except ImportError as error:
        raise DataError(
            "this vocabulary needs sentencepiece; run `pip install 'mobilebert-export[vocabulary]'`"
        ) from error
    normalise = _normalizer().normalize_str
    pad, unknown, *control = SENTENCEPIECE_SPECIAL
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(text for text in map(normalise, lines) if text),
            model_prefix=str(folder / "spiece"),
            model_type="unigram",
            vocab_size=size,
            # The text comes normalised, so that tokenizer.json and spiece.model cut it alike.
            normalization_rule_name="identity",
            pad_id=0,
            pad_piece=pad,
            unk_id=1,
            unk_piece=unknown,
            bos_id=-1,
            eos_id=-1,
            control_symbols=control,
            max_sentence_length=_LONGEST_LINE,
            num_threads=1,  # the sums of one thread have one order: the same text gives the same model
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        reason = str(error).rpartition("] ")[2].strip(" .") or "there is none"
        raise DataError(
            f"SentencePiece cannot learn {size} pieces from this text: {reason}; "
            "give more text or another --size"
        ) from error
    (folder / "spiece.vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    return albert_tokenizer([(model.id_to_piece(i), model.get_score(i)) for i in range(len(model))])


def _wordpiece(lines: Iterable[str], size: int, folder: Path) -> Tokenizer:
    learner = BertWordPieceTokenizer(lowercase=True)
    learner.train_from_iterator(
        iter(lines), vocab_size=size, special_tokens=list(WORDPIECE_SPECIAL), show_progress=False
    )
    entries = sorted(learner.get_vocab().items(), key=lambda item: item[1])
    if len(entries) != size:
        raise DataError(
            f"this text has {len(entries)} word pieces, not {size}; give more text or another --size"
        )
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in entries), encoding="utf-8")
    return BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)._tokenizer


def _figures(tokenizer: Tokenizer, sample: list[str]) -> dict[str, float]:
    encoded = tokenizer.encode_batch(sample, add_special_tokens=False)
    unknown = {SENTENCEPIECE_SPECIAL[1], WORDPIECE_SPECIAL[1]}
    tokens = sum(len(e.ids) for e in encoded)
    words = sum(len(line.split()) for line in sample)
    return {
        "tokens_a_word": tokens / max(1, words),
        "unknown_tokens": sum(name in unknown for e in encoded for name in e.tokens) / max(1, tokens),
    }
