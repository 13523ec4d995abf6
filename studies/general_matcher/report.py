"""The table of results/general_matcher/README.md out of a record of `evaluate`.

python -m studies.general_matcher.report results/general_matcher/results.json
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    ("clinc_out_of_scope_auc", "... out of scope, AUC"),
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
)


# Two figures each, clean and misspelt, and one alone.
CHANGES = (
    ("typo_accuracy_qqp_test", "accuracy clean → one misspelling, QQP"),
    ("typo_auc_qqp_test", "AUC clean → one misspelling, QQP"),
    ("typo_auc_twitter_url_test", "... Twitter-URL"),
)
SINGLE = (
    ("identical_same", "2,000 texts beside themselves: at or above the threshold"),
    ("identical_lowest", "... lowest score"),
    ("swap_largest_change", "largest change when the texts change places, MRPC"),
    ("ece_qqp_test", "ECE after slope and offset on 500 dev pairs, QQP"),
    ("ece_mrpc_test", "... MRPC"),
    ("ece_twitter_url_test", "... Twitter-URL (fitted on 500 train pairs)"),
    ("threshold_qqp_dev", "best threshold on QQP dev"),
    ("minimal_auc", "minimal pairs, AUC of same against different"),
)


def main(record: Annotated[Path, Argument(help="Written by evaluate.")]) -> None:
    """Print the table."""
    found = read_json(record)
    lines = [
        (title, [with_interval(v[key][0], v[key][1:], 3) for v in found.values()]) for key, title in ROWS
    ]
    lines += [
        (title, [f"{v[key][0]:.3f} → {v[key][1]:.3f}" for v in found.values()]) for key, title in CHANGES
    ]
    lines += [(title, [f"{v[key]:.3f}" for v in found.values()]) for key, title in SINGLE]
    echo(table(["", *found], [[title, *cells] for title, cells in lines]))


if __name__ == "__main__":
    run(main)
