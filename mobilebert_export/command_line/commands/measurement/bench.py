"""`mobilebert bench`: interleaved latency of artefacts; all records as a page."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import OptionError


def bench(
    artefacts: Annotated[
        list[str],
        opt.NAMED_PATH,
        Argument(help="Artefact folders; or: history [FOLDER OF RECORDS]; or: import RESULT.json ARTEFACT."),
    ],
    threads: opt.Threads = 1,
    seq_len: Annotated[
        int | None, opt.TOKENS, Option(help="Refuse artefacts of another sequence length.")
    ] = None,
    sessions: opt.Sessions = 7,
    seconds: opt.Seconds = 2.0,
    pairs: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="TSV of text pairs to run; default: built-in ones.")
    ] = None,
    mode: Annotated[
        str,
        opt.BENCH_MODES,
        Option(help="padded: the network, inputs at full length; mix: at many lengths; text: from strings."),
    ] = "padded",
    python: Annotated[
        list[str] | None, Option(help="Measure in this other environment's Python too; may be repeated.")
    ] = None,
    instructions: Annotated[
        bool, Option("--instructions", help="Count instructions by kernel (minutes).")
    ] = False,
    arch: Annotated[str, opt.ARCHITECTURES, Option(help=opt.ARCHITECTURES_HELP)] = "here",
    profile: Annotated[
        bool, Option("--profile", help="Add each runtime's own profile: time by kind of operator.")
    ] = False,
    retries: opt.Retries = 2,
    out: Annotated[
        Path | None, opt.BENCH_FILES, Option(help="Write OUT.json, OUT.md, OUT.png; for history, the page.")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Measure artefacts in one interleaved run: load, first, warm-up, steady, memory.

    `mobilebert bench history results/bench --out history.html` draws every recorded run over commits.
    `mobilebert bench import result.json artefacts/matcher-int8 --out results/bench/farm` makes a record of
    what the app measured, wherever it ran, or the page of `mobilebert web` in a browser.
    """
    if artefacts[0] == "history" and not Path("history").is_dir():
        from android_bench.gate.history import write_history

        if len(artefacts) > 2:
            raise OptionError(f"history: {artefacts[2]}: give one folder of records")
        folder = Path(artefacts[1] if len(artefacts) > 1 else "results/bench")
        write_history(folder, out or folder / "history.html", force=force)
        return
    if artefacts[0] == "import" and not Path("import").is_dir():
        _import(artefacts[1:], out, force=force)
        return

    from android_bench.measuring.latency import measure, name_candidates
    from android_bench.measuring.latency_record import Record, check_architecture
    from android_bench.measuring.latency_report import bench_markdown, write_bench
    from android_bench.measuring.progress import session_progress
    from android_bench.measuring.sample_pairs import PAIRS
    from mobilebert_export.terminal import Terminal, markdown
    from mobilebert_matching.data.pairs import read_text_pairs

    counted = opt.counted_architecture(instructions, arch)
    texts = read_text_pairs(pairs) if pairs else PAIRS
    candidates = name_candidates(artefacts, threads, seq_len=seq_len, pythons=python or ())
    if counted:
        check_architecture(counted, [one.folder for one in candidates])
    with session_progress() as begin:
        run = measure(
            candidates,
            sessions=sessions,
            seconds=seconds,
            inputs=texts,
            mode=mode,
            retries=retries,
            progress=begin("sessions"),
        )
    record = Record.of(run, instructions=counted, profiled=profile)
    if out:
        write_bench(record, out, force=force)
    console = Terminal()
    console.width = max(console.width, 110)  # a narrower terminal wraps the lines, but no figure is cut
    console.print(markdown(bench_markdown(record)))


def _import(given: list[str], out: Path | None, *, force: bool) -> None:
    """Read what the app or the page measured, and write it as a record."""
    if len(given) != 2 or out is None:
        raise OptionError(
            "`bench import` needs the JSON of the app or the page, the artefact's folder, and --out"
        )
    from android_bench.measuring.latency_report import check_free, write_bench
    from android_bench.phone.app_result import import_result
    from android_bench.phone.web_result import import_web_result, is_web_result

    check_free(out, force=force)
    result, artefact = Path(given[0]), Path(given[1])
    read = import_web_result if is_web_result(result) else import_result
    for path in write_bench(read(result, artefact), out, force=force):
        sys.stdout.write(f"{path}\n")
