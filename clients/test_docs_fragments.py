"""Runs what pages show in passing: the README's first commands, its bcp commands, the recipes of copies.

The servers of the pages become one server with a database for each, and their files are made before.
"""

from __future__ import annotations

import csv
import gzip
import pathlib
import re
import subprocess

import openpyxl
import pytest

from surroundings import surroundings

ROOT = pathlib.Path(__file__).parent.parent
CODE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
RECIPE = re.compile(r"^\| [^|]+ \| `(?P<command>bulkwire copy [^`]+)` \|$", re.MULTILINE)
ORDERS = "id,name,amount,op,city,day\n1,Åsa,1.50,I,cgn,2026-03-01\n2, pat ,,U,ams,2026-03-02\n"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [block["body"] for block in CODE.finditer(text) if block["language"] == language]


def run(server, folder: pathlib.Path, commands: str) -> str:
    """Runs commands in a shell; every one of them must succeed."""
    environment = surroundings(
        folder,
        PATH=f"{server.binaries}:{folder}:/usr/local/bin:/usr/bin:/bin",
        BULKWIRE_URL=server.url,
        BULKWIRE_PASSWORD=server.password,
        # Whom this machine trusts.
        SSL_CERT_FILE=str(server.certificate),
    )
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
    return done.stdout


def database(server, name: str, statements: str = "") -> None:
    made = server.bulkwire("query", f"IF DB_ID('{name}') IS NOT NULL DROP DATABASE {name}")
    made = server.bulkwire("query", f"CREATE DATABASE {name}")
    assert made.returncode == 0, made.stderr
    if statements:
        at = server.url.replace("/master?", f"/{name}?")
        for statement in statements.split("\nGO\n"):
            done = server.bulkwire("query", statement, "--url", at)
            assert done.returncode == 0, done.stderr


def test_the_first_commands_of_the_readme(server, tmp_path):
    block = next(block for block in blocks("README.md", "sh") if "bulkwire serve" in block)
    commands = block[block.index("export BULKWIRE_SERVER_PASSWORD") :]
    # The port of the page may be taken by another test.
    commands = commands.replace("--port 14330", "--port 0").replace(
        "sleep 1", "until grep -qs listening ready; do sleep 0.1; done"
    )
    commands = commands.replace("--in-memory &", "--in-memory > ready &")
    commands = commands.replace(
        "export BULKWIRE_URL='mssql://sa@127.0.0.1:14330",
        "PORT=$(sed -n 's/.*127.0.0.1:\\([0-9]*\\).*/\\1/p' ready)\nexport BULKWIRE_URL='mssql://sa@127.0.0.1:'$PORT'",
    )
    printed = run(server, tmp_path, commands)
    assert "Åsa Lindström" in printed


def test_the_bcp_commands_of_the_readme(server, tmp_path):
    database(server, "shop", "CREATE TABLE dbo.orders (id int, day date, name nvarchar(20))")
    (tmp_path / "orders.dat").write_text("1|2026-03-01|Ann\n2|2026-03-02|Bob\n")
    (tmp_path / "bin").mkdir()
    block = next(block for block in blocks("README.md", "sh") if "ln -s" in block)
    commands = block.replace("~/bin/bcp", "bcp").replace(
        "-S db.example.org -U loader", f"-S {server.host},{server.port} -U sa"
    )
    assert commands.count(f",{server.port}") == block.count("db.example.org")
    run(server, tmp_path, commands)
    counted = run(server, tmp_path, "bulkwire query 'SELECT COUNT(*) AS n FROM shop.dbo.orders' -o csv")
    assert counted.splitlines()[1] == "4"
    assert (tmp_path / "day.dat.zst").stat().st_size > 0


def test_the_recipes_of_the_readme(server, tmp_path):
    statement = "CREATE TABLE dbo.orders (id int, day date, name nvarchar(20), amount decimal(9, 2))"
    database(server, "recipes", statement)
    rows = "id,day,name,amount\n1,2026-03-01,Åsa,1.50\n2,2026-03-02,pat,0.00\n"
    (tmp_path / "orders.csv.gz").write_bytes(gzip.compress(rows.encode()))
    book = openpyxl.Workbook()
    for row in csv.reader(rows.splitlines()):
        book.active.append(row)
    for amounts in book.active.iter_cols(min_col=4, min_row=2):
        for cell in amounts:
            cell.value = float(cell.value)
    book.save(tmp_path / "orders.xlsx")
    block = next(block for block in blocks("README.md", "sh") if "--writers auto" in block)
    address = server.url.replace("/master?", "/recipes?")
    counted = run(
        server,
        tmp_path,
        f"export BULKWIRE_URL='{address}'\n{block}\nbulkwire query 'SELECT COUNT(*) FROM orders' -o csv",
    )
    # Two rows of the file, and the one of the workbook whose amount is above zero.
    assert counted.splitlines()[-1] == "3"
    assert (tmp_path / "orders.parquet").stat().st_size > 0


@pytest.fixture
def shop(server, tmp_path) -> pathlib.Path:
    """A folder and two servers' databases as the pages about copies suppose them."""
    tables = (
        "CREATE SCHEMA sales\nGO\nCREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, day date);"
        " INSERT INTO dbo.orders VALUES (1, '2026-02-01')\nGO\n"
        "CREATE TABLE sales.parts (id int NOT NULL PRIMARY KEY); INSERT INTO sales.parts VALUES (1)\nGO\n"
        "CREATE TABLE sales.lines (part int REFERENCES sales.parts (id)); INSERT INTO sales.lines VALUES (1)"
    )
    database(server, "old_sales", tables)
    database(server, "new_sales")
    database(server, "shop")
    database(server, "here", tables)
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(ORDERS)
    (tmp_path / "cities.csv").write_text("code,country\ncgn,DE\n")
    (tmp_path / "changes.csv").write_text("id,name,op\n1,Ann,I\n2,Bob,D\n")
    return tmp_path


def at(server, commands: str) -> str:
    """The commands with this server's databases in place of the pages' servers."""
    place = f"mssql://sa@{server.host}:{server.port}"
    for of_page, own in (
        ("mssql://sa@old/sales", f"{place}/old_sales"),
        ("mssql://sa@new/sales", f"{place}/new_sales"),
        ("mssql://sa@db/shop", f"{place}/shop"),
    ):
        commands = commands.replace(of_page, own)
    trusted = re.sub(rf"({place}/[\w./]+)", r"'\1?TrustServerCertificate=true'", commands)
    return f"export BULKWIRE_URL='{server.url.replace('/master?', '/here?')}'\n{trusted}"


def test_the_recipes_of_copies(server, shop):
    """Each as the page's last recipe says: with --dry-run."""
    recipes = [recipe["command"] for recipe in RECIPE.finditer((ROOT / "docs" / "copy.md").read_text())]
    assert len(recipes) >= 12
    prepare = (
        "gzip -k in/a.csv; mkdir out; bulkwire copy mssql:dbo.orders orders.parquet\n"
        "bulkwire query 'CREATE TABLE dbo.customers (id int PRIMARY KEY, name nvarchar(20), op char(1))'"
    )
    run(server, shop, at(server, prepare))
    for recipe in recipes:
        # The tests of workbooks have workbooks; and a file's columns need a table of their own.
        if "xlsx" not in recipe:
            fitting = recipe.replace("orders.csv mssql:dbo.orders", "changes.csv mssql:dbo.changes")
            if "--mode upsert" in fitting:
                fitting = fitting.replace("mssql:dbo.changes", "mssql:dbo.customers")
            fitting = fitting.replace("csv.gz' mssql:dbo.orders", "csv.gz' mssql:dbo.files")
            if "mssql:dbo.orders orders" in recipe:
                fitting = fitting.replace(" orders.parquet", " again.parquet")
            run(server, shop, at(server, f"{fitting} --dry-run"))


def test_the_transformations(server, shop):
    first, by_action = blocks("docs/transform.md", "sh")
    (shop / "enrich.sql").write_text(blocks("docs/transform.md", "sql")[0])
    prepare = (
        "bulkwire query 'DROP TABLE dbo.orders'\n"
        "bulkwire query 'CREATE TABLE dbo.customers (id int NOT NULL PRIMARY KEY, name nvarchar(20))'"
    )
    run(server, shop, at(server, prepare))
    run(server, shop, at(server, first + by_action))
    kept = run(server, shop, at(server, "bulkwire query 'SELECT name FROM dbo.customers' -o csv"))
    assert kept.splitlines()[1:] == ["Ann"]
    assert (shop / "out.parquet").is_file()
