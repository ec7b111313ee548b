"""Spark: DataFrames there and back, and rows that are there once whatever dies."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest
from bulkwire.spark import condition_of
from pyspark import InheritableThread
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualNullSafe, EqualTo, GreaterThan, In, IsNotNull, IsNull, Not, StringStartsWith
from spark_driver import session

TYPES = """
    id int NOT NULL PRIMARY KEY, a bit, b tinyint, c smallint, d bigint, e real, f float, g smallmoney, h money, i decimal(9, 2),
    j numeric(38, 10), k date, l time(0), m time(7), n smalldatetime, o datetime, p datetime2(0), q datetime2(3), r datetime2(7),
    s datetimeoffset(0), t datetimeoffset(7), u char(5), v varchar(20), w varchar(max), x nchar(5), y nvarchar(20), z nvarchar(max),
    aa binary(4), ab varbinary(10), ac varbinary(max), ad uniqueidentifier, ae xml, af vector(3), ag json
"""
VALUES = """
    (1, 1, 255, -32768, 9223372036854775807, 1.5, -2.25, -214748.3648, 922337203685477.5807, 1234567.89,
     1234567890123456789012345678.0123456789, '0001-01-01', '23:59:59', '23:59:59.1234567', '2079-06-06 23:59',
     '1753-01-01 00:00:00.003',
     '9999-12-31 23:59:59', '2024-02-29 12:00:00.123', '2024-02-29 12:00:00.1234560', '2024-02-29 12:00:00 +00:00',
     '1900-01-01 00:00:00.0000010 +00:00', 'abc', 'Zo' + NCHAR(235), REPLICATE('x', 9000), N'ab', N'ŁŻ😀', N'' , 0x01020304, 0x, 0xFF,
     'B5BC5A7E-2B3C-4F7E-8A2B-0123456789AB', '<a>1</a>', '[1, 2.5, -3]', '{"a":[1,null]}'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, 0, 0, 32767, -1, 0, 1e300, 0, -1, -0.01, 0, '9999-12-31', '00:00:00', '00:00:00', '1900-01-01', '9999-12-31 23:59:59.997',
     '0001-01-01', '0001-01-01', '9999-12-31 23:59:59.999999', '9999-12-31 00:00:00 +00:00', '0001-01-01 00:00:00 +00:00', '', '', '',
     N'', N'', N'x', 0x00000000, 0x00, 0x, '00000000-0000-0000-0000-000000000000', '<a/>', '[0, 0, 0]', '[]')
"""


@pytest.fixture(scope="module")
def spark():
    spark = session(**{"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"})
    yield spark
    java = spark.sparkContext._gateway.proc
    spark.stop()
    # Python's workers end with Java.
    java.stdin.close()
    java.wait(timeout=60)


def write(frame, place, table: str, **options: object):
    writing = frame.write.format("bulkwire").option("url", place.url).option("table", table)
    for name, value in options.items():
        writing = writing.option(name, value)
    return writing


def read(spark, place, **options: object):
    reading = spark.read.format("bulkwire").option("url", place.url)
    for name, value in options.items():
        reading = reading.option(name, value)
    return reading


def numbers(spark, rows: int, partitions: int = 4):
    return spark.range(0, rows, numPartitions=partitions).selectExpr("id", "concat('n', id) AS name")


def once_killed(folder: pathlib.Path, count: int):
    """A function for mapInArrow that ends its process at its first `count` partitions, in the middle."""

    def run(batches):
        for index, batch in enumerate(batches):
            if index == 1 or batch.num_rows == 0:
                for number in range(count):
                    try:
                        os.close(os.open(folder / f"died-{number}", os.O_CREAT | os.O_EXCL))
                    except FileExistsError:
                        continue
                    os._exit(9)
            yield batch

    return run


def make(place, table: str = "t") -> None:
    place.db.execute(f"CREATE TABLE {table} (id bigint NOT NULL, name nvarchar(20))")


def test_every_type_there_and_back(spark, place):
    for table in ("there", "back"):
        place.db.execute(f"CREATE TABLE {table} ({TYPES})")
    place.db.execute(f"INSERT INTO there VALUES {VALUES}")
    frame = read(spark, place, table="there").load()
    assert frame.count() == 3
    write(frame, place, "back").mode("append").save()
    columns = [row[0] for row in place.db.fetch("SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('there')")]
    assert len(columns) == 34
    there, back = (place.db.read(f"SELECT * FROM {table} ORDER BY id", datetime2_7="us").to_arrow() for table in ("there", "back"))
    for column in columns:
        assert there[column].to_pylist() == back[column].to_pylist(), column
    assert frame.schema["b"].dataType.simpleString() == "smallint"
    assert frame.schema["ad"].dataType.simpleString() == "string"


def test_modes(spark, place):
    make(place)
    write(numbers(spark, 100), place, "t").mode("append").save()
    write(numbers(spark, 10, 1), place, "t").mode("append").save()
    assert place.count_and_sum("t") == (110, 100, 4950 + 45)
    write(numbers(spark, 50), place, "dbo.t").mode("overwrite").save()
    assert place.count_and_sum("t") == (50, 50, 1225)
    write(numbers(spark, 20), place, "t", truncate="true").mode("overwrite").save()
    assert place.count_and_sum("t") == (20, 20, 190)
    changed = spark.range(10, 30).selectExpr("id", "'changed' AS name")
    write(changed, place, "t", mode="upsert", key="id").mode("append").save()
    assert place.count_and_sum("t") == (30, 30, 435)
    assert place.value("SELECT COUNT(*) FROM t WHERE name = 'changed'") == 20
    write(spark.range(25, 35).selectExpr("id", "'late' AS name"), place, "t", mode="insert-new", key="id").mode("append").save()
    assert place.value("SELECT COUNT(*) FROM t WHERE name = 'late'") == 5
    write(numbers(spark, 7), place, "made", create="true", createTableColumnTypes="name varchar(30)").mode("append").save()
    assert place.count_and_sum("made") == (7, 7, 21)
    write(numbers(spark, 0), place, "made").mode("overwrite").save()
    assert (place.value("SELECT COUNT(*) FROM made"), place.stages()) == (0, [])


def test_wrong_calls_end_before_the_job(spark, place):
    make(place)
    seen = spark.sparkContext.accumulator(0)

    def counted(batches):
        seen.add(1)
        yield from batches

    frame = numbers(spark, 10)
    for changed, options, mode, text in [
        (frame.withColumn("z", frame.id), {}, "append", 'no column "z"'),
        (frame.selectExpr("current_date() AS id"), {}, "append", "id"),
        (frame, {"colour": "red"}, "append", "no option 'colour'"),
        (frame, {"mode": "upsert"}, "append", "key"),
        (frame, {"mode": "upsert", "key": "id"}, "overwrite", "keeps rows"),
        (frame, {"truncate": "true"}, "append", "overwrite alone"),
        (frame, {"table": "missing"}, "append", "does not exist"),
        (frame, {"tableLock": "perhaps"}, "append", "true or false"),
    ]:
        with pytest.raises(Exception, match=text):
            write(changed.mapInArrow(counted, changed.schema), place, **{"table": "t", **options}).mode(mode).save()
    assert (seen.value, place.value("SELECT COUNT(*) FROM t"), place.stages()) == (0, 0, [])


def test_a_value_that_does_not_fit_fails_the_job_and_leaves_nothing(spark, place):
    make(place)
    frame = spark.range(0, 100, numPartitions=4).selectExpr("id", "repeat('x', CAST(id AS int)) AS name")
    with pytest.raises(Exception, match=r'column "name": .*20'):
        write(frame, place, "t").mode("append").save()
    assert (place.value("SELECT COUNT(*) FROM t"), place.stages()) == (0, [])
    write(frame, place, "t", allowTruncate="true").mode("append").save()
    assert place.value("SELECT COUNT(*) FROM t") == 100


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_tasks_that_die_the_first_time(spark, place, tmp_path, mode):
    make(place)
    place.db.load("t", pa.table({"id": pa.array([-5], pa.int64()), "name": ["old"]}))
    frame = numbers(spark, 20_000)
    write(frame.mapInArrow(once_killed(tmp_path, 3), frame.schema), place, "t", batchRows="1000").mode(mode).save()
    assert len(list(tmp_path.iterdir())) == 3
    old = 0 if mode == "overwrite" else 1
    assert place.count_and_sum("t") == (20_000 + old, 20_000 + old, 199_990_000 - 5 * old)
    assert place.stages() == []


def test_a_task_that_dies_every_time(spark, place, tmp_path):
    make(place)
    frame = numbers(spark, 20_000)
    with pytest.raises(Exception, match=r"(?i)crashed|exited|failed"):
        write(frame.mapInArrow(once_killed(tmp_path, 99), frame.schema), place, "t", batchRows="1000").mode("append").save()
    assert (place.value("SELECT COUNT(*) FROM t"), place.stages()) == (0, [])


def test_two_jobs_at_once(spark, place):
    make(place)
    errors = []

    def job(first: int) -> None:
        try:
            # Spark finds registered sources by the session that is active in a thread.
            spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
            frame = spark.range(first, first + 5000, numPartitions=3).selectExpr("id", "'x' AS name")
            write(frame, place, "t").mode("append").save()
        except Exception as error:
            errors.append(error)

    threads = [InheritableThread(target=job, args=(first,)) for first in (0, 5000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert (place.count_and_sum("t"), place.stages()) == ((10_000, 10_000, 49_995_000), [])


def test_a_named_load_is_done_once(spark, place):
    make(place)
    for _ in range(2):
        write(numbers(spark, 100), place, "t", loadId="daily").mode("append").save()
    assert place.count_and_sum("t") == (100, 100, 4950)


def test_a_driver_that_is_killed_and_comes_again(spark, place):
    make(place)
    driver = pathlib.Path(__file__).with_name("spark_driver.py")
    environment = {**os.environ, "BULKWIRE_URL": place.url}

    def start(die: str) -> subprocess.Popen:
        command = [sys.executable, driver, "t", "20000", "4", "load-1", die, "spark.sql.execution.arrow.maxRecordsPerBatch=1000"]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def stands(process: subprocess.Popen) -> tuple[int, int]:
        assert process.wait(timeout=180) == -signal.SIGKILL
        return place.value("SELECT COUNT(*) FROM t"), len(place.stages())

    process = start("in a task")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (place.stages() and place.value(f"SELECT COUNT(*) FROM [{place.stages()[0]}]")):
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    assert stands(process) == (0, 1)
    assert stands(start("before the commit")) == (0, 1)
    assert stands(start("after the commit")) == (20_000, 0)
    # The driver that comes again is this process.
    write(numbers(spark, 20_000), place, "t", loadId="load-1").mode("append").save()
    assert place.count_and_sum("t") == (20_000, 20_000, 199_990_000)
    assert place.stages() == []


def test_a_stream_whose_last_epoch_runs_again(spark, place, tmp_path):
    make(place)
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"

    def run() -> None:
        stream = spark.readStream.schema("id bigint, name string").parquet(str(source))
        writing = stream.writeStream.format("bulkwire").option("url", place.url).option("table", "t").option("loadId", "s")
        query = writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(120)

    for number in range(3):
        spark.range(number * 100, number * 100 + 100).selectExpr("id", "'x' AS name").write.mode("append").parquet(str(source))
        run()
        # The driver dies between the sink's commit and its own: the epoch comes again.
        for note in (checkpoint / "commits").glob(f"*{number}*"):
            note.unlink()
        run()
    assert place.count_and_sum("t") == (300, 300, 44_850)


def test_for_each_batch(spark, place, tmp_path):
    make(place)
    numbers(spark, 100).write.parquet(str(tmp_path / "in"))

    def upsert(frame, epoch: int) -> None:
        write(frame, place, "t", mode="upsert", key="id", loadId=f"orders-{epoch}").mode("append").save()

    stream = spark.readStream.schema("id bigint, name string").parquet(str(tmp_path / "in"))
    stream.writeStream.foreachBatch(upsert).option("checkpointLocation", str(tmp_path / "c")).trigger(
        availableNow=True
    ).start().awaitTermination(120)
    assert place.count_and_sum("t") == (100, 100, 4950)


def test_reads_in_parts(spark, place):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, name nvarchar(20), other int)")
    write(numbers(spark, 20_000), place, "t").mode("append").save()
    frame = read(spark, place, table="t", partitions="6").load()
    assert frame.rdd.getNumPartitions() >= 5
    assert frame.selectExpr("count(*)", "sum(id)").collect() == [(20_000, 199_990_000)]
    chosen = read(spark, place, table="t", partitions="3").schema("name string, id decimal(20, 0)").load()
    assert (chosen.columns, chosen.selectExpr("sum(id)").collect()) == (["name", "id"], [(199_990_000,)])
    query = "SELECT id * 2 AS twice, name FROM t WHERE id < 1000"
    split = read(spark, place, query=query, partitionBy="twice", partitions="4").load()
    assert (split.rdd.getNumPartitions() > 1, split.selectExpr("count(*)", "sum(twice)").collect()) == (True, [(1000, 999_000)])
    assert read(spark, place, query=query).load().rdd.getNumPartitions() == 1
    with pytest.raises(Exception, match="and not both"):
        read(spark, place, table="t", query=query).load()
    with pytest.raises(Exception, match="no option 'lock'"):
        read(spark, place, table="t", lock="true").load()


@pytest.fixture
def pushing(spark):
    """The session, with what pushFilters needs."""
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "true")
    yield spark
    spark.conf.set(name, before)


def test_filters_are_the_servers_work(pushing, place):
    spark = pushing

    def frame(where: str):
        return read(spark, place, table="t", partitions="2", pushFilters="true").load().where(where)

    def rows(where: str) -> int:
        return frame(where).count()

    place.db.execute(
        "CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, name varchar(20) COLLATE Latin1_General_CI_AS, d date, o datetime)"
    )
    place.db.execute(
        "INSERT INTO t SELECT value, IIF(value % 2 = 0, 'ABC', 'abc'), DATEADD(day, value, '2024-01-01'), '2024-01-01' "
        "FROM GENERATE_SERIES(0, 99)"
    )
    # Spark keeps the filters of a DataFrame's last query for one that pushes none, so each query has a DataFrame of its own.
    assert rows("id >= 90 AND id <> 95") == 9
    # The server takes both spellings for one, and Spark does not.
    assert rows("name = 'abc'") == 50
    assert rows("name <> 'abc'") == 50
    assert rows("d = DATE'2024-01-11'") == 1
    assert rows("id IN (1, 2, 500) OR name IS NULL") == 2
    assert rows("o = TIMESTAMP_NTZ'2024-01-01 00:00:00' AND id < 3") == 3
    plan = frame("id > 97")._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan
    assert read(spark, place, table="t", where="name = 'ABC' AND id < 10").load().where("id > 3").count() == 6


def test_a_session_that_pushes_nothing_says_so_when_it_is_asked_to(spark, place):
    make(place)
    with pytest.raises(Exception, match=r"filterPushdown\.enabled"):
        read(spark, place, table="t", pushFilters="true").load().count()
    assert read(spark, place, table="t").load().where("id > 3").count() == 0
    assert read(spark, place, query="SELECT id FROM t", pushFilters="true").load().count() == 0


@pytest.mark.parametrize("zone", ["America/St_Johns", "Asia/Kathmandu", "UTC"])
def test_instants_are_stored_in_utc_whatever_the_sessions_zone(spark, place, zone):
    place.db.execute("CREATE TABLE t (id bigint, local datetime2(6), zoned datetimeoffset(6), text nvarchar(200))")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        instant = "timestamp_seconds(1709209815)"
        frame = spark.range(1).selectExpr("id", f"{instant} AS local", f"{instant} AS zoned", f"named_struct('at', {instant}) AS text")
        write(frame, place, "t", dropTimeZone="true", nestedAsJson="true").mode("append").save()
        found = place.db.fetch("SELECT CONVERT(varchar(40), local), CONVERT(varchar(40), zoned), text FROM t")
        assert found == [("2024-02-29 12:30:15.000000", "2024-02-29 12:30:15.000000 +00:00", found[0][2])]
        assert "12:30:15" in found[0][2]
        [row] = read(spark, place, table="t").load().selectExpr("unix_seconds(zoned)", "local").collect()
        assert (row[0], str(row[1])) == (1709209815, "2024-02-29 12:30:15")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize(("mode", "options"), [("append", {}), ("overwrite", {}), ("append", {"mode": "upsert", "key": "id"})])
def test_a_table_with_json(spark, place, mode, options):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, doc json)")
    frame = spark.range(0, 20, numPartitions=3).selectExpr("id", "to_json(named_struct('a', id)) AS doc")
    for _ in range(1 if (mode, options) == ("append", {}) else 2):
        write(frame, place, "t", **options).mode(mode).save()
    assert place.value("SELECT SUM(CAST(JSON_VALUE(doc, '$.a') AS int)) FROM t") == 190
    assert (place.value("SELECT COUNT(*) FROM t"), place.stages()) == (20, [])


def test_what_no_column_can_hold_is_refused_before_the_job(spark, place):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL, v nvarchar(max))")
    frame = spark.range(1).selectExpr("id", "parse_json('{}') AS v")
    for nested in (frame, frame.selectExpr("id", "array(v) AS v"), frame.selectExpr("id", "named_struct('x', v) AS v")):
        with pytest.raises(Exception, match=r"column v has a VARIANT.*to_json"):
            write(nested, place, "t", nestedAsJson="true").mode("append").save()
    place.db.execute("CREATE TABLE needs (id bigint NOT NULL, must int NOT NULL, given int NOT NULL DEFAULT 7)")
    with pytest.raises(Exception, match="no column for must, which takes no NULL and has no default"):
        write(spark.range(1), place, "needs").mode("append").save()
    assert place.stages() == []


def test_the_seventh_digit(spark, place):
    place.db.execute("CREATE TABLE t (at datetime2(7), zoned datetimeoffset(7))")
    place.db.execute("INSERT t VALUES ('2024-02-29 12:00:00.1234567', '1969-02-28 12:00:00.1234567 +01:00')")
    with pytest.raises(Exception, match=r"seventh digit.*cut"):
        read(spark, place, table="t").load().collect()
    [row] = read(spark, place, table="t", datetime2_7="cut").load().selectExpr("at", "unix_micros(zoned)").collect()
    assert (str(row[0]), row[1]) == ("2024-02-29 12:00:00.123456", -26485199876544)


def test_conditions():
    types = {"i": "int", "f": "float", "s": "varchar", "x": "xml", "o": "datetime", "b]": "bit"}
    for item, expected in [
        (EqualTo(("i",), 5), ("[i] = 5", True)),
        (GreaterThan(("f",), 0.5), ("[f] > 0.5e0", True)),
        (GreaterThan(("f",), float("nan")), (None, False)),
        (EqualTo(("s",), "it's"), ("[s] = N'it''s'", False)),
        (GreaterThan(("s",), "a"), (None, False)),
        (Not(EqualTo(("s",), "a")), (None, False)),
        (Not(EqualTo(("i",), 5)), ("NOT ([i] = 5)", True)),
        (Not(In(("i",), (1, 2))), ("NOT ([i] IN (1, 2))", True)),
        (In(("i",), (1, None)), (None, False)),
        (EqualTo(("x",), "<a/>"), (None, False)),
        (EqualNullSafe(("i",), None), (None, False)),
        (IsNull(("x",)), ("[x] IS NULL", True)),
        (IsNotNull(("b]",)), ("[b]]] IS NOT NULL", True)),
        (EqualTo(("b]",), True), ("[b]]] = 1", True)),
        (EqualTo(("i",), "5"), (None, False)),
        (StringStartsWith(("s",), "a"), (None, False)),
        (EqualTo(("unknown",), 1), (None, False)),
        (EqualTo(("i", "j"), 1), (None, False)),
    ]:
        assert condition_of(item, types) == expected, item


def test_no_password_is_shown(spark, place, capfd):
    make(place)
    secret = place.url.split(":")[2].split("@")[0]
    frame = read(spark, place, table="t").load()
    shown = frame._jdf.queryExecution().toString()
    frame.explain(True)
    with pytest.raises(Exception) as raised:
        write(numbers(spark, 1), place, "missing").mode("append").save()
    printed = capfd.readouterr()
    for text in (shown, str(raised.value), printed.out, printed.err):
        assert secret not in text


def test_the_environment_says_where_to_connect(spark, place, monkeypatch):
    with pytest.raises(Exception, match="BULKWIRE_URL"):
        spark.read.format("bulkwire").option("table", "t").load()
    assert SparkSession.getActiveSession() is not None
