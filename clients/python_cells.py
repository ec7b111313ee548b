"""The table of every type (`cells`) as Python values, and the comparison of what a client read with it."""

from __future__ import annotations

import datetime
import decimal
import struct
import uuid
from collections.abc import Callable, Iterable, Sequence

import cells

TEXT = {"char", "varchar", "text", "nchar", "nvarchar", "ntext", "xml"}
INTEGERS = {"tinyint", "smallint", "int", "bigint"}
DECIMALS = {"decimal", "numeric", "money", "smallmoney"}
MOMENTS = {"datetime", "smalldatetime", "datetime2", "datetimeoffset"}


def columns(*without: str) -> list[cells.Column]:
    """The columns of every type except those named, by column or by kind."""
    return [column for column in cells.COLUMNS if column.name not in without and column.kind not in without]


def value(column: cells.Column, row: int) -> object:
    """A cell as Python says it. Times lose their seventh digit: `datetime` counts microseconds."""
    text = cells.text(column, row)
    return None if text is None else _value(column.kind, text)


def rows(chosen: Sequence[cells.Column]) -> list[tuple]:
    """All rows, with an `id` that counts from 1 before the chosen columns."""
    return [(row + 1, *(value(column, row) for column in chosen)) for row in range(cells.ROW_COUNT)]


def create_table(name: str, chosen: Sequence[cells.Column]) -> str:
    """CREATE TABLE text: an `id`, and the chosen columns, all nullable."""
    declared = "".join(f", {column.name} {column.declaration} NULL" for column in chosen)
    return f"CREATE TABLE {name} (id int NOT NULL{declared})"


def inserts(name: str, chosen: Sequence[cells.Column]) -> list[str]:
    """One INSERT with literals a row."""
    return [
        f"INSERT INTO {name} VALUES ({', '.join([str(row + 1), *(cells.literal(c, row) for c in chosen)])})"
        for row in range(cells.ROW_COUNT)
    ]


def differences(
    chosen: Sequence[cells.Column],
    read: Iterable[Sequence],
    adapt: Callable[[cells.Column, object], object] = lambda _, wanted: wanted,
) -> list[str]:
    """Cells of the rows read, in the order of `id`, that are not what they should be.

    `adapt` turns the value of a cell into what this client documents to make of it. A value of another type
    counts as a difference even if Python finds it equal.
    """
    wanted = rows(chosen)
    read = list(read)
    found = [] if len(read) == len(wanted) else [f"{len(read)} rows instead of {len(wanted)}"]
    for number, (row, expected) in enumerate(zip(read, wanted, strict=False), 1):
        if len(row) != len(expected) or row[0] != number:
            found.append(f"row {number} begins with {row[0]!r} and has {len(row)} cells")
        for column, cell, cell_expected in zip(chosen, row[1:], expected[1:], strict=False):
            cell_expected = None if cell_expected is None else adapt(column, cell_expected)
            if type(cell) is not type(cell_expected) or cell != cell_expected:
                found.append(f"row {number}, {column.name}: {_short(cell)} is not {_short(cell_expected)}")
    return found


def _short(cell: object) -> str:
    text = repr(cell)
    return text if len(text) < 80 else f"{text[:60]}… ({len(text)} characters)"


def _value(kind: str, text: str) -> object:
    if kind == "bit":
        return text == "1"
    if kind in INTEGERS:
        return int(text)
    if kind in ("real", "float"):
        return struct.unpack(">f" if kind == "real" else ">d", bytes.fromhex(text))[0]
    if kind in DECIMALS:
        return decimal.Decimal(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "time":
        return datetime.time.fromisoformat(_microseconds(text))
    if kind in MOMENTS:
        return _moment(text)
    if kind in TEXT:
        return text
    if kind == "uniqueidentifier":
        return uuid.UUID(text)
    return bytes.fromhex(text)


def _microseconds(time: str) -> str:
    whole, _, fraction = time.partition(".")
    return f"{whole}.{fraction[:6].ljust(6, '0')}"


def _moment(text: str) -> datetime.datetime:
    date, time, *offset = text.split(" ")
    return datetime.datetime.fromisoformat(f"{date}T{_microseconds(time)}{offset[0] if offset else ''}")
