"""The table of results/general_matcher/README.md out of a record of `evaluate`.

python -m studies.general_matcher.report results/general_matcher/results.json
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, echo

from studies.common.markdown import table, with_interval
from studies.common.records import read_json
from studies.common.script import run

ROWS = (
    ("twitter_url_test", "Twitter-URL test, AUC"),
    ("mrpc_test", "MRPC test, AUC"),
    ("qqp_test", "QQP test, AUC"),
    ("sts_b_test", "STS-B test, Spearman"),
    ("clinc_first", "CLINC150, 50 held-out intents: right intent first"),
    ("clinc_in_five", "... in five"),
    ("clinc_ranked_first", "... the ten nearest by the vectors ordered by the score: right intent first"),
    ("clinc_ranked_in_five", "... in five"),
    ("clinc_out_of_scope_auc", "CLINC150, out of scope, AUC"),
    ("qqp_test_accuracy", "QQP test, accuracy at the best QQP dev threshold"),
    ("typo_flips_qqp_test", "decisions flipped by one misspelling, QQP"),
    ("typo_flips_twitter_url_test", "... Twitter-URL (same threshold)"),
    ("minimal_number", "minimal pairs right: number"),
    ("minimal_name", "... name"),
    ("minimal_negation", "... negation"),
    ("minimal_before_after", "... before/after"),
    ("minimal_swapped_roles", "... swapped roles"),
    ("minimal_synonym", "... synonym (same)"),
    ("minimal_word_order", "... word order (same)"),
    ("shipped_minimal_number", "minimal pairs right at the shipped threshold: number"),
    ("shipped_minimal_name", "... name"),
    ("shipped_minimal_negation", "... negation"),
    ("shipped_minimal_before_after", "... before/after"),
    ("shipped_minimal_swapped_roles", "... swapped roles"),
    ("shipped_minimal_synonym", "... synonym (same)"),
    ("shipped_minimal_word_order", "... word order (same)"),
    ("shipped_qqp_accuracy", "QQP test, accuracy at the shipped threshold"),
)


# Two figures each, clean and misspelt, and one alone.
CHANGES = (
    ("typo_accuracy_qqp_test", "accuracy clean → one misspelling, QQP"),
    ("typo_in_both_accuracy_qqp_test", "... one in each text"),
    ("typo_in_both_accuracy_twitter_url_test", "... one in each text, Twitter-URL"),
    ("typo_auc_qqp_test", "AUC clean → one misspelling, QQP"),
    ("typo_auc_twitter_url_test", "... Twitter-URL"),
)
SINGLE = (
    ("identical_same", "2,000 texts paired with themselves: at or above the threshold"),
    ("identical_lowest", "... lowest score"),
    ("swap_largest_change", "largest change when the texts change places, MRPC"),
    ("ece_qqp_test", "ECE after slope and offset on 500 dev pairs, QQP"),
    ("ece_mrpc_test", "... MRPC"),
    ("ece_twitter_url_test", "... Twitter-URL (one half of test, fitted on the other)"),
    ("calibrated_ece_qqp_test", "ECE after `calibrate` with 500 pairs of dev, QQP"),
    ("calibrated_ece_mrpc_test", "... MRPC"),
    ("calibrated_ece_twitter_url_test", "... Twitter-URL (of train)"),
    ("threshold_qqp_dev", "best threshold on QQP dev"),
    ("minimal_auc", "minimal pairs, AUC of same against different"),
    (
        "shipped_minimal_different",
        "minimal pairs of the five different kinds right, shipped threshold",
    ),
)
CHANCE = (
    (
        "calibrated_ece_by_chance_qqp_test",
        "ECE of true probabilities on as few pairs, mean and 95th percentile, QQP",
    ),
    ("calibrated_ece_by_chance_mrpc_test", "... MRPC"),
    ("calibrated_ece_by_chance_twitter_url_test", "... Twitter-URL"),
)


def main(record: Annotated[Path, Argument(help="Written by evaluate.")]) -> None:
    """Print the table; what a model was not asked, or a record before it does not hold, stays empty."""
    found = read_json(record)
    forms: tuple[tuple[tuple[tuple[str, str], ...], Callable[[Any], str]], ...] = (
        (ROWS, lambda value: with_interval(value[0], value[1:], 3)),
        (CHANGES, lambda value: f"{value[0]:.3f} → {value[1]:.3f}"),
        (SINGLE, lambda value: f"{value:.3f}"),
        (CHANCE, lambda value: f"{value[0]:.3f}, {value[1]:.3f}"),
    )
    lines = [
        [title, *(shown(model[key]) if key in model else "" for model in found.values())]
        for rows, shown in forms
        for key, title in rows
    ]
    echo(table(["", *found], [line for line in lines if any(line[1:])]))


if __name__ == "__main__":
    run(main)
