"""pymssql (FreeTDS's db-lib under Python) against the embedded server."""

from __future__ import annotations

import datetime
import decimal

import pymssql
import pytest
from pymssql import _mssql

import every_type
import python_cells
from relay import relayed


def connect(server, **options):
    """A connection, with autocommit by default."""
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


@pytest.mark.parametrize(
    ("mode", "encryption", "expected"),
    [
        ("off", "off", "none"),
        ("optional", "request", "login"),
        ("required", "require", "full"),
        ("strict", "strict", "strict"),
    ],
    ids=["without_tls", "with_an_encrypted_login_only", "with_full_tls", "with_strict_encryption"],
)
def test_logs_in_with(tls_modes, mode, encryption, expected):
    if encryption == "strict":
        pytest.skip("strict: pymssql 2.4.6 has no option for a certificate to trust")
    with relayed(tls_modes(mode)) as (endpoint, relay):
        with connect(endpoint, encryption=encryption) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT N'zwölf'")
            assert cursor.fetchone() == ("zwölf",)
            cursor.execute("SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID")
            assert cursor.fetchone() == ("TRUE" if expected == "full" else "FALSE",)
        assert relay.encryption() == expected


# pymssql writes three digits of a second; as text all six arrive.
TIMES = {"time", "datetime2", "datetimeoffset"}


@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_a_parameter_of_every_type(cursor, column):
    """The client writes parameters into the statement as literals."""
    cursor.execute(python_cells.create_table("#pymssql_parameter", [column]))
    for number, value in python_cells.rows([column]):
        if column.kind in TIMES and value is not None:
            value = value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
        cursor.execute("INSERT INTO #pymssql_parameter VALUES (%s, %s)", (number, value))
    cursor.execute("SELECT * FROM #pymssql_parameter ORDER BY id")
    assert python_cells.differences([column], cursor.fetchall()) == []


def test_executemany(cursor):
    cursor.execute("CREATE TABLE #pymssql_many (n int NOT NULL, t nvarchar(20) NULL)")
    rows = [(n, None if n % 3 == 0 else f"n{n}") for n in range(100)]
    cursor.executemany("INSERT INTO #pymssql_many VALUES (%d, %s)", rows)
    cursor.execute("SELECT n, t FROM #pymssql_many ORDER BY n")
    assert cursor.fetchall() == rows


def test_a_statement_is_prepared_executed_and_unprepared(cursor):
    cursor.execute("CREATE TABLE #pymssql_prepared (n int)")
    cursor.execute(
        "DECLARE @handle int; EXEC sp_prepare @handle OUTPUT, N'@n int', "
        "N'INSERT INTO #pymssql_prepared VALUES (@n * 2)'; SELECT @handle"
    )
    (handle,) = cursor.fetchone()
    for number in range(5):
        cursor.execute("EXEC sp_execute %d, %d", (handle, number))
    cursor.execute("EXEC sp_unprepare %d", (handle,))
    cursor.execute("SELECT n FROM #pymssql_prepared")
    assert cursor.fetchall() == [(0,), (2,), (4,), (6,), (8,)]


def test_output_parameters_of_callproc(cursor):
    outputs = cursor.callproc(
        "sp_executesql",
        ("SET @twice = @n * 2", "@n int, @twice int OUTPUT", 21, pymssql.output(int)),
    )
    assert outputs[-1] == 42


def test_errors_carry_number_state_class_and_line(server):
    connection = _mssql.connect(
        server=server.host, port=str(server.port), user=server.user, password=server.password
    )
    with pytest.raises(_mssql.MSSQLDatabaseException) as failed:
        connection.execute_non_query("SELECT 1\n\nRAISERROR('mine', 15, 7)")
    error = failed.value
    assert (error.number, error.state, error.severity, error.line) == (50000, 7, 15, 3)
    assert connection.execute_scalar("SELECT 1") == 1
    connection.close()


def test_several_results(cursor):
    cursor.execute("SELECT 1; SELECT 2 WHERE 1 = 0; SELECT 3, 4")
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    assert results == [[(1,)], [], [(3, 4)]]


def test_a_query_ends_at_its_timeout(server):
    """DB-Library sends an attention and gives the connection up."""
    with connect(server, timeout=1) as connection, pytest.raises(pymssql.Error, match="20003|timed out"):
        connection.cursor().execute("WAITFOR DELAY '00:01:00'")


def test_an_unread_result_is_cancelled(cursor):
    cursor.execute("SELECT value INTO #pymssql_digits FROM STRING_SPLIT(REPLICATE('1,', 999), ',')")
    cursor.execute("SELECT a.value FROM #pymssql_digits a, #pymssql_digits b")
    assert cursor.fetchone() == ("1",)
    cursor.execute("SELECT 1")
    assert cursor.fetchall() == [(1,)], "the next statement follows an attention"


def test_a_connection_is_reset_by_name(cursor):
    cursor.execute("CREATE TABLE #pymssql_left (n int); SET LOCK_TIMEOUT 1234")
    cursor.execute("EXEC sp_reset_connection")
    cursor.execute("SELECT @@LOCK_TIMEOUT, OBJECT_ID('tempdb..#pymssql_left')")
    assert cursor.fetchall() == [(-1, None)]


# What FreeTDS's bulk copy under pymssql 2.4.6 cannot carry: times and zones, unique identifiers and xml are
# no types of it, the longest decimals fail, a date must be a datetime, varchar columns get raw UTF-8, and
# money ends the process with an abort in its own memory.
BULK = python_cells.columns(
    *("time", "datetimeoffset", "uniqueidentifier", "xml", "c_decimal38", "date", "char", "varchar", "text"),
    *("money", "smallmoney"),
)


def as_bulk(column, value):
    """What it makes of values: '' is NULL, trailing blanks and digits beyond milliseconds are cut off."""
    if value in ("", b""):
        return None
    if column.kind in ("nvarchar", "ntext"):
        return value.rstrip(" ") or " "
    if column.kind == "datetime2":
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value


@pytest.mark.parametrize("column", BULK, ids=lambda column: column.name)
def test_bulk_copy_of_every_type(server, cursor, column):
    cursor.execute("DROP TABLE IF EXISTS pymssql_one")
    cursor.execute(python_cells.create_table("pymssql_one", [column]))
    rows = python_cells.rows([column])
    if column.kind == "datetime2":
        # It guesses the century of years below 100: 0001 becomes 2001.
        cursor.execute(python_cells.inserts("pymssql_one", [column])[1])
        del rows[1]
    with connect(server) as connection:
        connection.bulk_copy("pymssql_one", rows)
    cursor.execute("SELECT * FROM pymssql_one ORDER BY id")
    assert python_cells.differences([column], cursor.fetchall(), as_bulk) == []


def test_a_bulk_copy_that_breaks_off_leaves_nothing(server, cursor):
    cursor.execute(
        "DROP TABLE IF EXISTS pymssql_breaks; CREATE TABLE pymssql_breaks (n int, t nvarchar(500))"
    )

    def rows():
        for number in range(2000):
            yield (number, "x" * 400)
        raise KeyError("enough")

    connection = connect(server)
    with pytest.raises(KeyError, match="enough"):
        connection.bulk_copy("pymssql_breaks", rows(), batch_size=10_000)
    connection.close()
    cursor.execute("SET LOCK_TIMEOUT 20000")
    cursor.execute("SELECT COUNT(*) FROM pymssql_breaks WITH (TABLOCKX)")
    assert cursor.fetchone() == (0,)
