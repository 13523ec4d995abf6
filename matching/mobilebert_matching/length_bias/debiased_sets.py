"""Bias-free (adversarial) sets: Section 4.1 of Jiang et al. 2022.

Pairs: down-sample each category so that its ratio of positives to negatives is the overall one. Removing rows
moves the quartiles, so that the result, cut at its *own* quartiles, would be a little biased again; therefore
the step is repeated until nothing is left to remove. The first round alone is the paper's procedure
(`rounds=1`); the later ones cost about 1% of QQP and 2% of Twitter-URL.

Lists: discard the queries of CAT4, whole, in one step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_matching.data.pairs import ANY_COLUMNS, Columns, PairReader, Problems
from mobilebert_matching.data.table_files import open_table
from mobilebert_matching.length_bias.bias_audit import Mode, divergence_of, load_quartiles
from mobilebert_matching.length_bias.length_divergence import Quartiles, QueryLists
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import replacing


@dataclass(frozen=True)
class Round:
    """One pass over the categories, CAT1 to CAT4."""

    quartiles: Quartiles
    before: tuple[tuple[int, int], ...]  # (positive, negative) of each category
    after: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Debiased:
    """Which rows stay, and why the others go."""

    path: str
    mode: Mode
    columns: Columns
    seed: int
    rounds: tuple[Round, ...]
    keep: np.ndarray  # line numbers of the rows that stay, ascending
    pairs: int  # usable rows before
    queries: int | None  # listwise: before
    queries_kept: int | None
    quartiles_from: str
    problems: Problems

    @property
    def quartiles(self) -> Quartiles:
        """The cuts of the last round: a second run given them removes nothing."""
        return self.rounds[-1].quartiles

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON; `quartiles` and `mode` are what `audit` and `debias` can take over."""
        return {
            "file": self.path,
            "mode": self.mode,
            "columns": self.columns.to_json(),
            "seed": self.seed,
            "pairs": self.pairs,
            "kept": len(self.keep),
            "queries": self.queries,
            "queries_kept": self.queries_kept,
            "quartiles": self.quartiles.as_list(),
            "quartiles_from": self.quartiles_from,
            "rounds": [
                {
                    "quartiles": r.quartiles.as_list(),
                    "categories": [
                        {
                            "category": c,
                            "positive": b[0],
                            "negative": b[1],
                            "positive_kept": a[0],
                            "negative_kept": a[1],
                        }
                        for c, (b, a) in enumerate(zip(r.before, r.after, strict=True), 1)
                    ],
                }
                for r in self.rounds
            ],
            "problems": self.problems.to_json(),
        }


def debias(
    path: str | Path,
    columns: Columns = ANY_COLUMNS,
    *,
    positive: str | None = None,
    quartiles_from: str | Path | None = None,
    seed: int = 0,
    rounds: int | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Debiased:
    """Choose the rows of a bias-free set; `write` then copies them.

    Holds 17 bytes a row (pairwise; 25 listwise), not the texts. With the same file and seed the choice is the
    same. Rows that cannot be used (see `problems`) are not kept.

    Args:
        path: the file; see `mobilebert_matching.data.pairs.PairReader` for formats.
        columns: with one of the query key whole queries are discarded instead of pairs; labels are 0 or 1.
        positive: the label that counts as positive.
        quartiles_from: a training file or a JSON report whose quartiles are used in every round.
        seed: of the down-sampling.
        rounds: at most so many (1: the paper's single pass); None: until the categories are level.
        progress: called with what is read and the whole, in bytes (Parquet: rows).

    Raises:
        DataError: the file cannot be read as labelled pairs; or
            one of the classes is absent, or none of it would remain.
    """
    lists = columns.group is not None
    mode: Mode = "listwise" if lists else "pairwise"
    given = None
    if quartiles_from is not None:
        given = load_quartiles(quartiles_from, mode, columns, positive)
    divergences, labels, lines, queries = [], [], [], []
    reader, grouped = PairReader(path, columns, labels="binary", positive=positive), QueryLists()
    for part in reader.parts(progress):
        divergence = divergence_of(part, path)
        divergences.append(divergence)
        labels.append(np.asarray(part.labels) == 1)
        lines.append(part.lines)
        if part.groups is not None:
            queries.append(grouped.add(part.groups, labels[-1], divergence))
    value, is_positive, line = (np.concatenate(column) for column in (divergences, labels, lines))
    if not lists:
        kept, passes = level(value, is_positive, given, seed=seed, rounds=rounds, source=str(path))
    else:
        _check_classes(is_positive, str(path))
        query = np.concatenate(queries)
        kept, passes = _drop_last(grouped.divergence(), query, is_positive, given)
        _check_kept(is_positive, kept, str(path))
    return Debiased(
        path=str(path),
        mode=mode,
        columns=reader.columns,
        seed=seed,
        rounds=tuple(passes),
        keep=line[kept],
        pairs=len(value),
        queries=len(grouped.divergence()) if lists else None,
        queries_kept=len(np.unique(query[kept])) if lists else None,
        quartiles_from=str(path if quartiles_from is None else quartiles_from),
        problems=reader.problems,
    )


def level(
    divergence: np.ndarray,
    is_positive: np.ndarray,
    quartiles: Quartiles | None = None,
    *,
    seed: int = 0,
    rounds: int | None = None,
    source: str = "these pairs",
) -> tuple[np.ndarray, list[Round]]:
    """The rows of a bias-free set of pairs in memory, ascending (M,), and the rounds that led there.

    With the same rows, quartiles and seed it chooses what `debias` chooses from a file. Every round but the
    last removes at least one row, so this ends.

    Args:
        divergence: (N,) of Eq. (1).
        is_positive: (N,) bool.
        quartiles: used in every round; those of the remaining rows when None.
        seed: of the down-sampling.
        rounds: at most so many; None: until the categories are level.
        source: what an error calls the pairs.

    Raises:
        DataError: one of the classes is absent, or none of it would remain.
    """
    _check_classes(is_positive, source)
    generator = np.random.default_rng(seed)
    kept = np.arange(len(divergence))
    passes: list[Round] = []
    while rounds is None or len(passes) < rounds:
        cuts = quartiles or Quartiles.of(divergence[kept])
        category = cuts.category(divergence[kept])
        positives, negatives = (
            np.bincount(category[is_positive[kept] == sign], minlength=5)[1:] for sign in (True, False)
        )
        target = _targets(positives, negatives)
        before = tuple(zip(positives.tolist(), negatives.tolist(), strict=True))
        passes.append(Round(cuts, before, tuple(target)))
        if before == passes[-1].after:
            break
        stay = np.ones(len(kept), bool)
        for place, (had, has) in enumerate(zip(before, target, strict=True), 1):
            for sign, surplus in ((True, had[0] - has[0]), (False, had[1] - has[1])):
                rows = np.flatnonzero((category == place) & (is_positive[kept] == sign))
                stay[generator.choice(rows, surplus, replace=False)] = False
        kept = kept[stay]
        if not is_positive[kept].any() or is_positive[kept].all():
            break
    _check_kept(is_positive, kept, source)
    return kept, passes


def write(chosen: Debiased, out: str | Path, *, force: bool = False) -> None:
    """Copy the kept rows, in their order and byte for byte, with the header, to `out` in the same format.

    The file appears under its name only when it is complete.

    Raises:
        OutputError: `out` exists and `force` is off, or its folder is missing.
        DataError: `out` has another ending than the input, or is the input.
    """
    out, source = Path(out), Path(chosen.path)
    if out.suffix.lower() != source.suffix.lower():
        raise DataError(
            f"{out}: expected the ending {source.suffix} of the input, whose rows are copied as they are"
        )
    if out.resolve() == source.resolve():
        raise DataError(f"{out}: is the input itself; choose another --out")
    with replacing(out, force=force) as partial:
        open_table(source).copy(chosen.keep, partial)


def _check_classes(is_positive: np.ndarray, source: str) -> None:
    for wanted, name in ((True, "positive"), (False, "negative")):
        if not (is_positive == wanted).any():
            raise DataError(
                f"{source}: no {name} pair among {len(is_positive):,}; there is no ratio to level"
            )


def _check_kept(is_positive: np.ndarray, kept: np.ndarray, source: str) -> None:
    if not is_positive[kept].any() or is_positive[kept].all():
        raise DataError(
            f"{source}: a level set would keep {int(is_positive[kept].sum())} positive and "
            f"{int((~is_positive[kept]).sum())} negative pairs of {len(is_positive):,}; more rows are needed"
        )


def _targets(positives: np.ndarray, negatives: np.ndarray) -> list[tuple[int, int]]:
    """What each category keeps: its surplus class is cut to the overall ratio, the other class stays whole.

    A category within one example of the overall ratio is left as it is.
    """
    ratio = positives.sum() / negatives.sum()
    out = []
    for positive, negative in zip(positives.tolist(), negatives.tolist(), strict=True):
        if abs(positive - ratio * negative) < 1 or abs(negative - positive / ratio) < 1:
            out.append((positive, negative))
        elif positive > ratio * negative:
            out.append((round(ratio * negative), negative))
        else:
            out.append((positive, round(positive / ratio)))
    return out


def _drop_last(
    divergence: np.ndarray, query: np.ndarray, is_positive: np.ndarray, given: Quartiles | None
) -> tuple[np.ndarray, list[Round]]:
    quartiles = given or Quartiles.of(divergence)
    category = quartiles.category(divergence)[query]
    positives, negatives = (
        np.bincount(category[is_positive == sign], minlength=5)[1:] for sign in (True, False)
    )
    before = tuple(zip(positives.tolist(), negatives.tolist(), strict=True))
    return np.flatnonzero(category < 4), [Round(quartiles, before, (*before[:3], (0, 0)))]
