"""Tahaei et al. 2022, KroneckerBERT."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mobilebert_models import preset
from mobilebert_models.kronecker.factor_shapes import costs, preset_rules
from studies.papers.row import Row, State, percent, record

TITLE = "KroneckerBERT (Tahaei et al. 2022)"
ALGEBRA = "tests/models/test_kronecker.py"
MODELS = "tests/models/test_kronecker_models.py"
PAGE = "results/kronecker/README.md"
STUDY = "python -m studies.kronecker.{}"
NO_GLUE = "GLUE's SST-2, CoLA, QNLI and RTE are not at hand, and BERT-base's weights are in no package"
TABLE_6 = "MiniLM at a seventh of its size, three seeds; pretraining on 1.2M tokens"
TWO_STAGES = "kronecker-8.two-stage"
_QQP = "table6 --data ../shared/data/qqp --teacher runs/teacher/model --epochs 1"
_SMALL = "--runs runs/kronecker-table-6 --out results/kronecker/table-6 --threads 1 --seed 0"
_SCHEDULES = "--seed 1 --seed 2 --run kronecker-8.two-stage --run kronecker-8.no-pretraining --run kronecker-8.no-task-kd"
_PRETRAINING = "--corpus runs/shards-tail-minilm --pretraining-steps 2400 --pretraining-batch 8"
TABLE_6_COMMAND = STUDY.format(f"{_QQP} --max-pairs 10000 {_PRETRAINING} {_SMALL} {_SCHEDULES}")
MRPC_COMMAND = STUDY.format(
    f"table6 --data ../shared/data/glue/mrpc --teacher runs/glue/mrpc-minilm/model --epochs 4 {_PRETRAINING} {_SMALL} {_SCHEDULES}"
)
SIZES_COMMAND = STUDY.format(
    f"{_QQP} --max-pairs 10000 {_SMALL} --run low-rank-8.no-pretraining --run kronecker-21.no-pretraining "
    "--run low-rank-21.no-pretraining --run kronecker-5.no-pretraining --run low-rank-5.no-pretraining"
)
SEVENTH_COMMAND = STUDY.format(
    f"{_QQP} --runs runs/kronecker --out results/kronecker --threads 1 --run kronecker-cut-fitted.mined --run low-rank-cut-fitted.mined"
)
_MODELS = (
    "--model runs/teacher/model --model runs/kronecker/qqp.kronecker-cut-fitted.mined.seed0/model "
    "--model runs/kronecker/qqp.low-rank-cut.mined.seed0/model"
)
OUTSIDE_COMMAND = STUDY.format(
    f"out_of_domain {_MODELS} --data ../shared/data/qqp --data ../shared/data/twitter_url --data ../shared/data/glue/mrpc "
    "--max-pairs 2000 --out results/kronecker/out-of-domain.json"
)
TSNE_COMMAND = STUDY.format(
    "tsne --model runs/glue/mrpc-minilm/model --model runs/kronecker-sum/mrpc.kronecker-8.no-task-kd.seed0/model --model "
    "runs/kronecker-sum/mrpc.kronecker-8.two-stage.seed0/model --data ../shared/data/glue/mrpc/test.tsv --max-pairs 1725 "
    "--out results/kronecker/tsne-mrpc.png"
)
CURVE_COMMAND = STUDY.format(
    "curve --runs runs/kronecker --results results/kronecker --teacher runs/teacher/model --test ../shared/data/qqp/test.tsv "
    "--pairs ../shared/data/qqp/dev.tsv --beside artefacts/matcher-s-int8 --beside artefacts/matcher-m-int8 --sessions 5"
)
SUM_COMMAND = STUDY.format(
    "table6 --data ../shared/data/glue/mrpc --teacher runs/glue/mrpc-minilm/model --epochs 4 --corpus "
    "runs/shards-tail-minilm --pretraining-steps 2400 --pretraining-batch 8 --runs runs/kronecker-sum --out "
    "results/kronecker/table-6-sum --threads 1 --seed 0 --run kronecker-8.two-stage --run "
    "kronecker-8.no-pretraining --run kronecker-8.no-task-kd"
)


def rows() -> list[Row]:
    """The rows, in the order of the paper."""
    return [*_algebra(), *_configurations(), *_scores(), *_table_6(), *_figures()]


def _algebra() -> list[Row]:
    return [
        Row(
            "Figure 1, section 3.1",
            "the Kronecker product",
            "definition",
            "remade",
            "equal to `torch.kron`",
            "random shapes, with gradients",
            ALGEBRA,
        ),
        Row(
            "Eq. 1",
            "a sum of min(m₁n₁, m₂n₂) products is exact",
            "claim",
            "remade",
            "holds to rounding",
            "",
            ALGEBRA,
        ),
        Row(
            "Eq. 2–5",
            "the nearest product by the SVD of the rearranged matrix",
            "formula",
            "remade",
            "error equal to the tail of the singular values",
            "random matrices",
            ALGEBRA,
        ),
        Row(
            "section 3.2.2",
            "rank-one SVD is a special case",
            "claim",
            "remade",
            "holds",
            "n₁ = m₂ = 1",
            ALGEBRA,
        ),
        Row(
            "Eq. 6, 7",
            "product without forming A ⊗ B, and its cheaper order",
            "formula",
            "remade",
            "equal, and torch counts our FLOPs",
            "random shapes",
            ALGEBRA,
        ),
        Row(
            "Eq. 8, Figure 2",
            "a word's embedding is Aᵢ ⊗ B, in O(d)",
            "formula",
            "remade",
            "equal to `torch.kron`",
            "",
            ALGEBRA,
        ),
        Row(
            "Eq. 9–13, Figure 3",
            "queries, keys, values, output and both feed-forward maps are factored",
            "drawing",
            "remade",
            "exact factors give the dense network",
            "every head of a model directory",
            MODELS,
        ),
        Row(
            "Eq. 14",
            "sum over layers of attention scores and feed-forward outputs, and embeddings, logits, labels",
            "formula",
            "remade",
            "equal to the formula",
            "the records of Table 6 below have the mean over layers but for the row that names the sum",
            "tests/studies/test_kronecker_study.py",
        ),
    ]


def _configurations() -> list[Row]:
    base = preset("bert-base")
    found = {name: costs(replace(base, kronecker=preset_rules(base, name))) for name in ("8", "21", "5")}
    dense = costs(base)
    pooler = 768 * 768 + 768

    def row(name: str, theirs: str, state: State, why: str) -> Row:
        one = found[name]
        whole, without = (dense["parameters"] / (one["parameters"] - left_out) for left_out in (0, pooler))
        shown = f"{whole:.1f} × fewer ({without:.1f} × without its pooler), {one['flops'] / 1e9:.1f}B FLOPs"
        return Row("Table 1", f"KroneckerBERT_{name}", theirs, state, shown, why, MODELS)

    return [
        row(
            "8",
            "7.8 ×, 5.2B",
            "in part",
            "the printed factor leaves the student's pooler out; its 384 × 384 factors alone take more than 5.2B FLOPs",
        ),
        row("21", "21 ×, 1.4B", "remade", "counted, the pooler with it"),
        row(
            "5",
            "5.5 ×, 9.4B",
            "in part",
            "the shapes that give the printed size and FLOPs, the pooler left out; those printed would give 45.5M parameters",
        ),
    ]


def _scores() -> list[Row]:
    rows = {row["cell"]: row for row in record("kronecker/study.json")["rows"]}
    small = {
        row["cell"]: row for row in record("kronecker/table-6/study.json")["rows"] if row["data"] == "qqp"
    }
    tasks = {
        row["data"]: row
        for row in record("kronecker/table-6/study.json")["rows"]
        if row["cell"] == TWO_STAGES
    }
    best, low = rows["kronecker-cut-fitted.mined"], rows["low-rank-cut-fitted.mined"]
    extreme = small["kronecker-21.no-pretraining"]
    pairs = [
        tuple(small[f"{form}-{size}.no-pretraining"]["accuracy"] for form in ("kronecker", "low-rank"))
        for size in ("21", "8", "5")
    ]
    teacher_f1 = record("kronecker/table-6/cells/qqp.kronecker-21.no-pretraining.seed0.json")["teacher_test"][
        "f1"
    ]
    return [
        Row(
            "abstract",
            "13% of the parameters keep more than 99% of the accuracy",
            "99%",
            "in part",
            f"{percent(best['kept'])}% on QQP with {best['times_fewer_parameters']:.1f} × fewer parameters",
            "one task, one seed, MiniLM as cross-encoder; not by the paper's recipe: factors fitted to inputs, 8,192 word "
            "pieces, 50,000 mined pairs. By the paper's the row below",
            PAGE,
            SEVENTH_COMMAND,
        ),
        Row(
            "Table 2",
            "KroneckerBERT_8 on MRPC and QQP beside BERT-base",
            "88.5 of 87.9; 71.5 of 71.1 (F1)",
            "contradicted",
            "; ".join(
                f"{percent(row['accuracy'])} of {percent(row['teacher_accuracy'])}, {percent(row['kept'])}% kept ({title})"
                for row, title in ((tasks["mrpc"], "MRPC"), (tasks["qqp"], "QQP"))
            ),
            "accuracy, three seeds, MiniLM; pretraining on 1.2M tokens and 10,000 pairs of QQP, hundreds of times less "
            "than the paper's",
            PAGE,
            TABLE_6_COMMAND,
        ),
        Row(
            "section 1",
            "Kronecker factors keep more accuracy than low-rank ones",
            "claim",
            "contradicted",
            f"kept {percent(best['kept'])}% and {percent(low['kept'])}% (low-rank) at equal updates; at presets 21, 8 and 5 "
            + ", ".join(f"{percent(kronecker)} and {percent(other)}" for kronecker, other in pairs),
            "QQP, the same parameters; the first two within their intervals, the others with 10,000 pairs and no pretraining",
            PAGE,
            SIZES_COMMAND,
        ),
        Row(
            "Table 3",
            "KroneckerBERT_21 keeps 70.5 of 71.1",
            "70.5 (QQP, F1)",
            "contradicted",
            f"F1 {percent(extreme['f1'])} of {percent(teacher_f1)}",
            f"QQP, {extreme['times_fewer_parameters']:.1f} × fewer parameters, 10,000 pairs, no pretraining, one seed",
            PAGE,
            SIZES_COMMAND,
        ),
        Row("Table 2", "GLUE test average of KroneckerBERT_8", "77.7", "not", "", NO_GLUE, PAGE),
        Row(
            "Table 4",
            "KroneckerBERT_5 is better than _8",
            "91.1 and 90.9 (QQP)",
            "contradicted",
            f"{percent(small['kronecker-5.no-pretraining']['accuracy'])} and "
            f"{percent(small['kronecker-8.no-pretraining']['accuracy'])}",
            "QQP accuracy, 10,000 pairs, no pretraining; one seed and three; DynaBERT's weights are in no package",
            PAGE,
            SIZES_COMMAND,
        ),
        Row(
            "Table 5", "SQuAD", "F1 86.3 and 73.8", "not", "", "SQuAD's training part could not be had", PAGE
        ),
        Row(
            "appendix A.1, Table 8",
            "rates from 1e-5 to 5e-4, most of KroneckerBERT_8's 1e-4",
            "grid",
            "in part",
            "5e-4 with a teacher, 1e-4 for labels",
            "two rates of the grid; labels alone do not learn at 5e-4",
            PAGE,
            TABLE_6_COMMAND,
        ),
        Row("Table 7", "best KroneckerBERT_21 on GLUE dev", "77.8", "not", "", NO_GLUE, PAGE),
    ]


def _table_6() -> list[Row]:
    study = record("kronecker/table-6/study.json")
    lost = {(order["data"], order["worse"]): 100 * order["difference"] for order in study["orders"]}
    commands = {"qqp": TABLE_6_COMMAND, "mrpc": MRPC_COMMAND}
    found = []
    for order in study["orders"]:
        data, worse = order["data"], order["worse"]
        claim = "pretraining helps" if worse == "no-pretraining" else "a teacher in the task stage helps"
        theirs = "70.8 → 87.5" if worse == "no-pretraining" else "86.5 → 87.5"
        low, high = order["interval"]
        shown = f"+{100 * order['difference']:.1f} points ({100 * low:.1f} to {100 * high:.1f})"
        theirs = theirs if data == "mrpc" else "holds on three tasks, QQP not among them"
        found.append(
            Row(
                "Table 6", f"{data.upper()}: {claim}", theirs, "in part", shown, TABLE_6, PAGE, commands[data]
            )
        )

    def shown_of(worse: str) -> str:
        return f"{lost['mrpc', worse]:.1f} (MRPC, 3,576 pairs), {lost['qqp', worse]:.1f} (QQP, 10,000)"

    both = f"without pretraining −{shown_of('no-pretraining')}; without KD −{shown_of('no-task-kd')}"
    rates = f"{TABLE_6}; the runs without KD have a rate of 1e-4, the others 5e-4"
    claims: tuple[tuple[str, str, State, str], ...] = (
        (
            "to leave out pretraining costs more than KD in the task stage",
            "16.7 and 1.0 (MRPC)",
            "contradicted",
            both,
        ),
        (
            "the smaller the task, the more pretraining helps",
            "most on MRPC",
            "contradicted",
            shown_of("no-pretraining"),
        ),
        ("KD in the task stage helps more on larger sets", "claim", "in part", shown_of("no-task-kd")),
    )
    found += [
        Row("section 4.4", claim, theirs, state, figures, rates, PAGE, TABLE_6_COMMAND)
        for claim, theirs, state, figures in claims
    ]
    return [*found, _with_the_sum()]


def _with_the_sum() -> Row:
    """MRPC with Eq. 14's sum over layers, one seed."""

    def accuracy(folder: str, schedule: str) -> float:
        found: float = record(f"kronecker/{folder}/mrpc.kronecker-8.{schedule}.seed0.json")["test"][
            "accuracy"
        ]
        return found

    shown = "; ".join(
        f"{schedule} {percent(accuracy('table-6/cells', schedule))} → {percent(accuracy('table-6-sum', schedule))}"
        for schedule in ("two-stage", "no-pretraining", "no-task-kd")
    )
    return Row(
        "Table 6",
        "MRPC with Eq. 14's sum over layers in place of the mean",
        "70.8, 86.5 → 87.5",
        "in part",
        shown,
        "seed 0; QQP and further seeds would take five hours of a core",
        PAGE,
        SUM_COMMAND,
    )


def _figures() -> list[Row]:
    agree = {model["name"]: model["separability"] for model in record("kronecker/tsne-mrpc.json")["models"]}
    teacher, without, with_kd = agree.values()
    outside = {(row["model"], row["data"]): row for row in record("kronecker/out-of-domain.json")["rows"]}
    curve = {(row["cell"], row["quant"], row["form"]): row for row in record("kronecker/curve.json")["rows"]}
    student = "qqp.kronecker-cut-fitted.mined.seed0"
    files = [curve[student, quant, "auto"] for quant in ("none", "int8")]
    epyc = _latencies("paper-models")
    xeon = {
        threads: _latencies(f"paper-models-xeon-{threads}")
        for threads in ("1-thread", "2-threads", "4-threads")
    }

    def lost(data: str) -> str:
        one, other = outside["teacher", data], outside[student, data]
        return f"{100 * (other['accuracy'] - one['accuracy']):+.1f} points, AUC {one['auc']:.3f} → {other['auc']:.3f}"

    return [
        Row(
            "Figure 4",
            "with KD the middle layer is more separable than without",
            "drawing",
            "in part",
            f"neighbours agree in {percent(teacher)}% (teacher), {percent(without)}% (no KD in the task), {percent(with_kd)}% (two stages)",
            "MRPC in place of SST-2, 1,725 pairs, one seed; the difference is within their interval of two points",
            "results/kronecker/tsne-mrpc.png",
            TSNE_COMMAND,
        ),
        _outside("Twitter-URL", lost("twitter_url/test.tsv"), "in part"),
        _outside("MRPC", lost("mrpc/test.tsv"), "contradicted"),
        Row(
            "Table 10",
            "a tenth of Wikipedia, three epochs, no teacher of its own",
            "training data",
            "in part",
            "1.2M tokens",
            "half an hour of a shared core",
            PAGE,
            TABLE_6_COMMAND,
        ),
        Row(
            "Table 1",
            "fewer FLOPs than the teacher: time",
            "5.2B of 22.5B",
            "in part",
            "; ".join(
                f"{row['time_of_float_teacher']:.2f} of the float teacher's time, {row['bytes'] / 1e6:.1f} MB in {title}"
                for row, title in zip(files, ("float", "int8"), strict=True)
            ),
            "a student of MiniLM with .43 of its FLOPs, one thread of an EPYC with AVX2; in int8 it is slower than in float",
            "results/kronecker/curve.md",
            CURVE_COMMAND,
        ),
        Row(
            "Table 1",
            "fewer FLOPs than BERT-base: time",
            "5.2B of 22.5B",
            "in part",
            f"{_times(epyc, 'none')} of BERT-base's time in float and {_times(epyc, 'int8')} in int8; on another processor "
            f"{', '.join(_times(rows, 'int8') for rows in xeon.values())} in int8",
            "random weights, one thread of an EPYC (Zen 4); the other a Xeon with AMX on one, two and four threads",
            "results/bench/paper-models.md",
            "python -m studies.latency.paper_table --table models --threads 1 --seconds 0.5 --retries 1 --out results/bench/paper-models",
        ),
        Row(
            "Figure 5, appendix A.4",
            "geometry of the projection",
            "drawing",
            "not",
            "",
            "an illustration without a figure to measure",
            ALGEBRA,
        ),
    ]


def _outside(title: str, lost: str, state: State) -> Row:
    return Row(
        "Table 9, appendix A.2",
        f"next to nothing is lost out of domain: {title}",
        "+.1, −1.5, −.3 points",
        state,
        lost,
        "accuracy at the threshold of QQP, on which both were trained; 2,000 pairs at most; PAWS, IMDb and HANS are not at hand",
        "results/kronecker/out-of-domain.md",
        OUTSIDE_COMMAND,
    )


def _latencies(name: str) -> dict[str, Any]:
    return {row["label"]: row["here"] for row in record(f"bench/{name}.json")["paper"]["rows"]}


def _times(rows: dict[str, Any], kind: str) -> str:
    return f"{rows['KroneckerBERT_8'][kind]['median_ms'] / rows['BERT_BASE'][kind]['median_ms']:.2f}"
