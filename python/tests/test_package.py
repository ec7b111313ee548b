"""`bulkwire.run_package`: packages of steps in this process."""

from __future__ import annotations

import pathlib
import signal
import threading
import time
import urllib.parse
from _thread import interrupt_main
from collections.abc import Iterator

import bulkwire
import pytest


@pytest.fixture(scope="module")
def server() -> Iterator[bulkwire.Server]:
    with bulkwire.Server() as server:
        yield server


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt raises KeyboardInterrupt. Programs that a shell starts in the background ignore it, and so would the test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def package(folder: pathlib.Path, server: bulkwire.Server, text: str) -> pathlib.Path:
    """A package whose connection `db` is the server."""
    (folder / "rows.csv").write_text("id,name\n1,a\n2,b\n")
    path = folder / "package.toml"
    # A password may not stand in a package.
    url = urllib.parse.urlsplit(server.url)
    (folder / "password").write_text(urllib.parse.unquote(url.password or ""))
    without = url._replace(netloc=url.netloc.replace(f":{url.password}@", "@")).geturl()
    path.write_text(f'[connections]\ndb = {{ url = "{without}", password_file = "password" }}\n{text}')
    return path


TWO = """
[variables]
table = "made"
[tasks.load]
type = "copy"
source = "rows.csv"
destination = { connection = "db", table = "${table}" }
select = "CAST(id AS int) AS id, UPPER(name) AS name"
[tasks.count]
type = "sql"
after = ["load"]
connection = "db"
statement = "UPDATE ${table:identifier} SET name = 'x' WHERE id = 1"
"""


def test_a_run_says_what_its_tasks_did(tmp_path: pathlib.Path, server: bulkwire.Server) -> None:
    events: list[dict[str, object]] = []
    path = package(tmp_path, server, TWO)
    report = bulkwire.run_package(path, set={"table": "first"}, on_event=events.append)
    assert (report.outcome, report.ok, report.errors, report.continued) == ("succeeded", True, {}, False)
    assert next((task.task, task.type, task.rows) for task in report.tasks) == ("load", "copy", 2)
    assert {"run", "begin", "end", "over"} <= {event["event"] for event in events}
    report.raise_for_failure()
    with server.connect() as db:
        assert db.fetch("SELECT id, name FROM first ORDER BY id") == [(1, "x"), (2, "B")]
    assert [task.task for task in bulkwire.run_package(path, set={"table": "second"}, only="load").tasks] == ["load"]


def test_a_plan_changes_nothing_and_shows_copies(tmp_path: pathlib.Path, server: bulkwire.Server) -> None:
    path = package(tmp_path, server, TWO)
    plan = bulkwire.run_package(path, set={"table": "never"}, dry_run=True)
    assert plan.variables == {"table": "never"}
    load, count = plan.tasks
    assert load.without_plan is None
    assert any("CREATE TABLE" in line for line in load.plan), load.plan
    assert count.plan == [] and count.when == ["after load"]
    with server.connect() as db, pytest.raises(bulkwire.ServerError):
        db.fetch("SELECT * FROM never")
    assert not list(tmp_path.glob("*.jsonl"))


def test_failures_are_in_the_report(tmp_path: pathlib.Path, server: bulkwire.Server) -> None:
    path = package(tmp_path, server, '[tasks.bad]\ntype = "sql"\nconnection = "db"\nstatement = "SELECT 1 / 0"\n')
    report = bulkwire.run_package(path)
    assert not report.ok
    assert "Divide by zero" in report.errors["bad"]
    with pytest.raises(bulkwire.PackageError, match="Divide by zero") as raised:
        report.raise_for_failure()
    assert raised.value.report is report
    with pytest.raises(bulkwire.UsageError, match="no task"):
        bulkwire.run_package(path, only="other")
    path.write_text("[tasks.bad]\ntype = 'nothing'\n")
    with pytest.raises(bulkwire.UsageError, match=r"package\.toml:"):
        bulkwire.run_package(path)


WAITS = {
    "sql": 'type = "sql"\nconnection = "db"\nstatement = "WAITFOR DELAY \'00:01:00\'"\n',
    "program": 'type = "program"\ncommand = ["sleep", "60"]\n',
    "file": 'type = "wait-for-file"\nfiles = "never.*"\n',
    "copy": 'type = "copy"\nsource = { connection = "db", query = "WAITFOR DELAY \'00:01:00\'; SELECT 1 AS n" }\n'
    'destination = "out.csv"\n',
}


@pytest.mark.parametrize("kind", WAITS)
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_run_at_once(tmp_path: pathlib.Path, server: bulkwire.Server, kind: str) -> None:
    """The task under way ends, what waits for it does not begin, and the next call goes on with the same run.

    The interrupt is Python's own: Polars and ADBC's driver manager hang handlers of theirs before it, and may lose a signal.
    """
    text = f'[tasks.first]\ntype = "program"\ncommand = ["true"]\n[tasks.wait]\nafter = ["first"]\n{WAITS[kind]}'
    path = package(tmp_path, server, text + '[tasks.last]\ntype = "program"\nafter_completion = ["wait"]\ncommand = ["true"]\n')
    began = threading.Event()

    def heard(event: dict[str, object]) -> None:
        if event["event"] == "begin" and event["task"] == "wait":
            began.set()

    def interrupt() -> None:
        assert began.wait(30)
        time.sleep(0.5)
        interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        bulkwire.run_package(path, on_event=heard)
    thread.join()
    assert time.monotonic() - started < 40
    path.write_text(path.read_text().replace(WAITS[kind], 'type = "program"\ncommand = ["true"]\n'))
    report = bulkwire.run_package(path, continue_=True)
    outcomes = {task.task: task.outcome for task in report.tasks}
    assert report.continued and outcomes == {"first": "done before", "wait": "succeeded", "last": "succeeded"}


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_copy_within_a_batch(tmp_path: pathlib.Path, server: bulkwire.Server) -> None:
    timer = threading.Timer(1, interrupt_main)
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        bulkwire.copy("mssql:", tmp_path / "out.csv", url=server.url, query="WAITFOR DELAY '00:01:00'; SELECT 1 AS n")
    assert time.monotonic() - started < 40
    assert not list(tmp_path.iterdir())
