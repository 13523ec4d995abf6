"""Promise of fine-tuning: files are read whole, figures are sklearn's and scipy's, a search resumes."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

import mobilebert_models
from mobilebert_export.command_line.commands.training.finetune import finetune as command
from mobilebert_export.library import calibrate
from mobilebert_matching.data.glue import TASKS, find_task, read_task
from mobilebert_matching.evaluation.glue_metrics import task_figures
from mobilebert_models import EncoderConfig, MatcherSettings, build, load_pretrained, save_pretrained
from mobilebert_runtime.errors import DataError, OptionError, OutputError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.hyperparameter_search import Cell, grid, search
from mobilebert_training.finetuning.initial_model import start_model
from mobilebert_training.finetuning.matcher_training import train_matcher
from mobilebert_training.initialization.student import inputs_of
from mobilebert_training.training_config import ResumeError
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs, write_pairs

SMALL = EncoderConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64)


def write(path, rows, header="label\tsentence1\tsentence2"):
    path.write_text(
        header + "\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8"
    )


def toy_folder(folder, task="mrpc", count=40):
    for seed, (name, size) in enumerate((("train", count), ("dev", 16), ("test", 16))):
        pairs, labels = toy_pairs(size, seed=seed)
        shown = [4.0 * y + 0.5 for y in labels] if task == "sts-b" else labels
        write_pairs(folder / f"{name}.tsv", pairs, shown)
    return folder


def test_figures_equal_sklearn_and_scipy():
    rng = np.random.default_rng(0)
    labels, logits = rng.integers(0, 2, 200), rng.normal(size=(200, 2))
    figures = task_figures(TASKS["mrpc"], labels, logits)
    assert figures["accuracy"] == accuracy_score(labels, logits.argmax(1))
    assert figures["f1"] == pytest.approx(f1_score(labels, logits.argmax(1)))
    scores, outputs = rng.uniform(0, 5, 200).round(1), rng.normal(size=(200, 1))
    figures = task_figures(TASKS["sts-b"], scores, outputs)
    assert figures["pearson"] == pytest.approx(pearsonr(scores, outputs[:, 0]).statistic)
    assert figures["spearman"] == pytest.approx(spearmanr(scores, outputs[:, 0]).statistic)
    assert task_figures(TASKS["mrpc"], np.zeros(4, int), np.array([[1.0, 0.0]] * 4))["f1"] == 0.0
    with pytest.raises(DataError, match="correlation is undefined"):
        task_figures(TASKS["sts-b"], scores, np.ones((200, 1)))


@pytest.mark.parametrize(
    ("task", "folder", "sizes"),
    [
        ("mrpc", "mrpc", {"train": 3576, "dev": 500, "test": 1725}),
        ("sts-b", "sts-b", {"train": 5749, "dev": 1500, "test": 1379}),
        ("mnli", "mnli-subset", {"train": 2700, "dev": 300, "test": 7469}),
    ],
)
def test_real_files_are_read_whole(task, folder, sizes, shared_data):
    data = read_task(shared_data / "data" / "glue" / folder, find_task(task))
    assert {split: len(part.pairs) for split, part in data.items()} == sizes
    targets = data["train"].targets
    if task == "sts-b":
        assert (targets.min(), targets.max()) == (0, 5)
    else:
        assert set(targets) == set(range(len(TASKS[task].labels)))
    assert not set(data["train"].pairs) & set(data["dev"].pairs) or task != "mnli"


def test_bad_rows_and_names_are_named_errors(tmp_path):
    write(tmp_path / "train.tsv", [("maybe", "a", "b")], "label\tpremise\thypothesis")
    with pytest.raises(DataError, match=r"line 2: label 'maybe'; this task has entailment"):
        read_task(tmp_path, TASKS["mnli"])
    with pytest.raises(DataError, match="score 'maybe' is not a number"):
        read_task(tmp_path, TASKS["sts-b"])
    write(tmp_path / "train.tsv", [("0", "a")])
    with pytest.raises(DataError, match="wrong number of fields: line 2"):
        read_task(tmp_path, TASKS["mrpc"])
    with pytest.raises(DataError, match="'cola' is unknown; expected one of mrpc, sts-b, mnli, squad"):
        find_task("cola")


def test_the_papers_grid():
    cells = grid()
    assert len(cells) == 270
    assert {cell.batch_size for cell in cells} == {16, 32, 48}
    assert (min(c.learning_rate for c in cells), max(c.learning_rate for c in cells)) == (1e-5, 1e-4)
    assert {cell.epochs for cell in cells} == set(range(2, 11))
    assert len({cell.name for cell in cells}) == 270


def test_search_keeps_the_best_and_goes_on_after_a_kill(tmp_path):
    figures = {"b1-lr1e-05-e2": 0.4, "b2-lr1e-05-e2": 0.9, "b3-lr1e-05-e2": 0.9, "b4-lr1e-05-e2": 0.1}
    cells, ran, kept = grid((1, 2, 3, 4), (1e-5,), (2,)), [], []

    def run(cell, folder):
        if cell.batch_size == 3 and not again:
            raise KeyboardInterrupt
        ran.append(cell.batch_size)
        return cell.name, {"dev": {"accuracy": figures[cell.name]}}

    again = False
    with pytest.raises(KeyboardInterrupt):
        search(
            cells, run, kept.append, tmp_path, select="accuracy", metadata={"task": "t"}, inputs={"task": "t"}
        )
    again = True
    best = search(
        cells, run, kept.append, tmp_path, select="accuracy", metadata={"task": "t"}, inputs={"task": "t"}
    )
    assert ran == [1, 2, 3, 4]
    assert kept == ["b1-lr1e-05-e2", "b2-lr1e-05-e2"]
    assert best["cell"]["batch_size"] == 2
    assert json.loads((tmp_path / "best.json").read_text())["cells"] == 4
    with pytest.raises(ResumeError, match="holds a run with other task; choose another folder"):
        search(
            cells,
            run,
            kept.append,
            tmp_path,
            select="accuracy",
            metadata={"task": "t"},
            inputs={"task": "other"},
        )
    with pytest.raises(ResumeError, match="no cell"):
        search([], run, kept.append, tmp_path, select="accuracy", metadata={}, inputs={})
    assert Cell(16, 3e-5, 4).loop(7).learning_rate == 3e-5


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start") / "small"
    save_pretrained(build(SMALL, seed=0), folder, tokenizer_from=MINILM)
    return folder


def test_a_run_starts_from_the_encoder_and_a_fresh_head(small):
    model = start_model(str(small), "pair_classifier", 3, seed=1)
    given = load_pretrained(small)
    assert model.num_labels == 3
    for name, value in given.encoder.state_dict().items():
        assert torch.equal(model.encoder.state_dict()[name], value), name
    again = start_model(str(small), "pair_classifier", 3, seed=1)
    assert torch.equal(again.classifier.weight, model.classifier.weight)
    spans = start_model("matcher-qqp-m", "span_qa")
    assert spans.config.model_type == "mobilebert"


def test_pairs_are_read_as_far_as_the_model_has_positions(tmp_path):
    """One that was pretrained on short sequences is fine-tuned, and so are matchers (`train-matcher`)."""
    few = replace(SMALL, max_position_embeddings=12)
    save_pretrained(build(few, seed=0), tmp_path / "few", tokenizer_from=MINILM, settings=MatcherSettings())
    data = toy_folder(tmp_path, count=24)
    pairs, labels = toy_pairs(16, seed=9)
    for name in ("train", "dev", "test"):
        longer = [(f"{a} {a} {a}", f"{b} {b} {b}") for a, b in pairs]
        write_pairs(data / f"{name}.tsv", longer, labels)
    command(task="mrpc", data=data, out=tmp_path / "out", model=str(tmp_path / "few"), epochs="1")
    assert (tmp_path / "out" / "best.json").is_file()
    made = train_matcher(data, tmp_path / "matcher", arch=str(tmp_path / "few"), epochs=1, threads=1)
    calibrate(made, data, force=True, threads=1)
    assert load_pretrained(made).config.max_position_embeddings == 12
    read = inputs_of(load_pretrained(made).encoder, PairTokenizer.load(made), longer)  # as `factorize` does
    assert read


@pytest.mark.parametrize("task", ["mrpc", "sts-b"])
def test_command_runs_a_grid_and_reports_dev_and_test(task, small, tmp_path):
    (tmp_path / "data").mkdir()
    given = {"task": task, "data": toy_folder(tmp_path / "data", task), "out": tmp_path / "out"}
    given |= {"model": str(small), "grid": True, "lr": "1e-4,5e-3", "batch_size": "8", "epochs": "4"}
    command(**given)
    best = json.loads((tmp_path / "out" / "best.json").read_text())
    cells = [json.loads(path.read_text()) for path in (tmp_path / "out" / "cells").glob("*.json")]
    figure = TASKS[task].figures[0]
    assert best["dev"][figure] == max(cell["dev"][figure] for cell in cells)
    assert len(cells) == 2
    assert set(best["test"]) == set(TASKS[task].figures)
    assert best["metadata"]["sizes"] == {"train": 40, "dev": 16, "test": 16}
    assert str(tmp_path) not in json.dumps(best)
    kept = load_pretrained(tmp_path / "out" / "model")
    assert kept.num_labels == (1 if task == "sts-b" else 2)
    read = mobilebert_models.read_task(tmp_path / "out" / "model", task="text-classification", texts=2)
    assert read.activation == ("identity" if task == "sts-b" else "softmax")
    if task == "mrpc":  # its class names say that it matches texts, and which class means a match
        matching = mobilebert_models.read_task(tmp_path / "out" / "model")
        assert (matching.name, matching.settings.positive) == ("text-matching", 1)
        theirs = transformers.AutoConfig.from_pretrained(tmp_path / "out" / "model")
        assert theirs.id2label == {0: "not_equivalent", 1: "equivalent"}
    with pytest.raises(OutputError, match="exists"):
        command(**given)


def test_command_errors_name_the_option(small, tmp_path):
    data = toy_folder(tmp_path)
    with pytest.raises(OptionError, match="2 combinations; add --grid"):
        command(task="mrpc", data=data, out=tmp_path / "o", model=str(small), lr="1e-5,2e-5")
    with pytest.raises(OptionError, match="--epochs 'two': expected numbers"):
        command(task="mrpc", data=data, out=tmp_path / "o", model=str(small), epochs="two")
    with pytest.raises(OptionError, match="above 0"):
        command(task="mrpc", data=data, out=tmp_path / "o", model=str(small), lr="-1")
