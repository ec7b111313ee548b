"""Random transactions over several connections, and what became of them."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from collections.abc import Callable

import pymssql

from .history import Add, Append, Operation, Outcome, Read, ReadGroup, Replace, Transaction
from .service import ROLLED_BACK, Service, is_lost, number_of, results

CONNECTIONS = 8
# Lists and groups that transactions meet in; after so many transactions others take their place.
KEYS = 5
TURN = 150
OPTIONS = "SET NOCOUNT ON SET XACT_ABORT ON"
SCHEMA = (
    # Two rows to a page: some transactions meet in a row, some in a page.
    "CREATE TABLE lists (k int PRIMARY KEY, v varchar(3000) NOT NULL, pad char(3000) NOT NULL)",
    "CREATE TABLE members (k int, value int, pad char(1500) NOT NULL, PRIMARY KEY (k, value))",
)


@dataclasses.dataclass(frozen=True)
class Workload:
    """What transactions do, and under which level."""

    name: str
    level: str
    # Makes the operations of a transaction: kinds and keys.
    kinds: tuple[str, ...]
    hint: str = ""


class Lost(Exception):
    """The connection went away."""


class Runner:
    """Runs one workload to its end."""

    def __init__(self, service: Service, workload: Workload, transactions: int, seed: int) -> None:
        self.service, self.workload = service, workload
        self.transactions, self.seed = transactions, seed
        self.history: list[Transaction] = []
        self.began = 0
        # Lists that no earlier run has used.
        with service.connect() as connection:
            newest = "SELECT MAX(k) FROM (SELECT k FROM lists UNION ALL SELECT k FROM members) AS used"
            self._base = (results(connection, newest)[0][0][0] or 0) + KEYS
        self._values = itertools.count(1)
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def run(self, meanwhile: Callable[[Runner], None] | None = None) -> list[Transaction]:
        """All transactions; `meanwhile` runs beside them."""
        threads = [threading.Thread(target=self._guarded, args=(i,)) for i in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        try:
            if meanwhile:
                meanwhile(self)
        finally:
            for thread in threads:
                thread.join()
        if self._failure:
            raise self._failure
        self._read_all()
        return self.history

    @property
    def running(self) -> bool:
        """Whether there is more to do."""
        return self._failure is None and self.began < self.transactions

    def _guarded(self, number: int) -> None:
        try:
            self._work(random.Random(self.seed * CONNECTIONS + number))
        except BaseException as error:
            self._failure = error

    def _work(self, rng: random.Random) -> None:
        connection = None
        while True:
            with self._lock:
                if not self.running:
                    break
                number = self.began
                self.began += 1
                if number % TURN == 0:
                    self._make_lists(number // TURN)
            plan = self._plan(rng, number // TURN)
            if connection is None:
                connection = self._connect()
            together = rng.random() < 0.6 and all(kind != "replace" for kind, _, _ in plan)
            # Now and then a client goes away in the middle.
            leaves = not together and rng.random() < 0.02
            try:
                run = self._together if together else self._one_by_one
                operations, outcome = run(connection, plan, leaves)
            except Lost as lost:
                operations, outcome = lost.args
                connection = None
            if operations:
                with self._lock:
                    self.history.append(Transaction(number, tuple(operations), outcome))
        if connection is not None:
            connection.close()

    def _connect(self) -> pymssql.Connection:
        while True:
            connection = self.service.connect()
            try:
                results(connection, f"{OPTIONS} SET TRANSACTION ISOLATION LEVEL {self.workload.level}")
                return connection
            except pymssql.Error as error:
                if not is_lost(error):
                    raise

    def _make_lists(self, turn: int) -> None:
        """The lists of the next turn, empty."""
        rows = ", ".join(f"({self._base + turn * KEYS + key}, '', '')" for key in range(KEYS))
        while True:
            try:
                with self.service.connect() as connection:
                    first = self._base + turn * KEYS
                    missing = f"NOT EXISTS (SELECT 1 FROM lists WHERE k = {first})"
                    results(connection, f"IF {missing} INSERT lists VALUES {rows}")
                return
            except pymssql.Error as error:
                if not is_lost(error):
                    raise

    def _plan(self, rng: random.Random, turn: int) -> list[tuple[str, int, int]]:
        plan = []
        for _ in range(rng.choice((1, 2, 2, 3, 4))):
            key = self._base + turn * KEYS + rng.randrange(KEYS)
            plan.append((rng.choice(self.workload.kinds), key, next(self._values)))
        return plan

    def _statement(self, kind: str, key: int, value: int, before: tuple[int, ...] = ()) -> str:
        match kind:
            case "append":
                return f"UPDATE lists SET v = v + ',{value}' WHERE k = {key}"
            case "read":
                return f"SELECT v FROM lists {self.workload.hint} WHERE k = {key}"
            case "replace":
                text = "".join(f",{own}" for own in (*before, value))
                return f"UPDATE lists SET v = '{text}' WHERE k = {key}"
            case "add":
                return f"INSERT members VALUES ({key}, {value}, '')"
        return f"SELECT value FROM members {self.workload.hint} WHERE k = {key}"

    def _together(self, connection, plan, _) -> tuple[list[Operation], Outcome]:
        """A transaction in one batch."""
        statements = [self._statement(*step) for step in plan]
        text = f"BEGIN TRAN {' '.join(statements)} COMMIT SELECT 'committed'"
        written = [_written(*step) for step in plan if step[0] in ("append", "add")]
        try:
            found = results(connection, text)
        except pymssql.Error as error:
            if is_lost(error):
                raise Lost(written, Outcome.UNKNOWN) from error
            self._roll_back(connection, error, written)
            return written, Outcome.ABORTED
        assert found.pop() == [("committed",)]
        operations: list[Operation] = []
        for kind, key, value in plan:
            if kind in ("append", "add"):
                operations.append(_written(kind, key, value))
            else:
                operations.append(_read(kind, key, found.pop(0)))
        return operations, Outcome.COMMITTED

    def _one_by_one(self, connection, plan, leaves: bool) -> tuple[list[Operation], Outcome]:
        """The same statement by statement, and COMMIT at last."""
        operations: list[Operation] = []
        try:
            results(connection, "BEGIN TRAN")
            for kind, key, value in plan:
                if kind == "replace":
                    read = _read("read", key, results(connection, self._statement("read", key, 0))[0])
                    operations += [read, Replace(key, read.values, value)]
                    results(connection, self._statement("replace", key, value, read.values))
                elif kind in ("append", "add"):
                    operations.append(_written(kind, key, value))
                    results(connection, self._statement(kind, key, value))
                else:
                    operations.append(_read(kind, key, results(connection, self._statement(kind, key, 0))[0]))
            if leaves:
                connection.close()
                raise Lost(operations, Outcome.ABORTED)
        except pymssql.Error as error:
            if is_lost(error):
                raise Lost(operations, Outcome.ABORTED) from error
            self._roll_back(connection, error, operations)
            return operations, Outcome.ABORTED
        try:
            results(connection, "COMMIT")
        except pymssql.Error as error:
            if is_lost(error):
                raise Lost(operations, Outcome.UNKNOWN) from error
            self._roll_back(connection, error, operations)
            return operations, Outcome.ABORTED
        return operations, Outcome.COMMITTED

    def _roll_back(self, connection, error: pymssql.Error, operations: list[Operation]) -> None:
        """The server has rolled back already."""
        assert number_of(error) in ROLLED_BACK, error
        try:
            assert results(connection, "SELECT @@TRANCOUNT") == [[(0,)]], error
        except pymssql.Error as lost:
            if not is_lost(lost):
                raise
            raise Lost(operations, Outcome.ABORTED) from lost

    def _read_all(self) -> None:
        """What there is at the end, as one transaction more."""
        keys = (self._base, self._base + (self.transactions // TURN + 1) * KEYS)
        with self.service.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT k, v FROM lists WHERE k >= %s AND k < %s", keys)
            operations: list[Operation] = [Read(key, _list(text)) for key, text in cursor.fetchall()]
            cursor.execute("SELECT k, value FROM members WHERE k >= %s AND k < %s", keys)
            groups: dict[int, set[int]] = {}
            for key, value in cursor.fetchall():
                groups.setdefault(key, set()).add(value)
        operations += [ReadGroup(key, frozenset(values)) for key, values in groups.items()]
        self.history.append(Transaction(self.transactions, tuple(operations)))


def _written(kind: str, key: int, value: int) -> Operation:
    return Append(key, value) if kind == "append" else Add(key, value)


def _read(kind: str, key: int, rows: list[tuple]) -> Read | ReadGroup:
    if kind == "read":
        return Read(key, _list(rows[0][0]))
    return ReadGroup(key, frozenset(row[0] for row in rows))


def _list(text: str) -> tuple[int, ...]:
    return tuple(int(value) for value in text.split(",") if value)
