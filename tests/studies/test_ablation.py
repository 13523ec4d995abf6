"""Promise of the ablation: the runs of a table have one budget, and their order is said as it is."""

import json
from dataclasses import replace

import pytest

from mobilebert_runtime.errors import OptionError
from mobilebert_training.pretraining.corpus import Packing, build
from mobilebert_training.pretraining.strategies import stages, strategy
from mobilebert_training.training_config import ResumeError
from studies.common import script
from studies.transfer.ablation import _config, _plan, _teacher, budget, main, run_ablation
from studies.transfer.report import ALBERT, ROWS, mlm_curve, page, summarise
from studies.transfer.scales import SCALES, scale
from tests.helpers.texts import MINILM
from tests.helpers.texts import documents as text

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    (folder / "text.txt").write_text(text(120))
    return build([folder / "text.txt"], MINILM, folder / "built", Packing(seq_len=32))


def test_command_runs_the_toy_ablation_and_only_adds_what_is_missing(tmp_path, corpus):
    out, rows = tmp_path / "records", ["bare", "pkt", "albert-sop"]
    arguments = ["--corpus", str(corpus.folder), "--scale", "toy", "--out", str(out)]
    arguments += ["--runs", str(tmp_path / "runs"), *(word for row in rows for word in ("--row", row))]
    with pytest.raises(SystemExit) as done:
        script.run(main, arguments)
    assert done.value.code == 0
    found = {p.stem: json.loads(p.read_text()) for p in (out / "cells").iterdir()}
    assert set(found) == {f"toy-{row}-seed0" for row in rows}
    assert found["toy-pkt-seed0"]["updates"] == found["toy-bare-seed0"]["updates"] == 4
    assert list(found["toy-pkt-seed0"]["curves"]) == ["layer-01", "layer-02", "distil"]
    assert found["toy-albert-sop-seed0"]["pairs"] == "sop"
    report = (out / "ablation-toy.md").read_text()
    assert "| + PD + FMT + AT = PKT | Tables 8 and 9 | " in report
    assert "| albert-sop asked nsp | " in report
    assert (out / "ablation-toy.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((out / "ablation-toy.json").read_text())
    assert [o["verdict"] for o in summary["orders"]] == []  # neither pkt nor bare has its neighbour here
    before = {p: p.stat().st_mtime_ns for p in (out / "cells").iterdir()}
    with pytest.raises(SystemExit):
        script.run(main, arguments)
    assert before == {p: p.stat().st_mtime_ns for p in (out / "cells").iterdir()}


def test_a_teacher_of_another_corpus_is_refused(tmp_path, corpus):
    _teacher(SCALES["toy"], corpus, tmp_path / "toy-teacher")
    (tmp_path / "text.txt").write_text(text(60))
    other = build([tmp_path / "text.txt"], MINILM, tmp_path / "other", Packing(seq_len=32))
    with pytest.raises(ResumeError, match=r"toy-teacher: holds a run with other corpus"):
        _teacher(SCALES["toy"], other, tmp_path / "toy-teacher")


def test_runs_of_a_table_have_one_budget_and_differ_in_their_row_only():
    for name, chosen in SCALES.items():
        mobilebert = {"Table 8", "Table 9", "Tables 8 and 9"}
        others = {row.table for row in ROWS.values()} - mobilebert - {ALBERT}
        for tables in (mobilebert, {ALBERT}, others):
            plans = {c: _plan(chosen, c, 3) for c, row in ROWS.items() if row.table in tables}
            layers = chosen.student.num_hidden_layers
            totals = {
                sum(s.steps for s in stages(strategy(p.strategy), layers, p.transfer_steps, p.engine.steps))
                for p in plans.values()
            }
            assert len(totals) == 1, name
            assert len({p.engine for p in plans.values()}) == 1
            assert len({(p.examples.masking, p.examples.seed) for p in plans.values()}) == 1


def test_a_row_changes_an_albert_in_its_column_alone(corpus):
    base = _config(SCALES["small"], "albert-all", corpus)
    assert (base.num_hidden_layers, base.hidden_size, base.embedding_size) == (3, 64, 16)
    changes = {
        "albert-none": {"layer_sharing": "none"},
        "albert-whole": {"embedding_size": 64},
        "albert-dropout": {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
        "albert-depth-third": {"num_hidden_layers": 1},
        "albert-depth-4": {"num_hidden_layers": 12},
        "albert-depth-4-none": {"num_hidden_layers": 12, "layer_sharing": "none"},
        "albert-width-4": {"hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 16},
    }
    for name, changed in changes.items():
        assert _config(SCALES["small"], name, corpus) == replace(base, **changed), name


def test_scales_keep_mobileberts_proportions():
    for chosen in SCALES.values():
        assert chosen.teacher.hidden_size == chosen.student.hidden_size
        assert chosen.teacher.num_attention_heads == chosen.student.num_attention_heads
        assert chosen.teacher.num_hidden_layers == chosen.student.num_hidden_layers
        assert chosen.student.num_feedforward_networks == 4
        assert chosen.student.intra_bottleneck_size < chosen.teacher.intra_bottleneck_size
    gpu = SCALES["gpu"].student
    assert (gpu.hidden_size, gpu.intra_bottleneck_size, gpu.intermediate_size) == (512, 128, 512)


def test_budget_counts_matrix_products(corpus):
    rows = {row["run"]: row for row in budget("toy", corpus, gigaflops=20)}
    assert set(rows) == {"teacher", *ROWS}
    # Toy teacher, by hand: per layer bottleneck 16·16, query key value 3·16·16, output 16·16, feed-forward
    # 2·16·64, back 16·16; two layers; the vocabulary at 15%.
    weights = 2 * (6 * 256 + 2 * 1024) + 0.15 * 30522 * 16
    assert rows["teacher"]["gigaflop_an_update"] == pytest.approx(6 * weights * 4 * 32 / 1e9)
    assert rows["pkt"]["gigaflop_an_update"] > rows["bare"]["gigaflop_an_update"]  # the teacher is asked
    assert rows["bare"]["updates"] == 4


def fake(cell, seed, loss, nsp=0.5, sop=0.5):
    figures = {"mlm_loss": loss, "mlm_accuracy": 0.1, "nsp_accuracy": nsp, "sop_accuracy": sop}
    return {"cell": cell, "seed": seed, "development": figures}


def test_summary_says_holds_fails_or_undecided_from_paired_differences():
    losses = {
        "pkt": [2.0, 2.4, 2.2],
        "jkt": [2.1, 2.5, 2.31],
        "akt": [2.0, 2.6, 2.3],
        "pd-fmt": [1.9, 2.3, 2.1],
    }
    records = [fake(c, s, v) for c, values in losses.items() for s, v in enumerate(values)]
    records += [fake("albert-sop", s, 3.0, nsp=0.7 + s / 100, sop=0.8) for s in range(3)]
    records += [fake("albert-nsp", s, 3.0, nsp=0.9, sop=0.5 + (s - 1) / 50) for s in range(3)]
    summary = summarise(records)
    verdicts = {(o["better"], o["worse"]): o for o in summary["orders"]}
    assert verdicts["pkt", "jkt"]["verdict"] == "holds"
    assert verdicts["pkt", "jkt"]["difference"] == pytest.approx(0.31 / 3)
    assert verdicts["jkt", "akt"]["verdict"] == "undecided"
    assert verdicts["pkt", "pd-fmt"]["verdict"] == "fails"
    low, high = verdicts["pkt", "jkt"]["interval"]
    # Differences 0.1, 0.1, 0.11: standard error 0.01/3, t of two degrees of freedom 4.303.
    assert high - low == pytest.approx(2 * 4.303 * 0.01 / 3, rel=1e-3)
    assert summary["pairs"]["albert-sop asked nsp"]["verdict"] == "holds"
    assert summary["pairs"]["albert-nsp asked sop"]["verdict"] == "undecided"
    assert summarise(records[:1] + records[3:4])["orders"][0]["verdict"] == "one seed"


def test_report_gives_losses_in_nats_and_accuracies_in_points():
    records = [
        fake(cell, seed, loss + seed / 10) | {"updates": 1200, "sequences": 9600}
        for cell, loss in (("bare", 3.0), ("pd", 2.5))
        for seed in (0, 1)
    ]
    records += [fake("albert-sop", s, 3.0, nsp=0.6, sop=0.7) | {"updates": 5, "sequences": 9} for s in (0, 1)]
    report = page(records)
    assert "| bare | Table 9 | 3.050 | 10.0 | 0, 1 | 1,200 | 9,600 |" in report
    assert "| Table 9 | + PD | bare | +0.500 [+0.500, +0.500] | holds |" in report
    assert "| albert-sop asked sop | 70.0 | +20.0 [+20.0, +20.0] | holds |" in report


def test_curve_of_masked_tokens_begins_where_transfer_ends():
    curves = {
        "layer-01": [{"step": 50, "loss": 1.0}],
        "distil": [{"step": 20, "loss": 9.0, "words": 7.0}, {"step": 40, "mlm": 6.0}],
    }
    assert mlm_curve({"curves": curves}) == ([70, 90], [7.0, 6.0])


def test_unknown_names_are_errors(tmp_path, corpus):
    with pytest.raises(
        OptionError, match="scale 'huge' is unknown; expected one of cpu, small, gpu, toy, short"
    ):
        scale("huge")
    with pytest.raises(OptionError, match="row 'mkt' is unknown"):
        list(run_ablation("toy", corpus, tmp_path, tmp_path, seeds=[0], rows=["mkt"]))
