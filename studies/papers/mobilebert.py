"""Sun et al. 2020, MobileBERT: a Compact Task-Agnostic BERT for Resource-Limited Devices."""

from __future__ import annotations

from dataclasses import replace

from mobilebert_models import inventory, preset
from studies.common.markdown import with_interval
from studies.papers.row import Row, State, percent, record

TITLE = "MobileBERT (Sun et al. 2020)"
NETWORKS = "tests/models/test_networks.py"
LOSSES = "tests/training/test_distillation.py"
ABLATION = (
    "python -m studies.transfer.ablation --scale short --corpus runs/shards --runs runs/ablation --out results/transfer --seed 0 "
    "--seed 1 --seed 2 --row bare --row pd --row pd-fmt --row pkt --row jkt --row akt"
)
TABLES = "python -m studies.latency.paper_table --table {} --threads 1 --seconds 0.5 --retries 1 --out results/bench/{}"
STUDENTS = "python -m studies.general_matcher.train_mobilebert --out runs/general/mobilebert --seconds 565 --workers 14"
UNDER_MINILM = (
    "python -m studies.transfer.strategies_from_minilm --texts texts.txt --sts ../shared/data/glue/sts-b/dev.tsv "
    "--runs runs/from-minilm --out results/transfer --seed 0 --seed 1 --seed 2"
)
SMALL = (
    "three layers, 332k parameters; 11,200 sequences, three seeds, and 33,600, one or two. Rows with FMT alone start from the "
    "teacher's embeddings"
)
NAMES = {"cosine": "cosine", "order": "order of similarities", "sts": "STS-B dev"}
GLUE = "mobilebert finetune --task mrpc --data ../shared/data/glue/mrpc --model minilm --out runs/glue/mrpc-minilm --threads 1"
NO_SQUAD = "SQuAD's training part could not be had; `finetune --task squad` trains and scores it (tests/training/test_squad.py)"


def rows() -> list[Row]:
    """The rows, in the order of the paper."""
    return [*_networks(), *_objectives(), *_tables_4_to_6(), *_table_7(), *_ablations()]


def _networks() -> list[Row]:
    size = {name: inventory(preset(name))["parameters"]["total"] / 1e6 for name in _SIZES}
    shown = ", ".join(f"{title} {size[name]:.1f}M" for name, title in _SIZES.items())
    drawn = inventory(preset("mobilebert-table1"))["parameters"]["total"] / 1e6
    macs = {
        name: 2 * inventory(preset(name))["macs"] / 1e9
        for name in ("bert-base", "mobilebert", "mobilebert-tiny")
    }
    return [
        Row(
            "Table 1",
            "parameters of the five networks",
            "334M, 109M, 293M, 25.3M, 15.1M",
            "remade",
            shown,
            f"counted; the drawing's MobileBERT has {drawn:.1f}M, the published weights' shared key-query bottleneck "
            "24.6M; 15.1M are the matrices of MobileBERT-tiny",
            NETWORKS,
        ),
        Row(
            "Figure 1",
            "bottlenecks, inverted bottlenecks, stacked feed-forward networks",
            "drawing",
            "remade",
            "equal to `transformers` in float32",
            "every preset, weights carried both ways",
            NETWORKS,
        ),
        Row(
            "Figure 4, appendix E",
            "MobileBERT-tiny reads keys, queries and values from the bottleneck",
            "drawing",
            "remade",
            "equal to `transformers`",
            "the published layout",
            NETWORKS,
        ),
        Row(
            "section 3.3, Eq. 1",
            "NoNorm(h) = γ ∘ h + β",
            "formula",
            "remade",
            "equal to the formula",
            "and fitted in closed form for a rewrite",
            "tests/models/test_nonorm_relu.py",
        ),
        Row(
            "section 3.4",
            "embeddings of 128, a convolution over three words to 512",
            "formula",
            "remade",
            "equal to `transformers`",
            "the published layout",
            NETWORKS,
        ),
        Row(
            "Table 4, #FLOPS",
            "operations at 128 tokens",
            "22.5B, 5.7B, 3.1B",
            "remade",
            ", ".join(f"{value:.1f}B" for value in macs.values()),
            "two per multiply-accumulate, as torch counts them; BERT-base, MobileBERT, -tiny",
            NETWORKS,
        ),
        Row(
            "abstract, section 4.3",
            "MobileBERT is 4.3 times smaller than BERT-base",
            "4.3 ×",
            "remade",
            f"{size['bert-base'] / size['mobilebert']:.2f} ×, of the drawing {size['bert-base'] / drawn:.2f} ×",
            "counted",
            NETWORKS,
        ),
        Row(
            "Table 2, sizes",
            "parameters of the nine teachers searched",
            "356M, 325M, 293M, 276M, 262M, 293M, 92M, 33M, 15M",
            "remade",
            ", ".join(f"{count:.0f}M" for count in _searched_teachers()),
            "counted",
            NETWORKS,
        ),
        Row(
            "Table 2",
            "IB-BERT keeps its F1 down to an inter-block size of 512",
            "88.2 → 88.1",
            "not",
            "",
            f"nine pretrainings of 15M to 356M parameters, 256 TPUs; {NO_SQUAD}",
            NETWORKS,
        ),
        Row(
            "Table 3, sizes",
            "parameters of attention and of the feed-forward networks in the four students searched",
            "8 and 7M, 6.5 and 10M, 5 and 12.5M, 4 and 14M",
            "remade",
            ", ".join(f"{attention:.1f} and {networks:.1f}M" for attention, networks in _searched_students()),
            "counted",
            NETWORKS,
        ),
        Row(
            "Table 3",
            "best with .4 to .6 parameters of attention to one of the feed-forward networks",
            "83.4 (F1)",
            "not",
            "",
            f"four pretrainings of 25M parameters; {NO_SQUAD}",
            NETWORKS,
        ),
    ]


def _searched_teachers() -> list[float]:
    """Millions of parameters of Table 2's rows, (a) to (i)."""
    large = preset("ib-bert-large")
    shapes = [(inter, 1024, 16) for inter in (1024, 768, 512, 384, 256)] + [
        (512, intra, 4) for intra in (1024, 512, 256, 128)
    ]
    found = (
        replace(
            large,
            hidden_size=inter,
            intra_bottleneck_size=intra,
            num_attention_heads=heads,
            intermediate_size=4 * intra,
        )
        for inter, intra, heads in shapes
    )
    return [inventory(config)["parameters"]["total"] / 1e6 for config in found]


def _searched_students() -> list[tuple[float, float]]:
    """Millions of parameters of attention and feed-forward networks in Table 3's rows."""
    drawn = preset("mobilebert-table1")
    found = []
    for intra, heads, networks in ((192, 6, 1), (160, 5, 2), (128, 4, 4), (96, 3, 8)):
        config = replace(
            drawn,
            intra_bottleneck_size=intra,
            num_attention_heads=heads,
            num_feedforward_networks=networks,
            intermediate_size=4 * intra,
        )
        parts = inventory(config)["parameters"]
        found.append((parts["attention"] / 1e6, parts["feed_forward"] / 1e6))
    return found


_SIZES = {
    "bert-large": "BERT-large",
    "bert-base": "BERT-base",
    "ib-bert-large": "IB-BERT-large",
    "mobilebert": "MobileBERT",
    "mobilebert-tiny": "-tiny",
}


def _objectives() -> list[Row]:
    return [
        Row(
            "Eq. 2",
            "feature map transfer",
            "formula",
            "remade",
            "equal to the formula",
            "its two parts, normalised maps and statistics, each by a formula of its own",
            LOSSES,
        ),
        Row(
            "Eq. 3",
            "attention transfer: KL divergence per head",
            "formula",
            "remade",
            "equal to the formula",
            "padding counts for nothing",
            LOSSES,
        ),
        Row(
            "Eq. 4",
            "pretraining distillation with α = .5",
            "formula",
            "remade",
            "equal to the formula",
            "",
            "tests/training/test_pretraining_objectives.py",
        ),
        Row(
            "Figure 2, section 3.6",
            "auxiliary, joint and progressive knowledge transfer",
            "schedules",
            "remade",
            "what each stage trains and freezes is tested",
            "",
            "tests/training/test_pretraining.py",
        ),
        Row(
            "section 4.2",
            "LAMB",
            "optimiser",
            "remade",
            "equal to the published rule",
            "",
            "tests/training/test_trainer.py",
        ),
        Row(
            "section 4.2",
            "grid of batch sizes, rates and epochs, chosen on dev",
            "16 to 48, 1e-5 to 1e-4, 2 to 10",
            "in part",
            "`finetune --grid` has the 270 combinations",
            "one combination was run for each task here",
            "tests/training/test_finetune.py",
        ),
    ]


def _tables_4_to_6() -> list[Row]:
    glue = {name: record(f"transfer/glue/{name}.json")["test"] for name in _GLUE}
    vectors = record("general_matcher/mobilebert/results.json")
    tiny, whole = (vectors[name] for name in ("mobilebert-tiny", "mobilebert"))
    trained = record("bench/trained-weights.json")["trained_over_random"]
    models = {kind: _ratios("bench/paper-models.json", kind) for kind in ("none", "int8")}
    four = {kind: _ratios("bench/paper-models-4-threads.json", kind) for kind in ("none", "int8")}

    def scores(model: str) -> str:
        found = glue[f"mrpc-{model}"], glue[f"sts-b-{model}"], glue[f"mnli-{model}"]
        return (
            f"MRPC F1 {percent(found[0]['f1'])} (accuracy {percent(found[0]['accuracy'])}), "
            f"STS-B {percent(found[1]['spearman'])}, MNLI {percent(found[2]['accuracy'])}"
        )

    return [
        *(
            Row(
                "Table 4",
                f"MRPC (F1), STS-B and MNLI: {title}",
                theirs,
                "in part",
                scores(model),
                f"{what}; fine-tuned, one run, MNLI on 2,700 pairs. More frequent label: MRPC 66.5, MNLI 35.9; from MiniLM: "
                f"{scores('minilm')}. Google's weights are in no package",
                "results/transfer/README.md",
                GLUE,
            )
            for model, title, theirs, what in (
                (
                    "mobilebert-tiny",
                    "MobileBERT-tiny",
                    "87.9, 80.1, 81.5",
                    "`mobilebert distill` under MiniLM, 80,000 texts: single sentences only",
                ),
                (
                    "mobilebert-trunk",
                    "six layers of MobileBERT's kind",
                    "88.8, 84.4, 83.3 (MobileBERT)",
                    "732,515 texts: single sentences only",
                ),
                (
                    "bert-tiny",
                    "BERT_TINY",
                    "not in it",
                    "pretrained by ours, 10,000 updates of 32 sequences of 128 tokens",
                ),
            )
        ),
        Row(
            "Table 4",
            "a trained MobileBERT beside its -tiny",
            "77.7 and 75.8",
            "in part",
            f"Twitter-URL {whole['twitter_url_test'][0]:.3f} and {tiny['twitter_url_test'][0]:.3f} AUC, "
            f"STS-B {whole['sts_b_test'][0]:.3f} and {tiny['sts_b_test'][0]:.3f}",
            "as sentence encoders under MiniLM and MPNet, 1.2M texts, ten minutes of an accelerator",
            "results/general_matcher/mobilebert/README.md",
            STUDENTS,
        ),
        Row(
            "Table 4, latency",
            "BERT-base, MobileBERT, -tiny",
            "5.52, 1, .65 (Pixel 4, four threads)",
            "in part",
            "; ".join(
                f"{found['BERT_BASE']}, 1, {found['MobileBERT_TINY']} in {title}"
                for title, found in zip(("float", "int8"), models.values(), strict=True)
            ),
            "one thread of an EPYC (Zen 4), two of 56 sessions troubled; no phone has been timed",
            "results/bench/paper-models.md",
            TABLES.format("models", "paper-models"),
        ),
        Row(
            "section 1, Table 4",
            "four threads at 128 tokens",
            "BERT-base 5.52, MobileBERT 1, -tiny .65",
            "in part",
            "; ".join(
                f"{found['BERT_BASE']}, 1, {found['MobileBERT_TINY']} in {title}"
                for title, found in zip(("float", "int8"), four.values(), strict=True)
            ),
            "four threads on the two cores of an EPYC (Zen 4); runs of two threads and of one beside it. Nothing of it tells of a "
            "phone's milliseconds; on emulated Arm cores four threads give the bits of one (tests/android_bench/test_phone_arm.py)",
            "results/bench/paper-models-4-threads.md",
            TABLES.format("models", "paper-models-4-threads").replace("threads 1", "threads 4"),
        ),
        Row(
            "Table 4, latency",
            "random weights tell the time of trained ones",
            "not claimed; the tables here rest on it",
            "remade",
            ", ".join(f"{found['ratio']:.3f} ({title})" for title, found in trained.items()),
            "time with trained weights over random ones, MobileBERT-tiny; biases that are zero would be another graph: .89 and .93",
            "results/bench/trained-weights.md",
            "python -m studies.latency.trained_weights runs/tiny/model --seconds 0.5 --retries 1 --out results/bench/trained-weights",
        ),
        Row(
            "Table 5",
            "SQuAD v1.1 and v2.0",
            "F1 90.0 and 79.2",
            "not",
            "",
            NO_SQUAD,
            "tests/training/test_squad.py",
        ),
        Row(
            "Table 6",
            "8-bit quantisation costs next to nothing",
            "at most .5 points",
            "in part",
            "no AUC and no correlation on test moves by more than .0008 from float; accuracy on QQP by +.8 and −1.1 points at "
            "each file's own threshold",
            "MobileBERT and -tiny trained as sentence encoders, static int8, four buckets; 1,334 pairs",
            "results/general_matcher/mobilebert/README.md",
            STUDENTS,
        ),
        Row(
            "Table 6",
            "8-bit quantisation costs next to nothing, MobileBERT-tiny fine-tuned",
            "at most .4 points",
            "in part",
            _quantised_tasks(),
            "accuracy; `mobilebert distill` under MiniLM, then fine-tuned on 6,000 pairs of QQP and on MRPC; test sets",
            "results/general_matcher/mobilebert_tiny/README.md",
            "mobilebert distill --teacher minilm --student mobilebert-tiny --data texts.txt --out runs/tiny --dtype bf16 --threads 1 --epochs 0.6",
        ),
        Row(
            "Table 6",
            "the file shrinks to a quarter",
            "4 ×",
            "remade",
            _shrinks(),
            "MobileBERT with random weights, TFLite",
            "results/bench/paper-table-7.md",
            TABLES.format("7", "paper-table-7"),
        ),
    ]


_GLUE = [
    f"{task}-{model}"
    for task in ("mrpc", "sts-b", "mnli")
    for model in ("minilm", "mobilebert-trunk", "mobilebert-tiny", "bert-tiny")
]


def _quantised_tasks() -> str:
    folder = "general_matcher/mobilebert_tiny"
    qqp = record(f"{folder}/by_command.json")["figures"]
    found = {
        "QQP": [qqp[f"{kind}-test"] for kind in ("float", "int8")],
        "MRPC": [record(f"{folder}/mrpc-{kind}.json") for kind in ("float", "int8")],
    }
    return "; ".join(
        f"{task} {' → '.join(percent(one['accuracy'], 2) for one in both)}" for task, both in found.items()
    )


def _ratios(name: str, kind: str = "int8") -> dict[str, str]:
    """Label → time relative to MobileBERT, of a latency table of the papers."""
    return {row["label"]: f"{row['here'][kind]['ratio']:.2f}" for row in record(name)["paper"]["rows"]}


def _shrinks() -> str:
    facts = record("bench/paper-table-7.json")["facts"]
    return f"{facts['mobilebert-none']['bytes'] / facts['mobilebert-int8']['bytes']:.2f} ×"


def _table_7() -> list[Row]:
    float_, int8 = (_ratios("bench/paper-table-7.json", kind) for kind in ("none", "int8"))
    facts = record("bench/paper-table-7.json")["facts"]
    command = TABLES.format("7", "paper-table-7")
    page = "results/bench/paper-table-7.md"
    own = record("bench/table-7-without-xnnpack.json")["ratios"]["TFLite's own"]
    found = [
        Row(
            "Table 7",
            f"{label} against NoNorm & ReLU",
            theirs,
            "contradicted",
            f"{float_[label]} in float, {int8[label]} in int8; without XNNPACK {own[label]['ratio']:.2f} in float",
            "one thread of an EPYC (Zen 4), one of 56 sessions troubled; XNNPACK, which the paper's runtime of 2020 had not, is not the cause",
            page,
            command,
        )
        for label, theirs in (
            ("LayerNorm & GELU", "3.10"),
            ("LayerNorm & ReLU", "2.69"),
            ("NoNorm & GELU", "1.48"),
        )
    ]
    operators = [facts[name]["operator_count"] for name in ("layernorm-gelu-none", "mobilebert-none")]
    original, fitted, recovered = (row["accuracy"] for row in record("transfer/rewrite.json")["accuracy"])
    return [
        *found,
        Row(
            "Table 7",
            "the optimisations change no FLOPs",
            "5.7B in every row",
            "remade",
            f"{2 * facts['layernorm-gelu-none']['macs'] / 1e9:.1f}B and {2 * facts['mobilebert-none']['macs'] / 1e9:.1f}B; "
            f"operators {operators[0]:,} → {operators[1]:,}",
            "counted in the .tflite files, which compute of the last layer what the classifier reads",
            page,
            command,
        ),
        Row(
            "section 3.3, Table 4",
            "without LayerNorm and GELU the score falls a little",
            "78.5 → 77.7",
            "in part",
            f"{percent(original, 2)} → {percent(recovered, 2)} ({percent(fitted, 2)} before recovery)",
            "a fine-tuned MiniLM rewritten, one seed; QQP test, 8,000 pairs, which leave ±.8 open",
            "results/transfer/records.jsonl.xz",
            "mobilebert rewrite --model runs/teacher/model --calibration ../shared/data/qqp/train.tsv --calibration-pairs 2048 "
            "--recover-pairs ../shared/data/qqp/train.tsv --dev ../shared/data/qqp/dev.tsv --test ../shared/data/qqp/test.tsv "
            "--steps 1200 --threads 1 --out runs/rewrite",
        ),
    ]


def _ablations() -> list[Row]:
    found = {size: record(f"transfer/ablation-{size}.json") for size in ("short", "small")}
    verdict = {
        size: {(row["better"], row["worse"]): row for row in one["orders"]} for size, one in found.items()
    }

    def order(item: str, better: str, worse: str, claim: str, theirs: str, state: State) -> Row:
        shown = [
            with_interval(one[better, worse]["difference"], one[better, worse]["interval"], 3, signed=True)
            for one in verdict.values()
        ]
        return Row(
            item,
            claim,
            theirs,
            state,
            f"loss lower by {shown[0]}; with three times the updates {shown[1]}",
            SMALL,
            "results/transfer/ablation-short.md",
            ABLATION,
        )

    return [
        order(
            "Table 8",
            "jkt",
            "akt",
            "joint transfer is better than auxiliary",
            "83.0 → 83.5 (MNLI)",
            "in part",
        ),
        order(
            "Table 8",
            "pkt",
            "jkt",
            "progressive transfer is better than joint",
            "83.5 → 83.9 (MNLI)",
            "undecided",
        ),
        order("Table 9", "pd", "bare", "pretraining distillation helps", "80.8 → 81.1 (MNLI)", "in part"),
        order(
            "Table 9", "pd-fmt", "pd", "feature map transfer helps, and most", "81.1 → 83.8 (MNLI)", "in part"
        ),
        order(
            "Table 9",
            "pkt",
            "pd-fmt",
            "attention transfer helps a little more",
            "83.8 → 84.4 (MNLI)",
            "undecided",
        ),
        *_under_minilm(),
        Row(
            "Table 9",
            "IB-BERT-large is as good as BERT-large",
            "87.0 and 86.6 (MNLI)",
            "not",
            "",
            "two pretrainings of 300M parameters",
            NETWORKS,
        ),
        *_figure_3(),
        Row(
            "appendix D",
            "15% of the tokens are masked, next sentences are predicted",
            "objective",
            "remade",
            "shares are counted in the examples",
            "",
            "tests/training/test_pretraining_corpus.py",
        ),
    ]


def _under_minilm() -> list[Row]:
    """The same orders with a trained sentence encoder as the teacher."""
    claims = {
        ("pd-fmt-at", "akt"): ("joint transfer is better than auxiliary", "83.0 → 83.5 (MNLI)"),
        ("pkt", "pd-fmt-at"): ("progressive transfer is better than joint", "83.5 → 83.9 (MNLI)"),
        ("pd-fmt", "pd"): ("feature map transfer helps most", "81.1 → 83.8 (MNLI)"),
        ("pd-fmt-at", "pd-fmt"): ("attention transfer helps a little more", "83.8 → 84.4 (MNLI)"),
    }
    found = record("transfer/strategies-from-minilm.json")
    rows = []
    for (better, worse), (claim, theirs) in claims.items():
        orders = [one for one in found["orders"] if (one["better"], one["worse"]) == (better, worse)]
        told = {one["verdict"] for one in orders}
        state: State = "in part" if "holds" in told else "contradicted" if "fails" in told else "undecided"
        shown = "; ".join(
            f"{NAMES[one['figure']]} {with_interval(one['difference'], one['interval'], 3, signed=True)} {one['verdict']}"
            for one in orders
        )
        rows.append(
            Row(
                orders[0]["table"],
                f"{claim}, with MiniLM as the teacher",
                theirs,
                state,
                shown,
                "six layers, 13.3M parameters, 600 updates, three seeds; PD is that of sentence vectors",
                "results/transfer/strategies-from-minilm.md",
                UNDER_MINILM,
            )
        )
    return rows


def _figure_3() -> list[Row]:
    """How far the heads of a student's last layer are from the teacher's, with attention transfer and without."""
    apart = {
        name: record(f"transfer/attention-{name}.json")["layers"][-1] for name in ("pd-fmt", "pd-fmt-at")
    }

    def mean(name: str, which: str) -> float:
        values: list[float] = apart[name][which]
        return sum(values) / len(values)

    without, with_transfer = (mean(name, "same_head") for name in ("pd-fmt", "pd-fmt-at"))
    nearest = mean("pd-fmt", "best_head")
    what = "KL divergence of the last layer's twelve heads from MiniLM's, one pair of questions, one seed, 600 updates"
    command = (
        "python -m studies.transfer.attention --student runs/from-minilm/minilm-pd-fmt-seed0/model --layers 1,6 --heads 12 "
        "--out results/transfer/attention-pd-fmt.png"
    )
    return [
        Row(
            "Figure 3, appendix C",
            "attention transfer makes heads attend as the teacher's do",
            "drawing",
            "in part",
            f"{without:.2f} without, {with_transfer:.2f} with it",
            what,
            "results/transfer/README.md",
            command.replace("pd-fmt", "pd-fmt-at"),
        ),
        Row(
            "Figure 3, appendix C",
            "without it the heads are the teacher's in another order",
            "exactly a re-order",
            "contradicted",
            f"{without:.2f} from the head of the same number, {nearest:.2f} from the nearest",
            f"{what}: nearer than by number, and not equal",
            "results/transfer/README.md",
            command,
        ),
    ]
