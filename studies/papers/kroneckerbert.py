"""Tahaei et al. 2022, KroneckerBERT."""

from __future__ import annotations

from dataclasses import replace

from mobilebert_models import preset
from mobilebert_models.kronecker.factor_shapes import costs, preset_rules
from studies.papers.row import Row, percent, record

TITLE = "KroneckerBERT (Tahaei et al. 2022)"
ALGEBRA = "tests/models/test_kronecker.py"
MODELS = "tests/models/test_kronecker_models.py"
LOSSES = "tests/training/test_pretraining_objectives.py"
PAGE = "results/kronecker/README.md"
STUDY = "python -m studies.kronecker.{}"
NO_GLUE = "GLUE's SST-2, CoLA, QNLI and RTE are not at hand, and BERT-base's weights are in no package"
TABLE_6 = "MiniLM at a seventh of its size, three seeds; pretraining on 1.2M tokens"
TABLE_6_COMMAND = STUDY.format(
    "table6 --data ../shared/data/qqp --teacher runs/teacher/model --epochs 1 --max-pairs 10000 --corpus "
    "runs/shards-tail-minilm --pretraining-steps 2400 --pretraining-batch 8 --runs runs/kronecker-table-6 --out "
    "results/kronecker/table-6 --threads 1 --seed 0 --seed 1 --seed 2 --run kronecker-8.two-stage --run "
    "kronecker-8.no-pretraining --run kronecker-8.no-task-kd"
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
            LOSSES,
        ),
    ]


def _configurations() -> list[Row]:
    base = preset("bert-base")
    found = {name: costs(replace(base, kronecker=preset_rules(base, name))) for name in ("8", "21", "5")}
    dense = costs(base)
    pooler = 768 * 768 + 768  # the paper counts it for 21 alone
    kept = {"8": pooler, "21": 0, "5": pooler}

    def row(name: str, theirs: str, why: str) -> Row:
        one = found[name]
        factor = dense["parameters"] / (one["parameters"] - kept[name])
        shown = f"{factor:.1f} × fewer, {one['flops'] / 1e9:.1f}B FLOPs"
        return Row("Table 1", f"KroneckerBERT_{name}", theirs, "remade", shown, why, MODELS)

    return [
        row("8", "7.8 ×, 5.2B", "the 384 × 384 factors alone take more than the printed 5.2B"),
        row("21", "21 ×, 1.4B", "counted"),
        row(
            "5",
            "5.5 ×, 9.4B",
            "the shapes that give the printed size and FLOPs; those printed would give 45.5M parameters",
        ),
    ]


def _scores() -> list[Row]:
    rows = {row["cell"]: row for row in record("kronecker/study.json")["rows"]}
    small = {
        row["cell"]: row for row in record("kronecker/table-6/study.json")["rows"] if row["data"] == "qqp"
    }
    best, low = rows["kronecker-cut-fitted.mined"], rows["low-rank-cut.mined"]
    sizes = STUDY.format(
        "table6 --data ../shared/data/qqp --teacher runs/teacher/model --runs runs/kronecker --out results/kronecker "
        "--threads 1 --epochs 1 --run kronecker-cut-fitted.mined --run low-rank-cut-fitted.mined"
    )
    extreme = small["kronecker-21.no-pretraining"]
    return [
        Row(
            "abstract, Table 2",
            "13% of the parameters keep more than 99% of the accuracy",
            "99%",
            "remade",
            f"{percent(best['kept'])}% with {best['times_fewer_parameters']:.1f} × fewer parameters",
            "QQP, MiniLM as cross-encoder, one seed; factors fitted to inputs, 8,192 word pieces, 50,000 mined pairs",
            PAGE,
            sizes,
        ),
        Row(
            "section 3.2.2",
            "Kronecker factors keep more than low-rank ones",
            "claim",
            "contradicted",
            f"low-rank factors of the same size keep {percent(low['kept'])}%",
            "the same budget of parameters; within the interval at equal updates",
            PAGE,
            sizes,
        ),
        Row(
            "Table 3",
            "a twentieth of the parameters",
            "70.5 (QQP, F1)",
            "in part",
            f"{percent(extreme['accuracy'])} of the teacher's {percent(extreme['teacher_accuracy'])} (accuracy)",
            "QQP, 10,000 pairs, no pretraining, one seed",
            PAGE,
            TABLE_6_COMMAND,
        ),
        Row("Table 2", "GLUE test average of KroneckerBERT_8", "77.7", "not", "", NO_GLUE, PAGE),
        Row(
            "Table 4",
            "KroneckerBERT_5 and _8 beside DynaBERT",
            "81.3 and 80.9",
            "in part",
            f"{percent(small['kronecker-5.no-pretraining']['accuracy'])} and "
            f"{percent(small['kronecker-8.no-pretraining']['accuracy'])} (QQP accuracy)",
            "QQP, 10,000 pairs, no pretraining; DynaBERT's weights are in no package",
            PAGE,
            TABLE_6_COMMAND,
        ),
        Row(
            "Table 5", "SQuAD", "F1 86.3 and 73.8", "not", "", "SQuAD's training part could not be had", PAGE
        ),
        Row(
            "appendix A.1, Table 8",
            "rates from 5e-5 to 5e-4",
            "grid",
            "in part",
            "5e-4 with a teacher, 1e-4 for labels",
            "labels alone do not learn at 5e-4; 5e-5 was not tried",
            PAGE,
            TABLE_6_COMMAND,
        ),
        Row("Table 7", "best KroneckerBERT_21 on GLUE dev", "77.8", "not", "", NO_GLUE, PAGE),
    ]


def _table_6() -> list[Row]:
    study = record("kronecker/table-6/study.json")
    found = []
    for order in study["orders"]:
        data, worse = order["data"].upper(), order["worse"]
        claim = "pretraining helps" if worse == "no-pretraining" else "a teacher in the task stage helps"
        theirs = "70.8 → 87.5 (MRPC)" if worse == "no-pretraining" else "86.5 → 87.5 (MRPC)"
        low, high = order["interval"]
        shown = f"+{100 * order['difference']:.1f} points ({100 * low:.1f} to {100 * high:.1f})"
        found.append(
            Row("Table 6", f"{data}: {claim}", theirs, "in part", shown, TABLE_6, PAGE, TABLE_6_COMMAND)
        )
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
        "seed 0; QQP and further seeds would take four hours of a core",
        PAGE,
        SUM_COMMAND,
    )


def _figures() -> list[Row]:
    agree = {model["name"]: model["separability"] for model in record("kronecker/tsne.json")["models"]}
    teacher, kronecker = agree["teacher"], agree["qqp.kronecker-cut-fitted.mined.seed0"]
    outside = {(row["model"], row["data"]): row for row in record("kronecker/out-of-domain.json")["rows"]}
    curve = {(row["cell"], row["quant"], row["form"]): row for row in record("kronecker/curve.json")["rows"]}
    student = "qqp.kronecker-cut-fitted.mined.seed0"
    int8 = curve[student, "int8", "auto"]

    def lost(data: str) -> str:
        one, other = outside["teacher", data], outside[student, data]
        return f"{100 * (other['accuracy'] - one['accuracy']):+.1f} points, AUC {one['auc']:.3f} → {other['auc']:.3f}"

    return [
        Row(
            "Figure 4",
            "distillation makes the middle layer more separable",
            "drawing",
            "in part",
            f"neighbours agree in {percent(teacher)}% (teacher) and {percent(kronecker)}% (student)",
            "QQP in place of SST-2; the student without KD is not drawn",
            "results/kronecker/tsne.png",
            STUDY.format("tsne --help"),
        ),
        Row(
            "Table 9, appendix A.2",
            "robust out of domain",
            "−.1 to 1.5 points",
            "in part",
            f"Twitter-URL {lost('twitter_url/test.tsv')}; MRPC {lost('mrpc/test.tsv')}",
            "trained on QQP; PAWS, IMDb and HANS are not at hand",
            "results/kronecker/out-of-domain.md",
            STUDY.format("out_of_domain --help"),
        ),
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
            "section 1",
            "smaller and faster",
            "5.2B FLOPs",
            "in part",
            f"{int8['bytes'] / 1e6:.1f} MB in int8, {percent(int8['kept'])}% of the accuracy, {int8['time_of_float_teacher']:.2f} of "
            "the float teacher's time",
            "one thread of an EPYC with AVX2",
            "results/kronecker/curve.md",
            STUDY.format("curve --help"),
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
