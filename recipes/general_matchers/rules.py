"""Texts made by rule: captions, headlines and questions in the forms that people write them."""

from __future__ import annotations

import random

from recipes.general_matchers.minimal_pair_templates import FIRMS as TEMPLATE_FIRMS
from recipes.general_matchers.minimal_pair_templates import NAMES as TEMPLATE_NAMES

PEOPLE = [
    "man",
    "woman",
    "boy",
    "girl",
    "child",
    "dog",
    "cat",
    "person",
    "player",
    "singer",
    "dancer",
    "cook",
    "chef",
    "worker",
    "soldier",
    "farmer",
    "student",
    "teacher",
    "doctor",
    "nurse",
    "baby",
    "toddler",
    "horse",
    "monkey",
    "bird",
    "surfer",
    "skier",
    "cyclist",
    "runner",
    "climber",
    "swimmer",
    "skater",
    "musician",
    "guitarist",
    "drummer",
    "lady",
    "gentleman",
    "biker",
    "officer",
    "firefighter",
    "sailor",
    "painter",
    "waiter",
]
ADJECTIVES = [
    "young",
    "old",
    "little",
    "tall",
    "small",
    "black",
    "white",
    "brown",
    "happy",
    "smiling",
    "tired",
    "angry",
    "large",
    "elderly",
    "blond",
]
WEAR = [
    "hat",
    "jacket",
    "helmet",
    "dress",
    "shirt",
    "coat",
    "uniform",
    "scarf",
    "suit",
    "sweater",
    "mask",
    "cap",
    "apron",
    "vest",
]
COLOURS = ["red", "blue", "green", "yellow", "black", "white", "orange", "pink", "grey", "purple"]
TRANSITIVE = {
    "playing": [
        "guitar",
        "piano",
        "violin",
        "flute",
        "drum",
        "trumpet",
        "keyboard",
        "chess",
        "football",
        "basketball",
        "tennis",
        "cards",
    ],
    "riding": ["bike", "horse", "motorcycle", "scooter", "skateboard", "camel", "bus", "train"],
    "cutting": ["onion", "potato", "tomato", "carrot", "bread", "cake", "paper", "meat", "apple", "tree"],
    "slicing": ["cucumber", "onion", "bread", "garlic", "mushroom", "lemon", "pepper"],
    "holding": ["ball", "book", "umbrella", "cup", "sign", "baby", "phone", "camera", "flower", "box"],
    "carrying": ["bag", "basket", "ladder", "child", "surfboard", "bucket", "box"],
    "eating": ["sandwich", "banana", "apple", "pizza", "salad", "ice-cream", "sandwich", "cake"],
    "washing": ["car", "plate", "dog", "window", "shirt"],
    "throwing": ["ball", "frisbee", "stick", "stone", "net"],
    "reading": ["book", "newspaper", "letter", "magazine", "map"],
    "chasing": ["ball", "rabbit", "squirrel", "cat", "bird"],
    "driving": ["car", "truck", "tractor", "van", "boat"],
    "painting": ["wall", "fence", "picture", "door", "house"],
    "cooking": ["soup", "rice", "egg", "fish", "pasta", "meal"],
    "pushing": ["cart", "stroller", "bicycle", "box"],
    "climbing": ["wall", "rope", "tree", "mountain", "ladder", "rock"],
}
INTRANSITIVE = [
    "dancing",
    "running",
    "sleeping",
    "swimming",
    "singing",
    "talking",
    "jumping",
    "sitting",
    "standing",
    "walking",
    "laughing",
]
PLACES = [
    "in the park",
    "on the beach",
    "on a street",
    "in a kitchen",
    "near a lake",
    "in the snow",
    "on a stage",
    "in a field",
    "by the river",
    "in front of a building",
    "on a bench",
    "at a table",
    "in the water",
    "on the grass",
    "at night",
    "in a crowded room",
    "on a bridge",
    "outside a shop",
    "under a tree",
    "in a garden",
    "at the station",
    "on a boat",
]
NUMBERS = ["two", "three", "four", "five", "six", "several", "many"]
# Of the minimal pairs' training lists and four more: no text learned from holds a name of their tests.
NAMES = [*TEMPLATE_NAMES["train"], "Irene", "Bruno", "Clara", "Felix"]
COUNTRIES = [
    "France",
    "Germany",
    "Japan",
    "China",
    "India",
    "Brazil",
    "Egypt",
    "Turkey",
    "Spain",
    "Italy",
    "Russia",
    "Iran",
    "Israel",
    "Syria",
    "Mexico",
    "Canada",
    "Kenya",
    "Greece",
    "Poland",
    "Sweden",
    "Ukraine",
    "Chile",
    "Peru",
    "Pakistan",
    "Iraq",
    "Nigeria",
    "Australia",
    "Britain",
    "Thailand",
    "Vietnam",
]
FIRMS = TEMPLATE_FIRMS["train"]


ACTIVITIES = [
    "learn a language", "lose weight", "gain weight", "start a business", "make money online", "find a job",
    "write a book", "study for an exam", "get a visa", "buy a house", "rent a flat", "sell a used car",
    "fix a slow computer", "recover a deleted file", "reset a password", "close an account",
    "delete a photo", "sleep better", "stop smoking", "quit drinking", "make new friends",
    "get over a breakup", "ask someone out", "propose to a girlfriend", "raise a child", "train a puppy",
    "adopt a cat", "grow tomatoes", "cook rice", "bake bread", "lose belly fat", "build muscle",
    "run a marathon", "learn to swim", "play the guitar", "improve handwriting", "speak in public",
    "prepare for an interview", "write a resume", "get a promotion", "become a pilot", "become a doctor",
    "become a data scientist", "study abroad", "get a scholarship", "invest in stocks", "save money",
    "pay less tax", "open a bank account", "get a loan", "travel alone", "book a cheap flight",
    "learn programming", "build a website", "make an app", "edit a video", "root a phone", "unlock a phone",
    "block a number", "hack a game", "remove a virus", "install a printer", "connect to wifi",
    "grow taller", "get rid of acne", "treat a cold", "cure a hangover", "reduce stress", "control anger",
    "become more confident", "stop procrastinating", "wake up early", "read faster", "remember names",
    "improve English", "learn to draw", "paint a room", "clean a carpet", "remove a stain",
    "unclog a drain", "change a tyre", "drive in snow", "get a driving licence", "sue a company",
    "write a contract", "register a trademark", "patent an idea", "move to another country",
    "get citizenship", "join the army", "meet a celebrity", "get more followers", "publish a paper",
    "choose a university", "drop out of college",
]  # fmt: skip
QUALITIES = ["best", "cheapest", "fastest", "easiest", "safest", "worst", "most effective", "most popular"]
GROUPS = [
    "beginners", "students", "women", "men", "children", "teenagers", "old people", "engineers", "foreigners",
    "introverts", "teachers", "parents", "doctors", "tourists", "developers", "immigrants", "athletes",
]  # fmt: skip


def plural(noun: str) -> str:
    """The plural of a noun of `PEOPLE`."""
    odd = {
        "man": "men",
        "woman": "women",
        "child": "children",
        "person": "people",
        "baby": "babies",
        "lady": "ladies",
    }
    odd |= {"gentleman": "gentlemen"}
    return odd.get(noun, noun + "s")


def article(noun: str) -> str:
    """The word after 'a' or 'an'."""
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def caption(draw: random.Random) -> str:
    """Such as 'A young man in a red hat is riding a horse on the beach'."""
    pick = draw.choice
    many = draw.random() < 0.25
    who = plural(pick(PEOPLE)) if many else pick(PEOPLE)
    if draw.random() < 0.4:
        who = f"{pick(ADJECTIVES)} {who}"
    who = f"{pick(NUMBERS)} {who}" if many else article(who)
    if draw.random() < 0.2:
        who += f" in a {pick(COLOURS)} {pick(WEAR)}"
    if draw.random() < 0.65:
        verb = pick(sorted(TRANSITIVE))
        which = pick(("a", "the", "his", "some")) if verb != "playing" else "the"
        does = f"{verb} {which} {pick(TRANSITIVE[verb])}"
    else:
        does = pick(INTRANSITIVE)
    link = pick((" are ", " are ", " ")) if many else pick((" is ", " is ", " ", " was "))
    text = who + link + does
    if draw.random() < 0.55:
        text += " " + pick(PLACES)
    return text[0].upper() + text[1:] + pick((".", ".", ""))


def headline(draw: random.Random, topics: list[str]) -> str:
    """'Boeing to cut 300 jobs in Japan, report says'."""
    pick = draw.choice
    slots = {
        "c": pick(COUNTRIES),
        "d": pick(COUNTRIES),
        "f": pick(FIRMS),
        "g": pick(FIRMS),
        "t": pick(topics),
        "u": pick(topics),
        "n": str(draw.choice((3, 5, 8, 12, 20, 35, 40, 60, 100, 250, 300, 1200, 5000))),
        "p": pick(NAMES),
    }
    form = pick(
        (
            "{c} and {d} sign deal on {t}",
            "{n} killed in {c} attack",
            "{f} to cut {n} jobs in {c}",
            "{f} buys {g} for {n} billion dollars",
            "{c} votes to leave {t}",
            "{f} shares rise {n} percent after {t} news",
            "{c} president visits {d} for talks",
            "At least {n} dead as floods hit {c}",
            "{t} : what you need to know",
            "{c} bans {t}",
            "New study links {t} to {u}",
            "{f} sues {g} over {t}",
            "{c} beats {d} to reach final",
            "Why {t} matters more than {u}",
            "{n} things you did not know about {t}",
            "{c} warns {d} over {t}",
            "Police arrest {n} in {c} over {t}",
            "{f} unveils new {t} service",
            "{c} says it will not negotiate with {d}",
            "How {t} is changing {u}",
            "{c} earthquake kills {n}",
            "Oil prices fall as {c} raises output",
            "{p} from {c} wins award for work on {t}",
            "{c} court rejects appeal in {t} case",
            "Inside the fight over {t}",
        )
    )
    text = form.format(**slots)
    return text.lower() if draw.random() < 0.5 else text


def rule_question(draw: random.Random, topics: list[str]) -> str:
    """Such as 'What is the best way to learn about Roman law'; `topics` are noun phrases."""
    pick = draw.choice
    slots = {
        "t": pick(topics),
        "u": pick(topics),
        "c": pick(COUNTRIES),
        "f": pick(FIRMS),
        "n": str(draw.randint(2, 30)),
        "a": pick(ACTIVITIES),
        "b": pick(ACTIVITIES),
        "q": pick(QUALITIES),
        "g": pick(GROUPS),
        "d": pick(COUNTRIES),
    }
    form = pick(
        (
            "What is {t}?",
            "What is the difference between {t} and {u}?",
            "How does {t} work?",
            "Who invented {t}?",
            "What is the best way to learn about {t}?",
            "Why is {t} so important?",
            "How can I learn {t} in {n} days?",
            "Where can I find information on {t}?",
            "Is {t} better than {u}?",
            "What are some good books about {t}?",
            "What are the effects of {t} on {u}?",
            "How do I get a job at {f} in {c}?",
            "When did {t} begin?",
            "What do people in {c} think about {t}?",
            "What are the advantages and disadvantages of {t}?",
            "How much does {t} cost in {c}?",
            "Should I study {t} or {u}?",
            "Can {t} be dangerous?",
            "What is it like to live in {c}?",
            "Why did {t} fail?",
            "Which {t} is the best to buy?",
            "What would happen if {t} did not exist?",
            "How is {t} related to {u}?",
            "What is the history of {t}?",
            "Does {t} cause {u}?",
            "What are the symptoms of {t}?",
            "How long does it take to understand {t}?",
            "Why do people hate {t}?",
            "How do I improve my {t} skills?",
            "What are the most common mistakes in {t}?",
            "How do I {a}?",
            "How can I {a}?",
            "How can I {a} in {n} days?",
            "How can I {a} without spending money?",
            "What is the {q} way to {a}?",
            "What's the {q} way to {a} in {c}?",
            "What are some tips to {a}?",
            "Is it possible to {a} after the age of {n}?",
            "Is it hard to {a}?",
            "Should I {a} or {b}?",
            "Why is it so difficult to {a}?",
            "Why do {g} want to {a}?",
            "How long does it take to {a}?",
            "How much does it cost to {a} in {c}?",
            "Where can {g} {a} in {c}?",
            "What should I do before I {a}?",
            "What should I do if I can't {a}?",
            "Can {g} {a}?",
            "What happens if you {a}?",
            "What is your experience when you {a}?",
            "I want to {a}. Where should I start?",
            "I am {n} years old. Is it too late to {a}?",
            "Which is better, {c} or {d}, to {a}?",
            "What are the {q} books on {t}?",
            "What is the {q} {t} for {g}?",
            "What do {g} think of {t}?",
            "What is {t} known for?",
            "What are some facts about {t} that most people don't know?",
            "Who is better, {t} or {u}?",
            "Why is {t} not popular in {c}?",
            "Why does {c} support {d}?",
            "Will there be a war between {c} and {d}?",
            "Is {c} safe for {g}?",
            "What is the {q} place to visit in {c}?",
            "What is the {q} university in {c} for {t}?",
            "How is life in {c} compared to {d}?",
            "How do I move from {c} to {d}?",
            "How can I get from {t} to {u}?",
            "How do {g} in {c} {a}?",
            "How does {f} make money?",
            "How do I contact {f}?",
            "What is the interview process at {f} like?",
            "Is {f} better than {t}?",
            "What would the world be like without {t}?",
            "Did {t} really happen?",
            "How did {t} die?",
            "How did {t} become famous?",
            "What does {t} mean?",
            "What is the meaning of {t} in {u}?",
            "What is the future of {t} in {c}?",
            "How has {t} changed your life?",
            "What made you like {t}?",
            "What are your views on {t}?",
            "Does anyone know where {t} is?",
        )
    )
    return form.format(**slots)
