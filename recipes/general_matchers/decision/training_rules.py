"""Rules by which natural sentences are edited for training: none of the words and forms of the test's rules.

The test's rules are those of `natural_pairs`. Both change sentences that people wrote; what is learned has to
reach from the words here to the words there.
"""

from __future__ import annotations

import random
import re

from recipes.general_matchers.decision.natural_pairs import Rule, replaced, swaps

_UNITS = ("metres", "meters", "centimetres", "tons", "acres", "hectares", "litres", "gallons", "years")
_LOWER = r"(?<=[a-z,] )([a-z]{3,})"
_CAPITAL = r"[A-Z][a-z]{2,}"


def _not_short(match: re.Match[str], draw: random.Random) -> str:  # noqa: ARG001
    return f"{match[1]}n't" if match[2] == " not" else f"{match[1]} not"


def _other_unit(match: re.Match[str], draw: random.Random) -> str:
    return draw.choice([unit for unit in _UNITS if unit[:3] != match.group()[:3]])


def _other_letter(match: re.Match[str], draw: random.Random) -> str:
    letters = match.group()
    at = draw.randrange(len(letters))
    new = draw.choice([c for c in "ABCDEFGHKLMPRSTVWX" if c != letters[at]])
    return letters[:at] + new + letters[at + 1 :]


def _other_digit(match: re.Match[str], draw: random.Random) -> str:
    return draw.choice([digit for digit in "123456789" if digit != match.group()])


def _exchanged(match: re.Match[str], draw: random.Random) -> str | None:  # noqa: ARG001
    one, between, two = match.groups()
    return None if one == two else f"{two}{between}{one}"


def _thousands(match: re.Match[str], draw: random.Random) -> str:  # noqa: ARG001
    return match.group().replace(",", "")


CHANGED: dict[str, tuple[Rule, ...]] = {
    "number": (
        replaced(r"(?<=\d\.)\d(?![\w.%])", _other_digit),
        replaced(r"(?<![\w.,])\d(?![\w.,:%-])", _other_digit),
        swaps("eleven/twelve", "twenty/thirty", "forty/fifty", "hundred/thousand", "million/billion"),
        swaps("once/twice", "second/third", "fourth/fifth", "double/triple", "single/several"),
    ),
    "date": (
        swaps("this morning/this evening", "now/then", "noon/midnight"),
        swaps("spring/autumn", "summer/winter", "weekly/daily", "monthly/yearly"),
        replaced(r"(?<=\b1[6-9])\d0s\b", lambda m, d: f"{d.choice([n for n in '2357' if n != m[0][0]])}0s"),
    ),
    "unit": (
        replaced(rf"(?<=\d )(?:{'|'.join(_UNITS)})\b", _other_unit),
        swaps("inches/yards", "ounces/pints", "decades/months", "seconds/centuries", "dollars/euros"),
    ),
    "code": (replaced(r"\b[B-Z]{2,4}\b(?![.'-])", _other_letter),),
    "roles": (
        replaced(
            rf"\b({_CAPITAL})( (?:joined|married|met|helped|told|asked|visited|attacked|supported|replaced|"
            rf"called|saw|left|loved|sold|influenced|preceded|led|sued|bought|warned|hired) )({_CAPITAL})\b",
            _exchanged,
        ),
        replaced(
            rf"\b({_CAPITAL})( (?:is|are|was|lies)(?: \w+){{0,3}} (?:of|by|for|under) )({_CAPITAL})\b",
            _exchanged,
        ),
        replaced(r"\b(the [a-z]{3,})( [a-z]+(?:ed|s) )(the [a-z]{3,})\b(?! of)", _exchanged),
        replaced(
            rf"\b({_CAPITAL})( (?:into|onto|via|against|instead of|rather than) )({_CAPITAL})\b", _exchanged
        ),
    ),
    "negation": (
        swaps("all/no", "somebody/nobody", "something/nothing at all", "both/neither", "already/not yet"),
        swaps("likely/unlikely", "legal/illegal", "known/unknown", "usual/unusual", "succeeded/failed"),
        swaps("must/must not", "should/should not", "may/may not", "only/not only"),
        swaps("available/unavailable", "complete/incomplete", "visible/invisible", "correct/incorrect"),
        swaps("necessary/unnecessary", "connected/disconnected", "accepted/rejected", "allowed/forbidden"),
    ),
    "antonym": (
        swaps("accept/reject", "win/lose", "won/lost", "man/woman", "men/women", "black/white", "up/down"),
        swaps("left/right", "top/bottom", "push/pull", "young/old", "strong/weak", "fast/slow", "good/bad"),
        swaps("long/short", "wide/narrow", "deep/shallow", "full/empty", "safe/dangerous", "day/night"),
        swaps("mother/father", "husband/wife", "son/daughter", "king/queen", "brother/sister", "he/she"),
        swaps("maximum/minimum", "more/less", "better/worse", "best/worst", "inside/outside", "give/take"),
        swaps("send/receive", "lock/unlock", "connect/disconnect", "install/uninstall"),
        swaps("expand/collapse", "mute/unmute", "allow/deny", "public/private", "front/back"),
        swaps("true/false", "before/after", "remember/forget", "borrow/lend", "major/minor", "dark/light"),
        swaps("love/hate", "positive/negative", "incoming/outgoing", "internal/external", "over/under"),
        swaps("on/off", "in/out of", "near/far from"),
        swaps("thick/thin", "heavy/light", "easy/difficult", "modern/ancient", "rural/urban", "wet/dry"),
    ),
}  # fmt: skip

KEPT: dict[str, tuple[Rule, ...]] = {
    "contraction": (
        replaced(r"\b(are|were|has|have|had|could|would|should)( not|n't)\b", _not_short),
        swaps("they are/they're", "you are/you're", "he is/he's", "she is/she's", "that is/that's"),
        swaps("what is/what's", "who is/who's", "where is/where's", "there is/there's", "I have/I've"),
        swaps("I will/I'll", "you have/you've", "they have/they've", "let us/let's", "we have/we've"),
    ),
    "order": (
        replaced(rf"{_LOWER}( and )([a-z]{{3,}})(?=[.,]| in | of | for )", _exchanged),
        replaced(rf"\b({_CAPITAL})( (?:and|or) )({_CAPITAL})\b(?! [A-Z])", _exchanged),
        replaced(
            r"^([A-Z][^,]{20,}?) ((?:in|on|at|during|since|by) [^,;]{3,40})\.$",
            lambda m, _: f"{m[2][0].upper()}{m[2][1:]}, {m[1]}.",
        ),
        replaced(
            r"^((?:[Ii]n|[Oo]n|[Aa]t|[Dd]uring|[Ss]ince|[Bb]y) [^,;]{3,40}), ([^,;]{15,})\.$",
            lambda m, _: f"{m[2][0].upper()}{m[2][1:]} {m[1][0].lower()}{m[1][1:]}.",
        ),
        replaced(rf"\bthe (\w+) of ({_CAPITAL})\b(?! [A-Z])", lambda m, _: f"{m[2]}'s {m[1]}"),
        replaced(rf"\b({_CAPITAL})'s ([a-z]+)\b", lambda m, _: f"the {m[2]} of {m[1]}"),
    ),
    "passive": (
        replaced(
            rf"\b({_CAPITAL}(?: {_CAPITAL})?|[Tt]he [a-z]+) (painted|built|owned|used|caused|played|replaced|"
            rf"recorded|developed|established|named|led|sold|won|bought) ({_CAPITAL}(?: {_CAPITAL})?|"
            rf"the [a-z]+)(?=[.,]| in | on | at | for )",
            lambda m, _: f"{m[3]} was {m[2]} by {m[1]}",
        ),
        replaced(
            rf"\b({_CAPITAL}(?: {_CAPITAL})?) (?:was|were) (painted|built|owned|used|played|replaced|"
            rf"developed|established|won|held|named|led|bought) by ({_CAPITAL}(?: {_CAPITAL})?|the [a-z]+)",
            lambda m, _: f"{m[3]} {m[2]} {m[1]}",
        ),
    ),
    "request": (
        replaced(r"^[Pp]lease ([^,.]{6,})$", lambda m, _: f"{m[1]} please"),
        replaced(r"^([A-Za-z][^,.]{6,}) please$", lambda m, _: f"please {m[1]}"),
        replaced(r"^[Tt]ell me ", lambda *_: "I'd be glad to know "),
        replaced(r"^[Ii]s there (?:a|any) way to ", lambda *_: "is it possible to "),
        replaced(r"^[Gg]ive me ", lambda *_: "may I have "),
        replaced(r"^[Ww]hat is the (\w+) of ([^,]{3,40})$", lambda m, _: f"{m[2]} {m[1]}"),
        replaced(r"^I'm looking for ", lambda *_: "where is there "),
        replaced(r"^(?:I'd like|i'd like) (?=to )", lambda *_: "it would be nice "),
        replaced(r"^(?:[Dd]oes|[Dd]o) (?:anyone|anybody) know ", lambda *_: "who knows "),
        replaced(r"^(?:set|Set) (?:a|an) ", lambda *_: "make a "),
        replaced(r"^([Uu]pdate|[Mm]ake|[Uu]se) (?!the |an? )", lambda m, _: f"{m[1]} the "),
    ),
    "form": (
        replaced(r"(?<![\d,])\d{1,3},\d{3}(?![\d,])", _thousands),
        swaps("eleven>11", "twelve>12", "fifteen>15", "twenty>20", "thirty>30", "hundred>100", "one>1"),
        swaps("second>2nd", "third>3rd", "fifth>5th", "United States/US", "United Kingdom/UK"),
        replaced(r"\b([A-Z][a-z]{2})(?:uary|ch|il|e|y|ust|ember|ober) (?=\d)", lambda m, _: f"{m[1]} "),
        replaced(
            r"\b(\d{1,2}) ((?:Jan|Feb|Mar|Apr|Aug|Sep|Oct|Nov|Dec)[a-z]*)\b", lambda m, _: f"{m[2]} {m[1]}"
        ),
        replaced(r"\b([a-z]{4,})is(ation|ing|ed|es)\b", lambda m, _: f"{m[1]}iz{m[2]}"),
        replaced(r"\b([a-z]{4,})iz(ation|ing|ed|es)\b", lambda m, _: f"{m[1]}is{m[2]}"),
        replaced(r"\b([a-z]+)lled\b", lambda m, _: f"{m[1]}led"),
        swaps("metre/meter", "litre/liter", "neighbour/neighbor", "armour/armor", "catalogue/catalog"),
        swaps("licence/license", "analyse/analyze", "mum/mom", "jewellery/jewelry"),
    ),
    "function": (
        swaps("since>because", "so that/in such a way that", "such as/like", "as soon as/once"),
        swaps("if/in case", "in addition/moreover", "just/merely"),
        swaps("during/in the course of", "prior to/before", "despite/in spite of"),
        swaps("upon/on", "toward/towards", "sometimes/at times", "very/really"),
        replaced(r"(?<=[a-z]) the (?=[a-z]+s\b)", lambda *_: " "),
        replaced(r"(?<=[a-z]), (?=(?:and|but|which|who)\b)", lambda *_: " "),
        replaced(r"(?<=[a-z]{3} )that (?=(?:the|he|she|it|they|I|we)\b)", lambda *_: ""),
    ),
    "synonym": (
        swaps("choose/select", "answer/reply", "quick/speedy", "huge/enormous", "child/kid"),
        swaps("shop/store", "happy/glad", "finish/complete", "delete/erase", "sick/ill", "apartment/flat"),
        swaps("taxi/cab", "holiday/vacation", "phone/telephone", "bike/bicycle", "plane/airplane"),
        swaps("fridge/refrigerator", "exam/test", "build/construct", "built/constructed"),
        swaps("wrote/authored", "born in/a native of", "lives in/resides in", "lived/resided", "states/says"),
        swaps("part/portion", "gift/present", "attempt/try", "tried/attempted", "called/named", "won/gained"),
        swaps("small town>little town", "road/street", "stone/rock", "wife>spouse", "husband>spouse"),
        swaps("house/home", "talk/speak", "look/glance"),
        swaps("allow/permit", "allows/permits", "wants/wishes", "used/employed", "get/obtain", "city/town"),
        swaps("change/modify", "changed/modified", "check/verify", "create/make", "main/principal"),
        swaps("important/significant", "difficult/hard", "easy/simple", "strange/odd", "wrong/incorrect"),
        swaps("several/a number of", "people/persons", "near/close to", "died/passed away"),
        swaps("become/turn into", "became/turned into", "includes/contains", "consists of/is made up of"),
        swaps("problem/issue", "message/note", "image/graphic", "song/track", "price/cost"),
    ),
}  # fmt: skip
