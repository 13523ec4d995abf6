"""What a tokenizer.json may ask for: a few kilobytes can make a text endless, or its splitting.

Limits by rule, which the tokenizers of public models keep by far: steps that are known, none that makes texts
much longer, no regular expression that goes back over a text again and again.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer

from mobilebert_runtime.errors import ModelError

KINDS = {
    "normalizer": (
        *("BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Strip"),
        *("Replace", "Prepend", "Precompiled", "ByteLevel"),
    ),
    "pre_tokenizer": (
        *("BertPreTokenizer", "ByteLevel", "Metaspace", "Whitespace", "WhitespaceSplit", "Digits"),
        *("Punctuation", "Split", "UnicodeScripts", "CharDelimiterSplit", "FixedLength"),
    ),
}
MOST_STEPS = 32
MOST_GROWTH = 256  # all steps together may make a text so many times longer, in bytes
LONGEST_PATTERN = 2000  # characters of a regular expression; those of GPT-4o's tokenizer have some 600
# Repetitions without an end in one alternative: each can be tried at every length of the ones before it.
MOST_REPETITIONS = 2
_ESCAPED = re.compile(r"\\(?:[pP]\{[^}]*\}|x\{[^}]*\}|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_AGAIN = re.compile(r"\)(?:[*+]|\{)")  # a group, repeated
_BACK = re.compile(r"\\(?:[1-9]|[kg]<)")
_ENDLESS = re.compile(r"[*+]|\{[0-9]*,\}")
# As it is spelled in the file, before the regular expressions in it are compiled.
_SPELLED = re.compile(rb'"Regex"\s*:\s*"((?:[^"\\]|\\.){%d,})"' % (6 * LONGEST_PATTERN))


def check_spelling(content: bytes) -> None:
    """Refuse a regular expression in a tokenizer.json that is too long even to be compiled."""
    if _SPELLED.search(content):
        raise ModelError(f"a regular expression has more than {LONGEST_PATTERN} characters")


def check_steps(tokenizer: Tokenizer) -> None:
    """Refuse a normalizer or pre-tokenizer beyond the limits; raises `ModelError`, before a text is read."""
    steps = [
        (part, step)
        for part in KINDS
        if (component := getattr(tokenizer, part)) is not None
        for step in _flat(json.loads(component.__getstate__()))
    ]
    if len(steps) > MOST_STEPS:
        raise ModelError(
            f"{len(steps)} steps of normalizer and pre-tokenizer; at most {MOST_STEPS} are allowed"
        )
    growth = 1.0
    for part, step in steps:
        if step["type"] not in KINDS[part]:
            raise ModelError(f"{part} {step['type']!r:.60} is unknown; known are {', '.join(KINDS[part])}")
        pattern = step.get("pattern") or {}
        if isinstance(pattern, dict) and "Regex" in pattern:
            _check_pattern(pattern["Regex"])
        growth *= _growth(step, pattern)
    if growth > MOST_GROWTH:
        raise ModelError(
            f"its normalizer can make a text {growth:.3g} times longer; {MOST_GROWTH} are allowed"
        )


def _flat(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step["type"] != "Sequence":
        yield step
    for part in step.get("normalizers", step.get("pretokenizers", [])):
        yield from _flat(part)


def _growth(step: dict[str, Any], pattern: dict[str, str]) -> float:
    """How many times longer a step can make a text; a character has up to four bytes."""
    if step["type"] == "Prepend":
        return 1 + len(step["prepend"].encode())
    if step["type"] == "Replace":
        # Nothing is found between any two characters, too.
        least = len(pattern.get("String", "").encode())
        return max(1, len(step["content"].encode()) / least if least else 1 + len(step["content"].encode()))
    if step["type"] == "Precompiled":
        table = base64.b64decode(step["precompiled_charsmap"])
        strings = table[4 + int.from_bytes(table[:4], "little") :]
        return max(1, max(map(len, strings.split(b"\0"))) / 2)  # half of it replaces two bytes or more
    return 1


def _check_pattern(pattern: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise ModelError(f"a regular expression has more than {LONGEST_PATTERN} characters")
    plain = _CLASS.sub("x", _ESCAPED.sub("x", pattern))
    most = max(len(_ENDLESS.findall(one)) for one in plain.split("|"))
    if _AGAIN.search(plain) or _BACK.search(pattern) or most > MOST_REPETITIONS:
        raise ModelError(
            f"the regular expression {pattern!r:.80} repeats a group, refers back, or repeats more than "
            f"{MOST_REPETITIONS} things in a row; how long it takes has no bound"
        )
