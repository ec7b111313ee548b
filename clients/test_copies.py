"""Copies and packages as a user runs them, with files and servers that other people's libraries make."""

from __future__ import annotations

import http.server
import json
import pathlib
import ssl
import threading
from collections.abc import Iterator

import jsonschema
import odf.opendocument
import odf.table
import odf.text
import openpyxl
import pytest
import trustme
import xlwt

from conftest import Endpoint, serve

ROWS = [(1, "ärger", 1.5), (2, None, -2.25), (3, "o'x", 0.0)]
EXPECTED = "1,ärger,1.5\n2,,-2.25\n3,o'x,0.0\n"


@pytest.fixture(scope="module")
def server(binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    folder = tmp_path_factory.mktemp("copies")
    with serve(binaries, folder) as endpoint:
        yield endpoint


def ran(server: Endpoint, folder: pathlib.Path, *words: str, code: int = 0) -> str:
    done = server.bulkwire(*words)
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def rows(server: Endpoint, sql: str) -> str:
    done = server.bulkwire("query", sql, "--output", "csv")
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n", 1)[1]


def xlsm(path: pathlib.Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    for row in [("id", "name", "x"), *ROWS]:
        sheet.append(row)
    book.save(path)


def xls(path: pathlib.Path) -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Data")
    for at, row in enumerate([("id", "name", "x"), *ROWS]):
        for column, value in enumerate(row):
            if value is not None:
                sheet.write(at, column, value)
    book.save(str(path))


def ods(path: pathlib.Path) -> None:
    book = odf.opendocument.OpenDocumentSpreadsheet()
    table = odf.table.Table(name="Data")
    for row in [("id", "name", "x"), *ROWS]:
        line = odf.table.TableRow()
        for value in row:
            if isinstance(value, str):
                cell = odf.table.TableCell(valuetype="string")
                cell.addElement(odf.text.P(text=value))
            elif value is None:
                cell = odf.table.TableCell()
            else:
                cell = odf.table.TableCell(valuetype="float", value=value)
            line.addElement(cell)
        table.addElement(line)
    book.spreadsheet.addElement(table)
    book.save(str(path))


@pytest.mark.parametrize("write", [xlsm, xls, ods])
def test_sheets_of_every_format_have_the_same_rows(server, tmp_path, write):
    book = tmp_path / f"book.{write.__name__}"
    write(book)
    table = f"sheet_{write.__name__}"
    ran(server, tmp_path, "copy", f"{book}#Data", f"mssql:{table}")
    assert rows(server, f"SELECT id, name, x FROM {table} ORDER BY id") == EXPECTED
    out = tmp_path / "out.csv"
    ran(server, tmp_path, "copy", str(book), str(out), "--sheet", "Data")
    assert out.read_text().splitlines()[0] == "id,name,x"
    assert "Nowhere" in ran(server, tmp_path, "copy", f"{book}#Nowhere", str(out), code=1)


@pytest.mark.parametrize("form", ["char", "widechar", "native", "widenative"])
def test_files_of_bcp_go_both_ways(server, tmp_path, form):
    """A table becomes a file and the file a table, by the destination's columns and by declared ones."""
    source, target, declared = f"out_{form}", f"in_{form}", f"declared_{form}"
    columns = "id int NOT NULL, name nvarchar(20) NULL, amount decimal(9,2) NULL, at datetime2(3) NULL"
    ran(server, tmp_path, "query", f"CREATE TABLE {source} ({columns}); CREATE TABLE {target} ({columns})")
    ran(
        server,
        tmp_path,
        "query",
        f"INSERT {source} VALUES (1, N'grün', 1.5, '2026-11-23T01:02:03.004'), (2, NULL, NULL, NULL)",
    )
    file = tmp_path / "t.dat"
    ran(server, tmp_path, "copy", f"mssql:{source}", str(file), "--to-format", form)
    ran(server, tmp_path, "copy", str(file), f"mssql:{target}", "--format", form)
    ran(server, tmp_path, "copy", str(file), f"mssql:{declared}", "--format", form, "--declare", columns)
    for table in (target, declared):
        assert rows(server, f"SELECT * FROM {table} EXCEPT SELECT * FROM {source}") == ""
        assert rows(server, f"SELECT COUNT(*) FROM {table}") == "2\n"


def test_the_first_failure_stops_further_tables(server, tmp_path):
    """Tables go to a schema that has some of them; with --fail-fast none begins after one has failed."""
    ran(server, tmp_path, "query", "CREATE SCHEMA sales")
    ran(server, tmp_path, "query", "CREATE SCHEMA archive")
    for name in ("a", "b", "c"):
        ran(server, tmp_path, "query", f"CREATE TABLE sales.{name} (id int NOT NULL)")
        ran(server, tmp_path, "query", f"INSERT sales.{name} VALUES (1), (2)")
    ran(server, tmp_path, "query", "CREATE TABLE sales.large (id int NOT NULL, filler char(4000) NOT NULL)")
    ran(server, tmp_path, "query", "INSERT sales.large SELECT TOP 200 1, 'x' FROM sys.all_columns")
    # The largest goes first, and cannot be copied.
    ran(server, tmp_path, "query", "CREATE TABLE archive.large (other int NOT NULL)")
    ran(server, tmp_path, "query", "CREATE TABLE archive.a (id int NOT NULL)")
    ran(server, tmp_path, "query", "INSERT archive.a VALUES (0)")
    words = ["copy", "mssql:", "mssql:", "--tables", "sales.*", "--to-schema", "archive", "--jobs", "1"]
    report = ran(server, tmp_path, *words, "--fail-fast", "--output", "json", code=1)
    whole = json.loads(next(line for line in report.splitlines() if line.startswith("{")))
    assert (whole["copied"], whole["failed"], whole["not_begun"]) == (0, 1, 3)
    assert rows(server, "SELECT COUNT(*) FROM archive.a") == "1\n"
    # Without it the others are copied: into the table that is there, and into new ones.
    ran(server, tmp_path, *words, code=1)
    for name, count in (("a", 3), ("b", 2), ("c", 2)):
        assert rows(server, f"SELECT COUNT(*) FROM archive.{name}") == f"{count}\n"


def package(server: Endpoint, folder: pathlib.Path, text: str) -> str:
    path = folder / "package.toml"
    (folder / "password").write_text(server.password)
    url = server.url.replace(f":{server.password}@", "@")
    path.write_text(f'[connections]\ndb = {{ url = "{url}", password_file = "password" }}\n{text}')
    return str(path)


def test_the_server_itself_reads_a_file(binaries, tmp_path):
    """A bulk-insert task, with its options, and a file that the server may not read."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "t.csv").write_text("id;name\n1;a\n2;b\n3;c\n")
    with serve(binaries, tmp_path, "optional", "--bulk-directory", str(shared)) as server:
        ran(server, tmp_path, "query", "CREATE TABLE t (id int NOT NULL, name varchar(9) NULL)")
        path = package(
            server,
            tmp_path,
            '[variables]\nrows = 0\n[tasks.read]\ntype = "bulk-insert"\nconnection = "db"\ntable = "t"\n'
            f'file = "{shared}/t.csv"\nfirst_row = 2\nlast_row = 3\nfield_terminator = ";"\n'
            'row_terminator = "0x0a"\nrows_into = "rows"\n'
            '[tasks.check]\ntype = "program"\nafter = ["read"]\nif = "${rows} = 2"\ncommand = ["true"]\n',
        )
        report = json.loads(ran(server, tmp_path, "run", path, "--json", "--quiet"))
        assert [(task["task"], task["outcome"]) for task in report["tasks"]] == [
            ("read", "succeeded"),
            ("check", "succeeded"),
        ]
        assert rows(server, "SELECT * FROM t ORDER BY id") == "1,a\n2,b\n"
        bad = package(
            server,
            tmp_path,
            '[tasks.read]\ntype = "bulk-insert"\nconnection = "db"\ntable = "t"\nfile = "/etc/hostname"\n',
        )
        assert "read: failed" in ran(server, tmp_path, "run", bad, "--new", code=1)


class Hook(http.server.BaseHTTPRequestHandler):
    heard: list[tuple[str, str, str]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.heard.append((self.path, self.headers["X-Token"], body))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(b"noted")

    def log_message(self, *_: object) -> None:
        pass


def test_requests_over_tls_trust_a_file_of_certificates(server, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    (tmp_path / "none.pem").write_text("nothing\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    hook.socket = context.wrap_socket(hook.socket, server_side=True)
    thread = threading.Thread(target=hook.serve_forever, daemon=True)
    thread.start()
    text = (
        '[variables]\nanswer = ""\n[tasks.tell]\ntype = "http"\n'
        f'url = "https://HOST:{hook.server_port}/hook"\nmethod = "POST"\nbody = "run of ${{package.name}}"\n'
        'headers = { X-Token = "secret" }\nstatus = [201]\ninto = "answer"\n'
    )
    check = '[tasks.check]\ntype = "program"\nafter = ["tell"]\ncommand = ["true"]\n'
    check += "if = \"${answer} = 'noted'\"\n"
    try:
        trusted = text.replace("HOST", "localhost") + 'ca_file = "ca.pem"\n' + check
        said = ran(server, tmp_path, "run", package(server, tmp_path, trusted))
        assert "2 succeeded" in said, said
        assert Hook.heard == [("/hook", "secret", "run of package")]
        for wrong, reason in [
            (text.replace("HOST", "localhost"), "certificate"),
            (text.replace("HOST", "127.0.0.1") + 'ca_file = "ca.pem"\n', "certificate"),
            (text.replace("HOST", "localhost") + 'ca_file = "none.pem"\n', "has no certificate"),
        ]:
            said = ran(server, tmp_path, "run", package(server, tmp_path, wrong), "--new", code=1)
            assert reason in said and "secret" not in said.replace("${", ""), said
        assert len(Hook.heard) == 1
    finally:
        hook.shutdown()
        hook.server_close()
        thread.join()


def sound(text: str) -> object:
    """A package as JSON has it: editors check dates as texts."""
    import tomllib

    return json.loads(json.dumps(tomllib.loads(text), default=str))


def test_the_schema_agrees_with_a_validator(server, tmp_path):
    """A validator of other people takes the examples of the page and refuses what `package check` refuses."""
    schema = json.loads(ran(server, tmp_path, "package", "schema"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    page = (pathlib.Path(__file__).resolve().parent.parent / "docs" / "package.md").read_text()
    examples = [block.split("```")[0] for block in page.split("```toml\n")[1:]]
    assert examples
    fixture = pathlib.Path(__file__).resolve().parent.parent / "crates/package/tests/fixtures/orders.toml"
    for text in [*examples, fixture.read_text()]:
        validator.validate(sound(text))
    head = '[connections]\ndb = "mssql://sa@localhost/master"\n'
    copy = 'type = "copy"\nsource = "a.csv"\ndestination = "b.csv"\n'
    for wrong in [
        'surplus = 1\n[tasks.a]\ntype = "program"\ncommand = ["true"]\n',
        '[tasks.a]\ntype = "nothing"\n',
        "[tasks.a]\ncommand = ['true']\n",
        '[tasks.a]\ntype = "program"\ncommand = "true"\n',
        '[tasks.a]\ntype = "program"\ncommand = ["true"]\ntimeout = true\n',
        '[tasks.a]\ntype = "program"\ncommand = ["true"]\nretry = { attempts = 0 }\n',
        '[tasks.a]\ntype = "program"\ncommand = ["true"]\njoin = "some"\n',
        '[tasks.a]\ntype = "http"\nurl = 1\n',
        f"[tasks.a]\n{copy}nonsense = 1\n",
        f"[tasks.a]\n{copy}max_errors = -1\n",
        f"[tasks.a]\n{copy}action = 1\n",
        f"{head}[tasks.a]\n{copy.replace('b.csv', '')}".replace('destination = ""', "destination = 3"),
        "jobs = 'many'\n[tasks.a]\ntype = 'program'\ncommand = ['true']\n",
    ]:
        path = tmp_path / "wrong.toml"
        path.write_text(wrong)
        done = server.bulkwire("package", "check", str(path))
        assert done.returncode != 0, wrong
        assert not validator.is_valid(sound(wrong)), wrong
