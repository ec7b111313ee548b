"""A client's transaction is one: whatever ends it before its time, nothing that follows is done by itself."""

import contextlib
import threading

import adbc_driver_manager
import bulkwire
import bulkwire.adbc
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from bulkwire import _bulkwire

TEN = pa.table({"id": pa.array(range(10), pa.int32()), "name": ["x"] * 10})
SPOILT = (bulkwire.TransactionEndedError, bulkwire.BrokenConnectionError)


@pytest.fixture
def place(bulkwire_server, bulkwire_db):
    """A table, and a way to further connections."""
    bulkwire_db.execute("CREATE TABLE t (id int NOT NULL, name nvarchar(20)); CREATE TABLE other (id int); INSERT other VALUES (1)")
    bulkwire_db.execute("CREATE TABLE keyed (id int NOT NULL PRIMARY KEY, name nvarchar(20)); CREATE TABLE third (id int)")
    bulkwire_db.execute("INSERT third VALUES (1)")
    url = bulkwire_server.url_of(bulkwire_db.fetch("SELECT DB_NAME()")[0][0])
    return bulkwire_db, url


def by_conversion(run, place):
    run("SELECT CONVERT(int, 'x')")


def by_any_error_under_xact_abort(run, place):
    run("SET XACT_ABORT ON; SELECT 1 / 0")


def by_a_batch_that_catches_its_error(run, place):
    run("BEGIN TRY SELECT CONVERT(int, 'x') END TRY BEGIN CATCH ROLLBACK TRANSACTION END CATCH")


def by_a_statement(run, place):
    run("ROLLBACK TRANSACTION")


def by_another_transaction(run, place):
    run("ROLLBACK TRANSACTION; BEGIN TRANSACTION")


def by_a_snapshot_conflict(run, place):
    run("SELECT * FROM other")
    with bulkwire.connect(place[1]) as second:
        second.execute("UPDATE other SET id = id + 1")
    run("UPDATE other SET id = id + 5")


by_a_snapshot_conflict.prepare = (
    "DECLARE @allow nvarchar(300) = N'ALTER DATABASE ' + QUOTENAME(DB_NAME()) + N' SET ALLOW_SNAPSHOT_ISOLATION ON'; EXEC (@allow); "
    "SET TRANSACTION ISOLATION LEVEL SNAPSHOT"
)


def by_a_deadlock(run, place):
    run("SET DEADLOCK_PRIORITY LOW; UPDATE other SET id = id + 1")
    with bulkwire.connect(place[1]) as second:
        second.execute("SET DEADLOCK_PRIORITY HIGH; BEGIN TRANSACTION; UPDATE third SET id = id + 1")
        waiting = threading.Thread(target=second.execute, args=("UPDATE other SET id = id + 1; ROLLBACK TRANSACTION",))
        waiting.start()
        try:
            run("UPDATE third SET id = id + 1")
        finally:
            waiting.join()


def by_kill(run, place):
    spid = run("SELECT @@SPID")[0][0]
    with bulkwire.connect(place[1]) as second:
        second.execute(f"KILL {spid}")
    run("SELECT 1")


ENDINGS = [
    by_conversion,
    by_any_error_under_xact_abort,
    by_a_batch_that_catches_its_error,
    by_a_statement,
    by_another_transaction,
    by_a_snapshot_conflict,
    by_a_deadlock,
    by_kill,
]

VERBS = {
    "execute": lambda db: db.execute("INSERT t VALUES (100, N'e')"),
    "execute with parameters": lambda db: db.execute("INSERT t VALUES (@p1, N'p')", [101]),
    "fetch": lambda db: db.fetch("INSERT t OUTPUT inserted.id VALUES (102, N'f')"),
    "fetch with parameters": lambda db: db.fetch("INSERT t OUTPUT inserted.id VALUES (@p1, N'f')", [103]),
    "read": lambda db: db.read("INSERT t OUTPUT inserted.id VALUES (104, N'r')").to_arrow(),
    "read by readers": lambda db: db.read(table="dbo.keyed", readers=2).to_arrow(),
    "load": lambda db: db.load("dbo.t", TEN),
    "load of a frame": lambda db: db.load("dbo.t", pl.from_arrow(TEN)),
    "load in place of all": lambda db: db.load("dbo.t", TEN, mode="replace"),
    "load after truncation": lambda db: db.load("dbo.t", TEN, truncate=True),
    "load by writers": lambda db: db.load("dbo.t", TEN, writers=2),
    "load with a name": lambda db: db.load("dbo.t", TEN, load_id="named"),
    "load that is tried again": lambda db: db.load("dbo.t", TEN, retry_for=1),
    "load by key": lambda db: db.load("dbo.keyed", TEN, mode="upsert", key="id"),
    "load into a new table": lambda db: db.load("dbo.made", TEN, create=True),
    "load into a table that may be new": lambda db: db.load("dbo.made", TEN, create="if-missing"),
    "upsert": lambda db: db.upsert("dbo.keyed", TEN, keys=["id"]),
    "forecast": lambda db: db.forecast("dbo.t", TEN),
    "forget_load": lambda db: db.forget_load("named"),
    "a transaction within": lambda db: db.transaction().__enter__(),
    "partitions": lambda db: _bulkwire.partitions(db._native, None, "dbo.keyed", None, None, 2, None),
}


# What asks nothing of the server, or ends what it asks for: each has a test of its own.
ASKS_NOTHING = {"cancel", "cursor", "close", "closed", "in_transaction", "server"}


def test_each_method_has_its_case():
    methods = {name for name in vars(bulkwire.Connection) if not name.startswith("_")}
    words = {name.split()[0] for name in VERBS} | {"transaction"}
    assert methods - ASKS_NOTHING == words & methods, methods - ASKS_NOTHING - words


def name(ends) -> str:
    return ends.__name__


@pytest.mark.parametrize("ends", ENDINGS, ids=name)
def test_nothing_follows_a_transaction_that_has_ended(place, ends):
    db, url = place
    with bulkwire.connect(url) as client:
        client.execute(getattr(ends, "prepare", "SELECT 1"))
        with pytest.raises(SPOILT) as raised, client.transaction():
            client.execute("INSERT t VALUES (1, N'first')")
            with contextlib.suppress(bulkwire.ServerError, bulkwire.ConnectError):
                ends(client.fetch, place)
            assert not (ends is not by_another_transaction and client.in_transaction)
            # A connection that is gone has a transaction still, for those who would read beside it.
            refusals = bulkwire.Error if ends is by_kill else SPOILT
            for verb, run in VERBS.items():
                with pytest.raises(refusals):
                    run(client)
                    pytest.fail(f"{verb} was done")
        if ends is not by_kill:
            assert isinstance(raised.value, bulkwire.TransactionEndedError)
            # The connection is of use again.
            with client.transaction():
                client.execute("INSERT t VALUES (2, N'later')")
    assert db.fetch("SELECT id FROM t") == ([] if ends is by_kill else [(2,)])
    assert db.fetch("SELECT COUNT(*), OBJECT_ID('dbo.made') FROM keyed") == [(0, None)]
    assert db.fetch("SELECT COUNT(*) FROM sys.tables WHERE name LIKE '%bulkwire%'") == [(0,)]


@pytest.mark.parametrize("ends", ENDINGS, ids=name)
def test_the_error_of_the_block_is_raised_and_the_transaction_is_over(place, ends):
    db, url = place
    with bulkwire.connect(url) as client:
        client.execute(getattr(ends, "prepare", "SELECT 1"))
        with pytest.raises(LookupError), client.transaction():
            client.execute("INSERT t VALUES (1, N'first')")
            with contextlib.suppress(bulkwire.ServerError, bulkwire.ConnectError):
                ends(client.fetch, place)
            raise LookupError
        if ends is not by_kill:
            assert client.fetch("SELECT @@TRANCOUNT") == [(0,)]
    assert db.fetch("SELECT COUNT(*) FROM t") == [(0,)]


def test_the_reason_is_told(place):
    db, _ = place
    with (
        pytest.raises(bulkwire.TransactionEndedError, match=r"rolled the open transaction back already, after Msg 245"),
        db.transaction(),
    ):
        with pytest.raises(bulkwire.ServerError):
            by_conversion(db.fetch, place)
        with pytest.raises(bulkwire.TransactionEndedError, match=r"Msg 245, .*nothing more is done until"):
            db.load("dbo.t", TEN)
    with pytest.raises(bulkwire.TransactionEndedError, match="a statement has committed the open transaction"), db.transaction():
        db.execute("INSERT t VALUES (1, N'kept'); COMMIT TRANSACTION")
        with pytest.raises(bulkwire.TransactionEndedError):
            db.execute("INSERT t VALUES (2, N'lost')")
    assert db.fetch("SELECT id FROM t") == [(1,)]


def test_a_load_that_fails_in_a_transaction_ends_it_or_leaves_it_whole(place):
    db, _ = place
    bad = pa.table({"id": pa.array([1], pa.int32()), "name": ["x" * 30]})
    with db.transaction():
        db.execute("INSERT t VALUES (1, N'first')")
        with pytest.raises(bulkwire.CellError):
            db.load("dbo.t", bad)
        db.load("dbo.t", TEN)
    assert db.fetch("SELECT COUNT(*) FROM t") == [(11,)]
    with pytest.raises(SPOILT), db.transaction():
        db.execute("SET XACT_ABORT ON; DELETE t")
        with pytest.raises(bulkwire.ServerError):
            db.load("dbo.keyed", pa.table({"id": pa.array([1, 1], pa.int32()), "name": ["a", "b"]}))
        with pytest.raises(SPOILT):
            db.load("dbo.t", TEN)
    assert db.fetch("SELECT COUNT(*) FROM t") == [(11,)]


INGESTIONS = [
    {"mode": "append"},
    {"mode": "create_append"},
    {"mode": "replace"},
    {"mode": "append", "table": "made"},
    {"mode": "create", "table": "made"},
]

DB_API = {
    "execute": lambda cursor: cursor.execute("INSERT t VALUES (100, N'e')"),
    "execute with parameters": lambda cursor: cursor.execute("INSERT t VALUES (?, N'p')", (101,)),
    "executemany": lambda cursor: cursor.executemany("INSERT t VALUES (?, ?)", [(1, "a"), (2, "b")]),
    "schema": lambda cursor: cursor.adbc_execute_schema("SELECT * FROM t"),
    "partitions": lambda cursor: cursor.adbc_execute_partitions("SELECT * FROM keyed"),
    "objects": lambda cursor: cursor.connection.adbc_get_objects().read_all(),
    "table": lambda cursor: cursor.connection.adbc_get_table_schema("t"),
    "pandas": lambda cursor: pd.DataFrame({"id": [1]}).to_sql("made", cursor.connection, index=False),
}


@pytest.mark.parametrize("ends", ENDINGS, ids=name)
def test_adbc_does_nothing_by_itself_either(place, ends):
    db, url = place

    with bulkwire.adbc.connect(url) as connection, connection.cursor() as cursor:

        def run(sql):
            cursor.execute(sql)
            return cursor.fetchall()

        connection.rollback()
        connection.adbc_connection.set_autocommit(True)
        run(getattr(ends, "prepare", "SELECT 1"))
        connection.adbc_connection.set_autocommit(False)
        for end in ("commit", "rollback"):
            cursor.execute("INSERT t VALUES (1, N'first')")
            with contextlib.suppress(adbc_driver_manager.Error, pa.ArrowException):
                ends(run, place)
            for verb, tried in DB_API.items():
                with pytest.raises(adbc_driver_manager.Error):
                    tried(cursor)
                    pytest.fail(f"{verb} was done")
            for options in INGESTIONS:
                for writers in ("1", "3"):
                    cursor.adbc_statement.set_options(**{"bulkwire.ingest.writers": writers})
                    with pytest.raises(adbc_driver_manager.Error):
                        cursor.adbc_ingest(options.get("table", "t"), TEN, mode=options["mode"])
            if ends is by_kill:
                return
            if end == "commit":
                with pytest.raises(adbc_driver_manager.Error, match="already"):
                    connection.commit()
            else:
                connection.rollback()
            assert db.fetch("SELECT COUNT(*), OBJECT_ID('dbo.made') FROM t") == [(0, None)]
            # The next transaction is one as well.
            cursor.execute("INSERT t VALUES (2, N'undone')")
            connection.rollback()
            cursor.execute("INSERT t VALUES (3, N'kept')")
            connection.commit()
            assert db.fetch("SELECT id FROM t") == [(3,)]
            db.execute("DELETE t")


def test_adbc_keeps_autocommit_off_after_a_transaction_that_cannot_be_committed(place):
    db, url = place
    with bulkwire.adbc.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT t VALUES (1, N'first')")
        # The columns come before the error, which is one of the rows.
        with pytest.raises((adbc_driver_manager.Error, pa.ArrowException)):
            cursor.execute("SELECT CONVERT(int, 'x')")
            cursor.fetchall()
        with pytest.raises(adbc_driver_manager.Error, match="already"):
            connection.adbc_connection.set_autocommit(True)
        cursor.execute("INSERT t VALUES (2, N'undone')")
        connection.rollback()
        connection.adbc_connection.set_autocommit(True)
        cursor.execute("INSERT t VALUES (3, N'kept')")
    assert db.fetch("SELECT id FROM t") == [(3,)]
