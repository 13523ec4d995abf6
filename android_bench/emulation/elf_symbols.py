"""Which function of a shared library lies at an address: the symbol table of a 64-bit ELF file."""

import bisect
import struct
from dataclasses import dataclass
from pathlib import Path

_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB; SHT_DYNSYM, all that a stripped file has
_FUNCTION = 2  # STT_FUNC
_LOAD = 1  # PT_LOAD


@dataclass(frozen=True)
class Symbols:
    """Functions by ascending address.

    Attributes:
        starts: addresses, as the file has them.
        names: of the functions, not demangled.
        segments: (offset in the file, address, bytes) of what is loaded.
    """

    starts: tuple[int, ...]
    names: tuple[str, ...]
    segments: tuple[tuple[int, int, int], ...]

    @classmethod
    def read(cls, path: Path) -> "Symbols":
        """The functions of a little-endian 64-bit ELF file; `ValueError` where it is none."""
        data = path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a little-endian 64-bit ELF file")
        (segments_at, sections_at) = struct.unpack_from("<QQ", data, 32)
        segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
        sections = [_SECTION.unpack_from(data, sections_at + section_size * i) for i in range(section_count)]
        found: dict[int, str] = {}
        for section in (one for kind in _SYMBOL_TABLES for one in sections if one[1] == kind):
            names_at = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], _SYMBOL.size):
                name, info, _, _, address, _ = _SYMBOL.unpack_from(data, at)
                if info & 15 == _FUNCTION and address:
                    start = names_at + name
                    found.setdefault(address, data[start : data.index(b"\0", start)].decode())
        headers = (_SEGMENT.unpack_from(data, segments_at + segment_size * i) for i in range(segment_count))
        segments = tuple((one[2], one[3], one[5]) for one in headers if one[0] == _LOAD)
        starts = tuple(sorted(found))
        return cls(starts, tuple(found[start] for start in starts), segments)

    def function_at(self, offset: int) -> str:
        """The function that holds a place of the file; "?" before the first one."""
        address = next(
            (offset - at + address for at, address, size in self.segments if at <= offset < at + size), offset
        )
        index = bisect.bisect_right(self.starts, address) - 1
        return self.names[index] if index >= 0 else "?"
