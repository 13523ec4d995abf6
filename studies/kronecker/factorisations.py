"""The factorisations that the study compares: the paper's presets, low-rank ones of their size, and ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mobilebert_models import EncoderConfig
from mobilebert_models.config import KroneckerRule
from mobilebert_models.kronecker.factor_shapes import (
    WORDS,
    costs,
    low_rank_rules,
    preset_rules,
    seventh_rules,
)
from mobilebert_runtime.errors import OptionError
from mobilebert_training.initialization.student import SEVENTH_WORDS

Rules = tuple[KroneckerRule, ...]


def _low_rank_of(preset: str) -> Callable[[EncoderConfig], Rules]:
    return lambda config: same_size_low_rank(config, preset_rules(config, preset))


def _low_rank_words(config: EncoderConfig) -> Rules:
    """Kronecker layers of preset 8 over a low-rank table of the same size."""
    layers = [rule for rule in preset_rules(config, "8") if rule.layers != WORDS]
    return (*layers, KroneckerRule(WORDS, config.vocab_size, 1, config.hidden_size // 8))


def _cut_low_rank(config: EncoderConfig) -> Rules:
    """Low-rank factors of the same size."""
    return same_size_low_rank(config, seventh_rules(config))


@dataclass(frozen=True)
class Factorisation:
    """Which factors, what they start from, and how much of the teacher's vocabulary stays.

    `vocabulary`: entries that stay; None for all of them.
    `fitted`: factors start as those that err least in what the layers return on the task's texts, instead of
    the nearest ones of each matrix.
    """

    rules: Callable[[EncoderConfig], Rules]
    vocabulary: int | None = None
    fitted: bool = False


FACTORISATIONS: dict[str, Factorisation] = {
    "kronecker-21": Factorisation(lambda config: preset_rules(config, "21")),
    "kronecker-8": Factorisation(lambda config: preset_rules(config, "8")),
    "kronecker-5": Factorisation(lambda config: preset_rules(config, "5")),
    "kronecker-8-words": Factorisation(_low_rank_words),
    "low-rank-21": Factorisation(_low_rank_of("21")),
    "low-rank-8": Factorisation(_low_rank_of("8")),
    "low-rank-5": Factorisation(_low_rank_of("5")),
    # Not in the paper: rare words fall apart into more pieces, and their parameters go to the layers.
    "kronecker-cut": Factorisation(seventh_rules, SEVENTH_WORDS),
    "low-rank-cut": Factorisation(_cut_low_rank, SEVENTH_WORDS),
    "kronecker-cut-fitted": Factorisation(seventh_rules, SEVENTH_WORDS, fitted=True),
    "low-rank-cut-fitted": Factorisation(_cut_low_rank, SEVENTH_WORDS, fitted=True),
}


def same_size_low_rank(config: EncoderConfig, rules: Rules) -> Rules:
    """Low-rank rules whose encoder is as large as that of some Kronecker rules, at most 1% above.

    The words have one row vector of n numbers in Kronecker factors; here they have rank d/n, which takes as
    many numbers a word.
    """
    words_rank = next(rule.n1 * rule.rank for rule in rules if rule.layers == WORDS)

    def parameters(chosen: Rules) -> int:
        return costs(replace(config, kronecker=chosen))["parameters"]

    # Every rank costs the same: a line through the first two.
    first, second = (parameters(low_rank_rules(config, rank, words_rank)) for rank in (1, 2))
    rank = 1 + int((1.01 * parameters(rules) - first) // (second - first))
    if rank < 1:
        raise OptionError(
            f"no low-rank factorisation of rank ≥ 1 is as small as {parameters(rules):,} parameters"
        )
    return low_rank_rules(config, rank, words_rank)
