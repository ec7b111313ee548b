"""What temporary tables cost: row-wise updates, deletes and reads of an indexed `#t` of a million rows.

    python clients/bench_temporary_tables.py --program BULKWIRE [--program OTHER] [--rows N] [--statements N]

Several servers take turns in one run, so that an earlier build can stand beside a later one. After each
figure the rows are counted and summed: every statement must have done its work.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable

import pymssql
from bench_undo import Server

# Of each measurement; the least of them is far from what a busy machine adds.
ROUNDS = 3


class Table:
    """A temporary table with the rows 1 to `rows`, and what its columns must add up to."""

    def __init__(self, cursor: pymssql.Cursor, rows: int):
        self.cursor, self.rows, self.sum, self.random = cursor, rows, 0, random.Random(4)
        cursor.execute(
            "CREATE TABLE #t (id int NOT NULL PRIMARY KEY, v int NOT NULL, s varchar(40) NOT NULL)"
        )
        cursor.execute(f"INSERT #t SELECT value, 0, 'some text of a row' FROM GENERATE_SERIES(1, {rows})")
        cursor.execute("CREATE INDEX i ON #t (v)")

    def update(self) -> None:
        """Adds to one row, found by its key."""
        self.cursor.execute(f"UPDATE #t SET v = v + 1 WHERE id = {self.random.randint(1, self.rows)}")
        self.sum += 1

    def read(self) -> None:
        """Reads one row by its key."""
        key = self.random.randint(1, self.rows)
        self.cursor.execute(f"SELECT id FROM #t WHERE id = {key}")
        assert self.cursor.fetchone() == (key,)

    def replace(self) -> None:
        """Deletes the row of the highest key and inserts it again, as two statements."""
        self.cursor.execute(f"DELETE #t WHERE id = {self.rows}")
        self.cursor.execute(f"INSERT #t VALUES ({self.rows}, 0, 'some text of a row')")

    def check(self) -> None:
        """Count, and sum of what was added."""
        self.cursor.execute("SELECT COUNT(*), SUM(CAST(id AS bigint)) FROM #t")
        assert self.cursor.fetchone() == (self.rows, self.rows * (self.rows + 1) // 2)

    def check_sum(self) -> None:
        """Before rows are replaced: every update is there."""
        self.cursor.execute("SELECT SUM(CAST(v AS bigint)) FROM #t")
        assert self.cursor.fetchone() == (self.sum,)


def seconds(step: Callable[[], None], times: int) -> float:
    """Seconds of one of so many steps."""
    begin = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - begin) / times


def measure(program: pathlib.Path, rows: int, statements: int) -> dict[str, float]:
    """Seconds of each kind of statement, on a server of its own."""
    with tempfile.TemporaryDirectory() as directory:
        server = Server(program, directory)
        try:
            with server.connect() as connection:
                begin = time.perf_counter()
                table = Table(connection.cursor(), rows)
                figures = {"made, with an index": time.perf_counter() - begin}
                figures["UPDATE of a row"] = seconds(table.update, statements)
                table.check_sum()
                figures["SELECT of a row"] = seconds(table.read, statements)
                figures["DELETE and INSERT of a row"] = seconds(table.replace, statements)
                table.check()
                return figures
        finally:
            server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True, action="append")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--statements", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    seen: dict[pathlib.Path, list[dict[str, float]]] = {program: [] for program in arguments.program}
    for _ in range(arguments.rounds):
        for program, figures in seen.items():
            figures.append(measure(program, arguments.rows, arguments.statements))
    for program, figures in seen.items():
        print(f"{program}: #t of {arguments.rows:,} rows, {arguments.statements:,} statements of a kind")
        for name in figures[0]:
            milliseconds = sorted(figure[name] * 1000 for figure in figures)
            print(
                f"  {name:28} {statistics.median(milliseconds):10.3f} ms"
                f"  ({milliseconds[0]:.3f} to {milliseconds[-1]:.3f})"
            )


if __name__ == "__main__":
    main()
