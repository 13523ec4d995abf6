"""Lan et al. 2020, ALBERT: a Lite BERT for Self-supervised Learning of Language Representations."""

from __future__ import annotations

from dataclasses import replace

from mobilebert_models import inventory, preset
from studies.papers.row import Row, percent, record

TITLE = "ALBERT (Lan et al. 2020)"
COUNTS = "tests/models/test_albert.py"
EXAMPLES = "tests/training/test_pretraining_corpus.py"
ABLATION = "python -m studies.transfer.ablation --scale {} --corpus runs/shards --runs runs/ablation --out results/transfer"
SMALL = f"{ABLATION.format('small')} --seed 0"
SENTENCE_ORDER = (
    "python -m studies.transfer.sentence_order --corpus runs/shards-tail-minilm --runs runs/sentence-order --updates 1000 "
    "--out results/transfer/sentence-order.json"
)
# By the name of its runs: what is shown of it.
WIDTHS = {"albert-eighth": "H / 8", "albert-all": "H / 4", "albert-half": "H / 2", "albert-whole": "H"}
SHARING = {
    "albert-all": "all",
    "albert-attention": "attention",
    "albert-ffn": "feed-forward",
    "albert-none": "nothing",
}
SCALE = "pretraining runs of 12M to 235M parameters on 64 to 512 TPUs"
NO_TASKS = "training parts of SQuAD, RACE and SST-2 could not be had"


def rows() -> list[Row]:
    """The rows, in the order of the paper."""
    return [*_counts(), *_pretraining(), *_scores()]


def _millions(**changes: object) -> float:
    total: int = inventory(replace(preset("albert-base"), **changes))["parameters"]["total"]  # type: ignore[arg-type]
    return total / 1e6


def _counts() -> list[Row]:
    names = ("albert-base", "albert-large", "albert-xlarge", "albert-xxlarge")
    sizes = [inventory(preset(name))["parameters"]["total"] / 1e6 for name in names]
    widths = [_millions(embedding_size=width) for width in (64, 128, 256, 768)]
    shared = [_millions(layer_sharing=how) for how in ("all", "attention", "ffn", "none")]
    stored = record("transfer/albert-size.json")

    def shown(values: list[float]) -> str:
        return ", ".join(f"{value:.0f}M" for value in values)

    return [
        Row(
            "Table 1",
            "parameters of base, large, xlarge, xxlarge",
            "12M, 18M, 60M, 235M",
            "remade",
            shown(sizes),
            "counted and equal to `transformers`; the paper prints xxlarge as 235M, 233M and 225M",
            COUNTS,
        ),
        Row(
            "Table 3, sizes",
            "E = 64, 128, 256, 768",
            "10M, 12M, 16M, 31M",
            "remade",
            shown(widths),
            "counted",
            COUNTS,
        ),
        Row(
            "Table 4, sizes",
            "all, attention, feed-forward, nothing shared",
            "12M, 64M, 38M, 89M",
            "remade",
            shown(shared),
            "counted",
            COUNTS,
        ),
        Row("section 4.5", "N groups of M layers", "construction", "remade", "counted and built", "", COUNTS),
        Row(
            "section 3.1",
            "factorised embeddings: V × E + E × H",
            "formula",
            "remade",
            "equal to `transformers`",
            "",
            COUNTS,
        ),
        Row(
            "section 1",
            "sharing makes a file small",
            "18 × fewer",
            "remade",
            f"{stored['files']['tflite']['bytes'] / 1e6:.1f} MB of {stored['bytes_if_every_layer_had_its_own'] / 1e6:.1f} MB",
            "albert-base exported in float: a shared layer is stored once",
            "results/transfer/README.md",
            "python -m studies.latency.albert_size results/transfer/albert-size.json",
        ),
        Row(
            "section 4.1",
            "masks of one to three words, p(n) ∝ 1/n",
            "formula",
            "remade",
            "shares are counted",
            "",
            EXAMPLES,
        ),
        Row(
            "section 3.1",
            "sentence-order prediction swaps two segments",
            "objective",
            "remade",
            "tested on examples",
            "",
            EXAMPLES,
        ),
        Row(
            "section 4.1",
            "LAMB",
            "optimiser",
            "remade",
            "equal to the published rule",
            "",
            "tests/training/test_trainer.py",
        ),
        Row(
            "section 4.1",
            "SentencePiece vocabulary of 30,000",
            "30,000",
            "remade",
            "trained and read by `transformers`",
            "`mobilebert train-tokenizer`",
            "tests/training/test_vocabulary.py",
        ),
    ]


def _pretraining() -> list[Row]:
    found = record("transfer/sentence-order.json")
    claims = {
        ("nsp", "sop"): ("NSP does not solve SOP", "52.0"),
        ("sop", "nsp"): ("SOP solves NSP", "78.9"),
        ("sop", "sop"): ("SOP solves SOP", "86.5"),
        ("nsp", "nsp"): ("NSP solves NSP", "90.5"),
    }
    why = (
        f"{found['sop']['sequences']:,} sequences of {found['sop']['corpus']['seq_len']} tokens from MiniLM's encoder, one "
        "seed, 2,000 pairs asked: sentence order is not learned in them, nor either question from fresh weights (50.6%)"
    )
    return [
        Row(
            "Table 5",
            claim,
            f"{theirs}%",
            "remade" if learned == "nsp" else "in part",
            f"{percent(found[learned]['asked'][asked]['accuracy'])}%",
            why,
            "results/transfer/README.md",
            SENTENCE_ORDER,
        )
        for (learned, asked), (claim, theirs) in claims.items()
    ]


def _tables_3_and_4() -> list[Row]:
    means = record("transfer/ablation-small.json")["means"]
    scale = "three layers, H = 64, 48,000 sequences of 64 tokens, one seed; word frequencies alone have a loss of 6.55"
    tasks = "fine-tuned, all rows stay at MRPC's more frequent label (66.5%) and near 0 in STS-B"

    def losses(rows: dict[str, str]) -> str:
        return ", ".join(f"{means[name]['mlm_loss']:.3f} ({title})" for name, title in rows.items())

    return [
        Row(
            "Table 3",
            "E = 128 is best with all shared",
            "80.1 (of 64 to 768)",
            "contradicted",
            f"loss {losses(WIDTHS)}",
            f"{scale}: the wider the better, for at this budget the words are learned first; {tasks}",
            "results/transfer/ablation-small.md",
            SMALL,
        ),
        Row(
            "Table 4",
            "sharing attention costs nothing, feed-forward most",
            "81.7 and 80.2 (none: 81.6)",
            "in part",
            f"loss {losses(SHARING)}",
            f"{scale}: no sharing costs anything yet; {tasks}",
            "results/transfer/ablation-small.md",
            SMALL,
        ),
    ]


def _scores() -> list[Row]:
    trained = f"{SCALE}; {NO_TASKS}"
    return [
        Row("Table 2", "xxlarge beats BERT-large", "88.7 and 85.2", "not", "", trained, COUNTS),
        Row(
            "Table 2, speed",
            "ALBERT-large reads 1.7 times as fast as BERT-large in training",
            "1.7 ×",
            "not",
            "",
            "the gain is in communication between TPUs; one machine has none",
            COUNTS,
        ),
        *_tables_3_and_4(),
        Row(
            "Table 6", "at equal hours xxlarge beats BERT-large", "88.7 and 87.2", "not", "", trained, COUNTS
        ),
        Row("Table 7, Figure 2a", "more data helps", "80.1 → 80.8", "not", "", trained, COUNTS),
        Row(
            "Table 8, Figure 2b",
            "without dropout is better",
            "90.4 → 90.7",
            "in part",
            "presets have none",
            "what it is worth was not measured: networks this small do not overfit",
            COUNTS,
        ),
        Row("Tables 9, 10", "state of the art", "89.4 (GLUE)", "not", "", trained, COUNTS),
        Row("Tables 11–13", "depth and width", "24 layers, H = 4,096", "not", "", trained, COUNTS),
        Row(
            "Figure 1",
            "inputs and outputs of a layer come near each other smoothly",
            "drawing",
            "not",
            "",
            "needs a trained ALBERT-large: its weights are in no package",
            COUNTS,
        ),
        Row(
            "Table 14",
            "rates of the tasks",
            "1e-5 to 5e-5",
            "in part",
            "`finetune` takes them",
            "of BERT's grid here",
            "tests/training/test_finetune.py",
        ),
    ]
