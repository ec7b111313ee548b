"""What a DBA asks of rows in pages: four drivers decode every view, function and DBCC result alike."""

from __future__ import annotations

import contextlib

import mssql_python
import pymssql
import pyodbc
import pytds
import pytest

import odbc
from conftest import serve

# A row takes 107 bytes and a slot: 74 in a page, so that 7,400 rows are 100 pages.
PREPARED = [
    "CREATE TABLE dbo.wide (id int NOT NULL, filler char(96) NOT NULL)",
    "INSERT dbo.wide SELECT value, 'x' FROM GENERATE_SERIES(1, 7400)",
    "CREATE TABLE dbo.keyed (id int NOT NULL CONSTRAINT pk_keyed PRIMARY KEY, body varchar(max))",
    "INSERT dbo.keyed VALUES (1, REPLICATE(CAST('a' AS varchar(max)), 20000))",
    "CHECKPOINT",
]

SOURCES = [
    "sys.allocation_units",
    "sys.data_spaces",
    "sys.database_files",
    "sys.database_service_objectives",
    "sys.databases",
    "sys.dm_db_file_space_usage",
    "sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'DETAILED')",
    "sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'LIMITED')",
    "sys.dm_db_log_info(DB_ID())",
    "sys.dm_db_log_space_usage",
    "sys.dm_db_partition_stats",
    "sys.dm_db_resource_stats",
    "sys.dm_exec_requests",
    "sys.dm_io_virtual_file_stats(NULL, NULL)",
    "sys.dm_os_performance_counters",
    "sys.dm_os_wait_stats",
    "sys.dm_os_waiting_tasks",
    "sys.dm_tran_locks",
    "sys.filegroups",
    "sys.fn_dblog(NULL, NULL)",
    "sys.master_files",
    "sys.partitions",
    "sys.system_internals_allocation_units",
]

RESULTS = [
    "DBCC SHOWCONTIG ('dbo.wide') WITH TABLERESULTS, NO_INFOMSGS",
    "DBCC CHECKTABLE ('dbo.wide') WITH TABLERESULTS",
    "DBCC SQLPERF (LOGSPACE) WITH NO_INFOMSGS",
    "DBCC LOGINFO WITH NO_INFOMSGS",
    "EXEC sp_spaceused 'dbo.wide'",
    "EXEC sp_estimate_data_compression_savings 'dbo', 'wide', NULL, NULL, 'PAGE'",
]


def through_pyodbc(server):
    """Microsoft's ODBC driver under pyodbc."""
    pyodbc.native_uuid = True
    return pyodbc.connect(odbc.connection_string(server), autocommit=True, timeout=10)


def through_mssql_python(server):
    """Microsoft's driver for Python."""
    return mssql_python.connect(odbc.server_options(server), autocommit=True)


def through_pymssql(server):
    """FreeTDS."""
    return pymssql.connect(
        server=server.host,
        port=str(server.port),
        user=server.user,
        password=server.password,
        autocommit=True,
        database="master",
    )


def through_pytds(server):
    """A driver in Python alone."""
    return pytds.connect(
        dsn=server.host, port=server.port, user=server.user, password=server.password, autocommit=True
    )


DRIVERS = [through_pyodbc, through_mssql_python, through_pymssql, through_pytds]


@pytest.fixture(scope="module")
def paged(binaries, tmp_path_factory):
    """A server that keeps rows in pages, with two tables."""
    with serve(binaries, tmp_path_factory.mktemp("paged"), "optional") as endpoint:
        with contextlib.closing(through_pytds(endpoint)) as connection, connection.cursor() as cursor:
            for statement in PREPARED:
                cursor.execute(statement)
        yield endpoint


def read(connect, server, statement: str) -> tuple[list[str], list[tuple]]:
    """Names of columns, and rows."""
    with contextlib.closing(connect(server)) as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        return [column[0] for column in cursor.description], [tuple(row) for row in cursor.fetchall()]


@pytest.mark.parametrize("source", SOURCES)
def test_every_driver_reads_the_same_columns(paged, source):
    answers = [read(connect, paged, f"SELECT * FROM {source}") for connect in DRIVERS]
    names = answers[0][0]
    assert len(names) == len(set(names))
    for connect, (own, rows) in zip(DRIVERS, answers, strict=True):
        assert own == names, connect.__name__
        assert all(len(row) == len(names) for row in rows), connect.__name__


@pytest.mark.parametrize("statement", RESULTS)
def test_every_driver_reads_the_same_results(paged, statement):
    first, *others = [read(connect, paged, statement) for connect in DRIVERS]
    assert first[1]
    for other in others:
        assert other == first


@pytest.mark.parametrize("connect", DRIVERS)
def test_pages_are_those_of_the_estimate(paged, connect):
    _, rows = read(
        connect,
        paged,
        "SELECT page_count, record_count, max_record_size_in_bytes, avg_page_space_used_in_percent"
        " FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('dbo.wide'), NULL, NULL, 'DETAILED')",
    )
    assert rows == [(100, 7400, 107, pytest.approx(100 * 74 * 109 / 8096))]
    _, rows = read(connect, paged, "EXEC sp_spaceused 'dbo.wide'")
    assert [value.strip() for value in rows[0]] == ["wide", "7400", "840 KB", "800 KB", "8 KB", "32 KB"]


def test_messages_of_a_check_arrive(paged):
    with contextlib.closing(through_pyodbc(paged)) as connection:
        cursor = connection.cursor()
        cursor.execute("DBCC CHECKTABLE ('dbo.wide')")
        texts = [text for _, text in cursor.messages]
        while cursor.nextset():
            texts += [text for _, text in cursor.messages]
    assert any('There are 7400 rows in 100 pages for object "wide".' in text for text in texts)
    assert any("DBCC execution completed" in text for text in texts)
