"""The few bytes of an ELF file that say whether it needs a dynamic loader."""

import struct
from pathlib import Path
from typing import IO, NamedTuple

_MAGIC = b"\x7fELF"
_PT_INTERP = 3


class _Shape(NamedTuple):
    """Where the program headers are, which depends on the word size: formats and offsets."""

    word: str
    table_at: int
    sizes_at: int


_SHAPES = {1: _Shape("I", 28, 42), 2: _Shape("Q", 32, 54)}
_BYTE_ORDERS = {1: "<", 2: ">"}


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == _MAGIC


def is_static(path: Path) -> bool:
    """Whether the program runs without shared libraries: no segment names a loader."""
    with path.open("rb") as file:
        return _PT_INTERP not in _segment_types(file)


def _segment_types(file: IO[bytes]) -> list[int]:
    header = file.read(64)
    shape, order = _SHAPES[header[4]], _BYTE_ORDERS[header[5]]
    (table,) = struct.unpack_from(order + shape.word, header, shape.table_at)
    size, count = struct.unpack_from(order + "HH", header, shape.sizes_at)
    return [_segment_type(file, table + number * size, order) for number in range(count)]


def _segment_type(file: IO[bytes], at: int, order: str) -> int:
    file.seek(at)
    (kind,) = struct.unpack(order + "I", file.read(4))
    return int(kind)
