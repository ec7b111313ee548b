"""Accounts between which money moves: a reader that sees all of them at one moment finds the same sum."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pymssql

from .service import ROLLED_BACK, Service, is_lost, number_of, results

ACCOUNTS = 8
BALANCE = 100
CONNECTIONS = 8
# The accounts lie in two tables, and each transfer leaves a row in a third one.
SCHEMA = (
    "CREATE TABLE savings (id int PRIMARY KEY, balance int NOT NULL, pad char(2000) NOT NULL)",
    "CREATE TABLE checking (id int PRIMARY KEY, balance int NOT NULL, pad char(2000) NOT NULL)",
    "CREATE TABLE transfers (id int PRIMARY KEY)",
)
SUM = "(SELECT SUM(balance) FROM {0} {2}) + (SELECT SUM(balance) FROM {1} {2})"


class Bank:
    """Transfers and readers of one isolation level."""

    def __init__(self, service: Service, level: str, transactions: int, seed: int, first: int) -> None:
        self.service, self.level, self.transactions, self.seed = service, level, transactions, seed
        # Ids of transfers go on where an earlier bank has ended.
        self.began, self.first = 0, first
        self.acknowledged: set[int] = set()
        self.refused: set[int] = set()
        self.sums: list[int] = []
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    @property
    def running(self) -> bool:
        """Whether there is more to do."""
        return self._failure is None and self.began < self.transactions

    def run(self, meanwhile: Callable[[Bank], None] | None = None) -> None:
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
                number = self.first + self.began
                self.began += 1
            try:
                if connection is None:
                    connection = self.service.connect()
                    _rows(
                        connection,
                        f"SET NOCOUNT ON SET XACT_ABORT ON SET TRANSACTION ISOLATION LEVEL {self.level}",
                    )
                if rng.random() < 0.4:
                    self.sums.append(self._read(connection, rng))
                elif rng.random() < 0.03:
                    # A client that goes away in the middle of a transfer.
                    _rows(connection, f"BEGIN TRAN {_transfer(rng, number)[0]}")
                    self.refused.add(number)
                    connection.close()
                    connection = None
                else:
                    self._move(connection, rng, number)
            except pymssql.Error as error:
                if is_lost(error):
                    connection = None
                else:
                    assert number_of(error) in ROLLED_BACK, error
                    self.refused.add(number)
        if connection is not None:
            connection.close()

    def _read(self, connection: pymssql.Connection, rng: random.Random) -> int:
        """The sum by one statement; from REPEATABLE READ on also by two of one transaction."""
        if self.level.startswith("READ") or rng.random() < 0.5:
            return _rows(connection, f"SELECT {SUM.format('savings', 'checking', '')}")[0][0]
        first = _rows(connection, "BEGIN TRAN SELECT SUM(balance) FROM savings")[0][0]
        return first + _rows(connection, "SELECT SUM(balance) FROM checking COMMIT")[0][0]

    def _move(self, connection: pymssql.Connection, rng: random.Random, number: int) -> None:
        first, second = _transfer(rng, number)
        if rng.random() < 0.5:
            _rows(connection, f"BEGIN TRAN {first} {second} COMMIT")
        else:
            _rows(connection, f"BEGIN TRAN {first}")
            _rows(connection, second)
            _rows(connection, "COMMIT")
        self.acknowledged.add(number)

    def check(self) -> None:
        """All sums are the same, what was acknowledged is there, and what was refused is not."""
        wanted = 2 * ACCOUNTS * BALANCE
        wrong = [found for found in self.sums if found != wanted]
        assert not wrong, f"{len(wrong)} of {len(self.sums)} sums are wrong, such as {wrong[:5]} for {wanted}"
        with self.service.connect() as connection:
            (total,) = _rows(connection, f"SELECT {SUM.format('savings', 'checking', '')}")[0]
            assert total == wanted
            there = {row[0] for row in _rows(connection, "SELECT id FROM transfers")}
        assert self.acknowledged <= there, f"lost: {sorted(self.acknowledged - there)[:5]}"
        assert not self.refused & there, f"committed all the same: {sorted(self.refused & there)[:5]}"


def make_accounts(service: Service) -> None:
    """Tables with their accounts."""
    rows = ", ".join(f"({number}, {BALANCE}, '')" for number in range(ACCOUNTS))
    with service.connect() as connection:
        for statement in (*SCHEMA, f"INSERT savings VALUES {rows}", f"INSERT checking VALUES {rows}"):
            _rows(connection, statement)


def _transfer(rng: random.Random, number: int) -> tuple[str, str]:
    """Two halves of a transfer: one takes, one gives."""
    amount = rng.randrange(1, 20)
    taken, given = rng.sample([(table, i) for table in ("savings", "checking") for i in range(ACCOUNTS)], 2)
    take = f"UPDATE {taken[0]} SET balance = balance - {amount} WHERE id = {taken[1]}"
    give = f"UPDATE {given[0]} SET balance = balance + {amount} WHERE id = {given[1]}"
    return take, f"{give} INSERT transfers VALUES ({number})"


def _rows(connection: pymssql.Connection, text: str) -> list[tuple]:
    return [row for found in results(connection, text) for row in found]
