"""What is easily done wrong: it is refused with words that help, or made right."""

import datetime as dt
import os

import bulkwire
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def test_transactions_do_not_nest(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int)")
    with bulkwire_db.transaction():
        bulkwire_db.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(bulkwire.UsageError, match="do not nest"), bulkwire_db.transaction():
            raise AssertionError("never begun")
        assert bulkwire_db.in_transaction
        bulkwire_db.execute("INSERT INTO t VALUES (2)")
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(2,)]
    with pytest.raises(ZeroDivisionError), bulkwire_db.transaction():
        bulkwire_db.execute("INSERT INTO t VALUES (3)")
        with pytest.raises(bulkwire.UsageError), bulkwire_db.transaction():
            pass
        raise ZeroDivisionError
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(2,)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(5), 5),
        (np.float32(1.5), 1.5),
        (np.bool_(True), True),
        (np.str_("ü"), "ü"),
        (np.datetime64("2026-11-22T10:11:12.123456789", "us"), dt.datetime(2026, 11, 22, 10, 11, 12, 123456)),
        (np.datetime64("2026-11-22"), dt.date(2026, 11, 22)),
        (np.datetime64("NaT"), None),
    ],
)
def test_numpy_scalars_are_parameters(bulkwire_db, value, expected):
    assert bulkwire_db.fetch("SELECT @p1", [value]) == [(expected,)]
    assert bulkwire_db.fetch("SELECT @v", {"v": value}) == [(expected,)]


def test_collections_and_finer_times_are_refused_with_a_hint(bulkwire_db):
    for value in ([1, 2], (1, 2), {"a": 1}):
        with pytest.raises(bulkwire.UsageError, match="a parameter of its own"):
            bulkwire_db.fetch("SELECT @p1", [value])
    with pytest.raises(bulkwire.UsageError, match="no SQL type"):
        bulkwire_db.fetch("SELECT @p1", [np.datetime64("2026-11-22T10:11:12.123456789", "ns")])


def test_a_connection_says_what_to_use_instead_of_cursors(bulkwire_db):
    for read in (lambda: pl.read_database("SELECT 1 AS a", bulkwire_db), bulkwire_db.cursor):
        with pytest.raises(bulkwire.UsageError, match=r"bulkwire\.adbc\.connect"):
            read()
    with pytest.raises((bulkwire.UsageError, pd.errors.DatabaseError)), pytest.warns(UserWarning):
        pd.read_sql("SELECT 1 AS a", bulkwire_db)


def test_a_server_closes():
    server = bulkwire.Server()
    server.close()
    server.stop()


def batches(count):
    for number in range(count):
        yield pa.record_batch({"id": pa.array([number], pa.int32())})


def test_progress_exceptions_tell_what_is_committed(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int)")

    class Enough(Exception):
        pass

    def stop(progress):
        raise Enough

    with pytest.raises(Enough) as caught:
        bulkwire_db.load("t", batches(5), batch_rows=1, on_progress=stop)
    assert caught.value.rows_committed == bulkwire_db.fetch("SELECT COUNT(*) FROM t")[0][0]


def test_errors_of_a_stream_are_our_own(bulkwire_db):
    sql = "SELECT 10 / (4 - n) AS q FROM (VALUES (1), (2), (3), (4)) AS t (n)"
    for consume in ("to_arrow", "to_polars", "to_pandas"):
        with pytest.raises(bulkwire.ServerError) as caught:
            getattr(bulkwire_db.read(sql), consume)()
        assert caught.value.number == 8134


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_cannot_use_the_connection(bulkwire_db):
    child = os.fork()
    if child == 0:
        try:
            bulkwire_db.fetch("SELECT 1")
        except bulkwire.UsageError:
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert bulkwire_db.fetch("SELECT 1") == [(1,)]


@pytest.mark.parametrize("rows", [0, -1, 1.5, "many"])
def test_a_batch_has_a_row(bulkwire_db, rows):
    bulkwire_db.execute("CREATE TABLE t (id int)")
    table = pa.table({"id": pa.array([1], pa.int32())})
    for run in (
        lambda: bulkwire_db.load("dbo.t", table, batch_rows=rows),
        lambda: bulkwire_db.upsert("dbo.t", table, keys=["id"], batch_rows=rows),
        lambda: bulkwire_db.read("SELECT 1 AS n", batch_rows=rows),
        lambda: bulkwire_db.read(table="dbo.t", batch_rows=rows),
    ):
        with pytest.raises(bulkwire.UsageError, match="batch_rows must be"):
            run()
    assert bulkwire_db.load("dbo.t", table, batch_rows=np.int64(1)).rows == 1


def test_a_nested_column_names_the_option(bulkwire_db):
    with pytest.raises(bulkwire.PlanError, match="nested_as_json"):
        bulkwire_db.load("dbo.t", pa.table({"n": [[1]]}), create=True)
