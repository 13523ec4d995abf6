"""Every option that a message or a help text names exists in the command that says it."""

import re

import pytest

from mobilebert_export.command_line import program as cli
from tests.helpers.reachable_strings import reachable, strings

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# "--texts 3: …" is said where the option was given.
GIVEN = re.compile(r"^(--[a-z-]+( (\{\}|[A-Z.a-z]+))?(, | and )?)+[: ]")
# Another command with its options, or another program.
OTHER = re.compile(
    r"(?:mobilebert (?P<name>[a-z-]+)|(?P<export>export(?:ed)?) (?:it |again )?with) (?P<rest>[^;`]*)"
)
PROGRAM = re.compile(r"\b(pip|make|valgrind|minisign|apt-get|accelerate|adb|iconv|git|uv) [^;`]*")
# Modules that a command reaches with values of its own: what they say of these is no fault of a user.
FIXED = {
    "ship": {
        "mobilebert_export.pipeline.artefact_folder",
        "mobilebert_export.pipeline.export_request",
        "mobilebert_export.verification.accuracy_budget",
        "mobilebert_training.distillation.distillation",
        "mobilebert_training.distillation.text_distillation",
    },
}


def flags(command):
    return {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)} | {"--help"}


def start(name):
    attribute = name.replace("-", "_")
    return f"mobilebert_export.command_line.commands.{cli.FOLDERS[name]}.{attribute}", attribute


def unknown(text, own):
    """The options that a message names and no command has where it says so."""
    wrong = []
    for other in OTHER.finditer(text):
        named = "export" if other["export"] else other["name"]
        if named in cli.FOLDERS:
            wrong += [
                flag for flag in FLAG.findall(other["rest"]) if flag not in flags(cli.load_command(named))
            ]
    rest = PROGRAM.sub("", OTHER.sub("", GIVEN.sub("", text)))
    return wrong + [flag for flag in FLAG.findall(rest) if flag not in own]


@pytest.mark.parametrize("name", sorted(cli.FOLDERS))
def test_a_command_names_only_options_that_there_are(name):
    command = cli.load_command(name)
    own = flags(command)
    texts = [
        (f"{name} --help", text)
        for text in (command.help, *(getattr(one, "help", "") for one in command.params))
    ]
    for place in sorted(reachable(start(name))):
        if place[0] not in FIXED.get(name, ()):
            texts += [(f"{place[0]}:{line}", text) for line, text in strings(place) if " " in text.strip()]
    wrong = [(where, flag, text[:120]) for where, text in texts for flag in unknown(text or "", own)]
    assert not wrong, "\n".join(map(str, wrong))


def test_the_walk_finds_what_it_looks_for():
    """Not vacuous: it reaches messages of libraries, and finds an option that no command has."""
    places = reachable(start("evaluate"))
    assert ("mobilebert_matching.data.pairs", "find_columns") in places
    assert ("mobilebert_quantize.algebra.simplify", "simplify") in reachable(start("export"))
    assert unknown("export with other --passes", flags(cli.load_command("gate"))) == ["--passes"]
    assert unknown("`mobilebert export --nothing`", set()) == ["--nothing"]
