"""The table of every type as the program variables of C that ODBC's bcp_bind documents."""

from __future__ import annotations

import datetime
import decimal
import struct
import uuid
from collections.abc import Sequence

import cells

EPOCH = datetime.date(1900, 1, 1)

# The type that bcp_bind takes, by the column's type.
TOKENS = {
    "bit": 0x32,
    "tinyint": 0x30,
    "smallint": 0x34,
    "int": 0x38,
    "bigint": 0x7F,
    "real": 0x3B,
    "float": 0x3E,
    "decimal": 0x6A,
    "numeric": 0x6C,
    "money": 0x3C,
    "smallmoney": 0x7A,
    "date": 0x28,
    "time": 0x29,
    "datetime2": 0x2A,
    "datetimeoffset": 0x2B,
    "datetime": 0x3D,
    "smalldatetime": 0x3A,
    "char": 0x2F,
    "varchar": 0x2F,
    "text": 0x23,
    "nchar": 0xEF,
    "nvarchar": 0xE7,
    "ntext": 0x63,
    "xml": 0xE7,
    "binary": 0x2D,
    "varbinary": 0x25,
    "image": 0x22,
    "uniqueidentifier": 0x24,
}
INTEGERS = {"bit": "<B", "tinyint": "<B", "smallint": "<h", "int": "<i", "bigint": "<q"}


def native(column: cells.Column, text: str) -> bytes:
    """A value as the program variable of its type."""
    kind = column.kind
    if kind in INTEGERS:
        return struct.pack(INTEGERS[kind], int(text))
    if kind in ("real", "float"):
        return bytes.fromhex(text)[::-1]
    if kind in ("decimal", "numeric"):
        return _numeric(column, decimal.Decimal(text))
    if kind in ("money", "smallmoney"):
        units = int(decimal.Decimal(text).scaleb(4))
        return (
            struct.pack("<iI", units >> 32, units & 0xFFFFFFFF)
            if kind == "money"
            else struct.pack("<i", units)
        )
    if kind in ("date", "time", "datetime2", "datetimeoffset", "datetime", "smalldatetime"):
        return _temporal(kind, text)
    if kind in ("char", "varchar", "text"):
        return text.encode()
    if kind in ("nchar", "nvarchar", "ntext", "xml"):
        return text.encode("utf-16-le")
    if kind == "uniqueidentifier":
        return uuid.UUID(text).bytes_le
    return bytes.fromhex(text)


def write(path, chosen: Sequence[cells.Column], rows: Sequence[int]) -> None:
    """The file that `odbc_bcp send` reads: an `id`, and the cells of the rows named."""
    out = bytearray(struct.pack("<IIII", len(chosen) + 1, 1, TOKENS["int"], 4))
    for ordinal, column in enumerate(chosen, 2):
        out += struct.pack("<III", ordinal, TOKENS[column.kind], 0 if _unlimited(column) else 4)
    out += struct.pack("<I", len(rows))
    for number, row in enumerate(rows, 1):
        out += struct.pack("<ii", 4, number)
        for column in chosen:
            text = cells.text(column, row)
            value = None if text is None else native(column, text)
            out += struct.pack("<i", -1 if value is None else len(value)) + (value or b"")
    path.write_bytes(out)


def _unlimited(column: cells.Column) -> bool:
    """The driver wants indicators of eight bytes for these, and reads past an empty value that has one."""
    return "max" in column.declaration or column.kind == "xml"


def _numeric(column: cells.Column, value: decimal.Decimal) -> bytes:
    """SQL_NUMERIC_STRUCT: precision, scale, sign (1 is positive), magnitude."""
    precision, scale = (int(part) for part in column.declaration.split("(")[1].rstrip(")").split(","))
    with decimal.localcontext(prec=60):
        magnitude = int(abs(value).scaleb(scale))
    return struct.pack("<BbB", precision, scale, value >= 0) + magnitude.to_bytes(16, "little")


def _temporal(kind: str, text: str) -> bytes:
    if kind == "date":
        return struct.pack("<hHH", *_date(text))
    if kind == "time":
        hours, minutes, seconds, ticks = _time(text)
        return struct.pack("<HHHxxI", hours, minutes, seconds, ticks * 100)
    date, time, *offset = text.split(" ")
    hours, minutes, seconds, ticks = _time(time)
    if kind in ("datetime", "smalldatetime"):
        days = (datetime.date(*_date(date)) - EPOCH).days
        if kind == "smalldatetime":
            return struct.pack("<HH", days, hours * 60 + minutes)
        second = hours * 3600 + minutes * 60 + seconds
        return struct.pack("<iI", days, second * 300 + round(ticks * 300 / 10_000_000))
    moment = struct.pack("<hHHHHHI", *_date(date), hours, minutes, seconds, ticks * 100)
    if kind == "datetime2":
        return moment
    sign = -1 if offset[0][0] == "-" else 1
    return moment + struct.pack("<hh", sign * int(offset[0][1:3]), sign * int(offset[0][4:6]))


def _date(text: str) -> tuple[int, int, int]:
    year, month, day = text.split("-")
    return int(year), int(month), int(day)


def _time(text: str) -> tuple[int, int, int, int]:
    """Hours, minutes, seconds, and units of 100 ns."""
    hours, minutes, seconds = text.split(":")
    whole, _, fraction = seconds.partition(".")
    return int(hours), int(minutes), int(whole), int(fraction.ljust(7, "0"))
