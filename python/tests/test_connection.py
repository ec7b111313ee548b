"""Connections, transactions, upserts, the server."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import bulkwire
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def test_keywords_and_urls_connect(bulkwire_server):
    server = bulkwire_server
    keywords = {"user": "sa", "password": server.password, "trust_server_certificate": True}
    for db in (
        bulkwire.connect(server=server.host, port=server.port, **keywords),
        bulkwire.connect(f"mssql://{server.host}:{server.port}/master", **keywords),
        bulkwire.connect(f"Server={server.host},{server.port};Database=master;", **keywords),
        bulkwire.connect(server.url),
    ):
        with db:
            assert db.fetch("SELECT DB_NAME()") == [("master",)]
            assert server.password not in repr(db)
        assert db.closed
        with pytest.raises(bulkwire.UsageError, match="the connection is closed"):
            db.execute("SELECT 1")


def test_what_makes_no_sense_is_refused(bulkwire_server):
    with pytest.raises(bulkwire.ConfigError, match="unknown keyword argument 'sever'"):
        bulkwire.connect(sever="x")
    with pytest.raises(bulkwire.ConfigError, match="needs a URL"):
        bulkwire.connect()
    with pytest.raises(bulkwire.ConfigError, match="Databse"):
        bulkwire.connect("Server=x;Databse=y")
    with pytest.raises(bulkwire.LoginError) as caught:
        bulkwire.connect(bulkwire_server.url.replace(bulkwire_server.password, "wrong"))
    assert caught.value.number == 18456
    with pytest.raises(bulkwire.ConnectError):
        bulkwire.connect("mssql://sa:x@127.0.0.1:1/master")


@pytest.mark.parametrize("encryption", ["off", "optional", "required", "strict"])
def test_a_server_has_a_url_that_works(encryption):
    with bulkwire.Server(encryption=encryption) as server, server.connect() as db:
        assert db.fetch("SELECT 1") == [(1,)]


def test_a_server_keeps_its_rows_in_a_directory(tmp_path):
    with bulkwire.Server(tmp_path / "rows") as server, server.connect() as db:
        db.load("dbo.kept", pa.table({"id": pa.array([1, 2], pa.int32())}), create=True)
    with bulkwire.Server(tmp_path / "rows") as server, server.connect() as db:
        assert db.fetch("SELECT COUNT(*) FROM dbo.kept") == [(2,)]


def test_a_server_starts_with_a_restored_database(tmp_path):
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32())}), tmp_path / "rows.parquet")
    bulkwire.copy(str(tmp_path / "rows.parquet"), f"{tmp_path}/shop.bacpac#sales.orders")
    with bulkwire.Server(restore={"shop": tmp_path / "shop.bacpac"}) as server, server.connect() as db:
        assert db.fetch("SELECT SUM(id) FROM shop.sales.orders") == [(3,)]
    with pytest.raises(bulkwire.UsageError, match="restore cannot go with"):
        bulkwire.Server(restore={"shop": "shop.bak"}, discard=True)
    with pytest.raises(bulkwire.Error, match="cannot restore shop"):
        bulkwire.Server(restore={"shop": tmp_path / "nix.bak"})


def test_transactions(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int)")
    data = pa.table({"id": pa.array([1, 2], pa.int32())})
    with pytest.raises(LookupError), bulkwire_db.transaction():
        assert bulkwire_db.in_transaction
        bulkwire_db.load("t", data)
        bulkwire_db.execute("CREATE TABLE #temporary (id int)")
        bulkwire_db.load("#temporary", data)
        assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(2,)]
        raise LookupError
    assert not bulkwire_db.in_transaction
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(0,)]
    with bulkwire_db.transaction():
        bulkwire_db.load("t", data)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(2,)]


def test_upsert(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (a int, b nvarchar(5), v int, kept int DEFAULT 7, PRIMARY KEY (a, b))")
    bulkwire_db.execute("INSERT INTO t VALUES (1, 'x', 10, 1), (2, 'x', 20, 2)")
    data = pa.table({"A": pa.array([1, 3], pa.int32()), "b": ["x", "x"], "v": pa.array([11, 30], pa.int32())})
    report = bulkwire_db.upsert("t", data, keys=["a", "B"])
    assert (report.inserted, report.updated, report.staged.rows) == (1, 1, 2)
    assert "inserted 1, updated 1" in str(report)
    expected = [(1, "x", 11, 1), (2, "x", 20, 2), (3, "x", 30, 7)]
    assert bulkwire_db.fetch("SELECT * FROM t ORDER BY a") == expected
    assert bulkwire_db.upsert("t", data, keys=["a", "b"]).updated == 2


@pytest.mark.parametrize(
    ("data", "keys", "error", "message"),
    [
        ({"a": [1, 1], "v": [1, 2]}, ["a"], bulkwire.PlanError, r"2 rows of the source have the key \(1\)"),
        ({"a": [1, None], "v": [1, 2]}, ["a"], bulkwire.CellError, 'row 2, column "a"'),
        ({"a": [1], "v": [1]}, ["c"], bulkwire.PlanError, '"c" cannot be a key'),
        ({"a": [1], "v": [1]}, [], bulkwire.PlanError, "at least one key"),
        ({"a": [1], "w": [1]}, ["a"], bulkwire.PlanError, "w"),
        ({"a": [1], "v": [1]}, "a", bulkwire.UsageError, "sequence of column names"),
    ],
)
def test_an_upsert_that_cannot_be_done_changes_nothing(bulkwire_db, data, keys, error, message):
    bulkwire_db.execute("CREATE TABLE t (a int PRIMARY KEY, v int)")
    bulkwire_db.execute("INSERT INTO t VALUES (1, 10)")
    arrays = {name: pa.array(values, pa.int32()) for name, values in data.items()}
    with pytest.raises(error, match=message):
        bulkwire_db.upsert("t", pa.table(arrays), keys=keys)
    assert bulkwire_db.fetch("SELECT * FROM t") == [(1, 10)]
    assert not bulkwire_db.in_transaction


def test_cancel_from_another_thread(bulkwire_db):
    timer = threading.Timer(0.3, bulkwire_db.cancel)
    timer.start()
    with pytest.raises(bulkwire.CancelledError):
        bulkwire_db.execute("WAITFOR DELAY '00:01:00'")
    timer.join()
    assert bulkwire_db.fetch("SELECT 1") == [(1,)]


INTERRUPTED = {
    "load": """
        def endless():
            while True:
                yield pa.table({"id": pa.array(range(1000), pa.int32())})
        work = lambda: db.load("dbo.t", endless(), batch_rows=10_000_000)
    """,
    "query": "work = lambda: db.execute(\"WAITFOR DELAY '00:01:00'\")",
    "read": "work = lambda: db.read(\"WAITFOR DELAY '00:01:00'; SELECT 1 AS a\")",
}


@pytest.mark.parametrize("what", INTERRUPTED)
def test_ctrl_c_stops_cleanly(what):
    with bulkwire.Server() as server, server.connect() as db:
        db.execute("CREATE TABLE dbo.t (id int)")
        program = f"""
import bulkwire, sys, pyarrow as pa
db = bulkwire.connect(sys.argv[1])
{textwrap.dedent(INTERRUPTED[what]).strip()}
print("started", flush=True)
try:
    work()
except KeyboardInterrupt:
    print("interrupted", db.fetch("SELECT COUNT(*) FROM dbo.t WITH (NOLOCK)"), flush=True)
"""
        arguments = [sys.executable, "-c", program, server.url]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "started\n"
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            # The same connection goes on afterwards, and nothing is half committed.
            assert child.stdout.readline() == "interrupted [(0,)]\n"
            assert child.wait() == 0
        assert db.fetch("SELECT COUNT(*) FROM dbo.t") == [(0,)]


def test_nothing_needs_pyarrow():
    program = """
import sys
sys.modules["pyarrow"] = None
import bulkwire, polars as pl
with bulkwire.Server() as server, server.connect() as db:
    db.load("dbo.t", pl.DataFrame({"id": [1, 2], "name": ["a", None]}), create=True)
    batch = next(db.read("SELECT * FROM dbo.t"))
    assert batch.num_rows == 2, batch
    assert db.read("SELECT * FROM dbo.t ORDER BY id").to_polars().rows() == [(1, "a"), (2, None)]
    try:
        db.read("SELECT 1 AS a").to_arrow()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("to_arrow() needs the package pyarrow, which is not installed\n", "")
