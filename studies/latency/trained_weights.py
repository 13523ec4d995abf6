"""Does time depend on the weights' values? A trained network beside the same one with random weights.

    python -m studies.latency.trained_weights runs/tiny/model --out results/bench/trained-weights

The latency tables of the papers are measured with random weights (`studies.latency.paper_models`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from rich.markdown import Markdown
from typer import Argument, BadParameter, Option

from android_bench.measuring.latency import Comparison, measure, name_candidates
from android_bench.measuring.latency_record import Record
from android_bench.measuring.latency_report import bench_markdown, check_free, plot, write_files
from android_bench.measuring.progress import session_progress
from mobilebert_export.console import progress_console
from mobilebert_models import EncoderConfig, load_pretrained
from mobilebert_models.networks.heads import PairClassifier
from studies.common.markdown import table, with_interval
from studies.common.script import Force, console, run
from studies.latency.paper_models import export_network, random_network
from studies.latency.paper_tables import QUANTS, SEQ_LEN, time_ratio

TRAINED, RANDOM = "trained", "random"


def main(
    model: Annotated[Path, Argument(help="Directory of a trained pair classifier.")],
    out: Annotated[Path, Option(help="Writes OUT.json, OUT.md and OUT.png.")],
    threads: Annotated[int, Option(help="Threads of the runtime.")] = 1,
    sessions: Annotated[int, Option(help="Interleaved sessions per network, a process each.")] = 7,
    seconds: Annotated[float, Option(help="Steady measurement per session, after warm-up.")] = 2.0,
    retries: Annotated[int, Option(help="Repeat a session this often while the machine is troubled.")] = 2,
    cache: Annotated[Path, Option(help="Where the networks are, or are made.")] = Path("artefacts/weights"),
    force: Force = False,
) -> None:
    """Export both networks, measure them in one interleaved run, and say the ratio."""
    check_free(out, force=force)
    trained = load_pretrained(model)
    if not isinstance(trained, PairClassifier):
        raise BadParameter(f"{model}: not a pair classifier", param_hint="MODEL")
    random, terminal = partial(random_network, trained.config), progress_console()
    folders = [
        *export_network(random, RANDOM, cache, terminal),
        *export_network(lambda: trained, TRAINED, cache, terminal),
    ]
    candidates = name_candidates([str(folder) for folder in folders], threads)
    with session_progress() as begin:
        measured = measure(
            candidates, sessions=sessions, seconds=seconds, retries=retries, progress=begin("sessions")
        )
    record, rows = Record.of(measured), ratios(measured)
    write_files(
        out,
        record.to_json() | {"trained_over_random": rows},
        "\n\n".join(
            ["# Trained weights beside random ones", markdown(rows, trained.config), bench_markdown(record)]
        ),
        lambda path: plot(record, path),
        force=force,
    )
    console().print(Markdown(markdown(rows, trained.config)))


def ratios(measured: Comparison) -> dict[str, Any]:
    """By quantisation: the trained network's time over the random one's, as `time_ratio` gives it."""
    return {quant: time_ratio(measured, f"{RANDOM}-{quant}", f"{TRAINED}-{quant}") for quant in QUANTS}


def markdown(rows: dict[str, Any], config: EncoderConfig) -> str:
    """The network and a line a quantisation."""
    lines = [
        [quant, with_interval(row["ratio"], row["interval"], 3), f"{row['median_ms']:.1f}"]
        for quant, row in rows.items()
    ]
    about = f"{config.model_type}, {config.num_hidden_layers} layers, {SEQ_LEN} tokens, batch 1."
    return f"{about}\n\n{table(['quantisation', 'trained / random', 'trained, ms'], lines)}"


if __name__ == "__main__":
    run(main)
