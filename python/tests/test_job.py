"""Jobs whose tasks load in processes of their own, as Spark's and Ray's do: each row once, or none."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import sys
import threading

import bulkwire
import pyarrow as pa
import pytest
from bulkwire._job import Address, Job, TaskReceipt, column_types, flag, names, typed_options
from test_lost_answers import Line

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def batch(*ids: int, name: str = "x") -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "name": [name] * len(ids)})


class Place:
    """A database of a test's own, and jobs for it."""

    def __init__(self, db: bulkwire.Connection, url: str) -> None:
        self.db, self.url = db, url

    def job(self, table: str = "t", schema: pa.Schema = SCHEMA, **given: object) -> Job:
        named = {name: given.pop(name) for name in ("load_id", "is_stream", "stale_hours") if name in given}
        job = Job(Address(self.url), table, schema, {"mode": "append", **given}, **named)
        job.prepare()
        # As it reaches a task.
        return pickle.loads(pickle.dumps(job))

    def ids(self, table: str = "t") -> list[int]:
        return [row[0] for row in self.db.fetch(f"SELECT id FROM {table} ORDER BY id")]

    def stages(self) -> list[str]:
        return [row[0] for row in self.db.fetch("SELECT name FROM sys.tables WHERE name LIKE '%[_][_]bulkwire%'")]


@pytest.fixture
def place(bulkwire_server, bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id bigint NOT NULL, name nvarchar(20))")
    name = bulkwire_db.fetch("SELECT DB_NAME()")[0][0]
    return Place(bulkwire_db, bulkwire_server.url_of(name))


def test_rows_come_together_and_only_those_of_receipts(place):
    job = place.job()
    first, lost, second = job.load([batch(1, 2)]), job.load([batch(1, 2)]), job.load([batch(3), batch(4)])
    assert job.load([]).rows == job.load([batch()]).rows == 0
    assert lost.rows == 2 and len({first.task, lost.task, second.task}) == 3
    assert place.ids() == []
    report = job.publish([first, second])
    assert (report.rows, report.published_by, report.was_done) == (4, None, False)
    assert (place.ids(), place.stages()) == ([1, 2, 3, 4], [])


def test_an_attempt_that_goes_on_after_the_end_changes_nothing(place):
    job = place.job()
    report = job.publish([job.load([batch(1)])])
    with pytest.raises(bulkwire.Error):
        job.load([batch(2)])
    assert (report.rows, place.ids(), place.stages()) == (1, [1], [])


def test_a_failed_job_leaves_nothing(place):
    job = place.job()
    job.load([batch(1)])
    job.abandon()
    job.abandon()
    assert (place.ids(), place.stages()) == ([], [])
    with pytest.raises(bulkwire.Error, match="is gone"):
        job.publish([TaskReceipt(1, 1)])


def test_rows_that_are_missing_stop_the_publication(place):
    job = place.job()
    receipt = job.load([batch(1, 2)])
    with pytest.raises(bulkwire.CountMismatchError, match="has 2 rows of a task that brought 3"):
        job.publish([TaskReceipt(receipt.task, 3)])
    with pytest.raises(bulkwire.CountMismatchError, match="has 0 rows"):
        job.publish([receipt, TaskReceipt(5, 1)])
    assert place.ids() == []
    assert job.publish([receipt]).rows == 2


@pytest.mark.parametrize(
    ("options", "expected", "way"),
    [
        ({"mode": "append"}, [(1, "old"), (1, "new"), (2, "old"), (3, "new")], None),
        ({"mode": "truncate"}, [(1, "new"), (3, "new")], None),
        ({"mode": "replace"}, [(1, "new"), (3, "new")], "switch"),
        ({"mode": "upsert", "key": ["id"]}, [(1, "new"), (2, "old"), (3, "new")], "merge"),
        ({"mode": "insert-new", "key": ["id"]}, [(1, "old"), (2, "old"), (3, "new")], "merge"),
    ],
)
def test_modes(place, options, expected, way):
    place.db.load("t", batch(1, 2, name="old"))
    job = place.job(**options)
    receipts = [job.load([batch(1, name="new")]), job.load([batch(3, name="new")])]
    job.load([batch(9)])
    report = job.publish(receipts)
    assert (report.rows, report.published_by) == (2, way)
    assert sorted(place.db.fetch("SELECT id, name FROM t")) == sorted(expected)
    assert place.stages() == []


def test_replacing_by_nothing_empties_the_table(place):
    place.db.load("t", batch(1))
    assert place.job(mode="replace").publish([]).rows == 0
    assert place.ids() == []


def test_the_schema_is_checked_before_any_task(place):
    with pytest.raises(bulkwire.PlanError, match='"other"'):
        place.job(schema=SCHEMA.append(pa.field("other", pa.int32())))
    with pytest.raises(bulkwire.PlanError):
        place.job(schema=pa.schema([("id", pa.date32())]))
    with pytest.raises(bulkwire.NoTableError):
        place.job("missing")
    with pytest.raises(bulkwire.PlanError, match="key"):
        place.job(mode="upsert", key=["nothing"])
    with pytest.raises(bulkwire.Error, match="temporary"):
        place.job("#t")
    with pytest.raises(bulkwire.UsageError, match="marks the rows"):
        place.job(schema=pa.schema([("bulkwire_task", pa.int64())]))
    assert place.stages() == []


def test_a_table_that_changes_meanwhile_is_left_alone(place):
    job = place.job()
    receipt = job.load([batch(1)])
    place.db.execute("ALTER TABLE t ALTER COLUMN name nvarchar(5)")
    with pytest.raises(bulkwire.Error, match="is gone"):
        job.publish([receipt])
    assert place.ids() == []


def test_a_missing_table_appears_with_its_rows(place):
    job = place.job("made", create=True, types={"name": "varchar(30)"})
    assert place.db.fetch("SELECT OBJECT_ID('made')") == [(None,)]
    assert job.publish([job.load([batch(1)])]).rows == 1
    columns = place.db.fetch("SELECT max_length FROM sys.columns WHERE object_id = OBJECT_ID('made') ORDER BY column_id")
    assert (place.ids("made"), columns) == ([1], [(8,), (30,)])
    again = place.job("made", create=True, types={"name": "varchar(30)"})
    again.publish([again.load([batch(2)])])
    assert place.ids("made") == [1, 2]
    place.job("given_up", create=True).abandon()
    assert (place.db.fetch("SELECT OBJECT_ID('given_up')"), place.stages()) == ([(None,)], [])
    with pytest.raises(bulkwire.UsageError, match="to be made"):
        place.job("keyed", create=True, mode="upsert", key=["id"])


def test_identities_defaults_and_constraints(place):
    place.db.execute(
        "CREATE TABLE i (k int IDENTITY PRIMARY KEY, id bigint CHECK (id > 0), name nvarchar(20), d int NOT NULL DEFAULT 7)"
    )
    job = place.job("i")
    job.publish([job.load([batch(5, 6)])])
    assert sorted(place.db.fetch("SELECT id, d FROM i")) == [(5, 7), (6, 7)]
    kept = place.job("i", pa.schema([("k", pa.int32()), ("id", pa.int64())]), keep_identity=True)
    kept.publish([kept.load([pa.record_batch({"k": pa.array([100], pa.int32()), "id": [8]})])])
    assert place.db.fetch("SELECT id FROM i WHERE k = 100") == [(8,)]
    refused = place.job("i")
    receipt = refused.load([batch(-1)])
    with pytest.raises(bulkwire.ServerError) as raised:
        refused.publish([receipt])
    assert raised.value.number == 547
    refused.abandon()
    assert (place.db.fetch("SELECT COUNT(*) FROM i"), place.stages()) == ([(3,)], [])


def test_a_value_that_does_not_fit_fails_its_task(place):
    job = place.job()
    with pytest.raises(bulkwire.CellError, match="name"):
        job.load([batch(1, name="y" * 21)])
    assert place.job(allow_truncate=True).load([batch(1, name="y" * 21)]).rows == 1


def test_a_named_job_is_done_once(place):
    job = place.job(load_id="daily")
    job.publish([job.load([batch(1)])])
    assert place.db.fetch("SELECT is_done, row_count FROM bulkwire_loads WHERE load_id = 'daily'") == [(True, 1)]
    again = place.job(load_id="daily")
    receipt = again.load([batch(1)])
    assert (again.is_done, receipt.rows, again.publish([receipt]).was_done) == (True, 0, True)
    assert (place.ids(), place.stages()) == ([1], [])


def test_a_named_job_whose_director_was_killed_begins_again(place):
    killed = place.job(load_id="daily")
    early = killed.load([batch(1)])
    assert len(place.stages()) == 1
    again = place.job(load_id="daily")
    # Tasks of the job that was killed still run.
    late = killed.load([batch(1)])
    receipt = again.load([batch(1)])
    with pytest.raises(bulkwire.CountMismatchError):
        killed.publish([early, late])
    assert again.publish([receipt]).rows == 1
    assert (place.ids(), place.stages()) == ([1], [])
    # Its director, had it lived, hears that the load is done.
    assert killed.publish([late]).was_done
    assert place.ids() == [1]


def test_stages_of_killed_jobs_go_after_some_time(place):
    place.job().load([batch(1)])
    place.db.execute("CREATE TABLE u (id bigint, name nvarchar(20))")
    place.job("u").load([batch(1)])
    kept = place.job("u", is_stream=True, load_id="stream")
    assert len(place.stages()) == 3
    job = place.job("dbo.t", stale_hours=0)
    job.publish([job.load([batch(2)])])
    job = place.job("u")
    assert len(place.stages()) == 3
    job.abandon()
    place.job("u", stale_hours=0).abandon()
    assert (place.ids(), len(place.stages())) == ([2], 1)
    assert kept.publish([kept.load([batch(3)])], epoch=0).rows == 1


def test_loads_list_shows_a_stage_and_forget_drops_it(place, capfd):
    import os
    import subprocess
    import sys

    place.job(load_id="broken").load([batch(1)])

    def run(*words: str) -> str:
        command = [sys.executable, "-c", "import bulkwire._command as c; c.main()", "loads", *words]
        done = subprocess.run(command, env={**os.environ, "BULKWIRE_URL": place.url}, capture_output=True, text=True, check=True)
        return done.stdout

    assert "broken" in run("list") and "unfinished" in run("list")
    run("forget", "broken")
    assert place.stages() == []


def test_epochs_of_a_stream_are_published_once(place):
    stream = place.job(load_id="s", is_stream=True)
    stream.publish([stream.load([batch(1)])], epoch=0)
    lost = stream.load([batch(2)])
    stream.publish([stream.load([batch(2)])], epoch=1)
    # Spark goes on behind a checkpoint that lacks the last epoch.
    again = place.job(load_id="s", is_stream=True)
    assert again.publish([again.load([batch(2)])], epoch=1).was_done
    again.publish([again.load([batch(3)])], epoch=2)
    with pytest.raises(bulkwire.CountMismatchError):
        stream.publish([lost], epoch=3)
    assert place.ids() == [1, 2, 3]
    assert len(place.stages()) == 1
    with pytest.raises(bulkwire.UsageError, match="load_id"):
        place.job(is_stream=True)


def test_old_epochs_are_forgotten(place):
    stream = place.job(load_id="s", is_stream=True)
    for epoch in range(103):
        stream.publish([], epoch=epoch)
    kept = place.db.fetch("SELECT load_id FROM bulkwire_loads")
    assert len(kept) == 100 and ("s/102",) in kept and ("s/2",) not in kept


def test_many_tasks_and_two_jobs_at_once(place):
    jobs = [place.job() for _ in range(2)]
    reports = []

    def run(job: Job, base: int) -> None:
        receipts = []

        def task(number: int) -> None:
            receipts.append(job.load([batch(*range(base + number * 10, base + number * 10 + 10))]))

        tasks = [threading.Thread(target=task, args=(number,)) for number in range(8)]
        for thread in tasks:
            thread.start()
        for thread in tasks:
            thread.join()
        reports.append(job.publish(receipts).rows)

    threads = [threading.Thread(target=run, args=(job, index * 1000)) for index, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reports == [80, 80]
    assert place.ids() == sorted([*range(80), *range(1000, 1080)])


def test_more_receipts_than_one_statement_names(place):
    job = place.job()
    receipt = job.load([batch(1)])
    db = place.db
    table = db.fetch("SELECT name FROM sys.tables WHERE name LIKE 't[_][_]bulkwire%'")[0][0]
    db.execute(f"INSERT INTO [{table}] (id, name, bulkwire_task) SELECT value, N'x', value FROM GENERATE_SERIES(2, 2501)")
    assert job.publish([receipt, *(TaskReceipt(number, 1) for number in range(2, 2502))]).rows == 2501
    assert len(place.ids()) == 2501


@pytest.mark.parametrize("mode", ["append", "replace", "upsert"])
@pytest.mark.parametrize("commits", [1, 2])
@pytest.mark.parametrize("load_id", [None, "named"])
def test_the_answer_to_a_commit_of_the_publication_is_lost(mode, commits, load_id):
    with bulkwire.Server(encryption="off") as server, server.connect() as db:
        db.execute("CREATE TABLE t (id bigint NOT NULL, name nvarchar(20))")
        job = Job(Address(server.url), "t", SCHEMA, {"mode": mode, "key": ["id"] * (mode == "upsert")}, load_id=load_id)
        job.prepare()
        receipts = [job.load([batch(1, 2)]), job.load([batch(3)])]
        line = Line(server, commits)
        job.address = Address(server.url.replace(f":{server.port}/", f":{line.port}/"))
        assert job.publish(receipts).rows == 3
        assert db.fetch("SELECT COUNT(*), COUNT(DISTINCT id) FROM t") == [(3, 3)]
        assert db.fetch("SELECT name FROM sys.tables WHERE name LIKE 't[_][_]bulkwire%'") == []
        line.listener.close()


def test_exceptions_travel_between_processes(place):
    job = place.job()
    with pytest.raises(bulkwire.CellError) as refused:
        job.load([batch(1, name="y" * 21)])
    with pytest.raises(bulkwire.ServerError) as failed:
        place.db.execute("SELECT 1 / 0")
    for raised in (refused.value, failed.value):
        copy = pickle.loads(pickle.dumps(raised))
        assert (type(copy), str(copy), vars(copy)) == (type(raised), str(raised), vars(raised))


def every_exception() -> list[type[bulkwire.Error]]:
    found, classes = [], [bulkwire.Error]
    while classes:
        found.append(classes.pop())
        classes += found[-1].__subclasses__()
    return [kind for kind in found if kind.__module__.startswith("bulkwire")]


@pytest.mark.parametrize("kind", every_exception(), ids=lambda kind: kind.__name__)
def test_every_exception_travels(kind, place):
    loaded = place.db.load("t", pa.table({"id": pa.array([1], pa.int64()), "name": ["x"]}))
    task = bulkwire.TaskReport("load", "copy", "failed", 0.5, message="no")
    messages = [bulkwire.ServerMessage(8134, 1, 16, 1, "Divide by zero error encountered.")]
    given = {
        "ServerError": ("no", messages),
        "LoginError": ("no", messages),
        "CellError": ("no", 3, "name", "x", "too long"),
        "FormError": ("no", 3, "name"),
        "CopyError": ("no", {"t": loaded}, {"u": bulkwire.CellError("no", 3, "name", "x", "too long"), "v": None}),
        "PackageError": (bulkwire.PackageReport("1", "p", "now", False, "failed", 0.5, [task]),),
    }.get(kind.__name__, ("no",))
    raised = kind(*given)
    raised.rows_committed, raised.failed_rows = 5, range(5, 9)
    raised.__notes__ = ["a note"]
    copy = pickle.loads(pickle.dumps(raised))
    assert (type(copy), str(copy), copy.args) == (kind, str(raised), raised.args)
    # Reports, and exceptions within exceptions, are equal by what they show.
    assert repr(vars(copy)) == repr(vars(raised))


def test_reports_travel(place, tmp_path):
    loaded = place.db.load("t", pa.table({"id": pa.array([1], pa.int64()), "name": ["x"]}), mode="upsert", key="id")
    copied = bulkwire.copy(place.url.split("?")[0] + "/t?" + place.url.split("?")[1], tmp_path / "t.csv")
    for report in (loaded, copied):
        names = [name for name in dir(report) if not name.startswith("_")]
        again = pickle.loads(pickle.dumps(report))
        assert len(names) > 10
        assert [getattr(again, name) for name in names] == [getattr(report, name) for name in names]


def test_a_job_that_runs_is_listed_as_running(place):
    job = place.job()
    begun, end = threading.Event(), threading.Event()

    def batches():
        for number in range(20):
            yield batch(*range(number * 1000, number * 1000 + 1000))
        begun.set()
        end.wait(60)

    def state() -> str:
        command = [pathlib.Path(sys.executable).with_name("bulkwire"), "loads", "list", "--json", "--url", place.url]
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        (load,) = [json.loads(line) for line in listed.stdout.splitlines()]
        return load["state"]

    assert state() == "idle"
    task = threading.Thread(target=lambda: job.load(batches()))
    task.start()
    try:
        assert begun.wait(60)
        assert state() == "running"
    finally:
        end.set()
        task.join()
    assert state() == "idle"


def test_nothing_shows_a_password(place):
    job = place.job()
    assert "password" not in repr(job).lower() and place.url.split("@")[0] not in repr(job)


def test_options_in_text():
    known = {"batch_rows": int, "table_lock": flag, "key": names, "types": column_types}
    given = {"batchRows": "5", "TABLELOCK": "true", "key": "a, b", "types": "a decimal(9, 2), b varchar(5)"}
    expected = {"batch_rows": 5, "table_lock": True, "key": ["a", "b"], "types": {"a": "decimal(9, 2)", "b": "varchar(5)"}}
    assert typed_options(given, known, "here") == expected
    with pytest.raises(bulkwire.UsageError, match="no option 'passwort'"):
        typed_options({"passwort": "secret"}, known, "here")
    with pytest.raises(bulkwire.UsageError, match="table_lock of here: must be true or false"):
        typed_options({"table_lock": "perhaps"}, known, "here")
