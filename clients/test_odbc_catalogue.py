"""ODBC's catalogue functions: what Microsoft's driver asks the server, and what an application reads."""

from __future__ import annotations

import pyodbc
import pytest

import odbc

NO_ACTION, CASCADE = 1, 0


@pytest.fixture(scope="module")
def connection(server):
    """A database of two related tables."""
    connection = pyodbc.connect(odbc.connection_string(server), autocommit=True, timeout=10)
    cursor = connection.cursor()
    cursor.execute("DROP DATABASE IF EXISTS odbc_catalogue")
    cursor.execute("CREATE DATABASE odbc_catalogue")
    cursor.execute("USE odbc_catalogue")
    cursor.execute(
        "CREATE TABLE dbo.parent (a int NOT NULL, b char(2) NOT NULL, name nvarchar(40) NULL, "
        "price decimal(10,2) NOT NULL DEFAULT 1.5, at datetime2(3) NULL, raw varbinary(max) NULL, "
        "version rowversion, CONSTRAINT pk_parent PRIMARY KEY (b, a), CONSTRAINT uq_name UNIQUE (name))"
    )
    cursor.execute("CREATE INDEX ix_price ON dbo.parent (price, at DESC)")
    cursor.execute(
        "CREATE TABLE dbo.child (id int IDENTITY(10, 5) NOT NULL CONSTRAINT pk_child PRIMARY KEY, "
        "b char(2) NULL, a int NULL, "
        "CONSTRAINT fk_parent FOREIGN KEY (b, a) REFERENCES dbo.parent (b, a))"
    )
    cursor.execute("CREATE VIEW dbo.names AS SELECT a, name FROM dbo.parent")
    cursor.execute(
        "CREATE PROCEDURE dbo.raise_prices @by decimal(5,2), @changed int OUTPUT, @note nvarchar(20) = N'' "
        "AS "
        "UPDATE dbo.parent SET price = price + @by SET @changed = @@ROWCOUNT"
    )
    cursor.execute("CREATE FUNCTION dbo.doubled (@x int) RETURNS bigint AS BEGIN RETURN 2 * @x END")
    yield connection
    cursor.execute("USE master")
    connection.close()


@pytest.fixture
def cursor(connection):
    """A cursor on it."""
    return connection.cursor()


def named(rows: list[pyodbc.Row], *names: str) -> list[tuple]:
    """The named columns of each row; the names of ODBC 3, in whatever case pyodbc gives them."""
    found = []
    for row in rows:
        columns = [description[0].lower() for description in row.cursor_description]
        found.append(tuple(row[columns.index(name)] for name in names))
    return found


def test_sqltables_lists_the_tables_of_a_schema(cursor):
    rows = cursor.tables(schema="dbo", tableType="TABLE").fetchall()
    assert named(rows, "table_cat", "table_schem", "table_name", "table_type") == [
        ("odbc_catalogue", "dbo", "child", "TABLE"),
        ("odbc_catalogue", "dbo", "parent", "TABLE"),
    ]


def test_sqltables_and_sqlcolumns_list_views(cursor):
    rows = cursor.tables(schema="dbo", tableType="VIEW").fetchall()
    assert named(rows, "table_name", "table_type") == [("names", "VIEW")]
    rows = cursor.columns(table="names").fetchall()
    assert named(rows, "column_name", "type_name") == [("a", "int"), ("name", "nvarchar")]


def test_sqltables_takes_patterns(cursor):
    assert named(cursor.tables(table="par%", tableType="TABLE").fetchall(), "table_name") == [("parent",)]
    assert cursor.tables(table="no_such%").fetchall() == []


def test_sqltables_lists_databases_schemas_and_types(cursor):
    databases = {row[0] for row in cursor.tables(catalog="%", schema="", table="").fetchall()}
    assert {"master", "odbc_catalogue", "tempdb"} <= databases
    schemas = {row[1] for row in cursor.tables(catalog="", schema="%", table="").fetchall()}
    assert {"dbo", "sys", "INFORMATION_SCHEMA"} <= schemas
    types = [row[3] for row in cursor.tables(catalog="", schema="", table="", tableType="%").fetchall()]
    assert types == ["SYSTEM TABLE", "TABLE", "VIEW"]


def test_sqlcolumns_describes_every_column(cursor):
    rows = cursor.columns(table="parent", schema="dbo").fetchall()
    described = named(
        rows,
        "column_name",
        "data_type",
        "type_name",
        "column_size",
        "buffer_length",
        "decimal_digits",
        "nullable",
        "ordinal_position",
        "is_nullable",
    )
    assert described == [
        ("a", pyodbc.SQL_INTEGER, "int", 10, 4, 0, 0, 1, "NO"),
        ("b", pyodbc.SQL_CHAR, "char", 2, 2, None, 0, 2, "NO"),
        ("name", pyodbc.SQL_WVARCHAR, "nvarchar", 40, 80, None, 1, 3, "YES"),
        ("price", pyodbc.SQL_DECIMAL, "decimal", 10, 12, 2, 0, 4, "NO"),
        ("at", pyodbc.SQL_TYPE_TIMESTAMP, "datetime2", 23, 16, 3, 1, 5, "YES"),
        ("raw", pyodbc.SQL_VARBINARY, "varbinary", 0, 0, None, 1, 6, "YES"),
        ("version", pyodbc.SQL_BINARY, "timestamp", 8, 8, None, 0, 7, "NO"),
    ]
    assert named(rows, "column_def")[3] == ("((1.5))",)


def test_sqlcolumns_of_one_column(cursor):
    assert named(cursor.columns(table="parent", column="pr%").fetchall(), "column_name") == [("price",)]
    assert named(cursor.columns(table="child", column="id").fetchall(), "type_name") == [("int identity",)]


def test_sqlprimarykeys_follow_the_key_s_order(cursor):
    assert named(cursor.primaryKeys("parent").fetchall(), "column_name", "key_seq", "pk_name") == [
        ("b", 1, "pk_parent"),
        ("a", 2, "pk_parent"),
    ]


@pytest.mark.parametrize(
    "arguments", [{"table": "parent"}, {"foreignTable": "child"}], ids=["of_the_parent", "of_the_child"]
)
def test_sqlforeignkeys(cursor, arguments):
    rows = cursor.foreignKeys(**arguments).fetchall()
    assert named(
        rows,
        "pktable_name",
        "pkcolumn_name",
        "fktable_name",
        "fkcolumn_name",
        "key_seq",
        "update_rule",
        "delete_rule",
        "fk_name",
        "pk_name",
    ) == [
        ("parent", "b", "child", "b", 1, NO_ACTION, NO_ACTION, "fk_parent", "pk_parent"),
        ("parent", "a", "child", "a", 2, NO_ACTION, NO_ACTION, "fk_parent", "pk_parent"),
    ]


def test_sqlstatistics_lists_the_indexes(cursor):
    rows = cursor.statistics("parent", unique=False).fetchall()
    indexes = [row for row in named(rows, "index_name", "non_unique", "column_name", "asc_or_desc") if row[0]]
    assert sorted(indexes, key=str) == sorted(
        [
            ("pk_parent", 0, "b", "A"),
            ("pk_parent", 0, "a", "A"),
            ("uq_name", 0, "name", "A"),
            ("ix_price", 1, "price", "A"),
            ("ix_price", 1, "at", "D"),
        ],
        key=str,
    )
    unique = cursor.statistics("parent", unique=True).fetchall()
    assert "ix_price" not in {row[0] for row in named(unique, "index_name")}


def test_sqlspecialcolumns_name_the_row_and_its_version(cursor):
    # pyodbc 5.5.0 sends a freed string as the table's name of rowIdColumns: it is asked for the version only.
    assert named(cursor.rowVerColumns("parent").fetchall(), "column_name", "type_name") == [
        ("version", "timestamp")
    ]


def test_sqlgettypeinfo_knows_every_type(cursor):
    rows = cursor.getTypeInfo().fetchall()
    types = {row[0]: row for row in named(rows, "type_name", "data_type", "column_size", "searchable")}
    assert types["int"][1:3] == (pyodbc.SQL_INTEGER, 10)
    assert types["nvarchar"][1:3] == (pyodbc.SQL_WVARCHAR, 4000)
    assert types["varchar"][1:3] == (pyodbc.SQL_VARCHAR, 8000)
    assert types["decimal"][1:3] == (pyodbc.SQL_DECIMAL, 38)
    assert types["datetime2"][1:3] == (pyodbc.SQL_TYPE_TIMESTAMP, 27)
    assert {
        "bit",
        "money",
        "uniqueidentifier",
        "xml",
        "datetimeoffset",
        "sql_variant",
        "text",
        "image",
    } <= set(types)
    only = cursor.getTypeInfo(pyodbc.SQL_INTEGER).fetchall()
    assert {row[0] for row in named(only, "type_name")} == {"int", "int identity"}


def test_sqlprocedures_and_their_columns_answer(cursor):
    names = {row[0].split(";")[0] for row in named(cursor.procedures().fetchall(), "procedure_name")}
    assert "sp_tables" in names
    assert {"raise_prices", "doubled"} <= names
    own = named(cursor.procedures("raise_prices").fetchall(), "procedure_schem", "procedure_name")
    assert own == [("dbo", "raise_prices;1")]
    rows = cursor.procedureColumns("raise_prices").fetchall()
    assert named(rows, "column_name", "column_type", "type_name", "ordinal_position") == [
        ("@RETURN_VALUE", 5, "int", 0),
        ("@by", 1, "decimal", 1),
        ("@changed", 2, "int", 2),
        ("@note", 1, "nvarchar", 3),
    ]
    rows = cursor.procedureColumns("doubled").fetchall()
    assert named(rows, "column_name", "type_name") == [("@RETURN_VALUE", "bigint"), ("@x", "int")]
    assert cursor.procedures("no_such%").fetchall() == []
    assert cursor.procedureColumns("no_such%").fetchall() == []


def test_sqldescribeparam_takes_the_type_from_the_column(connection, cursor):
    """pyodbc asks it for the type of a NULL; it would send varchar otherwise, which binary refuses."""
    cursor.execute("CREATE TABLE #described (b varbinary(10) NULL, d date NULL)")
    cursor.execute("INSERT INTO #described VALUES (?, ?)", None, None)
    assert [tuple(row) for row in cursor.execute("SELECT b, d FROM #described")] == [(None, None)]
    cursor.execute(
        "EXEC sp_describe_undeclared_parameters "
        "N'INSERT INTO dbo.parent (a, b, price) VALUES (@p1, @p2, @p3)'"
    )
    assert named(cursor.fetchall(), "parameter_ordinal", "name", "suggested_system_type_name") == [
        (1, "@p1", "int"),
        (2, "@p2", "char(2)"),
        (3, "@p3", "decimal(10,2)"),
    ]


def test_a_result_is_described_before_it_is_executed(cursor):
    described = cursor.execute("SELECT a, name, price, at FROM dbo.parent WHERE a = ?", 1).description
    assert [(column[0], column[1].__name__, column[4], column[5], column[6]) for column in described] == [
        ("a", "int", 10, 0, False),
        ("name", "str", 40, 0, True),
        ("price", "Decimal", 10, 2, False),
        ("at", "datetime", 23, 3, True),
    ]
