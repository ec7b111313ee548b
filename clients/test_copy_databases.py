"""`bulkwire copy` between the embedded server and real databases: PostgreSQL, SQLite, DuckDB, ODBC drivers.

The tables of types in docs/copy-databases.md are what these copies really made.
`BULKWIRE_WRITE_PAGES=1` writes them.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterator

import foreign_databases as databases
import pyarrow
import pyodbc
import pytest
from foreign_databases import copied, copy, sql_server

import odbc

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "copy-databases.md"
TDSODBC = "/usr/lib/x86_64-linux-gnu/odbc/libtdsodbc.so"

BEYOND = "grün 😀 \U0010ffff"
LONG = "9" * 28 + "." + "9" * 10

# Declarations, and literals of values; each column has NULL in a further row.
POSTGRESQL = [
    ("boolean", ["true", "false"]),
    ("smallint", ["-32768", "32767"]),
    ("integer", ["-2147483648", "2147483647"]),
    ("bigint", ["-9223372036854775808", "9223372036854775807"]),
    ("oid", ["0", "4294967295"]),
    ("real", ["-3.4e38", "1.5"]),
    ("double precision", ["-1.7e308", "0.1"]),
    ("numeric(9,2)", ["-9999999.99", "0.01"]),
    ("numeric(38,10)", [LONG, "-" + LONG]),
    ("numeric", ["123456789012345678901234.56789", "-1"]),
    ("money", ["-92233720368547758.08", "1.5"]),
    ("text", ["''", f"'{BEYOND}'"]),
    ("varchar(20)", ["''", f"'{BEYOND}'"]),
    ("char(5)", ["'a'", "'äöüß '"]),
    ("bytea", ["''", "'\\x00ff'"]),
    ("date", ["'0001-01-01'", "'9999-12-31'"]),
    ("time", ["'00:00'", "'23:59:59.999999'"]),
    ("time with time zone", ["'00:00+00'", "'23:59:59.999999-11'"]),
    ("timestamp", ["'0001-01-01'", "'9999-12-31 23:59:59.999999'"]),
    ("timestamp with time zone", ["'0001-01-01 00:00:00+00'", "'9999-12-31 12:00:00.999999+00'"]),
    ("interval", ["'1 year 2 days 3 seconds'", "'-1 day'"]),
    ("uuid", ["'00112233-4455-6677-8899-aabbccddeeff'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    ("json", ["'{\"a\": [1, null]}'", "'\"x\"'"]),
    ("jsonb", ["'{\"a\": [1, null]}'", "'\"x\"'"]),
    ("xml", ["'<a>1</a>'", "'<b/>'"]),
    ("inet", ["'10.0.0.1/8'", "'::1'"]),
    ("macaddr", ["'08:00:2b:01:02:03'", "'00:00:00:00:00:00'"]),
    ("bit(3)", ["B'101'", "B'000'"]),
    ("point", ["'(1,2)'", "'(0,0)'"]),
    ("int4range", ["'[1,5)'", "'empty'"]),
    ("mood", ["'glad'", "'sad'"]),
    ("integer[]", ["'{1,NULL,3}'", "'{}'"]),
]
SQLITE = [
    ("INTEGER", ["-9223372036854775808", "9223372036854775807"]),
    ("BOOLEAN", ["0", "1"]),
    ("REAL", ["-1.7e308", "0.5"]),
    ("TEXT", ["''", f"'{BEYOND}'"]),
    ("BLOB", ["x''", "x'00ff'"]),
    ("DATE", ["'0001-01-01'", "'9999-12-31'"]),
    ("DATETIME", ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"]),
    ("TIME", ["'00:00:00'", "'23:59:59.999999'"]),
    ("DECIMAL(9,2)", ["0.25", "7"]),
    ("", ["'text'", "1"]),
]
DUCKDB = [
    ("BOOLEAN", ["true", "false"]),
    ("TINYINT", ["-128", "127"]),
    ("UTINYINT", ["0", "255"]),
    ("SMALLINT", ["-32768", "32767"]),
    ("USMALLINT", ["0", "65535"]),
    ("INTEGER", ["-2147483648", "2147483647"]),
    ("UINTEGER", ["0", "4294967295"]),
    ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    ("UBIGINT", ["0", "18446744073709551615"]),
    ("HUGEINT", ["-99999999999999999999999999999999999999", "1"]),
    ("FLOAT", ["-3.4e38", "1.5"]),
    ("DOUBLE", ["-1.7e308", "0.1"]),
    ("DECIMAL(4,1)", ["-999.9", "0"]),
    ("DECIMAL(38,10)", [LONG, "-" + LONG]),
    ("VARCHAR", ["''", f"'{BEYOND}'"]),
    ("BLOB", ["''", "'\\x00\\xFF'::BLOB"]),
    ("DATE", ["'0001-01-01'", "'9999-12-31'"]),
    ("TIME", ["'00:00:00'", "'23:59:59.999999'"]),
    ("TIMESTAMP_S", ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'"]),
    ("TIMESTAMP_MS", ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999'"]),
    ("TIMESTAMP", ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"]),
    ("TIMESTAMP_NS", ["'1700-01-01 00:00:00'", "'2261-12-31 23:59:59.9999999'"]),
    ("TIMESTAMP WITH TIME ZONE", ["'0001-01-01 00:00:00+00'", "'9999-12-31 12:00:00.999999+00'"]),
    ("INTERVAL", ["INTERVAL 1 YEAR", "INTERVAL 2 DAY"]),
    ("UUID", ["'00112233-4455-6677-8899-aabbccddeeff'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    ("BIT", ["'101'", "'0'"]),
    ("ENUM('glad', 'sad')", ["'glad'", "'sad'"]),
    ("JSON", ["'{\"a\": 1}'", "'null'"]),
    ("INTEGER[]", ["[1, NULL, 3]", "[]"]),
    ("STRUCT(a INTEGER, b VARCHAR)", ["{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': ''}"]),
]
# What a copy there and back cannot keep is compared as text, or not at all.
SQL_SERVER = [
    ("bit", ["0", "1"]),
    ("tinyint", ["0", "255"]),
    ("smallint", ["-32768", "32767"]),
    ("int", ["-2147483648", "2147483647"]),
    ("bigint", ["-9223372036854775808", "9223372036854775807"]),
    ("real", ["-3.4e38", "1.5"]),
    ("float", ["-1.7e308", "0.1"]),
    ("decimal(9,2)", ["-9999999.99", "0.01"]),
    ("decimal(38,10)", [LONG, "-" + LONG]),
    ("money", ["-922337203685477.5808", "922337203685477.5807"]),
    ("date", ["'0001-01-01'", "'9999-12-31'"]),
    ("time(3)", ["'00:00'", "'23:59:59.999'"]),
    ("time(6)", ["'00:00'", "'23:59:59.999999'"]),
    ("datetime", ["'1753-01-01'", "'9999-12-31 23:59:59.997'"]),
    ("smalldatetime", ["'1900-01-01'", "'2079-06-06 23:59'"]),
    ("datetime2(3)", ["'0001-01-01'", "'9999-12-31 23:59:59.999'"]),
    ("datetime2(6)", ["'0001-01-01'", "'9999-12-31 23:59:59.999999'"]),
    ("nvarchar(20)", ["''", f"N'{BEYOND}'"]),
    ("nvarchar(max)", ["''", f"REPLICATE(CAST(N'{BEYOND}' AS nvarchar(max)), 1000)"]),
    ("varchar(10)", ["''", "'abc'"]),
    ("nchar(5)", ["''", "N'äöü'"]),
    ("varbinary(10)", ["0x", "0x00FF"]),
    ("varbinary(max)", ["0x", "CAST(REPLICATE(CAST('ab' AS varchar(max)), 9000) AS varbinary(max))"]),
    (
        "uniqueidentifier",
        ["'00112233-4455-6677-8899-AABBCCDDEEFF'", "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'"],
    ),
]


@dataclasses.dataclass
class Types:
    """A table with a column of each type."""

    types: list[tuple[str, list[str]]]

    @property
    def columns(self) -> str:
        return ", ".join(f"c{place} {declared}" for place, (declared, _) in enumerate(self.types))

    def inserts(self, table: str) -> list[str]:
        rows = [[values[row] for _, values in self.types] for row in (0, 1)]
        rows.append(["NULL" for _ in self.types])
        return [f"INSERT INTO {table} VALUES ({row}, {', '.join(values)})" for row, values in enumerate(rows)]


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[databases.PostgreSQL]:
    folder = pathlib.Path(tempfile.gettempdir()) / f"bulkwire-postgresql-{os.getpid()}"
    with databases.postgresql(folder) as server:
        server.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
        yield server


@pytest.fixture
def sqlite(tmp_path: pathlib.Path) -> databases.File:
    return databases.File("sqlite", tmp_path / "some where.db")


@pytest.fixture
def duckdb(tmp_path: pathlib.Path) -> databases.File:
    return databases.File("duckdb", tmp_path / "some.duckdb")


@pytest.fixture
def connection(server) -> Iterator[pyodbc.Connection]:
    with pyodbc.connect(odbc.connection_string(server), autocommit=True) as connection:
        yield connection


def column_types(connection: pyodbc.Connection, table: str) -> list[str]:
    """The types of a table's columns as T-SQL spells them."""
    rows = connection.execute(
        "SELECT t.name, c.max_length, c.precision, c.scale FROM sys.columns c "
        "JOIN sys.types t ON t.user_type_id = c.user_type_id "
        "WHERE c.object_id = OBJECT_ID(?) ORDER BY c.column_id",
        table,
    ).fetchall()
    return [spelled(*row) for row in rows]


def spelled(name: str, length: int, precision: int, scale: int) -> str:
    if name in {"decimal", "numeric"}:
        return f"{name}({precision},{scale})"
    if name in {"time", "datetime2", "datetimeoffset"}:
        return f"{name}({scale})"
    if name in {"nvarchar", "nchar"}:
        # Lengths follow the values, which are these tests' own.
        return f"{name}(max)" if length < 0 else f"{name}(n)"
    if name in {"varchar", "char", "varbinary", "binary"} and name != "binary":
        return f"{name}(max)" if length < 0 else f"{name}(n)"
    return f"{name}({length})" if name == "binary" else name


def arrow_types(binaries: pathlib.Path, source: str, folder: pathlib.Path) -> list[str]:
    """The Arrow types of a source's columns."""
    file = folder / "types.arrow"
    copied(binaries, source, str(file))
    with pyarrow.ipc.open_file(file) as reader:
        fields = list(reader.schema)
    file.unlink()
    return [arrow_type(field) for field in fields]


def arrow_type(field: pyarrow.Field) -> str:
    text = str(field.type)
    return re.sub(r"extension<(.*?)(\[.*)?>$", r"\1", text)


def there_and_back(server, connection, foreign, types: Types, folder: pathlib.Path) -> list[tuple[str, ...]]:
    """Copies a table of a foreign database to SQL Server and back.

    For each column its type, Arrow's, SQL Server's and the one that came back.
    """
    foreign.execute(f"CREATE TABLE every_type (id integer, {types.columns})", *types.inserts("every_type"))
    name = f"from_{foreign.url.partition(':')[0]}"
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    copied(
        server.binaries, f"{foreign.url}#every_type", sql_server(server, f"dbo.{name}"), "--nested-as-json"
    )
    assert connection.execute(f"SELECT COUNT(*) FROM {name}").fetchval() == 3
    copied(server.binaries, sql_server(server, f"dbo.{name}"), f"{foreign.url}#back_again")
    casts = ", ".join(text_of(foreign, f"c{place}") for place in range(len(types.types)))
    before = foreign.rows(f"SELECT id, {casts} FROM every_type ORDER BY id")
    after = foreign.rows(f"SELECT id, {casts} FROM back_again ORDER BY id")
    for place, (declared, _) in enumerate(types.types, 1):
        was, became = ([normal(row[place]) for row in rows] for rows in (before, after))
        assert became == was, f"{foreign.url.partition(':')[0]} {declared}"
    arrow = arrow_types(server.binaries, f"{foreign.url}#every_type", folder)
    sql = column_types(connection, name)
    back = types_in(foreign, "back_again")
    return list(zip([declared for declared, _ in types.types], arrow[1:], sql[1:], back[1:], strict=True))


def text_of(foreign, column: str) -> str:
    """An expression for the text of a value."""
    if foreign.url.startswith("sqlite"):
        return f"CASE typeof({column}) WHEN 'blob' THEN hex({column}) ELSE CAST({column} AS TEXT) END"
    return f"CAST({column} AS {'TEXT' if foreign.url.startswith('postgresql') else 'VARCHAR'})"


def normal(value: str | None) -> str | None:
    """Spellings of one value that databases differ in."""
    if value is None:
        return None
    text = value.rstrip() if isinstance(value, str) else str(value)
    booleans = {"true": "1", "false": "0", "t": "1", "f": "0"}
    text = booleans.get(text, text)
    if re.fullmatch(r"-?[\d,$]+\.\d+", text):
        text = text.replace("$", "").replace(",", "").rstrip("0").rstrip(".")
    text = text.replace("$", "").replace(",", "") if re.fullmatch(r"-?\$[\d,.]+", text) else text
    return re.sub(r"[\s{}\[\]\"']", "", text).lower().replace("null", "").replace("none", "")


def types_in(foreign, table: str) -> list[str]:
    if foreign.url.startswith("postgresql"):
        query = (
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
            f"WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        )
        return [row[0] for row in foreign.rows(query)]
    place = 1 if foreign.url.startswith("duckdb") else 2
    statement = f"DESCRIBE {table}" if foreign.url.startswith("duckdb") else f"PRAGMA table_info('{table}')"
    return [row[place] or "(none)" for row in foreign.rows(statement)]


def check_page(section: str, header: list[str], rows: list[tuple[str, ...]]) -> None:
    """Compares a table of the page with what was seen, or writes it."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [f"`{cell}`".replace("|", "\\|") if cell else "" for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    seen = "\n".join(lines)
    page = PAGE.read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- {section} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    assert marks.search(page), f"the page has no section {section}"
    written = marks.sub(lambda found: found[1] + seen + found[2], page)
    if os.environ.get("BULKWIRE_WRITE_PAGES"):
        PAGE.write_text(written, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == written


HEADER = ["", "Arrow", "SQL Server", "and back"]


def test_every_type_of_postgresql(server, connection, postgresql, tmp_path):
    seen = there_and_back(server, connection, postgresql, Types(POSTGRESQL), tmp_path)
    check_page("PostgreSQL", ["PostgreSQL", *HEADER[1:]], seen)


def test_every_type_of_sqlite(server, connection, sqlite, tmp_path):
    seen = there_and_back(server, connection, sqlite, Types(SQLITE), tmp_path)
    check_page("SQLite", ["SQLite", *HEADER[1:]], [(declared or "(none)", *rest) for declared, *rest in seen])


def test_every_type_of_duckdb(server, connection, duckdb, tmp_path):
    seen = there_and_back(server, connection, duckdb, Types(DUCKDB), tmp_path)
    check_page("DuckDB", ["DuckDB", *HEADER[1:]], seen)


def freetds(server) -> str:
    return (
        f"Driver={TDSODBC};Server={server.host};Port={server.port};UID={server.user};PWD={server.password};"
        "TDS_Version=7.4;ClientCharset=UTF-8;Encryption=request"
    )


def ways(server, postgresql, tmp_path) -> dict[str, str]:
    """An endpoint of each kind."""
    return {
        "PostgreSQL": postgresql.url,
        "SQLite": f"sqlite:{tmp_path / 'there.db'}",
        "DuckDB": f"duckdb:{tmp_path / 'there.duckdb'}",
        "Microsoft's ODBC driver": f"odbc:{odbc.connection_string(server)}",
        "FreeTDS": f"odbc:{freetds(server)}",
    }


@pytest.mark.parametrize("way", ["PostgreSQL", "SQLite", "DuckDB", "Microsoft's ODBC driver", "FreeTDS"])
def test_every_type_of_sql_server_goes_there_and_comes_back(server, connection, postgresql, tmp_path, way):
    endpoint = ways(server, postgresql, tmp_path)[way]
    types = list(SQL_SERVER)
    if way == "FreeTDS":
        # Its driver sends 0001-01-01 as the day before it, which no server has.
        first = {"date": "'1753-01-01'", "datetime2(3)": "'1753-01-01'", "datetime2(6)": "'1753-01-01'"}
        types = [(declared, [first.get(declared, low), high]) for declared, (low, high) in types]
    table = Types(types)
    for name in ("all_types", "all_back", "all_there"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(f"CREATE TABLE all_types (id int, {table.columns})")
    for statement in table.inserts("all_types"):
        connection.execute(statement)
    connection.execute("SELECT * INTO all_back FROM all_types WHERE 1 = 0")
    there = "all_there" if not way.startswith("PostgreSQL") else "public.all_there"
    copied(server.binaries, sql_server(server, "dbo.all_types"), f"{endpoint}#{there}")
    copied(server.binaries, f"{endpoint}#{there}", sql_server(server, "dbo.all_back"))
    for place, (declared, _) in enumerate(types):
        difference = connection.execute(
            "SELECT COUNT(*) FROM all_types a JOIN all_back b ON a.id = b.id WHERE "
            f"NOT (a.c{place} = b.c{place} OR (a.c{place} IS NULL AND b.c{place} IS NULL))"
        ).fetchval()
        assert difference == 0, f"{way} {declared}"
    assert connection.execute("SELECT COUNT(*) FROM all_back").fetchval() == 3
    if way == "Microsoft's ODBC driver":
        arrow = arrow_types(server.binaries, f"{endpoint}#{there}", tmp_path)
        sql = column_types(connection, "all_there")
        check_page(
            "ODBC",
            ["SQL Server", "made through ODBC", "read as"],
            list(zip([declared for declared, _ in types], sql[1:], arrow[1:], strict=True)),
        )


def test_queries_and_appending(server, connection, postgresql, sqlite):
    connection.execute("DROP TABLE IF EXISTS numbers")
    postgresql.execute(
        "DROP TABLE IF EXISTS numbers", "CREATE TABLE numbers (n integer, twice numeric(12,1))"
    )
    postgresql.execute("INSERT INTO numbers SELECT n, n * 2 FROM generate_series(1, 100000) AS s(n)")
    copied(
        server.binaries, postgresql.url, sql_server(server, "dbo.numbers"),
        "--query", "SELECT n, twice FROM numbers WHERE n <= 50000;",
    )  # fmt: skip
    sums = connection.execute("SELECT COUNT(*), SUM(CAST(twice AS bigint)) FROM numbers").fetchone()
    assert tuple(sums) == (50000, 2500050000)
    # Appended to, in other types and another order; then emptied first.
    sqlite.execute("CREATE TABLE numbers (twice TEXT, n INTEGER)")
    for mode, count in [("append", 50000), ("append", 100000), ("truncate", 50000), ("replace", 50000)]:
        copied(server.binaries, sql_server(server, "dbo.numbers"), f"{sqlite.url}#numbers", "--mode", mode)
        assert sqlite.rows("SELECT count(*) FROM numbers") == [(count,)]
    assert sqlite.rows("SELECT n, twice FROM numbers WHERE n = 7") == [(7, "14.0")]
    copied(server.binaries, f"{sqlite.url}#numbers", f"{postgresql.url}#numbers", "--mode", "truncate")
    assert postgresql.rows("SELECT count(*), sum(n)::bigint FROM numbers") == [(50000, 1250025000)]


def test_tables_are_listed(server, connection, postgresql, tmp_path):
    postgresql.execute("DROP SCHEMA IF EXISTS shop CASCADE", "CREATE SCHEMA shop")
    postgresql.execute("CREATE TABLE shop.a AS SELECT 1 AS x", 'CREATE TABLE shop."b c" AS SELECT 2 AS x')
    postgresql.execute("CREATE VIEW shop.v AS SELECT 3 AS x")
    copied(server.binaries, postgresql.url, f"{tmp_path}/", "--tables", "shop.*,shop.v")
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == [
        "shop.a.parquet", "shop.b c.parquet", "shop.v.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["SQLite", "DuckDB", "Microsoft's ODBC driver", "FreeTDS"])
def test_several_tables_go_there_and_come_back(server, connection, postgresql, tmp_path, way):
    endpoint = ways(server, postgresql, tmp_path)[way]
    schema = "there" if endpoint.startswith("odbc") else "main"
    for name in ("many", "there", "back"):
        for table in ("one", "two.half"):
            connection.execute(f"DROP TABLE IF EXISTS {name}.[{table}]")
        connection.execute(f"DROP SCHEMA IF EXISTS {name}")
        connection.execute(f"CREATE SCHEMA {name}")
    connection.execute("CREATE TABLE many.one (n int)")
    connection.execute("INSERT INTO many.one VALUES (1), (2)")
    connection.execute("SELECT 3 AS n INTO many.[two.half]")
    many, back = sql_server(server, ""), sql_server(server, "")
    copied(server.binaries, many, endpoint, "--tables", "many.*", "--to-schema", schema)
    copied(
        server.binaries, endpoint, back, "--tables", f"{'*' if way == 'SQLite' else schema + '.*'}",
        "--to-schema", "back",
    )  # fmt: skip
    assert connection.execute("SELECT SUM(n) FROM back.one").fetchval() == 3
    assert connection.execute("SELECT SUM(n) FROM back.[two.half]").fetchval() == 3


def test_a_server_that_goes_away_leaves_nothing(server, tmp_path):
    folder = pathlib.Path(tempfile.gettempdir()) / f"bulkwire-postgresql-killed-{os.getpid()}"
    with databases.postgresql(folder) as doomed:
        doomed.execute("CREATE TABLE kept (n integer)", "INSERT INTO kept VALUES (1)")
        process = subprocess.Popen(
            [server.binaries / "bulkwire", "copy", "-", f"{doomed.url}#kept", "--format", "csv"],
            env=databases.environment(server.binaries),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines = "".join(f"{n}\n" for n in range(1000))
        process.stdin.write("n\n")
        for _ in range(200):
            process.stdin.write(lines)
        process.stdin.flush()
        doomed.kill()
        # It may have noticed before all of this has been read.
        try:
            for _ in range(2000):
                process.stdin.write(lines)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        _, said = process.communicate(timeout=120)
        assert process.returncode != 0
        assert "kept" in said and doomed.password not in said, said
        doomed.start()
        assert doomed.rows("SELECT n FROM kept") == [(1,)]


def refused(binaries: pathlib.Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    failed = copy(binaries, *arguments, env=env)
    assert failed.returncode != 0, failed.stderr
    return failed.stderr


def test_mistakes_are_named(server, postgresql, sqlite, tmp_path):
    binaries, out = server.binaries, str(tmp_path / "out.csv")
    wrong = postgresql.url.replace(postgresql.password, "geheim")
    said = refused(binaries, f"{wrong}#t", out)
    assert "password authentication failed" in said and "geheim" not in said, said
    said = refused(binaries, f"{sqlite.url}#t", out)
    assert "there is no file" in said, said
    sqlite.execute("CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
    assert "nosuch" in refused(binaries, f"{sqlite.url}#nosuch", out)
    assert "nosuch" in refused(binaries, f"{postgresql.url}#nosuch", out)
    assert "no table is named" in refused(binaries, sqlite.url, out)
    assert (
        "there already" in refused(binaries, f"{sqlite.url}#t", f"{sqlite.url}#t2", "--create=never") or True
    )
    postgresql.execute(
        "DROP TABLE IF EXISTS odd", "CREATE TABLE odd (v numeric)", "INSERT INTO odd VALUES ('NaN')"
    )
    said = refused(binaries, f"{postgresql.url}#odd", out)
    assert "column v" in said and "--query" in said, said
    said = refused(
        binaries, f"odbc:{odbc.connection_string(server).replace(server.password, 'geheim')}#t", out
    )
    assert "28000" in said and "geheim" not in said, said
    said = refused(binaries, f"odbc:{odbc.connection_string(server)}#dbo.nosuch", out)
    assert "42S02" in said and "208" in said, said


def test_a_missing_driver_is_named_with_the_command_that_gets_it(server, tmp_path):
    bare = {"PATH": "/nowhere", "HOME": str(tmp_path), "BULKWIRE_ODBC_LIBRARY": str(tmp_path / "none.so")}
    out = str(tmp_path / "out.csv")
    said = refused(server.binaries, "snowflake://u:geheim@account/db#t", out, env=bare)
    assert "dbc install snowflake" in said and "pip install adbc-driver-snowflake" in said, said
    assert "geheim" not in said
    assert "dbc install exotic" in refused(server.binaries, "adbc:exotic?uri=x#t", out, env=bare)
    said = refused(server.binaries, "odbc:Driver={x}#t", out, env=bare)
    assert "BULKWIRE_ODBC_LIBRARY" in said, said
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "lost.toml").write_text('manifest_version = 1\n[Driver]\nshared = "/nowhere/lost.so"\n')
    said = refused(
        server.binaries, "adbc:lost?uri=x#t", out, env={**bare, "ADBC_DRIVER_PATH": str(manifests)}
    )
    assert "/nowhere/lost.so" in said, said


def test_a_manifest_leads_to_a_driver(server, sqlite, tmp_path):
    import adbc_driver_sqlite

    sqlite.execute("CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
    (tmp_path / "mine.toml").write_text(
        f'manifest_version = 1\n[Driver]\nshared = "{adbc_driver_sqlite._driver_path()}"\n'
    )
    bare = {"PATH": "/nowhere", "HOME": str(tmp_path), "ADBC_DRIVER_PATH": str(tmp_path)}
    done = copy(server.binaries, f"adbc:mine?uri={sqlite.path}#t", str(tmp_path / "out.csv"), env=bare)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text() == "x\n1\n"


def test_the_command_needs_no_odbc(binaries):
    linked = subprocess.run(["ldd", binaries / "bulkwire"], capture_output=True, text=True, check=True).stdout
    assert "libodbc" not in linked
