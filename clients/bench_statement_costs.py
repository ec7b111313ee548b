"""What statements cost before they touch many rows: planning, subqueries, recursion, definitions.

    python clients/bench_statement_costs.py --program BULKWIRE [--tables 1086] [--only planning|rows|tables]

Figures are processor time of the server alone (its CPU clock), so that other work on the machine hardly
shows. Each statement of a group has another text, as statements from programs have.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterable

import pymssql

ROWS = 30


class Server:
    """A server of its own, and one connection to it."""

    def __init__(self, program: pathlib.Path, arguments: list[str]):
        password = secrets.token_urlsafe(12) + "Aa1"
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", *arguments],
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

    def cpu(self) -> float:
        """Seconds of processor time so far: the clock of another process (clock_getcpuclockid)."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def run(self, statement: str) -> list[tuple]:
        """Runs a statement and reads what it returns."""
        self.cursor.execute(statement)
        return self.cursor.fetchall() if self.cursor.description else []

    def cost(self, statements: Iterable[str]) -> float:
        """Milliseconds of processor time for each of some statements."""
        begin, count = self.cpu(), 0
        for statement in statements:
            self.run(statement)
            count += 1
        return (self.cpu() - begin) * 1000 / max(count, 1)

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def planning(server: Server) -> None:
    """Queries of a table of a few rows; all but the round trip is planning."""
    server.run("CREATE TABLE t1 (a int NOT NULL, b int NULL, c varchar(20) NULL)")
    values = ", ".join(f"({n}, {n % 7}, 'v{n}')" for n in range(ROWS))
    server.run(f"INSERT t1 VALUES {values}")
    for n in range(50):
        server.run(f"CREATE TABLE j{n} (id int NOT NULL PRIMARY KEY, v int NULL)")
        server.run(f"INSERT j{n} VALUES (1, {n}), (2, {n})")

    def joined(tables: int, n: int) -> str:
        joins = " ".join(f"JOIN j{k} ON j{k}.id = j{k - 1}.id" for k in range(1, tables))
        return f"SELECT j0.v FROM j0 {joins} WHERE j0.id = {n % 2 + 1}"

    def comma(tables: int, n: int) -> str:
        names = ", ".join(f"j{k}" for k in range(tables))
        equal = " AND ".join(f"j{k}.id = j{k - 1}.id" for k in range(1, tables))
        return f"SELECT j0.v FROM {names} WHERE {equal} AND j0.id = {n % 2 + 1}"

    shapes = {
        "round trip (SET)": lambda n: f"SET LOCK_TIMEOUT {n}",
        "no table": lambda n: f"SELECT {n} AS x",
        "WHERE": lambda n: f"SELECT a FROM t1 WHERE a = {n}",
        "WHERE, 3 terms": lambda n: f"SELECT a, b FROM t1 WHERE a > {n} AND b < {n} AND c <> 'v{n}'",
        "ORDER BY": lambda n: f"SELECT a, b FROM t1 WHERE a < {n} ORDER BY b DESC, a",
        "TOP, ORDER BY": lambda n: f"SELECT TOP 5 a, b FROM t1 WHERE a < {n} ORDER BY b DESC",
        "GROUP BY": lambda n: f"SELECT b, COUNT(*) FROM t1 WHERE a < {n} GROUP BY b",
        "GROUP BY, SUM, HAVING": lambda n: f"SELECT b, SUM(a) FROM t1 GROUP BY b HAVING SUM(a) > {n}",
        "COUNT(*)": lambda n: f"SELECT COUNT(*) FROM t1 WHERE a < {n}",
        "DISTINCT": lambda n: f"SELECT DISTINCT b FROM t1 WHERE a < {n}",
        "CASE": lambda n: f"SELECT CASE WHEN a < {n} THEN b ELSE a END FROM t1",
        "CASE in WHERE": lambda n: f"SELECT a FROM t1 WHERE CASE WHEN b < {n} THEN 1 ELSE 0 END = 1",
        "functions": lambda n: f"SELECT UPPER(c), LEN(c) + {n}, COALESCE(b, a) FROM t1",
        "IN of 5": lambda n: f"SELECT a FROM t1 WHERE a IN ({n}, 1, 2, 3, 4)",
        "EXISTS": lambda n: (
            f"SELECT a FROM t1 WHERE EXISTS (SELECT 1 FROM j1 WHERE j1.id = t1.a AND j1.v <> {n})"
        ),
        "derived table": lambda n: f"SELECT x FROM (SELECT a + 1 AS x FROM t1) d WHERE x > {n}",
        "UNION ALL": lambda n: f"SELECT a FROM t1 WHERE a = {n} UNION ALL SELECT b FROM t1",
        "ROW_NUMBER": lambda n: f"SELECT a + {n}, ROW_NUMBER() OVER (ORDER BY b) FROM t1",
        "join of 2": lambda n: f"SELECT t1.a, j1.v FROM t1 JOIN j1 ON j1.id = t1.b WHERE t1.a = {n}",
        "LEFT JOIN of 2": lambda n: (
            f"SELECT t1.a, j1.v FROM t1 LEFT JOIN j1 ON j1.id = t1.b WHERE t1.a = {n}"
        ),
        "join of 4": lambda n: joined(4, n),
        "UPDATE": lambda n: f"UPDATE t1 SET b = b WHERE a = {n}",
        "DELETE": lambda n: f"DELETE t1 WHERE a = {n + 1000}",
    }
    for name, shape in shapes.items():
        server.cost(shape(n) for n in range(20))
        print(f"{name:28}{server.cost(shape(n) for n in range(300)):9.3f} ms")
    for tables in (16, 32, 48):
        server.run(joined(tables, 0))
        print(f"join of {tables:<20}{server.cost(joined(tables, n) for n in range(10)):9.3f} ms")
    server.run(comma(48, 0))
    print(f"{'comma join of 48':28}{server.cost(comma(48, n) for n in range(10)):9.3f} ms")


def rows(server: Server) -> None:
    """Subqueries for each row, levels of recursion, values."""
    server.run("CREATE TABLE big (a int NOT NULL, b int NOT NULL)")
    for first in range(0, 4000, 1000):
        server.run(
            "INSERT big VALUES " + ", ".join(f"({n}, {n * 7919 % 4001})" for n in range(first, first + 1000))
        )
    server.run("CREATE TABLE few (a int NOT NULL)")
    server.run("INSERT few VALUES (1), (1000), (4000)")
    begin = server.cpu()
    server.run("SELECT SUM(n) FROM (SELECT (SELECT COUNT(*) FROM few x WHERE x.a < big.b) AS n FROM big) d")
    print(f"{'correlated COUNT':28}{(server.cpu() - begin) * 1e6 / 4000:9.1f} us a row")
    begin = server.cpu()
    server.run(
        "SELECT SUM(n) FROM (SELECT (SELECT TOP 1 x.a FROM few x WHERE x.a > big.b ORDER BY x.a) AS n "
        "FROM big) d"
    )
    print(f"{'correlated TOP 1':28}{(server.cpu() - begin) * 1e6 / 4000:9.1f} us a row")
    levels = 32_767
    begin = server.cpu()
    server.run(
        f"WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < {levels}) "
        "SELECT COUNT(*) FROM r OPTION (MAXRECURSION 0)"
    )
    print(f"{'recursion':28}{(server.cpu() - begin) * 1e6 / levels:9.1f} us a level")
    values = ", ".join(f"({n})" for n in range(100_000))
    begin = server.cpu()
    server.run(f"SELECT COUNT(*) FROM (VALUES {values}) v(a)")
    print(f"{'VALUES of 100,000 rows':28}{(server.cpu() - begin) * 1000:9.0f} ms")


def tables(server: Server, count: int, within: bool) -> None:
    """Definitions and small changes among many tables: the first and the last quarter of them."""
    kinds = {
        "CREATE TABLE, FOREIGN KEY": lambda n: (
            f"CREATE TABLE c{n} (id int NOT NULL PRIMARY KEY, p int NULL, v int NULL CHECK (v > 0), "
            f"CONSTRAINT fk{n} FOREIGN KEY (p) REFERENCES parent (id))"
        ),
        "NOCHECK CONSTRAINT ALL": lambda n: f"ALTER TABLE c{n} NOCHECK CONSTRAINT ALL",
        "CHECK CONSTRAINT ALL": lambda n: f"ALTER TABLE c{n} CHECK CONSTRAINT ALL",
        "ADD a column": lambda n: f"ALTER TABLE c{n} ADD extra int NULL",
        "INSERT": lambda n: f"INSERT c{n} (id, p, v) VALUES (1, 1, 1)",
        "UPDATE": lambda n: f"UPDATE c{n} SET v = 2 WHERE id = 1",
        "SELECT": lambda n: f"SELECT v FROM c{n} WHERE id = 1",
        "INSERT of a parent": lambda n: f"INSERT parent VALUES ({n + 10})",
        "IF OBJECT_ID": lambda n: f"IF OBJECT_ID('c{n}') IS NULL PRINT 'gone'",
        "CREATE INDEX": lambda n: f"CREATE INDEX ix{n} ON c{n} (v)",
        "DROP TABLE": lambda n: f"DROP TABLE c{n}",
    }
    server.run("CREATE TABLE parent (id int NOT NULL PRIMARY KEY)")
    server.run("INSERT parent VALUES (1)")
    print(f"{count} tables, {'one transaction' if within else 'autocommit'}: first and last quarter")
    if within:
        server.run("BEGIN TRANSACTION")
    quarter = count // 4
    for name, statement in kinds.items():
        parts = [
            server.cost(statement(n) for n in range(first, first + quarter))
            for first in range(0, 4 * quarter, quarter)
        ]
        print(f"{name:28}{parts[0]:9.3f} ms {parts[3]:9.3f} ms")
    if within:
        begin = server.cpu()
        server.run("COMMIT")
        print(f"{'COMMIT':28}{(server.cpu() - begin) * 1000:9.1f} ms")
    server.run("DROP TABLE parent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--tables", type=int, default=1086)
    parser.add_argument("--only", choices=["planning", "rows", "tables"])
    options = parser.parse_args()
    for part in [options.only] if options.only else ["planning", "rows", "tables"]:
        with tempfile.TemporaryDirectory() as directory:
            place = ["--data", directory, "--no-sync"] if part == "tables" else ["--in-memory"]
            server = Server(options.server, place)
            try:
                if part == "planning":
                    planning(server)
                elif part == "rows":
                    rows(server)
                else:
                    tables(server, options.tables, within=False)
                    tables(server, options.tables, within=True)
            finally:
                server.close()


if __name__ == "__main__":
    main()
