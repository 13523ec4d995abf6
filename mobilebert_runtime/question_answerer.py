"""Finds the part of a text that answers a question (extractive question answering, as in SQuAD).

```python
reader = QuestionAnswerer.load("artefacts/squad-int8")
reader.answer([("Who was born in London?", "Ada Lovelace was born in London.")])
# [Answer(text="Ada Lovelace", score=0.93, start=0, end=12)]
```
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import QUESTION_ANSWERING
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.results import Answer
from mobilebert_runtime.template import Window
from mobilebert_runtime.texts import as_text, as_texts

LONGEST_ANSWER = 15  # tokens; of transformers' pipeline


class QuestionAnswerer(ArtefactModel):
    """A reader of spans in a runtime: questions and contexts in, answers out.

    A context of any length is read in windows that overlap by the card's stride. As transformers' pipeline
    decided (until its release 5 left it out), the logits of a window's context and of its first token go
    through a softmax of their own, the score of a span is the product of the probabilities of its ends, and
    the best span of all windows is the answer, widened to whole words.
    """

    task = QUESTION_ANSWERING

    def answer(
        self, pairs: Iterable[tuple[str, str]], *, longest: int = LONGEST_ANSWER, may_be_none: bool = False
    ) -> list[Answer]:
        """The best answer to each question.

        Args:
            pairs: (question, context).
            longest: tokens of an answer.
            may_be_none: an empty answer where that scores highest, as SQuAD 2.0 asks.

        Raises:
            DataError: a question leaves no room for its context, or a context is empty.
        """
        return [
            self.answers(question, context, 1, longest=longest, may_be_none=may_be_none)[0]
            for question, context in as_texts(pairs, 2)
        ]

    def answers(
        self,
        question: str,
        context: str,
        top_k: int,
        *,
        longest: int = LONGEST_ANSWER,
        may_be_none: bool = False,
    ) -> list[Answer]:
        """The best answers to one question, the best first, no two of the same characters; as `answer`."""
        question, context = as_text(question, "question"), as_text(context, "context")
        if top_k < 1 or longest < 1:
            raise DataError(f"top_k is {top_k} and longest {longest}; give 1 or more of each")
        windows = self.tokenizer.windows(question, context, self.card.seq_len, int(self.card.stride or 0))
        if not windows[0].spans:
            raise DataError(f"the context {context!r:.60} has no words; give the text that holds the answer")
        rows = self.run_rows([(window.ids, window.types) for window in windows])
        best: dict[tuple[int, int], float] = {}
        none = 1.0
        for window, logits in zip(windows, rows):
            scores, nothing = _span_scores(logits.astype(np.float64), window, longest)
            none = min(none, nothing)
            chosen: set[tuple[int, int]] = set()
            # Several spans may widen to the same words: the best `top_k` of them may be fewer answers.
            for place in np.argsort(-scores, axis=None, kind="stable"):
                first, last = divmod(int(place), scores.shape[1])
                if len(chosen) == top_k or not scores[first, last] > 0:
                    break
                span = _whole_words(window, first, last)
                chosen.add(span)
                best[span] = max(best.get(span, 0.0), float(scores[first, last]))
        found = [Answer(context[start:end], score, start, end) for (start, end), score in best.items()]
        if may_be_none or not found:
            found.append(Answer("", none, 0, 0))
        return sorted(found, key=lambda answer: -answer.score)[:top_k]


def _span_scores(
    logits: NDArray[np.float64], window: Window, longest: int
) -> tuple[NDArray[np.float64], float]:
    """Probability of each span of context tokens (first, last), and that of no answer."""
    inside = slice(window.start, window.start + len(window.spans))
    # The first token stands for "no answer"; the others outside the context can't be chosen.
    kept = np.concatenate([logits[:1], logits[inside]])
    exponents = np.exp(kept - kept.max(axis=0))
    starts, ends = (exponents / exponents.sum(axis=0)).T
    spans = np.tril(np.triu(np.outer(starts[1:], ends[1:])), longest - 1)
    return spans, float(starts[0] * ends[0])


def _whole_words(window: Window, first: int, last: int) -> tuple[int, int]:
    """Characters from the first token of one's word to the last token of the other's."""
    while first and window.words[first - 1] == window.words[first] is not None:
        first -= 1
    while last + 1 < len(window.words) and window.words[last + 1] == window.words[last] is not None:
        last += 1
    return window.spans[first][0], window.spans[last][1]
