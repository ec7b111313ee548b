"""Objects of stores and web servers as sources and destinations: `bulkwire load`, `export` and `copy`."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import signal
import ssl
import subprocess
import time
import urllib.parse
from collections.abc import Iterator

import boto3
import botocore.config
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import trustme

from conftest import Endpoint, serve
from object_servers import (
    AZURITE_KEY,
    SECRET,
    Fault,
    FileServer,
    GoogleProxy,
    Proxy,
    a_range,
    azure_environment,
    azure_request,
    azurite,
    google,
    google_environment,
    moto,
    request,
    running,
    s3_environment,
)
from programs import CACHE

ROWS = 60_000


@pytest.fixture(scope="module")
def server(binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with serve(binaries, tmp_path_factory.mktemp("objects")) as endpoint:
        yield endpoint


class Bucket:
    """A bucket of a test's own, seen through boto3, and what the command needs to know of it."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.port = port
        self.client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="tester",
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
            config=botocore.config.Config(retries={"max_attempts": 1}),
        )
        self.client.create_bucket(Bucket=name)

    def put(self, key: str, body: bytes) -> str:
        self.client.put_object(Bucket=self.name, Key=key, Body=body)
        return f"s3://{self.name}/{key}"

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def listed(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def uploads(self) -> list[str]:
        return [u["Key"] for u in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with moto(tmp_path_factory.mktemp("moto")) as port:
        yield port


@pytest.fixture
def bucket(s3: int, request: pytest.FixtureRequest) -> Bucket:
    return Bucket(s3, "b" + hashlib.sha256(request.node.name.encode()).hexdigest()[:20])


def ran(server: Endpoint, *words: str, code: int = 0, env: dict[str, str]) -> str:
    done = server.bulkwire(*words, env={**os.environ, **env})
    said = done.stdout + done.stderr
    assert SECRET not in said, "a secret is printed"
    assert done.returncode == code, f"{words}: {done.returncode}: {said}"
    return said


def figures(server: Endpoint, table: str) -> list[int]:
    sums = "SUM(CAST(id AS bigint)), SUM(CAST(LEN(name) AS bigint))"
    sql = f"SELECT COUNT(*), COUNT(DISTINCT id), {sums} FROM {table}"
    done = server.bulkwire("query", sql, "--output", "csv")
    assert done.returncode == 0, done.stderr
    return [int(cell) for cell in done.stdout.split("\n")[1].split(",")]


def expected(rows: int) -> list[int]:
    return [rows, rows, sum(range(rows)), sum(len(name(n)) for n in range(rows))]


def name(n: int) -> str:
    # Long enough that a file of some ten thousand rows takes several ranges.
    return hashlib.sha256(str(n).encode()).hexdigest()


def csv(first: int, count: int) -> bytes:
    return b"id,name\n" + b"".join(f"{n},{name(n)}\n".encode() for n in range(first, first + count))


def parquet(first: int, count: int, group: int = 10_000) -> bytes:
    table = pa.table(
        {
            "id": pa.array(range(first, first + count), pa.int32()),
            "name": [name(n) for n in range(first, first + count)],
            "day": [f"d{n % 3}" for n in range(first, first + count)],
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=group)
    return out.getvalue()


def fresh(server: Endpoint, table: str, more: str = "") -> str:
    for sql in [
        f"DROP TABLE IF EXISTS {table}",
        f"CREATE TABLE {table} (id int NOT NULL, name varchar(64){more})",
    ]:
        done = server.bulkwire("query", sql)
        assert done.returncode == 0, done.stderr
    return table


def test_objects_are_loaded_like_files(server: Endpoint, bucket: Bucket) -> None:
    env = s3_environment(bucket.port)
    text = bucket.put("in/a b+c.csv", csv(0, ROWS))
    columns = bucket.put("in/all.parquet", parquet(0, ROWS))
    compressed = bucket.put("in/all.csv.gz", gzip.compress(csv(0, ROWS)))
    arrow = io.BytesIO()
    table = pq.read_table(io.BytesIO(parquet(0, ROWS)))
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    feather = bucket.put("in/all.arrow", arrow.getvalue())
    for url in [text, compressed]:
        ran(server, "load", fresh(server, "t1"), url, env=env)
        assert figures(server, "t1") == expected(ROWS), url
    for url in [columns, feather]:
        ran(server, "load", fresh(server, "t1", ", day varchar(9)"), url, env=env)
        assert figures(server, "t1") == expected(ROWS), url
    ran(server, "query", "DROP TABLE t1", env=env)
    ran(server, "load", "t1", columns, "--create", env=env)
    assert figures(server, "t1") == expected(ROWS)
    assert ran(server, "sniff", text, env=env).startswith(text)


def test_patterns_and_folders(server: Endpoint, bucket: Bucket) -> None:
    env = s3_environment(bucket.port)
    for part in range(4):
        bucket.put(f"d/part-{part}.csv", csv(part * 1000, 1000))
    bucket.put("d/_notes.csv", b"nothing")
    bucket.put("d/deep/part-4.csv", csv(4000, 1000))
    bucket.put("hive/day=1/a.csv", csv(0, 10))
    root = f"s3://{bucket.name}"
    for words, rows in [
        (["load", "t2", f"{root}/d/*.csv"], None),
        (["load", "t2", f"{root}/d/part-[0-3].csv"], 4000),
        (["load", "t2", f"{root}/d/"], 5000),
        (["load", "t2", f"{root}/d", "--writers", "2"], 5000),
        (["copy", f"{root}/**/part-*.csv", "mssql:t2"], 5000),
        (["copy", f"{root}/hive/day=1/*.csv", "mssql:t2"], 10),
    ]:
        fresh(server, "t2")
        if rows is None:
            # The notes are no table; a pattern means what it says.
            ran(server, *words, code=1, env=env)
        else:
            ran(server, *words, env=env)
            assert figures(server, "t2") == expected(rows), words
    assert "partitioned" in ran(server, "load", "t2", f"{root}/hive/", code=2, env=env)
    assert "no object has such a name" in ran(server, "load", "t2", f"{root}/d/*.parquet", code=2, env=env)


def test_what_is_missing_is_one_clear_line(server: Endpoint, bucket: Bucket) -> None:
    env = s3_environment(bucket.port)
    fresh(server, "t3")
    for url, code, parts in [
        (f"s3://{bucket.name}/nothing.csv", 1, ["404", "NoSuchKey"]),
        ("s3://no-such-bucket-here/a.csv", 1, ["404", "NoSuchBucket"]),
        (f"s3://{bucket.name}", 2, ["no objects"]),
        ("s3://", 1, ["names no bucket"]),
        ("https://localhost:1/a.csv", 1, ["refused"]),
        ("http://10.0.0.1/a.csv", 1, ["unencrypted"]),
    ]:
        short = {**env, "BULKWIRE_OBJECTS_RETRY_FOR": "0"}
        said = ran(server, "load", "t3", url, code=code, env=short)
        lines = [line for line in said.splitlines() if line.startswith("error")]
        assert len(lines) == 1 and url in lines[0], said
        assert all(part in lines[0] for part in parts), said
    said = ran(server, "export", "t3", "s3://no-such-bucket-here/a.csv", code=1, env=env)
    assert "NoSuchBucket" in said
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = server.bulkwire(
        "load", "t3", f"s3://{bucket.name}/nothing.csv", env={**clean, "HOME": "/nonexistent"}
    )
    assert done.returncode != 0 and "AWS_ACCESS_KEY_ID" in done.stderr, done.stderr


def test_exports_appear_when_they_are_complete(server: Endpoint, bucket: Bucket) -> None:
    env = s3_environment(bucket.port)
    root = f"s3://{bucket.name}"
    columns = bucket.put("all.parquet", parquet(0, ROWS))
    ran(server, "load", fresh(server, "t4", ", day varchar(9)"), columns, env=env)
    for key in ["out/a.csv", "out/a.parquet", "out/a.csv.zst", "out/a.arrow"]:
        ran(server, "export", "t4", f"{root}/{key}", env=env)
        ran(server, "load", fresh(server, "t4b", ", day varchar(9)"), f"{root}/{key}", env=env)
        assert figures(server, "t4b") == expected(ROWS), key
    # A file is replaced, and a folder must be empty; so it is with those on disk.
    ran(server, "export", "t4", f"{root}/out/a.csv", "--quiet", env=env)
    assert "has objects" in ran(
        server, "export", "t4", f"{root}/out/", "--split-rows", "9", "--format", "csv", code=1, env=env
    )
    ran(server, "export", "t4", f"{root}/split", "--split-rows", "25000", env=env)
    assert [key for key in bucket.listed() if key.startswith("split/")] == [
        f"split/part-0000{n}.parquet" for n in (1, 2, 3)
    ]
    ran(server, "export", "t4", f"{root}/days", "--partition-by", "day", env=env)
    days = [key for key in bucket.listed() if key.startswith("days/")]
    assert days == [f"days/day=d{n}/part-00001.parquet" for n in range(3)]
    ran(server, "export", "t4", f"{root}/ranges/", "--readers", "2", env=env)
    ran(server, "load", fresh(server, "t4b", ", day varchar(9)"), f"{root}/ranges/", env=env)
    assert figures(server, "t4b") == expected(ROWS)
    assert bucket.uploads() == []
    # Empty tables are files all the same.
    fresh(server, "t4c")
    ran(server, "export", "t4c", f"{root}/empty.csv", "--quiet", env=env)
    assert bucket.get("empty.csv") == b"id,name\n"
    # Copies know whether something may be there.
    said = ran(server, "copy", "mssql:t4", f"{root}/out/a.csv", "--create=always", code=2, env=env)
    assert "already" in said
    ran(server, "copy", f"{root}/all.parquet", f"{root}/copied.csv", "--create=always", env=env)
    assert bucket.get("copied.csv").startswith(b"id,name,day\n0,")


def test_a_large_object_goes_in_parts(server: Endpoint, bucket: Bucket) -> None:
    env = s3_environment(bucket.port)
    sql = "SELECT value AS id, REPLICATE('x', 1000) AS name FROM GENERATE_SERIES(1, 30000)"
    ran(server, "export", "--query", sql, f"s3://{bucket.name}/large.csv", "--quiet", env=env)
    head = bucket.client.head_object(Bucket=bucket.name, Key="large.csv")
    assert head["ETag"].strip('"').endswith("-4"), head
    body = bucket.get("large.csv")
    assert (body.count(b"\n"), len(body)) == (30001, head["ContentLength"])
    # A query that fails in the middle leaves neither an object nor parts.
    failing = "SELECT 1 / (29000 - value) AS id, REPLICATE('x', 1000) AS name FROM GENERATE_SERIES(1, 30000)"
    ran(server, "export", "--query", failing, f"s3://{bucket.name}/failed.csv", "--quiet", code=1, env=env)
    ran(
        server,
        "export",
        "--query",
        failing,
        f"s3://{bucket.name}/failed",
        "--split-rows",
        "9000",
        "--quiet",
        code=1,
        env=env,
    )
    assert (bucket.listed(), bucket.uploads()) == (["large.csv"], [])


def test_faults_of_a_store_are_passed_over(server: Endpoint, bucket: Bucket) -> None:
    columns, text = bucket.put("all.parquet", parquet(0, ROWS)), bucket.put("all.csv", csv(0, ROWS))
    with running(Proxy(bucket.port)) as proxy:
        env = s3_environment(proxy.port)
        for url, more in [(text, ""), (columns, ", day varchar(9)")]:
            proxy.faults = [
                Fault(a_range, times=2, status=503),
                Fault(a_range, times=3, cut_at=100_000),
                Fault(lambda method, *_: method == "HEAD", status=500),
            ]
            ran(server, "load", fresh(server, "t5", more), url, env=env)
            assert figures(server, "t5") == expected(ROWS), url
            assert all(fault.times == 0 for fault in proxy.faults), "a fault did not happen"
        # The rest behind a cut is asked for from the byte at which it broke.
        starts = [headers["range"] for method, _, headers in proxy.requests if a_range(method, "", headers)]
        assert any(
            int(start.removeprefix("bytes=").split("-")[0]) % 65536 == 100_000 % 65536 for start in starts
        ), starts
        proxy.faults = [
            Fault(lambda method, path, _: method == "PUT" and "partNumber=2" in path, times=2, status=503)
        ]
        sql = "SELECT value AS id, REPLICATE('x', 1000) AS name FROM GENERATE_SERIES(1, 20000)"
        ran(server, "export", "--query", sql, f"s3://{bucket.name}/out.csv", "--quiet", env=env)
        assert bucket.get("out.csv").count(b"\n") == 20001
        # A store that stays away is an error, in bounded time.
        proxy.faults = [Fault(a_range, times=10**9, status=503)]
        said = ran(
            server, "load", fresh(server, "t5"), text, code=1, env={**env, "BULKWIRE_OBJECTS_RETRY_FOR": "1"}
        )
        assert "503" in said and text in said
        proxy.faults = [Fault(a_range, times=10**9, wait=30)]
        began = time.monotonic()
        short = {"BULKWIRE_OBJECTS_RETRY_FOR": "1", "BULKWIRE_OBJECTS_TIMEOUT": "1"}
        assert "in time" in ran(server, "load", fresh(server, "t5"), text, code=1, env={**env, **short})
        assert time.monotonic() - began < 60
        assert count(server, "t5") == 0


def test_an_object_that_changes_is_an_error(server: Endpoint, bucket: Bucket) -> None:
    text = bucket.put("all.csv", csv(0, 200_000))
    with running(Proxy(bucket.port)) as proxy:
        env = s3_environment(proxy.port)
        seen: list[str] = []

        def later(method: str, _: str, headers: dict[str, str]) -> bool:
            if a_range(method, "", headers):
                seen.append(headers["range"])
                if len(seen) == 4:
                    bucket.put("all.csv", csv(7, 200_000))
            return False

        proxy.faults = [Fault(later)]
        said = ran(
            server, "load", fresh(server, "t6"), text, "--batch-rows", "1000", "--resume", code=1, env=env
        )
        assert "changed while it was read" in said and text in said, said
        proxy.faults = []
        # Another object of the same name is not what the load began with.
        said = ran(server, "load", "t6", text, "--batch-rows", "1000", "--resume", code=1, env=env)
        assert "all.csv" in said, said
        bucket.put("all.csv", csv(0, 200_000))
        ran(server, "load", "t6", text, "--batch-rows", "1000", "--resume", env=env)
        assert figures(server, "t6") == expected(200_000)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_killed_load_goes_on(server: Endpoint, bucket: Bucket, kind: str) -> None:
    body = csv(0, 200_000) if kind == "csv" else parquet(0, 200_000)
    url = bucket.put(f"all.{kind}", body)
    fresh(server, "t7", "" if kind == "csv" else ", day varchar(9)")
    with running(Proxy(bucket.port)) as proxy:
        env = s3_environment(proxy.port)
        proxy.faults = [Fault(a_range, times=10**9, rate=2e6)]
        words = [
            server.binaries / "bulkwire",
            "load",
            "t7",
            url,
            "--resume",
            "--batch-rows",
            "2000",
            "--quiet",
        ]
        for _ in range(3):
            started = subprocess.Popen(words, env={**os.environ, "BULKWIRE_URL": server.url, **env})
            before = count(server, "t7")
            deadline = time.monotonic() + 60
            while count(server, "t7") == before and started.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            started.send_signal(signal.SIGKILL)
            started.wait()
        assert count(server, "t7") > 0
        proxy.faults = []
        ran(server, "load", "t7", url, "--resume", "--batch-rows", "2000", env=env)
    assert figures(server, "t7") == expected(200_000)


def count(server: Endpoint, table: str) -> int:
    done = server.bulkwire("query", f"SELECT COUNT(*) FROM {table} WITH (NOLOCK)", "--output", "csv")
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("\n")[1])


def test_a_killed_export_leaves_no_object(server: Endpoint, bucket: Bucket) -> None:
    with running(Proxy(bucket.port)) as proxy:
        env = s3_environment(proxy.port)
        sql = "SELECT value AS id, REPLICATE('x', 1000) AS name FROM GENERATE_SERIES(1, 60000)"
        for end, parts_stay in [(signal.SIGKILL, True), (signal.SIGTERM, False)]:
            proxy.requests.clear()
            proxy.faults = [Fault(lambda method, path, _: "partNumber=3" in path, times=10**9, wait=2)]
            words = [
                server.binaries / "bulkwire",
                "export",
                "--query",
                sql,
                f"s3://{bucket.name}/o.csv",
                "--quiet",
            ]
            started = subprocess.Popen(words, env={**os.environ, "BULKWIRE_URL": server.url, **env})
            deadline = time.monotonic() + 60
            while (
                not any("partNumber=3" in path for _, path, _ in proxy.requests)
                and time.monotonic() < deadline
            ):
                time.sleep(0.02)
            started.send_signal(end)
            started.wait(timeout=60)
            assert bucket.listed() == []
            if not parts_stay:
                assert len(bucket.uploads()) <= 1, "only what the killed one has left"
        ran(server, "export", "--query", sql, f"s3://{bucket.name}/o.csv", "--quiet", env=env)
        assert bucket.listed() == ["o.csv"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, dict[str, str]]:
    made = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.issue_cert("localhost").configure_cert(context)
    file = tmp_path_factory.mktemp("authority") / "ca.pem"
    made.cert_pem.write_to_path(str(file))
    return context, {"SSL_CERT_FILE": str(file)}


@pytest.mark.parametrize("ranges", [True, False], ids=["ranges", "stream"])
def test_files_of_web_servers(
    server: Endpoint, authority: tuple[ssl.SSLContext, dict[str, str]], ranges: bool
) -> None:
    context, env = authority
    with running(FileServer(context, ranges)) as web:
        text, columns = web.put("/d/all.csv", csv(0, ROWS)), web.put("/all.parquet", parquet(0, ROWS))
        for url, more in [(text, ""), (columns, ", day varchar(9)"), (f"{text}?signature={SECRET}", "")]:
            said = ran(server, "load", fresh(server, "t8", more), url, env=env)
            assert figures(server, "t8") == expected(ROWS), url
            assert url.split("?")[0] in said
        asked = [headers.get("range") for _, path, headers in web.requests if path.startswith("/d/")]
        assert (len({one for one in asked if one}) > 2) == ranges
        # Cuts and passing trouble.
        web.faults = [
            Fault(lambda *_: True, status=503),
            Fault(lambda method, path, headers: headers.get("range") != "bytes=0-0", times=3, cut_at=200_000),
        ]
        ran(server, "load", fresh(server, "t8"), text, env=env)
        assert figures(server, "t8") == expected(ROWS)
        assert all(fault.times == 0 for fault in web.faults)
        # Another version behind a cut.
        # A stream is opened for its head, then for its rows, and again behind a cut.
        seen = []

        def later(method: str, path: str, headers: dict[str, str]) -> bool:
            seen.append(path)
            if len(seen) == (6 if ranges else 3):
                web.put("/d/all.csv", csv(5, ROWS), tag='"2"')
            return len(seen) > (3 if ranges else 2) and headers.get("range") != "bytes=0-0"

        web.faults = [Fault(later, times=10, cut_at=200_000)]
        said = ran(server, "load", fresh(server, "t8"), text, code=1, env=env)
        assert "changed while it was read" in said and text in said, said
        web.faults = []
        web.put("/d/all.csv", csv(0, ROWS))
        # Without a sign of its version a file has no name for --resume.
        nameless = web.put("/nameless.csv", csv(0, 10), tag=None)
        assert "--load-id" in ran(server, "load", "t8", nameless, "--resume", code=2, env=env)
        ran(server, "load", fresh(server, "t8"), text, "--resume", env=env)
        assert figures(server, "t8") == expected(ROWS)
        assert "404" in ran(server, "load", "t8", f"{text}x.csv", code=1, env=env)
        assert "not written" in ran(server, "export", "t8", text, code=1, env=env)
        said = ran(server, "load", "t8", text, code=1, env={"SSL_CERT_FILE": ""})
        assert "certificate" in said, said


def test_an_empty_file_and_wrong_ranges(
    server: Endpoint, authority: tuple[ssl.SSLContext, dict[str, str]]
) -> None:
    context, env = authority
    with running(FileServer(context)) as web:
        empty = web.put("/empty.csv", b"")
        assert "empty" in ran(server, "load", fresh(server, "t9"), empty, code=1, env=env)


def test_secrets_are_not_in_reports(server: Endpoint, bucket: Bucket, tmp_path: pathlib.Path) -> None:
    env = s3_environment(bucket.port)
    text = bucket.put("a.csv", csv(0, 100))
    page = tmp_path / "page.html"
    said = ran(
        server,
        "load",
        fresh(server, "t10"),
        text,
        "--json",
        "--report",
        str(page),
        "--log-level",
        "trace",
        env=env,
    )
    assert json.loads([line for line in said.splitlines() if line.startswith("{")][-1])["rows"] == 100
    assert SECRET not in page.read_text()
    with running(FileServer()) as web:
        signed = web.put("/a.csv", csv(0, 100)) + f"?X-Amz-Signature={SECRET}"
        ran(
            server,
            "load",
            fresh(server, "t10"),
            signed,
            "--resume",
            "--report",
            str(tmp_path / "b.html"),
            env={},
        )
        assert SECRET not in (tmp_path / "b.html").read_text()
        done = server.bulkwire("query", "SELECT * FROM bulkwire_loads", "--output", "csv")
        assert done.returncode == 0 and SECRET not in done.stdout, done.stderr


def test_profiles_of_aws(server: Endpoint, bucket: Bucket, tmp_path: pathlib.Path) -> None:
    text = bucket.put("a.csv", csv(0, 100))
    credentials, config = tmp_path / "credentials", tmp_path / "config"
    credentials.write_text(f"[other]\naws_access_key_id = tester\naws_secret_access_key = {SECRET}\n")
    config.write_text(f"[profile other]\nregion = us-east-1\nendpoint_url = http://127.0.0.1:{bucket.port}\n")
    env = {
        "AWS_PROFILE": "other",
        "AWS_SHARED_CREDENTIALS_FILE": str(credentials),
        "AWS_CONFIG_FILE": str(config),
    }
    ran(server, "load", fresh(server, "t11"), text, env=env)
    assert figures(server, "t11") == expected(100)


def there_and_back(server: Endpoint, root: str, env: dict[str, str]) -> None:
    """Exports, lists, loads and refuses, the same at every store."""
    sql = "SELECT value AS id, REPLICATE('x', 600) AS name FROM GENERATE_SERIES(0, 19999)"
    for key in ["one.csv", "some folder/two.parquet"]:
        ran(server, "export", "--query", sql, f"{root}/{key}", "--quiet", env=env)
        fresh(server, "t12")
        ran(server, "query", "ALTER TABLE t12 ALTER COLUMN name varchar(600)", env=env)
        ran(server, "load", "t12", f"{root}/{key}", "--resume", "--load-id", key, env=env)
        assert figures(server, "t12") == [20_000, 20_000, sum(range(20_000)), 600 * 20_000], key
    split = f"{root}/split/"
    ran(server, "export", "--query", sql, split, "--split-rows", "7000", "--format", "csv", env=env)
    fresh(server, "t12")
    ran(server, "query", "ALTER TABLE t12 ALTER COLUMN name varchar(600)", env=env)
    ran(server, "load", "t12", f"{root}/split/part-*.csv", env=env)
    assert figures(server, "t12")[:3] == [20_000, 20_000, sum(range(20_000))]
    assert "has objects" in ran(server, "export", "t12", split, "--format", "csv", code=1, env=env)
    said = ran(server, "load", "t12", f"{root}/nothing.csv", code=1, env=env)
    assert "404" in said and f"{root}/nothing.csv" in said
    assert "already" in ran(
        server, "copy", "mssql:t12", f"{root}/one.csv", "--create=always", code=2, env=env
    )


def test_azure(server: Endpoint, tmp_path: pathlib.Path) -> None:
    with azurite(CACHE, tmp_path) as port:
        azure_request(port, "PUT", "/lake", "restype=container")
        env = azure_environment(port)
        there_and_back(server, "az://lake", env)
        said = ran(server, "load", "t12", "az://nothing/a.csv", code=1, env=env)
        assert "ContainerNotFound" in said and AZURITE_KEY not in said
        wrong = {**env, "AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"another key").decode()}
        said = ran(server, "load", "t12", "az://lake/one.csv", code=1, env=wrong)
        assert "403" in said and "another key" not in said and wrong["AZURE_STORAGE_ACCOUNT_KEY"] not in said


def test_google_takes_objects_in_parts(server: Endpoint, bucket: Bucket) -> None:
    """No emulator of Google's store knows uploads in parts; they are S3's, so a server of S3 keeps these."""
    with running(GoogleProxy(bucket.port)) as gate:
        env = google_environment(gate.port)
        root = f"gs://{bucket.name}"
        there_and_back(server, root, env)
        parts = [path for method, path, _ in gate.requests if method == "PUT" and "partNumber=" in path]
        assert any("partNumber=2" in path for path in parts), parts
        # Trouble with a part, and an export that fails in the middle.
        sql = "SELECT value AS id, REPLICATE('x', 1000) AS name FROM GENERATE_SERIES(1, 30000)"
        gate.faults = [
            Fault(lambda method, path, _: method == "PUT" and "partNumber=2" in path, times=2, status=503)
        ]
        ran(server, "export", "--query", sql, f"{root}/large.csv", "--quiet", env=env)
        assert gate.faults[0].times == 0 and bucket.get("large.csv").count(b"\n") == 30001
        failing = sql.replace("value AS", "1 / (29000 - value) AS")
        ran(server, "export", "--query", failing, f"{root}/failed.csv", "--quiet", code=1, env=env)
        assert "failed.csv" not in bucket.listed() and bucket.uploads() == []
        wrong = {**env, "GOOGLE_BEARER_TOKEN": "another"}
        assert "401" in ran(server, "export", "t12", f"{root}/a.csv", "--quiet", code=1, env=wrong)


def test_google(server: Endpoint, tmp_path: pathlib.Path) -> None:
    """Reading; the emulator takes no objects by the protocol in which they are written."""
    with google(CACHE / "fake_gcs" / "fake-gcs-server", tmp_path) as port:
        api = f"http://127.0.0.1:{port}"
        bucket = json.dumps({"name": "lake"}).encode()
        request("POST", f"{api}/storage/v1/b", bucket, {"Content-Type": "application/json"})
        for key, body in [("d/a b.csv", csv(0, ROWS)), ("d/one.parquet", parquet(0, ROWS))]:
            query = urllib.parse.urlencode({"uploadType": "media", "name": key})
            upload = f"{api}/upload/storage/v1/b/lake/o?{query}"
            request("POST", upload, body, {"Content-Type": "application/octet-stream"})
        env = google_environment(port)
        for url, more in [
            ("gs://lake/d/a b.csv", ""),
            ("gs://lake/d/one.parquet", ", day varchar(9)"),
            ("gs://lake/**/*.csv", ""),
        ]:
            resume = [] if "*" in url else ["--resume"]
            ran(server, "load", fresh(server, "t13", more), url, *resume, env=env)
            assert figures(server, "t13") == expected(ROWS), url
        said = ran(server, "load", "t13", "gs://lake/nothing.csv", code=1, env=env)
        assert "404" in said and "gs://lake/nothing.csv" in said
