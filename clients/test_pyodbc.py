"""Microsoft's ODBC Driver 18 through unixODBC, driven from pyodbc: connections, statements, errors."""

from __future__ import annotations

import datetime
import decimal
import os
import struct
import subprocess
import sys
import threading
import time
import uuid

import pyodbc
import pytest

import cells
import odbc
import python_cells
from relay import relayed

SQL_SS_TIMESTAMPOFFSET = -155
LONG_QUERY = "SELECT COUNT_BIG(*) FROM #digits a, #digits b, #digits c, #digits d, #digits e, #digits f"


def connect(server, **options: str) -> pyodbc.Connection:
    """A connection in autocommit mode."""
    pyodbc.native_uuid = True
    connection = pyodbc.connect(odbc.connection_string(server, **options), autocommit=True, timeout=10)
    connection.add_output_converter(SQL_SS_TIMESTAMPOFFSET, offset_moment)
    return connection


def offset_moment(raw: bytes) -> datetime.datetime:
    """SQL_SS_TIMESTAMPOFFSET_STRUCT; pyodbc leaves the type to its users."""
    *moment, nanoseconds, hours, minutes = struct.unpack("<hHHHHHIhh", raw)
    zone = datetime.timezone(datetime.timedelta(hours=hours, minutes=minutes))
    return datetime.datetime(*moment, nanoseconds // 1000, zone)


@pytest.fixture
def connection(server):
    """A connection of its own."""
    connection = connect(server)
    yield connection
    connection.close()


@pytest.fixture
def cursor(connection):
    """Its cursor."""
    return connection.cursor()


def test_logs_in_without_tls(tls_modes):
    with relayed(tls_modes("off")) as (server, relay):
        connection = connect(server, Encrypt="no")
        assert connection.execute("SELECT 1").fetchval() == 1
        connection.close()
        assert relay.encryption() == "none"


def test_logs_in_with_an_encrypted_login_only(server):
    with relayed(server) as (server, relay):
        connection = connect(server, Encrypt="no")
        assert connection.execute("SELECT 1").fetchval() == 1
        connection.close()
        assert relay.encryption() == "login"


def test_logs_in_with_full_tls(tls_modes):
    with relayed(tls_modes("required")) as (server, relay):
        connection = connect(server, Encrypt="yes")
        assert connection.execute("SELECT N'zwölf'").fetchval() == "zwölf"
        connection.close()
        assert relay.encryption() == "full"


def test_logs_in_with_strict_encryption(tls_modes):
    with relayed(tls_modes("strict")) as (server, relay):
        connection = connect(server, Encrypt="strict", ServerCertificate=str(server.certificate))
        assert connection.execute("SELECT 1").fetchval() == 1
        connection.close()
        assert relay.encryption() == "strict"


def test_refuses_an_unknown_certificate(server):
    with pytest.raises(pyodbc.Error, match="SSL|certificate"):
        connect(server, TrustServerCertificate="no")


def test_a_wrong_password_is_18456(server):
    with pytest.raises(pyodbc.InterfaceError) as refused:
        connect(server, PWD="wrong")
    assert refused.value.args[0] == "28000"
    assert "18456" in refused.value.args[1] and "Login failed for user" in refused.value.args[1]


def test_a_missing_database_is_4060(server):
    with pytest.raises(pyodbc.Error, match="4060"):
        connect(server, Database="no_such_database")


def test_the_driver_learns_what_it_asks_at_connect(connection):
    assert connection.getinfo(pyodbc.SQL_DBMS_NAME) == "Microsoft SQL Server"
    assert connection.getinfo(pyodbc.SQL_DBMS_VER) == "16.00.1000"
    assert connection.getinfo(pyodbc.SQL_DATABASE_NAME) == "master"
    assert connection.getinfo(pyodbc.SQL_USER_NAME) == "dbo"
    assert connection.getinfo(pyodbc.SQL_DATA_SOURCE_READ_ONLY) is False


def test_mars_is_refused_at_connect(server):
    # The server answers MARS = 0 in PRELOGIN; the driver gives up without a message of its own.
    with pytest.raises(pyodbc.Error):
        connect(server, MARS_Connection="yes")
    assert connect(server, MARS_Connection="no").execute("SELECT 1").fetchval() == 1


def test_without_mars_a_second_statement_waits_for_the_first(connection):
    first, second = connection.cursor(), connection.cursor()
    first.execute("SELECT value FROM STRING_SPLIT(REPLICATE(CAST('x,' AS varchar(max)), 50000), ',')")
    with pytest.raises(pyodbc.Error, match="busy with results"):
        second.execute("SELECT 1")
    first.close()
    assert second.execute("SELECT 1").fetchval() == 1


def test_every_type_reads_back_cell_by_cell(cursor):
    columns = python_cells.columns()
    cursor.execute(python_cells.create_table("#read", columns))
    for statement in python_cells.inserts("#read", columns):
        cursor.execute(statement)
    rows = cursor.execute("SELECT * FROM #read ORDER BY id").fetchall()
    assert python_cells.differences(columns, rows) == []


def as_parameter(column, value):
    """What arrives: pyodbc binds a time without its fraction and a datetime without its zone."""
    if column.kind == "time":
        return value.replace(microsecond=0)
    if column.kind == "datetimeoffset":
        return value.replace(tzinfo=datetime.UTC)
    return value


def as_fast_parameter(column, value):
    """An array of parameters is bound by the server's description: the time's fraction arrives."""
    return value if column.kind == "time" else as_parameter(column, value)


@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_a_parameter_of_every_type(cursor, column):
    cursor.execute(python_cells.create_table("#parameter", [column]))
    for row in python_cells.rows([column]):
        cursor.execute("INSERT INTO #parameter VALUES (?, ?)", row)
    rows = cursor.execute("SELECT * FROM #parameter ORDER BY id").fetchall()
    assert python_cells.differences([column], rows, as_parameter) == []


# `cells` holds the others' text as hexadecimal bits, which is not their T-SQL spelling.
SPELLED = python_cells.columns("real", "float", "binary", "varbinary", "image")


@pytest.mark.parametrize("column", SPELLED, ids=lambda column: column.name)
def test_a_text_parameter_for_every_type(cursor, column):
    """The server converts a string parameter to the column's type; times and zones arrive whole."""
    cursor.execute(python_cells.create_table("#text", [column]))
    for row in range(cells.ROW_COUNT):
        text = cells.text(column, row)
        if text is not None and column.name == "c_smalldatetime":
            # Text with more than three digits of a second is none of its values (295).
            text = text[:19]
        cursor.execute("INSERT INTO #text VALUES (?, ?)", row + 1, text)
    rows = cursor.execute("SELECT * FROM #text ORDER BY id").fetchall()
    assert python_cells.differences([column], rows) == []


def test_parameters_in_a_query(cursor):
    row = cursor.execute(
        "SELECT ? + 1, ? + N'!', ?, DATEADD(day, 1, ?), ?, ?",
        41,
        "O'Brien",
        None,
        datetime.date(2024, 2, 28),
        decimal.Decimal("-1.50"),
        b"\0\xff",
    ).fetchone()
    assert tuple(row) == (
        42,
        "O'Brien!",
        None,
        datetime.date(2024, 2, 29),
        decimal.Decimal("-1.50"),
        b"\0\xff",
    )


def test_a_prepared_statement_runs_again_and_again(cursor):
    cursor.execute("CREATE TABLE #again (n int NOT NULL, t nvarchar(20) NULL)")
    for number in range(50):
        cursor.execute("INSERT INTO #again VALUES (?, ?)", number, None if number % 7 == 0 else f"n{number}")
    for number in (0, 1, 48):
        found = cursor.execute("SELECT t FROM #again WHERE n = ?", number).fetchall()
        assert [tuple(row) for row in found] == [(None if number % 7 == 0 else f"n{number}",)]


@pytest.mark.parametrize("fast", [False, True], ids=["row_by_row", "fast"])
@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_executemany_of_every_type(cursor, column, fast):
    cursor.execute(python_cells.create_table("#many", [column]))
    cursor.fast_executemany = fast
    cursor.executemany("INSERT INTO #many VALUES (?, ?)", python_cells.rows([column]))
    rows = cursor.execute("SELECT * FROM #many ORDER BY id").fetchall()
    adapt = as_fast_parameter if fast else as_parameter
    assert python_cells.differences([column], rows, adapt) == []


def test_fast_executemany_stops_at_the_first_bad_row(connection, cursor):
    cursor.execute("CREATE TABLE #key (n int NOT NULL PRIMARY KEY)")
    cursor.fast_executemany = True
    connection.autocommit = False
    with pytest.raises(pyodbc.IntegrityError, match="2627"):
        cursor.executemany("INSERT INTO #key VALUES (?)", [(n % 90,) for n in range(100)])
    connection.rollback()
    assert cursor.execute("SELECT COUNT(*) FROM #key").fetchval() == 0


def test_errors_carry_state_and_number(cursor):
    with pytest.raises(pyodbc.ProgrammingError) as missing:
        cursor.execute("SELECT * FROM no_such_table")
    assert missing.value.args[0] == "42S02"
    assert "Invalid object name 'no_such_table'. (208)" in missing.value.args[1]
    assert cursor.execute("SELECT 1").fetchval() == 1, "the connection goes on after an error"


@pytest.mark.parametrize(
    ("statement", "state", "number"),
    [
        ("SELEC 1", "42000", 2812),
        ("SELECT nothing", "42S22", 207),
        ("INSERT INTO #errors VALUES (NULL, 1)", "23000", 515),
        ("INSERT INTO #errors VALUES (1, 1); INSERT INTO #errors VALUES (1, 2)", "23000", 2627),
        ("INSERT INTO #errors VALUES (2, 100)", "23000", 547),
        ("SELECT CAST('x' AS int)", "22018", 245),
        ("SELECT 1 / 0", "22012", 8134),
        ("SELECT CAST(300 AS tinyint)", "22003", 220),
        ("CREATE TABLE #errors (n int)", "42S01", 2714),
        ("RAISERROR('mine', 16, 3)", "42000", 50000),
        ("THROW 51234, 'thrown', 1", "42000", 51234),
    ],
)
def test_sql_states_of_the_common_errors(cursor, statement, state, number):
    cursor.execute("CREATE TABLE #errors (n int NOT NULL PRIMARY KEY, m int CHECK (m < 10))")
    with pytest.raises(pyodbc.Error) as failed:
        cursor.execute(statement)
        while cursor.nextset():
            pass
    assert failed.value.args[0] == state, failed.value
    assert f"({number})" in failed.value.args[1], failed.value


def test_rollback_takes_everything_back(connection, cursor):
    cursor.execute("CREATE TABLE #undo (n int NOT NULL)")
    connection.autocommit = False
    cursor.execute("INSERT INTO #undo VALUES (1)")
    connection.rollback()
    cursor.execute("INSERT INTO #undo VALUES (2)")
    connection.commit()
    cursor.execute("INSERT INTO #undo VALUES (3)")
    assert cursor.execute("SELECT @@TRANCOUNT").fetchval() == 1
    connection.rollback()
    connection.autocommit = True
    assert [tuple(row) for row in cursor.execute("SELECT n FROM #undo")] == [(2,)]
    assert cursor.execute("SELECT @@TRANCOUNT").fetchval() == 0


def test_isolation_levels_are_accepted(connection):
    for level in (
        pyodbc.SQL_TXN_READ_UNCOMMITTED,
        pyodbc.SQL_TXN_REPEATABLE_READ,
        pyodbc.SQL_TXN_SERIALIZABLE,
        pyodbc.SQL_TXN_READ_COMMITTED,
    ):
        connection.set_attr(pyodbc.SQL_ATTR_TXN_ISOLATION, level)
        assert connection.execute("SELECT 1").fetchval() == 1


def digits(cursor) -> None:
    """A table whose sixfold product keeps a server busy for minutes."""
    cursor.execute("SELECT value INTO #digits FROM STRING_SPLIT(REPLICATE('1,', 999), ',')")


@pytest.mark.parametrize("query", ["WAITFOR DELAY '00:01:00'", LONG_QUERY], ids=["waiting", "computing"])
def test_a_running_query_is_cancelled(cursor, query):
    digits(cursor)
    timer = threading.Timer(0.3, cursor.cancel)
    timer.start()
    started = time.monotonic()
    # pyodbc reports HY008, or HY010 when its next call meets the statement that SQLCancel has closed.
    with pytest.raises(pyodbc.Error, match="Operation canceled|Function sequence"):
        cursor.execute(query)
    timer.join()
    assert time.monotonic() - started < 30
    assert cursor.execute("SELECT 1").fetchval() == 1, "the connection goes on"


@pytest.mark.parametrize("query", ["WAITFOR DELAY '00:01:00'", LONG_QUERY], ids=["waiting", "computing"])
def test_a_query_ends_at_its_timeout(connection, query):
    digits(connection.cursor())
    connection.timeout = 1
    cursor = connection.cursor()
    with pytest.raises(pyodbc.OperationalError, match="Query timeout expired"):
        cursor.execute(query)
    connection.timeout = 0
    assert connection.cursor().execute("SELECT 1").fetchval() == 1


def test_several_results_and_messages(cursor):
    cursor.execute(
        "SELECT 1 AS a; PRINT 'told'; SELECT 2 AS b, 3 AS c WHERE 1 = 0; CREATE TABLE #n (n int); "
        "INSERT INTO #n VALUES (7), (8); SELECT n FROM #n"
    )
    results, messages = [], []
    while True:
        messages += cursor.messages
        if cursor.description:
            results.append([[column[0] for column in cursor.description], [tuple(r) for r in cursor]])
        else:
            results.append(cursor.rowcount)
        if not cursor.nextset():
            break
    messages = [text.rsplit("]", 1)[-1] for _, text in messages]
    assert messages == ["told"]
    results = [result for result in results if result not in (-1, 0)]
    assert results == [[["a"], [(1,)]], [["b", "c"], []], 2, [["n"], [(7,), (8,)]]]


def test_nocount_hides_row_counts(cursor):
    cursor.execute(
        "SET NOCOUNT ON; CREATE TABLE #quiet (n int); INSERT INTO #quiet VALUES (1); SELECT n FROM #quiet"
    )
    assert [tuple(row) for row in cursor.fetchall()] == [(1,)], "the insert is no result of its own"


def test_output_parameters_through_t_sql(cursor):
    cursor.execute(
        "DECLARE @doubled int, @status int; "
        "EXEC @status = sp_executesql N'SET @out = @in * 2', N'@in int, @out int OUTPUT', "
        "?, @doubled OUTPUT; "
        "SELECT @doubled, @status",
        21,
    )
    assert tuple(cursor.fetchone()) == (42, 0)


def test_max_values_are_streamed_both_ways(cursor):
    text, data = "äöü€🚀" * 400_000, bytes(range(256)) * 20_000
    cursor.execute("CREATE TABLE #large (t nvarchar(max), b varbinary(max))")
    cursor.execute("INSERT INTO #large VALUES (?, ?)", text, data)
    row = cursor.execute("SELECT t, b, LEN(t), DATALENGTH(b) FROM #large").fetchone()
    assert row[0] == text and row[1] == data
    assert tuple(row[2:]) == (6 * 400_000, len(data))


SQL_COPT_SS_RESET_CONNECTION, SQL_RESET_YES = 1246, 1


def test_a_connection_of_unixodbc_s_pool_is_reset(server, tmp_path):
    """unixODBC pools only for drivers of odbcinst.ini, so this runs in a process with one of its own.

    unixODBC 2.3.11 gives a pooled connection out as it was returned: its user asks the driver to reset it.
    """
    (tmp_path / "odbcinst.ini").write_text(
        f"[ODBC]\nPooling=Yes\n[bulkwire test]\nDriver={odbc.driver()}\nCPTimeout=60\n"
    )
    script = f"""
import pyodbc
text = {"DRIVER={bulkwire test};" + odbc.server_options(server)!r}
first = pyodbc.connect(text, autocommit=True)
cursor = first.cursor()
cursor.execute("CREATE DATABASE pooled")
cursor.execute("USE pooled; SET LOCK_TIMEOUT 1234; SET DATEFIRST 3; CREATE TABLE #left (n int); BEGIN TRAN")
spid = cursor.execute("SELECT @@SPID").fetchval()
cursor.close(); first.close()
again = pyodbc.connect(text, autocommit=True)
again.set_attr({SQL_COPT_SS_RESET_CONNECTION}, {SQL_RESET_YES})
cursor = again.cursor()
print(cursor.execute("SELECT @@SPID").fetchval() == spid)
cursor.execute("SELECT @@LOCK_TIMEOUT, @@DATEFIRST, OBJECT_ID('tempdb..#left'), DB_NAME(), @@TRANCOUNT")
print(*cursor.fetchone())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "ODBCSYSINI": str(tmp_path), "ODBCINSTINI": "odbcinst.ini"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["True", "-1", "7", "None", "master", "0"], done.stderr


def test_uniqueidentifiers_and_ids_come_back(cursor):
    cursor.execute("CREATE TABLE #ids (n int IDENTITY(5, 5) PRIMARY KEY, u uniqueidentifier DEFAULT NEWID())")
    row = cursor.execute("INSERT INTO #ids OUTPUT inserted.n, inserted.u DEFAULT VALUES").fetchone()
    assert row[0] == 5 and isinstance(row[1], uuid.UUID)
    assert cursor.execute("SELECT SCOPE_IDENTITY(), @@IDENTITY").fetchone()[1] == 5
