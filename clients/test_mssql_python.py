"""mssql-python: queries over its bundled ODBC driver, bulk copies over Microsoft's Rust client."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
import threading

import mssql_python
import pyarrow
import pytest

import cells
import odbc
import python_cells
from relay import relayed


@pytest.fixture(autouse=True)
def no_pool():
    """The tests of one connection get one of their own."""
    mssql_python.pooling(enabled=False)


def connect(server, **options: str):
    """A connection in autocommit mode."""
    return mssql_python.connect(odbc.server_options(server, **options), autocommit=True)


@pytest.fixture
def connection(server):
    """A connection of its own."""
    with connect(server) as connection:
        yield connection


@pytest.fixture
def cursor(connection):
    """Its cursor."""
    return connection.cursor()


def fresh(cursor, name: str, columns: list[cells.Column]) -> str:
    """An empty table."""
    cursor.execute(f"DROP TABLE IF EXISTS {name}")
    cursor.execute(python_cells.create_table(name, columns))
    return name


def read(cursor, name: str) -> list[tuple]:
    """All rows of a table, in order."""
    return [tuple(row) for row in cursor.execute(f"SELECT * FROM {name} ORDER BY id").fetchall()]


@pytest.mark.parametrize(
    ("mode", "encrypt", "expected"),
    [
        ("off", "no", "none"),
        ("optional", "no", "login"),
        ("required", "yes", "full"),
        ("strict", "strict", "strict"),
    ],
    ids=["without_tls", "with_an_encrypted_login_only", "with_full_tls", "with_strict_encryption"],
)
def test_logs_in(tls_modes, mode, encrypt, expected):
    with relayed(tls_modes(mode)) as (server, relay):
        pinned = {"ServerCertificate": str(server.certificate)} if encrypt == "strict" else {}
        with connect(server, Encrypt=encrypt, **pinned) as connection:
            assert connection.cursor().execute("SELECT N'zwölf'").fetchval() == "zwölf"
        assert relay.encryption() == expected


@pytest.mark.parametrize(
    ("mode", "encrypt", "expected"),
    [
        ("off", "no", "none"),
        ("optional", "no", "login"),
        ("required", "yes", "full"),
        ("strict", "strict", "strict"),
    ],
    ids=["without_tls", "with_an_encrypted_login_only", "with_full_tls", "with_strict_encryption"],
)
def test_bulkcopy_logs_in(tls_modes, mode, encrypt, expected):
    with relayed(tls_modes(mode)) as (server, relay):
        pinned = {"ServerCertificate": str(server.certificate)} if encrypt == "strict" else {}
        with connect(server, Encrypt=encrypt, **pinned) as connection:
            cursor = connection.cursor()
            cursor.execute("DROP TABLE IF EXISTS mp_login; CREATE TABLE mp_login (n int)")
            assert cursor.bulkcopy("mp_login", [(1,), (None,)])["rows_copied"] == 2
        assert relay.encryption(1) == expected


def test_a_wrong_password_is_refused(server):
    with pytest.raises(Exception, match="Login failed for user"):
        connect(server, PWD="wrong")


def test_every_type_reads_back_cell_by_cell(cursor):
    columns = python_cells.columns()
    fresh(cursor, "#mp_read", columns)
    for statement in python_cells.inserts("#mp_read", columns):
        cursor.execute(statement)
    assert python_cells.differences(columns, read(cursor, "#mp_read")) == []


# mssql-python refuses dates before 1753 as parameters.
@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_a_parameter_of_every_type(cursor, column):
    fresh(cursor, "#mp_parameter", [column])
    refused = set()
    for row in python_cells.rows([column]):
        try:
            cursor.execute("INSERT INTO #mp_parameter VALUES (?, ?)", row)
        except Exception as error:
            assert "Date out of range for SQL Server (1753-9999)" in str(error), error
            refused.add(row[0])
            cursor.execute(python_cells.inserts("#mp_parameter", [column])[row[0] - 1])
    assert refused == ({2} if column.name == "c_date" else set())
    assert python_cells.differences([column], read(cursor, "#mp_parameter")) == []


def test_executemany_sends_arrays(cursor):
    cursor.execute("CREATE TABLE #mp_many (n int NOT NULL, t nvarchar(20) NULL, d decimal(9,2) NULL)")
    rows = [(n, None if n % 3 == 0 else f"n{n}", decimal.Decimal(n) / 4) for n in range(300)]
    cursor.executemany("INSERT INTO #mp_many VALUES (?, ?, ?)", rows)
    assert [tuple(row) for row in cursor.execute("SELECT * FROM #mp_many ORDER BY n").fetchall()] == rows


def test_a_prepared_statement_runs_again_and_again(cursor):
    for number in range(30):
        assert cursor.execute("SELECT ? * 2", (number,)).fetchval() == number * 2


def test_arrow_reads_every_type(cursor):
    columns = python_cells.columns("c_datetimeoffset")
    fresh(cursor, "#mp_arrow", columns)
    for statement in python_cells.inserts("#mp_arrow", columns):
        cursor.execute(statement)
    table = cursor.execute("SELECT * FROM #mp_arrow ORDER BY id").arrow()
    assert isinstance(table, pyarrow.Table) and table.num_rows == cells.ROW_COUNT
    wanted = python_cells.rows(columns)
    for index, column in enumerate(columns, 1):
        values = [_plain(value) for value in table.column(index).to_pylist()]
        expected = [_as_arrow(column, row[index]) for row in wanted]
        assert values == expected, column.name


def _as_arrow(column: cells.Column, value: object) -> object:
    """Arrow has no unique identifier: the client gives text."""
    return str(value).upper() if column.kind == "uniqueidentifier" and value is not None else value


def _plain(value: object) -> object:
    """pandas-free Python values; the nanoseconds of times beyond a microsecond are dropped."""
    return value.upper() if isinstance(value, str) and len(value) == 36 and value.count("-") == 4 else value


def test_bulkcopy_of_tuples_of_every_type(cursor):
    columns = python_cells.columns("c_datetimeoffset")
    table = fresh(cursor, "mp_bulk", columns)
    result = cursor.bulkcopy(table, python_cells.rows(columns), keep_nulls=True, table_lock=True)
    assert result["rows_copied"] == cells.ROW_COUNT
    assert python_cells.differences(columns, read(cursor, table)) == []


def test_bulkcopy_of_tuples_of_datetimeoffset(cursor):
    """mssql-python 1.16.0 sends the local time of a tuple's datetime where UTC belongs: only UTC survives."""
    cursor.execute("DROP TABLE IF EXISTS mp_zoned; CREATE TABLE mp_zoned (id int, m datetimeoffset(7))")
    moment = datetime.datetime(2024, 2, 29, 12, 34, 56, 789123, datetime.UTC)
    cursor.bulkcopy("mp_zoned", [(1, moment), (2, None)])
    assert read(cursor, "mp_zoned") == [(1, moment), (2, None)]


def test_bulkcopy_arrow_of_every_type(cursor):
    columns = python_cells.columns()
    source = fresh(cursor, "mp_arrow_source", columns)
    for statement in python_cells.inserts(source, columns):
        cursor.execute(statement)
    table = fresh(cursor, "mp_arrow", columns)
    rows = cursor.execute(f"SELECT * FROM {source} ORDER BY id").arrow()
    assert cursor.bulkcopy_arrow(table, rows)["rows_copied"] == cells.ROW_COUNT
    assert python_cells.differences(columns, read(cursor, table)) == []


def test_bulkcopy_in_batches_and_with_chosen_columns(cursor):
    cursor.execute(
        "DROP TABLE IF EXISTS mp_batches; "
        "CREATE TABLE mp_batches (id int IDENTITY(1, 1), t varchar(20) DEFAULT 'none', n int NOT NULL)"
    )
    result = cursor.bulkcopy(
        "mp_batches",
        [(n,) for n in range(1000)],
        batch_size=300,
        column_mappings=["n"],
        use_internal_transaction=True,
    )
    assert (result["rows_copied"], result["batch_count"]) == (1000, 4)
    found = cursor.execute("SELECT COUNT(*), SUM(n), MIN(id), MAX(id), MIN(t) FROM mp_batches").fetchone()
    assert tuple(found) == (1000, 999 * 500, 1, 1000, "none")


def test_bulkcopy_of_a_duplicate_key_loads_nothing(cursor):
    cursor.execute("DROP TABLE IF EXISTS mp_key; CREATE TABLE mp_key (n int PRIMARY KEY)")
    with pytest.raises(Exception, match="2627|duplicate key"):
        cursor.bulkcopy("mp_key", [(1,), (2,), (1,)])
    assert cursor.execute("SELECT COUNT(*) FROM mp_key").fetchval() == 0


def test_bulkcopy_checks_constraints_when_asked(cursor):
    cursor.execute(
        "DROP TABLE IF EXISTS mp_check; CREATE TABLE mp_check (n int CONSTRAINT ck_mp CHECK (n > 0))"
    )
    cursor.bulkcopy("mp_check", [(-1,)])
    with pytest.raises(Exception, match="ck_mp"):
        cursor.bulkcopy("mp_check", [(-2,)], check_constraints=True)
    assert read_all(cursor, "SELECT n FROM mp_check") == [(-1,)]


def read_all(cursor, query: str) -> list[tuple]:
    """A query's rows."""
    return [tuple(row) for row in cursor.execute(query).fetchall()]


def test_a_killed_bulkcopy_leaves_nothing(server, cursor):
    """mssql-python takes an exception of its iterator for the end of the rows; its own end cancels a copy."""
    cursor.execute("DROP TABLE IF EXISTS mp_killed; CREATE TABLE mp_killed (n int, t nvarchar(max))")
    script = f"""
import time, mssql_python
def rows():
    for number in range(20_000):
        yield (number, "x" * 500)
    print("half", flush=True)
    time.sleep(60)
connection = mssql_python.connect({odbc.server_options(server)!r}, autocommit=True)
connection.cursor().bulkcopy("mp_killed", rows())
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half\n"
    process.kill()
    process.wait()
    cursor.execute("SET LOCK_TIMEOUT 20000")
    assert cursor.execute("SELECT COUNT(*) FROM mp_killed WITH (TABLOCKX)").fetchval() == 0


def test_a_bulkcopy_ends_at_its_timeout(server, cursor):
    """Another session holds the table: the client sends an attention in the end, and nothing is left."""
    cursor.execute("DROP TABLE IF EXISTS mp_timeout; CREATE TABLE mp_timeout (n int)")
    cursor.execute("INSERT INTO mp_timeout VALUES (1)")
    with connect(server) as holder:
        holder.autocommit = False
        holder.cursor().execute("UPDATE mp_timeout SET n = n")
        with pytest.raises(Exception, match="(?i)time"):
            cursor.bulkcopy("mp_timeout", [(2,), (3,)], timeout=1, table_lock=True)
        holder.rollback()
    assert read_all(cursor, "SELECT n FROM mp_timeout") == [(1,)]


def test_errors_carry_the_server_s_text(cursor):
    with pytest.raises(mssql_python.ProgrammingError, match="Invalid object name 'no_such_table'"):
        cursor.execute("SELECT * FROM no_such_table")
    cursor.execute("CREATE TABLE #mp_key (n int PRIMARY KEY)")
    with pytest.raises(mssql_python.IntegrityError, match="PRIMARY KEY"):
        cursor.execute("INSERT INTO #mp_key VALUES (1), (1)")
    assert cursor.execute("SELECT 1").fetchval() == 1


def test_rollback_takes_everything_back(connection, cursor):
    cursor.execute("CREATE TABLE #mp_undo (n int)")
    connection.autocommit = False
    cursor.execute("INSERT INTO #mp_undo VALUES (1)")
    connection.rollback()
    cursor.execute("INSERT INTO #mp_undo VALUES (2)")
    connection.commit()
    cursor.execute("INSERT INTO #mp_undo VALUES (3)")
    connection.rollback()
    connection.autocommit = True
    assert read_all(cursor, "SELECT n FROM #mp_undo") == [(2,)]


def test_several_results(cursor):
    cursor.execute("SELECT 1 AS a; SELECT 2 AS b WHERE 1 = 0; SELECT 3 AS c")
    results = [read_rest(cursor)]
    while cursor.nextset():
        results.append(read_rest(cursor))
    assert results == [[(1,)], [], [(3,)]]


def read_rest(cursor) -> list[tuple]:
    """What is left of the current result."""
    return [tuple(row) for row in cursor.fetchall()]


def test_a_query_ends_at_its_timeout(server):
    with connect(server) as connection:
        connection.timeout = 1
        with pytest.raises(Exception, match="(?i)timeout"):
            connection.cursor().execute("WAITFOR DELAY '00:01:00'")
        connection.timeout = 0
        assert connection.cursor().execute("SELECT 1").fetchval() == 1


def test_catalogue_functions(cursor):
    cursor.execute(
        "DROP TABLE IF EXISTS mp_catalogue; CREATE TABLE mp_catalogue (n int PRIMARY KEY, t nvarchar(9))"
    )
    assert [row[2] for row in cursor.tables(table="mp_catalogue").fetchall()] == ["mp_catalogue"]
    assert [row[3] for row in cursor.columns(table="mp_catalogue").fetchall()] == ["n", "t"]
    assert [row[3] for row in cursor.primaryKeys(table="mp_catalogue").fetchall()] == ["n"]


def test_a_pooled_connection_is_reset(server):
    text = odbc.server_options(server)
    mssql_python.pooling(max_size=1, enabled=True)
    try:
        first = mssql_python.connect(text, autocommit=True)
        cursor = first.cursor()
        spid = cursor.execute("SELECT @@SPID").fetchval()
        cursor.execute("DROP DATABASE IF EXISTS mp_pooled")
        cursor.execute("CREATE DATABASE mp_pooled")
        cursor.execute("USE mp_pooled")
        cursor.execute("SET LOCK_TIMEOUT 1234")
        cursor.execute("CREATE TABLE #mp_left (n int)")
        cursor.close()
        first.close()
        again = mssql_python.connect(text, autocommit=True)
        cursor = again.cursor()
        found = cursor.execute(
            "SELECT @@SPID, @@LOCK_TIMEOUT, OBJECT_ID('tempdb..#mp_left'), DB_NAME()"
        ).fetchone()
        assert tuple(found) == (spid, -1, None, "master")
        again.close()
    finally:
        mssql_python.pooling(enabled=False)


def test_many_threads_each_with_a_connection(server):
    found: list[int] = []

    def work(number: int) -> None:
        with connect(server) as connection:
            found.append(connection.cursor().execute("SELECT ? + 0", (number,)).fetchval())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))
