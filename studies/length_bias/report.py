"""Tables 2 and 3, Figures 1 and 2 of Jiang et al. 2022 from recorded runs, ours beside the printed numbers.

    python -m studies.length_bias.report --results results/length_bias

`summary` collects numbers, `markdown` only sets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_matching.length_bias import category_plot
from mobilebert_matching.length_bias.bias_audit import Category
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from studies.common.markdown import NONE, table, with_interval, yes_no
from studies.common.records import Json, check_outputs, read_json, write_text
from studies.common.script import Force, run
from studies.length_bias import figure2
from studies.length_bias.figure2 import Point
from studies.length_bias.published import (
    ARCHITECTURES,
    COMBINATIONS,
    DATA,
    DROPS,
    GAINS,
    METRICS,
    PARAMETERS,
    TABLE_2,
    TABLE_3,
)
from studies.length_bias.recorded_runs import (
    PREFIXES,
    TESTS,
    TRAIN_SETS,
    Direction,
    Figure,
    Runs,
    printed_directions,
)

_MARK = " †"  # on numbers of a BERT_TINY that did not start from the published weights
_TABLE_2_LEGEND = """Per cent. Ours: mean over seeds, [95% interval over test examples], range over seeds
where there are several. Gain: points won by training on the adversarial set instead of the original one."""
_DIRECTIONS_LEGEND = f"""A combination counts as soon as one of its metrics in Table 2 moves the paper's
way: the counting that finds the paper's {DROPS} drops and {GAINS} gains in its own numbers. “All” asks it of
every metric, “seeds” says in how many trainings it was seen."""
_TABLE_3_LEGEND = """SentLen accuracy in per cent, [95% interval over test sentences], mean over classifiers
of several seeds and, where there are several, over networks. A constant answer has {:.2f}."""


def main(
    results: Annotated[Path, Option(help="Folder of the records.")] = Path("results/length_bias"),
    out: Annotated[Path | None, Option(help="Folder for the report; default: the records' own.")] = None,
    force: Force = False,
) -> None:
    """Set the paper's tables and figures beside our runs; what is not recorded is named as missing.

    From cells/, audit.NAME.json and probing.json: report.md, report.json, figure1.png and figure2.png.
    """
    if not results.is_dir():
        raise DataError(f"{results}: no such folder; studies.length_bias.table2 makes it")
    folder = out or results
    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / "report.md", folder / "report.json"
    check_outputs(page, numbers, folder / "figure1.png", folder / "figure2.png", force=force)
    runs, probing = Runs.load(results / "cells"), results / "probing.json"
    found = summary(runs, read_json(probing) if probing.is_file() else None)
    audits = {
        title: [Category(c["category"], c["positive"], c["negative"]) for c in read_json(path)["categories"]]
        for name, title in DATA.items()
        if (path := results / f"audit.{name}.json").is_file()
    }
    notes, rates = [], tpr_panels(runs)
    if audits:
        category_plot.draw(audits, folder / "figure1.png")
        notes.append("Figure 1, the training sets: ![positives, negatives and their ratio](figure1.png)")
    if rates:
        figure2.draw(rates, folder / "figure2.png")
        notes.append("Figure 2, adversarial test sets: ![true positive rates](figure2.png)")
    write_json(numbers, found)
    write_text(page, markdown(found, notes))
    print(  # noqa: T201
        f"{page}: {len(runs)} runs ({len(found['missing'])} of 32 missing), {len(audits)} of {len(DATA)} "
        f"audits, {'no probing' if found['table_3'] is None else 'probing'}"
    )


def summary(runs: Runs, probing: Json | None) -> Json:
    """Everything the report says, as numbers, in per cent where they are rates; None where a run is missing.

    Args:
        runs: the recorded trainings.
        probing: what `studies.length_bias.probe` recorded.
    """
    printed_drops, printed_gains = printed_directions()
    return {
        "table_2": [
            _row(runs, data, metric, arch, prefix)
            for (data, metric), by_arch in TABLE_2.items()
            for prefix in PREFIXES
            if data in PREFIXES[prefix]
            for arch in by_arch
        ],
        "drops": [one for printed in printed_drops for one in _directions(runs.drop, printed)],
        "gains": [one for printed in printed_gains for one in _directions(runs.gain, printed)],
        "trainings": [_training(runs, d, a, t) for d in DATA for a in ARCHITECTURES for t in TRAIN_SETS],
        "table_3": None if probing is None else _probes(probing),
        "probing": None if probing is None else {k: v for k, v in probing.items() if k != "rows"},
        "bert_tiny_starts_from": _starts(runs),
        "missing": runs.missing(),
    }


def tpr_panels(runs: Runs) -> dict[str, dict[str, list[list[Point]]]]:
    """What `figure2.draw` takes, for the pairwise sets: rates on the adversarial test, means over seeds."""
    panels = {}
    for data in ("qqp", "twitter_url"):
        lines = {
            title: [_mean_rates(found) for t in TRAIN_SETS if (found := runs.of(data, arch, t))]
            for arch, title in ARCHITECTURES.items()
            if runs.of(data, arch, "original")
        }
        if lines:
            panels[DATA[data]] = lines
    return panels


def markdown(found: Json, notes: Sequence[str] = ()) -> str:
    """The text of a `summary`; `notes` are paragraphs before the tables."""
    parts = ["# Length-divergence bias: ours beside the paper's numbers", *notes]
    if found["missing"]:
        parts.append(f"**Runs missing ({len(found['missing'])} of 32):** {', '.join(found['missing'])}.")
    starts = "; ".join(found["bert_tiny_starts_from"]) or "not recorded"
    parts += [
        f"† The published weights of BERT_TINY come in no package; ours start from: {starts}.",
        "## Table 2",
        _TABLE_2_LEGEND,
        _set_table_2(found["table_2"]),
        "## Directions",
        _DIRECTIONS_LEGEND,
        _set_directions(found["drops"], found["gains"]),
        _verdict("drop on the adversarial test set", found["drops"], DROPS)
        + "\n"
        + _verdict("gain from adversarial training", found["gains"], GAINS),
        "## Trainings",
        _set_trainings(found["trainings"]),
        "## Table 3",
    ]
    if found["table_3"] is None:
        parts.append("No probing recorded; `studies.length_bias.probe` leaves probing.json.")
    else:
        parts += [
            _TABLE_3_LEGEND.format(100 * found["probing"]["majority"]),
            _set_table_3(found["table_3"]),
            _orderings(found["table_3"]),
        ]
    return "\n\n".join(parts) + "\n"


def _row(runs: Runs, data: str, metric: str, arch: str, prefix: str) -> Json:
    ours = {
        train_set: {
            test: _figure_json(runs.figure(data, arch, train_set, prefix + test, metric)) for test in TESTS
        }
        for train_set in TRAIN_SETS
    }
    key = {"data": data, "prefix": prefix, "metric": metric, "arch": arch}
    return key | {"ours": ours, "paper": TABLE_2[data, metric][arch]._asdict()}


def _figure_json(figure: Figure | None) -> Json | None:
    return None if figure is None else figure._asdict()


def _directions(ours_of: Callable[[str, str, str], Direction | None], printed: Direction) -> Iterable[Json]:
    """A combination on each test of its data set, ours and the paper's."""
    for prefix, data in PREFIXES.items():
        if printed.data in data:
            yield _direction(ours_of(printed.data, printed.arch, prefix), printed, prefix)


def _direction(ours: Direction | None, printed: Direction, prefix: str) -> Json:
    return {"data": printed.data, "prefix": prefix, "arch": printed.arch} | {
        name: None
        if one is None
        else {
            "points": dict(one.points),
            "holds": one.holds,
            "holds_in_all": one.holds_in_all,
            "seeds": one.seeds,
            "seeds_agreeing": one.agreeing,
        }
        for name, one in (("ours", ours), ("paper", printed))
    }


def _training(runs: Runs, data: str, arch: str, train_set: str) -> Json:
    found = runs.of(data, arch, train_set)
    figures = {
        name: [record.get(name) for record in found]
        for name in ("seed", "train_pairs", "epochs_run", "seconds", "trainable_parameters")
    }
    return {"data": data, "arch": arch, "train_set": train_set} | figures


def _probes(probing: Json) -> list[Json]:
    """Rows of Table 3 in the paper's order, then those of models it does not have."""
    rows: dict[tuple[str, str], Json] = {}
    for key, printed in TABLE_3.items():
        paper = {"untrained": printed.untrained, "trained": printed.trained}
        rows[key] = {"title": printed.title, "paper": paper}
    networks: dict[tuple[str, str, str, str | None], list[list[float]]] = {}
    for found in probing["rows"]:
        key = found["arch"], found["representation"]
        rows.setdefault(key, {"title": f"{found['arch']}, {found['representation']}", "paper": None})
        accuracy = [100 * value for value in (found["accuracy"], *found["interval"])]
        networks.setdefault((*key, found["state"], found["data"]), []).append(accuracy)
    for (arch, what, state, data), accuracies in networks.items():
        mean = [sum(values) / len(values) for values in zip(*accuracies, strict=True)]
        # A network before training is one and the same for every data set.
        for name in DATA if data is None else [data]:
            rows[arch, what].setdefault(state, {})[name] = mean
    return [{"arch": arch, "representation": what} | row for (arch, what), row in rows.items()]


def _mean_rates(records: Sequence[Json]) -> list[Point]:
    rates = [record["tests"]["adversarial"]["tpr"] for record in records]
    points = []
    for of_category in zip(*rates, strict=True):
        if any(rate["value"] is None for rate in of_category):
            continue  # a category without positives has no rate
        means = [sum(rate[k] for rate in of_category) / len(rates) for k in ("value", "low", "high")]
        points.append(Point(int(str(of_category[0]["category"]).removeprefix("CAT")), *means))
    return points


def _set_table_2(rows: Sequence[Json]) -> str:
    head = ["data", "metric", "model", "original test", "paper", "adversarial test", "paper"]
    head += ["gain, original test", "paper", "gain, adversarial test", "paper"]
    lines = []
    for row in rows:
        line = [_data(row), METRICS[row["data"]][row["metric"]], _model(row["arch"])]
        for test in TESTS:
            line += [_set_figure(row["ours"]["original"][test]), f"{row['paper'][test]:.2f}"]
        for test in TESTS:
            before, after = (row["ours"][train_set][test] for train_set in TRAIN_SETS)
            gain = NONE if before is None or after is None else f"{after['mean'] - before['mean']:+.2f}"
            line += [gain, f"{row['paper'][f'{test}_gain']:+.2f}"]
        lines.append(line)
    return table(head, lines)


def _set_directions(drops: Sequence[Json], gains: Sequence[Json]) -> str:
    head = ["data", "model", "drop", "holds", "all", "seeds", "paper's drop"]
    head += ["gain", "holds", "all", "seeds", "paper's gain"]
    lines = []
    for drop, gain in zip(drops, gains, strict=True):
        line = [_data(drop), _model(drop["arch"])]
        for kind in (drop, gain):
            ours, names = kind["ours"], METRICS[kind["data"]]
            if ours is None:
                line += [NONE] * 4
            else:
                line += [
                    _set_points(ours["points"], names),
                    yes_no(ours["holds"]),
                    yes_no(ours["holds_in_all"]),
                ]
                line.append(f"{ours['seeds_agreeing']} of {ours['seeds']}")
            line.append(_set_points(kind["paper"]["points"], names))
        lines.append(line)
    return table(head, lines)


def _verdict(what: str, directions: Sequence[Json], printed: int) -> str:
    """How many of the 16 combinations hold; beside them how many of TrecQA's four on its clean dev set."""
    by_test = {
        prefix: [d["ours"] for d in directions if d["prefix"] == prefix and d["ours"] is not None]
        for prefix in PREFIXES
    }
    known = by_test[""]
    holds, in_all = (sum(ours[name] for ours in known) for name in ("holds", "holds_in_all"))
    recorded = "" if len(known) == COMBINATIONS else f" ({len(known)} recorded)"
    on_dev = [ours["holds"] for ours in by_test["clean_dev_"]]
    return (
        f"- **{holds} of {COMBINATIONS}** combinations{recorded} show the {what}, {in_all} of them in every "
        f"metric; paper {printed}. On TrecQA's clean dev set: {sum(on_dev)} of {len(on_dev)}."
    )


def _set_trainings(rows: Sequence[Json]) -> str:
    head = ["data", "model", "training set", "seeds", "pairs", "epochs", "minutes", "parameters", "paper's"]
    lines = [
        [
            *(DATA[row["data"]], _model(row["arch"]), row["train_set"], f"{len(row['seed'])}"),
            *(_span(row[name]) for name in ("train_pairs", "epochs_run")),
            _span(seconds / 60 for seconds in row["seconds"]),
            _span(row["trainable_parameters"]),
            f"{PARAMETERS[row['arch']]:,}",
        ]
        for row in rows
        if row["seed"]
    ]
    return table(head, lines) if lines else "None recorded."


def _set_table_3(rows: Sequence[Json]) -> str:
    head = ["model", "state", *(cell for title in DATA.values() for cell in (title, "paper"))]
    lines = []
    for row in rows:
        for state in ("untrained", "trained"):
            ours = row.get(state, {})
            line = [row["title"] + (_MARK if row["arch"] == "bert-tiny" else ""), state]
            for data in DATA:
                mean, *ends = ours.get(data, (None,))
                line.append(with_interval(mean, ends or None, 2))
                line.append(f"{row['paper'][state][data]:.2f}" if row["paper"] else NONE)
            if ours:
                lines.append(line)
    return table(head, lines)


def _orderings(rows: Sequence[Json]) -> str:
    """What Table 3 is cited for, counted on our numbers."""
    by_key = {(row["arch"], row["representation"]): row for row in rows}
    lines = []
    for arch in ("bimpm", "esim"):
        row = by_key[arch, "bilstm_max"]
        before, after = row.get("untrained", {}), row.get("trained", {})
        gains = [after[data][0] - before[data][0] for data in DATA if data in before and data in after]
        lines.append(_count_line(f"{ARCHITECTURES[arch]}: trained above untrained", gains))
    for arch, what in by_key:
        if what != "embeddings" or (arch, "cls") not in by_key:
            continue
        for state in ("untrained", "trained"):
            mean, first = (by_key[arch, kind].get(state, {}) for kind in ("embeddings", "cls"))
            gains = [mean[data][0] - first[data][0] for data in DATA if data in mean and data in first]
            lines.append(_count_line(f"{arch}, {state}: embeddings above [CLS]", gains))
    return "\n".join(lines)


def _count_line(what: str, differences: Sequence[float]) -> str:
    if not differences:
        return f"- {what}: not recorded."
    return (
        f"- {what}: {sum(d > 0 for d in differences)} of {len(differences)} "
        f"({min(differences):+.1f} to {max(differences):+.1f} points)."
    )


def _starts(runs: Runs) -> list[str]:
    """What the records say about the weights that BERT_TINY started from, each once."""
    records = (r for d in DATA for t in TRAIN_SETS for r in runs.of(d, "bert-tiny", t))
    return list(dict.fromkeys(str(record.get("init")) for record in records))


def _model(arch: str) -> str:
    return ARCHITECTURES[arch] + (_MARK if arch == "bert-tiny" else "")


def _data(row: Json) -> str:
    return DATA[row["data"]] + (" clean dev" if row["prefix"] else "")


def _set_figure(figure: Json | None) -> str:
    if figure is None:
        return NONE
    seeds = figure["seeds"]
    several = f"; {len(seeds)} seeds {min(seeds):.2f}–{max(seeds):.2f}" if len(seeds) > 1 else ""
    return with_interval(figure["mean"], (figure["low"], figure["high"]), 2) + several


def _set_points(points: dict[str, float], names: dict[str, str]) -> str:
    return ", ".join(f"{names[metric]} {value:+.2f}" for metric, value in points.items())


def _span(values: Iterable[float]) -> str:
    """One number, or the smallest and the largest of several."""
    shown = [f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" for value in sorted(values)]
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]}–{shown[-1]}"


if __name__ == "__main__":
    run(main)
