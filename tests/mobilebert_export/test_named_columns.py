"""Columns named on the command line: the copy that every reader understands, and whose words errors use."""

import pytest

from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_matching.data.labelled_pairs import read_labelled, read_split
from mobilebert_runtime.errors import DataError

ROWS = "q\tr\ty\nswim\tlearn to swim\tyes\nswim\tsing\tno\n"


def test_nothing_named_is_the_data_itself(tmp_path):
    with known_columns(tmp_path, ColumnNames(group="qid")) as found:
        assert found is tmp_path


def test_a_file_is_copied_under_the_known_names_and_its_own_place_is_what_records_show(tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text(ROWS)
    with known_columns(file, ColumnNames("q", "r", "y", "yes")) as copy:
        assert copy.parts[-2:] == file.parts[-2:]
        pairs, labels = read_labelled(copy)
    assert pairs == [("swim", "learn to swim"), ("swim", "sing")]
    assert labels.tolist() == [1, 0]
    assert not copy.exists()
    assert file.read_text() == ROWS


def test_a_folder_is_copied_part_by_part(tmp_path):
    data = tmp_path / "set" / "data"
    data.mkdir(parents=True)
    for part in ("train", "dev"):
        (data / f"{part}.tsv").write_text(ROWS)
    with known_columns(data, ColumnNames("q", "r", "y", "yes")) as copy:
        assert copy.parts[-2:] == ("set", "data")
        assert read_split(copy, "dev").labels.tolist() == [1, 0]
        assert sorted(file.name for file in copy.iterdir()) == ["dev.tsv", "train.tsv"]
    assert not copy.exists()


def test_the_positive_label_alone_is_enough(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text('label,text_a,text_b\nsame,a,"b, c"\nother,c,"d\te"\n')
    with known_columns(file, ColumnNames(positive_label="same")) as copy:
        assert read_labelled(copy).labels.tolist() == [1, 0]
        assert read_labelled(copy).pairs == [("a", "b, c"), ("c", "d e")]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (ColumnNames("nothing", "r", "y"), "no column 'nothing'"),
        (ColumnNames("q", "r", positive_label="yes"), "no column of labels"),
    ],
)
def test_a_column_that_is_not_there_is_refused(tmp_path, names, says):
    file = tmp_path / "mine.tsv"
    file.write_text(ROWS)
    with pytest.raises(DataError, match=says), known_columns(file, names):
        pass


@pytest.mark.parametrize("ending", ["tsv", "jsonl"])
def test_an_empty_label_is_refused_with_its_line_as_it_is_without_a_positive_label(tmp_path, ending):
    rows = {
        "tsv": "q\tr\ty\na\tb\tyes\nc\td\t \ne\tf\tno\n",
        "jsonl": '{"q": "z", "r": "b", "y": "yes"}\n{"q": "a", "r": "b", "y": "yes"}\n'
        '{"q": "c", "r": "d", "y": null}\n',
    }
    file = tmp_path / f"mine.{ending}"
    file.write_text(rows[ending])
    for names in (ColumnNames("q", "r", "y", "yes"), ColumnNames("q", "r", "y")):
        with pytest.raises(DataError, match="line 3") as error, known_columns(file, names) as copy:
            read_labelled(copy)
    with pytest.raises(DataError) as error, known_columns(file, ColumnNames("q", "r", "y", "yes")):
        pass
    assert str(error.value) == f"{file}: line 3: label is empty; mend or remove this row"


def test_a_positive_label_that_no_row_has_is_refused_and_those_that_are_there_named(tmp_path):
    (tmp_path / "train.tsv").write_text(ROWS)
    (tmp_path / "test.tsv").write_text(ROWS.replace("yes", "no"))
    names = ColumnNames("q", "r", "y", "nope")
    for data in (tmp_path, tmp_path / "train.tsv"):
        with pytest.raises(DataError) as error, known_columns(data, names):
            pass
        advice = "name one that is there: 'no', 'yes'"
        assert str(error.value) == f"{data}: no row has the positive label 'nope'; {advice}"
    with known_columns(tmp_path, ColumnNames("q", "r", "y", "yes")) as copy:  # a part may lack it
        assert read_labelled(copy / "test.tsv").labels.tolist() == [0, 0]


def test_errors_name_what_was_given_and_not_the_copy(tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text(ROWS)
    with pytest.raises(DataError) as error, known_columns(file, ColumnNames("q", "r", "y")) as copy:
        read_labelled(copy)
    assert str(file) in str(error.value)
    assert str(copy) not in str(error.value)
