"""Every file of examples/ does what it says, on small models."""

import json
import shutil

import pytest

from tests.helpers import small_matcher
from tests.helpers.documented_commands import ROOT, make_scratch, run
from tests.helpers.notebooks import script
from tests.helpers.toys import toy_pairs, write_pairs


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return make_scratch(tmp_path_factory.mktemp("examples"))


def test_every_example_has_a_row_and_a_test():
    names = {path.name for path in (ROOT / "examples").iterdir() if path.suffix in {".py", ".sh", ".ipynb"}}
    table = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    tests = (ROOT / "tests" / "e2e" / "test_examples.py").read_text(encoding="utf-8")
    for name in names:
        assert f"| `{name}` |" in table
        assert f"examples/{name} " in tests


@pytest.mark.slow
def test_use_in_python_finds_the_stored_question(scratch):
    flags = "--no-measure --seq-len 32 --buckets 32 --quant none --out matcher"
    run(f"python -m mobilebert_export export {flags}", scratch)
    first = run("python examples/use_in_python.py matcher", scratch).splitlines()[0]
    assert first.endswith("What is the best way to learn swimming?")


@pytest.mark.slow
def test_export_your_model_agrees_with_transformers(scratch):
    """The small matcher is a model directory that `transformers` reads too."""
    model = small_matcher.model_directory()
    lines = run(f"python examples/export_your_model.py {model} own", scratch).splitlines()
    theirs, ours = (float(line.split()[-1]) for line in lines[-2:])
    assert abs(theirs - ours) < 0.05


@pytest.mark.slow
def test_export_your_model_takes_the_class_that_matches(scratch, tmp_path):
    model = shutil.copytree(small_matcher.model_directory(), tmp_path / "unnamed")
    config = json.loads((model / "config.json").read_text())
    config["id2label"], config["label2id"] = {"0": "LABEL_0", "1": "LABEL_1"}, {"LABEL_0": 0, "LABEL_1": 1}
    (model / "config.json").write_text(json.dumps(config))
    (model / "matcher.json").unlink()
    lines = run(f"python examples/export_your_model.py {model} unnamed LABEL_1", scratch).splitlines()
    theirs, ours = (float(line.split()[-1]) for line in lines[-2:])
    assert abs(theirs - ours) < 0.05


@pytest.mark.slow
def test_train_on_your_pairs_leaves_a_matcher(scratch):
    (scratch / "few").mkdir()
    for seed, (part, count) in enumerate({"train": 120, "dev": 24, "test": 24}.items()):
        write_pairs(scratch / "few" / f"{part}.tsv", *toy_pairs(count, seed))
    run("bash examples/train_on_your_pairs.sh few mine --quick --quant none", scratch)


def test_a_notebook_has_no_outputs_and_what_it_runs_parses():
    """Outputs would be figures of one machine, and make every change unreadable."""
    for name in ("export_your_model.ipynb", "train_on_your_pairs.ipynb"):
        found = json.loads((ROOT / "examples" / name).read_text(encoding="utf-8"))
        assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
        assert not any(cell.get("outputs") for cell in found["cells"])
        compile(script(ROOT / "examples" / name, {}), name, "exec")


@pytest.mark.slow
def test_the_export_notebook_runs(scratch):
    """The file that `examples/export_your_model.ipynb ` shows, on the small matcher."""
    small = {"MODEL": repr(str(small_matcher.model_directory())), "OUT": repr("notebook-artefact")}
    (scratch / "export.py").write_text(script(ROOT / "examples/export_your_model.ipynb", small))
    lines = run("python export.py", scratch).splitlines()
    assert lines[-1] == "figures 1"
    assert (scratch / "notebook-artefact" / "io.json").is_file()


@pytest.mark.slow
def test_the_training_notebook_runs(scratch):
    """The file that `examples/train_on_your_pairs.ipynb ` shows, on toy pairs and a tiny network."""
    (scratch / "toy").mkdir()
    for seed, (part, count) in enumerate({"train": 120, "dev": 24, "test": 24}.items()):
        file = write_pairs(scratch / "toy" / f"{part}.tsv", *toy_pairs(count, seed))
        file.write_text(file.read_text().replace("label\tsentence1\tsentence2", "label\ttext_a\ttext_b"))
    tiny = {
        "DATA": repr("toy"),
        "ARCHITECTURE": repr("bert-tiny"),
        "EPOCHS": "1",
        "RUN": repr("notebook-run"),
    }
    (scratch / "train.py").write_text(script(ROOT / "examples/train_on_your_pairs.ipynb", tiny))
    lines = run("python train.py", scratch).splitlines()
    assert lines[-1] == "figures 3"


def test_gate_in_ci_tries_again_and_passes_the_gates_answer_on(scratch):
    """Too few sessions are inconclusive, which is no pass; bad input is not tried again."""
    artefact = small_matcher.artefact("onnx", "none")
    for name in ("base", "candidate"):
        (scratch / name).symlink_to(artefact)
    short = "--sessions 1 --seconds 0.1 --retries 0"
    run(f"bash examples/gate_in_ci.sh base candidate {short} > log 2>&1 || [ $? -eq 1 ]", scratch)
    assert json.loads((scratch / "gate.json").read_text())["gate"]["verdict"] == "inconclusive"
    run("bash examples/gate_in_ci.sh base nowhere || [ $? -eq 2 ]", scratch)
