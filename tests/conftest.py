"""Fixtures every room's tests share."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.tiny_artefacts import onnx_model, tflite_model, write_artefact
from tests.turns import CHOICES, SWEEP_PARTS, part_of, part_of_commit, turn_of, turn_of_commit

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--turn`: which of the slow tests run."""
    parser.addoption("--turn", choices=CHOICES, default="all", help="which third of the slow tests runs")


def chosen_turn(config: pytest.Config) -> str:
    """The turn asked for; "commit" is the one that the checked-out commit chooses."""
    asked: str = config.getoption("--turn")
    return turn_of_commit() if asked == "commit" else asked


def chosen_part(config: pytest.Config) -> int | None:
    """The part of the sweeps that the commit chooses; None: all of them run."""
    return part_of_commit() if config.getoption("--turn") == "commit" else None


def pytest_report_header(config: pytest.Config) -> str:
    """Say which turn runs, and how much of the sweeps."""
    part = chosen_part(config)
    cases = "all cases" if part is None else f"part {part + 1} of {SWEEP_PARTS}"
    return f"turn of slow tests: {chosen_turn(config)}; of sweeps: {cases}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests of other turns and, where the commit chooses, the other parts of sweeps.

    Files with slow tests come first: the last minutes are then quick files, and no process waits for another.
    """
    turn, part = chosen_turn(config), chosen_part(config)
    if turn == "all":
        return

    def runs(item: pytest.Item) -> bool:
        if not item.get_closest_marker("slow"):
            return True
        if turn_of(item.path.relative_to(ROOT).as_posix()) != turn:
            return False
        return part is None or not item.get_closest_marker("sweep") or part_of(item.name) == part

    chosen: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        chosen[runs(item)].append(item)
    config.hook.pytest_deselected(items=chosen[False])
    long = {item.path for item in chosen[True] if item.get_closest_marker("slow")}
    items[:] = sorted(chosen[True], key=lambda item: item.path not in long)


def pytest_configure(config: pytest.Config) -> None:
    """Processes of one run share the small matcher's artefacts, in the folder that holds their own."""
    if hasattr(config, "workerinput"):
        from tests.helpers import small_matcher

        small_matcher.share(Path(config.option.basetemp).parent / "small-matcher")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The rows that tests of a table recorded, whichever process ran them, and where the time went."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    every = [one for kept in terminalreporter.stats.values() for one in kept]
    seconds: Counter[str] = Counter()
    for one in every:
        if isinstance(one, pytest.TestReport):
            seconds[one.nodeid.partition("::")[0]] += one.duration
    terminalreporter.section(f"files by time, of {sum(seconds.values()):.0f} seconds in all processes")
    for name, spent in seconds.most_common(30):
        terminalreporter.line(f"{spent:7.1f} s  {name}")
    rows = sorted(
        text for report in reports for name, text in report.user_properties if name == "export_table"
    )
    if rows:
        terminalreporter.section("exports: model, task, target, asked for, recipe taken, agreement")
        for row in rows:
            terminalreporter.line(row)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The licensed data sets beside the checkout; absent on a user's machine, where the test skips."""
    folder = Path(os.environ.get("MOBILEBERT_SHARED", ROOT.parent / "shared"))
    if not (folder / "data" / "qqp" / "test.tsv").is_file():
        pytest.skip(f"no licensed data at {folder} (set MOBILEBERT_SHARED to the folder that holds data/)")
    return folder


@pytest.fixture(scope="session")
def onnx_artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny artefact for ONNX Runtime; tests that damage one copy it."""
    pytest.importorskip("onnxruntime")
    return write_artefact(tmp_path_factory.mktemp("tiny") / "tiny-onnx", "onnx", onnx_model())


@pytest.fixture(scope="session")
def tflite_artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for LiteRT."""
    pytest.importorskip("litert_torch")
    folder = tmp_path_factory.mktemp("tiny")
    return write_artefact(folder / "tiny-tflite", "tflite", tflite_model(folder / "model"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Networks this small only wait for each other on several threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tsv(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of pairs, as text or as bytes."""

    def write(content: str | bytes, name: str = "pairs.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
