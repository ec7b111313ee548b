"""Objects of stores through the Python package: loads, copies, Delta tables, directories of Parquet files."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

import boto3
import bulkwire
import bulkwire.lakes
import deltalake
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

SECRET = "never-shown-51c2"


def numbers(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "name": [f"n{n}" for n in range(first, first + count)]})


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (tmp_path_factory.mktemp("moto") / "log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def store_options(port: int) -> dict[str, str]:
    """How to reach the store: as the environment has it, and as deltalake takes it."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture
def bucket(port, monkeypatch, request):
    """A bucket's name; boto3, deltalake, pyarrow and bulkwire find it by the environment."""
    for name, value in {**store_options(port), "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    name = f"b{abs(hash(request.node.name)):x}"
    boto3.client("s3").create_bucket(Bucket=name)
    return name


def put(bucket: str, key: str, table: pa.Table) -> str:
    out = pa.BufferOutputStream()
    pq.write_table(table, out)
    boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=out.getvalue().to_pybytes())
    return f"s3://{bucket}/{key}"


def test_an_object_is_loaded_like_a_file(place, bucket):
    url = put(bucket, "in/a.parquet", numbers(0, 5000))
    report = place.db.load("t", url, create=True, load_id="a")
    assert report.rows == 5000
    assert place.db.load("t", url, load_id="a").rows == 0
    assert place.count_and_sum("t") == (5000, 5000, sum(range(5000)))
    # As with files: an object that changed after the load's end is another load.
    put(bucket, "in/a.parquet", numbers(5000, 10))
    assert place.db.load("t", url, load_id="a").rows == 10
    assert place.count_and_sum("t") == (5010, 5010, sum(range(5010)))
    with pytest.raises(bulkwire.SourceError) as raised:
        place.db.load("t", f"s3://{bucket}/nothing.parquet")
    assert "NoSuchKey" in str(raised.value) and SECRET not in str(raised.value)


def test_copies_in_both_directions(place, bucket):
    for part in range(3):
        put(bucket, f"in/part-{part}.parquet", numbers(part * 1000, 1000))
    report = bulkwire.copy(f"s3://{bucket}/in/*.parquet", "mssql:t", url=place.url)
    assert report.rows == 3000
    bulkwire.copy("mssql:t", f"s3://{bucket}/out/", url=place.url, split_rows=1000, to_format="parquet")
    listed = boto3.client("s3").list_objects_v2(Bucket=bucket, Prefix="out/")["Contents"]
    assert [item["Key"] for item in listed] == [f"out/part-0000{n}.parquet" for n in (1, 2, 3)]
    bulkwire.copy(f"s3://{bucket}/out/", "mssql:u", url=place.url)
    assert place.count_and_sum("u") == place.count_and_sum("t") == (3000, 3000, sum(range(3000)))


def test_several_threads_share_the_runtime(place, bucket):
    url = put(bucket, "a.parquet", numbers(0, 2000))
    failures = []

    def load(number: int) -> None:
        try:
            with bulkwire.connect(place.url) as db:
                db.load(f"t{number}", url, create=True)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures
    assert [place.value(f"SELECT COUNT(*) FROM t{number}") for number in range(4)] == [2000] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_has_a_runtime_of_its_own(place, bucket):
    url = put(bucket, "a.parquet", numbers(0, 100))
    place.db.load("t", url, create=True)
    child = os.fork()
    if child == 0:
        try:
            with bulkwire.connect(place.url) as db:
                db.load("t", url)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert place.value("SELECT COUNT(*) FROM t") == 200


def test_delta_tables_on_a_store(place, bucket):
    place.db.load("t", numbers(0, 3000), create=True)
    uri = f"s3://{bucket}/lake/t"
    for rows in [3000, 0]:
        done = bulkwire.lakes.write_delta(uri, lambda: place.db.read(table="t"), app_id="t", version=1)
        assert done.rows == rows
    table = bulkwire.lakes.delta(uri, storage_options={"AWS_ALLOW_HTTP": "true"})
    assert place.db.load("u", table, create=True, load_id=table.load_id).rows == 3000
    assert place.count_and_sum("u") == (3000, 3000, sum(range(3000)))
    assert deltalake.DeltaTable(uri).transaction_version("t") == 1


def test_delta_tables_by_their_options_alone(place, bucket, port, monkeypatch):
    options = store_options(port)
    for name in options:
        monkeypatch.delenv(name)
    place.db.load("t", numbers(0, 3000), create=True)
    uri = f"s3://{bucket}/lake/t"

    def write(version: int, data=lambda: place.db.read(table="t")):
        return bulkwire.lakes.write_delta(uri, data, mode="append", app_id="t", version=version, storage_options=options)

    assert [write(1).rows, write(1).rows, write(2).rows, write(1).rows] == [3000, 0, 3000, 0]
    # The same write runs a second time while the first one reads its rows: one of them commits.
    others = []

    def rows():
        others.append(write(3))
        return place.db.read(table="t")

    late = write(3, rows)
    assert ((others[0].rows, others[0].done_before), (late.rows, late.done_before)) == ((3000, False), (0, True))
    table = bulkwire.lakes.delta(uri, storage_options=options)
    assert [place.db.load("u", table, create=True, load_id=table.load_id).rows for _ in range(2)] == [9000, 0]
    assert place.count_and_sum("u") == (9000, 3000, 3 * sum(range(3000)))
    first = bulkwire.lakes.delta(uri, version=late.version - 2, columns=["id"], storage_options=options)
    assert place.db.load("v", first, create=True, load_id=first.load_id).rows == 3000


def test_iceberg_tables_on_a_store(place, bucket, port):
    catalog = InMemoryCatalog(
        "test",
        warehouse=f"s3://{bucket}/warehouse",
        **{
            "s3.endpoint": f"http://127.0.0.1:{port}",
            "s3.access-key-id": "tester",
            "s3.secret-access-key": SECRET,
            "s3.region": "us-east-1",
        },
    )
    catalog.create_namespace("sales")
    table = catalog.create_table("sales.orders", numbers(0, 1).schema)
    table.append(numbers(0, 3000))
    first = bulkwire.lakes.iceberg(table)
    table.append(numbers(3000, 500))
    second = bulkwire.lakes.iceberg(table)
    files = [item["Key"] for item in boto3.client("s3").list_objects_v2(Bucket=bucket, Prefix="warehouse/")["Contents"]]
    assert sum(name.endswith(".parquet") for name in files) == 2, files
    assert [place.db.load("t", first, create=True, load_id=first.load_id).rows for _ in range(2)] == [3000, 0]
    assert place.count_and_sum("t") == (3000, 3000, sum(range(3000)))

    def broken():
        batches = pa.RecordBatchReader.from_stream(second)
        yield pa.Table.from_batches([batches.read_next_batch()]).slice(0, 400).combine_chunks().to_batches()[0]
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        place.db.load("u", broken(), create=True, load_id=second.load_id, batch_rows=100)
    before = place.value("SELECT COUNT(*) FROM u")
    report = place.db.load("u", second, load_id=second.load_id, batch_rows=100)
    assert (report.rows_committed_before, place.count_and_sum("u")) == (before, (3500, 3500, sum(range(3500))))


def test_directories_of_parquet_files_on_a_store(place, bucket, port):
    store = pyarrow.fs.S3FileSystem(access_key="tester", secret_key=SECRET, endpoint_override=f"127.0.0.1:{port}", scheme="http")
    whole = numbers(0, 900).append_column("day", pa.array([n % 3 for n in range(900)], pa.int32()))
    pyarrow.dataset.write_dataset(
        whole, f"{bucket}/t", filesystem=store, format="parquet", partitioning=["day"], partitioning_flavor="hive"
    )
    table = bulkwire.lakes.parquet(f"s3://{bucket}/t", filesystem=store)
    assert place.db.load("t", table, create=True, load_id=table.load_id).rows == 900
    assert place.value("SELECT COUNT(*) FROM t WHERE day = id % 3") == 900
