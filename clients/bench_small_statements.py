"""Small statements one at a time: single-row INSERTs and SELECTs by primary key, over one connection.

    python clients/bench_small_statements.py --program BULKWIRE [--rows 1000] [--rounds 5]

The embedded server behind pymssql and SQLite behind Python's own sqlite3 module do the same work in the same
process. Every run's rows are counted and summed afterwards, and every selected row is compared with what was
inserted; the median of the rounds is printed. SQLite runs inside the process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import secrets
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

import pymssql

CREATE = "CREATE TABLE small (id int NOT NULL PRIMARY KEY, name varchar(40) NOT NULL, amount bigint NULL)"


def row(n: int) -> tuple[int, str, int]:
    """The n-th row."""
    return n, f"name of row {n}", n * 1_000_003


def measured(work: Callable[[], None]) -> float:
    """Seconds that `work` takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Bulkwire:
    """A server of its own behind pymssql."""

    def __init__(self, server: pathlib.Path, data: list[str]):
        password = secrets.token_urlsafe(12) + "Aa1"
        self.process = subprocess.Popen(
            [server, "serve", "--port", "0", *data],
            env={**os.environ, "BULKWIRE_SERVER_PASSWORD": password},
            stdout=subprocess.PIPE,
            text=True,
        )
        address = self.process.stdout.readline().strip().rsplit("@", 1)[1].split("/")[0]
        host, port = address.rsplit(":", 1)
        self.connection = pymssql.connect(
            server=host, port=port, user="sa", password=password, database="master", autocommit=True
        )
        self.cursor = self.connection.cursor()

    def begin(self) -> None:
        self.cursor.execute("BEGIN TRANSACTION")

    def commit(self) -> None:
        self.cursor.execute("COMMIT")

    def literal(self, values: tuple[int, str, int]) -> None:
        self.cursor.execute("INSERT INTO small (id, name, amount) VALUES ({}, '{}', {})".format(*values))

    def parameters(self, values: tuple[int, str, int]) -> None:
        self.cursor.execute(
            "EXEC sp_executesql N'INSERT INTO small (id, name, amount) VALUES (@id, @name, @amount)', "
            "N'@id int, @name varchar(40), @amount bigint', @id = {}, @name = '{}', @amount = {}".format(
                *values
            )
        )

    def select(self, key: int) -> tuple[int, str, int]:
        self.cursor.execute(f"SELECT id, name, amount FROM small WHERE id = {key}")
        return self.cursor.fetchone()

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait(timeout=20)


class Sqlite:
    """A database of its own in this process."""

    def __init__(self, path: str):
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.cursor = self.connection.cursor()

    def begin(self) -> None:
        self.cursor.execute("BEGIN")

    def commit(self) -> None:
        self.cursor.execute("COMMIT")

    def literal(self, values: tuple[int, str, int]) -> None:
        self.cursor.execute("INSERT INTO small (id, name, amount) VALUES ({}, '{}', {})".format(*values))

    def parameters(self, values: tuple[int, str, int]) -> None:
        self.cursor.execute("INSERT INTO small (id, name, amount) VALUES (?, ?, ?)", values)

    def select(self, key: int) -> tuple[int, str, int]:
        self.cursor.execute(f"SELECT id, name, amount FROM small WHERE id = {key}")
        return self.cursor.fetchone()

    def close(self) -> None:
        self.connection.close()


def check(database: Bulkwire | Sqlite, rows: int) -> None:
    """The rows that were inserted are there, each once."""
    database.cursor.execute("SELECT COUNT(*), SUM(CAST(id AS bigint)), SUM(amount) FROM small")
    expected = (rows, rows * (rows - 1) // 2, 1_000_003 * rows * (rows - 1) // 2)
    found = tuple(database.cursor.fetchone())
    assert found == expected, f"{found} is not {expected}"


def round_of(database: Bulkwire | Sqlite, rows: int) -> dict[str, float]:
    """Seconds of every case, once."""
    seconds = {}

    def inserts(insert: Callable[[tuple[int, str, int]], None]) -> Callable[[], None]:
        def work() -> None:
            for n in range(rows):
                insert(row(n))

        return work

    def in_transaction(work: Callable[[], None]) -> Callable[[], None]:
        def together() -> None:
            database.begin()
            work()
            database.commit()

        return together

    def selects() -> None:
        for n in range(rows):
            key = n * 7919 % rows
            found = tuple(database.select(key))
            assert found == row(key), f"{found} is not row {key}"

    cases = {
        "INSERT, literals": inserts(database.literal),
        "INSERT, parameters": inserts(database.parameters),
        "INSERT, literals, one transaction": in_transaction(inserts(database.literal)),
        "INSERT, parameters, one transaction": in_transaction(inserts(database.parameters)),
    }
    for name, work in cases.items():
        database.cursor.execute(CREATE)
        seconds[name] = measured(work)
        check(database, rows)
        if name == "INSERT, parameters, one transaction":
            seconds["SELECT by primary key"] = measured(selects)
        database.cursor.execute("DROP TABLE small")
    return seconds


@contextlib.contextmanager
def databases(server: pathlib.Path) -> Iterator[dict[str, Callable[[], Bulkwire | Sqlite]]]:
    """How to open each database that is measured."""
    # Beside the program: /tmp may be memory, where a sync costs nothing.
    with tempfile.TemporaryDirectory(dir=server.parent) as folder:
        files = iter(range(1_000_000))
        yield {
            "bulkwire, in memory": lambda: Bulkwire(server, ["--in-memory"]),
            "bulkwire, on disk": lambda: Bulkwire(server, ["--data", f"{folder}/{next(files)}"]),
            "SQLite, in memory": lambda: Sqlite(":memory:"),
            "SQLite, on disk": lambda: Sqlite(f"{folder}/{next(files)}.sqlite"),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the bulkwire program")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    server = arguments.program.resolve()
    print(f"{arguments.rows} statements a case, median of {arguments.rounds} rounds: statements per second")
    with databases(server) as opened:
        results: dict[str, dict[str, list[float]]] = {}
        for _ in range(arguments.rounds):
            for name, open_database in opened.items():
                database = open_database()
                try:
                    for case, seconds in round_of(database, arguments.rows).items():
                        results.setdefault(case, {}).setdefault(name, []).append(seconds)
                finally:
                    database.close()
    names = list(next(iter(results.values())))
    print(f"{'':38}" + "".join(f"{name:>22}" for name in names))
    for case, by_name in results.items():
        rates = [arguments.rows / statistics.median(by_name[name]) for name in names]
        print(f"{case:38}" + "".join(f"{rate:>22,.0f}" for rate in rates))


if __name__ == "__main__":
    main()
