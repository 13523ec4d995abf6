"""`mobilebert phone devices|bench|match|bundle`: measure and match on a phone over adb."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from android_bench.phone.phone_bench import Plan

Told = Callable[[str], None]
VERBS = {"devices": 0, "bench": 1, "match": 1, "bundle": 0}  # and how many arguments each needs


def phone(
    verb: Annotated[str, Argument(help="devices, bench, match or bundle.")],
    what: Annotated[
        list[str] | None,
        Argument(help="bench: artefact folders; match: artefact folder, two texts; bundle: tflite or onnx."),
    ] = None,
    serial: Annotated[
        str | None, Option(help="Serial number of the device; needed if several are connected.")
    ] = None,
    bundle: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="The runner; default: artefacts/runner-TARGET.tar, made by `phone bundle`."),
    ] = None,
    threads: opt.Threads = 4,
    cores: Annotated[str, Option(help="all, or fast: those above the slowest clock.")] = "all",
    sessions: opt.Sessions = 7,
    seconds: opt.Seconds = 5.0,
    sustained: Annotated[
        str | None,
        Option(help="Load the phone without pause for 90s, 10m or 1h and report every minute; needs --out."),
    ] = None,
    estimate: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="bench: also show the ratios expected on Arm cores; see docs/measure.md."),
    ] = None,
    mode: Annotated[
        str, opt.PHONE_MODES, Option(help="padded: the network alone; text: a call from strings.")
    ] = "padded",
    pairs: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="File of text pairs; default: built-in ones.")
    ] = None,
    out: Annotated[
        Path | None,
        opt.BENCH_FILES,
        Option(help="bench: write OUT.json, OUT.md, OUT.png; bundle: the .tar to make."),
    ] = None,
    force: opt.Force = False,
) -> None:
    """Measure and match on a phone over adb, without an app.

    devices lists what is plugged in; bundle makes the self-contained program for 64-bit Arm that bench and
    match put into the phone's /data/local/tmp; bench writes a record that `mobilebert gate` reads.
    """
    given = what or []
    if verb not in VERBS:
        raise OptionError(f"no verb {verb!r}; there is {', '.join(VERBS)}")
    if len(given) < VERBS[verb]:
        raise OptionError(f"`phone {verb}` needs an artefact folder")
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.pairs import read_text_pairs

    asked = read_text_pairs(pairs) if pairs else []
    progress = Terminal(stderr=True)
    if verb == "devices":
        _devices()
    elif verb == "bundle":
        _bundle(given[0] if given else "tflite", out, force=force)
    elif verb == "match":
        texts = given[1:]
        opt.check_texts(texts)
        if (len(texts) == 2) == (pairs is not None):
            raise OptionError(f"{len(texts)} texts; give two, or a file with --pairs")
        with progress.status("") as status:
            _match(
                Path(given[0]),
                asked or [(texts[0], texts[1])],
                serial,
                bundle,
                threads,
                status.update,
                as_json=bool(asked),
            )
    else:
        from android_bench.measuring.sample_pairs import PAIRS
        from android_bench.phone.phone_bench import Plan

        artefacts = tuple(map(Path, given))
        plan = Plan(artefacts, sessions, seconds, threads, cores, mode, tuple(asked or PAIRS))
        with progress.status("") as status:
            _bench(
                plan,
                serial,
                bundle,
                out,
                status.update,
                force=force,
                sustained=sustained,
                estimate=estimate,
            )


def _devices() -> None:
    from android_bench.phone.adb import NO_DEVICE, PhoneError, choose, list_phones
    from android_bench.phone.condition import THERMAL, Condition, PhoneFacts

    found = list_phones()
    if not found:
        raise PhoneError(NO_DEVICE)
    for serial, state in found:
        line = f"{serial}\t{state}"
        if state == "device":
            device = choose(serial)
            facts, now = PhoneFacts.of(device), Condition.of(device)
            heat = "unknown" if now.thermal is None else THERMAL[now.thermal]
            line += f"\t{facts.brand} {facts.model}\tAPI {facts.sdk}\t{','.join(facts.abis)}\tthermal {heat}"
            line += f"\tbattery {'unknown' if now.battery_percent is None else f'{now.battery_percent}%'}"
        sys.stdout.write(line + "\n")


def _bundle(target: str, out: Path | None, *, force: bool) -> None:
    from android_bench.runner.bundle import make
    from mobilebert_runtime.errors import ToolError

    path = out or _default_bundle(target)
    if path.suffix != ".tar":
        raise OptionError(f"--out {path}: give a name that ends in .tar")
    if path.exists() and not force:
        raise ToolError(f"{path} exists; choose another --out or give --force")
    made = make(target, path)
    sys.stdout.write(f"{path}\t{path.stat().st_size / 2**20:.0f} MiB\t{made.abi}\t{made.sha256[:16]}\n")


def _bench(
    plan: "Plan",
    serial: str | None,
    bundle: Path | None,
    out: Path | None,
    told: Told,
    *,
    force: bool,
    sustained: str | None,
    estimate: Path | None,
) -> None:

    from android_bench.measuring.latency_report import check_free
    from android_bench.phone import phone_bench as bench
    from android_bench.phone import phone_report as report
    from android_bench.phone.adb import choose
    from android_bench.phone.estimate import Estimate
    from android_bench.phone.sustained import forget, seconds_of, sustain
    from android_bench.runner.bundle import Bundle
    from mobilebert_export.terminal import Terminal, markdown
    from mobilebert_runtime.card import read_card

    if out:
        check_free(out, force=force)
    expected = Estimate.read(estimate) if estimate else None
    if expected:
        expected.require(read_card(folder).quant for folder in plan.artefacts)
    chosen = Bundle.read(bundle or _default_bundle(read_card(plan.artefacts[0]).target))
    if sustained is None:
        run = bench.bench(choose(serial), plan, chosen, told=told)
    elif out is None:
        raise OptionError("--sustained stores finished minutes next to the result; give --out")
    else:
        total = seconds_of(sustained)
        run = sustain(choose(serial), plan, chosen, total, out, told=told)
    if out:
        report.write(run, out, expected)
        forget(out)
    console = Terminal()
    console.width = max(console.width, 110)
    console.print(markdown(report.markdown(run, expected)))


def _match(
    artefact: Path,
    asked: list[tuple[str, str]],
    serial: str | None,
    bundle: Path | None,
    threads: int,
    told: Told,
    *,
    as_json: bool,
) -> None:
    from android_bench.phone import phone_bench as bench
    from android_bench.phone.adb import choose
    from android_bench.runner.bundle import Bundle
    from mobilebert_runtime.card import read_card

    chosen = Bundle.read(bundle or _default_bundle(read_card(artefact).target))
    result = bench.match(choose(serial), artefact, asked, chosen, threads=threads, told=told)
    for (a, b), score, label in zip(asked, result["scores"], result["labels"], strict=True):
        row = {"score": round(score, 6), "label": label, "text_a": a, "text_b": b}
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n" if as_json else f"{score:.6f}\t{label}\n")


def _default_bundle(target: str) -> Path:
    return Path("artefacts") / f"runner-{target}.tar"
