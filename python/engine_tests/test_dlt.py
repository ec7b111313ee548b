"""dlt: load packages that become rows, each once, also after a run that broke."""

from __future__ import annotations

import contextlib
import datetime as dt
from decimal import Decimal
from pathlib import Path

import bulkwire.dlt
import dlt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bulkwire._made_tables import sql_type
from dlt.common.storages.load_package import ParsedLoadJobFileName


@pytest.fixture
def pipeline(place, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    monkeypatch.setenv("DLT_PROJECT_DIR", str(tmp_path))
    monkeypatch.setenv("DATA_WRITER__DISABLE_COMPRESSION", "true")
    return dlt.pipeline("orders", pipelines_dir=str(tmp_path), destination=bulkwire.dlt.destination(place.url, schema="raw"))


def rows(place, table: str = "raw.orders", columns: str = "id, name") -> list[tuple]:
    return place.db.fetch(f"SELECT {columns} FROM {table} ORDER BY id")


def test_dispositions(place, pipeline):
    first = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    pipeline.run(first, table_name="orders", write_disposition="append")
    pipeline.run(first[:1], table_name="orders", write_disposition="append")
    assert rows(place) == [(1, "a"), (1, "a"), (2, "b")]
    pipeline.run(first, table_name="orders", write_disposition="replace")
    assert rows(place) == [(1, "a"), (2, "b")]
    keyed = {"table_name": "keyed", "primary_key": "id"}
    pipeline.run(first, write_disposition="merge", **keyed)
    pipeline.run([{"id": 2, "name": "B"}, {"id": 3, "name": "c"}], write_disposition="merge", **keyed)
    assert rows(place, "raw.keyed") == [(1, "a"), (2, "B"), (3, "c")]
    assert place.value("SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('raw.keyed') AND is_primary_key = 1") == 1
    insert_only = {"disposition": "merge", "strategy": "insert-only"}
    pipeline.run([{"id": 3, "name": "z"}, {"id": 4, "name": "d"}], write_disposition=insert_only, **keyed)
    assert rows(place, "raw.keyed")[2:] == [(3, "c"), (4, "d")]
    assert place.stages() == []


def test_one_row_of_a_key_counts(place, pipeline):
    twice = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "later"}, {"id": 3, "name": "c"}]
    keyed = {"table_name": "keyed", "primary_key": "id", "write_disposition": "merge"}
    pipeline.run(twice, **keyed)
    assert rows(place, "raw.keyed") == [(1, "later"), (2, "b"), (3, "c")]
    pipeline.run([*twice, {"id": 3, "name": "d"}, {"id": 3, "name": "e"}], **keyed)
    assert rows(place, "raw.keyed") == [(1, "later"), (2, "b"), (3, "e")]


def test_types_and_new_columns(place, pipeline):
    moment = dt.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=dt.timezone.utc)
    whole = {
        "id": 1,
        "f": 1.5,
        "b": True,
        "d": Decimal("12.5"),
        "t": moment,
        "day": moment.date(),
        "x": b"\x01",
        "j": {"a": [1, 2]},
        "s": "ŁŻ",
    }
    pipeline.run([whole], table_name="orders")
    pipeline.run([{"id": 2, "later": "new"}], table_name="orders")
    found = rows(place, columns="id, f, b, d, t, day, x, j, s, later")
    assert found[0] == (1, 1.5, True, Decimal("12.5"), moment, moment.date(), b"\x01", '{"a":[1,2]}', "ŁŻ", None)
    assert found[1][-1] == "new"
    expected = [("text", {"precision": 30}, "nvarchar(30)"), ("text", {}, "nvarchar(max)"), ("bigint", {"precision": 32}, "int")]
    for kind, more, sql in [*expected, ("timestamp", {"timezone": False, "precision": 3}, "datetime2(3)")]:
        assert sql_type({"data_type": kind, **more}) == sql


@pytest.mark.parametrize("disposition", ["append", "replace", "merge"])
def test_several_files_and_a_run_that_breaks(place, pipeline, monkeypatch, disposition):
    pipeline.run([{"id": -1, "name": "old"}], table_name="orders", write_disposition="append", primary_key="id")
    monkeypatch.setenv("NORMALIZE__DATA_WRITER__FILE_MAX_ITEMS", "100")
    numbers = ({"id": number, "name": f"n{number}"} for number in range(1000))
    pipeline.extract(numbers, table_name="orders", write_disposition=disposition, primary_key="id", loader_file_format="parquet")
    pipeline.normalize()
    real, calls = bulkwire.dlt._load_file, []

    def broken(*given):
        calls.append(given[1])
        real(*given)
        if len(calls) in (2, 4):
            # The file is loaded, and nobody hears of it.
            raise ConnectionError("lost")

    monkeypatch.setattr(bulkwire.dlt, "_load_file", broken)
    pipeline.load()
    assert len(calls) > 4
    old = 0 if disposition == "replace" else 1
    assert place.count_and_sum("raw.orders") == (1000 + old, 1000 + old, 499_500 - old)
    assert place.stages() == []


def test_a_file_that_began_to_replace_is_loaded_behind_one_that_did(place, pipeline, monkeypatch):
    pipeline.run([{"id": -1, "name": "old"}], table_name="orders", write_disposition="append")
    monkeypatch.setenv("NORMALIZE__DATA_WRITER__FILE_MAX_ITEMS", "100")
    numbers = ({"id": number, "name": f"n{number}"} for number in range(300))
    pipeline.extract(numbers, table_name="orders", write_disposition="replace", loader_file_format="parquet")
    pipeline.normalize()
    real, first, tries, begun = bulkwire.dlt._load_file, [], [], []

    def broken(db, path, *given):
        file = ParsedLoadJobFileName.parse(path).file_id
        first.append(file)
        tries.append(file)
        if file == first[0] and tries.count(file) == 1:
            # Its rows are noted in a stage, and it ends there. Another file comes before its next try.
            package = f"{Path(path).parent.parent.name}/orders"
            batches = iter(pq.read_table(path).to_batches(max_chunksize=10))

            def breaking():
                yield next(batches)
                raise ConnectionError("lost")

            reader = pa.RecordBatchReader.from_batches(pq.read_schema(path), breaking())
            with contextlib.suppress(bulkwire.Error, ConnectionError):
                db.load("raw.orders", reader, mode="replace", load_id=f"{package}/{file}", batch_rows=10, **given[-1])
            begun.append(
                db.fetch("SELECT mode FROM bulkwire_loads WHERE load_id = @load AND is_done = 0", {"load": f"{package}/{file}"})
            )
            raise ConnectionError("lost")
        if file == first[0] and len(set(tries)) == 1:
            raise ConnectionError("another file is to come first")
        real(db, path, *given)

    monkeypatch.setattr(bulkwire.dlt, "_load_file", broken)
    pipeline.load()
    assert begun == [[("replace",)]]
    assert len(set(tries)) > 2 and tries.count(first[0]) == 2
    assert place.count_and_sum("raw.orders") == (300, 300, 44_850)
    assert place.stages() == []


def test_what_cannot_be_had_is_refused(place, pipeline):
    for given, text in [
        ({"write_disposition": "merge"}, "primary_key"),
        ({"write_disposition": {"disposition": "merge", "strategy": "scd2"}, "primary_key": "id"}, "scd2"),
        ({"write_disposition": "merge", "primary_key": "id", "columns": {"gone": {"hard_delete": True}}}, "hard_delete"),
        ({"write_disposition": "merge", "primary_key": "id", "columns": {"gone": {"merge_key": True}}}, "merge_key"),
    ]:
        with pytest.raises(Exception, match=text):
            pipeline.run([{"id": 1, "gone": False}], table_name="orders", **given)
        pipeline.drop_pending_packages()


def fresh(place, folder, **more):
    """Make the pipeline of a container that has run nothing yet."""
    destination = bulkwire.dlt.destination(place.url, **({} if "dataset_name" in more else {"schema": "raw"}))
    return dlt.pipeline("orders", pipelines_dir=str(folder), destination=destination, **more)


@dlt.resource(name="orders", write_disposition="append")
def growing(at=dlt.sources.incremental("id", initial_value=0), last: int = 3):  # noqa: B008
    yield [{"id": number, "name": f"n{number}"} for number in range(1, last + 1) if number > (at.last_value or 0)]


def test_a_fresh_container_goes_on_where_the_last_one_ended(place, pipeline, tmp_path, monkeypatch):
    pipeline.run(growing(last=3))
    assert place.count_and_sum("raw.orders") == (3, 3, 6)
    later = fresh(place, tmp_path / "second")
    later.run(growing(last=5))
    assert place.count_and_sum("raw.orders") == (5, 5, 15)
    # The first one's folder is behind now.
    fresh(place, tmp_path).run(growing(last=6))
    assert place.count_and_sum("raw.orders") == (6, 6, 21)
    assert set(later.default_schema.tables) >= {"orders"}
    # A package that was not completed has no state that counts: its rows come again, and its files are loaded once.
    broken = fresh(place, tmp_path / "third")
    with monkeypatch.context() as context:
        context.setattr("bulkwire._dlt_client.StateClient.complete_load", lambda self, load_id: 1 / 0)
        with pytest.raises(Exception, match="division"):
            broken.run(growing(last=7))
    broken.run()
    fresh(place, tmp_path / "fourth").run(growing(last=7))
    assert place.count_and_sum("raw.orders") == (7, 7, 28)
    counts = place.db.fetch("SELECT COUNT(*), COUNT(DISTINCT load_id) FROM raw._dlt_loads WHERE status = 0")[0]
    assert counts[0] == counts[1] >= 4


def test_a_dataset_is_a_schema(place, pipeline, tmp_path):
    other = fresh(place, tmp_path / "other", dataset_name="mart")
    other.run([{"id": 1, "name": "a"}], table_name="orders")
    assert rows(place, "mart.orders") == [(1, "a")]
    assert place.value("SELECT OBJECT_ID('dbo.orders')") is None
    assert place.value("SELECT OBJECT_ID('mart._dlt_pipeline_state')") is not None
    contradicts = dlt.pipeline(
        "other", pipelines_dir=str(tmp_path), dataset_name="mart", destination=bulkwire.dlt.destination(place.url, schema="raw")
    )
    with pytest.raises(Exception, match="say one"):
        contradicts.run([{"id": 1}], table_name="orders")


def test_refresh(place, pipeline, tmp_path):
    pipeline.run(growing(last=3))
    place.db.execute("ALTER TABLE raw.orders ADD mark int NULL")
    pipeline.run(growing(last=2), refresh="drop_data")
    assert rows(place) == [(1, "n1"), (2, "n2")]
    assert place.value("SELECT COL_LENGTH('raw.orders', 'mark')") == 4
    pipeline.run(growing(last=3), refresh="drop_resources")
    assert rows(place) == [(1, "n1"), (2, "n2"), (3, "n3")]
    assert place.value("SELECT COL_LENGTH('raw.orders', 'mark')") is None
    place.db.execute("ALTER TABLE raw.orders ADD mark int NULL")
    pipeline.run(growing(last=4), refresh="drop_sources")
    assert place.count_and_sum("raw.orders") == (4, 4, 10)
    assert place.value("SELECT COL_LENGTH('raw.orders', 'mark')") is None
    fresh(place, tmp_path / "later").run(growing(last=5))
    assert place.count_and_sum("raw.orders") == (5, 5, 15)
