"""Sun et al. 2020, MobileBERT: a Compact Task-Agnostic BERT for Resource-Limited Devices."""

from __future__ import annotations

from typing import Any

from mobilebert_models import inventory, preset
from studies.papers.row import Row, percent, record

TITLE = "MobileBERT (Sun et al. 2020)"
NETWORKS = "tests/models/test_networks.py"
LOSSES = "tests/training/test_distillation.py"
ABLATION = "python -m studies.transfer.ablation --scale short --corpus runs/shards --runs runs/ablation --out results/transfer"
TABLES = "python -m studies.latency.paper_table --table {} --threads 1 --seconds 0.5 --retries 0 --out results/bench/{}"
STUDENTS = "python -m studies.general_matcher.train_mobilebert --help"
UNDER_MINILM = (
    "python -m studies.transfer.strategies_from_minilm --texts texts.txt --sts ../shared/data/glue/sts-b/dev.tsv "
    "--runs runs/from-minilm --out results/transfer --seed 0 --seed 1 --seed 2"
)
SMALL = "three layers, 332k parameters, 11,200 sequences, three seeds"
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
            "Table 2",
            "IB-BERT keeps its F1 down to an inter-block size of 512",
            "88.2 → 88.1",
            "not",
            "",
            f"nine pretrainings of 276M to 356M parameters, 256 TPUs; {NO_SQUAD}",
            NETWORKS,
        ),
        Row(
            "Table 3",
            "a share of .4 to .6 of attention parameters is best",
            "83.4 (F1)",
            "not",
            "",
            f"four pretrainings of 25M parameters; {NO_SQUAD}. All four shapes build and run",
            NETWORKS,
        ),
    ]


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
            "equal to the formula, and its gradient",
            "split into normalised maps and statistics as well, whose sum is proved",
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
    models = _ratios("bench/paper-models.json")
    four = {kind: _ratios("bench/paper-models-xeon-4-threads.json", kind) for kind in ("none", "int8")}
    shown = "; ".join(
        f"MRPC {percent(glue['mrpc-' + m]['accuracy'])}, STS-B {percent(glue['sts-b-' + m]['spearman'])}, "
        f"MNLI {percent(glue['mnli-' + m]['accuracy'])} ({title})"
        for m, title in (
            ("minilm", "MiniLM"),
            ("shipped", "matcher-qqp-m"),
            ("mobilebert-trunk", "our MobileBERT trunk"),
            ("untrained", "MiniLM with random weights"),
        )
    )
    return [
        Row(
            "Table 4",
            "GLUE test scores of MobileBERT and -tiny",
            "77.7 and 75.8 on average",
            "in part",
            shown,
            "fine-tuned, one run each, MNLI on 2,700 pairs; the trunk has six layers of MobileBERT's kind and saw single "
            "sentences only. Google's weights are in no package",
            "results/transfer/glue/records.jsonl.xz",
            "mobilebert finetune --task mrpc --data ../shared/data/glue/mrpc --model minilm --out runs/glue/mrpc-minilm --threads 1",
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
            f"{models['BERT_BASE']}, 1, {models['MobileBERT_TINY']} in int8",
            "one thread of an EPYC with AVX2; no phone has been timed",
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
            "four threads on the two cores of a Xeon with AMX, slowed by its host in 24 of 56 sessions; runs of two "
            "threads and of one stand beside it. Nothing of it tells of a phone's milliseconds; on emulated Arm cores four "
            "threads give the bits of one (tests/android_bench/test_phone_arm.py)",
            "results/bench/paper-models-xeon-4-threads.md",
            TABLES.format("models", "paper-models-xeon-4-threads").replace("threads 1", "threads 4"),
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
            "remade",
            "no AUC and no correlation on test moves by more than .0008 from float",
            "MobileBERT and -tiny trained as sentence encoders, static int8, four buckets",
            "results/general_matcher/mobilebert/README.md",
            STUDENTS,
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
    for model in ("minilm", "shipped", "mobilebert-trunk", "untrained")
]


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
    found = [
        Row(
            "Table 7",
            f"{label} against NoNorm & ReLU",
            theirs,
            "contradicted",
            f"{float_[label]} in float, {int8[label]} in int8",
            "one thread of an EPYC: TFLite of today runs both inside XNNPACK, which the paper's of 2020 did not",
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
            "counted in the .tflite files",
            page,
            command,
        ),
        Row(
            "section 3.3, Table 4",
            "without LayerNorm and GELU the score falls a little",
            "78.5 → 77.7",
            "remade",
            f"{percent(original, 2)} → {percent(recovered, 2)} ({percent(fitted, 2)} before recovery)",
            "a fine-tuned MiniLM rewritten, QQP test, 8,000 pairs",
            "results/transfer/records.jsonl.xz",
            "mobilebert rewrite --model runs/teacher/model --calibration ../shared/data/qqp/train.tsv --calibration-pairs 2048 "
            "--recover-pairs ../shared/data/qqp/train.tsv --dev ../shared/data/qqp/dev.tsv --test ../shared/data/qqp/test.tsv "
            "--steps 1200 --threads 1 --out runs/rewrite",
        ),
        Row(
            "section 3.3",
            "without LayerNorm a network quantises better",
            "not claimed",
            "remade",
            "label agreement .924 → 1.000",
            "int8 of the fine-tuned MiniLM before and after the rewrite; the first is refused",
            "results/transfer/README.md",
            "mobilebert export --model runs/rewrite/model --quant int8 --seq-len 128 --buckets 128 --out artefacts/rewrite-int8",
        ),
    ]


def _ablations() -> list[Row]:
    found = record("transfer/ablation-short.json")
    loss = {name: row["mlm_loss"] for name, row in found["means"].items()}
    verdict = {(row["better"], row["worse"]): row for row in found["orders"]}
    command, page = ABLATION, "results/transfer/ablation-short.md"

    def order(item: str, better: str, worse: str, claim: str, theirs: str, why: str) -> Row:
        one: Any = verdict[better, worse]
        holds = one["verdict"] == "holds"
        shown = f"loss {loss[worse]:.3f} → {loss[better]:.3f}, lower by {one['difference']:.3f}"
        return Row(
            item, claim, theirs, "in part", f"{shown}: {'holds' if holds else 'a tie'}", why, page, command
        )

    tie = f"{SMALL}; both reach the loss of the teacher (4.53), which leaves nothing to gain; with a stronger one the row is below"
    return [
        order(
            "Table 8", "jkt", "akt", "joint transfer is better than auxiliary", "83.0 → 83.5 (MNLI)", SMALL
        ),
        order(
            "Table 8", "pkt", "jkt", "progressive transfer is better than joint", "83.5 → 83.9 (MNLI)", tie
        ),
        order("Table 9", "pd", "bare", "pretraining distillation helps", "80.8 → 81.1 (MNLI)", SMALL),
        order("Table 9", "pd-fmt", "pd", "feature map transfer helps most", "81.1 → 83.8 (MNLI)", SMALL),
        order(
            "Table 9", "pkt", "pd-fmt", "attention transfer helps a little more", "83.8 → 84.4 (MNLI)", tie
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
        Row(
            "Figure 3, appendix C",
            "a student's heads attend as the teacher's do",
            "drawing",
            "in part",
            "drawn head by head",
            "MiniLM and matcher-qqp-m, one pair of questions",
            "results/transfer/attention.png",
            "python -m studies.transfer.attention --out results/transfer/attention.png",
        ),
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
    for order in (one for one in found["orders"] if one["figure"] == "cosine"):
        better, worse = order["better"], order["worse"]
        claim, theirs = claims[better, worse]
        low, high = order["interval"]
        one, other = (found["means"][name]["cosine"] for name in (better, worse))
        shown = f"cosine {other:.3f} → {one:.3f}, +{order['difference']:.3f} ({low:.3f} to {high:.3f}): {order['verdict']}"
        rows.append(
            Row(
                order["table"],
                f"{claim}, with MiniLM as the teacher",
                theirs,
                "contradicted" if order["verdict"] == "fails" else "in part",
                shown.replace("+-", "−"),
                "six layers, 13.3M parameters, 600 updates, three seeds; PD is that of sentence vectors, and undoes what transfer gave",
                "results/transfer/strategies-from-minilm.md",
                UNDER_MINILM,
            )
        )
    return rows
