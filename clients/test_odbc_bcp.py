"""The bulk copy functions of Microsoft's ODBC Driver 18, and what else only a C program reaches."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pyodbc
import pytest

import cells
import native_cells
import odbc
import python_cells
from relay import relayed
from test_pyodbc import connect

SOURCES = pathlib.Path(__file__).parent / "odbc_bcp"
ALL_ROWS = range(cells.ROW_COUNT)
SEVEN_DIGITS = ["c_time", "c_datetime2", "c_datetimeoffset"]


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> pathlib.Path:
    """The C program, compiled against unixODBC's headers and the driver."""
    built = tmp_path_factory.mktemp("odbc_bcp") / "odbc_bcp"
    driver = odbc.driver()
    # libodbc first: the driver exports the same SQL… names, and bcp_… are its own.
    subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o", built]
        + [*sorted(SOURCES.glob("*.c")), "-lodbc", driver, f"-Wl,-rpath,{driver.parent}"],
        check=True,
        timeout=120,
    )
    return built


@pytest.fixture
def run(program, server):
    """Runs a command of the program; fails if it fails, unless `check` is off."""

    def run(*arguments: object, fails: bool = False, endpoint=server, **options: str) -> list[str]:
        done = subprocess.run(
            [program, *map(str, arguments)],
            env={
                **os.environ,
                "ODBC_CONNECTION": odbc.connection_string(endpoint, **options),
                "LC_ALL": "C.UTF-8",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def cursor(server):
    """A second connection, to prepare and to look."""
    connection = connect(server)
    yield connection.cursor()
    connection.close()


def fresh(cursor: pyodbc.Cursor, name: str, columns: list[cells.Column]) -> str:
    """An empty table."""
    cursor.execute(f"DROP TABLE IF EXISTS {name}")
    cursor.execute(python_cells.create_table(name, columns))
    return name


def filled(cursor: pyodbc.Cursor, name: str, columns: list[cells.Column]) -> str:
    """A table with every row, made from literals."""
    fresh(cursor, name, columns)
    for statement in python_cells.inserts(name, columns):
        cursor.execute(statement)
    return name


def assert_every_cell(cursor: pyodbc.Cursor, table: str, columns: list[cells.Column]) -> None:
    """Cell by cell, and the seventh digit of a second, which Python drops, by the server's own text."""
    rows = cursor.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    assert python_cells.differences(columns, rows) == []
    for column in columns:
        if column.name in SEVEN_DIGITS:
            query = f"SELECT CAST({column.name} AS varchar(40)) FROM {table} ORDER BY id"
            texts = [row[0] for row in cursor.execute(query)]
            assert texts == [cells.text(column, row) for row in ALL_ROWS]


@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_bcp_sendrow_of_every_type(run, cursor, tmp_path, column):
    table = fresh(cursor, "bcp_one", [column])
    native_cells.write(tmp_path / "cells", [column], ALL_ROWS)
    assert run("send", table, tmp_path / "cells", "keep_nulls=1") == ["sent 5"]
    assert_every_cell(cursor, table, [column])


@pytest.mark.parametrize("encryption", ["no", "yes"])
def test_bcp_sendrow_of_all_types_in_one_row(run, cursor, tmp_path, encryption):
    columns = python_cells.columns()
    table = fresh(cursor, "bcp_all", columns)
    native_cells.write(tmp_path / "cells", columns, ALL_ROWS)
    assert run("send", table, tmp_path / "cells", Encrypt=encryption) == ["sent 5"]
    assert_every_cell(cursor, table, columns)


def test_bcp_over_strict_encryption(run, tls_modes, tmp_path):
    columns = python_cells.columns("c_text", "c_ntext", "c_image")
    with relayed(tls_modes("strict")) as (server, relay):
        strict = {"Encrypt": "strict", "ServerCertificate": str(server.certificate)}
        cursor = connect(server, **strict).cursor()
        table = fresh(cursor, "bcp_strict", columns)
        native_cells.write(tmp_path / "cells", columns, ALL_ROWS)
        assert run("send", table, tmp_path / "cells", endpoint=server, **strict) == ["sent 5"]
        assert_every_cell(cursor, table, columns)
        assert relay.encryption(1) == "strict"


def test_bcp_batch_commits_what_was_sent(run, cursor, tmp_path):
    columns = python_cells.columns("c_text", "c_ntext", "c_image", "c_xml")[:6]
    table = fresh(cursor, "bcp_batches", columns)
    native_cells.write(tmp_path / "cells", columns, [0] * 25)
    sent = run("send", table, tmp_path / "cells", "rows_per_batch=10", "hint=TABLOCK, ROWS_PER_BATCH = 10")
    assert sent == ["batch 10", "batch 10", "sent 5"]
    assert tuple(cursor.execute(f"SELECT COUNT(*), SUM(id) FROM {table}").fetchone()) == (25, 325)


def test_a_program_that_dies_leaves_nothing_but_its_batches(run, cursor, tmp_path):
    column = next(column for column in cells.COLUMNS if column.name == "c_nvarcharmax")
    table = fresh(cursor, "bcp_dies", [column])
    native_cells.write(tmp_path / "cells", [column], [0] * 500)
    sent = run("send", table, tmp_path / "cells", "rows_per_batch=200", "stop_after=450")
    assert sent == ["batch 200", "batch 200", "stopped 450"]
    cursor.execute("SET LOCK_TIMEOUT 20000")
    assert cursor.execute(f"SELECT COUNT(*) FROM {table} WITH (TABLOCKX)").fetchval() == 400


def test_bcp_of_a_duplicate_key_loads_nothing(run, cursor, tmp_path):
    cursor.execute("DROP TABLE IF EXISTS bcp_key; CREATE TABLE bcp_key (id int NOT NULL, n int PRIMARY KEY)")
    column = next(column for column in cells.COLUMNS if column.name == "c_int")
    native_cells.write(tmp_path / "cells", [column], [0, 1, 2, 0])
    failed = run("send", "bcp_key", tmp_path / "cells", fails=True)
    assert failed[0] == "failed bcp_done"
    assert failed[1].startswith("error 23000 2627 state=1 class=14 "), failed
    assert cursor.execute("SELECT COUNT(*) FROM bcp_key").fetchval() == 0


def test_bcp_of_a_null_that_is_not_allowed(run, cursor, tmp_path):
    cursor.execute("DROP TABLE IF EXISTS bcp_null; CREATE TABLE bcp_null (id int NOT NULL, n int NOT NULL)")
    column = next(column for column in cells.COLUMNS if column.name == "c_int")
    native_cells.write(tmp_path / "cells", [column], [0, 4])
    failed = run("send", "bcp_null", tmp_path / "cells", fails=True)
    assert any("515" in line or "cannot be NULL" in line or "null" in line.lower() for line in failed), failed
    assert cursor.execute("SELECT COUNT(*) FROM bcp_null").fetchval() == 0


def test_hints_keep_nulls_check_constraints_and_keep_identities(run, cursor, tmp_path):
    column = next(column for column in cells.COLUMNS if column.name == "c_int")
    cursor.execute(
        "DROP TABLE IF EXISTS bcp_hints; "
        "CREATE TABLE bcp_hints (id int IDENTITY(100, 1), n int DEFAULT 7 CONSTRAINT ck_bcp CHECK (n > -5))"
    )
    native_cells.write(tmp_path / "null", [column], [4])
    run("send", "bcp_hints", tmp_path / "null")
    run("send", "bcp_hints", tmp_path / "null", "keep_nulls=1")
    run("send", "bcp_hints", tmp_path / "null", "keep_identity=1")
    found = [tuple(row) for row in cursor.execute("SELECT id, n FROM bcp_hints")]
    assert found == [(100, 7), (101, None), (1, 7)]
    native_cells.write(tmp_path / "least", [column], [1])
    run("send", "bcp_hints", tmp_path / "least")
    failed = run("send", "bcp_hints", tmp_path / "least", "hint=CHECK_CONSTRAINTS", fails=True)
    assert any(" 547 " in line and "ck_bcp" in line for line in failed), failed
    assert cursor.execute("SELECT COUNT(*) FROM bcp_hints WHERE n < 0").fetchval() == 1


FILE_COLUMNS = python_cells.columns()
COUNT = f"columns={len(FILE_COLUMNS) + 1}"
# The driver does not read back the text that it writes for the largest reals.
TEXT_COLUMNS = python_cells.columns("c_real")
TEXT_COUNT = f"columns={len(TEXT_COLUMNS) + 1}"


def test_bcp_exec_of_a_native_file_out_and_in(run, cursor, tmp_path):
    source = filled(cursor, "bcp_native", FILE_COLUMNS)
    target = fresh(cursor, "bcp_native_in", FILE_COLUMNS)
    data, errors = tmp_path / "native.bcp", tmp_path / "errors"
    assert run("copy", "out", source, data, errors, "default") == ["copied 5"]
    assert run("copy", "in", target, data, errors, "default", "keep_nulls=1", "hint=TABLOCK") == ["copied 5"]
    assert_every_cell(cursor, target, FILE_COLUMNS)


def test_bcp_exec_with_a_format_file(run, cursor, tmp_path):
    source = filled(cursor, "bcp_format", FILE_COLUMNS)
    target = fresh(cursor, "bcp_format_in", FILE_COLUMNS)
    data, errors, layout = tmp_path / "data", tmp_path / "errors", f"format={tmp_path / 'layout.fmt'}"
    assert run("copy", "out", source, data, errors, "native", COUNT, layout) == ["copied 5"]
    assert len((tmp_path / "layout.fmt").read_text().splitlines()) == len(FILE_COLUMNS) + 3
    assert run("copy", "in", target, data, errors, "format", layout) == ["copied 5"]
    assert_every_cell(cursor, target, FILE_COLUMNS)


@pytest.mark.parametrize("layout", ["character", "wide"])
def test_bcp_exec_of_a_text_file_out_and_in(run, cursor, tmp_path, layout):
    # An empty string is written as NUL, NULL as an empty field: both come back.
    source = filled(cursor, "bcp_text", TEXT_COLUMNS)
    target = fresh(cursor, "bcp_text_in", TEXT_COLUMNS)
    data, errors = tmp_path / "text.txt", tmp_path / "errors"
    assert run("copy", "out", source, data, errors, layout, TEXT_COUNT, "code_page=65001") == ["copied 5"]
    assert run("copy", "in", target, data, errors, layout, TEXT_COUNT, "code_page=65001") == ["copied 5"]
    assert_every_cell(cursor, target, TEXT_COLUMNS)


def test_bcp_exec_of_a_query(run, cursor, tmp_path):
    source = filled(cursor, "bcp_query", FILE_COLUMNS[:4])
    data, errors = tmp_path / "query.txt", tmp_path / "errors"
    query = f"SELECT id, c_tinyint FROM {source} WHERE id < 4 ORDER BY id DESC"
    assert run("copy", "queryout", query, data, errors, "character", "columns=2") == ["copied 3"]
    assert data.read_bytes() == b"3\t0\n2\t0\n1\t255\n"


def test_bcp_exec_of_some_rows_in_batches(run, cursor, tmp_path):
    cursor.execute("DROP TABLE IF EXISTS bcp_some; CREATE TABLE bcp_some (n int PRIMARY KEY, t varchar(9))")
    data, errors = tmp_path / "some.txt", tmp_path / "errors"
    data.write_text("".join(f"{n}\tt{n}\n" for n in range(1, 101)))
    copied = run(
        "copy", "in", "bcp_some", data, errors, "character", "columns=2", "first=11", "last=90", "batch=20"
    )
    assert copied == ["copied 80"]
    assert tuple(cursor.execute("SELECT COUNT(*), MIN(n), MAX(n) FROM bcp_some").fetchone()) == (80, 11, 90)


def test_bcp_exec_puts_bad_rows_into_the_error_file(run, cursor, tmp_path):
    cursor.execute("DROP TABLE IF EXISTS bcp_bad; CREATE TABLE bcp_bad (n int, t varchar(9))")
    data, errors = tmp_path / "bad.txt", tmp_path / "errors"
    data.write_text("1\tone\nx\ttwo\n3\tthree\n")
    copied = run("copy", "in", "bcp_bad", data, errors, "character", "columns=2", "max_errors=5")
    assert copied[-1] == "copied 2"
    assert "Row 2, Column 1" in errors.read_text(errors="replace")
    assert [tuple(row) for row in cursor.execute("SELECT n, t FROM bcp_bad")] == [(1, "one"), (3, "three")]


def test_errors_carry_number_state_class_and_line(run):
    lines = run("diagnose", "SELECT 1\nRAISERROR('mine', 15, 7)\nPRINT 'told'\n\nSELECT * FROM nowhere")
    assert [line.split(" [")[0] + line.rsplit("]", 1)[-1].rjust(1) for line in lines] == [
        "status 0status 0",
        "error 42000 50000 state=7 class=15 line=2mine",
        "status -1status -1",
        "error 01000 0 state=1 class=0 line=3told",
        "status 1status 1",
        "error 42S02 208 state=1 class=16 line=5Invalid object name 'nowhere'.",
        "status -1status -1",
    ]


def test_output_parameters_and_the_return_status(run):
    assert run("output") == ["echoed 20", "number 42", "text twenty-one", "status 0"]


def test_sqldescribeparam_and_the_columns_of_a_prepared_query(run, cursor):
    cursor.execute(
        "DROP TABLE IF EXISTS bcp_described; "
        "CREATE TABLE bcp_described "
        "(n int NOT NULL, t nvarchar(30) NULL, d decimal(12,3) NULL, m datetime2(3) NULL)"
    )
    assert run(
        "describe", "SELECT n, t, d, m FROM bcp_described WHERE n = ? AND t = ? AND d > ? AND m < ?"
    ) == [
        f"parameter 1 type={pyodbc.SQL_INTEGER} size=10 digits=0 nullable=1",
        f"parameter 2 type={pyodbc.SQL_WVARCHAR} size=30 digits=0 nullable=1",
        f"parameter 3 type={pyodbc.SQL_DECIMAL} size=12 digits=3 nullable=1",
        f"parameter 4 type={pyodbc.SQL_TYPE_TIMESTAMP} size=23 digits=3 nullable=1",
        f"column n type={pyodbc.SQL_INTEGER} size=10 digits=0 nullable=0",
        f"column t type={pyodbc.SQL_WVARCHAR} size=30 digits=0 nullable=1",
        f"column d type={pyodbc.SQL_DECIMAL} size=12 digits=3 nullable=1",
        f"column m type={pyodbc.SQL_TYPE_TIMESTAMP} size=23 digits=3 nullable=1",
    ]


def test_a_large_value_is_sent_and_read_in_parts(run):
    assert run("stream") == ["sent 6300900", "read 6300900", "wrong 0", "parts many"]


@pytest.mark.parametrize("cursor", [(), ("cursor=yes",)], ids=["default_result", "server_cursor"])
def test_arrays_of_parameters_and_blocks_of_rows(run, cursor):
    expected = ["processed 1000", "good 999", "last refused", f"rows 999 sum {999 * 998 // 2}"]
    assert run("arrays", *cursor) == expected
