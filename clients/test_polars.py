"""Polars: read_database and write_database over SQLAlchemy, pyodbc, pymssql and mssql-python."""

from __future__ import annotations

import datetime
import decimal

import mssql_python
import polars as pl
import pymssql
import pytest
import sqlalchemy as sa

import odbc
from sqlalchemy_engines import DRIVERS, engine
from test_pyodbc import connect as connect_pyodbc

FRAME = pl.DataFrame(
    {
        "id": [1, 2, 3],
        "ratio": [0.5, None, -1e300],
        "flag": [True, None, False],
        "text": ["naïve 日本", None, ""],
        "day": [datetime.date(2024, 2, 29), None, datetime.date(1753, 1, 1)],
        "moment": [datetime.datetime(2024, 2, 29, 12, 34, 56), None, datetime.datetime(1900, 1, 1)],
        "amount": [decimal.Decimal("1.50"), None, decimal.Decimal("-99999.99")],
    },
    schema_overrides={"amount": pl.Decimal(9, 2), "id": pl.Int64},
)


@pytest.mark.parametrize("driver", DRIVERS)
def test_write_database_and_read_database(server, driver):
    database = engine(server, driver)
    table = f"polars_{driver}"
    # Without types Polars makes varchar columns of text and of decimals.
    types = {"dtype": {"text": sa.Unicode(50), "amount": sa.Numeric(9, 2)}}
    written = FRAME.write_database(table, database, if_table_exists="replace", engine_options=types)
    assert written == 3
    with database.connect() as connection:
        read = pl.read_database(f"SELECT * FROM {table} ORDER BY id", connection)
    assert read.rows() == FRAME.rows()
    assert FRAME.head(1).write_database(table, database, if_table_exists="append") == 1
    with database.connect() as connection:
        count = pl.read_database(f"SELECT COUNT(*) AS n FROM {table}", connection)
    assert count.rows() == [(4,)]
    database.dispose()


def raw_connections(server):
    """A connection of each driver that Polars reads from directly."""
    mssql_python.pooling(enabled=False)
    return {
        "pyodbc": lambda: connect_pyodbc(server),
        "pymssql": lambda: pymssql.connect(
            server=server.host, port=str(server.port), user=server.user, password=server.password
        ),
        "mssql_python": lambda: mssql_python.connect(odbc.server_options(server)),
    }


@pytest.mark.parametrize("driver", ["pyodbc", "pymssql", "mssql_python"])
def test_read_database_from_a_connection(server, driver):
    query = (
        "SELECT CAST(value AS int) AS n, N'x' + value AS t, CAST(value AS decimal(9,2)) / 4 AS d, "
        "NULLIF(CAST(value AS bigint), 3) AS missing FROM STRING_SPLIT('1,2,3', ',')"
    )
    with raw_connections(server)[driver]() as connection:
        read = pl.read_database(query, connection)
    assert read.columns == ["n", "t", "d", "missing"]
    quarters = [decimal.Decimal(n) / 4 for n in (1, 2, 3)]
    assert read.rows() == [(1, "x1", quarters[0], 1), (2, "x2", quarters[1], 2), (3, "x3", quarters[2], None)]


def test_read_database_in_batches(server):
    query = "SELECT value AS t FROM STRING_SPLIT(REPLICATE(CAST('ab,' AS varchar(max)), 2500), ',')"
    with connect_pyodbc(server) as connection:
        batches = list(pl.read_database(query, connection, iter_batches=True, batch_size=1000))
    assert [len(batch) for batch in batches] == [1000, 1000, 501]
