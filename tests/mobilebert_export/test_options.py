"""Every option of every command refuses what it can't use: exit 2, one line, nothing changed on disk."""

import itertools
import math
import os
import random
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from mobilebert_export.command_line import options
from mobilebert_export.command_line import program as cli

SAMPLE = 150  # cases of each kind in `make test`

# Options that may be 0; no option may be negative, infinite or no number.
MAY_BE_ZERO = {"port", "slower", "larger", "near", "farther", "random",
    "seed", "retries", "debias", "patience", "transfer_steps", "evaluate_every", "short", "warmup",
    "max_accuracy_drop", "max_recall_gap",
}  # fmt: skip
NUMBERS = (
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "10000000000000000000000",
    "0x10",
    "1,5",
    "",
    " ",
    "many",
)
TAKES_LISTS = {("finetune", "batch_size"), ("finetune", "lr"), ("finetune", "epochs")}
TOO_LONG, LONG_NAME = (
    "x" * 300,
    "x" * 230,
)  # beyond what a file system takes; beyond it with a temporary ending


@dataclass(frozen=True)
class Case:
    command: str
    parameter: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.command} {' '.join(self.words)}"


def commands() -> Iterator[tuple[str, typing.Any, dict[str, typing.Any], dict[str, options.Rule]]]:
    """Name, click command, type hints by parameter, rules by parameter."""
    for name in cli.FOLDERS:
        command = cli.load_command(name)
        yield name, command, typing.get_type_hints(command.callback), options.rules(command.callback)


def parts(hint: typing.Any) -> set[type]:
    """The plain types in `int | None`, `list[Path]` and the like."""
    inner = typing.get_args(hint)
    return set().union(*map(parts, inner)) if inner else {hint}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something of every kind, which no case may change."""
    root = tmp_path_factory.mktemp("disk")
    (root / "folder").mkdir()
    (root / "folder" / "kept.txt").write_text("kept\n")
    for name in ("train", "dev"):
        (root / "folder" / f"{name}.tsv").write_text("label\ttext_a\ttext_b\n1\ta\tb\n0\tc\td\n")
    (root / "file.tsv").write_text("label\ttext_a\ttext_b\n1\ta\tb\n0\tc\td\n")
    (root / "link").symlink_to(root / "nowhere")
    os.mkfifo(root / "pipe")
    return root


def state(root: Path) -> dict[str, tuple[int, int, str]]:
    """Kind, time and contents of everything below a folder."""
    found = {}
    for path in [root, *root.rglob("*")]:
        about = path.lstat()
        content = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (about.st_mode, about.st_mtime_ns, content)
    return found


def valid(command: str, parameter: str, rule: options.Rule | None, root: Path) -> list[str]:
    """A value that the rule allows."""
    if command == "corpus" and parameter == "verb":
        return ["build"]
    if isinstance(rule, options.Choice):
        return [rule.words[0]]
    if isinstance(rule, options.Number):
        return [str(max(rule.low, 1))]
    if isinstance(rule, options.InputPath):
        return [str(root / ("folder" if rule.kinds[0] == "folder" else "file.tsv"))]
    if isinstance(rule, options.OutputFile | options.OutputFolder):
        return [str(root / "new")]
    return ["devices"] if parameter == "verb" else ["word"]


def build(command: typing.Any, name: str, tested: str, words: list[str], root: Path) -> tuple[str, ...]:
    """Arguments with valid values for what is required and `words` for the tested parameter."""
    rules = options.rules(command.callback)
    asked: list[str] = []
    behind: list[str] = []
    for one in command.params:
        if one.name != tested and not one.required:
            continue
        values = words if one.name == tested else valid(name, one.name, rules.get(one.name), root)
        if one.param_type_name == "argument":
            behind += values[-1:]
        elif len(values) == 1:
            asked.append(f"{one.opts[0]}={values[0]}")
        else:
            asked += [one.opts[0], *values[1:]]
    return (*asked, "--", *behind)


def spellings(parameter: typing.Any) -> tuple[bool, ...]:
    """Whether a value stands apart from its flag: both, for an option."""
    return (False,) if parameter.param_type_name == "argument" else (False, True)


def number_cases(root: Path) -> list[Case]:
    """Every numeric option of every command with what is no number in its range."""
    found = []
    for name, command, hints, rules in commands():
        for one in command.params:
            listed = (name, one.name) in TAKES_LISTS
            if not parts(hints.get(one.name)) & {int, float} and not listed:
                continue
            assert isinstance(rules.get(one.name), options.Numbers if listed else options.Number), one.name
            zero = one.name in MAY_BE_ZERO or (name, one.name) == ("pretrain", "workers")
            bad = [value for value in NUMBERS if not (value == "0" and zero)]
            if listed:  # "1,5" is a list, and an empty one is the default
                bad = [value for value in bad if value not in {"", "1,5"}] + ["16,,32", "16,nan", "16;32"]
            for value, apart in itertools.product(bad, spellings(one)):
                words = ["", value] if apart else [value]
                found.append(Case(name, one.name, build(command, name, one.name, words, root)))
    return found


def path_cases(root: Path) -> list[Case]:
    """Every option that names a file or a folder with one of another kind, none, or one that can't be."""
    common = {root / "pipe", root / TOO_LONG}
    found = []
    for name, command, hints, rules in commands():
        for one in command.params:
            rule = rules.get(one.name)
            if Path in parts(hints.get(one.name)):
                assert isinstance(rule, options.InputPath | options.OutputFile | options.OutputFolder), (
                    one.name
                )
            if isinstance(rule, options.InputPath):
                bad = common | {root / "file.tsv" / "below"}
                bad |= set() if "folder" in rule.kinds else {root / "folder", Path("/dev/null")}
                bad |= set() if "file" in rule.kinds else {root / "file.tsv"}
                bad |= set() if rule.named else {root / "none", root / "link"}
            elif isinstance(rule, options.OutputFile):
                bad = common | {
                    root / "folder",
                    Path("/proc/new"),
                    root / LONG_NAME,
                    root / "file.tsv" / "new",
                }
                bad |= {Path("/dev/null"), Path("/proc/1/new")}
                bad |= set() if rule.endings else {root / "file.tsv", root / "link", root / "none" / "new"}
            elif isinstance(rule, options.OutputFolder):
                bad = common | {root / "file.tsv", Path("/proc/new"), root / LONG_NAME, root / "link"}
                bad |= {root / "file.tsv" / "new", Path("/dev/null"), root / LONG_NAME / "new"}
                bad |= {root / "folder"} if rule.replaces else set()
            else:
                continue
            for path, apart in itertools.product(sorted(bad), spellings(one)):
                words = ["", str(path)] if apart else [str(path)]
                found.append(Case(name, one.name, build(command, name, one.name, words, root)))
    return found


def same_file_cases(root: Path) -> list[Case]:
    """Every input beside every output of a command that is the same file under some name, with --force."""
    (root / "hard.tsv").unlink(missing_ok=True)
    (root / "hard.tsv").hardlink_to(root / "file.tsv")
    found = []
    for name, command, _, rules in commands():
        by_name = {one.name: one for one in command.params}
        force = ["--force"] if "force" in by_name else []
        inputs = [n for n, rule in rules.items() if isinstance(rule, options.InputPath)]
        outputs = [
            n for n, rule in rules.items() if isinstance(rule, options.OutputFile | options.OutputFolder)
        ]
        for given, out in itertools.product(inputs, outputs):
            file = "file" in rules[given].kinds and isinstance(rules[out], options.OutputFile)
            if not file and "folder" not in rules[given].kinds:
                continue
            if isinstance(rules[out], options.OutputFile) != file or getattr(rules[out], "endings", ()):
                continue
            first = root / "file.tsv" if file else root / "folder"
            others = [first, root / "folder" / ".." / first.name]
            for other in [*others, root / "hard.tsv"] if file else others:
                words = list(build(command, name, given, [str(first)], root))
                place = words.index("--")
                words = [word for word in words[:place] if not word.startswith(by_name[out].opts[0] + "=")]
                words += [f"{by_name[out].opts[0]}={other}", *force]
                words += list(build(command, name, given, [str(first)], root))[place:]
                found.append(Case(name, out, tuple(words)))
    return found


def refuse(case: Case, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Run a case and hold it to the promise."""
    before = state(root)
    with pytest.raises(SystemExit) as end:
        cli.main([case.command, *case.words])
    said = capfd.readouterr()
    assert end.value.code == 2, case
    assert said.out == "", case
    assert said.err.startswith("mobilebert: "), case
    assert said.err.count("\n") == 1, case
    name = case.parameter.replace("_", "-").removesuffix("-file")
    assert name in said.err.lower().replace("_", "-"), f"{case}: another option is blamed: {said.err}"
    assert state(root) == before, case


KINDS = {"numbers": number_cases, "paths": path_cases, "one file twice": same_file_cases}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_bad_options_is_refused(kind, disk, capfd):
    cases = KINDS[kind](disk)
    for case in random.Random(7).sample(cases, min(SAMPLE, len(cases))):
        refuse(case, disk, capfd)


@pytest.mark.slow
def test_every_bad_option_is_refused(disk, capfd):
    counts = {}
    for kind, make in KINDS.items():
        cases = make(disk)
        for case in cases:
            refuse(case, disk, capfd)
        counts[kind] = len(cases)
    with capfd.disabled():
        print(f"\nrefused options: {counts}, {sum(counts.values())} in all")
    assert sum(counts.values()) >= 1500


def test_a_run_folder_that_is_read_and_written_is_refused_and_a_file_in_a_replaced_folder(tmp_path, capfd):
    made = tmp_path / "artefact"
    made.mkdir()
    (made / "io.json").write_text("{}")
    (made / "pairs.tsv").write_text("text_a\ttext_b\na\tb\n")
    with pytest.raises(SystemExit) as end:
        cli.main(["export", "--calibration", str(made / "pairs.tsv"), "--out", str(made), "--force"])
    assert end.value.code == 2
    assert "would overwrite --calibration" in capfd.readouterr().err
    assert (made / "pairs.tsv").is_file()


def test_force_replaces_no_folder_of_another_kind(tmp_path, capfd):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters.txt").write_text("kept")
    for command in ("export", "factorize --model minilm --preset 8"):
        with pytest.raises(SystemExit) as end:
            cli.main([*command.split(), "--out", str(tmp_path / "home"), "--force"])
        assert end.value.code == 2
        assert "so it is not deleted" in capfd.readouterr().err
    assert (tmp_path / "home" / "letters.txt").read_text() == "kept"


def test_ship_and_export_know_the_quantisations_and_targets_of_the_recipes():
    from mobilebert_quantize.recipes import RECIPES, TFLITE_VERSIONS

    assert [*options.TARGETS.words] == list(dict.fromkeys(recipe.target for recipe in RECIPES.values()))
    assert options.TFLITE_RUNTIMES.words == TFLITE_VERSIONS
    assert {*options.QUANTS.words} == {recipe.quant for recipe in RECIPES.values()} - {"float"}


def test_rules_of_numbers_take_their_bounds_and_nothing_beyond():
    count, share, above = options.COUNT, options.SHARE, options.RATE
    assert [count.fault(value) is None for value in (0, 1, 10**9, 10**9 + 1)] == [False, True, True, False]
    assert [share.fault(value) is None for value in (-1e-9, 0, 1, 1.001, math.nan)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert [above.fault(value) is None for value in (0, 1e-12, math.inf)] == [False, True, False]


def test_a_text_may_begin_with_a_dash_and_an_unknown_flag_is_still_refused(capfd):
    for words, complaint in (
        (["match", "-5 degrees", "minus five", "--artefact", "nowhere"], "nowhere: no such artefact folder"),
        (["match", "--", "--5", "five", "--artefact"], "3 texts"),
        (["match", "-5", "five", "--artefct", "x"], "No such option: --artefct"),
    ):
        with pytest.raises(SystemExit) as end:
            cli.main(words)
        assert end.value.code == 2
        assert complaint in capfd.readouterr().err
