"""Loading: everything that holds Arrow data, and everything that goes wrong."""

import datetime as dt
import struct
import threading
import time
import uuid
from decimal import Decimal

import bulkwire
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int32()),
        "name": pa.array(["Ada", None, "Zoë 😀"], pa.string()),
        "price": pa.array([Decimal("12.50"), Decimal("-0.01"), None], pa.decimal128(10, 2)),
        "at": pa.array([dt.datetime(2024, 2, 29, 12, 30, 15, 123456), None, dt.datetime(1, 1, 1)], pa.timestamp("us")),
    }
)
DEFINITION = "CREATE TABLE t (id int NOT NULL, name nvarchar(20), price decimal(10, 2), at datetime2(6))"


def rows(table: pa.Table) -> list[tuple]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def batches_of(table: pa.Table):
    yield from table.to_batches(max_chunksize=1)


SOURCES = {
    "pyarrow table": lambda path: TABLE,
    "pyarrow record batch": lambda path: TABLE.to_batches()[0],
    "pyarrow reader": lambda path: TABLE.to_reader(max_chunksize=2),
    "polars frame": lambda path: pl.from_arrow(TABLE),
    "polars frame of chunks": lambda path: chunks_of(TABLE),
    "pandas frame": lambda path: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb relation": lambda path: duckdb.from_arrow(TABLE),
    "generator of batches": lambda path: batches_of(TABLE),
    "list of tables": lambda path: [TABLE.slice(0, 1), TABLE.slice(1)],
    "parquet file": lambda path: written(path / "t.parquet", pyarrow.parquet.write_table),
    "arrow file": lambda path: written(path / "t.arrow", lambda t, p: pyarrow.feather.write_feather(t, p, "zstd")),
    "csv file": lambda path: written(path / "t.csv", pyarrow.csv.write_csv),
}


def chunks_of(table: pa.Table) -> pl.DataFrame:
    return pl.concat([pl.from_arrow(table.slice(0, 1)), pl.from_arrow(table.slice(1))], rechunk=False)


def written(path, write):
    write(TABLE, str(path))
    return path


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_loads_the_same_rows(bulkwire_db, tmp_path, source):
    bulkwire_db.execute(DEFINITION)
    report = bulkwire_db.load("t", SOURCES[source](tmp_path))
    assert (report.rows, report.batches) == (3, 1)
    assert rows(bulkwire_db.read("SELECT * FROM t").to_arrow()) == rows(TABLE)


def test_a_frame_of_chunks_is_not_copied_into_one(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int NOT NULL)")
    halves = [range(70_000), range(70_000, 140_000)]
    frame = pl.concat([pl.DataFrame({"id": half}, schema={"id": pl.Int32}) for half in halves], rechunk=False)
    assert bulkwire_db.load("t", frame).rows == 140_000
    assert frame.n_chunks() == 2
    sums = bulkwire_db.fetch("SELECT COUNT(DISTINCT id), SUM(CAST(id AS bigint)) FROM t")
    assert sums == [(140_000, sum(range(140_000)))]


def test_a_str_is_a_path(bulkwire_db, tmp_path):
    bulkwire_db.execute(DEFINITION)
    assert bulkwire_db.load("t", str(written(tmp_path / "t.parquet", pyarrow.parquet.write_table))).rows == 3


@pytest.mark.parametrize("source", SOURCES)
def test_create_makes_a_table_that_holds_the_data(bulkwire_db, tmp_path, source):
    bulkwire_db.load("dbo.made", SOURCES[source](tmp_path), create=True)
    assert rows(bulkwire_db.read("SELECT * FROM made").to_arrow())[0][:2] == rows(TABLE)[0][:2]
    length = bulkwire_db.fetch("SELECT max_length FROM sys.columns WHERE object_id = OBJECT_ID('made') AND name = 'name'")
    once = source in ("pyarrow reader", "generator of batches", "list of tables")
    # UTF-16 bytes: "Zoë 😀" has 6 units, rounded up to 10; -1 is max, for what can be read once only.
    assert length == [(-1 if once else 20,)]


def test_create_takes_declared_types(bulkwire_db):
    bulkwire_db.load("made", TABLE.slice(0, 2), create=True, types={"name": "varchar(30)", "id": "bigint"})
    types = bulkwire_db.fetch(
        "SELECT c.name, t.name, c.max_length FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id "
        "WHERE c.object_id = OBJECT_ID('made') AND c.name IN ('id', 'name') ORDER BY c.column_id"
    )
    assert types == [("id", "bigint", 8), ("name", "varchar", 30)]
    with pytest.raises(bulkwire.UsageError, match='a column "nam" that the data does not have'):
        bulkwire_db.load("made2", TABLE, create=True, types={"nam": "int"})


def test_create_has_the_words_of_copy(bulkwire_db):
    ids = keyed([1, 2], ["a", "b"])
    for create in ("if-missing", "if-missing", "never", False):
        bulkwire_db.load("made", ids, create=create)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM made") == [(8,)]
    # What removes the rows that are there wants no other table than that.
    for mode in ("replace", "truncate", "replace"):
        bulkwire_db.load("made", ids, create=True, mode=mode)
        bulkwire_db.load("made_by_" + mode, ids, create=True, mode=mode)
        assert bulkwire_db.fetch(f"SELECT (SELECT COUNT(*) FROM made), (SELECT COUNT(*) FROM made_by_{mode})") == [(2, 2)]
    for create in (True, "always"):
        with pytest.raises(bulkwire.ServerError) as raised:
            bulkwire_db.load("made", ids, create=create)
        assert raised.value.number == 2714
        assert "if-missing" in "".join(getattr(raised.value, "__notes__", ["if-missing"]))
    with pytest.raises(bulkwire.NoTableError):
        bulkwire_db.load("missing", ids, create="never")
    with pytest.raises(bulkwire.UsageError, match="make the table first"):
        bulkwire_db.load("missing", ids, create="if-missing", mode="upsert", key="id")
    assert bulkwire_db.fetch("SELECT OBJECT_ID('missing')") == [(None,)]


def test_a_load_that_fails_drops_what_it_has_made(bulkwire_db):
    bad = pa.table({"v": pa.array(["x" * 9])})
    for _ in range(2):
        with pytest.raises(bulkwire.CellError):
            bulkwire_db.load("made", bad, create=True, types={"v": "varchar(3)"})
        assert bulkwire_db.fetch("SELECT OBJECT_ID('made')") == [(None,)]
    bulkwire_db.load("made", bad, create=True)
    with pytest.raises(bulkwire.CellError):
        bulkwire_db.load("made", pa.table({"v": ["x" * 99]}), create="if-missing")
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM made") == [(1,)]


def test_short_text_gets_room(bulkwire_db):
    bulkwire_db.load("made", pd.DataFrame({"v": ["a", "ö", None]}), create=True)
    bulkwire_db.load("made", pd.DataFrame({"v": ["longer"]}))
    assert bulkwire_db.fetch("SELECT COL_LENGTH('made', 'v')") == [(20,)]


@pytest.mark.parametrize("index", [[1, 2, 3], [1, 3, 7], [3, 1, 2]])
def test_a_named_index_of_pandas_is_a_column(bulkwire_db, index):
    frame = pd.DataFrame({"id": index, "v": ["a", "b", "c"]}).set_index("id")
    ranged = pd.DataFrame({"v": ["a", "b", "c"]}, index=pd.RangeIndex(5, 8, name="id"))
    unnamed = pd.DataFrame({"v": ["a"]})
    bulkwire_db.load("made", frame, create=True)
    assert sorted(bulkwire_db.fetch("SELECT id, v FROM made")) == sorted(zip(index, "abc", strict=True))
    bulkwire_db.load("made", ranged, truncate=True)
    assert bulkwire_db.fetch("SELECT id, v FROM made ORDER BY id") == [(5, "a"), (6, "b"), (7, "c")]
    assert ranged.index.name == "id"
    bulkwire_db.load("plain", unnamed, create=True)
    assert bulkwire_db.fetch("SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('plain')") == [("v",)]


def test_python_objects_of_polars_are_refused_by_name(bulkwire_db):
    frame = pl.DataFrame({"id": [uuid.uuid4(), uuid.uuid4()], "v": ["x", "y"]})
    assert frame.schema["id"] == pl.Object
    bulkwire_db.execute("CREATE TABLE t (id varbinary(8), v nvarchar(10))")
    for data in (frame, frame.select("id"), frame["id"], [frame], pl.concat([frame, frame], rechunk=False)):
        for create in (False, "if-missing", True):
            with pytest.raises(bulkwire.PlanError, match='column "id" is a polars Object'):
                bulkwire_db.load("made" if create else "t", data, create=create)
    with pytest.raises(bulkwire.PlanError, match="polars Object"):
        bulkwire_db.upsert("t", frame, keys=["v"])
    with pytest.raises(bulkwire.PlanError, match="polars Object"):
        bulkwire_db.forecast("t", frame)
    assert bulkwire_db.fetch("SELECT COUNT(*), OBJECT_ID('made') FROM t") == [(0, None)]
    texts = frame.with_columns(pl.Series("id", [str(value) for value in frame["id"]]))
    bulkwire_db.load("made", texts, create=True)
    with pytest.raises(bulkwire.UsageError, match=r"\.collect\(\)"):
        bulkwire_db.load("t", frame.select("v").lazy())
    with pytest.raises(bulkwire.UsageError, match="a dict is no Arrow data"):
        bulkwire_db.load("t", {"v": ["x"]})


def test_what_a_row_needs_is_looked_for_before_rows_are_sent(bulkwire_db):
    bulkwire_db.execute(
        "CREATE TABLE t (id int NOT NULL, v nvarchar(10) NOT NULL, n int NOT NULL DEFAULT 7, k int IDENTITY, c AS id, r rowversion)"
    )
    for mode in ("append", "truncate", "replace"):
        with pytest.raises(bulkwire.PlanError, match="no column for v, which takes no NULL and has no default"):
            bulkwire_db.load("t", pa.table({"id": pa.array([1], pa.int32())}), mode=mode)
    bulkwire_db.load("t", keyed([1], ["a"]))
    assert bulkwire_db.fetch("SELECT id, v, n FROM t") == [(1, "a", 7)]


def test_columns_are_mapped_and_truncated_first(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (number int, label nvarchar(20))")
    bulkwire_db.load("t", TABLE, columns={"id": "number", "name": "label"})
    bulkwire_db.load("t", TABLE.select(["id", "name"]), by_position=True, truncate=True)
    assert bulkwire_db.fetch("SELECT COUNT(*), MIN(label) FROM t") == [(3, "Ada")]


KEYED = "CREATE TABLE t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, v nvarchar(10)); INSERT INTO t VALUES (1, N'old'), (2, N'old')"


def keyed(ids, values):
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(values, pa.string())})


def test_modes_say_what_becomes_of_the_rows_that_are_there(bulkwire_db):
    bulkwire_db.execute(KEYED)
    report = bulkwire_db.load("t", keyed([2, 3], ["b", "c"]), mode="upsert", key="id")
    assert (report.rows, report.inserted, report.updated, report.unchanged) == (2, 1, 1, 0)
    assert (report.published_by, report.table) == ("merge", "[dbo].[t]")
    assert "1 inserted, 1 updated, 0 unchanged" in str(report)
    assert ("mode", "upsert") in [choice[:2] for choice in report.plan]
    report = bulkwire_db.load("t", keyed([3, 4], ["x", "d"]), mode="insert-new", key=["id"])
    assert (report.inserted, report.unchanged) == (1, 1)
    assert bulkwire_db.fetch("SELECT * FROM t ORDER BY id") == [(1, "old"), (2, "b"), (3, "c"), (4, "d")]
    for strategy in (None, "heap-then-key", "swap"):
        report = bulkwire_db.load("t", keyed([7, 8, 9], ["x"] * 3), mode="replace", strategy=strategy)
        assert report.inserted == 3
        assert report.published_by in ("switch", "rename")
        assert bulkwire_db.fetch("SELECT COUNT(*), MIN(id) FROM t") == [(3, 7)]
    assert bulkwire_db.fetch("SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID('t')") == [("pk",)]
    report = bulkwire_db.load("t", keyed([5], ["y"]), mode="truncate")
    assert (report.inserted, report.published_by) == (None, None)
    bulkwire_db.load("t", keyed([6], ["y"]), mode="append", strategy="direct")
    assert bulkwire_db.fetch("SELECT id FROM t ORDER BY id") == [(5,), (6,)]
    with bulkwire_db.transaction():
        bulkwire_db.load("t", keyed([1], ["z"]), mode="replace")
        assert bulkwire_db.in_transaction
    assert bulkwire_db.fetch("SELECT id FROM t") == [(1,)]


def chosen(report, setting):
    return next(choice[1:] for choice in report.plan if choice[0] == setting)


@pytest.mark.parametrize("writers", [None, "auto"])
@pytest.mark.parametrize("make", [SOURCES[name] for name in SOURCES if name not in ("csv file", "arrow file")])
def test_the_order_of_data_is_found(bulkwire_db, tmp_path, make, writers):
    bulkwire_db.execute("CREATE TABLE t (id int NOT NULL PRIMARY KEY, name nvarchar(20), price decimal(10, 2), at datetime2(6))")
    report = bulkwire_db.load("t", make(tmp_path), writers=writers)
    value, reason = chosen(report, "ORDER")
    assert value == "id"
    assert "it is the clustered key" in reason
    assert rows(bulkwire_db.read("SELECT * FROM t").to_arrow()) == rows(TABLE)
    # A table with rows needs no look at streams, but the order of what is at hand is known all the same.
    later = TABLE.set_column(0, "id", pa.array([7, 8, 9], pa.int32()))
    assert chosen(bulkwire_db.load("t", later, writers=writers), "ORDER")[0] == "id"
    assert chosen(bulkwire_db.load("t", later.to_reader(), writers=writers, truncate=True), "ORDER")[0] == "none"


def test_data_out_of_order_is_loaded_as_such(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int NOT NULL PRIMARY KEY, v varchar(20))")
    for data in (keyed([3, 1, 2], ["c", "a", "b"]), pl.DataFrame(keyed([6, 4, 5], ["f", "d", "e"]))):
        assert chosen(bulkwire_db.load("t", data), "ORDER")[0] == "none"
    assert bulkwire_db.fetch("SELECT v FROM t ORDER BY id") == [(letter,) for letter in "abcdef"]


def test_many_rows_out_of_order_fill_a_heap_before_the_key(bulkwire_db):
    count = 9000
    ids = [row * 7919 % count for row in range(count)]
    data = pa.table({"id": pa.array(ids, pa.int32()), "v": ["x" * 7600] * count})
    bulkwire_db.execute("CREATE TABLE t (id int NOT NULL PRIMARY KEY, v varchar(8000))")
    for writers, source in ((None, data), ("auto", data.to_reader(max_chunksize=500)), (2, data)):
        report = bulkwire_db.load("t", source, writers=writers)
        assert (report.published_by, chosen(report, "strategy")[0]) == ("switch", "heap-then-key")
        found = bulkwire_db.fetch("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM t")
        assert found == [(count, count, count * (count - 1) // 2)]
        bulkwire_db.execute("TRUNCATE TABLE t")
    with bulkwire_db.transaction():
        assert bulkwire_db.load("t", data).published_by is None


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"mode": "merge"}, bulkwire.UsageError, "is no mode: append, truncate, replace"),
        ({"strategy": "fast"}, bulkwire.UsageError, "is no strategy"),
        # The key is the table's own.
        ({"mode": "upsert"}, bulkwire.PlanError, r"2 rows of the source have the key \(3\)"),
        ({"key": "id"}, bulkwire.UsageError, "takes no key"),
        ({"mode": "replace", "truncate": True}, bulkwire.UsageError, "truncate=True"),
        ({"strategy": "swap", "create": True}, bulkwire.UsageError, "create=True"),
        ({"create": "sometimes"}, bulkwire.UsageError, "'if-missing', 'always' and 'never'"),
        ({"mode": "replace", "strategy": "direct"}, bulkwire.UsageError, "only a stage"),
        ({"strategy": "swap"}, bulkwire.PlanError, "needs an empty table"),
        ({"mode": "upsert", "key": "w"}, bulkwire.PlanError, '"w" cannot be a key'),
        ({"mode": "upsert", "key": "id"}, bulkwire.PlanError, r"2 rows of the source have the key \(3\)"),
        ({"mode": "replace"}, bulkwire.ServerError, "duplicate key"),
    ],
)
def test_a_mode_that_cannot_be_had_changes_nothing(bulkwire_db, keywords, error, message):
    bulkwire_db.execute(KEYED)
    with pytest.raises(error, match=message):
        bulkwire_db.load("t", keyed([3, 3], ["c", "d"]), **keywords)
    assert bulkwire_db.fetch("SELECT * FROM t ORDER BY id") == [(1, "old"), (2, "old")]
    assert bulkwire_db.fetch("SELECT name FROM sys.tables") == [("t",)]


def test_a_report_says_what_was_done(bulkwire_db):
    bulkwire_db.execute(DEFINITION)
    report = bulkwire_db.load("t", TABLE, batch_rows=2, table_lock=True)
    assert (report.rows, report.batches, report.table) == (3, 2, "[dbo].[t]")
    assert report.bytes > 100
    assert report.seconds > 0
    assert ("TABLOCK", "on", "as asked") in report.plan
    assert "3 in 2 batches" in str(report)
    assert report._repr_html_().startswith("<table><tr><th")
    assert "rows=3" in repr(report)


def test_progress_is_called_with_rising_counts(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int)")
    seen = []

    def slowly():
        for start in range(5):
            time.sleep(0.15)
            yield pa.table({"id": pa.array([start], pa.int32())})

    bulkwire_db.load("t", slowly(), batch_rows=1, on_progress=seen.append)
    assert seen[-1].rows_committed == 5
    assert [at.rows_sent for at in seen] == sorted(at.rows_sent for at in seen)


def test_progress_has_a_display(bulkwire_db, capsys):
    bulkwire_db.execute(DEFINITION)
    bulkwire_db.load("t", TABLE, on_progress=True)
    assert "t: " in capsys.readouterr().err


def test_an_exception_of_the_progress_callback_stops_the_load(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int)")

    def endless():
        while True:
            time.sleep(0.01)
            yield pa.table({"id": pa.array(range(100), pa.int32())})

    def enough(progress):
        if progress.rows_sent:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        bulkwire_db.load("t", endless(), batch_rows=1_000_000, on_progress=enough)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(0,)]


def test_other_threads_run_during_a_load(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int)")
    turns = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            turns.append(None)

    counter = threading.Thread(target=count)
    counter.start()
    bulkwire_db.load("t", pa.table({"id": pa.array(range(1_000_000), pa.int32())}))
    done.set()
    counter.join()
    assert len(turns) > 1


def test_a_bad_value_is_named(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int NOT NULL, name nvarchar(3))")
    bad = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["abc", "abcd"]})
    with pytest.raises(bulkwire.CellError, match='row 2, column "name"') as caught:
        bulkwire_db.load("t", bad)
    error = caught.value
    assert (error.row, error.column, error.value, error.rows_committed) == (1, "name", "abcd", 0)
    assert isinstance(error, ValueError)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(0,)]
    assert bulkwire_db.load("t", bad, allow_truncate=True).rows == 2


def test_batches_before_a_failure_stay(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    with pytest.raises(bulkwire.ServerError) as caught:
        bulkwire_db.load("t", pa.table({"id": pa.array([1, 2, 3, 3], pa.int32())}), batch_rows=2)
    error = caught.value
    assert (error.number, error.severity, getattr(error, "class")) == (2627, 14, 14)
    assert (error.rows_committed, error.failed_rows) == (2, range(2, 4))
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(2,)]


def test_what_does_not_fit_the_table_is_refused_before_it_is_sent(bulkwire_db):
    bulkwire_db.execute(DEFINITION)
    with pytest.raises(bulkwire.PlanError, match="nope"):
        bulkwire_db.load("t", TABLE.append_column("nope", pa.array([1, 2, 3])))
    with pytest.raises(bulkwire.NoTableError, match="nowhere"):
        bulkwire_db.load("dbo.nowhere", TABLE)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, "data of type int is neither Arrow data"),
        ([], "an iterable without a single item"),
        ([1], "item 0 of data is a int, which is no Arrow data"),
    ],
)
def test_data_that_is_none_is_refused(bulkwire_db, data, message):
    bulkwire_db.execute(DEFINITION)
    with pytest.raises(bulkwire.UsageError, match=message):
        bulkwire_db.load("t", data)


def test_items_must_have_the_same_columns(bulkwire_db):
    bulkwire_db.execute(DEFINITION)
    with pytest.raises(bulkwire.SourceError, match="item 1 of data has other columns"):
        bulkwire_db.load("t", [TABLE, TABLE.select(["id"])])
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(0,)]


def test_an_exception_of_the_source_is_raised_as_it_is(bulkwire_db):
    bulkwire_db.execute(DEFINITION)

    def failing():
        yield TABLE
        raise RuntimeError("the disk ate it")

    with pytest.raises(RuntimeError, match="the disk ate it"):
        bulkwire_db.load("t", failing())
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(0,)]


def test_a_missing_file_is_named(bulkwire_db):
    bulkwire_db.execute(DEFINITION)
    with pytest.raises(bulkwire.SourceError, match=r"missing\.parquet"):
        bulkwire_db.load("t", "missing.parquet")


def test_a_temporary_table_is_loaded(bulkwire_db):
    bulkwire_db.execute(DEFINITION.replace("TABLE t", "TABLE #t"))
    bulkwire_db.load("#t", TABLE)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM #t") == [(3,)]


@pytest.mark.parametrize(
    ("sql_type", "array"),
    [
        ("bit", pa.array([True, False, None])),
        ("tinyint", pa.array([0, 255, None], pa.uint8())),
        ("smallint", pa.array([-32768, 32767, None], pa.int16())),
        ("int", pa.array([-(2**31), 2**31 - 1, None], pa.int32())),
        ("bigint", pa.array([-(2**63), 2**63 - 1, None], pa.int64())),
        ("real", pa.array([1.5, -3.4e38, None], pa.float32())),
        ("float", pa.array([1e308, -2.5, None], pa.float64())),
        ("decimal(38, 10)", pa.array([Decimal("1234567890123456789012345678.0123456789"), None], pa.decimal128(38, 10))),
        ("money", pa.array([Decimal("922337203685477.5807"), Decimal("-0.0001"), None], pa.decimal128(19, 4))),
        ("date", pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None])),
        ("time(6)", pa.array([dt.time(23, 59, 59, 999999), dt.time(0), None], pa.time64("us"))),
        ("datetime2(6)", pa.array([dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None], pa.timestamp("us"))),
        ("datetimeoffset(6)", pa.array([dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc), None], pa.timestamp("us", "UTC"))),
        ("nvarchar(max)", pa.array(["x" * 10_000, "", None])),
        ("varbinary(max)", pa.array([b"\0\1" * 5_000, b"", None])),
        ("uniqueidentifier", pa.array([bytes(range(16)), None], pa.binary(16))),
    ],
)
def test_values_come_back_as_they_were(bulkwire_db, sql_type, array):
    bulkwire_db.execute(f"CREATE TABLE t (v {sql_type})")
    bulkwire_db.load("t", pa.table({"v": array}))
    back = bulkwire_db.read("SELECT v FROM t").to_arrow().column("v").combine_chunks()
    assert back.type == array.type
    assert back.to_pylist() == array.to_pylist()


def unsound(arrow_type: pa.DataType, middle_offset: int = 2) -> pa.Table:
    """Two texts, of which the second one is no UTF-8: nobody looks at buffers that cross the C data interface."""
    offsets = {"string": "<iii", "large_string": "<qqq"}[str(arrow_type)]
    buffers = [None, pa.py_buffer(struct.pack(offsets, 0, middle_offset, 4)), pa.py_buffer(b"ok\xff\xfe")]
    return pa.table({"name": pa.Array.from_buffers(arrow_type, 2, buffers)})


@pytest.mark.parametrize("column", ["nvarchar(20)", "varchar(20)", "varchar(max)", "char(5)", "xml"])
@pytest.mark.parametrize("arrow_type", [pa.string(), pa.large_string()], ids=str)
def test_text_that_is_not_utf8_is_refused_with_its_row(bulkwire_db, column, arrow_type):
    bulkwire_db.execute(f"CREATE TABLE unsound (name {column})")
    sound = pa.table({"name": pa.array(["first"], arrow_type)})
    with pytest.raises(bulkwire.SourceError, match=r'row 3, column "name": .*UTF-?8'):
        bulkwire_db.load("unsound", pa.concat_tables([sound, unsound(arrow_type)]))
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM unsound") == [(0,)]


def test_offsets_that_lead_out_of_their_buffer_are_refused(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE unsound (name nvarchar(20))")
    with pytest.raises(bulkwire.SourceError, match='source: row 1, column "name"'):
        bulkwire_db.load("unsound", unsound(pa.string(), middle_offset=4_000_000))
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM unsound") == [(0,)]


def test_decimals_beyond_their_precision_are_refused(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE unsound (price decimal(5, 2))")
    buffers = [None, pa.py_buffer((10**30).to_bytes(16, "little"))]
    table = pa.table({"price": pa.Array.from_buffers(pa.decimal128(5, 2), 1, buffers)})
    with pytest.raises(bulkwire.Error, match="price"):
        bulkwire_db.load("unsound", table)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM unsound") == [(0,)]


def test_several_connections_load_every_row_once(bulkwire_db: bulkwire.Connection) -> None:
    bulkwire_db.execute("CREATE TABLE many (id int NOT NULL, name varchar(20) NULL)")
    data = pa.table({"id": pa.array(range(60_000), pa.int32()), "name": [f"name {n % 977}" for n in range(60_000)]})
    report = bulkwire_db.load("many", data, writers=4, retry_for=10, batch_rows=5_000)
    assert (report.rows, report.writers, report.retries) == (60_000, 4, 0)
    assert report.limited_by
    found = bulkwire_db.read("SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS d FROM many")
    assert found.to_arrow().to_pylist() == [{"n": 60_000, "d": 60_000}]
    assert bulkwire_db.load("many", data.slice(0, 10), writers="auto").rows == 10


def test_a_named_load_goes_on_where_it_stopped_and_is_not_repeated(bulkwire_db: bulkwire.Connection) -> None:
    bulkwire_db.execute("CREATE TABLE named (id int NOT NULL)")
    parts = [pa.table({"id": pa.array(range(start, start + 1_000), pa.int32())}) for start in range(0, 10_000, 1_000)]

    def breaking():
        yield from parts[:6]
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        bulkwire_db.load("named", breaking(), load_id="n1", batch_rows=1_000)
    committed = bulkwire_db.read("SELECT COUNT(*) AS n FROM named").to_arrow().to_pylist()[0]["n"]
    assert 0 < committed <= 6_000
    changed = [parts[1], *parts[1:]]
    with pytest.raises(bulkwire.Error, match="not those that were committed before"):
        bulkwire_db.load("named", changed, load_id="n1", batch_rows=1_000)
    report = bulkwire_db.load("named", parts, load_id="n1", batch_rows=700)
    assert report.rows + report.rows_committed_before == 10_000
    assert report.rows_committed_before == committed
    found = bulkwire_db.read("SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS d FROM named")
    assert found.to_arrow().to_pylist() == [{"n": 10_000, "d": 10_000}]
    assert bulkwire_db.load("named", parts, load_id="n1").rows == 0


def test_what_needs_several_connections_is_refused_where_there_is_one(bulkwire_db: bulkwire.Connection) -> None:
    bulkwire_db.execute("CREATE TABLE #alone (id int NOT NULL)")
    data = pa.table({"id": pa.array([1], pa.int32())})
    with pytest.raises(bulkwire.Error, match="temporary table"):
        bulkwire_db.load("#alone", data, writers=2)
    for wrong in (0, 257, "many", True):
        with pytest.raises(bulkwire.UsageError, match="writers must be"):
            bulkwire_db.load("#alone", data, writers=wrong)
    for asked in ({"writers": 2}, {"retry_for": 5}, {"load_id": "inside"}):
        with bulkwire_db.transaction(), pytest.raises(bulkwire.Error, match="inside a transaction"):
            bulkwire_db.load("#alone", data, **asked)


def test_a_load_inside_a_transaction_goes_with_it(bulkwire_db: bulkwire.Connection) -> None:
    bulkwire_db.execute("CREATE TABLE caught (id int NOT NULL PRIMARY KEY)")
    data = pa.table({"id": pa.array(range(10), pa.int32())})
    with pytest.raises(bulkwire.CellError) as raised, bulkwire_db.transaction():
        assert bulkwire_db.load("caught", data, batch_rows=4, writers=1).rows == 10
        assert bulkwire_db.in_transaction
        bulkwire_db.load("caught", pa.table({"id": pa.array([10, 11, None], pa.int32())}), batch_rows=1)
    assert raised.value.rows_committed == 0
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM caught") == [(0,)]


def test_a_table_that_changes_between_loads_is_examined_again(bulkwire_db: bulkwire.Connection) -> None:
    bulkwire_db.execute("CREATE TABLE grows (name varchar(3) NOT NULL)")
    for name in ("one", "two"):
        bulkwire_db.load("grows", pa.table({"name": [name]}))
    bulkwire_db.execute("ALTER TABLE grows ALTER COLUMN name varchar(10) NOT NULL")
    bulkwire_db.load("grows", pa.table({"name": ["thirteen"]}))
    with pytest.raises(KeyError), bulkwire_db.transaction():
        bulkwire_db.execute("ALTER TABLE grows ALTER COLUMN name varchar(20) NOT NULL")
        bulkwire_db.load("grows", pa.table({"name": ["longer than ten"]}))
        raise KeyError
    with pytest.raises(bulkwire.CellError):
        bulkwire_db.load("grows", pa.table({"name": ["longer than ten"]}))
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM grows") == [(3,)]


def test_a_forecast_says_what_a_load_takes(bulkwire_db: bulkwire.Connection) -> None:
    made = "CREATE TABLE foreseen (id int PRIMARY KEY, name varchar(40)); CREATE INDEX by_name ON foreseen (name)"
    bulkwire_db.execute(made)
    table = pa.table({"id": pa.array(range(3000), pa.int32()), "name": [f"name {n}" for n in range(3000)]})
    forecast = bulkwire_db.forecast("foreseen", table)
    assert [of["kind"] for of in forecast["structures"]] == ["clustered", "index"]
    assert (forecast["rows"], forecast["rows_unfit"], forecast["measured"]) == (3000, 0, "probe")
    assert bulkwire_db.load("foreseen", table).rows == 3000
    pages = "SELECT SUM(used_page_count) AS n FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('foreseen')"
    assert bulkwire_db.read(pages).to_arrow().column("n").to_pylist() == [forecast["pages"]]
    bulkwire_db.execute("CREATE TABLE #seen (id int, name varchar(40))")
    with pytest.raises(bulkwire.Error, match="temporary table"):
        bulkwire_db.forecast("#seen", table)
