"""`import mobilebert_export as mb`: every public function, on small models and toy data."""

import dataclasses
import io
import json
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import mobilebert_export as mb
from mobilebert_export import samples
from mobilebert_export.pipeline.export_request import ExportOptions
from tests.helpers import model_directories, small_matcher
from tests.helpers.documented_commands import ROOT, blocks
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs, write_pairs

PAIRS = samples.verification_pairs()[:8]
SMALL = {"target": "onnx", "quant": "none", "seq_len": 32, "buckets": [32]}


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys") / "pairs"
    folder.mkdir()
    for seed, (part, count) in enumerate({"train": 64, "dev": 24, "test": 24}.items()):
        write_pairs(folder / f"{part}.tsv", *toy_pairs(count, seed))
    return folder


def test_importing_the_library_and_asking_what_it_has_loads_no_torch_and_no_runtime():
    code = (
        "import sys, mobilebert_export as mb; dir(mb); mb.export; mb.UserError;"
        "heavy = {'torch', 'transformers', 'onnxruntime', 'ai_edge_litert', 'numpy', 'rich', 'typer'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_every_name_exists_and_another_is_an_attribute_error():
    assert set(mb.__all__) <= set(dir(mb))
    for name in mb.__all__:
        assert getattr(mb, name).__doc__
    with pytest.raises(AttributeError, match="'exprot'"):
        _ = mb.exprot


def test_the_keywords_of_export_are_the_options_of_its_command():
    fields = {field.name for field in dataclasses.fields(mb.ExportRequest)}
    assert set(typing.get_type_hints(ExportOptions)) == fields - {"out", "model"}


def test_a_model_directory_is_exported_and_verified_without_a_word(tmp_path, capfd):
    steps = []
    model = small_matcher.model_directory()
    result = mb.export(model, str(tmp_path / "out"), **SMALL, progress=steps.append)
    assert capfd.readouterr() == ("", "")
    assert steps[0] == "Load the PyTorch model"
    assert (result.path, result.recipe) == (tmp_path / "out", "onnx-none")
    assert result.verification.passed
    assert result.verification.label_agreement == 1
    assert json.loads((result.path / "report.json").read_text()) == json.loads(
        json.dumps(result.report.to_json())
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.path = None
    again = mb.verify(result.path, model)
    assert again.passed
    assert again.max_abs_logit == pytest.approx(result.verification.max_abs_logit, abs=1e-6)
    with pytest.raises(mb.UserError, match="exists already"):
        mb.export(model, tmp_path / "out", **SMALL)
    assert isinstance(mb.load(result.path).score(PAIRS), np.ndarray)


def scores_of(model, out, **options):
    return mb.load(mb.export(model, out, **SMALL, **options).path).score(PAIRS)


def test_a_network_of_ours_in_memory_is_exported_as_its_directory_is(tmp_path):
    import mobilebert_models

    directory = small_matcher.model_directory()
    network = mobilebert_models.load_pretrained(directory)
    expected = scores_of(directory, tmp_path / "expected")
    found = scores_of(network, tmp_path / "found", tokenizer=directory)
    np.testing.assert_array_equal(found, expected)
    made = json.loads((tmp_path / "found" / "recipe.json").read_text())["model"]
    assert made["name"] == "PairClassifier"
    assert mb.verify(tmp_path / "found", network, tokenizer=directory).passed
    # A tokenizer of transformers does as well as a directory; it brings no decision settings.
    import transformers

    tokenizer = transformers.BertTokenizerFast(tokenizer_file=str(directory / "tokenizer.json"))
    with pytest.raises(mb.UserError, match="which class means a match"):
        mb.export(network, tmp_path / "none", **SMALL, tokenizer=tokenizer)
    with pytest.raises(mb.UserError, match="give its tokenizer"):
        mb.export(network, tmp_path / "none", **SMALL)
    assert not (tmp_path / "none").exists()


def test_a_transformers_model_in_memory_is_exported_as_its_directory_is(tmp_path):
    import transformers

    directory = model_directories.model_directory(tmp_path / "model", "bert", "text-matching")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(directory)
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    expected = scores_of(directory, tmp_path / "expected")
    np.testing.assert_array_equal(scores_of(network, tmp_path / "found", tokenizer=tokenizer), expected)
    (directory / "matcher.json").write_text('{"threshold": 0.25, "labels": ["different", "duplicate"]}')
    mb.export(network, tmp_path / "settled", **SMALL, tokenizer=directory)
    assert mb.load(tmp_path / "settled").card.threshold == 0.25


def test_a_sentence_transformer_in_memory_is_exported_with_its_own_tokenizer(tmp_path):
    st = pytest.importorskip("sentence_transformers")
    model = st.SentenceTransformer(
        str(model_directories.embedder_directory(tmp_path / "model", "bert")), device="cpu"
    )
    result = mb.export(model, tmp_path / "out", **SMALL)
    texts = [a for a, _ in PAIRS if len(a.split()) < 12]
    np.testing.assert_allclose(mb.load(result.path).embed(texts), model.encode(texts), atol=1e-4)
    with pytest.raises(mb.UserError, match="has its own"):
        mb.export(model, tmp_path / "none", **SMALL, tokenizer=model.tokenizer)


def test_what_is_no_network_is_refused_by_name(tmp_path):
    import torch

    with pytest.raises(mb.UserError, match="Linear: neither a network"):
        mb.export(torch.nn.Linear(2, 2), tmp_path / "out", tokenizer="anywhere")
    with pytest.raises(mb.UserError, match="leave it out"):
        mb.export(small_matcher.model_directory(), tmp_path / "out", tokenizer="anywhere")


@pytest.mark.parametrize("options", [{"quant": "int4"}, {"verify_pairs": 3}, {"kronecker": "twice"}])
def test_a_wrong_option_is_the_commands_error_and_leaves_nothing(tmp_path, options):
    with pytest.raises(mb.UserError, match=next(iter(options)).replace("_", "-")):
        mb.export(small_matcher.model_directory(), tmp_path / "out", **SMALL | options)
    assert not any(tmp_path.iterdir())


def test_training_calibrating_and_evaluating(tmp_path, toys, capfd):
    trained = mb.train(toys, tmp_path / "run", arch="bert-tiny", epochs=1, threads=1)
    assert capfd.readouterr() == ("", "")
    assert trained.record["evaluations"][-1]["dev_accuracy"] >= 0
    assert trained.settings == mb.MatcherSettings.load(trained.model)
    with pytest.raises(mb.UserError, match="exists already"):
        mb.calibrate(trained.model, toys)
    settings = mb.calibrate(trained.model, toys, threads=1, force=True)
    assert settings == mb.MatcherSettings.load(trained.model)
    found = mb.evaluate(trained.model, toys / "test.tsv", threads=1)
    assert found.pairs == 24
    assert 0 <= found.accuracy <= 1
    assert found.to_json()["accuracy"] == found.accuracy


def test_distilling_leaves_a_model_that_exports_and_scores(tmp_path, toys, capfd):
    from mobilebert_models import EncoderConfig, build, save_pretrained
    from mobilebert_models.kronecker.compress import compress
    from mobilebert_models.kronecker.factor_shapes import low_rank_rules

    small = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
    teacher = build(small, seed=0)
    save_pretrained(teacher, tmp_path / "teacher", tokenizer_from=MINILM)
    factored = compress(teacher, low_rank_rules(small, 2))[0]
    save_pretrained(factored, tmp_path / "factored", tokenizer_from=MINILM)
    steps = []
    student = mb.distill(
        tmp_path / "teacher",
        toys,
        tmp_path / "run",
        student=str(tmp_path / "factored"),
        recipe="smoke",
        threads=1,
        progress=steps.append,
    )
    assert capfd.readouterr() == ("", "")
    assert steps[0] == "mining unlabelled pairs"
    assert [record["examples"] > 0 for record in student.records] == [True, True, True]
    assert student.settings == mb.MatcherSettings.load(student.model)
    result = mb.export(student.model, tmp_path / "out", **SMALL)
    assert mb.Matcher.load(result.path).score(PAIRS).shape == (len(PAIRS),)


def test_the_gate_judges_and_says_why(tmp_path):
    artefact = small_matcher.artefact("onnx", "none")
    (tmp_path / "base").symlink_to(artefact)
    result = mb.gate(tmp_path / "base", artefact, sessions=1, seconds=0.1, retries=0)
    assert not result.passed
    assert result.verdict.verdict == "inconclusive", "one session proves nothing"
    assert result.verdict.reasons
    with pytest.raises(mb.UserError):
        mb.gate(tmp_path / "nowhere", artefact)


@pytest.mark.slow
def test_ship_makes_a_matcher_and_says_where_its_parts_lie(tmp_path, toys):
    result = mb.ship(toys, tmp_path / "out", matcher="matcher-s", quant="none", quick=True)
    (made,) = result.matchers
    assert made.name == "matcher-s"
    assert mb.load(made.artefact).score(PAIRS).shape == (len(PAIRS),)
    assert json.loads(made.artefact_record.read_text())["pairs"] == 24


@pytest.mark.slow
def test_the_page_of_the_library_runs_as_it_stands(tmp_path, toys, monkeypatch, capsys):
    (snippet,) = blocks("docs/reference/export.md", "python")
    assert len([line for line in snippet.splitlines() if line]) <= 12
    (tmp_path / "pairs").symlink_to(toys)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "docs/reference/export.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"tflite-none 1\.0|tflite-none 0\.99\d*", lines[1])
    assert re.fullmatch(r"\[[01]\.\d*\]", lines[2])
    assert Path("artefacts/mine/io.json").is_file()


def test_what_packages_print_is_hidden_in_a_notebook_too(monkeypatch, capfd):
    from mobilebert_export.console import silenced

    page = io.StringIO()
    monkeypatch.setattr(sys, "stdout", page)
    with silenced():
        print("(00:00) [START] LiteRT-Torch Convert")
    assert sys.stdout is page
    assert (page.getvalue(), *capfd.readouterr()) == ("", "", "")


def test_the_commands_progress_has_a_line_for_each_step_and_remark(capfd):
    from mobilebert_export.console import shown_steps

    with shown_steps() as progress:
        for line in ("Load", "matcher-s: mining", "matcher-s: 5% labelled", "  a remark", "Report"):
            progress(line)
    lines = capfd.readouterr().err.splitlines()
    said = [re.sub(r" \d+\.\d s$", "", line) for line in lines]
    assert said == ["✓ Load", "a remark", "✓ matcher-s: 5% labelled", "✓ Report"]  # a remark ends no step
