"""Ray Data: datasets there and back, and rows that are there once whatever dies."""

from __future__ import annotations

import os

import bulkwire.ray
import pyarrow as pa
import pytest
import ray
import ray.data
from bulkwire.ray import BulkwireDatasink


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=150_000_000, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    yield
    ray.shutdown()


def numbers(rows: int, blocks: int = 4) -> ray.data.Dataset:
    def named(batch: pa.Table) -> pa.Table:
        return batch.append_column("name", pa.array([f"n{number}" for number in batch["id"].to_pylist()]))

    return ray.data.range(rows, override_num_blocks=blocks).map_batches(named, batch_format="pyarrow", batch_size=1000)


def make(place) -> None:
    place.db.execute("CREATE TABLE t (id bigint NOT NULL, name nvarchar(20))")


def once_killed(folder, count: int):
    """A function for map_batches that ends its process at its first `count` batches."""

    def run(batch: pa.Table) -> pa.Table:
        for number in range(count):
            try:
                os.close(os.open(folder / f"died-{number}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os._exit(9)
        return batch

    return run


def test_modes(place):
    make(place)
    sink = BulkwireDatasink("t", place.url)
    numbers(100).write_datasink(sink)
    assert (sink.report.rows, sink.report.was_done) == (100, False)
    numbers(10).write_datasink(BulkwireDatasink("t", place.url))
    assert place.count_and_sum("t") == (110, 100, 4950 + 45)
    numbers(50).write_datasink(BulkwireDatasink("t", place.url, mode="replace"))
    assert place.count_and_sum("t") == (50, 50, 1225)
    sink = BulkwireDatasink("t", place.url, mode="upsert", key="id")
    numbers(60).write_datasink(sink)
    assert (sink.report.inserted, sink.report.updated, sink.report.unchanged) == (10, 0, 50)
    few = numbers(7)
    few.write_datasink(BulkwireDatasink("made", place.url, create=True, types={"name": "varchar(30)"}, schema=few.schema()))
    assert place.count_and_sum("made") == (7, 7, 21)
    for _ in range(2):
        sink = BulkwireDatasink("made", place.url, mode="truncate", load_id="once")
        numbers(3).write_datasink(sink)
    assert (place.count_and_sum("made"), sink.report.was_done, place.stages()) == ((3, 3, 3), True, [])


def test_blocks_with_columns_of_other_types(place):
    make(place)
    tables = [pa.table({"id": [1], "name": pa.nulls(1)}), pa.table({"id": [2], "name": ["x"]})]
    ray.data.from_arrow(tables).write_datasink(BulkwireDatasink("t", place.url))
    assert sorted(place.db.fetch("SELECT id, name FROM t")) == [(1, None), (2, "x")]


def test_columns_that_a_dataset_lacks(place):
    place.db.execute("CREATE TABLE t (k int IDENTITY, id bigint, name nvarchar(20), d int DEFAULT 7, r rowversion, c AS id + 1)")
    with pytest.raises(Exception, match="lacks the column 'd'"):
        numbers(5).write_datasink(BulkwireDatasink("t", place.url))
    dataset = numbers(5)
    dataset.write_datasink(BulkwireDatasink("t", place.url, schema=dataset.schema()))
    assert place.db.fetch("SELECT COUNT(*), SUM(id), MIN(d) FROM t") == [(5, 10, 7)]
    with pytest.raises(bulkwire.UsageError, match="needs the columns"):
        BulkwireDatasink("made", place.url, create=True)


def test_workers_that_die(place, tmp_path):
    make(place)
    dataset = numbers(20_000, 4).map_batches(once_killed(tmp_path, 3), batch_format="pyarrow", batch_size=1000)
    dataset.write_datasink(BulkwireDatasink("t", place.url))
    assert len(list(tmp_path.iterdir())) == 3
    assert place.count_and_sum("t") == (20_000, 20_000, 199_990_000)
    assert place.stages() == []


def test_a_write_that_fails_leaves_nothing(place):
    make(place)

    def too_long(batch: pa.Table) -> pa.Table:
        return batch.set_column(1, "name", pa.array(["x" * (21 if 15 in batch["id"].to_pylist() else 1)] * len(batch)))

    dataset = numbers(20).map_batches(too_long, batch_format="pyarrow", batch_size=5)
    with pytest.raises(Exception, match=r"(?s)column \"name\""):
        dataset.write_datasink(BulkwireDatasink("t", place.url))
    with pytest.raises(Exception, match="lacks the column 'name'"):
        numbers(5).rename_columns({"name": "other"}).write_datasink(BulkwireDatasink("t", place.url))
    assert (place.value("SELECT COUNT(*) FROM t"), place.stages()) == (0, [])


def test_reads(place):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, name nvarchar(20), g uniqueidentifier)")
    place.db.execute("INSERT INTO t SELECT value, N'x', NEWID() FROM GENERATE_SERIES(0, 9999)")
    dataset = bulkwire.ray.read("t", place.url, partitions=4)
    assert (dataset.count(), dataset.sum("id"), dataset.columns()) == (10_000, 49_995_000, ["id", "name", "g"])
    assert dataset.materialize().num_blocks() >= 4
    chosen = bulkwire.ray.read("t", place.url, columns=["id"], where="id < 10")
    assert (chosen.count(), chosen.columns()) == (10, ["id"])
    query = bulkwire.ray.read(query="SELECT id * 2 AS twice FROM t", url=place.url, partition_by="twice", partitions=3)
    assert query.sum("twice") == 99_990_000
    assert bulkwire.ray.read("t", place.url, where="id < 0").count() == 0
