"""Pairs for a test of fine differences: sentences that people wrote, each beside a copy changed by a rule.

Minimal pairs differ in one fact, paraphrases in their words alone. The rules are others than those of
training (`recipes.general_matchers.edits`, `training_rules`), and the sentences are not among the texts
trained on where `--pool` says which these are.

    python -m recipes.general_matchers.decision.natural_pairs --out pairs.tsv --pool ~/mission/run/pool
    python -m recipes.general_matchers.decision.natural_pairs --out pairs.tsv --matcher artefacts/matcher-int8

`--seed` draws other sentences: one for choices, another one for the test.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.table import Table
from typer import Option

from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_matching.evaluation.metrics import auc
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import replacing, write_json
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.pool import SHORT_TEXTS, short_texts
from recipes.general_matchers.texts import CORPORA, normalised, sentences
from studies.common.script import Force, console, run

EACH = 300  # minimal pairs, and as many paraphrases
Rule = Callable[[str, random.Random], "str | None"]


@dataclass(frozen=True)
class NaturalPair:
    """A sentence and its changed copy; label 1: they say the same."""

    kind: str
    label: int
    left: str
    right: str


def swaps(*pairs: str) -> Rule:
    """One word or phrase of `a/b` in the place of the other, of `a>b` the second in the place of the first.

    A text with two such places is passed by.
    """
    other: dict[str, str] = {}
    for pair in pairs:
        one, two = re.split("[/>]", pair)
        other[one] = two
        if "/" in pair:
            other[two] = one
    other = {one.lower(): two for one, two in other.items()}
    words = "|".join(sorted(map(re.escape, other), key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w'-])(?:{words})(?![\w'-])", re.IGNORECASE)

    def rule(text: str, draw: random.Random) -> str | None:  # noqa: ARG001 (a rule may draw)
        found = list(pattern.finditer(text))
        if len(found) != 1:
            return None
        match = found[0]
        new = other[match.group().lower()]
        new = new[0].upper() + new[1:] if match.group()[0].isupper() else new
        return text[: match.start()] + new + text[match.end() :]

    return rule


def replaced(pattern: str, new: Callable[[re.Match[str], random.Random], str | None]) -> Rule:
    """The first match of a pattern in the form that `new` gives it."""
    found = re.compile(pattern)

    def rule(text: str, draw: random.Random) -> str | None:
        match = found.search(text)
        made = None if match is None else new(match, draw)
        return None if match is None or made is None else text[: match.start()] + made + text[match.end() :]

    return rule


def _other_digit(match: re.Match[str], draw: random.Random) -> str:
    """A digit changed, but not the first one to nought."""
    digits = match.group()
    places = [at for at, char in enumerate(digits) if char.isdigit()]
    at = draw.choice(places)
    lowest = 1 if at == places[0] else 0
    new = draw.choice([str(d) for d in range(lowest, 10) if str(d) != digits[at]])
    return digits[:at] + new + digits[at + 1 :]


def _another(words: str) -> Callable[[re.Match[str], random.Random], str]:
    every = words.split()
    return lambda match, draw: draw.choice([word for word in every if word != match.group()])


def _factor_of_ten(match: re.Match[str], draw: random.Random) -> str:
    number, unit = match[1], match[2]
    made = f"{number}0" if "." not in number and draw.random() < 0.5 else f"0.{number}"
    return f"{made if '.' not in number else number.replace('.', '')}{unit}"


def _other_case(match: re.Match[str], draw: random.Random) -> str | None:  # noqa: ARG001
    one, verb, two = match.groups()
    return None if one == two else f"{two} {verb} {one}"


def _always(new: str) -> Callable[[re.Match[str], random.Random], str]:
    return lambda *_: new


_MONTHS = "January February March April May June July August September October November December"
_SURNAMES = ("Smith", "Walker", "Brown", "Turner", "Clark", "Evans", "Baker", "Cooper", "Ward", "Hughes")
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_NAME = r"[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?"

DIFFERENT: dict[str, tuple[Rule, ...]] = {
    "number": (replaced(r"(?<![\w.,-])\d{2,5}(?![\w.,%-])", _other_digit),),
    "date": (
        replaced(rf"\b(?:{_MONTHS.replace(' ', '|')})\b(?= \d)", _another(_MONTHS)),
        replaced(rf"\b(?:{_DAYS.replace(' ', '|')})\b", _another(_DAYS)),
        swaps("yesterday/tomorrow", "last week/next week", "last month/next month", "last year/next year"),
    ),
    "unit": (
        replaced(r"(?<![\w.])(\d(?:\.\d)?)( ?(?:%|percent|kg|km|mg|GB|MB|cm|mm))(?!\w)", _factor_of_ten),
        swaps("kilometres/miles", "kilometers/feet", "pounds/grams", "hours/minutes", "days/weeks"),
        replaced(r"(?<=\d) ?(?:am|pm)\b", lambda m, _: m.group().translate(str.maketrans("ap", "pa"))),
    ),
    "code": (
        replaced(r"\b(?=[A-Z0-9-]*\d)[A-Z]{1,5}-?\d{1,5}\b", _other_digit),
        replaced(r"(?<=version )\d+(?:\.\d+)+|\b\d+\.\d+\.\d+\b", _other_digit),
    ),
    "name": (
        replaced(
            r"(?<=[a-z] )([A-Z][a-z]{2,}) ([A-Z][a-z]{2,})\b(?! [A-Z])",
            lambda m, draw: f"{m[1]} {draw.choice([n for n in _SURNAMES if n != m[2]])}",
        ),
    ),
    "roles": (
        replaced(
            rf"\b({_NAME}) (defeated|succeeded|taught|killed|beat|paid|followed|invited) ({_NAME})\b",
            _other_case,
        ),
        replaced(
            rf"\bfrom ({_NAME}|the \w+) (to) ({_NAME}|the \w+)\b", lambda m, _: f"from {m[3]} to {m[1]}"
        ),
        replaced(rf"\b({_NAME}) ((?:is|was) (?:\w+er|more \w+) than) ({_NAME})\b", _other_case),
    ),
    "negation": (
        swaps("with/without", "always/never", "still/no longer", "able to/unable to", "possible/impossible"),
        swaps("everyone/no one", "everything/nothing", "often/rarely", "agreed to/refused to"),
    ),
    "antonym": (
        swaps(
            *("increase/decrease", "increased/decreased", "open/close", "enable/disable", "add/remove"),
            *("first/last", "north/south", "northern/southern", "east/west", "eastern/western", "hot/cold"),
            *("buy/sell", "largest/smallest", "large/small", "high/low", "higher/lower", "early/late"),
            *("above/below", "begin/end", "cheap/expensive", "start/stop"),
            *("import/export", "upload/download", "older/younger", "rich/poor", "arrived/departed"),
        ),
    ),
}

SAME: dict[str, tuple[Rule, ...]] = {
    "contraction": (
        swaps("do not/don't", "does not/doesn't", "did not/didn't", "is not/isn't", "was not/wasn't"),
        swaps("i am/I'm", "i would/I'd", "cannot/can't", "will not/won't", "it is/it's", "we are/we're"),
    ),
    "function": (
        swaps("because of/due to", "in order to>to", "for example/for instance", "as well as/and also"),
        swaps("approximately>about", "however/nevertheless", "nearly/almost", "whereas>while"),
        swaps("although/even though", "a lot of>many", "until/till", "perhaps/maybe", "among/amongst"),
    ),
    "synonym": (
        swaps(
            *("buy/purchase", "help/assist", "begin/start", "began/started", "big/large", "film/movie"),
            *("show/display", "fix/repair", "doctor/physician", "car/automobile", "rapidly/quickly"),
            *("received/got", "located/situated", "famous/well-known", "mainly/mostly", "required/needed"),
            *("error/mistake", "picture/photo", "cheap/inexpensive", "usually/typically", "entire/whole"),
        ),
    ),
    "request": (
        replaced(r"^(?:I want to|I need to) ", _always("I would like to ")),
        replaced(r"^(?:Can|Could) you (?:please )?", _always("Would you please ")),
        replaced(r"^[Hh]ow (?:do|can) I ", _always("What do I have to do to ")),
        replaced(r"^[Hh]ow to ", _always("What is the way to ")),
        replaced(r"^(?:Find|Show) me ", _always("I am looking for ")),
    ),
    "number word": (
        swaps("two>2", "three>3", "four>4", "five>5", "six>6", "seven>7", "eight>8", "nine>9", "ten>10"),
        replaced(r"(?<=\d)%", _always(" percent")),
        replaced(r"(?<=\d) percent\b", _always("%")),
    ),
    "passive": (
        replaced(
            rf"^({_NAME}|The \w+) (?:was|were) (founded|designed|discovered|created|directed|invented|"
            rf"introduced|produced|published|edited|composed|opened|destroyed) by ({_NAME})(?=[.]| in )",
            lambda m, _: f"{m[3]} {m[2]} {m[1][0].lower() + m[1][1:] if m[1].startswith('The ') else m[1]}",
        ),
    ),
    "clause": (
        replaced(
            r"^(When|If|Because|Although|After|Before|While) ([^,]{8,70}), ([A-Za-z][^,;]{12,})([.])$",
            lambda m, _: f"{m[3][0].upper() + m[3][1:]} {m[1].lower()} {m[2]}{m[4]}",
        ),
    ),
    "spelling": (
        swaps("colour/color", "centre/center", "favourite/favorite", "organise/organize", "theatre/theater"),
        swaps(
            "behaviour/behavior", "defence/defense", "travelling/traveling", "programme/program", "grey/gray"
        ),
        swaps("honour/honor", "labour/labor", "harbour/harbor", "realise/realize", "recognised/recognized"),
    ),
}


def natural_pairs(
    texts: Sequence[str],
    each: int,
    seed: int,
    different: Mapping[str, tuple[Rule, ...]] = DIFFERENT,
    same: Mapping[str, tuple[Rule, ...]] = SAME,
) -> Iterator[NaturalPair]:
    """Up to `each` minimal pairs and `each` paraphrases of `texts`, as many of every kind as there are.

    Args:
        texts: sentences, each of which is used at most once.
        each: pairs of each label.
        seed: of the draw.
        different: rules by kind that change what is said.
        same: rules by kind that do not.
    """
    draw = generator(seed)
    shuffled = draw.sample(list(texts), len(texts))
    used: set[int] = set()
    for label, kinds in ((0, different), (1, same)):
        ends = [each * (k + 1) // len(kinds) for k in range(len(kinds))]
        for (kind, rules), start, end in zip(kinds.items(), [0, *ends], ends, strict=False):
            yield from _of_kind(kind, label, rules, shuffled, used, end - start, draw)


def _of_kind(
    kind: str,
    label: int,
    rules: Sequence[Rule],
    texts: Sequence[str],
    used: set[int],
    wanted: int,
    draw: random.Random,
) -> Iterator[NaturalPair]:
    """Rules take turns, so that none of them makes all pairs of its kind where others can."""
    found: list[Iterator[NaturalPair]] = [_by_rule(kind, label, rule, texts, used, draw) for rule in rules]
    made = 0
    while found and made < wanted:
        source = found.pop(0)
        pair = next(source, None)
        if pair is not None:
            made += 1
            found.append(source)
            yield pair


def _by_rule(
    kind: str, label: int, rule: Rule, texts: Sequence[str], used: set[int], draw: random.Random
) -> Iterator[NaturalPair]:
    for place, text in enumerate(texts):
        if place in used:
            continue
        other = rule(text, draw)
        if other is not None and normalised(other) != normalised(text):
            used.add(place)
            left, right = (text, other) if draw.random() < 0.5 else (other, text)
            yield NaturalPair(kind, label, left, right)


def unused_sentences(corpora: Path, known: Iterable[str], seed: int) -> list[str]:
    """Sentences of the corpora and short texts that are not among `known`, in a third of the corpora."""
    seen = {normalised(text) for text in known}
    draw = generator(f"{seed} sentences")
    prose = (t for _, name, size in CORPORA for t in sentences(corpora / name, size) if draw.random() < 0.3)
    short = (text for _, text in short_texts(corpora / SHORT_TEXTS) if len(text.split()) >= 4)
    kept = dict.fromkeys(text for text in prose if normalised(text) not in seen)
    return [*kept, *(text for text in short if normalised(text) not in seen)]


def figures(pairs: Sequence[NaturalPair], scores: np.ndarray, threshold: float) -> dict[str, float]:
    """Share of the pairs of each kind that are decided rightly, of each label, and the AUC.

    Args:
        pairs: N of them.
        scores: (N,) probability of label 1.
        threshold: from which on a pair is called the same.
    """
    labels = np.array([pair.label for pair in pairs])
    right = (scores >= threshold) == (labels == 1)
    kinds = np.array([pair.kind for pair in pairs])
    found = {kind: float(right[kinds == kind].mean()) for kind in dict.fromkeys(kinds.tolist())}
    named = {
        "minimal pairs": float(right[labels == 0].mean()),
        "paraphrases": float(right[labels == 1].mean()),
    }
    return found | named | {"auc": auc(labels, scores)}


def main(
    out: Annotated[Path, Option(help="The pairs: kind, label, sentence1, sentence2.")],
    shared: Annotated[Path, Option(help="Folder with corpora/.")] = Path("../shared"),
    pool: Annotated[Path | None, Option(help="Pool whose texts are left out.")] = None,
    matcher: Annotated[list[str] | None, Option(help="Model directories or artefacts to measure.")] = None,
    each: Annotated[int, Option(min=8, help="Minimal pairs, and as many paraphrases.")] = EACH,
    seed: Annotated[int, Option(help="Of the sentences.")] = 0,
    force: Force = False,
) -> None:
    """Write the pairs, and of every matcher what it says of them."""
    corpora = shared / "corpora"
    known = [] if pool is None else [t for _, t in read_rows(pool / "texts.tsv")]
    pairs = list(natural_pairs(unused_sentences(corpora, known, seed), each, seed))
    labels = [pair.label for pair in pairs]
    if min(labels.count(0), labels.count(1)) < each // 2:
        raise DataError(f"{corpora}: only {labels.count(0)} minimal pairs and {labels.count(1)} paraphrases")
    with replacing(out, force=force) as partial:
        rows = [f"{p.kind}\t{p.label}\t{p.left}\t{p.right}\n" for p in pairs]
        partial.write_text("kind\tlabel\tsentence1\tsentence2\n" + "".join(rows), encoding="utf-8")
    record = {}
    for name in matcher or []:
        scorer = open_scorer(name, 1)
        scores = scorer.score_all([(p.left, p.right) for p in pairs], lambda *_: None)
        record[Path(name).name] = figures(pairs, scores, scorer.threshold)
    if record:
        write_json(out.with_suffix(".json"), record)
        table = Table("kind", *record)
        for kind in next(iter(record.values())):
            table.add_row(kind, *(f"{values[kind]:.3f}" for values in record.values()))
        console().print(table)


def read_rows(path: Path) -> Iterator[tuple[str, str]]:
    """(source, text) of a pool's texts.tsv."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            source, text = line.rstrip("\n").split("\t", 1)
            yield source, text


if __name__ == "__main__":
    run(main)
