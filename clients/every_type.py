"""One table of every type that FreeTDS can carry, with ordinary, boundary and NULL values."""

from __future__ import annotations

import datetime
import decimal
import uuid

COLUMNS = [
    ("id", "int NOT NULL"),
    ("c_bit", "bit NULL"),
    ("c_tinyint", "tinyint NULL"),
    ("c_smallint", "smallint NULL"),
    ("c_int", "int NULL"),
    ("c_bigint", "bigint NULL"),
    ("c_real", "real NULL"),
    ("c_float", "float NULL"),
    ("c_decimal", "decimal(18,4) NULL"),
    ("c_decimal38", "decimal(38,10) NULL"),
    ("c_money", "money NULL"),
    ("c_smallmoney", "smallmoney NULL"),
    ("c_date", "date NULL"),
    ("c_time", "time(7) NULL"),
    ("c_datetime", "datetime NULL"),
    ("c_datetime2", "datetime2(6) NULL"),
    ("c_smalldatetime", "smalldatetime NULL"),
    ("c_char", "char(10) NULL"),
    ("c_varchar", "varchar(50) NULL"),
    ("c_varcharmax", "varchar(max) NULL"),
    ("c_nchar", "nchar(5) NULL"),
    ("c_nvarchar", "nvarchar(50) NULL"),
    ("c_nvarcharmax", "nvarchar(max) NULL"),
    ("c_binary", "binary(4) NULL"),
    ("c_varbinary", "varbinary(20) NULL"),
    ("c_varbinarymax", "varbinary(max) NULL"),
    ("c_uniqueidentifier", "uniqueidentifier NULL"),
]

GUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")

# As T-SQL literals, and as the Python values that they are.
ROWS = [
    (
        ["1", "1", "255", "-32768", "2147483647", "-9223372036854775808", "0.5", "1.7976931348623157e308"]
        + ["12345678901234.5678", "1234567890123456789012345678.0123456789", "922337203685477.5807"]
        + ["-214748.3648", "'9999-12-31'", "'23:59:59.9999999'", "'1753-01-01 00:00:00.003'"]
        + ["'9999-12-31 23:59:59.999999'", "'2079-06-06 23:59'", "'abc'", "'déjà vu'", "'x'"]
        + ["N'ąβ'", "N'Ελληνικά 日本語'", "N'🚀 long'", "0xDEADBEEF", "0x00FF", "0x01"]
        + [f"'{GUID}'"],
        [1, True, 255, -32768, 2147483647, -9223372036854775808, 0.5, 1.7976931348623157e308]
        + [decimal.Decimal("12345678901234.5678")]
        + [decimal.Decimal("1234567890123456789012345678.0123456789")]
        + [decimal.Decimal("922337203685477.5807"), decimal.Decimal("-214748.3648")]
        + [datetime.date(9999, 12, 31), datetime.time(23, 59, 59, 999999)]
        + [datetime.datetime(1753, 1, 1, 0, 0, 0, 3000)]
        + [datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)]
        + [datetime.datetime(2079, 6, 6, 23, 59)]
        + ["abc       ", "déjà vu", "x", "ąβ   ", "Ελληνικά 日本語", "🚀 long"]
        + [b"\xde\xad\xbe\xef", b"\x00\xff", b"\x01", GUID],
    ),
    (["2"] + ["NULL"] * (len(COLUMNS) - 1), [2] + [None] * (len(COLUMNS) - 1)),
    (
        ["3", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "'0001-01-01'", "'00:00:00'"]
        + ["'1900-01-01'", "'0001-01-01'", "'1900-01-01'", "''", "''", "''", "N''", "N''", "N''"]
        + ["0x00000000", "0x", "0x", "'00000000-0000-0000-0000-000000000000'"],
        [3, False, 0, 0, 0, 0, 0.0, 0.0, decimal.Decimal("0.0000"), decimal.Decimal("0E-10")]
        + [decimal.Decimal("0.0000"), decimal.Decimal("0.0000"), datetime.date(1, 1, 1)]
        + [datetime.time(0), datetime.datetime(1900, 1, 1), datetime.datetime(1, 1, 1)]
        + [datetime.datetime(1900, 1, 1), " " * 10, "", "", " " * 5, "", "", b"\0" * 4, b"", b""]
        + [uuid.UUID(int=0)],
    ),
]


def create_table(name: str) -> str:
    """CREATE TABLE text."""
    columns = ", ".join(f"{column} {declaration}" for column, declaration in COLUMNS)
    return f"CREATE TABLE {name} ({columns})"


def insert_statements(name: str) -> list[str]:
    """One INSERT a row."""
    return [f"INSERT INTO {name} VALUES ({', '.join(literals)})" for literals, _ in ROWS]
