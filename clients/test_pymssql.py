"""pymssql (FreeTDS's db-lib under Python) against the embedded server."""

from __future__ import annotations

import datetime
import decimal

import pymssql
import pytest

import every_type


def connect(server, **options):
    """A connection with autocommit unless told otherwise."""
    return pymssql.connect(
        server=server.host,
        port=str(server.port),
        user=server.user,
        password=server.password,
        **{"autocommit": True, "database": "master", "login_timeout": 10, "timeout": 30, **options},
    )


@pytest.fixture
def cursor(server):
    """A cursor on a connection of its own."""
    with connect(server) as connection, connection.cursor() as cursor:
        yield cursor


def test_logs_in_and_selects(cursor):
    cursor.execute("SELECT 1 AS one, N'zwölf' AS twelve, CAST(NULL AS int) AS nothing")
    assert [column[0] for column in cursor.description] == ["one", "twelve", "nothing"]
    assert cursor.fetchall() == [(1, "zwölf", None)]


def test_wrong_password_is_refused(server):
    with pytest.raises(pymssql.OperationalError) as refused:
        pymssql.connect(server=server.host, port=str(server.port), user=server.user, password="wrong")
    assert "18456" in str(refused.value)


def test_every_type_reads_back_cell_by_cell(cursor):
    cursor.execute("IF OBJECT_ID('pymssql_types') IS NOT NULL DROP TABLE pymssql_types")
    cursor.execute(every_type.create_table("pymssql_types"))
    for statement in every_type.insert_statements("pymssql_types"):
        cursor.execute(statement)
    cursor.execute("SELECT * FROM pymssql_types ORDER BY id")
    names = [column[0] for column in cursor.description]
    for row, (_, expected) in zip(cursor.fetchall(), every_type.ROWS, strict=True):
        for name, value, wanted in zip(names, row, expected, strict=True):
            assert value == wanted, f"{name}: {value!r} is not {wanted!r}"


def test_parameters(cursor):
    cursor.execute(
        "SELECT %s AS text, %d AS number, %s AS amount, %s AS nothing",
        ("O'Brien", 42, decimal.Decimal("1.50"), None),
    )
    assert cursor.fetchall() == [("O'Brien", 42, decimal.Decimal("1.50"), None)]


def test_errors_carry_the_server_s_number(cursor):
    with pytest.raises(pymssql.ProgrammingError) as missing:
        cursor.execute("SELECT * FROM no_such_table")
    assert missing.value.args[0] == 208
    cursor.execute("SELECT 1")
    assert cursor.fetchone() == (1,), "the connection goes on after an error"


def test_rollback_takes_everything_back(server, cursor):
    cursor.execute("IF OBJECT_ID('pymssql_rollback') IS NOT NULL DROP TABLE pymssql_rollback")
    cursor.execute("CREATE TABLE pymssql_rollback (n int NOT NULL)")
    with connect(server, autocommit=False) as connection:
        inner = connection.cursor()
        inner.execute("INSERT INTO pymssql_rollback VALUES (1)")
        inner.execute("SELECT COUNT(*) FROM pymssql_rollback")
        assert inner.fetchone() == (1,)
        connection.rollback()
        inner.execute("INSERT INTO pymssql_rollback VALUES (2)")
        connection.commit()
        inner.execute("INSERT INTO pymssql_rollback VALUES (3)")
    cursor.execute("SELECT n FROM pymssql_rollback")
    assert cursor.fetchall() == [(2,)]


def test_bulk_copy_reads_back_cell_by_cell(server, cursor):
    cursor.execute("IF OBJECT_ID('pymssql_bulk') IS NOT NULL DROP TABLE pymssql_bulk")
    cursor.execute(
        "CREATE TABLE pymssql_bulk (id int NOT NULL, amount decimal(18,4) NULL, day date NULL, "
        "moment datetime2(6) NULL, name nvarchar(100) NULL, "
        "code varchar(20) NULL, flag bit NULL, ratio float NULL)"
    )
    # pymssql sends times with three digits of a second, guesses the century of dates, and sends '' as NULL.
    rows = [
        (
            1,
            decimal.Decimal("1.2500"),
            datetime.datetime(2024, 2, 29),
            datetime.datetime(2024, 2, 29, 1, 2, 3, 120000),
            "Ångström",
            "abc",
            True,
            0.1,
        ),
        (2, None, None, None, None, None, None, None),
        (
            3,
            decimal.Decimal("-99999999999999.9999"),
            datetime.datetime(1753, 1, 1),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 990000),
            "ß",
            "x" * 20,
            False,
            -1e300,
        ),
    ]
    with connect(server, autocommit=False) as connection:
        connection.bulk_copy("pymssql_bulk", rows, tablock=True, batch_size=2)
        connection.commit()
    cursor.execute("SELECT * FROM pymssql_bulk ORDER BY id")
    # bulk_copy takes a datetime for a date column, and the query gives a date back.
    expected = [(*row[:2], row[2] and row[2].date(), *row[3:]) for row in rows]
    assert cursor.fetchall() == expected


def test_bulk_copy_of_a_duplicate_key_loads_nothing(server, cursor):
    cursor.execute("IF OBJECT_ID('pymssql_key') IS NOT NULL DROP TABLE pymssql_key")
    cursor.execute("CREATE TABLE pymssql_key (id int NOT NULL PRIMARY KEY, v int NULL)")
    with connect(server) as connection, pytest.raises(Exception, match="2627"):
        connection.bulk_copy("pymssql_key", [(1, 1), (2, 2), (1, 3)])
    cursor.execute("SELECT COUNT(*) FROM pymssql_key")
    assert cursor.fetchone() == (0,)
