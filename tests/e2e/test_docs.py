"""Pages and cards: every command is understood, and runs where a machine needs minutes for it."""

import importlib.util
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from mobilebert_export.command_line.program import FOLDERS, command_of, load_command
from recipes.general_matchers.__main__ import make
from tests.helpers.documented_commands import ROOT, blocks, commands, make_scratch, run


def flatten(nav):
    """Pages of mkdocs' navigation, in reading order."""
    for entry in nav:
        for page in entry.values() if isinstance(entry, dict) else [entry]:
            yield from flatten(page) if isinstance(page, list) else [page]


NAVIGATION = [f"docs/{page}" for page in flatten(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])]
RECIPE = command_of(make, "general_matchers")
# In no side bar.
DECISIONS = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/decisions/*.md"))]
CARDS = [
    str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("models/mobilebert_models/shipped/*/README.md"))
]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *NAVIGATION,
    *DECISIONS,
    "examples/README.md",
    "android_bench/README.md",
    *CARDS,
]
# Start of a command that no test runs as written → why. It is parsed all the same.
NOT_RUN = {
    "make export": "tests/e2e/test_readme.py runs it",
    "make lint": "CI runs it before the tests",
    "pip install": "tests/mobilebert_runtime installs the distribution into environments of its own",
    "bash examples/": "tests/e2e/test_examples.py runs it",
    "python examples/": "tests/e2e/test_examples.py runs it",
    "python -m pytest": "make test and make test-slow run it",
    "minisign": "tests/mobilebert_runtime/test_signature.py runs it where it is installed",
    "mobilebert export --model shipped --sign": "needs a key; tests/mobilebert_runtime has one",
    "mobilebert import-tensorflow": "needs Google's checkpoint, a download",
    "mobilebert ship": "hours on licensed data",
    "mobilebert export --model runs/mine/": "needs what ship made",
    "python -m recipes.general_matchers": "hours on licensed data; tests/recipes runs it at toy size",
    "python -m studies.kronecker.table6": "hours on licensed data; tests/studies runs it at toy size",
    "mobilebert finetune": "needs licensed data",
    "mobilebert gate artefacts/matcher-int8 --self-test": "ten minutes on a quiet machine",
    "mobilebert gate results/bench/pixel.json": "needs a phone's record",
    "mobilebert phone": "needs a phone; tests/android_bench runs it against a real adbd",
    "mobilebert export --quant none --out artefacts/matcher-fp32": "docs/export.md runs it",
    "mobilebert factorize --model TEACHER": "needs a trained teacher",
    "mobilebert distill --teacher TEACHER": "needs a trained teacher",
    "mobilebert distill --teacher minilm": "needs the reader's texts; tests/training runs it at toy size",
    **dict.fromkeys(
        (
            "mobilebert export --model runs/tiny/",
            "mobilebert train-matcher --arch runs/tiny/",
            "mobilebert distill --teacher runs/teacher/model --student mobilebert-tiny",
        ),
        "needs the student before it",
    ),
    "mobilebert export --model runs/kronecker-student": "needs the student before it",
    "mobilebert corpus": "needs the reader's text; tests/distill runs it",
    "mobilebert pretrain": "needs a corpus and a teacher; tests/distill runs it",
    "mobilebert train-tokenizer": "needs the reader's text; tests/training runs it",
    "mobilebert rewrite": "needs a trained teacher; tests/models runs it",
    "optimum-cli": "tests/mobilebert_runtime/test_distribution.py runs it in an environment that has optimum",
    "mobilebert export --model my-": "needs the reader's model; test_export_table.py makes one of each kind",
    "mobilebert web": "needs npm's packages and a browser; tests/web/test_site.py writes and visits a site",
    "mobilebert bench import": "needs a record of a browser or an app; tests/android_bench imports them",
    "mobilebert bench history results/bench --out": "tests/android_bench draws records",
    "mobilebert export --model shipped --target onnx --layout": "tests/mobilebert_export has a small one",
    'mobilebert match "How do I learn': "README.md runs it",
    **dict.fromkeys(("uv ", "conda ", "docker "), "a program that this machine may lack"),
    **dict.fromkeys(("wsl ", "xcode-select ", "brew ", "sudo apt-get "), "of another system"),
    "mobilebert run artefacts/topics": "needs an artefact of the task; tests/mobilebert_export runs it",
    "mobilebert run artefacts/names": "needs an artefact of the task; tests/mobilebert_export runs it",
    "mobilebert run artefacts/squad": "needs an artefact of the task; tests/mobilebert_export runs it",
    "mobilebert run artefacts/vectors": "needs an artefact of the task; tests/mobilebert_export runs it",
}
SYSTEMS = ("uv", "conda", "docker", "wsl", "xcode-select", "brew", "sudo")
NUMBER = re.compile(r"\d\.\d+")
EVERY = [command for page in PAGES for command in commands(page, "sh", "text")]
RUN = [c for page in NAVIGATION for c in commands(page, "sh") if not c.line.startswith(tuple(NOT_RUN))]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    folder = make_scratch(tmp_path_factory.mktemp("docs"))
    run("mobilebert export --no-measure --out artefacts/matcher-int8", folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN, ids=lambda c: f"{c.page}: {c.line}")
def test_command_of_a_page_runs(command, scratch):
    run(command.line, scratch)


@pytest.mark.slow
def test_python_of_the_pages_runs(scratch):
    # Tests of their own run them: of tasks, of the library, and tests/web/test_doors.py.
    others = {"docs/run.md", "docs/reference/export.md", "docs/web.md"}
    snippets = [(page, text) for page in NAVIGATION for text in blocks(page, "python") if page not in others]
    assert [page for page, _ in snippets] == ["docs/index.md", "docs/match.md", "docs/match.md"]
    shown = []
    for _, text in snippets:
        (scratch / "snippet.py").write_text(text)
        shown.append(run("python snippet.py", scratch).splitlines())
    front, scores, found = shown
    assert front == ["same"]
    assert [float(line.split()[0]) > 0.5 for line in scores] == [True, False]
    assert found[0].endswith("What is the best way to learn swimming?")
    assert len(found) == 2


@pytest.mark.slow
def test_the_front_page_shows_what_its_commands_print(scratch):
    [block] = blocks("docs/index.md", "console")
    said: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            said.append((line[2:], []))
        else:
            said[-1][1].append(line)
    assert len(said) == 3
    for command, expected in said:
        found = run(command, scratch).splitlines()
        assert [NUMBER.sub("", line) for line in found] == [NUMBER.sub("", line) for line in expected]
        numbers = [[float(one) for one in NUMBER.findall("\n".join(lines))] for lines in (found, expected)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.02)


def test_what_is_not_run_is_listed_with_its_reason():
    text = [c.line for c in EVERY if c.language == "text"]
    assert [line for line in text if not line.startswith(tuple(NOT_RUN))] == []
    lines = [c.line for c in EVERY]
    unused = [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)]
    assert unused == []


@pytest.mark.parametrize("command", EVERY, ids=lambda c: f"{c.page}: {c.line}")
def test_command_is_understood(command):
    """A name of the program, its options and its arguments; a target of the Makefile; a script's options."""
    words = shlex.split(command.line)
    if words[0] == "mobilebert":
        load_command(words[1]).make_context(words[1], words[2:])
    elif words[0] == "make":
        dry = subprocess.run(["make", "-n", words[1]], cwd=ROOT, capture_output=True, text=True, check=False)
        assert dry.returncode == 0, dry.stderr
    elif words[:2] == ["python", "-m"]:
        assert_flags_of_script(words[2], words[3:])
    else:
        assert words[0] in {"source", "pip", "python", "bash", "adb", "minisign", "optimum-cli", *SYSTEMS}


def assert_flags_of_script(module, words):
    assert importlib.util.find_spec(module) is not None
    flags = {word for word in words if word.startswith("--")}
    if not flags:
        return
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert flags <= set(re.findall(r"--[\w-]+", done.stdout))


def code_spans(page):
    """Text between single backticks, outside of code blocks."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    return [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", text)]


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_flags_in_the_text_exist(page):
    flags = {"--help", *(option for one in RECIPE.params for option in one.opts)}
    for name in FOLDERS:
        flags.update(*(p.opts + p.secondary_opts for p in load_command(name).params))
    for span in code_spans(page):
        words = re.findall(r"[^\s/]+", span)
        words = words[1:] if words[:1] == ["mobilebert"] else words
        if words and words[0] in FOLDERS:
            known = {o for p in load_command(words[0]).params for o in p.opts + p.secondary_opts}
            assert {w for w in words if w.startswith("--")} <= known, span
        elif span.startswith("mobilebert "):
            assert span == "mobilebert --help"
        elif words and words[0].startswith("--"):
            assert words[0] in flags, span
        elif words[:1] == ["make"] and len(words) == 2:
            subprocess.run(["make", "-n", words[1]], cwd=ROOT, capture_output=True, check=True)
        elif words[:2] == ["python", "-m"]:
            assert_flags_of_script(words[2], words[3:])


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths_lead_somewhere(page):
    """Relative links from the page, paths in code spans from the project's root."""
    text, here = (ROOT / page).read_text(encoding="utf-8"), (ROOT / page).parent
    links = [t.split("#")[0] for t in re.findall(r"\]\(([^)]+)\)", text) if "://" not in t]
    missing = [link for link in links if link and not (here / link).exists()]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"artefacts", "build", "runs"}
    inside = re.compile(rf"({'|'.join(map(re.escape, folders))})/[\w./-]+")
    spans = [span for span in code_spans(page) if inside.fullmatch(span) and "NNN" not in span]
    missing += [span for span in spans if not (ROOT / span).exists()]
    assert missing == []


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    """`make docs`, with an environment and a folder of its own; mkdocs.yml makes warnings errors."""
    make = ["make", "docs", f"DOCS_VENV={tmp_path / 'venv'}", f"SITE={tmp_path / 'site'}"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "site" / "reference" / "runtime" / "index.html").read_text(encoding="utf-8")
    assert 'id="mobilebert_runtime.matcher.Matcher.score"' in page
    assert 'id="mobilebert_runtime.matcher.Matcher.load"' in page
    assert '<div class="highlight"><pre>' in page  # examples of the modules
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "decisions/" not in re.sub(r"<article.*?</article>", "", front, flags=re.DOTALL)
    assert "fonts.googleapis" not in page


def test_every_page_is_in_the_navigation_and_every_command_has_its_row():
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert pages == {*NAVIGATION, *DECISIONS}
    index = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    assert {f"docs/decisions/{name}" for name in re.findall(r"\]\((\d+[\w-]+\.md)\)", index)} == {
        page for page in DECISIONS if not page.endswith("index.md")
    }
    table = (ROOT / "docs" / "which-command.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`mobilebert ([\w-]+)", table)) == set(FOLDERS)


def test_an_unknown_option_is_found():
    with pytest.raises(Exception, match="No such option: --colour"):
        load_command("match").make_context("match", ["--colour", "a", "b"])
