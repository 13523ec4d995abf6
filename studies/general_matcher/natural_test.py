"""A test of fine differences by a third hand: natural sentences, changed by rules that nothing else uses.

    python -m studies.general_matcher.natural_test artefacts/matcher-int8 --pool RUN/pool --out FILE.json

The sentences are those of `recipes.general_matchers.decision.natural_pairs`, by another seed; of the rules
none is one of training's (`training_rules`, `recipes.general_matchers.edits`) or of those by which choices
were made (`natural_pairs`). The pairs are written nowhere, but with `--show FILE`, to be read.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Argument, Option

from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_matching.evaluation.metrics import wilson
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from recipes.general_matchers.decision.natural_pairs import (
    NaturalPair,
    Rule,
    figures,
    natural_pairs,
    read_rows,
    replaced,
    swaps,
    unused_sentences,
)
from recipes.general_matchers.numerics import generator
from studies.common.records import Json, check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.options import SHARED, Shared

EACH, SEED = 300, 56
TEXTS = 200_000  # sentences in which places for the rules are looked for
_NAME = r"[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?"
_FIRST = "John William George Charles James Thomas Robert Henry Edward David Mary Elizabeth Anne Margaret"
_NUMBERED = "Route|Highway|Windows|Level|Chapter|Section|Part|Class|Type|Grade|Gate|Season|Episode|Volume"


def _other_number(match: re.Match[str], draw: random.Random) -> str:
    """The last group of digits by another number of as many digits."""
    digits = match[match.re.groups]
    low, high = 10 ** (len(digits) - 1), 10 ** len(digits) - 1
    other = draw.randint(max(low, int(digits) - 9), min(high, int(digits) + 9))
    if other == int(digits):
        other = other + 1 if other < high else other - 1
    return match.group()[: match.start(match.re.groups) - match.start()] + str(other)


def _turned(match: re.Match[str], draw: random.Random) -> str | None:  # noqa: ARG001
    """The first and the third group in each other's place."""
    one, between, two = match.groups()
    return None if one.lower() == two.lower() else f"{two}{between}{one}"


def _first_name(match: re.Match[str], draw: random.Random) -> str:
    return draw.choice([name for name in _FIRST.split() if name != match.group()])


DIFFERENT: dict[str, tuple[Rule, ...]] = {
    "number": (
        replaced(r"(?<![\d,.])(\d{1,3})(?=,\d{3}(?![\d,]))", _other_number),
        replaced(r"\b(\d{1,2})(?=(?:st|nd|rd|th)\b(?! century))", _other_number),
        replaced(r"(?<=\d[-–])(\d{1,3})(?![\d.])", _other_number),
    ),
    "date": (
        replaced(r"\b(1\d)(?=th[ -]century)", _other_number),
        swaps("BC/AD", "tonight/this afternoon", "past/future", "old/new", "a year ago/a year from now"),
    ),
    "unit": (
        swaps("°C/°F", "bytes/bits", "per day/per year", "per week/per month", "centimeters/millimeters"),
        swaps("kilograms/tonnes", "square miles/square metres", "watts/volts", "nights/fortnights"),
    ),
    "code": (
        replaced(rf"\b(?:{_NUMBERED}) (\d{{1,3}})(?![\d.])", _other_number),
        swaps("World War I/World War II", "IPv4/IPv6", "JSON/XML", "HTTP/FTP", "Part I/Part II", "III/IV"),
    ),
    "name": (
        replaced(rf"\b(?:{_FIRST.replace(' ', '|')})\b(?= [A-Z])", _first_name),
        swaps("France/Spain", "Germany/Austria", "China/Japan", "Italy/Greece", "Canada/Mexico"),
        swaps("London/Paris", "Texas/California", "Sweden/Norway", "Russia/Poland", "Ireland/Scotland"),
    ),
    "roles": (
        replaced(
            r"(?<=\b[Cc]onvert )(?:an? |the )?([\w.]+)((?: \w+)? (?:to|into) (?:an? |the )?)([\w.]+)", _turned
        ),
        replaced(r"(?<=\b[Tt]ranslate )(\w+)( (?:to|into) )(\w+)", _turned),
        replaced(
            rf"\b({_NAME})( (?:criticised|criticized|praised|admired|elected|chose|murdered|betrayed|adopted|"
            rf"rescued|arrested|recommended|recruited|encouraged|thanked|accused) )({_NAME})\b",
            _turned,
        ),
        replaced(r"\b(my [a-z]+)( [a-z]+(?:ed|s) )(my [a-z]+)\b", _turned),
        replaced(r"(?<=\b[Rr]eplace )(\w+)( with )(\w+)\b", _turned),
    ),
    "negation": (
        swaps("ever/never", "includes/excludes", "present/absent", "happy/unhappy", "healthy/unhealthy"),
        swaps("popular/unpopular", "official/unofficial", "regular/irregular", "formal/informal"),
        swaps("active/inactive", "agree/disagree", "dependent/independent", "appear/disappear"),
        swaps("stable/unstable", "directly/indirectly", "fair/unfair", "decided to/decided not to"),
        swaps("believe/doubt", "remains/no more remains", "want to/don't want to", "lucky/unlucky"),
    ),
    "antonym": (
        swaps("ascending/descending", "horizontal/vertical", "input/output", "parent/child", "male/female"),
        swaps("enter/leave", "rise/fall", "rose/fell", "profit/loss", "success/failure", "victory/defeat"),
        swaps("peace/war", "upper/lower", "tall/short", "loud/quiet", "clean/dirty", "freeze/melt"),
        swaps("encrypt/decrypt", "encode/decode", "compress/decompress", "show/hide", "turn on/turn off"),
        swaps("log in/log out", "read/write", "credit/debit", "deposit/withdraw", "arrival/departure"),
        swaps("teacher/student", "hard/soft", "sweet/bitter", "attack/defend", "married/divorced"),
    ),
}  # fmt: skip

SAME: dict[str, tuple[Rule, ...]] = {
    "contraction": (
        swaps("going to/gonna", "he will/he'll", "she will/she'll", "we will/we'll", "they will/they'll"),
        swaps("how is/how's", "you would/you'd", "he had/he'd", "she had/she'd", "must not/mustn't"),
    ),
    "function": (
        swaps("regarding/concerning", "therefore/for this reason", "in spite of this/nonetheless"),
        swaps("next to/beside", "except for/apart from", "at first/initially", "each/every"),
        swaps("currently/at present", "immediately/right away", "nowadays/these days", "solely/exclusively"),
        swaps("especially/particularly", "according to/in the words of", "finally/in the end"),
        swaps("throughout/all through", "so far/up to now", "per year/a year", "to begin with/firstly"),
    ),
    "synonym": (
        swaps("lawyer/attorney", "journey/trip", "autumn>fall", "garbage/trash", "sofa/couch"),
        swaps("students/pupils", "wealthy/affluent", "smart/clever", "silent/quiet", "occurred/happened"),
        swaps("occurs/happens", "sufficient/enough", "area/region", "gathered/collected", "ended/concluded"),
        swaps("inhabitants/residents", "photographs/pictures", "directory/folder", "execute/run"),
        swaps("remained/stayed", "infant/baby", "aid/assistance", "annual/yearly", "mobile phone/cell phone"),
        swaps("frequently/time and again", "sufficiently/adequately", "stated/declared", "rarely/seldom"),
    ),
    "request": (
        replaced(r"^[Ww]hat is the best way to ", lambda *_: "what's the best method to "),
        replaced(r"^[Hh]ow much (?:does|do) (.{3,40}) cost\b", lambda m, _: f"what is the price of {m[1]}"),
        replaced(r"^[Hh]ow long does it take to ", lambda *_: "how much time does it take to "),
        replaced(r"^[Ww]hat does (.{2,40}) mean\b", lambda m, _: f"what is the meaning of {m[1]}"),
        replaced(r"^[Ww]hy (?:does|do) ", lambda *_: "for what reason does "),
        replaced(r"^[Ww]here can I (?:find|get) ", lambda *_: "where do they have "),
        replaced(r"^(?:[Hh]ey|[Hh]i|[Hh]ello),? (?=\w+ \w+ \w+)", lambda *_: ""),
    ),
    "form": (
        swaps("Mr./Mister", "Dr./Doctor", "vs./versus", "e.g./for instance", "a.m.>am", "p.m.>pm", "U.S.>US"),
        replaced(r"(?<=\d) ?kg\b", lambda *_: " kilograms"),
        replaced(r"(?<=\d) ?km\b", lambda *_: " kilometres"),
        replaced(r" and (?=[A-Z][a-z]+\b)", lambda *_: " & "),
        replaced(r"\b(\d+)-year-old\b", lambda m, _: f"{m[1]} year old"),
    ),
    "list": (
        replaced(r"\b([a-z]{3,}), ([a-z]{3,})(?=,? and [a-z]{3,}\b)", lambda m, _: f"{m[2]}, {m[1]}"),
        replaced(
            r"\b([A-Z][a-z]{2,}), ([A-Z][a-z]{2,})(?=,? and [A-Z][a-z]{2,}\b)", lambda m, _: f"{m[2]}, {m[1]}"
        ),
    ),
    "speech": (
        replaced(
            r"^(He|She|They|[A-Z][a-z]+) (said|says|argued|claimed|noted|believed) that ([^,;]{12,})\.$",
            lambda m, _: f"{m[3][0].upper()}{m[3][1:]}, {m[1].lower() if len(m[1]) < 5 else m[1]} {m[2]}.",
        ),
    ),
    "passive": (
        replaced(
            rf"\b({_NAME}|[Tt]he \w+) (?:was|were) (conquered|captured|funded|sponsored|managed|operated|"
            rf"described|proposed|translated|filmed|hosted|supervised|rebuilt|restored|donated|acquired|"
            rf"attacked|followed|surrounded|replaced|organized|organised) by ({_NAME}|the \w+)(?=[.,]| in )",
            lambda m, _: f"{m[3]} {m[2]} {m[1]}",
        ),
    ),
}  # fmt: skip


def main(
    matchers: Annotated[list[str], Argument(help="Artefacts or model directories.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    pool: Annotated[Path | None, Option(help="Pool whose texts are left out.")] = None,
    show: Annotated[Path | None, Option(help="Write the pairs here, to be read.")] = None,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write what each matcher says of 300 minimal pairs and 300 paraphrases at its own threshold."""
    check_outputs(out, force=force)
    known = [] if pool is None else [text for _, text in read_rows(pool / "texts.tsv")]
    pairs = test_pairs(unused_sentences(shared / "corpora", known, SEED))
    if show:
        lines = (f"{pair.kind}\t{pair.label}\t{pair.left}\t{pair.right}\n" for pair in pairs)
        show.write_text("".join(lines), encoding="utf-8")
    labels = np.array([pair.label for pair in pairs])
    kinds = [f"{'=' if pair.label else '≠'} {pair.kind}" for pair in pairs]
    record: Json = {"seed": SEED, "pairs": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}}
    for name in matchers:
        scorer = open_scorer(name, threads)
        scores = scorer.score_all([(pair.left, pair.right) for pair in pairs], lambda *_: None)
        record[Path(name).name] = found = measured(pairs, labels, scores, scorer.threshold)
        console().print(name, found)
    write_json(out, record)


def test_pairs(texts: Sequence[str]) -> list[NaturalPair]:
    """`EACH` minimal pairs and as many paraphrases.

    Raises:
        DataError: the texts hold too few places for the rules.
    """
    draw = generator(SEED)
    texts = draw.sample(list(texts), min(TEXTS, len(texts)))
    made = list(natural_pairs(texts, 2 * EACH, SEED, DIFFERENT, SAME))
    found = []
    for label in (0, 1):
        own = [pair for pair in made if pair.label == label]
        if len(own) < EACH:
            raise DataError(f"the corpora have only {len(own)} pairs of label {label} for these rules")
        found += draw.sample(own, EACH)
    return found


def measured(pairs: Sequence[NaturalPair], labels: np.ndarray, scores: np.ndarray, threshold: float) -> Json:
    """Shares that are decided rightly, by kind and by label, these with 95% intervals; and the AUC."""
    right = (scores >= threshold) == (labels == 1)
    shares: Json = {name: round(value, 3) for name, value in figures(pairs, scores, threshold).items()}
    for name, label in (("minimal pairs", 0), ("paraphrases", 1)):
        own = right[labels == label]
        low, high = wilson(int(own.sum()), len(own))
        shares[f"{name}, interval"] = [round(low, 3), round(high, 3)]
    return shares | {"threshold": threshold}


if __name__ == "__main__":
    run(main)
