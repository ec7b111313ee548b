"""Runs the snippets of docs/python.md, and the one of docs/transform.md, against the embedded server.

Their servers become this one, and what they suppose (frames, files, tables) is there.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator

import bulkwire
import pyarrow as pa
import pyarrow.parquet
import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def snippets(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def snippet(page: str, part: str) -> str:
    """The one snippet of a page with these words in it."""
    (found,) = [snippet for snippet in snippets(page) if part in snippet]
    return found


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[bulkwire.Server]:
    """A server with the databases of the pages, in a folder of its own that is the current one."""
    with bulkwire.Server() as server, server.connect() as db:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("BULKWIRE_PASSWORD", server.password)
        monkeypatch.setenv("SA_PASSWORD", server.password)
        monkeypatch.setenv("BULKWIRE_URL", server.url)
        for name in ("sales", "old", "new"):
            db.execute(f"CREATE DATABASE {name}")
        with server.connect("old") as old:
            old.execute("CREATE SCHEMA sales")
            old.execute("CREATE TABLE sales.orders (id int NOT NULL PRIMARY KEY); INSERT INTO sales.orders VALUES (1)")
        (tmp_path / "orders.csv").write_text("id,day\n1,2026-11-23\n,2026-11-24\n")
        (tmp_path / "server.pem").write_text(server.certificate_pem or "")
        yield server


def run(code: str, server: bulkwire.Server, **names: object) -> dict[str, object]:
    """Runs a snippet against the server."""
    here = f"127.0.0.1:{server.port}"
    code = code.replace("sa@localhost/sales?", f"sa@{here}/sales?")
    code = code.replace("Server=localhost;", f"Server=127.0.0.1,{server.port};TrustServerCertificate=yes;")
    code = code.replace('server="localhost"', f'server="localhost", port={server.port}, server_certificate="server.pem"')
    for of_page, database in (("sa@localhost/sales", "sales"), ("sa@old/sales", "old"), ("sa@new/sales", "new")):
        code = re.sub(rf"{of_page}([\w./]*)\"", rf'sa@{here}/{database}\1?TrustServerCertificate=yes"', code)
    code = code.replace('"pass show sales"', f'"echo {server.password}"')
    assert "localhost/" not in code
    scope: dict[str, object] = {"bulkwire": bulkwire, **names}
    exec(compile(code, "page", "exec"), scope)
    return scope


def test_connections(place):
    secret = place.password
    for line in snippet("python.md", "Server=localhost").splitlines():
        # clients/test_entra.py signs in so, at an endpoint of its own.
        if "database.windows.net" in line:
            continue
        db = run(line, place, secret=secret)["db"]
        assert isinstance(db, bulkwire.Connection)
        assert db.execute("USE sales; SELECT 1").rows_affected is not None
        db.close()


def test_loads(place, capsys):
    with place.connect("sales") as db:
        db.execute("CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, name nvarchar(9)); INSERT INTO dbo.orders VALUES (7, 'x')")
        orders = pa.table({"id": [1, 2], "name": ["a", "b"]})
        changes = pa.table({"id": [2, 3], "name": ["B", "c"]})
        run(snippet("python.md", 'mode="upsert"'), place, db=db, orders=orders, changes=changes)
    assert capsys.readouterr().out == "1 1 0\n"


def test_copies(place, tmp_path):
    with place.connect("sales") as db:
        db.execute("CREATE TABLE dbo.orders (id int NULL, day date)")
    run(snippet("python.md", "readers=4"), place)
    assert pyarrow.parquet.read_table(tmp_path / "orders.parquet").num_rows == 2
    with place.connect("new") as db:
        assert db.read("SELECT id FROM sales.orders").to_arrow().num_rows == 1


def test_transformed_copies(place):
    run(snippet("transform.md", "pyarrow.compute"), place)
    with place.connect() as db:
        assert db.read("SELECT id FROM dbo.orders").to_arrow().num_rows >= 1


def test_packages(place, tmp_path, capsys):
    url = urllib.parse.urlsplit(place.url)
    address = url._replace(netloc=url.netloc.replace(f":{url.password}@", "@")).geturl()
    (tmp_path / "orders.toml").write_text(
        f'[connections]\ndb = {{ url = "{address}", password_env = "BULKWIRE_PASSWORD" }}\n'
        '[variables]\nday = { type = "date", default = 2026-11-22 }\n'
        '[tasks.load]\ntype = "copy"\nsource = "orders.csv"\ndestination = { connection = "db", table = "stage" }\n'
        '[tasks.publish]\ntype = "sql"\nafter = ["load"]\nconnection = "db"\nstatement = "SELECT 1"\n'
        '[tasks.other]\ntype = "sql"\nconnection = "db"\nstatement = "SELECT 1 / 0"\n'
    )
    run(snippet("python.md", "run_package"), place)
    assert "('load', 2)" in capsys.readouterr().out


def test_fixtures(tmp_path):
    (tmp_path / "test_page.py").write_text(snippet("python.md", "bulkwire_db"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_every_snippet_of_the_page_is_here():
    assert len(snippets("python.md")) == 5


def test_metrics():
    with bulkwire.Server(metrics_port=0) as server, server.connect() as db:
        db.execute("SELECT 1")
        assert server.metrics_url is not None

        with urllib.request.urlopen(server.metrics_url) as answer:
            assert "bulkwire_sessions 1\n" in answer.read().decode()
    assert server.metrics_url is not None
    with bulkwire.Server() as server:
        assert server.metrics_url is None
