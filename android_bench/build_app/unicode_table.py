"""What BERT's normaliser does to every code point, taken from `tokenizers`, as a small text table.

A second table holds what the pattern of byte-level BPE takes for letters and numbers.

Java's and Android's Unicode data change with the device; with this table a phone splits words exactly as
the Python side does, on any Android version. Rows, all numbers hexadecimal:

    D first last            dropped (controls, U+FFFD)
    A first last            dropped where accents are, by a lower-casing normaliser (marks without width)
    S first last            becomes a space
    C first last            gets a space on both sides (CJK ideographs)
    P first last            punctuation: a word of its own
    M first last to to …    each becomes these code points (decomposed, accents dropped, lower case)
    L first last delta      each becomes itself + delta
    O first last class      canonical combining class of a mark that stays: runs of them are sorted by class

M, L and O are for a lower-casing normaliser alone. The second table has rows L and N with first and last.

Hangul syllables decompose by arithmetic (Unicode 3.12) and have no rows.
"""

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

HANGUL = range(0xAC00, 0xD7A4)
CODE_POINTS = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000 and c not in HANGUL]
HEADER = "# Made by `python -m android_bench.build_app.unicode_table`; see there for the format.\n"


def table() -> str:
    """The table of the installed `tokenizers`, as text."""
    normalise = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    ).normalize_str
    cased = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=False
    ).normalize_str
    rows: dict[str, dict[int, tuple[int, ...]]] = {kind: {} for kind in "DASCPMLO"}
    classes = _class_references()
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    for code in CODE_POINTS:
        char = chr(code)
        became = normalise(char)
        target = tuple(map(ord, became))
        if became == " ":
            rows["S"][code] = ()
        elif became.startswith(" "):
            rows["C"][code] = ()
            if became != f" {char} ":
                rows["M"][code] = tuple(map(ord, became.strip(" ")))
        elif not became:
            rows["A" if cased(char) else "D"][code] = ()
        elif len(target) == 1 and target[0] != code:
            rows["L"][code] = (target[0] - code,)
        elif target != (code,):
            rows["M"][code] = target
        if became not in ("", " ") and len(split(f"a{char}a")) == 3:
            rows["P"][code] = ()
        if became == char and (combining := _combining_class(char, classes)):
            rows["O"][code] = (combining,)
    return HEADER + "".join(line for kind, found in rows.items() for line in _lines(kind, found))


def categories() -> str:
    """The second table, as text."""
    rows: dict[str, dict[int, tuple[int, ...]]] = {"L": {}, "N": {}}
    for kind, found in rows.items():
        split = pre_tokenizers.Split(Regex(rf"\p{{{kind}}}"), "removed").pre_tokenize_str
        found.update(
            {code: () for code in range(sys.maxunicode + 1) if _is_scalar(code) and not split(chr(code))}
        )
    return HEADER + "".join(line for kind, found in rows.items() for line in _lines(kind, found))


def _is_scalar(code: int) -> bool:
    return not 0xD800 <= code < 0xE000


def _lines(kind: str, found: dict[int, tuple[int, ...]]) -> Iterator[str]:
    """Neighbours with the same value share one row."""
    for first, last, value in _runs(found.items()):
        yield " ".join([kind, *(f"{number:X}" for number in (first, last, *value))]) + "\n"


def _runs(items: Iterable[tuple[int, tuple[int, ...]]]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    run: tuple[int, int, tuple[int, ...]] | None = None
    for code, value in items:
        if run and run[1] == code - 1 and run[2] == value:
            run = (run[0], code, value)
            continue
        if run:
            yield run
        run = (code, code, value)
    if run:
        yield run


def _class_references() -> dict[int, str]:
    """One old, undisputed character per combining class."""
    found: dict[int, str] = {}
    for code in CODE_POINTS:
        if (value := unicodedata.ucd_3_2_0.combining(chr(code))) and value not in found:
            found[value] = chr(code)
    return dict(sorted(found.items()))


def _combining_class(char: str, references: dict[int, str]) -> int:
    """The class by which the library's own decomposition sorts a character; 0 for one that is not moved."""
    nfd = normalizers.NFD().normalize_str
    highest = references[max(references)]
    if nfd(f"a{highest}{char}") != f"a{char}{highest}":
        return max(references) if nfd(f"a{char}{references[1]}") != f"a{char}{references[1]}" else 0
    # The smallest class whose reference stays behind the character is the character's own.
    return next(value for value, other in references.items() if nfd(f"a{char}{other}") == f"a{char}{other}")


def main() -> None:
    """Write both tables to the folder given, or to the library's resources."""
    place = Path(__file__).resolve().parents[1] / "library/src/main/resources/mobilebert-runtime"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "unicode.txt").write_text(table(), encoding="ascii")
    (folder / "categories.txt").write_text(categories(), encoding="ascii")


if __name__ == "__main__":
    main()
