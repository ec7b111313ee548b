"""`bulkwire.copy`: the command's words as a function."""

from __future__ import annotations

import inspect
import pathlib

import bulkwire
import pytest


@pytest.fixture(scope="module")
def url() -> str:
    with bulkwire.Server() as server:
        yield server.url


def test_a_file_becomes_a_table_and_files_again(tmp_path: pathlib.Path, url: str) -> None:
    csv = tmp_path / "a.csv"
    csv.write_text("id,name\n1,x\n2,y\n")
    seen: list[tuple[int, int]] = []
    report = bulkwire.copy(csv, "mssql:dbo.t", url=url, on_progress=lambda *at: seen.append(at))
    assert isinstance(report, bulkwire.CopyReport)
    assert (report.rows, report.rows_read, report.rejected, report.done_before) == (2, 2, 0, False)
    assert "CREATE TABLE" in report.created_by
    assert seen and seen[-1][0] in (0, 2)
    parquet = tmp_path / "b.parquet"
    assert bulkwire.copy("mssql:t", parquet, url=url).rows == 2
    assert parquet.exists()
    reports = bulkwire.copy("mssql:", f"{tmp_path}/out/", url=url, tables=["dbo.t"], to_format="csv")
    assert {name: report.rows for name, report in reports.items()} == {"dbo.t": 2}
    assert (tmp_path / "out" / "dbo.t.csv").read_text() == "id,name\n1,x\n2,y\n"


def test_errors_are_exceptions_of_their_kind(tmp_path: pathlib.Path, url: str) -> None:
    csv = tmp_path / "a.csv"
    csv.write_text("id\nx\n")
    with bulkwire.Server() as server:
        with server.connect() as db:
            db.execute("CREATE TABLE n (id int NOT NULL); CREATE TABLE m (id int NOT NULL)")
        with pytest.raises(bulkwire.CellError) as raised:
            bulkwire.copy(csv, "mssql:n", url=server.url)
        assert raised.value.column == "id"
        with pytest.raises(bulkwire.UsageError, match=r"^writers is for loading SQL Server"):
            bulkwire.copy(csv, tmp_path / "b.csv", writers=2)
        with pytest.raises(bulkwire.UsageError, match="there is no option `nonsense`"):
            bulkwire.copy(csv, tmp_path / "b.csv", nonsense=True)
        with pytest.raises(bulkwire.NoTableError):
            bulkwire.copy("mssql:missing", tmp_path / "b.csv", url=server.url)
        with server.connect() as db:
            db.execute("CREATE SCHEMA other")
            db.execute("CREATE TABLE other.n (something int NOT NULL)")
        with pytest.raises(bulkwire.CopyError) as failed:
            bulkwire.copy("mssql:", "mssql:", url=server.url, tables="dbo.n,dbo.m", to_schema="other")
        assert list(failed.value.reports) == ["dbo.m"]
        assert list(failed.value.errors) == ["dbo.n"]


def test_an_exception_of_the_callback_ends_the_copy(tmp_path: pathlib.Path, url: str) -> None:
    csv = tmp_path / "big.csv"
    csv.write_text("id\n" + "".join(f"{n}\n" for n in range(200_000)))

    def stop(sent: int, committed: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bulkwire.copy(csv, tmp_path / "big.parquet", on_progress=stop)
    assert [path.name for path in tmp_path.iterdir()] in (["big.csv"], ["big.csv", "big.parquet"], ["big.parquet", "big.csv"])


def test_the_function_names_its_options() -> None:
    parameters = inspect.signature(bulkwire.copy).parameters
    assert {"mode", "query", "tables", "with_keys", "resume", "dry_run"} <= set(parameters)


def test_rows_are_transformed(tmp_path: pathlib.Path) -> None:
    """A select list, a query with a lookup, and a function give the same rows."""
    (tmp_path / "in.csv").write_text("id,name\n1, anna \n2,bob\n")
    (tmp_path / "cities.csv").write_text("id,city\n1,Lisbon\n")
    out = tmp_path / "out.csv"
    bulkwire.copy(tmp_path / "in.csv", out, select="UPPER(TRIM(name)) AS name", where="id = '1'")
    assert out.read_text() == "name\nANNA\n"
    bulkwire.copy(
        tmp_path / "in.csv",
        out,
        transform="SELECT s.id, c.city FROM source s LEFT JOIN cities c ON c.id = s.id",
        lookups={"cities": tmp_path / "cities.csv"},
    )
    assert out.read_text() == "id,city\n1,Lisbon\n2,\n"
    bulkwire.copy(tmp_path / "in.csv", out, transform=lambda batch: batch.select(["id"]))
    assert out.read_text() == "id\n1\n2\n"


def test_what_a_function_raises_comes_back(tmp_path: pathlib.Path) -> None:
    """The exception of a function over rows is the caller's own."""
    (tmp_path / "in.csv").write_text("id\n1\n")

    def fails(batch: object) -> object:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        bulkwire.copy(tmp_path / "in.csv", tmp_path / "out.csv", transform=fails)
    assert not (tmp_path / "out.csv").exists()


def test_rows_say_what_they_do(tmp_path: pathlib.Path) -> None:
    """An expression, or a column of what a function returns, says what each row does to a table."""
    csv = tmp_path / "changes.csv"
    csv.write_text("op,id,name\nI,3,cid\nU,1,Ann\nD,2,\nS,1,x\n")
    with bulkwire.Server() as server:
        with server.connect() as db:
            db.execute("CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL)")
            db.execute("INSERT t VALUES (1, 'ann'), (2, 'bob')")
        action = "CASE op WHEN 'I' THEN 'insert' WHEN 'U' THEN 'update' WHEN 'D' THEN 'delete' END"
        report = bulkwire.copy(csv, "mssql:t", url=server.url, select="id, name", action=action, key="id")
        counts = {"inserted": 1, "updated": 1, "deleted": 1, "unchanged": 0, "missing": 0, "skipped": 1}
        assert report.actions == counts
        csv.write_text("what,id,name\ndelete,1,\nupsert,4,dan\n")
        report = bulkwire.copy(csv, "mssql:t", url=server.url, transform=lambda rows: rows, action="what", key="id")
        assert report.actions["deleted"] == report.actions["inserted"] == 1
        with server.connect() as db:
            assert db.fetch("SELECT id, name FROM t ORDER BY id") == [(3, "cid"), (4, "dan")]
        with pytest.raises(bulkwire.PlanError, match="is to be new"):
            csv.write_text("id,name\n4,x\n")
            bulkwire.copy(csv, "mssql:t", url=server.url, action="'insert'", key="id")
        with pytest.raises(bulkwire.UsageError, match="action needs key"):
            bulkwire.copy(csv, "mssql:t", url=server.url, action="'insert'")
