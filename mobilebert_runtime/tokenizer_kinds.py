"""Recognises the kind of tokenizer in a tokenizer.json, and reads its configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import parse_json

# Characters; a longer word is [UNK].
LONGEST_WORD = 100
# What transformers writes where a model has no limit is 10³⁰.
NO_LIMIT = 1_000_000
CONFIG_FILE = "tokenizer_config.json"
CONFIG_FILES = (CONFIG_FILE, "special_tokens_map.json")


def kind_of(tokenizer: Tokenizer) -> str | None:
    """One of `TOKENIZER_KINDS`; None for what no artefact can hold."""
    if _is_wordpiece(tokenizer):
        return "wordpiece"
    if isinstance(tokenizer.model, Unigram):
        return "unigram"
    # One with a dropout splits a text another way each time.
    drops = isinstance(tokenizer.model, BPE) and tokenizer.model.dropout
    if isinstance(tokenizer.model, BPE) and not drops and "ByteLevel" in _steps(tokenizer.pre_tokenizer):
        return "byte-level-bpe"
    return None


def splits_as_bert(tokenizer: Tokenizer, *, lowercase: bool) -> bool:
    """Whether a WordPiece splits texts like BERT's own code, which a phone repeats from vocab.txt alone."""
    rules, model = tokenizer.normalizer, tokenizer.model
    return (
        rules.lowercase is lowercase
        and rules.strip_accents in (None, lowercase)
        and rules.clean_text
        and rules.handle_chinese_chars
        and (model.unk_token, model.continuing_subword_prefix) == ("[UNK]", "##")
        and model.token_to_id("[UNK]") is not None
        and model.max_input_chars_per_word == LONGEST_WORD
    )


def _is_wordpiece(tokenizer: Tokenizer) -> bool:
    """Is it a BERT's WordPiece? Then a text's tokens are those of its parts, if parted before a space."""
    return (
        isinstance(tokenizer.normalizer, BertNormalizer)
        and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        and isinstance(tokenizer.model, WordPiece)
        # vocab.txt has an entry a line.
        and all(token.content.isprintable() for token in tokenizer.get_added_tokens_decoder().values())
    )


def _steps(component: Any) -> list[str]:
    """Types of a component and of those it is made of; its saved state is JSON."""

    def types(state: dict[str, Any]) -> list[str]:
        return [state["type"], *(name for part in state.get("pretokenizers", []) for name in types(part))]

    return types(json.loads(component.__getstate__())) if component is not None else []


def read_settings(directory: Path) -> dict[str, Any]:
    """What the configs of a model directory say of its tokenizer; the first file that names a thing counts.

    Returns:
        `pad_token`, `max_length` (tokens), `sort_texts` (`PairTokenizer`) and `spelling`, whether texts are
        corrected by spelling.txt, where they are said.

    Raises:
        ModelError: a file is damaged, or one of the latter two is neither true nor false.
    """
    found: dict[str, Any] = {}
    for name in CONFIG_FILES:
        path = directory / name
        if not path.is_file():
            continue
        try:
            data = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{path}: damaged ({str(error)[:200]}); restore it") from None
        if not isinstance(data, dict):
            raise ModelError(f"{path}: is no JSON object; restore it")
        pad, longest = data.get("pad_token"), data.get("model_max_length")
        pad = pad.get("content") if isinstance(pad, dict) else pad
        if isinstance(pad, str):
            found.setdefault("pad_token", pad)
        if isinstance(longest, (int, float)) and 0 < longest < NO_LIMIT:
            found.setdefault("max_length", int(longest))
        for switch in ("sort_texts", "spelling"):
            if switch in data:
                if not isinstance(data[switch], bool):
                    raise ModelError(f"{path}: {switch} is {data[switch]!r:.60}, neither true nor false")
                found.setdefault(switch, data[switch])
    return found
