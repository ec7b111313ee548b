"""What each isolation level excludes does not happen: random transactions over connections, and a checker.

`BULKWIRE_ISOLATION_SECONDS` makes it run that long instead of 20,000 transactions. A failed test tells its
seed; `BULKWIRE_ISOLATION_SEED` repeats such a run as far as threads allow.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator

import pymssql
import pytest

from isolation import bank, workload
from isolation.checker import Anomaly, check, excluded
from isolation.service import ROLLED_BACK, Service, number_of, results
from isolation.workload import Runner, Workload

SECONDS = float(os.environ.get("BULKWIRE_ISOLATION_SECONDS", "0"))
TRANSACTIONS = 20_000
LISTS, REGISTERS, GROUPS = ("append", "read"), ("replace", "read"), ("add", "find")
# Each with its share of the transactions. Most go to those that insert and read by key, which are quick in
# an unoptimised server.
WORKLOADS = (
    (Workload("lists", "READ UNCOMMITTED", LISTS), 2),
    (Workload("lists", "READ COMMITTED", LISTS), 4),
    (Workload("lists", "REPEATABLE READ", LISTS), 4),
    (Workload("lists", "SNAPSHOT", LISTS), 5),
    (Workload("lists", "SERIALIZABLE", LISTS), 5),
    (Workload("registers with UPDLOCK", "READ COMMITTED", REGISTERS, "WITH (UPDLOCK)"), 4),
    (Workload("registers", "REPEATABLE READ", REGISTERS), 3),
    (Workload("registers", "SNAPSHOT", REGISTERS), 4),
    (Workload("groups", "READ COMMITTED", GROUPS), 12),
    (Workload("groups", "SNAPSHOT", GROUPS), 16),
    (Workload("groups", "SERIALIZABLE", GROUPS), 16),
    (Workload("groups with HOLDLOCK", "READ COMMITTED", GROUPS, "WITH (HOLDLOCK)"), 10),
    (Workload("groups with REPEATABLEREAD", "SNAPSHOT", GROUPS, "WITH (REPEATABLEREAD)"), 4),
    (Workload("lists and groups", "SERIALIZABLE", LISTS + GROUPS), 4),
)
BANKS = (("READ COMMITTED", 2), ("REPEATABLE READ", 1), ("SNAPSHOT", 2), ("SERIALIZABLE", 2))
SHARES = sum(share for _, share in WORKLOADS) + sum(share for _, share in BANKS)
# What hints exclude beyond the level.
BY_HINTS = {
    "registers with UPDLOCK": {Anomaly.LOST_UPDATE},
    "groups with HOLDLOCK": {Anomaly.G2, Anomaly.G_SINGLE_PREDICATE},
}


@pytest.fixture(scope="module")
def service(binaries, tmp_path_factory) -> Iterator[Service]:
    """A server that is killed now and then."""
    service = Service(binaries, tmp_path_factory.mktemp("isolation"))
    with service.connect() as connection, connection.cursor() as cursor:
        for statement in workload.SCHEMA:
            cursor.execute(statement)
    bank.make_accounts(service)
    yield service
    service.stop()


@contextlib.contextmanager
def seeded(name: str) -> Iterator[int]:
    """A seed, which is shown if the test fails."""
    seed = int(os.environ.get("BULKWIRE_ISOLATION_SEED") or random.SystemRandom().randrange(2**32))
    print(f"{name}: BULKWIRE_ISOLATION_SEED={seed}")
    yield seed


def killing(service: Service, seed: int) -> Callable[[Runner | bank.Bank], None]:
    """Kills the server at two moments of a run, by the number of transactions that have begun."""

    def kill(run: Runner | bank.Bank) -> None:
        rng = random.Random(seed)
        for moment in sorted(rng.randrange(1, max(2, run.transactions)) for _ in range(2)):
            while run.running and run.began < moment:
                time.sleep(0.01)
            if run.running:
                service.kill()

    return kill


def rounds(share: int) -> Iterator[int]:
    """How many transactions each run has; with a time given, runs follow until the share of it is over."""
    transactions = TRANSACTIONS * share // SHARES
    deadline = time.monotonic() + SECONDS * share / SHARES
    yield transactions
    while time.monotonic() < deadline:
        yield transactions


@pytest.mark.parametrize(
    ("work", "share"), WORKLOADS, ids=[f"{work.name}, {work.level}" for work, _ in WORKLOADS]
)
def test_no_forbidden_anomaly(service, work, share):
    for transactions in rounds(share):
        with seeded(work.name) as seed:
            runner = Runner(service, work, transactions, seed)
            history = runner.run(killing(service, seed))
        found = check(history)
        wrong = excluded(work.level, found)
        wrong += [one for one in found if one.anomaly in BY_HINTS.get(work.name, ())]
        assert not wrong, "\n".join(map(str, wrong[:5]))
        committed = sum(transaction.outcome.value == "committed" for transaction in history)
        assert committed > transactions // 20, "too few transactions committed to say anything"


@pytest.mark.parametrize(("level", "share"), BANKS, ids=[level for level, _ in BANKS])
def test_sum_of_accounts_stays(service, level, share):
    for transactions in rounds(share):
        with service.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT ISNULL(MAX(id), 0) + 1 FROM transfers")
            (first,) = cursor.fetchone()
        with seeded(f"bank, {level}") as seed:
            run = bank.Bank(service, level, transactions, seed, first)
            run.run(killing(service, seed))
        run.check()
        assert run.acknowledged, "no transfer was committed"
        assert run.sums, "nobody has read"


def side_by_side(service: Service, work: Callable[[pymssql.Connection, int], None], threads: int = 6) -> None:
    """Runs `work` on some connections at once."""
    failures = []

    def run(number: int) -> None:
        try:
            with service.connect() as connection:
                work(connection, number)
        except BaseException as error:
            failures.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if failures:
        raise failures[0]


def until_committed(connection: pymssql.Connection, text: str) -> None:
    """Runs a batch again until it was no victim of a deadlock."""
    while True:
        try:
            results(connection, text)
            return
        except pymssql.Error as error:
            if number_of(error) not in ROLLED_BACK:
                raise


UPSERTS = {
    "IF NOT EXISTS": (
        "BEGIN TRAN IF NOT EXISTS (SELECT 1 FROM {0} WITH (UPDLOCK, HOLDLOCK) WHERE k = {1})"
        " INSERT {0} VALUES ({1}, 1) ELSE UPDATE {0} SET n = n + 1 WHERE k = {1} COMMIT"
    ),
    "MERGE": (
        "MERGE {0} WITH (HOLDLOCK) AS t USING (VALUES ({1})) AS s (k) ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, 1);"
    ),
    "INSERT … WHERE NOT EXISTS": (
        "BEGIN TRAN INSERT {0} SELECT {1}, 0"
        " WHERE NOT EXISTS (SELECT 1 FROM {0} WITH (UPDLOCK, HOLDLOCK) WHERE k = {1})"
        " UPDATE {0} SET n = n + 1 WHERE k = {1} COMMIT"
    ),
}


@pytest.mark.parametrize("how", UPSERTS)
def test_no_key_comes_twice(service, how):
    keys, threads = 10, 6
    table = f"upserts_{list(UPSERTS).index(how)}"
    with service.connect() as connection, connection.cursor() as cursor:
        # No key keeps rows apart but the locks.
        cursor.execute(f"CREATE TABLE {table} (k int NOT NULL, n int NOT NULL)")

    def work(connection: pymssql.Connection, _: int) -> None:
        for key in range(keys):
            until_committed(connection, UPSERTS[how].format(table, key))

    side_by_side(service, work, threads)
    with service.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT k, n FROM {table} ORDER BY k")
        assert cursor.fetchall() == [(key, threads) for key in range(keys)]


def test_read_with_updlock_and_write_loses_no_update(service):
    threads, times = 6, 15
    with service.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE counter (v int NOT NULL) INSERT counter VALUES (0)")
    text = (
        "BEGIN TRAN DECLARE @v int SELECT @v = v FROM counter WITH (UPDLOCK)"
        " UPDATE counter SET v = @v + 1 COMMIT"
    )

    def work(connection: pymssql.Connection, _: int) -> None:
        for _ in range(times):
            until_committed(connection, text)

    side_by_side(service, work, threads)
    with service.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT v FROM counter")
        assert cursor.fetchone() == (threads * times,)


def test_queue_gives_each_row_to_one(service):
    rows, threads = 60, 4
    with service.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE queue (id int PRIMARY KEY, pad char(2000) NOT NULL)")
        values = ", ".join(f"({number}, '')" for number in range(rows))
        cursor.execute(f"INSERT queue VALUES {values}")
    taken: list[int] = []
    text = "DELETE TOP (1) FROM queue WITH (ROWLOCK, READPAST) OUTPUT deleted.id"

    def work(connection: pymssql.Connection, _: int) -> None:
        while len(taken) < rows:
            with connection.cursor() as cursor:
                cursor.execute(text)
                taken.extend(row[0] for row in cursor.fetchall())

    side_by_side(service, work, threads)
    assert sorted(taken) == list(range(rows))
