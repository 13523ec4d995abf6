"""Labels the tokens of a text, and joins them to entities.

```python
tagger = TokenClassifier.load("artefacts/names-int8")
tagger.entities(["Ada Lovelace was born in London."])  # [[("PER", 0.99, 0, 12, "Ada Lovelace"), …]]
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import TOKEN_CLASSIFICATION
from mobilebert_runtime.results import LabelledSpan
from mobilebert_runtime.text_classifier import activated
from mobilebert_runtime.texts import as_texts

OUTSIDE = "O"


class TokenClassifier(ArtefactModel):
    """A token classifier in a runtime: texts in, labelled parts of them out."""

    task = TOKEN_CLASSIFICATION

    def tag(self, texts: Iterable[str]) -> list[list[LabelledSpan]]:
        """The best label of every token, special ones left out, with the token's characters.

        Of a text that is longer than the card's `seq_len`, the tokens that fit are labelled.
        """
        listed = as_texts(texts, 1)
        windows = [self.tokenizer.spans(text, self.card.seq_len) for text in listed]
        rows = self.run_rows([(window.ids, window.types) for window in windows])
        found = []
        for text, window, logits in zip(listed, windows, rows):
            scores = activated(logits, self.card.activation)[window.start : window.start + len(window.spans)]
            best = scores.argmax(axis=1)
            found.append(
                [
                    LabelledSpan(self.card.labels[label], float(score[label]), start, end, text[start:end])
                    for label, score, (start, end) in zip(best, scores, window.spans)
                ]
            )
        return found

    def entities(self, texts: Iterable[str]) -> list[list[LabelledSpan]]:
        """Neighbouring tokens of one label as one span; its score is the mean of theirs.

        This is the "simple" aggregation of transformers' pipeline: B- begins an entity, I- or a label without
        either continues one of the same name, and O is left out.
        """
        listed = as_texts(texts, 1)
        return [_grouped(text, tokens) for text, tokens in zip(listed, self.tag(listed))]


def _grouped(text: str, tokens: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    groups: list[list[LabelledSpan]] = []
    for token in tokens:
        if groups and _name(token) == _name(groups[-1][-1]) and not token.label.startswith("B-"):
            groups[-1].append(token)
        else:
            groups.append([token])
    return [_joined(text, group) for group in groups if group[0].label != OUTSIDE]


def _joined(text: str, group: Sequence[LabelledSpan]) -> LabelledSpan:
    start, end = group[0].start, group[-1].end
    score = float(np.mean([token.score for token in group]))
    return LabelledSpan(_name(group[0]), score, start, end, text[start:end])


def _name(token: LabelledSpan) -> str:
    return token.label[2:] if token.label.startswith(("B-", "I-")) else token.label
