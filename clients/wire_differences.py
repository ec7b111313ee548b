"""How bulkwire's bulk stream differs from other clients', kind by kind; docs/wire-comparison.md says why.

A kind names its topic on that page, the place of the difference (`bulk_shapes.Difference`), and regular
expressions for the column's declaration and for what both sides send.
"""

from __future__ import annotations

from bulk_shapes import Explained

ANY = ".*"
FIXED_TYPES = "(bit|tinyint|smallint|int|bigint|real|float|money|smallmoney|datetime|smalldatetime) NOT NULL"
DECIMALS = r"(decimal|numeric)\(.*"
MAX_TYPES = r"(n?varchar|varbinary)\(max\).*|xml.*"
LOBS = "(text|ntext|image) .*"
TEMPORAL = r"(date|time|datetime|datetime2|datetimeoffset|smalldatetime)\b.*"
OWN_STATEMENT = r"INSERT BULK \[dbo\]\.\[wire_ours\] "
OWN_OPTIONS = r" WITH \(KEEP_NULLS, TABLOCK, ROWS_PER_BATCH = \d+\)"

NOT_NULL = [
    Explained("Fixed tokens for NOT NULL", "token", FIXED_TYPES, "[A-Z]+[1248]?", "[A-Z]+N"),
    Explained("Fixed tokens for NOT NULL", "frame", FIXED_TYPES, "no length", "a byte of length"),
]
KNOWN_LENGTHS = [
    Explained(
        "Lengths of large values", "frame", MAX_TYPES, "known length, no chunks", "unknown length, .* chunks"
    ),
    Explained(
        "Lengths of large values",
        "frame",
        MAX_TYPES,
        "known length, one chunks",
        "unknown length, some chunks",
    ),
]
NARROW_DECIMALS = Explained("Widths of decimals", "frame", DECIMALS, "(5|9|13) bytes", "17 bytes")
SPACED_DECIMALS = Explained("Spelling of INSERT BULK", "declaration", DECIMALS, r".*, \d+\)", r".*,\d+\)")


def table_of(name: str) -> Explained:
    """How the statement begins."""
    return Explained("Spelling of INSERT BULK", "statement", "", OWN_STATEMENT, name)


def hints(theirs: str) -> Explained:
    """What the other client says in its WITH clause."""
    return Explained("Hints", "options", "", OWN_OPTIONS, theirs)


RUST = [
    *NOT_NULL,
    *KNOWN_LENGTHS,
    Explained("Byte-order mark in XML", "value", "xml .*", ANY, "fffe.*"),
    Explained("The end of the stream", "end", "", "fd(00){12}", "fd(00){8}"),
    Explained("Sizes without effect", "size", DECIMALS, "length 17, .*", "length 10[68], .*"),
    Explained("Sizes without effect", "size", "(text|image) .*", "length 0x7fffffff", "length 0x7ffffffe"),
    Explained("Spelling of INSERT BULK", "declaration", r"numeric\(.*", "numeric.*", "decimal.*"),
]

EXPLAINED: dict[str, list[Explained]] = {
    "odbc_bcp": [
        *NOT_NULL,
        *KNOWN_LENGTHS,
        NARROW_DECIMALS,
        SPACED_DECIMALS,
        table_of("insert bulk wire_odbc"),
        hints(r" ?with\(KEEP_NULLS\)"),
        Explained("Order of columns", "column order", "", "the table's", "another"),
        Explained("Flags of columns", "flags", ".* NOT NULL", "0008", "000[46]"),
        Explained("Flags of columns", "flags", ".* NULL", "0009", "000[57]"),
        Explained("Sizes without effect", "size", DECIMALS, "length 17, .*", "length 19, .*"),
        Explained("Sizes without effect", "size", "ntext .*", "length 0x7ffffffe", "length 0x7fffffff"),
        Explained("Sizes without effect", "size", "sql_variant .*", "length 0x1f49", "length 0x1f40"),
        Explained(
            "Types of variants",
            "frame",
            "sql_variant .*",
            "(NVARCHAR|BIGVARBINARY) .*",
            "(NVARCHAR|BIGVARBINARY) .*",
        ),
        Explained("Collation of XML", "collation", "xml .*", "0904d00034", "0000000000"),
    ],
    "mssql_tds": [
        *RUST,
        table_of(r"INSERT BULK \[mssql_tds_bulk(_not_null)?\] "),
        hints(r" WITH \(KEEP_NULLS, TABLOCK\)"),
    ],
    "mssql_python_arrow": [
        *RUST,
        table_of(r"INSERT BULK \[wire_arrow\] "),
        hints(r" WITH \(KEEP_NULLS\)"),
        Explained("Python's microseconds", "value", r"datetime2\(7\) .*", ANY, ANY),
        Explained("Python's time zones", "value", r"datetimeoffset\(7\) .*", ANY, ".*0000"),
    ],
    "mssql_jdbc": [
        *NOT_NULL,
        *KNOWN_LENGTHS,
        NARROW_DECIMALS,
        table_of(r"INSERT BULK \[jdbc_bulk_(native|not_null)\] "),
        hints(r" +(with \(KEEP_NULLS, TABLOCK\))?"),
        Explained("Spelling of INSERT BULK", "declaration", ANY, "[a-z].*", "[A-Z].*"),
        Explained(
            "Spelling of INSERT BULK", "declared collation", "n.*", "SQL_Latin1_General_CP1_CI_AS", "None"
        ),
        *(
            Explained("Types of the source", place, f"({TEMPORAL} NOT NULL|uniqueidentifier .*)", ANY, ANY)
            for place in ("collation", "frame", "size", "token", "value")
        ),
        *(Explained("Deprecated large types", place, LOBS, ANY, ANY) for place in ("frame", "size", "token")),
    ],
}
