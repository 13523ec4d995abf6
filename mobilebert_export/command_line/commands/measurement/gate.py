"""`mobilebert gate`: is the candidate slower than the base?"""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import OptionError


def gate(
    artefacts: Annotated[
        list[str],
        opt.NAMED_PATH,
        Argument(help="BASE and CANDIDATE: two folders, or two of RUN.json#NAME; one for --self-test."),
    ],
    threads: opt.Threads = 1,
    sessions: opt.Sessions = 7,
    seconds: opt.Seconds = 2.0,
    instructions: Annotated[
        bool, Option("--instructions", help="Judge the instructions of an inference too (minutes).")
    ] = False,
    arch: Annotated[str, opt.ARCHITECTURES, Option(help=opt.ARCHITECTURES_HELP)] = "here",
    pairs: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="File of text pairs to run; default: built-in ones.")
    ] = None,
    slower: Annotated[float, opt.SHARE, Option(help="Slowdown allowed, as a share.")] = 0.03,
    larger: Annotated[float, opt.SHARE, Option(help="Growth of the model file allowed, as a share.")] = 0.02,
    retries: opt.Retries = 2,
    self_test: Annotated[
        bool, Option("--self-test", help="Check the gate here: the artefact against itself, then slowed.")
    ] = False,
    rounds: Annotated[
        int, opt.Number(1, 1000), Option(help="Self-test: runs of the artefact against itself.")
    ] = 5,
    slowdown: Annotated[
        float, opt.RATE, Option(help="Self-test: slowdown to inject, as a share of each inference.")
    ] = 0.08,
    out: Annotated[Path | None, opt.BENCH_FILES, Option(help="Write OUT.json, OUT.md and OUT.png.")] = None,
    force: opt.Force = False,
) -> None:
    """Compare two artefacts; exit 0 only when a slowdown of 8% is ruled out.

    Measured are a pass over inputs of many lengths, each in its bucket, the first answer after loading, and
    peak memory. Red: slower by more than --slower with p < 0.01 over session medians, a first answer 15%
    later, or more memory, bytes, work or instructions. A troubled or different machine, too few sessions and
    figures that are missing are inconclusive: exit 1 as well.
    """
    from android_bench.gate import verdict as rules
    from android_bench.gate.gate_report import gate_markdown, self_test_markdown, write_gate, write_self_test
    from android_bench.measuring.latency import BenchError
    from android_bench.measuring.latency_report import check_free
    from android_bench.measuring.progress import session_progress
    from android_bench.measuring.sample_pairs import PAIRS
    from mobilebert_export import library
    from mobilebert_export.terminal import Terminal, markdown
    from mobilebert_matching.data.pairs import read_text_pairs

    if len(artefacts) != (1 if self_test else 2):
        raise BenchError(f"{len(artefacts)} artefacts; give BASE and CANDIDATE, or one with --self-test")
    counted = opt.counted_architecture(instructions, arch)
    recorded = not self_test and all(".json" in name and not Path(name).is_dir() for name in artefacts)
    if pairs and (self_test or recorded):
        raise OptionError("--pairs: are what two artefacts are measured with; records hold what was measured")
    limits = rules.Limits(slower, larger)
    if out:
        check_free(out, force=force)
    console = Terminal()
    console.width = max(console.width, 110)  # a narrower terminal wraps the lines, but no figure is cut
    if self_test:
        with session_progress() as begin:
            tested = rules.self_test(
                Path(artefacts[0]),
                rounds=rounds,
                slowdown=slowdown,
                threads=threads,
                sessions=sessions,
                seconds=seconds,
                retries=retries,
                progress=begin,
            )
        if out:
            write_self_test(tested, out, force=force)
        console.print(markdown(self_test_markdown(tested)))
        if not tested["as_expected"]:
            raise rules.GateError("the gate's self-test did not go as expected; see the runs above")
        return
    with nullcontext() if recorded else session_progress() as begin:
        found = library.gate(
            *artefacts,
            threads=threads,
            sessions=sessions,
            seconds=seconds,
            retries=retries,
            instructions=counted,
            inputs=read_text_pairs(pairs) if pairs else PAIRS,
            limits=limits,
            progress=begin and begin("sessions"),
        )
    if out:
        write_gate(found.record, found.verdict, out, force=force)
    console.print(markdown(gate_markdown(found.verdict)))
    found.verdict.require_pass()
