"""Special tokens around texts, as ids: read from a tokenizer, filled with the texts' tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenizers import Encoding, Tokenizer

from mobilebert_runtime.card_parts import MOST_SPECIALS, CardError, Template, make_item, split_item
from mobilebert_runtime.errors import ModelError


@dataclass(frozen=True)
class TemplateIds:
    """The special tokens around one text or two."""

    specials: tuple[tuple[list[int], list[int]], ...]  # ids and types before, between and after the texts
    types: tuple[int, ...]  # of each text

    @classmethod
    def of(cls, probe: Encoding, texts: int) -> TemplateIds:
        """Read from an encoding of texts of one token or more."""
        specials: list[tuple[list[int], list[int]]] = [([], [])]
        types: list[int] = []
        previous = None
        for token, kind, text in zip(probe.ids, probe.type_ids, probe.sequence_ids):
            if text is None:
                specials[-1][0].append(token)
                specials[-1][1].append(kind)
            elif text != previous:
                types.append(kind)
                specials.append(([], []))
                if text != len(types) - 1:
                    break
            previous = text
        found = cls(tuple(specials), tuple(types))
        if len(types) != texts or found.size > MOST_SPECIALS:
            raise ModelError(
                "tokenizer's template is not that of a BERT: each text once, in order, special tokens around"
            )
        return found

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return sum(len(ids) for ids, _ in self.specials)

    def fill(self, texts: Sequence[list[int]]) -> tuple[list[int], list[int]]:
        """Ids and types of the whole."""
        ids, types = list(self.specials[0][0]), list(self.specials[0][1])
        for text, kind, (after, after_types) in zip(texts, self.types, self.specials[1:]):
            ids += text + after
            types += [kind] * len(text) + after_types
        return ids, types

    def items(self, token: Callable[[int], str | None]) -> list[str]:
        """In the syntax of TemplateProcessing; `token` gives the token of an id."""
        found = []
        for text, (ids, kinds) in enumerate(self.specials):
            if text:
                found.append(make_item("$" + "?AB"[text], self.types[text - 1]))
            for one, kind in zip(ids, kinds):
                name = token(one)
                if name is None or split_item(name) != (name, 0) or kind > 1:
                    raise ModelError(
                        f"special token {name!r:.60} of type {kind} can't be written in a template"
                    )
                found.append(make_item(name, kind))
        return found


def template_of(tokenizer: Tokenizer, single: TemplateIds, pair: TemplateIds) -> Template:
    """The template of both, by the names of their tokens; raises `ModelError` where it can't be written."""
    try:
        return Template(*(tuple(ids.items(tokenizer.id_to_token)) for ids in (single, pair)))
    except CardError as error:
        raise ModelError(f"tokenizer's {error}") from None


@dataclass(frozen=True)
class EncodedText:
    """What a tokenizer found in a text, copied once: an Encoding builds its lists anew at each access."""

    ids: list[int]
    spans: list[tuple[int, int]]  # characters of each token
    words: list[int | None]  # number of the word that the pre-tokenizer split off

    @classmethod
    def of(cls, found: Encoding) -> EncodedText:
        """Of an encoding without special tokens."""
        return cls(found.ids, found.offsets, found.word_ids)


@dataclass(frozen=True)
class Window:
    """A text or a part of it, encoded within its template, with the positions of its tokens."""

    ids: list[int]
    types: list[int]
    start: int  # place in `ids` of the text's first token
    spans: list[tuple[int, int]]  # of each of its tokens, in characters of the whole text
    words: list[int | None]  # number of the word that the pre-tokenizer split off

    @classmethod
    def of(cls, template: TemplateIds, before: list[int], text: EncodedText, part: slice) -> Window:
        """A part of the last text, after the tokens of the text before it, if the template has two."""
        shown = text.ids[part]
        heads = [before] if len(template.types) > 1 else []
        ids, types = template.fill([*heads, shown])
        start = len(ids) - len(template.specials[-1][0]) - len(shown)
        return cls(ids, types, start, text.spans[part], text.words[part])
