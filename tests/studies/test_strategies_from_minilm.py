"""Promise of Tables 8 and 9 under a sentence encoder: rows differ in their stages and losses alone."""

import json

import numpy as np
import pytest
import torch

from mobilebert_models import EncoderConfig, build, load_embedder, read_config
from mobilebert_models.loading.embedders import save_embedder
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_training.batches import LengthBuckets
from mobilebert_training.training_config import TrainingConfig
from recipes.mobilebert_trunk.train import SHAPE
from studies.common import script
from studies.transfer.layerwise_student import Drawn, StageBatches, read_lessons, start, student_shape
from studies.transfer.strategies_from_minilm import main
from studies.transfer.strategies_report import ORDERS, ROWS, page, summarise
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text

pytestmark = pytest.mark.slow

SMALL = EncoderConfig(hidden_size=24, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32)
FMT, AT, PD = {"feature_map", "statistics"}, {"attention"}, {"vectors"}
# Of every row, as the papers' tables have them: stages, updates, what learns, losses.
EXPECTED = {
    "pd": [("vectors", 12, "all", PD)],
    "pd-fmt": [("joint", 6, "layers", FMT), ("vectors", 6, "all", PD)],
    "pd-fmt-at": [("joint", 6, "layers", FMT | AT), ("vectors", 6, "all", PD)],
    "akt": [("auxiliary", 12, "all", FMT | AT | PD)],
    "pkt": [
        *((f"layer-0{number + 1}", 1, number, FMT | AT) for number in range(6)),
        ("vectors", 6, "all", PD),
    ],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with texts, labelled pairs and a teacher."""
    folder = tmp_path_factory.mktemp("strategies")
    lines = list(dict.fromkeys(line for line in text(40).splitlines() if line))
    (folder / "texts.txt").write_text("\n".join(lines))
    pairs = "".join(f"{k % 5}.0\t{lines[k]}\t{lines[k + 1]}\n" for k in range(20))
    (folder / "dev.tsv").write_text(f"score\tsentence1\tsentence2\n{pairs}")
    encoder = build(SMALL, None, seed=0)
    spread(encoder, 0)
    save_embedder(encoder, folder / "teacher", tokenizer_from=MINILM)
    return folder


def called(place, *more):
    """Run the script; its exit code."""
    arguments = ["--texts", str(place / "texts.txt"), "--teacher", str(place / "teacher")]
    arguments += ["--sts", str(place / "dev.tsv"), "--batch", "4", "--dtype", "float32"]
    arguments += ["--out", str(place / "out"), "--runs", str(place / "runs"), *more]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    return done.value.code


def read(place):
    """What the runs learn from."""
    return read_lessons(place / "teacher", place / "texts.txt", place / "runs/labels", "float32")


@pytest.fixture(scope="module")
def records(place):
    """Of every row, seed 0, and of one with seed 1 as "other"."""
    assert called(place, "--updates", "12") == 0
    assert called(place, "--updates", "12", "--row", "pd", "--seed", "1") == 0
    cells = place / "out/cells"
    found = {row: json.loads((cells / f"minilm-{row}-seed0.json").read_text()) for row in ROWS}
    return found | {"other": json.loads((cells / "minilm-pd-seed1.json").read_text())}


def test_every_row_has_its_stages_and_its_losses(records):
    assert ROWS.keys() == EXPECTED.keys()
    for row, expected in EXPECTED.items():
        found = records[row]["stages"]
        said = [(s["stage"], s["updates"], s["learns"], set(s["weights"])) for s in found]
        assert said == expected, row
        for stage, (name, _, _, losses) in zip(found, expected, strict=True):
            for point in stage["curve"]:  # what was computed, not what was asked for
                assert point.keys() - {"step", "loss"} == losses, (row, name)
                assert point["loss"] == pytest.approx(sum(point[part] for part in losses), rel=1e-5)


def test_rows_have_the_same_updates_batches_and_start(records):
    for name in ("updates", "texts", "batches", "start", "parameters", "plan"):
        assert len({json.dumps(records[row][name]) for row in ROWS}) == 1, name
    assert (records["pd"]["updates"], records["pd"]["texts"]) == (12, 48)
    for name in ("batches", "start"):
        assert records["other"][name] != records["pd"][name]
    figures = {json.dumps(records[row]["figures"]) for row in ROWS}
    assert len(figures) == len(ROWS)  # each learned something of its own


def test_batches_are_the_first_ones_of_the_seed(place, records):
    lessons = read(place)
    drawn, buckets = Drawn(), LengthBuckets([len(ids) for ids, _ in lessons.rows], lambda batch: {}, "")
    for _, batch in zip(range(12), buckets.batches(TrainingConfig(batch_size=4, seed=0)), strict=False):
        drawn.add(batch.index)
    assert records["pkt"]["batches"] == drawn.hash
    engine, stage = TrainingConfig(batch_size=4, seed=0), Drawn(updates=3)
    ((later,),) = StageBatches(lessons, stage).micro_batches(engine, 0, 1, range(1))
    ((fourth,),) = StageBatches(lessons, Drawn()).micro_batches(engine, 0, 1, range(3, 4))
    assert torch.equal(later["input_ids"], fourth["input_ids"])


def test_figures_are_those_of_the_network_that_is_left(place, records):
    lessons, row = read(place), records["pkt"]
    assert not {str(ids) for ids, _ in lessons.held} & {str(ids) for ids, _ in lessons.rows}
    networks = [load_embedder(place / "runs/minilm-pkt-seed0/model"), load_embedder(place / "teacher")]
    vectors, error, tokens = [[], []], 0.0, 0
    for ids, types in lessons.held:  # one by one, without padding
        inputs = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([types])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        with torch.no_grad():
            last = [network.encoder(**inputs).last_hidden_state[0].numpy() for network in networks]
        for found, states in zip(vectors, last, strict=True):
            found.append(states.mean(0) / np.linalg.norm(states.mean(0)))
        scaled = [(x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) for x in last]
        error += ((scaled[0] - scaled[1]) ** 2).mean(1).sum()
        tokens += len(ids)
    ours, theirs = (np.array(found) for found in vectors)
    figures = row["figures"]
    assert row["held_out_texts"] == len(lessons.held) > 5
    # The network is kept in float16.
    assert figures["cosine"] == pytest.approx((ours * theirs).sum(1).mean(), abs=2e-3)
    assert figures["feature_map"][-1] == pytest.approx(error / tokens, rel=1e-2)
    pairs = np.triu_indices(len(ours), 1)
    ranks = [(found @ found.T)[pairs].argsort().argsort() for found in (ours, theirs)]
    assert figures["order"] == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=2e-2)
    assert len(figures["feature_map"]) == len(figures["attention"]) == 6
    assert -1 <= figures["sts"] <= 1


def test_start_has_the_teachers_embeddings_and_layers_of_the_seed(place):
    lessons = read(place)
    first, second = start(lessons, 0), start(lessons, 1)
    ours, other = (network.embeddings.state_dict() for network in (first, second))
    assert all(torch.equal(ours[name], other[name]) for name in ours)
    assert not torch.equal(
        first.layers[0].intermediate.dense.weight, second.layers[0].intermediate.dense.weight
    )
    ids = torch.tensor([lessons.rows[0][0]])
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
    }
    with torch.no_grad():
        wanted = lessons.teacher.embed(**inputs)
        assert (first.embed(**inputs) - wanted).square().mean() < wanted.var() / 2


def test_student_of_minilm_has_the_shape_of_the_mobilebert_trunk():
    assert student_shape(read_config(MINILM)) == SHAPE


def test_a_record_is_kept_and_no_other_settings_take_its_name(place, records, capsys):
    cells = {path: path.stat().st_mtime_ns for path in (place / "out/cells").iterdir()}
    assert called(place, "--updates", "12") == 0
    assert called(place, "--updates", "14", "--row", "pd") == 2
    assert "is a record with other engine (steps); give another --out" in capsys.readouterr().err
    assert cells == {path: path.stat().st_mtime_ns for path in (place / "out/cells").iterdir()}
    shown = (place / "out/strategies-from-minilm.md").read_text()
    assert "| PD | Table 9 | " in shown
    assert "| Table 9 | PD + FMT | PD | cosine | " in shown


def test_bad_input_is_refused_before_any_work(place, tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    for arguments, message in (
        (["--updates", "11"], "5 transfer steps for 6 layers"),
        (["--row", "mkt"], "--row mkt: is unknown; expected one of pd, pd-fmt, pd-fmt-at, akt, pkt"),
        (["--batch", "100000"], "texts to train on; a batch has 100000"),
    ):
        assert called(place, *arguments, *out) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()
    (tmp_path / "few.txt").write_text("one\ntwo\n")
    with pytest.raises(DataError, match="2 different texts; give at least 16"):
        read_lessons(place / "teacher", tmp_path / "few.txt", tmp_path / "labels", "float32")
    save_embedder(start(read(place), 0), tmp_path / "thin", tokenizer_from=MINILM)
    with pytest.raises(ModelError, match="is mobilebert; expected a sentence encoder that is a BERT"):
        read_lessons(tmp_path / "thin", place / "texts.txt", tmp_path / "labels", "float32")


def fake(cell, seed, cosine):
    return {
        "cell": cell,
        "seed": seed,
        "updates": 600,
        "figures": {"cosine": cosine, "feature_map": [0.1, 0.3]},
    }


def test_summary_has_the_papers_order_from_differences_paired_by_seed():
    values = {"pkt": (0.9, 0.8, 0.7), "pd-fmt-at": (0.8, 0.7, 0.59), "akt": (0.85, 0.6, 0.6), "pd": (0.5,)}
    records = [fake(cell, seed, value) for cell, found in values.items() for seed, value in enumerate(found)]
    summary = summarise(records)
    assert list(summary["means"]) == [row for row in ROWS if row in values]
    assert summary["means"]["pkt"]["cosine"] == pytest.approx(0.8)
    first, second = summary["orders"]  # pd-fmt, in both steps of Table 9, has no record
    assert (first["better"], first["worse"], first["verdict"]) == ("pkt", "pd-fmt-at", "holds")
    assert first["difference"] == pytest.approx(0.31 / 3)
    # Differences .1, .1, .11: standard error .01 / 3, Student's t of two degrees of freedom 4.303.
    assert np.diff(first["interval"]) == pytest.approx(2 * 4.303 * 0.01 / 3, rel=1e-3)
    assert (second["better"], second["worse"], second["verdict"]) == ("pd-fmt-at", "akt", "undecided")
    assert "| PKT | Table 8 | 0.8000 | – | – | 0.3000 | 0, 1, 2 | 600 |" in page(records)
    assert {row for _, *rows in ORDERS for row in rows} == ROWS.keys()
