"""Promise of the phone's Java: its patterns mean on Android, whose regular expressions are ICU's, the same.

ICU's own library runs every pattern of the library on every code point at the places of a sample, and so does
the JDK; classes of characters that a platform's Unicode data decide are not used at all.
"""

import json
import re
from pathlib import Path

import pytest

from android_bench.build_app import java
from android_bench.toolchain import tools
from mobilebert_runtime.errors import ToolError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MAIN = java.LIBRARY / "main" / "java"
HEADER = "{'descr': '|i1', 'fortran_order': False, 'shape': (3, 4), } \n"
# A text in which each part of the pattern matters and the places that are tried, by the class that holds it:
# in a header, those where the pattern has a class or a number of repetitions; it is literal elsewhere.
SAMPLES = {
    "SpellingCorrector": ("-wet it's.", range(11)),
    "ArtefactCard": ("1.20", range(5)),
    "NpyFile": (
        HEADER,
        [*range(11, 15), *(HEADER.index(one) + i for one in "34}" for i in (0, 1)), len(HEADER)],
    ),
}
PROBE = Path(__file__).parents[1] / "helpers" / "icu_probe.c"
# Decided by the code point's number alone.
STRUCTURAL = {
    "charCount",
    "codePointAt",
    "isHighSurrogate",
    "isLowSurrogate",
    "isSurrogate",
    "forDigit",
    "digit",
    "MAX_CODE_POINT",
    "toChars",
}


@pytest.fixture(scope="module")
def icu_runs(tmp_path_factory):
    """Runs of code points with one result, by ICU: of a pattern and the text around the code point."""
    folder = tmp_path_factory.mktemp("icu")
    try:
        libraries = tools.find("icu") / "usr/lib/x86_64-linux-gnu"
        zig = tools.find("zig") / "ziglang" / "zig"
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    [library] = libraries.glob("libicui18n.so.[0-9][0-9]")
    program = folder / "probe"
    caches = {name: str(folder / "cache") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    target = ("-target", "x86_64-linux-gnu")
    java.run([zig, "cc", *target, "-O2", "-Wall", "-Werror", "-o", program, PROBE, "-ldl"], caches)

    def runs(pattern, before, after):
        path = {"LD_LIBRARY_PATH": str(libraries)}
        said = java.run([program, libraries, library.suffix[1:], pattern, before, after], path)
        return list(map(int, said.split()))

    return runs


def test_icu_and_the_jdk_agree_on_every_code_point(icu_runs, tmp_path, capsys):
    java.compile_library(tmp_path / "library")
    program = java.LIBRARY / "test/java/mobilebert/runtime/PatternProbe.java"
    java.compile_sources([program], tmp_path / "program", [tmp_path / "library"])
    arguments = [
        part
        for name, (sample, places) in SAMPLES.items()
        for part in (name, sample, ",".join(map(str, places)))
    ]
    path = f"{tmp_path / 'library'}:{tmp_path / 'program'}"
    printed = iter(
        java.run([java.java(), "-cp", path, "mobilebert.runtime.PatternProbe", *arguments]).splitlines()
    )
    different, compared = [], 0
    for name, (sample, places) in SAMPLES.items():
        [text] = json.loads(next(printed))
        frames = [(sample[:place], sample[place + skipped :]) for place in places for skipped in (0, 1)]
        for before, after in frames:
            theirs = list(map(int, next(printed).split()))
            ours = icu_runs(text, before, after)
            compared += 1
            if ours != theirs:
                different.append((name, before, after, ours, theirs))
    assert next(printed, None) is None
    assert different == []
    with capsys.disabled():
        print(f"\n{compared} frames of {len(SAMPLES)} patterns, every code point: ICU and the JDK agree")


def test_a_pattern_that_they_read_in_two_ways_is_found(icu_runs):
    """`\\s` is ASCII on the JDK; on ICU a no-break space is one too."""
    runs = icu_runs(r"wether(?=\s)", "wether", "in Paris")
    rows = [runs[i : i + 4] for i in range(0, len(runs), 4)]
    spaces = {code for first, last, start, _ in rows if start == 0 for code in range(first, last + 1)}
    assert {0x20, 0xA0, 0x2003, 0x3000} <= spaces


def test_every_pattern_is_looked_at_and_no_class_of_a_platform_is_used():
    compiled, others = {}, []
    for path in sorted(MAIN.rglob("*.java")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if count := text.count("Pattern.compile("):
            compiled[path.stem] = count
        used = set(re.findall(r"\bCharacter\.(\w+)", text)) - STRUCTURAL
        others += [(path.stem, name) for name in used]
        # Regular expressions in disguise, and what a language or a time of year changes.
        others += [
            (path.stem, one)
            for one in re.findall(
                r"\.(matches|replaceAll|replaceFirst)\((?!\))|(String\.format|toLowerCase\(\)|toUpperCase\(\))",
                text,
            )
        ]
        splits = re.findall(r"\.split\((\"[^\"]*\")", text)
        others += [(path.stem, one) for one in splits if "\\s" in one or "\\w" in one or "[" in one]
    assert compiled == dict.fromkeys(sorted(SAMPLES), 1)
    assert others == []
