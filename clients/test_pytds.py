"""python-tds: TDS in pure Python, its pool, and its bulk copy (`copy_to`)."""

from __future__ import annotations

import decimal
import functools

import pytds
import pytest
from pytds import tds_types
from pytds.tds_base import Column

import cells
import python_cells
from relay import relayed


def connect(server, **options):
    """A connection, with autocommit by default."""
    return pytds.connect(
        **{
            "dsn": server.host,
            "port": server.port,
            "user": server.user,
            "password": server.password,
            "autocommit": True,
            "login_timeout": 10,
            "use_tz": None,
            **options,
        }
    )


@pytest.fixture
def cursor(server):
    """A cursor on a connection of its own."""
    with connect(server) as connection, connection.cursor() as cursor:
        yield cursor


def fetch(cursor, query: str, parameters=()) -> list[tuple]:
    """A query's rows."""
    cursor.execute(query, parameters)
    return cursor.fetchall()


def fresh(cursor, name: str, columns: list[cells.Column]) -> str:
    """An empty table."""
    cursor.execute(f"DROP TABLE IF EXISTS {name}")
    cursor.execute(python_cells.create_table(name, columns))
    return name


@pytest.mark.parametrize(
    ("mode", "login_only", "expected"),
    [("off", None, "none"), ("optional", True, "login"), ("required", False, "full")],
    ids=["without_tls", "with_an_encrypted_login_only", "with_full_tls"],
)
def test_logs_in(tls_modes, mode, login_only, expected):
    with relayed(tls_modes(mode)) as (server, relay):
        options = (
            {} if login_only is None else {"cafile": str(server.certificate), "enc_login_only": login_only}
        )
        with connect(server, validate_host=False, **options) as connection:
            assert fetch(connection.cursor(), "SELECT N'zwölf'") == [("zwölf",)]
        assert relay.encryption() == expected


def test_a_wrong_password_is_18456(server):
    with pytest.raises(pytds.OperationalError, match="Login failed") as refused:
        connect(server, password="wrong")
    assert refused.value.number == 18456


def test_a_missing_database_is_4060(server):
    with pytest.raises(pytds.Error, match="Cannot open database"):
        connect(server, database="no_such_database")


def test_without_mars_a_connection_that_asks_for_it_works(server):
    """The server answers that it has no MARS, and the client goes on without."""
    with connect(server, use_mars=True) as connection:
        assert not connection.mars_enabled
        assert fetch(connection.cursor(), "SELECT 1") == [(1,)]


def test_every_type_reads_back_cell_by_cell(cursor):
    columns = python_cells.columns()
    fresh(cursor, "#pytds_read", columns)
    for statement in python_cells.inserts("#pytds_read", columns):
        cursor.execute(statement)
    rows = fetch(cursor, "SELECT * FROM #pytds_read ORDER BY id")
    assert python_cells.differences(columns, rows) == []


@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_a_parameter_of_every_type(cursor, column):
    fresh(cursor, "#pytds_parameter", [column])
    for number, value in python_cells.rows([column]):
        parameter = pytds.Binary(value) if isinstance(value, bytes) else value
        # A NULL is put into the statement's text by the client.
        cursor.execute("INSERT INTO #pytds_parameter VALUES (%s, %s)", (number, parameter))
    rows = fetch(cursor, "SELECT * FROM #pytds_parameter ORDER BY id")
    assert python_cells.differences([column], rows) == []


def test_a_statement_runs_again_and_again(cursor):
    cursor.execute("CREATE TABLE #pytds_again (n int, t nvarchar(20))")
    cursor.executemany("INSERT INTO #pytds_again VALUES (%s, %s)", [(n, f"n{n}") for n in range(50)])
    assert fetch(cursor, "SELECT COUNT(*), SUM(n) FROM #pytds_again") == [(50, 1225)]


def test_a_statement_is_prepared_executed_and_unprepared(cursor):
    cursor.execute("CREATE TABLE #pytds_prepared (n int)")
    outputs = cursor.callproc(
        "sp_prepare", [pytds.output(param_type=int), "@n int", "INSERT INTO #pytds_prepared VALUES (@n * 2)"]
    )
    handle = outputs[0]
    for number in range(5):
        cursor.callproc("sp_execute", [handle, number])
    assert fetch(cursor, "SELECT n FROM #pytds_prepared") == [(0,), (2,), (4,), (6,), (8,)]
    cursor.callproc("sp_unprepare", [handle])
    with pytest.raises(pytds.Error) as gone:
        cursor.callproc("sp_execute", [handle, 1])
    assert gone.value.number == 8179


def test_output_parameters_and_the_return_status(cursor):
    outputs = cursor.callproc(
        "sp_executesql",
        [
            "SET @twice = @n * 2",
            "@n int, @twice int OUTPUT",
            21,
            pytds.output(param_type=int),
        ],
    )
    assert outputs[-1] == 42
    assert cursor.get_proc_return_status() == 0


def test_errors_carry_number_state_class_and_line(cursor):
    with pytest.raises(pytds.Error) as failed:
        cursor.execute("SELECT 1\n\nRAISERROR('mine', 15, 7)")
        while cursor.nextset():
            pass
    error = failed.value
    assert (error.number, error.state, error.severity, error.line) == (50000, 7, 15, 3)
    assert fetch(cursor, "SELECT 1") == [(1,)]


def test_rollback_takes_everything_back(server):
    with connect(server, autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE #pytds_undo (n int)")
        connection.commit()
        cursor.execute("INSERT INTO #pytds_undo VALUES (1)")
        connection.rollback()
        cursor.execute("INSERT INTO #pytds_undo VALUES (2)")
        connection.commit()
        cursor.execute("INSERT INTO #pytds_undo VALUES (3)")
        connection.rollback()
        assert fetch(cursor, "SELECT n FROM #pytds_undo") == [(2,)]


def test_a_result_is_cancelled_while_it_flows(cursor):
    cursor.execute("SELECT value INTO #pytds_digits FROM STRING_SPLIT(REPLICATE('1,', 999), ',')")
    cursor.execute("SELECT a.value FROM #pytds_digits a, #pytds_digits b")
    assert cursor.fetchone() == ("1",)
    cursor.cancel()
    assert fetch(cursor, "SELECT 1") == [(1,)], "the connection goes on"


def test_a_query_ends_at_its_timeout(server):
    with connect(server, timeout=1) as connection, pytest.raises(pytds.TimeoutError):
        connection.cursor().execute("WAITFOR DELAY '00:01:00'")


def test_several_results(cursor):
    cursor.execute("SELECT 1; SELECT 2 WHERE 1 = 0; SELECT 3, 4")
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    assert results == [[(1,)], [], [(3, 4)]]


def test_a_pooled_connection_is_reset_by_name(server):
    """pytds gives a pooled connection out after a rollback and leaves the session as it is."""
    first = connect(server, pooling=True, appname="pytds pool")
    cursor = first.cursor()
    cursor.execute("CREATE TABLE #pytds_left (n int); SET LOCK_TIMEOUT 1234")
    spid = fetch(cursor, "SELECT @@SPID")
    first.close()
    with connect(server, pooling=True, appname="pytds pool") as again, again.cursor() as cursor:
        assert fetch(cursor, "SELECT @@SPID") == spid
        cursor.callproc("sp_reset_connection")
        assert fetch(cursor, "SELECT @@LOCK_TIMEOUT, OBJECT_ID('tempdb..#pytds_left')") == [(-1, None)]


def described(column: cells.Column) -> Column:
    """The column as copy_to wants it described.

    pytds 1.17.1 writes text, ntext and image as parameters are written, not as rows are, and cannot write
    binary, nor negative or large money: they are sent as other types, which the server converts.
    """
    kind, _, rest = column.declaration.partition("(")
    sizes = [part for part in rest.rstrip(")").split(",") if part]
    numbers = [int(part) for part in sizes if part != "max"]
    types = {
        "bit": tds_types.BitType,
        "tinyint": tds_types.TinyIntType,
        "smallint": tds_types.SmallIntType,
        "int": tds_types.IntType,
        "bigint": tds_types.BigIntType,
        "real": tds_types.RealType,
        "float": tds_types.FloatType,
        "decimal": tds_types.DecimalType,
        "numeric": tds_types.DecimalType,
        "money": functools.partial(tds_types.DecimalType, 19, 4),
        "smallmoney": tds_types.SmallMoneyType,
        "date": tds_types.DateType,
        "time": tds_types.TimeType,
        "datetime": tds_types.DateTimeType,
        "smalldatetime": tds_types.SmallDateTimeType,
        "datetime2": tds_types.DateTime2Type,
        "datetimeoffset": tds_types.DateTimeOffsetType,
        "char": tds_types.CharType,
        "varchar": tds_types.VarCharType,
        "text": tds_types.VarCharMaxType,
        "nchar": tds_types.NCharType,
        "nvarchar": tds_types.NVarCharType,
        "ntext": tds_types.NVarCharMaxType,
        "binary": tds_types.VarBinaryType,
        "varbinary": tds_types.VarBinaryType,
        "image": tds_types.VarBinaryMaxType,
        "uniqueidentifier": tds_types.UniqueIdentifierType,
        "xml": tds_types.XmlType,
    }
    unlimited = {
        "varchar": tds_types.VarCharMaxType,
        "nvarchar": tds_types.NVarCharMaxType,
        "varbinary": tds_types.VarBinaryMaxType,
    }
    made = unlimited[kind]() if "max" in sizes else types[kind](*numbers)
    return Column(column.name, type=made, flags=Column.fNullable)


@pytest.mark.parametrize("column", python_cells.columns(), ids=lambda column: column.name)
def test_copy_to_of_every_type(cursor, column):
    table = fresh(cursor, "pytds_one", [column])
    columns = [Column("id", type=tds_types.IntType()), described(column)]
    rows = python_cells.rows([column])
    cursor.copy_to(data=rows, table_or_view=table, columns=columns, keep_nulls=True)
    assert python_cells.differences([column], fetch(cursor, f"SELECT * FROM {table} ORDER BY id")) == []


def test_copy_to_of_strings_that_the_server_converts(cursor):
    """Without a description of the columns copy_to declares nvarchar(4000) for each."""
    cursor.execute("DROP TABLE IF EXISTS pytds_text")
    cursor.execute(
        "CREATE TABLE pytds_text (n int, d decimal(9,2), m datetime2(3), t varchar(20), u uniqueidentifier)"
    )
    guid = "00112233-4455-6677-8899-AABBCCDDEEFF"
    rows = [("1", "-2.50", "2024-02-29 12:34:56.789", "déjà vu", guid), (None,) * 5]
    cursor.copy_to(data=rows, table_or_view="pytds_text", tablock=True, rows_per_batch=2)
    found = fetch(cursor, "SELECT n, d, CAST(m AS varchar(30)), t, CAST(u AS char(36)) FROM pytds_text")
    assert found == [(1, decimal.Decimal("-2.50"), "2024-02-29 12:34:56.789", "déjà vu", guid), (None,) * 5]


def test_copy_to_from_a_file(cursor, tmp_path):
    cursor.execute("DROP TABLE IF EXISTS pytds_file; CREATE TABLE pytds_file (n int, t nvarchar(20))")
    file = tmp_path / "rows.tsv"
    file.write_text("".join(f"{n}\t{'NULL' if n % 3 == 0 else f'n{n}'}\n" for n in range(2000)))
    with file.open() as opened:
        cursor.copy_to(opened, "pytds_file", null_string="NULL")
    found = fetch(cursor, "SELECT COUNT(*), SUM(n), COUNT(t) FROM pytds_file")
    assert found == [(2000, 1999 * 1000, 1333)]


def test_copy_to_of_a_duplicate_key_loads_nothing(cursor):
    cursor.execute("DROP TABLE IF EXISTS pytds_key; CREATE TABLE pytds_key (n int PRIMARY KEY)")
    columns = [Column("n", type=tds_types.IntType())]
    with pytest.raises(pytds.IntegrityError) as failed:
        cursor.copy_to(data=[(1,), (2,), (1,)], table_or_view="pytds_key", columns=columns)
    assert failed.value.number == 2627
    assert fetch(cursor, "SELECT COUNT(*) FROM pytds_key") == [(0,)]


def test_a_copy_that_breaks_off_leaves_nothing(server, cursor):
    cursor.execute("DROP TABLE IF EXISTS pytds_breaks; CREATE TABLE pytds_breaks (n int, t nvarchar(max))")

    def rows():
        for number in range(2000):
            yield (number, "x" * 500)
        raise KeyError("enough")

    connection = connect(server)
    columns = [Column("n", type=tds_types.IntType()), Column("t", type=tds_types.NVarCharMaxType())]
    with pytest.raises(KeyError, match="enough"):
        connection.cursor().copy_to(data=rows(), table_or_view="pytds_breaks", columns=columns)
    connection.close()
    cursor.execute("SET LOCK_TIMEOUT 20000")
    assert fetch(cursor, "SELECT COUNT(*) FROM pytds_breaks WITH (TABLOCKX)") == [(0,)]


def test_a_table_valued_parameter(cursor):
    cursor.execute("DROP PROCEDURE IF EXISTS pytds_pairs; DROP TYPE IF EXISTS dbo.pytds_pair")
    cursor.execute("CREATE TYPE dbo.pytds_pair AS TABLE (id int NOT NULL, name nvarchar(20) NULL)")
    rows = [(1, "one"), (2, None), (3, "größer")]
    table = pytds.TableValuedParam(type_name="dbo.pytds_pair", rows=iter(rows))
    assert fetch(cursor, "SELECT id, name FROM %s ORDER BY id", (table,)) == rows


def test_triggers_of_a_bulk_copy(cursor):
    cursor.execute("DROP TABLE IF EXISTS pytds_fired; DROP TABLE IF EXISTS pytds_seen")
    cursor.execute("CREATE TABLE pytds_fired (id int); CREATE TABLE pytds_seen (n int)")
    cursor.execute(
        "CREATE TRIGGER pytds_trigger ON pytds_fired AFTER INSERT AS"
        " IF EXISTS (SELECT * FROM inserted WHERE id = 9) THROW 50007, 'nine', 1"
        " INSERT pytds_seen SELECT COUNT(*) FROM inserted"
    )
    columns = [Column("id", type=tds_types.IntType())]

    def load(rows, fire):
        cursor.copy_to(data=rows, table_or_view="pytds_fired", columns=columns, fire_triggers=fire)

    load([(1,), (2,)], False)
    load([(3,), (4,), (5,)], True)
    with pytest.raises(pytds.DatabaseError, match="nine"):
        load([(8,), (9,)], True)
    assert fetch(cursor, "SELECT n FROM pytds_seen") == [(3,)]
    assert fetch(cursor, "SELECT COUNT(*), @@TRANCOUNT FROM pytds_fired") == [(5, 0)]
