"""Tables that pipelines make: their columns described in dlt's words for types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._connection import Connection
from ._partitions import quoted

#: Characters of a text that has no length and is part of a key: as many as an index takes.
_KEY_CHARACTERS = 450
_CHARACTERS_MAX = 4000
_BYTES_MAX = 8000


def make_schema(db: Connection, schema: str) -> None:
    """Make a schema, if it is missing."""
    text = schema.replace("'", "''")
    db.execute(f"IF SCHEMA_ID(N'{text}') IS NULL EXEC(N'CREATE SCHEMA {quoted(schema).replace(chr(39), chr(39) * 2)}')")


def make_table(db: Connection, schema: str, name: str, columns: Mapping[str, Mapping[str, Any]], key: Sequence[str]) -> None:
    """Make the schema, the table, and the columns that it lacks."""
    make_schema(db, schema)
    there = {row[0].lower() for row in db.fetch("SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(@table)", {"table": name})}
    declared = {column: _declared(column, hints, column in key) for column, hints in columns.items()}
    if not there:
        primary = [f"PRIMARY KEY ({', '.join(quoted(column) for column in key)})"] if key else []
        db.execute(f"CREATE TABLE {name} ({', '.join([*declared.values(), *primary])})")
        return
    for column, declaration in declared.items():
        if column.lower() not in there:
            # Rows that are there have no value for it.
            db.execute(f"ALTER TABLE {name} ADD {declaration.removesuffix(' NOT NULL')}")


def _declared(name: str, column: Mapping[str, Any], is_key: bool) -> str:
    null = " NOT NULL" if is_key or not column.get("nullable", True) else ""
    return f"{quoted(name)} {sql_type(column, is_key)}{null}"


def sql_type(column: Mapping[str, Any], is_key: bool = False) -> str:
    """Return the SQL type of a column of dlt's."""
    kind, precision, scale = column["data_type"], column.get("precision"), column.get("scale")
    if kind == "text":
        length = precision or (_KEY_CHARACTERS if is_key else None)
        return f"nvarchar({length if length and length <= _CHARACTERS_MAX else 'max'})"
    if kind == "binary":
        length = precision or (_BYTES_MAX // 9 if is_key else None)
        return f"varbinary({length if length and length <= _BYTES_MAX else 'max'})"
    if kind == "bigint":
        bits = precision or 64
        return "smallint" if bits <= 16 else "int" if bits <= 32 else "bigint"
    if kind in ("decimal", "wei"):
        return f"decimal({precision or 38}, {(9 if kind == 'decimal' else 0) if scale is None else scale})"
    digits = 6 if precision is None else min(precision, 7)
    if kind == "timestamp":
        return f"datetimeoffset({digits})" if column.get("timezone", True) else f"datetime2({digits})"
    return {"double": "float", "bool": "bit", "date": "date", "time": f"time({digits})", "json": "nvarchar(max)"}[kind]
