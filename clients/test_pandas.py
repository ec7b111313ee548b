"""pandas over SQLAlchemy: read_sql, read_sql_table, to_sql, with and without fast_executemany."""

from __future__ import annotations

import decimal

import pandas as pd
import pytest
import sqlalchemy as sa

import cells
import python_cells
from sqlalchemy_engines import engine

WAYS = {
    "pymssql": ("pymssql", {}),
    "pyodbc": ("pyodbc", {}),
    "pyodbc_fast_executemany": ("pyodbc", {"fast_executemany": True}),
}


@pytest.fixture(scope="module", params=WAYS)
def database(server, request):
    """An engine for each way to send rows."""
    driver, options = WAYS[request.param]
    made = engine(server, driver, **options)
    yield made
    made.dispose()


def frame(rows: int) -> pd.DataFrame:
    """Columns of every kind that pandas has, with missing values."""
    numbers = range(rows)
    return pd.DataFrame(
        {
            "id": pd.array(numbers, dtype="int64"),
            "whole": pd.array([None if n % 5 == 0 else n * 3 for n in numbers], dtype="Int64"),
            "ratio": [None if n % 7 == 0 else n / 8 for n in numbers],
            "flag": pd.array([None if n % 4 == 0 else n % 2 == 0 for n in numbers], dtype="boolean"),
            "text": [None if n % 3 == 0 else f"naïve {n} 日本" for n in numbers],
            "moment": pd.to_datetime(
                [None if n % 6 == 0 else f"2024-02-29 12:00:{n % 60:02}" for n in numbers]
            ),
        }
    )


@pytest.mark.parametrize("method", [None, "multi"], ids=["row_by_row", "multi"])
def test_to_sql_and_read_sql_round_trip(database, method):
    sent = frame(150)
    chunk = 100 if method == "multi" else None
    # Without a type for it pandas makes a varchar column of text, which has no 日本.
    sent.to_sql(
        "pandas_frame",
        database,
        if_exists="replace",
        index=False,
        method=method,
        chunksize=chunk,
        dtype={"text": sa.Unicode(50)},
    )
    with database.connect() as connection:
        read = pd.read_sql("SELECT * FROM pandas_frame ORDER BY id", connection)
    for name in sent.columns:
        wanted = [None if pd.isna(value) else value for value in sent[name]]
        found = [None if pd.isna(value) else value for value in read[name]]
        assert found == wanted, name


def test_to_sql_appends(database):
    sent = frame(10)
    sent.to_sql("pandas_append", database, if_exists="replace", index=False)
    sent.to_sql("pandas_append", database, if_exists="append", index=False)
    with database.connect() as connection:
        count = pd.read_sql("SELECT COUNT(*) AS n, SUM(id) AS s FROM pandas_append", connection)
    assert count.to_dict("records") == [{"n": 20, "s": 90}]


def test_to_sql_with_an_index_and_types(database):
    sent = pd.DataFrame({"amount": [decimal.Decimal("1.50"), None]}, index=pd.Index(["a", "b"], name="code"))
    types = {"code": sa.String(10), "amount": sa.Numeric(9, 2)}
    sent.to_sql("pandas_index", database, if_exists="replace", dtype=types)
    with database.connect() as connection:
        read = pd.read_sql_table("pandas_index", connection, index_col="code")
    assert read["amount"].iloc[0] == 1.5 and pd.isna(read["amount"].iloc[1])
    assert list(read.index) == ["a", "b"]


def test_read_sql_with_parameters_and_in_chunks(database):
    frame(50).to_sql("pandas_chunks", database, if_exists="replace", index=False)
    query = sa.text("SELECT id FROM pandas_chunks WHERE id >= :least ORDER BY id")
    with database.connect() as connection:
        chunks = list(pd.read_sql(query, connection, params={"least": 30}, chunksize=8))
    assert [len(chunk) for chunk in chunks] == [8, 8, 4]
    assert [value for chunk in chunks for value in chunk["id"]] == list(range(30, 50))


def test_read_sql_of_every_type(database):
    # pandas takes bytes for text, and has no column of values with a zone each.
    columns = python_cells.columns("datetimeoffset", "uniqueidentifier", "binary", "varbinary", "image")
    with database.connect() as connection:
        connection.exec_driver_sql(python_cells.create_table("#pandas_types", columns))
        for statement in python_cells.inserts("#pandas_types", columns):
            connection.exec_driver_sql(statement.replace("%", "%%"))
        read = pd.read_sql(
            "SELECT * FROM #pandas_types ORDER BY id",
            connection,
            dtype_backend="numpy_nullable",
            coerce_float=False,
        )
    assert len(read) == cells.ROW_COUNT
    for column in columns:
        found = [None if pd.isna(value) else value for value in read[column.name]]
        wanted = [python_cells.value(column, row) for row in range(cells.ROW_COUNT)]
        # pandas makes text of what it has no column for.
        if column.kind in python_cells.DECIMALS | {"date", "time"}:
            wanted = [None if value is None else str(value) for value in wanted]
        assert [_plain(value) for value in found] == wanted, column.name


def _plain(value: object) -> object:
    return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value
