"""Training data that nothing can be learned from: one line, exit 2, before any work."""

import json

import pytest

from mobilebert_export.command_line import program as cli
from tests.helpers import small_matcher
from tests.helpers.toys import toy_pairs

HEADER = "label\ttext_a\ttext_b\n"
GOOD = HEADER + "".join(f"{label}\t{a}\t{b}\n" for (a, b), label in zip(*toy_pairs(40), strict=True))
ONE_CLASS = HEADER + "1\ta text\tanother\n" * 40

BAD = {
    "a label of a thousand million": (GOOD + "1000000000\ta\tb\n", GOOD, "line 42 has label 1000000000"),
    "a negative label": (GOOD + "-1\ta\tb\n", GOOD, "class numbers"),
    "a fraction": (GOOD + "0.5\ta\tb\n", GOOD, "class numbers"),
    "no number": (GOOD + "yes\ta\tb\n", GOOD, "label is not a number: line 42"),
    "one row": (HEADER + "1\ta\tb\n", GOOD, "no label but 1 (1 pairs)"),
    "no row": (HEADER, GOOD, "no usable pair"),
    "one class": (ONE_CLASS, GOOD, "no label but 1"),
    "a development part of one class": (GOOD, ONE_CLASS, "the dev part has no label but 1"),
    "an unknown development label": (GOOD, GOOD + "2\ta\tb\n", "label 2, which no training pair has"),
    "no development part": (GOOD, None, "dev.tsv: no such file"),
    "no training part": (None, GOOD, "train.tsv"),
    "an empty file": ("", GOOD, "empty"),
    "a row of three fields": (GOOD + "1\ta\n", GOOD, "wrong number of fields: line 42"),
    "a text of a million letters": (GOOD + "1\t" + "x" * 10**6 + "\tb\n", GOOD, "too long"),
    "bytes": (b"\xff\xfe\x00", GOOD, "UTF-16"),
}
MAY_LACK_DEV = {"no development part"}  # train-matcher takes a part of train.tsv


def refused(arguments, capfd) -> str:
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    said = capfd.readouterr()
    assert end.value.code == 2, said.err
    assert said.out == ""
    lines = [line for line in said.err.splitlines() if not line.startswith("─")]  # `ship` says where it is
    assert len(lines) == 1, said.err
    return lines[0]


@pytest.fixture
def folder(tmp_path):
    def write(train, dev):
        data = tmp_path / "data"
        data.mkdir()
        for name, content in (("train", train), ("dev", dev)):
            if content is not None:
                raw = content if isinstance(content, bytes) else content.encode()
                (data / f"{name}.tsv").write_bytes(raw)
        return data

    return write


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("command", ["train-matcher", "distill", "ship"])
def test_bad_training_data_is_refused_before_any_work(command, fault, folder, tmp_path, capfd, monkeypatch):
    if fault in MAY_LACK_DEV and command != "distill":
        pytest.skip("a development part is taken from train.tsv")
    train, dev, complaint = BAD[fault]
    if (fault, command) == ("an unknown development label", "ship"):
        complaint = "has label 2; matcher-open-m tells two apart"
    data = folder(train, dev)
    import mobilebert_models
    from mobilebert_training.finetuning import matcher_training
    from mobilebert_training.initialization import student  # noqa: F401 (would keep what is patched below)

    def nothing(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded before the data was checked")

    monkeypatch.setattr(matcher_training, "build_matcher", nothing)
    monkeypatch.setattr(mobilebert_models, "load_classifier", nothing)
    arguments = [command, f"--data={data}", f"--out={tmp_path / 'out'}"]
    if command == "distill":
        arguments.append(f"--teacher={teacher_of(tmp_path, 384)}")
    assert complaint in refused(arguments, capfd)
    assert not (tmp_path / "out").exists()


def teacher_of(tmp_path, width):
    """A teacher's config without weights: what is wrong with its shape is seen before they are read."""
    made = tmp_path / f"teacher-{width}"
    made.mkdir()
    import mobilebert_models

    heads = 12 if width == 384 else 4  # as the student matcher-m has, or a divisor
    config = mobilebert_models.preset("minilm-l6").to_dict() | {
        "hidden_size": width,
        "num_attention_heads": heads,
    }
    (made / "config.json").write_text(json.dumps(config))
    return made


@pytest.mark.parametrize("width", [128, 512])
@pytest.mark.parametrize("start", [(), ("--start", "matcher-qqp-m")])
def test_a_teacher_of_another_width_is_refused_before_any_work(width, start, folder, tmp_path, capfd):
    data = folder(GOOD, GOOD)
    arguments = ["distill", f"--teacher={teacher_of(tmp_path, width)}", f"--data={data}"]
    said = refused([*arguments, f"--out={tmp_path / 'out'}", *start], capfd)
    assert f"must equal the {width} of the teacher" in said
    assert not (tmp_path / "out").exists()


def test_calibrate_takes_equal_recall_as_a_way_of_debiasing_only(folder, capfd):
    model = small_matcher.model_directory()
    options = ["--equal-recall", "--no-debias", "--force"]
    said = refused(["calibrate", str(model), f"--data={folder(GOOD, GOOD)}", *options], capfd)
    assert "--equal-recall: changes how the length bias is removed; leave out --no-debias" in said


@pytest.mark.parametrize("dev", [ONE_CLASS, HEADER, None, GOOD + "7\ta\tb\n"])
def test_calibrate_refuses_what_gives_no_threshold(dev, folder, capfd):
    model = small_matcher.model_directory()
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    said = refused(["calibrate", str(model), f"--data={folder(GOOD, dev)}", "--force"], capfd)
    assert "dev.tsv" in said
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
