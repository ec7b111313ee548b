"""Reading: streams, parameters, types, and what a connection refuses meanwhile."""

import datetime as dt
import uuid
from decimal import Decimal

import bulkwire
import duckdb
import polars as pl
import pyarrow as pa
import pytest

NUMBERS = "CREATE TABLE n (id int NOT NULL)"
ROWS = 200_000


@pytest.fixture
def numbers(bulkwire_db):
    bulkwire_db.execute(NUMBERS)
    bulkwire_db.load("n", pa.table({"id": pa.array(range(ROWS), pa.int32())}))
    return bulkwire_db


def test_everyone_reads_the_stream(numbers):
    expected = ROWS * (ROWS - 1) // 2
    query = "SELECT CAST(id AS bigint) AS id FROM n"
    assert numbers.read(query).to_polars()["id"].sum() == expected
    assert numbers.read(query).to_pandas()["id"].sum() == expected
    assert sum(numbers.read(query).to_arrow().column("id").to_pylist()) == expected
    assert pl.DataFrame(numbers.read(query)).height == ROWS
    assert pa.table(numbers.read(query)).num_rows == ROWS
    stream = numbers.read(query)  # noqa: F841 - DuckDB finds it by its name
    assert duckdb.sql("SELECT SUM(id) FROM stream").fetchall() == [(expected,)]


def test_batches_come_one_by_one(numbers):
    with numbers.read("SELECT id FROM n", batch_rows=1000) as reader:
        sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == ROWS
    assert max(sizes) == 1000
    assert pa.record_batch(next(iter(numbers.read("SELECT TOP 1 id FROM n ORDER BY id")))).to_pylist() == [{"id": 0}]


def test_a_connection_is_busy_until_its_result_is_read_or_closed(numbers):
    reader = numbers.read("SELECT a.id FROM n AS a CROSS JOIN n AS b")
    next(reader)
    with pytest.raises(bulkwire.UsageError, match="the connection is in use"):
        numbers.execute("SELECT 1")
    reader.close()
    assert numbers.fetch("SELECT COUNT(*) FROM n") == [(ROWS,)]
    with pytest.raises(bulkwire.UsageError, match="the reader is closed"):
        next(reader)


def test_a_reader_that_is_forgotten_frees_its_connection(numbers):
    numbers.read("SELECT a.id FROM n AS a CROSS JOIN n AS b")
    assert numbers.fetch("SELECT 1") == [(1,)]


def test_reading_feeds_a_load_on_another_connection(numbers, bulkwire_server):
    database = numbers.fetch("SELECT DB_NAME()")[0][0]
    numbers.execute("CREATE TABLE copy (id int NOT NULL)")
    with bulkwire_server.connect(database) as other:
        other.load("copy", numbers.read("SELECT id FROM n"))
    assert numbers.fetch("SELECT COUNT(*), SUM(CAST(id AS bigint)) FROM copy") == [(ROWS, ROWS * (ROWS - 1) // 2)]


def test_a_second_result_is_refused(bulkwire_db):
    with pytest.raises(bulkwire.UsageError, match="more than one result"):
        list(bulkwire_db.read("SELECT 1 AS a; SELECT 2 AS b"))
    with pytest.raises(bulkwire.UsageError, match="2 result sets"):
        bulkwire_db.fetch("SELECT 1 AS a; SELECT 2 AS b")


def test_an_error_in_the_middle_comes_after_the_rows_before(bulkwire_db):
    with pytest.raises(bulkwire.ServerError) as caught:
        bulkwire_db.read("SELECT 1 / 0 AS a").to_arrow()
    assert caught.value.number == 8134


def test_an_error_at_the_start_has_all_fields(bulkwire_db):
    with pytest.raises(bulkwire.ServerError) as caught:
        bulkwire_db.read("SELECT 1\nSELECT * FROM dbo.nowhere")
        bulkwire_db.execute("SELECT * FROM dbo.nowhere")
    error = caught.value
    assert (error.number, error.severity, error.state) == (208, 16, 1)
    assert error.messages[0].text == "Invalid object name 'dbo.nowhere'."


VALUES = [
    True,
    False,
    -(2**31),
    2**40,
    10**30,
    1.5,
    Decimal("-12.3400"),
    Decimal("1E+3"),
    "Zoë 😀",
    "",
    "x" * 5000,
    b"\0\1\2",
    b"",
    b"x" * 9000,
    dt.date(2024, 2, 29),
    dt.time(23, 59, 59, 999999),
    dt.datetime(2024, 2, 29, 12, 30, 15, 123456),
    dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
    uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {str(value)[:20]}")
def test_a_parameter_comes_back_as_it_was(bulkwire_db, value):
    assert bulkwire_db.fetch("SELECT @p1", [value]) == [(value,)]
    assert bulkwire_db.fetch("SELECT @v", {"v": value}) == [(value,)]


def test_nulls(bulkwire_db):
    assert bulkwire_db.fetch("SELECT @p1, @p2", [None, bulkwire.Null("varbinary(max)")]) == [(None, None)]
    with pytest.raises(bulkwire.UsageError, match='"varbinarry" is no SQL type'):
        bulkwire_db.fetch("SELECT @p1", [bulkwire.Null("varbinarry")])


def test_parameters_filter(numbers):
    assert numbers.read("SELECT id FROM n WHERE id < @limit", {"limit": 3}).to_arrow().num_rows == 3
    assert numbers.execute("DELETE FROM n WHERE id >= @p1", [10]).rows_affected == ROWS - 10


@pytest.mark.parametrize("params", ["text", 7, {"v": object()}, [Decimal("NaN")], [10**40]])
def test_parameters_that_make_no_sense_are_refused(bulkwire_db, params):
    with pytest.raises(bulkwire.UsageError, match="param"):
        bulkwire_db.fetch("SELECT @v", params)


def test_exact_types_and_their_options(bulkwire_db):
    guid = "6F9619FF-8B86-D011-B42D-00C04FC964FF"
    query = (
        f"SELECT CAST('{guid}' AS uniqueidentifier) AS g, "
        "CAST('2024-02-29 12:30:15.1234567 +05:30' AS datetimeoffset(7)) AS o, "
        "CAST('2024-02-29 12:30:15.1234567' AS datetime2(7)) AS d, CAST(1.25 AS decimal(9, 2)) AS n"
    )
    table = bulkwire_db.read(query).to_arrow()
    assert table.schema.types == [pa.binary(16), pa.timestamp("ns", "UTC"), pa.timestamp("ns"), pa.decimal128(9, 2)]
    # Bytes in the order of the text, so that uuid.UUID(bytes=…) is the same identifier.
    assert uuid.UUID(bytes=table["g"][0].as_py()) == uuid.UUID(guid)
    assert table["o"][0].value == 1709190015123456700
    table = bulkwire_db.read(query, guid="text", datetimeoffset="text", datetime2_7="text").to_arrow()
    assert table.to_pylist()[0]["g"] == guid
    assert table.to_pylist()[0]["o"] == "2024-02-29 12:30:15.1234567 +05:30"
    assert table.to_pylist()[0]["d"] == "2024-02-29 12:30:15.1234567"
    with pytest.raises(bulkwire.UsageError, match='guid must be "bytes" or "text", not "hex"'):
        bulkwire_db.read(query, guid="hex")


def test_fetch_refuses_what_python_cannot_hold(bulkwire_db):
    with pytest.raises(bulkwire.UsageError, match="more digits than Python's microseconds"):
        bulkwire_db.fetch("SELECT CAST('12:30:15.1234567' AS time(7))")
    assert bulkwire_db.fetch("SELECT CAST('2024-02-29 12:30:15.123' AS datetime)") == [(dt.datetime(2024, 2, 29, 12, 30, 15, 123000),)]
    assert bulkwire_db.fetch("SELECT CAST(-1.2345 AS money)") == [(Decimal("-1.2345"),)]


def test_messages_are_kept(bulkwire_db):
    done = bulkwire_db.execute("PRINT 'hello'")
    assert [message.text for message in done.messages] == ["hello"]


@pytest.fixture
def keyed(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE k (id int NOT NULL PRIMARY KEY, name nvarchar(20), x decimal(9, 2))")
    bulkwire_db.execute("INSERT INTO k SELECT value, CONCAT(N'name ', value), value / 4.0 FROM GENERATE_SERIES(1, 20000)")
    return bulkwire_db


@pytest.mark.parametrize("readers", [1, 4, "auto"])
@pytest.mark.parametrize("consistent", [None, "snapshot", "lock"])
def test_several_readers_give_every_row_in_order(keyed, readers, consistent):
    if consistent == "snapshot":
        [(database,)] = keyed.fetch("SELECT DB_NAME()")
        keyed.execute(f"ALTER DATABASE [{database}] SET ALLOW_SNAPSHOT_ISOLATION ON")
    reader = keyed.read(table="k", readers=readers, consistent=consistent, batch_rows=1000)
    # The connection only planned.
    assert keyed.fetch("SELECT COUNT(*) FROM k") == [(20_000,)]
    assert ("not at all" if readers == 1 else "clustered key") in reader.plan
    table = reader.to_arrow()
    assert table.column("id").to_pylist() == list(range(1, 20_001))
    assert table == keyed.read("SELECT * FROM k ORDER BY id").to_arrow()


def test_a_query_is_split_by_a_column(keyed):
    query = "SELECT id, x FROM k WHERE id % @m = 1"
    expected = keyed.read(query, {"m": 3}).to_polars()
    found = keyed.read(query, {"m": 3}, readers=3, split_by="id", gentle=True).to_polars()
    assert found.sort("id").equals(expected.sort("id"))
    assert keyed.read("SELECT id FROM k").plan is None


def test_readers_that_are_closed_leave_nothing_behind(keyed):
    with keyed.read(table="k", readers=4, batch_rows=100) as reader:
        assert pa.record_batch(next(reader)).num_rows == 100
    with pytest.raises(bulkwire.UsageError, match="closed"):
        next(reader)
    # No reader holds a lock or a snapshot any more.
    keyed.execute("DROP TABLE k")


def test_reads_that_make_no_sense_are_refused(keyed):
    for arguments, kind, words in [
        ({}, bulkwire.UsageError, "query"),
        ({"sql": "SELECT 1", "table": "k"}, bulkwire.UsageError, "query"),
        ({"table": "k", "readers": 0}, bulkwire.UsageError, "readers"),
        ({"table": "k", "consistent": "always"}, bulkwire.UsageError, "consistent"),
        ({"table": "k", "split_by": "nothing"}, bulkwire.PlanError, "no such column"),
        ({"table": "missing", "readers": 2}, bulkwire.NoTableError, "missing"),
        ({"sql": "SELECT * FROM k", "consistent": "lock"}, bulkwire.UsageError, "locked"),
        ({"sql": "SELECT 1 / (id - 15000) AS q, id FROM k", "split_by": "id", "readers": 2}, bulkwire.ServerError, "Divide by zero"),
    ]:
        with pytest.raises(kind, match=words):
            keyed.read(**arguments).to_arrow()
    keyed.execute("CREATE TABLE #t (id int PRIMARY KEY)")
    with pytest.raises(bulkwire.UsageError, match="temporary"):
        keyed.read(table="#t", readers=2)
    with keyed.transaction(), pytest.raises(bulkwire.UsageError, match="transaction"):
        keyed.read(table="k", readers=2)
    assert keyed.fetch("SELECT COUNT(*) FROM k") == [(20_000,)]
