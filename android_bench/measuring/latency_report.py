"""Bench records as files: JSON with every sample, a Markdown page, a PNG of the samples."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from android_bench.measuring.latency import BenchError
from android_bench.measuring.latency_record import Record
from mobilebert_runtime.files import replacing

COLUMNS = (
    "",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "init ms",
    "first ms",
    "warm-up runs",
    "peak MiB",
    "model MB",
    "× first",
)
FACT_COLUMNS = ("", "runtime", "quantisation", "tokens", "operators", "in XNNPACK", "MMAC")


def write_bench(record: Record, stem: Path, *, force: bool = False) -> list[Path]:
    """Write stem.json, stem.md and stem.png; `BenchError` if one exists and `force` is not given."""
    return write_files(
        stem, record.to_json(), bench_markdown(record), lambda path: plot(record, path), force=force
    )


def write_files(
    stem: Path, data: dict[str, Any], page: str, draw: Callable[[Path], None], *, force: bool
) -> list[Path]:
    """Write STEM.json, STEM.md and STEM.png, each under a temporary name first; the JSON last.

    Raises:
        BenchError: one of them exists and `force` is not given.
    """
    check_free(stem, force=force)
    json_path, page_path, picture = _paths(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    # Lists of numbers on one line each: a record has thousands.
    text = re.sub(r"\[[-\d.,\s]+\]", lambda found: re.sub(r"\s+", " ", found[0]), json.dumps(data, indent=1))
    with replacing(picture, force=True) as partial:
        draw(partial)
    for path, content in ((page_path, page), (json_path, text + "\n")):
        with replacing(path, force=True) as partial:
            partial.write_text(content, encoding="utf-8")
    return [json_path, page_path, picture]


def check_free(stem: Path, *, force: bool) -> None:
    """Refuse, before anything is measured, to replace files of an earlier run."""
    taken = [path for path in _paths(stem) if path.exists()]
    if taken and not force:
        raise BenchError(f"{taken[0]} exists; choose another --out or give --force")


def bench_rows(record: Record) -> list[tuple[str, ...]]:
    """A row of text per candidate, in the order of `COLUMNS`."""
    rows = []
    first = record.comparison.names[0]
    for name in record.comparison.names:
        found = record.comparison.summary(name)
        times = [f"{found[key]:.2f}" for key in ("p50_ms", "p90_ms", "p99_ms", "init_ms", "first_ms")]
        peak = f"{found['peak_mib']:.0f}" if found["peak_mib"] else "not told"  # a browser tells none
        memory = f"{found['warmup_runs']:.0f}", peak
        size = f"{record.facts[name]['bytes'] / 1e6:.1f}"
        rows.append((name, *times, *memory, size, f"{record.comparison.ratio(first, name):.3f}"))
    return rows


def made_at(commit: str | None, date: str) -> str:
    """The commit that was measured, where the program runs from a checkout, and the date."""
    return f"Commit {commit}, {date}" if commit else f"Measured {date}"


def bench_markdown(record: Record) -> str:
    """A page for people: the table, the model files' facts, the machine, what disturbed the run."""
    run, settings = record.comparison, record.comparison.settings
    machine = run.machine
    runtimes = {one.candidate: one.runtime for one in run.sessions}
    threads = sorted({candidate.threads for candidate in run.candidates})
    how = (
        f"{settings['sessions']} interleaved sessions of {settings['seconds']:g} s, a process each, "
        f"{'/'.join(map(str, threads))} thread(s), {settings['mode']} inputs. "
        f"{made_at(record.commit, record.date)}."
    )
    legend = (
        "p50, p90 and p99 over all steady inferences; init and first are medians over sessions; × first is "
        "the ratio of session medians (Hodges–Lehmann); peak is a whole process with Python and numpy."
    )
    where = (
        f"Machine {machine['id']}: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['architecture']}, {machine['system']} {machine['kernel']}; {' '.join(machine['flags'])}"
        f"{'; hidden: ' + ' '.join(hidden) if (hidden := machine.get('hidden_flags')) else ''}."
    )
    lines = ["# Latency", "", how, "", *table(COLUMNS, bench_rows(record)), legend, ""]
    lines += table(FACT_COLUMNS, _fact_rows(record, runtimes))
    return "\n".join(
        [*lines, where, "", *_trouble_lines(record), *_profile_lines(record), *_kernel_lines(record)]
    )


def plot(record: Record, path: Path) -> None:
    """Raw steady samples in the order they were taken, and their distribution."""
    plt = pyplot()
    figure, (order, shares) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(2, 1), layout="constrained")
    colours = {name: f"C{number}" for number, name in enumerate(record.comparison.names)}
    offset = 0
    for session in record.comparison.sessions:
        count = len(session.steady_ms)
        colour = colours[session.candidate]
        order.plot(range(offset, offset + count), session.steady_ms, ".", ms=2, alpha=0.5, color=colour)
        order.hlines(session.median_ms, offset, offset + count, color=colour, lw=2)
        offset += count
    for name, colour in colours.items():
        samples = np.sort(np.concatenate([session.steady_ms for session in record.comparison.of(name)]))
        shares.plot(samples, np.linspace(0, 100, len(samples)), color=colour, label=name)
    samples = np.concatenate([session.steady_ms for session in record.comparison.sessions])
    low, high = np.percentile(samples, (0.5, 99)) * (0.9, 1.1)
    order.set(
        xlabel="inference, in order",
        ylabel="ms",
        ylim=(low, high),
        title="steady inferences, session medians",
    )
    shares.set(xlabel="ms", ylabel="% of inferences at most", xlim=(low, high), title="distribution")
    shares.legend()
    figure.savefig(path, dpi=110, format="png")
    plt.close(figure)


def _fact_rows(record: Record, runtimes: dict[str, str]) -> Iterable[tuple[str, ...]]:
    for name, facts in record.facts.items():
        delegated, macs = facts["xnnpack"], facts["macs"]
        share = f"{delegated['delegated_operators']} of {delegated['all_operators']}" if delegated else "–"
        work = f"{macs / 1e6:,.0f}" if macs else "–"
        count = str(facts["operator_count"] or "–")
        yield name, runtimes[name], facts["quant"], str(facts["seq_len"]), count, share, work


def _trouble_lines(record: Record) -> list[str]:
    troubles = record.comparison.troubles()
    if not troubles:
        return ["The machine was quiet in every session.", ""]
    lines = [
        f"The machine was troubled in {len(troubles)} of {len(record.comparison.sessions)} sessions:",
        "",
    ]
    lines += [f"- session {number}: {'; '.join(reasons)}" for number, reasons in troubles.items()]
    return [*lines, ""]


def _profile_lines(record: Record) -> list[str]:
    """Time by operator kind, for candidates that were profiled."""
    lines: list[str] = []
    for name, facts in record.facts.items():
        if not (found := facts.get("profile")):
            continue
        rows = [
            (
                row["kind"] + (", in XNNPACK" if row["delegated"] else ""),
                str(row["count"]),
                f"{row['ms']:.3f}",
                f"{row['share']:.1%}",
            )
            for row in found["rows"][:12]
        ]
        operators = sum(row["ms"] for row in found["rows"])
        what = (
            f"{name}: {found['runtime']}'s own profile, {found['threads']} thread(s), medians. "
            f"Operators take {operators:.2f} ms of {found['profiled_ms']:.2f}; without the profiler an "
            f"inference takes {found['plain_ms']:.2f} ms."
        )
        lines += [
            what,
            "",
            *table(("operator, as the runtime calls it", "count", "ms", "share"), rows),
        ]
    return lines


def _kernel_lines(record: Record) -> list[str]:
    """Instructions by kernel, for artefacts whose instructions were counted."""
    lines: list[str] = []
    for name, facts in record.facts.items():
        counts = {"": facts["instructions"]} if "instructions" in facts else {}
        counts |= {f" on {emulated}": one for emulated, one in facts.get("arm_instructions", {}).items()}
        for where, counted in counts.items():
            total = counted["inference"]
            rows = [(kernel, f"{n:,}", f"{n / total:.1%}") for kernel, n in counted["kernels"].items()]
            lines += [f"{name}{where}: {total:,} instructions an inference, by kernel:", ""]
            lines += table(("kernel", "instructions", "share"), rows[:10])
    return lines


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Markdown lines of a table, and an empty one."""
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return [lines[0], f"|{'---|' * len(header)}", *lines[1:], ""]


def _paths(stem: Path) -> tuple[Path, Path, Path]:
    json_path, page, picture = (stem.with_name(f"{stem.name}{suffix}") for suffix in (".json", ".md", ".png"))
    return json_path, page, picture


def pyplot() -> Any:
    """Matplotlib for files: it opens no window."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot
