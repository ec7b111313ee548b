"""Compares two bulk streams of the same rows (`bulk_stream`).

A difference has a place, a column's declaration and both sides' words for it.
"""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Iterator

from bulk_stream import (
    DECIMALS,
    FIXED,
    LEGACY,
    MAX_LENGTH,
    SHORT_LENGTH,
    VARIANT,
    BulkLoad,
    Column,
)

TOKEN_NAMES = {
    0x22: "IMAGE",
    0x23: "TEXT",
    0x24: "GUID",
    0x26: "INTN",
    0x28: "DATEN",
    0x29: "TIMEN",
    0x2A: "DATETIME2N",
    0x2B: "DATETIMEOFFSETN",
    0x30: "INT1",
    0x32: "BIT",
    0x34: "INT2",
    0x38: "INT4",
    0x3A: "DATETIM4",
    0x3B: "FLT4",
    0x3C: "MONEY",
    0x3D: "DATETIME",
    0x3E: "FLT8",
    0x62: "SSVARIANT",
    0x63: "NTEXT",
    0x68: "BITN",
    0x6A: "DECIMALN",
    0x6C: "NUMERICN",
    0x6D: "FLTN",
    0x6E: "MONEYN",
    0x6F: "DATETIMN",
    0x7A: "MONEY4",
    0x7F: "INT8",
    0xA5: "BIGVARBINARY",
    0xA7: "BIGVARCHAR",
    0xAD: "BIGBINARY",
    0xAF: "BIGCHAR",
    0xE7: "NVARCHAR",
    0xEF: "NCHAR",
    0xF1: "XML",
}
UNKNOWN_LENGTH, NULL_LENGTH = 2**64 - 2, 2**64 - 1


@dataclasses.dataclass(frozen=True, order=True)
class Difference:
    """What bulkwire and another client send differently."""

    # `statement`, `options`, `column order`, `declaration`, `declared collation`, `rows`, `user type`,
    # `flags`, `token`, `size`, `collation`, `frame`, `value` or `end`.
    place: str
    # The column's declaration, with its nullability; empty if the difference is not of a column.
    column: str
    ours: str
    theirs: str


@dataclasses.dataclass(frozen=True)
class Explained:
    """A kind of difference that docs/wire-comparison.md explains under the heading `topic`."""

    topic: str
    place: str
    # Regular expressions that must match all of the text.
    column: str
    ours: str
    theirs: str

    def covers(self, difference: Difference) -> bool:
        """Whether the difference is of this kind."""
        return self.place == difference.place and all(
            re.fullmatch(pattern, text, re.DOTALL)
            for pattern, text in (
                (self.column, difference.column),
                (self.ours, difference.ours),
                (self.theirs, difference.theirs),
            )
        )


def differences(ours: BulkLoad, theirs: BulkLoad, declared: dict[str, str]) -> set[Difference]:
    """Field by field; `declared` gives the declaration of each column by its name."""
    return {
        Difference(place, column, ours, theirs)
        for place, column, ours, theirs in _compared(ours, theirs, declared)
        if ours != theirs
    }


def unexplained(found: set[Difference], explained: list[Explained]) -> list[Difference]:
    """Differences of no kind that is explained."""
    return sorted(one for one in found if not any(kind.covers(one) for kind in explained))


def obsolete(found: set[Difference], explained: list[Explained]) -> list[Explained]:
    """Kinds of which there is no difference any more."""
    return [kind for kind in explained if not any(kind.covers(one) for one in found)]


def _compared(
    ours: BulkLoad, theirs: BulkLoad, declared: dict[str, str]
) -> Iterator[tuple[str, str, str, str]]:
    yield "statement", "", ours.opening, theirs.opening
    yield "options", "", ours.options, theirs.options
    yield "column order", "", _order(ours, declared), _order(theirs, declared)
    spelled = {declaration.name: declaration for declaration in theirs.declarations}
    for own in ours.declarations:
        column, other = declared[own.name], spelled[own.name]
        yield "declaration", column, own.declared_type, other.declared_type
        yield "declared collation", column, str(own.collation), str(other.collation)
    yield "rows", "", str(len(ours.rows)), str(len(theirs.rows))
    places = {column.name: place for place, column in enumerate(theirs.columns)}
    for own_place, own in enumerate(ours.columns):
        column, other_place = declared[own.name], places[own.name]
        other = theirs.columns[other_place]
        yield "user type", column, str(own.user_type), str(other.user_type)
        yield "flags", column, f"{own.flags:04x}", f"{other.flags:04x}"
        yield "token", column, TOKEN_NAMES[own.token], TOKEN_NAMES[other.token]
        yield "size", column, _size(own), _size(other)
        yield "collation", column, own.collation.hex(), other.collation.hex()
        for own_row, other_row in zip(ours.rows, theirs.rows, strict=True):
            own_frame, own_value = shape(own, own_row[own_place])
            other_frame, other_value = shape(other, other_row[other_place])
            yield "frame", column, own_frame, other_frame
            yield "value", column, _shown(own_value), _shown(other_value)
    yield "end", "", ours.end.hex(), theirs.end.hex()


def _order(load: BulkLoad, declared: dict[str, str]) -> str:
    """Whether columns come as the table has them; the statement and COLMETADATA must agree."""
    names = [column.name for column in load.columns]
    assert names == [declaration.name for declaration in load.declarations]
    assert sorted(names) == sorted(declared)
    return "the table's" if names == list(declared) else "another"


def _size(column: Column) -> str:
    if column.token in DECIMALS:
        return "length {}, precision {}, scale {}".format(*column.size)
    if column.token in LEGACY or column.token in SHORT_LENGTH or column.token == VARIANT:
        return f"length {int.from_bytes(column.size, 'little'):#x}"
    # A fixed token says in one byte what a nullable one says in two.
    length = FIXED.get(column.token)
    return f"length {length}" if length else "length " + ", ".join(map(str, column.size))


def shape(column: Column, cell: bytes) -> tuple[str, bytes | None]:
    """How a cell is framed, in words, and its value, None for NULL. Decimals have 17 bytes in any width."""
    token = column.token
    if token in FIXED:
        return "no length", cell
    if token in DECIMALS:
        if cell[0] == 0:
            return "NULL in a byte", None
        return f"{cell[0]} bytes", cell[1:].ljust(17, b"\0")
    if token in SHORT_LENGTH and column.size != b"\xff\xff":
        (length,) = struct.unpack_from("<H", cell)
        return ("NULL in two bytes", None) if length == MAX_LENGTH else ("two bytes of length", cell[2:])
    if token in LEGACY:
        pointer = cell[0]
        if pointer == 0:
            return "no pointer", None
        return f"pointer {cell[1 : 1 + pointer + 8].hex()}", cell[1 + pointer + 8 + 4 :]
    if token == VARIANT:
        return _variant(cell)
    if token in SHORT_LENGTH or token == 0xF1:
        return _chunks(cell)
    return ("NULL in a byte", None) if cell[0] == 0 else ("a byte of length", cell[1:])


def _variant(cell: bytes) -> tuple[str, bytes | None]:
    """Four bytes of length, token and properties of the value's own type, the value (MS-TDS 2.2.5.5.4)."""
    if len(cell) == 4:
        return "NULL in four bytes", None
    token, properties = cell[4], cell[6 : 6 + cell[5]]
    return f"{TOKEN_NAMES[token]} {properties.hex()}".strip(), cell[6 + cell[5] :]


def _chunks(cell: bytes) -> tuple[str, bytes | None]:
    (total,) = struct.unpack_from("<Q", cell)
    if total == NULL_LENGTH:
        return "NULL in eight bytes", None
    position, value, chunks = 8, b"", 0
    while length := struct.unpack_from("<I", cell, position)[0]:
        value += cell[position + 4 : position + 4 + length]
        position += 4 + length
        chunks += 1
    if total == UNKNOWN_LENGTH:
        return f"unknown length, {'no' if chunks == 0 else 'some'} chunks", value
    assert total == len(value)
    count = {0: "no", 1: "one"}.get(chunks, "several")
    return f"known length, {count} chunks", value


def _shown(value: bytes | None) -> str:
    if value is None:
        return "NULL"
    return value.hex() if len(value) < 40 else f"{value[:20].hex()}… ({len(value)} bytes)"
