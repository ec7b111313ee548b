"""Delta, Iceberg and directories of Parquet files as sources of loads, each version once."""

from __future__ import annotations

import concurrent.futures
import json
import struct
import threading

import bulkwire
import bulkwire.lakes
import deltalake
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog


def numbers(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "name": [f"n{n}" for n in range(first, first + count)]})


def load(place, table: bulkwire.lakes.LakeTable, **options: object) -> int:
    return place.db.load("t", table, load_id=table.load_id, **options).rows


@pytest.fixture(autouse=True)
def target(place):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL, name nvarchar(20))")


def test_versions_of_a_delta_table(place, tmp_path):
    folder = tmp_path / "orders"
    deltalake.write_deltalake(folder, numbers(0, 1000))
    first = bulkwire.lakes.delta(folder)
    deltalake.write_deltalake(folder, numbers(1000, 10), mode="append")
    assert [load(place, first), load(place, first)] == [1000, 0]
    second = bulkwire.lakes.delta(folder)
    assert second.load_id != first.load_id == bulkwire.lakes.delta(folder, version=0).load_id
    assert load(place, second, mode="replace") == 1010
    assert place.count_and_sum("t") == (1010, 1010, sum(range(1010)))
    some = bulkwire.lakes.delta(folder, columns=["id"], where=pyarrow.dataset.field("id") < 5)
    assert (load(place, some), some.load_id != second.load_id) == (5, True)


def test_snapshots_of_an_iceberg_table(place, tmp_path):
    catalog = InMemoryCatalog("test", warehouse=str(tmp_path))
    catalog.create_namespace("sales")
    table = catalog.create_table("sales.orders", numbers(0, 1).schema)
    assert load(place, bulkwire.lakes.iceberg(table)) == 0
    table.append(numbers(0, 100))
    first = bulkwire.lakes.iceberg(table)
    table.append(numbers(100, 10))
    assert [load(place, first), load(place, first)] == [100, 0]
    assert load(place, bulkwire.lakes.iceberg(table, where="id >= 100", columns=["id", "name"])) == 10
    assert place.count_and_sum("t") == (110, 110, sum(range(110)))
    # A snapshot has the names that it was written with, whatever columns are called today.
    with table.update_schema() as change:
        change.rename_column("name", "label")
    place.db.execute("TRUNCATE TABLE t")
    assert load(place, bulkwire.lakes.iceberg(table, snapshot_id=table.current_snapshot().snapshot_id), mode="replace") == 110
    assert place.value("SELECT COUNT(name) FROM t") == 110
    table.append(numbers(110, 5).rename_columns(["id", "label"]))
    now = bulkwire.lakes.iceberg(table)
    place.db.execute("CREATE TABLE renamed (id bigint NOT NULL, label nvarchar(20))")
    assert place.db.load("renamed", now, load_id=now.load_id).rows == 115
    assert place.value("SELECT COUNT(label) FROM renamed") == 115


def test_directories_of_parquet_files(place, tmp_path):
    place.db.execute("ALTER TABLE t ADD day int")
    whole = numbers(0, 1000).append_column("day", pa.array([n % 3 for n in range(1000)], pa.int32()))
    pyarrow.dataset.write_dataset(whole, tmp_path / "t", format="parquet", partitioning=["day"], partitioning_flavor="hive")
    (tmp_path / "t" / "_notes").mkdir()
    (tmp_path / "t" / "_notes" / "x.parquet").write_bytes(b"")
    table = bulkwire.lakes.parquet(tmp_path / "t")
    assert [load(place, table), load(place, bulkwire.lakes.parquet(tmp_path / "t"))] == [1000, 0]
    assert place.value("SELECT COUNT(*) FROM t WHERE day = id % 3") == 1000
    with pytest.raises(FileNotFoundError):
        bulkwire.lakes.parquet(tmp_path / "nothing")


def test_files_of_a_table_of_a_lake_are_no_directory_of_files(place, tmp_path):
    """Its files hold rows that were deleted."""
    folder = tmp_path / "orders"
    deltalake.write_deltalake(folder, numbers(0, 300))
    deltalake.DeltaTable(folder).delete("id >= 100")
    (tmp_path / "ice" / "metadata").mkdir(parents=True)
    (tmp_path / "ice" / "metadata" / "v1.metadata.json").write_text("{}")
    (tmp_path / "ice" / "data").mkdir()
    for refused, way in [(folder, "lakes.delta"), (tmp_path, "lakes"), (tmp_path / "ice" / "data", "lakes.iceberg")]:
        with pytest.raises(bulkwire.UsageError, match=way):
            bulkwire.lakes.parquet(refused)
    with pytest.raises(bulkwire.Error, match=r"lakes\.delta"):
        bulkwire.copy(str(folder), str(tmp_path / "out.csv"))
    assert load(place, bulkwire.lakes.delta(folder)) == 100


def inline_vector(rows: list[int]) -> dict[str, object]:
    """A deletion vector within the log: base 85 of a Roaring bitmap with one array (Delta protocol, "Deletion Vector Format")."""
    array = struct.pack("<II", 12346, 1) + struct.pack("<HH", 0, len(rows) - 1) + struct.pack("<I", 16)
    array += b"".join(struct.pack("<H", row) for row in rows)
    whole = struct.pack("<I", 1681511377) + struct.pack("<Q", 1) + struct.pack("<I", 0) + array
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    for (number,) in struct.iter_unpack(">I", whole + b"\0" * (-len(whole) % 4)):
        text += "".join(digits[number // 85**place % 85] for place in range(4, -1, -1))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(whole), "cardinality": len(rows)}


def delta_of_features(folder, features: list[str], deleted: list[int]) -> None:
    """Write a Delta table whose reader needs these features, ten rows in one file."""
    (folder / "_delta_log").mkdir(parents=True)
    is_mapped = "columnMapping" in features
    stored = numbers(0, 10).rename_columns(["c-1", "c-2"] if is_mapped else ["id", "name"])
    pyarrow.parquet.write_table(stored, folder / "a.parquet")
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in [("id", "long"), ("name", "string")]]
    settings = {}
    if is_mapped:
        settings |= {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
        for number, field in enumerate(fields, 1):
            field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c-{number}"}
    size = (folder / "a.parquet").stat().st_size
    added = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    if deleted:
        settings["delta.enableDeletionVectors"] = "true"
        added["deletionVector"] = inline_vector(deleted)
    schema = json.dumps({"type": "struct", "fields": fields})
    table = {"id": "features", "format": {"provider": "parquet", "options": {}}, "schemaString": schema, "partitionColumns": []}
    actions = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}},
        {"metaData": table | {"configuration": settings, "createdTime": 0}},
        {"add": added},
    ]
    (folder / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))


def test_delta_tables_with_deletion_vectors_and_mapped_columns(place, tmp_path):
    delta_of_features(tmp_path / "deleted", ["deletionVectors"], [1, 3, 5])
    delta_of_features(tmp_path / "mapped", ["columnMapping"], [])
    delta_of_features(tmp_path / "both", ["columnMapping", "deletionVectors"], [0, 9])
    deleted = bulkwire.lakes.delta(tmp_path / "deleted")
    assert [load(place, deleted), load(place, deleted)] == [7, 0]
    assert [row[0] for row in place.db.fetch("SELECT id FROM t ORDER BY id")] == [0, 2, 4, 6, 7, 8, 9]
    assert load(place, bulkwire.lakes.delta(tmp_path / "mapped"), mode="replace") == 10
    assert place.db.fetch("SELECT name FROM t WHERE id = 4") == [("n4",)]
    both = bulkwire.lakes.delta(tmp_path / "both", columns=["id"], where=pyarrow.dataset.field("name") != "n5")
    assert load(place, both, mode="replace") == 7
    assert place.db.fetch("SELECT MIN(id), MAX(id), COUNT(name) FROM t") == [(1, 8, 0)]


def test_a_load_that_broke_goes_on(place, tmp_path):
    folder = tmp_path / "orders"
    deltalake.write_deltalake(folder, numbers(0, 5000))
    table = bulkwire.lakes.delta(folder)

    def broken():
        batches = table._open()
        for number, batch in enumerate(pa.RecordBatchReader.from_batches(batches.schema, (b.slice(0, 1500) for b in batches))):
            yield batch
            if number == 0:
                raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        place.db.load("t", broken(), load_id=table.load_id, batch_rows=1000)
    before = place.value("SELECT COUNT(*) FROM t")
    assert before > 0
    report = place.db.load("t", table, load_id=table.load_id, batch_rows=1000)
    assert report.rows_committed_before == before
    assert place.count_and_sum("t") == (5000, 5000, sum(range(5000)))


def test_a_delta_table_is_written_once(place, tmp_path):
    place.db.load("t", numbers(0, 3000))
    folder = tmp_path / "out"
    calls = []

    def rows():
        calls.append(1)
        return place.db.read(table="t")

    first = bulkwire.lakes.write_delta(folder, rows, app_id="orders", version=1)
    again = bulkwire.lakes.write_delta(folder, rows, app_id="orders", version=1)
    assert ((first.rows, first.done_before), (again.rows, again.done_before), len(calls)) == ((3000, False), (0, True), 1)
    assert bulkwire.lakes.write_delta(folder, rows, app_id="orders", version=2).rows == 3000
    assert bulkwire.lakes.write_delta(folder, rows, app_id="others", version=1).rows == 3000
    table = deltalake.DeltaTable(folder)
    assert (table.to_pyarrow_table().num_rows, table.transaction_version("orders")) == (9000, 2)
    assert bulkwire.lakes.write_delta(folder, rows, mode="overwrite", app_id="orders", version=3).rows == 3000
    written = deltalake.DeltaTable(folder).to_pyarrow_table().sort_by("id")
    assert written.column("id").to_pylist() == list(range(3000))
    with pytest.raises(bulkwire.UsageError):
        bulkwire.lakes.write_delta(folder, rows, app_id="orders")


def test_a_write_that_fails_is_no_version(place, tmp_path):
    folder = tmp_path / "out"
    before = bulkwire.lakes.write_delta(folder, numbers(0, 10), app_id="a", version=1).version

    def broken():
        yield from numbers(10, 10).to_batches()
        raise ConnectionError("lost")

    with pytest.raises(Exception, match="lost"):
        reader = pa.RecordBatchReader.from_batches(numbers(0, 1).schema, broken())
        bulkwire.lakes.write_delta(folder, reader, app_id="a", version=2)
    assert deltalake.DeltaTable(folder).version() == before
    assert bulkwire.lakes.write_delta(folder, numbers(10, 10), app_id="a", version=2).rows == 10
    assert deltalake.DeltaTable(folder).to_pyarrow_table().num_rows == 20


def test_the_same_write_by_many_at_once_adds_its_rows_once(tmp_path):
    # Without a table all six make it, which is where they meet most.
    for number in range(20):
        folder = tmp_path / f"out{number}"
        is_there = number % 4 == 3
        if is_there:
            bulkwire.lakes.write_delta(folder, numbers(0, 10))
        start = threading.Barrier(6)

        def write(_: int, folder=folder, start=start) -> bulkwire.lakes.DeltaWritten:
            start.wait()
            return bulkwire.lakes.write_delta(folder, numbers(10, 500), app_id="a", version=7)

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            done = list(pool.map(write, range(6)))
        assert deltalake.DeltaTable(folder).to_pyarrow_table().num_rows == (510 if is_there else 500)
        assert sorted(one.rows for one in done) == [0, 0, 0, 0, 0, 500]


def test_types_of_sql_server_in_delta(place, tmp_path):
    place.db.execute(
        "CREATE TABLE wide (a tinyint, b time(3), c uniqueidentifier, d datetime2(7), e datetimeoffset(6), f decimal(20,4), "
        "g varbinary(9), h bit, i date)"
    )
    place.db.execute(
        "INSERT wide VALUES (255, '12:30:01.5', '6F9619FF-8B86-D011-B42D-00CF4FC964FF', '2026-03-01 10:11:12.123456', "
        "'2026-03-01 10:00:00 +02:00', 12345.6789, 0x0102, 1, '2026-03-01'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    before = bulkwire.lakes.write_delta(tmp_path / "wide", place.db.read(table="wide")).version
    rows = deltalake.DeltaTable(tmp_path / "wide").to_pyarrow_table().to_pylist()
    full = next(row for row in rows if row["a"] is not None)
    assert (full["a"], full["b"][:10], str(full["d"]), str(full["f"])) == (
        255,
        "12:30:01.5",
        "2026-03-01 10:11:12.123456",
        "12345.6789",
    )
    assert len(full["c"]) == 16
    place.db.execute("UPDATE wide SET d = '2026-03-01 10:11:12.1234567' WHERE a = 255")
    with pytest.raises(pa.ArrowInvalid, match="would lose data"):
        bulkwire.lakes.write_delta(tmp_path / "wide", place.db.read(table="wide"))
    assert deltalake.DeltaTable(tmp_path / "wide").version() == before
