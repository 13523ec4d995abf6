"""`mobilebert bench`: interleaved latency of artefacts; all records as a page."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def bench(
    artefacts: Annotated[list[str], Argument(help="Artefact folders; or: history [FOLDER OF RECORDS].")],
    threads: Annotated[int, Option(help="Threads of the runtime.")] = 1,
    seq_len: Annotated[int | None, Option(help="Refuse artefacts of another sequence length.")] = None,
    sessions: Annotated[int, Option(help="Interleaved sessions per artefact, a process each.")] = 7,
    seconds: Annotated[float, Option(help="Steady measurement per session, after warm-up.")] = 2.0,
    pairs: Annotated[Path | None, Option(help="TSV of text pairs to run; default: built-in ones.")] = None,
    mode: Annotated[
        str, Option(help="padded: the network alone; text: a whole call from strings.")
    ] = "padded",
    python: Annotated[
        list[str] | None, Option(help="Measure in this other environment's Python too; may be repeated.")
    ] = None,
    instructions: Annotated[
        bool, Option("--instructions", help="Count instructions by kernel under valgrind (minutes).")
    ] = False,
    profile: Annotated[
        bool, Option("--profile", help="Add each runtime's own profile: time by kind of operator.")
    ] = False,
    retries: Annotated[int, Option(help="Repeat a session this often while the machine is troubled.")] = 2,
    out: Annotated[
        Path | None, Option(help="Write OUT.json, OUT.md, OUT.png; for history, the page.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Measure artefacts in one interleaved run: load, first, warm-up, steady, memory.

    `mobilebert bench history results/bench --out history.html` draws every recorded run over commits.
    """
    if artefacts[0] == "history" and not Path("history").is_dir():
        from android_bench.history import write_history

        folder = Path(artefacts[1] if len(artefacts) > 1 else "results/bench")
        write_history(folder, out or folder / "history.html", force=force)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from android_bench.latency import measure, name_candidates
    from android_bench.latency_record import Record
    from android_bench.latency_report import bench_markdown, check_free, write_bench
    from android_bench.progress import session_progress
    from android_bench.sample_pairs import PAIRS
    from matching.data.pairs import read_pairs

    if out:
        check_free(out, force=force)
    texts = read_pairs(pairs) if pairs else None
    candidates = name_candidates(artefacts, threads, seq_len=seq_len, pythons=python or ())
    with session_progress() as begin:
        run = measure(
            candidates,
            sessions=sessions,
            seconds=seconds,
            inputs=list(zip(texts.text_a, texts.text_b, strict=True)) if texts else PAIRS,
            mode=mode,
            retries=retries,
            progress=begin("sessions"),
        )
    record = Record.of(run, instructions=instructions, profiled=profile)
    if out:
        write_bench(record, out, force=force)
    console = Console()
    console.width = max(console.width, 110)  # a narrower terminal wraps the lines, but no figure is cut
    console.print(Markdown(bench_markdown(record)))
