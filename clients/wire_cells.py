"""Tables for the comparison of bulk streams: types with every precision, scale and length that matters.

Cells are those of `cells`: both limits, zero or empty, an ordinary value; the last row of a nullable table is
NULL. Text of char and nchar is not padded: that is left to the server, or to the client.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence

import pyarrow

import cells
from cells import Column

MOST_TICKS = "9999999"
# The precisions at which the length of a decimal changes, and both ends.
PRECISIONS = (1, 9, 10, 19, 20, 28, 29, 38)
# Collations of several code pages, and of UTF-8.
COLLATIONS = {
    "c_cyrillic": ("Cyrillic_General_CI_AS", "Привет"),
    "c_japanese": ("Japanese_CI_AS", "日本語"),
    "c_greek_bin2": ("Greek_100_BIN2", "Ελληνικά"),
    "c_utf8": ("Latin1_General_100_CI_AS_SC_UTF8", "zwölf €🚀"),
}


@dataclasses.dataclass(frozen=True)
class Variant(Column):
    """A sql_variant column whose values are all of one type."""

    base: str

    @property
    def kind(self) -> str:
        """The type of the values."""
        return self.base


def _decimals() -> list[Column]:
    columns = []
    for precision in PRECISIONS:
        whole, fraction = "9" * precision, "0." + "9" * precision
        columns.append(
            _plain(f"c_decimal_{precision}_0", f"decimal({precision},0)", whole, "-" + whole, "0", "7")
        )
        zero, least = "0." + "0" * precision, "-0." + "0" * (precision - 1) + "1"
        columns.append(
            _plain(
                f"c_numeric_{precision}_{precision}",
                f"numeric({precision},{precision})",
                fraction,
                "-" + fraction,
                zero,
                least,
            )
        )
    return columns


def _moments() -> list[Column]:
    columns = []
    for scale in range(8):
        most = "." + MOST_TICKS[:scale].ljust(7, "0")
        least = "." + ("0" * (scale - 1) + "1").ljust(7, "0") if scale else ".0000000"
        times = ("23:59:59" + most, "00:00:00" + least, "00:00:00.0000000", "12:34:56" + most)
        days = ("9999-12-31", "0001-01-01", "1900-01-01", "2024-02-29")
        moments = [f"{day} {time}" for day, time in zip(days, times, strict=True)]
        zones = ("+14:00", "-14:00", "+00:00", "-03:30")
        # The limits are of the time in UTC.
        zoned = ("9999-12-31 23:59:59", "0001-01-01 00:00:00", "1900-01-01 00:00:00", "2024-02-29 12:34:56")
        fractions = (most, least, ".0000000", most)
        offsets = [
            f"{moment}{fraction} {zone}"
            for moment, fraction, zone in zip(zoned, fractions, zones, strict=True)
        ]
        columns += [
            _quoted(f"c_time_{scale}", f"time({scale})", *times),
            _quoted(f"c_datetime2_{scale}", f"datetime2({scale})", *moments),
            _quoted(f"c_datetimeoffset_{scale}", f"datetimeoffset({scale})", *offsets),
        ]
    return columns


def _collated() -> list[Column]:
    columns = []
    for name, (collation, text) in COLLATIONS.items():
        for declared in ("char(30)", "varchar(30)", "varchar(max)", "nvarchar(30)", "text", "ntext"):
            if declared == "text" and "UTF8" in collation or declared == "ntext" and "SC" in collation:
                continue
            kind = declared.replace("(", "_").rstrip(")")
            columns.append(
                _quoted(f"{name}_{kind}", f"{declared} COLLATE {collation}", "a", text, "", text[:1])
            )
    return columns


def _widest() -> list[Column]:
    texts = {
        "char(8000)": "x" * 8000,
        "varchar(8000)": "y" * 8000,
        "nchar(4000)": "€" * 4000,
        "nvarchar(4000)": "€" * 4000,
    }
    columns = [
        _quoted("c_" + declared.split("(")[0], declared, widest, "a", "", "b c")
        for declared, widest in texts.items()
    ]
    for declared in ("binary(8000)", "varbinary(8000)"):
        values = (b"\xff" * 8000, b"\1", b"", b"\0\xff")
        cells = tuple(("0x" + value.hex(), value.hex()) for value in values)
        columns.append(Column("c_" + declared.split("(")[0], declared, cells))
    return columns


def _plain(name: str, declaration: str, *values: str) -> Column:
    return Column(name, declaration, tuple((value, value) for value in values))


def _quoted(name: str, declaration: str, *values: str) -> Column:
    return Column(name, declaration, tuple((f"'{value}'", value) for value in values))


def _unpadded(column: Column) -> Column:
    if column.kind not in ("char", "nchar"):
        return column
    return dataclasses.replace(
        column, cells=tuple((literal, text.rstrip(" ")) for literal, text in column.cells)
    )


# The widest columns have a table each: two of them would not fit into a row.
def _variants() -> list[Column]:
    """sql_variant columns of one type each."""
    chosen = ("bit", "int", "bigint", "float", "nvarchar", "varbinary")
    return [
        Variant(f"c_variant_{column.kind}", "sql_variant", column.cells, column.kind)
        for column in cells.COLUMNS
        if column.declaration.split("(")[0] in chosen and "max" not in column.declaration
    ]


TABLES: dict[str, list[Column]] = {
    "every_type": [_unpadded(column) for column in cells.COLUMNS],
    "decimals": _decimals(),
    "moments": _moments(),
    "collations": _collated(),
    "variants": _variants(),
    **{"widest_" + column.kind: [column] for column in _widest()},
}


def create_table(name: str, columns: Sequence[Column], nullable: bool) -> str:
    """CREATE TABLE text: an `id`, and the columns."""
    declared = "".join(f", {column.name} {declaration(column, nullable)}" for column in columns)
    return f"CREATE TABLE {name} (id int NOT NULL{declared})"


def declaration(column: Column, nullable: bool) -> str:
    """A column's type and its nullability."""
    return f"{column.declaration} {'NULL' if nullable else 'NOT NULL'}"


def as_arrow(columns: Sequence[Column], rows: Sequence[int], first_id: int) -> pyarrow.Table:
    """The rows as text, as bytes where the type is binary, and as numbers where it is approximate."""
    arrays = {"id": pyarrow.array(range(first_id, first_id + len(rows)), pyarrow.int32())}
    for column in columns:
        texts = [cells.text(column, row) for row in rows]
        if column.kind in ("real", "float"):
            form, arrow_type = (
                (">f", pyarrow.float32()) if column.kind == "real" else (">d", pyarrow.float64())
            )
            values = [text and struct.unpack(form, bytes.fromhex(text))[0] for text in texts]
        elif column.kind in ("binary", "varbinary", "image"):
            arrow_type = pyarrow.binary()
            values = [None if text is None else bytes.fromhex(text) for text in texts]
        elif isinstance(column, Variant) and column.kind != "nvarchar":
            arrow_type = {"bit": pyarrow.bool_(), "int": pyarrow.int32(), "bigint": pyarrow.int64()}[
                column.kind
            ]
            numbers = [None if text is None else int(text) for text in texts]
            values = [number if number is None or column.kind != "bit" else number == 1 for number in numbers]
        else:
            arrow_type, values = pyarrow.string(), texts
        arrays[column.name] = pyarrow.array(values, arrow_type)
    return pyarrow.table(arrays)
