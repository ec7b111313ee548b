"""Dask: DataFrames there and back, and writes that fail."""

from __future__ import annotations

import bulkwire.dask
import dask
import dask.dataframe as dd
import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def processes():
    with dask.config.set(scheduler="processes", num_workers=2):
        yield


def numbers(rows: int, partitions: int = 3):
    frame = pd.DataFrame({"id": range(rows), "name": [f"n{number}" for number in range(rows)]})
    return dd.from_pandas(frame, npartitions=partitions)


def test_there_and_back(place):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, name nvarchar(20))")
    assert bulkwire.dask.write(numbers(1000), "t", place.url).rows == 1000
    report = bulkwire.dask.write(numbers(1010), "t", place.url, mode="upsert", key="id", load_id="once")
    assert (report.inserted, report.unchanged) == (10, 1000)
    assert bulkwire.dask.write(numbers(5), "t", place.url, mode="upsert", key="id", load_id="once").was_done
    frame = bulkwire.dask.read("t", place.url, partitions=4, where="id < 500", columns=["id"])
    assert (frame.npartitions > 1, int(frame["id"].sum().compute())) == (True, sum(range(500)))


def test_a_write_that_fails_leaves_nothing(place):
    place.db.execute("CREATE TABLE t (id bigint NOT NULL, name nvarchar(3))")
    with pytest.raises(bulkwire.CellError):
        bulkwire.dask.write(numbers(1000), "t", place.url)
    assert (place.value("SELECT COUNT(*) FROM t"), place.stages()) == (0, [])
