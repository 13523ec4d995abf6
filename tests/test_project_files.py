"""Files that a forge or a tool reads: they parse, and what they name is there."""

import json
import re
import tomllib

import pytest
import yaml

from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_pins_its_actions_by_hash_and_asks_for_few_rights(file):
    found = yaml.safe_load(file.read_text())
    assert found["permissions"] == {"contents": "read"}
    used = re.findall(r"uses: (\S+)(.*)", file.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    for job in found["jobs"].values():
        assert {"runs-on", "steps"} <= set(job)


def test_the_test_workflow_runs_what_ci_runs():
    steps = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]["steps"]
    assert "bash .ci/run" in [step.get("run") for step in steps]


def test_the_container_copies_and_runs_what_is_there():
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {word for word, _ in lines} <= {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "ENTRYPOINT", "CMD"}
    copied = [source for word, rest in lines if word == "COPY" for source in rest.split()[:-1]]
    ignored = (ROOT / ".dockerignore").read_text().split()
    for source in copied:
        assert (ROOT / source).exists(), source
        assert source not in ignored
    # Every package that the distribution finds is copied.
    for folder in ("models", "matching", "training", "quantize", "mobilebert_export", "mobilebert_runtime"):
        assert folder in copied or f"./{folder}" in copied
    for word in ("ENTRYPOINT", "CMD"):
        [value] = [rest for given, rest in lines if given == word]
        assert all(isinstance(one, str) for one in json.loads(value))


def test_the_devcontainer_is_json_with_commands_that_exist():
    found = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert re.search(
        rf"^{found['postCreateCommand'].split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE
    )


def test_the_citation_has_the_version_of_the_distribution():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert f'version = "{found["version"]}"' in (ROOT / "pyproject.toml").read_text()
    assert found["license"] == "Apache-2.0"


def test_the_badges_say_what_the_distributions_say():
    shown = re.findall(r"img\.shields\.io/badge/(\w+)-(\S+)-blue", (ROOT / "README.md").read_text())
    badges = {name: text.replace("--", "-") for name, text in shown}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runtime = tomllib.loads((ROOT / "mobilebert_runtime/pyproject.toml").read_text())["project"]
    first, last = badges["python"].split("_to_")
    assert runtime["requires-python"] == f">={first}"
    assert f"Programming Language :: Python :: {last}" in project["classifiers"]
    assert badges["licence"] == project["license"] == runtime["license"]


@pytest.mark.parametrize("name", ["bug.yml", "model.yml"])
def test_an_issue_template_asks_for_something(name):
    found = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / name).read_text())
    assert {"name", "description", "body"} <= set(found)
    ids = [field["id"] for field in found["body"]]
    assert len(set(ids)) == len(ids)
    assert any(field.get("validations", {}).get("required") for field in found["body"])
