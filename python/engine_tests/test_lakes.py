"""Delta, Iceberg and directories of Parquet files as sources of loads, each version once."""

from __future__ import annotations

import bulkwire.lakes
import deltalake
import pyarrow as pa
import pyarrow.dataset
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


def test_directories_of_parquet_files(place, tmp_path):
    place.db.execute("ALTER TABLE t ADD day int")
    whole = numbers(0, 1000).append_column("day", pa.array([n % 3 for n in range(1000)], pa.int32()))
    pyarrow.dataset.write_dataset(whole, tmp_path / "t", format="parquet", partitioning=["day"], partitioning_flavor="hive")
    (tmp_path / "t" / "_delta_log").mkdir()
    (tmp_path / "t" / "_delta_log" / "x.parquet").write_bytes(b"")
    table = bulkwire.lakes.parquet(tmp_path / "t")
    assert [load(place, table), load(place, bulkwire.lakes.parquet(tmp_path / "t"))] == [1000, 0]
    assert place.value("SELECT COUNT(*) FROM t WHERE day = id % 3") == 1000
    with pytest.raises(FileNotFoundError):
        bulkwire.lakes.parquet(tmp_path / "nothing")


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
