"""What several tests of the general matchers read."""

from functools import partial

import pytest

from recipes.general_matchers.numerics import generator
from recipes.general_matchers.rules import caption, headline, rule_question


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A file of texts, some of which can't be learned from."""
    draw, topics = generator(0), ["Roman law", "Tea", "Chess", "Jupiter"]
    makers = (caption, partial(headline, topics=topics), partial(rule_question, topics=topics))
    lines = [make(draw) for make in makers for _ in range(220)]
    path = tmp_path_factory.mktemp("texts") / "mine.txt"
    path.write_text("\n".join([*lines, "word " * 40, "...", ""]) + "\n", encoding="utf-8")
    return path
