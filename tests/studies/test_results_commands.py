"""Promise of the recorded results: every command of their pages is one that the program or a script takes."""

import importlib
import re
import shlex

import pytest

from mobilebert_export.command_line import program
from mobilebert_export.command_line.program import FOLDERS, load_command
from recipes.general_matchers import __main__ as general_matchers
from studies.common import cpuid_mask, script
from tests.conftest import ROOT

pytestmark = pytest.mark.slow  # every script is imported

PAGES = sorted(page for folder in ("results", "studies", "recipes") for page in (ROOT / folder).rglob("*.md"))
# In a code span, or a line of a code block; what pins it to a core is not ours to check.
COMMAND = re.compile(
    r"(?:^|`)(?:taskset -c \d+ )?((?:mobilebert |python -m (?:studies|recipes)\.)[^`\n]*)", re.MULTILINE
)


def commands():
    """Every command with the page it is on; a continued line is one command."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for found in COMMAND.findall(text):
            yield str(page.relative_to(ROOT)), found.split("  #")[0].strip()


def parser(words):
    """The command that the words name, and its arguments."""
    if words[0] == "mobilebert":
        return load_command(words[1]), words[2:]
    if words[2] == cpuid_mask.__name__:  # runs Python with the arguments that follow
        return parser([words[0], *(word for word in words[3:] if word != cpuid_mask.AMX_ALONE)])
    if words[2] == "recipes.general_matchers":
        return program.command_of(general_matchers.make, "general_matchers"), words[3:]
    return script.command(importlib.import_module(words[2]).main), words[3:]


@pytest.mark.parametrize(("page", "line"), sorted(set(commands())))
def test_command_is_understood(page, line):
    command, arguments = parser(shlex.split(line))
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options = {word.split("=")[0] for word in arguments if word.startswith("--")}
    assert options <= known | {"--help"}
    # An abridged command has no more than its options, and help ends the program.
    if "…" not in line and arguments and "--help" not in options:
        command.make_context(command.name, arguments)


def test_old_command_names_are_gone():
    named = {line.split()[1] for _, line in commands() if line.startswith("mobilebert ")}
    assert named <= FOLDERS.keys()
    assert len({line for _, line in commands()}) > 40, "the pages were read"
