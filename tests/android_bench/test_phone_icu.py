"""Promise of the phone's Java: its patterns mean on Android, whose regular expressions are ICU's, the same.

ICU's own library runs every pattern of the library on every code point at the places of a sample, and so does
the JDK; classes of characters that a platform's Unicode data decide are not used at all.
"""

import ctypes
import json
import re

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
SURROGATES = range(0xD800, 0xE000)
# Decided by the code point's number alone.
STRUCTURAL = {
    "charCount",
    "codePointAt",
    "isHighSurrogate",
    "isLowSurrogate",
    "forDigit",
    "digit",
    "MAX_CODE_POINT",
    "toChars",
}


class Icu:
    """ICU's regular expressions, through its C interface."""

    def __init__(self, folder, version):
        for name in ("icudata", "icuuc"):
            ctypes.CDLL(str(folder / f"lib{name}.so.{version}"), mode=ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(folder / f"libicui18n.so.{version}"))
        for name in ("open", "setText", "find", "start", "end"):
            setattr(self, name, getattr(library, f"uregex_{name}_{version}"))
        self.open.restype = ctypes.c_void_p
        self.find.restype = ctypes.c_int8
        self.status = ctypes.c_int32(0)
        self.error = ctypes.byref(self.status)

    def pattern(self, text):
        """A compiled pattern."""
        units = text.encode("utf-16-le")
        buffer = ctypes.create_string_buffer(units, len(units))
        found = self.open(buffer, len(units) // 2, 0, None, self.error)
        assert self.status.value <= 0, f"ICU refuses {text!r}: {self.status.value}"
        return ctypes.c_void_p(found)

    def runs(self, pattern, before, after):
        """Runs of code points with one result, as PatternProbe.java prints them."""
        found, last = [], None
        head, tail = before.encode("utf-16-le"), after.encode("utf-16-le")
        buffer = ctypes.create_string_buffer(len(head) + 4 + len(tail))
        buffer[: len(head)] = head
        for code in range(0x110000):
            if code in SURROGATES:
                continue
            width = 2 if code < 0x10000 else 4
            if code in (0, 0x10000):
                buffer[len(head) + width : len(head) + width + len(tail)] = tail
            buffer[len(head) : len(head) + width] = chr(code).encode("utf-16-le")
            self.setText(pattern, buffer, (len(head) + width + len(tail)) // 2, self.error)
            matched = self.find(pattern, -1, self.error)
            ends = (self.start(pattern, 0, self.error), self.end(pattern, 0, self.error)) if matched else None
            result = ends or (-1, -1)
            if result != last:
                if found:
                    found[-1][1] = code - 1
                found.append([code, 0x10FFFF, *result])
                last = result
        assert self.status.value <= 0
        return found


@pytest.fixture(scope="module")
def icu():
    try:
        folder = tools.find("icu") / "usr/lib/x86_64-linux-gnu"
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    [library] = folder.glob("libicui18n.so.[0-9][0-9]")
    return Icu(folder, int(library.suffix[1:]))


def test_icu_and_the_jdk_agree_on_every_code_point(icu, tmp_path, capsys):
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
        pattern = icu.pattern(text)
        frames = [(sample[:place], sample[place + skipped :]) for place in places for skipped in (0, 1)]
        for before, after in frames:
            numbers = list(map(int, next(printed).split()))
            theirs = [numbers[i : i + 4] for i in range(0, len(numbers), 4)]
            ours = icu.runs(pattern, before, after)
            compared += 1
            if ours != theirs:
                different.append((name, before, after, ours, theirs))
    assert next(printed, None) is None
    assert different == []
    with capsys.disabled():
        print(f"\n{compared} frames of {len(SAMPLES)} patterns, every code point: ICU and the JDK agree")


def test_a_pattern_that_they_read_in_two_ways_is_found(icu):
    """`\\s` is ASCII on the JDK; on ICU a no-break space is one too."""
    runs = icu.runs(icu.pattern(r"wether(?=\s)"), "wether", "in Paris")
    spaces = {code for first, last, start, _ in runs if start == 0 for code in range(first, last + 1)}
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
                r"\.(matches|replaceAll|replaceFirst)\(|(String\.format|toLowerCase\(\)|toUpperCase\(\))",
                text,
            )
        ]
        splits = re.findall(r"\.split\((\"[^\"]*\")", text)
        others += [(path.stem, one) for one in splits if "\\s" in one or "\\w" in one or "[" in one]
    assert compiled == dict.fromkeys(sorted(SAMPLES), 1)
    assert others == []
