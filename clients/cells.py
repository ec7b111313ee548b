"""The table of every type as text, for clients in any language: limits, zero, ordinary values and NULL.

A cell has a T-SQL literal and the canonical text that a client must make of what it reads back:

| Type | Text |
|---|---|
| integers, bit | decimal digits |
| decimal, numeric, money | all digits of the scale |
| real, float | the bits of the IEEE number, big-endian, in hexadecimal |
| date | `YYYY-MM-DD` |
| time, datetime2, smalldatetime | `hh:mm:ss.fffffff`, with the date before it |
| datetime | the same with three digits of a second, to which clients round it |
| datetimeoffset | local time, a space, `+hh:mm` |
| text | itself |
| binary | lower-case hexadecimal |
| uniqueidentifier | lower case, with hyphens |

Run as a program it prints the table as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import struct


@dataclasses.dataclass(frozen=True)
class Column:
    """A column with its cells: upper limit, lower limit, zero or empty, ordinary."""

    name: str
    declaration: str
    cells: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> str:
        """The type's name without its length."""
        return self.declaration.split("(")[0].split()[0]


def _numbers(*values: str) -> tuple[tuple[str, str], ...]:
    return tuple((value, value) for value in values)


def _floats(form: str, *values: float) -> tuple[tuple[str, str], ...]:
    return tuple((repr(value), struct.pack(form, value).hex()) for value in values)


def _times(*values: str, literals: dict[str, str] | None = None) -> tuple[tuple[str, str], ...]:
    return tuple((f"'{(literals or {}).get(value, value)}'", value) for value in values)


def _quoted(*values: str, prefix: str = "", pad: int = 0) -> tuple[tuple[str, str], ...]:
    return tuple((f"{prefix}'{_doubled(value)}'", _padded(value, pad)) for value in values)


def _doubled(value: str) -> str:
    return value.replace("'", "''")


def _padded(value: str, units: int) -> str:
    """With spaces up to `units` UTF-16 code units, as char(n) and nchar(n) store it."""
    return value + " " * max(0, units - len(value.encode("utf-16-le")) // 2)


def _binary(*values: bytes, pad: int = 0) -> tuple[tuple[str, str], ...]:
    return tuple(("0x" + value.hex(), value.ljust(pad, b"\0").hex()) for value in values)


NINES = "9" * 14 + "." + "9" * 4
NINES_38 = "9" * 28 + "." + "9" * 10
GREATEST_REAL = struct.unpack(">f", bytes.fromhex("7f7fffff"))[0]
GREATEST_FLOAT = 1.7976931348623157e308
# Longer than a page and than a packet, with characters of one to four bytes.
LONG = "0123456789 äöü €" * 600
LONG_WIDE = "Ελληνικά 日本語 🚀 " * 500

COLUMNS = [
    Column("c_bit", "bit", _numbers("1", "0", "0", "1")),
    Column("c_tinyint", "tinyint", _numbers("255", "0", "0", "7")),
    Column("c_smallint", "smallint", _numbers("32767", "-32768", "0", "-7")),
    Column("c_int", "int", _numbers("2147483647", "-2147483648", "0", "42")),
    Column("c_bigint", "bigint", _numbers("9223372036854775807", "-9223372036854775808", "0", "-5000000000")),
    Column("c_real", "real", _floats(">f", GREATEST_REAL, -GREATEST_REAL, 0.0, 0.5)),
    Column("c_float", "float", _floats(">d", GREATEST_FLOAT, -GREATEST_FLOAT, 0.0, 0.1)),
    Column("c_decimal", "decimal(18,4)", _numbers(NINES, "-" + NINES, "0.0000", "1234.5600")),
    Column(
        "c_decimal38", "decimal(38,10)", _numbers(NINES_38, "-" + NINES_38, "0.0000000000", "-0.0000000001")
    ),
    Column("c_numeric", "numeric(9,0)", _numbers("999999999", "-999999999", "0", "12")),
    Column(
        "c_money", "money", _numbers("922337203685477.5807", "-922337203685477.5808", "0.0000", "-1.2345")
    ),
    Column("c_smallmoney", "smallmoney", _numbers("214748.3647", "-214748.3648", "0.0000", "19.7500")),
    Column("c_date", "date", _times("9999-12-31", "0001-01-01", "1900-01-01", "2024-02-29")),
    Column(
        "c_time",
        "time(7)",
        _times("23:59:59.9999999", "00:00:00.0000001", "00:00:00.0000000", "12:34:56.7891230"),
    ),
    Column(
        "c_time0",
        "time(0)",
        _times("23:59:59.0000000", "00:00:01.0000000", "00:00:00.0000000", "12:34:56.0000000"),
    ),
    Column(
        "c_datetime",
        "datetime",
        _times(
            "9999-12-31 23:59:59.997",
            "1753-01-01 00:00:00.003",
            "1900-01-01 00:00:00.000",
            "2024-02-29 12:34:56.790",
        ),
    ),
    Column(
        "c_smalldatetime",
        "smalldatetime",
        _times(
            "2079-06-06 23:59:00.0000000",
            "1900-01-01 00:01:00.0000000",
            "1900-01-01 00:00:00.0000000",
            "2024-02-29 12:34:00.0000000",
            literals={
                "2079-06-06 23:59:00.0000000": "2079-06-06 23:59",
                "1900-01-01 00:01:00.0000000": "1900-01-01 00:01",
                "1900-01-01 00:00:00.0000000": "1900-01-01",
                "2024-02-29 12:34:00.0000000": "2024-02-29 12:34",
            },
        ),
    ),
    Column(
        "c_datetime2",
        "datetime2(7)",
        _times(
            "9999-12-31 23:59:59.9999999",
            "0001-01-01 00:00:00.0000000",
            "1900-01-01 00:00:00.0000000",
            "2024-02-29 12:34:56.7891230",
        ),
    ),
    Column(
        "c_datetime2_3",
        "datetime2(3)",
        _times(
            "9999-12-31 23:59:59.9990000",
            "0001-01-01 00:00:00.0010000",
            "1900-01-01 00:00:00.0000000",
            "1969-12-31 23:59:59.9990000",
        ),
    ),
    Column(
        "c_datetimeoffset",
        "datetimeoffset(7)",
        _times(
            "9999-12-31 09:59:59.9999999 -14:00",
            "0001-01-01 14:00:00.0000000 +14:00",
            "1900-01-01 00:00:00.0000000 +00:00",
            "2024-02-29 12:34:56.7891230 +05:30",
        ),
    ),
    Column("c_char", "char(10)", _quoted("0123456789", "€", "", "O'Brien", pad=10)),
    Column("c_varchar", "varchar(50)", _quoted("x" * 50, " ", "", "déjà vu")),
    Column("c_varcharmax", "varchar(max)", _quoted(LONG, "a", "", "äöü")),
    Column("c_text", "text", _quoted(LONG, "a", "", "äöü")),
    Column("c_nchar", "nchar(5)", _quoted("日本語日本", "🚀", "", "ąβ", prefix="N", pad=5)),
    Column("c_nvarchar", "nvarchar(50)", _quoted("€" * 50, " ", "", "Ελληνικά 日本語", prefix="N")),
    Column("c_nvarcharmax", "nvarchar(max)", _quoted(LONG_WIDE, "a", "", "🚀", prefix="N")),
    Column("c_ntext", "ntext", _quoted(LONG_WIDE, "a", "", "🚀", prefix="N")),
    Column("c_binary", "binary(4)", _binary(b"\xff" * 4, b"\x01", b"", b"\xde\xad\xbe\xef", pad=4)),
    Column("c_varbinary", "varbinary(20)", _binary(b"\xff" * 20, b"\0", b"", b"\x00\xff")),
    Column("c_varbinarymax", "varbinary(max)", _binary(bytes(range(256)) * 50, b"\0", b"", b"\x01")),
    Column("c_image", "image", _binary(bytes(range(256)) * 50, b"\0", b"", b"\x01")),
    Column(
        "c_uniqueidentifier",
        "uniqueidentifier",
        _quoted(
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "00000000-0000-0000-0000-000000000001",
            "00000000-0000-0000-0000-000000000000",
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
    ),
    Column("c_xml", "xml", _quoted("<a>" + "β" * 3000 + "</a>", "<a/>", "", '<a b="1">é</a>', prefix="N")),
]

ROW_COUNT = 5


def literal(column: Column, row: int) -> str:
    """The T-SQL literal of a cell; rows count from 0, and the last one is NULL."""
    return column.cells[row][0] if row < len(column.cells) else "NULL"


def text(column: Column, row: int) -> str | None:
    """The canonical text of a cell."""
    return column.cells[row][1] if row < len(column.cells) else None


def as_json() -> str:
    """`{columns: [{name, declaration, kind, literals, texts}], rows}`."""
    columns = [
        {
            "name": column.name,
            "declaration": column.declaration,
            "kind": column.kind,
            "literals": [literal(column, row) for row in range(ROW_COUNT)],
            "texts": [text(column, row) for row in range(ROW_COUNT)],
        }
        for column in COLUMNS
    ]
    return json.dumps({"rows": ROW_COUNT, "columns": columns}, ensure_ascii=False)


if __name__ == "__main__":
    print(as_json())
