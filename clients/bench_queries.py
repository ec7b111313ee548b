"""TPC-H's 22 queries beside DuckDB and DataFusion over the same rows, in one run.

    python clients/bench_queries.py --binaries FOLDER [--scale 0.5] [--rounds 5] [--only 1,6] [--keep FOLDER]
    python clients/bench_queries.py --binaries FOLDER --nested

With --nested it is nested queries over 100,000 rows instead, beside DuckDB alone.

The rows are generated once and loaded into heaps of a server with its data on disk, into a file of
DuckDB and into the memory of DataFusion; each engine has the same number of threads. Every answer is
compared with DuckDB's. A query runs once before it is measured. Printed are the median of the rounds in
milliseconds, the ratio to DuckDB with its spread (the least and the greatest of the rounds), the
processor's time of the server, and the time of its planning.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import datafusion
import duckdb
import pymssql
import tpch

TICKS = os.sysconf("SC_CLK_TCK")


class Bulkwire:
    """A server of its own, and a connection to it."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, flags: list[str]):
        self.password = secrets.token_urlsafe(12) + "Aa1"
        self.binaries = binaries
        self.process = subprocess.Popen(
            [binaries / "bulkwire", "serve", "--port", "0", "--data", folder, *flags],
            env={**os.environ, "BULKWIRE_SERVER_PASSWORD": self.password},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self.process.stdout.readline().strip().rsplit("@", 1)[1].split("/")[0]
        host, port = self.address.rsplit(":", 1)
        login = {"server": host, "port": port, "user": "sa", "password": self.password}
        self.connection = pymssql.connect(**login, database="master", autocommit=True)
        self.cursor = self.connection.cursor()

    def load(self, files: dict[str, pathlib.Path]) -> None:
        """Makes the tables that are not there."""
        url = f"mssql://sa:{self.password}@{self.address}/master?TrustServerCertificate=true"
        for name, path in files.items():
            self.cursor.execute(f"SELECT OBJECT_ID('{name}')")
            if self.cursor.fetchone()[0] is not None:
                continue
            self.cursor.execute(f"CREATE TABLE {name} ({tpch.TABLES[name]})")
            command = [self.binaries / "bulkwire", "load", "--quiet", name, path]
            subprocess.run(command, env={**os.environ, "BULKWIRE_URL": url}, check=True)
        self.cursor.execute("CHECKPOINT")

    def run(self, text: str) -> list[tuple]:
        self.cursor.execute(text)
        return self.cursor.fetchall()

    def plan(self, text: str) -> str:
        """Plans a query and returns what the server shows of the plan."""
        self.cursor.execute("SET SHOWPLAN_TEXT ON")
        try:
            self.cursor.execute(text)
            lines = [row[0] for row in self.cursor.fetchall()]
            while self.cursor.nextset():
                lines += [row[0] for row in self.cursor.fetchall()]
            return "\n".join(lines)
        finally:
            self.cursor.execute("SET SHOWPLAN_TEXT OFF")

    def processor_seconds(self) -> float:
        """What the server has used of the processors so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait(timeout=60)


class DuckDb:
    """A database in a file."""

    def __init__(self, path: pathlib.Path, threads: int):
        self.connection = duckdb.connect(str(path), config={"threads": threads})

    def load(self, files: dict[str, pathlib.Path]) -> None:
        for name, path in files.items():
            self.connection.execute(
                f"CREATE TABLE IF NOT EXISTS {name} AS SELECT * FROM read_parquet('{path}')"
            )

    def run(self, text: str) -> list[tuple]:
        return self.connection.execute(text).fetchall()


class DataFusion:
    """The engine alone over rows in memory."""

    def __init__(self, threads: int):
        self.context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))

    def load(self, files: dict[str, pathlib.Path]) -> None:
        for name, path in files.items():
            self.context.register_parquet(f"{name}_file", str(path))
            rows = self.context.sql(f"SELECT * FROM {name}_file").collect()
            self.context.register_record_batches(name, [rows[0::2], rows[1::2]])

    def run(self, text: str) -> list[tuple]:
        batches = self.context.sql(text).collect()
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def measured(work: Callable[[], object]) -> float:
    """Milliseconds that `work` takes."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


@contextlib.contextmanager
def kept(folder: pathlib.Path | None) -> Iterator[pathlib.Path]:
    """`folder`, or one that is removed afterwards."""
    if folder is not None:
        yield folder.resolve()
        return
    # Beside this file: /tmp may be memory.
    with tempfile.TemporaryDirectory(dir=pathlib.Path(__file__).parent) as temporary:
        yield pathlib.Path(temporary)


def compare(number: int, arguments: argparse.Namespace, engines: list) -> tuple[float, float] | None:
    """Measures one query and prints its line; its ratio to DuckDB and DataFusion's."""
    server, duck, fusion = engines
    text, other = tpch.tsql(number, arguments.scale), tpch.standard(number, arguments.scale)
    wanted = duck.run(other)
    try:
        differs = tpch.difference(server.run(text), wanted)
        fusion_differs = tpch.difference(fusion.run(other), wanted)
    except pymssql.Error as error:
        print(f"Q{number:<3} failed: {error}", flush=True)
        return None
    if differs or fusion_differs:
        print(f"Q{number:<3} differs: {differs or fusion_differs}", flush=True)
        return None
    own, ducks, fusions, processor = [], [], [], []
    for _ in range(arguments.rounds):
        before = server.processor_seconds()
        own.append(measured(lambda: server.run(text)))
        processor.append((server.processor_seconds() - before) * 1000)
        ducks.append(measured(lambda: duck.run(other)))
        fusions.append(measured(lambda: fusion.run(other)))
    plan = statistics.median(measured(lambda: server.plan(text)) for _ in range(3))
    duck_time = statistics.median(ducks)
    ratio = statistics.median(own) / duck_time
    print(
        f"Q{number:<3}{statistics.median(own):>9.1f}{duck_time:>9.1f}{statistics.median(fusions):>9.1f}{ratio:>8.2f}"
        f"  ({min(own) / duck_time:.2f} to {max(own) / duck_time:.2f})".ljust(60)
        + f"{statistics.median(processor):>9.0f}{plan:>8.1f}",
        flush=True,
    )
    return ratio, statistics.median(fusions) / duck_time


# Nested queries by name, for the server and for DuckDB.
NESTED = {
    "latest of each": (
        "SELECT COUNT(*), SUM(o.v) FROM o WHERE o.d = (SELECT MAX(i.d) FROM o i WHERE i.c = o.c)",
        "SELECT COUNT(*), SUM(o.v) FROM o WHERE o.d = (SELECT MAX(i.d) FROM o i WHERE i.c = o.c)",
    ),
    "top 3 of each": (
        "SELECT COUNT(*), SUM(x.v) FROM c CROSS APPLY"
        " (SELECT TOP (3) v FROM o WHERE o.c = c.id ORDER BY d DESC, id DESC) x",
        "SELECT COUNT(*), SUM(x.v) FROM c, LATERAL"
        " (SELECT v FROM o WHERE o.c = c.id ORDER BY d DESC, id DESC LIMIT 3) x",
    ),
    "running totals": (
        "SELECT COUNT(*), SUM(CAST(t AS bigint)) FROM"
        " (SELECT (SELECT SUM(i.v) FROM o i WHERE i.c = o.c AND i.d <= o.d) t FROM o) q",
        "SELECT COUNT(*), SUM(t) FROM"
        " (SELECT (SELECT SUM(i.v) FROM o i WHERE i.c = o.c AND i.d <= o.d) t FROM o) q",
    ),
    "NOT EXISTS, 2 levels up": (
        "SELECT COUNT(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.c = c.id AND NOT EXISTS"
        " (SELECT 1 FROM o i WHERE i.c = c.id AND i.d > o.d AND i.v < o.v))",
        "SELECT COUNT(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.c = c.id AND NOT EXISTS"
        " (SELECT 1 FROM o i WHERE i.c = c.id AND i.d > o.d AND i.v < o.v))",
    ),
    "recursion under APPLY": (
        "SELECT COUNT(*), SUM(x.n) FROM c CROSS APPLY (SELECT COUNT(*) n FROM tree(c.id)) x"
        " WHERE c.id <= 1000",
        "WITH RECURSIVE r AS (SELECT id AS root, id FROM c WHERE id <= 1000 UNION ALL"
        " SELECT r.root, c.id FROM c JOIN r ON c.boss = r.id)"
        " SELECT COUNT(DISTINCT root), COUNT(*) FROM r",
    ),
}
NESTED_ROWS = 100_000


def nested_tables(series: str) -> list[str]:
    """The statements that make the tables of the nested queries; `series` gives numbers from 1 to `{}`."""
    chosen = ", ".join(
        f"1 + CAST((CAST(value AS bigint) * {factor}) % {modulus} AS int)"
        for factor, modulus in ((7919, 5000), (104729, 1009), (31337, 997))
    )
    return [
        "CREATE TABLE c (id int NOT NULL PRIMARY KEY, boss int)",
        "CREATE TABLE o (id int NOT NULL PRIMARY KEY, c int NOT NULL, d int NOT NULL, v int NOT NULL)",
        f"INSERT INTO c SELECT value, CAST(FLOOR(value / 2.0) AS int) FROM {series.format(5000)}",
        f"INSERT INTO o SELECT value, {chosen} FROM {series.format(NESTED_ROWS)}",
    ]


def compare_nested(server: Bulkwire, threads: int, rounds: int) -> None:
    """Measures the nested queries and prints their lines; answers that differ end it."""
    duck = duckdb.connect(config={"threads": threads})
    for statement in nested_tables("(SELECT UNNEST(generate_series(1, {})) AS value)"):
        duck.execute(statement)
    for statement in nested_tables("GENERATE_SERIES(1, {})"):
        server.cursor.execute(statement)
    server.cursor.execute(
        "CREATE FUNCTION tree (@root int) RETURNS TABLE AS RETURN"
        " WITH r AS (SELECT id FROM c WHERE id = @root UNION ALL SELECT c.id FROM c JOIN r ON c.boss = r.id)"
        " SELECT id FROM r"
    )
    print(f"{NESTED_ROWS} rows, {threads} threads, median of {rounds} rounds")
    for name, (text, other) in NESTED.items():
        given, wanted = server.run(text), duck.execute(other).fetchall()
        if [tuple(map(int, row)) for row in given] != [tuple(map(int, row)) for row in wanted]:
            sys.exit(f"{name} differs: {given}, not {wanted}")
        own, ducks = [], []
        for _ in range(rounds):
            own.append(measured(lambda text=text: server.run(text)))
            ducks.append(measured(lambda other=other: duck.execute(other).fetchall()))
        duck_time = statistics.median(ducks)
        ratios = [time / duck_time for time in (statistics.median(own), min(own), max(own))]
        print(
            f"{name:<26}{statistics.median(own):>9.1f}{duck_time:>9.1f}{ratios[0]:>8.2f}"
            f"  ({ratios[1]:.2f} to {ratios[2]:.2f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", help="numbers of queries")
    parser.add_argument("--keep", type=pathlib.Path, help="folder whose rows are used again")
    parser.add_argument("--server", default="", help="flags of the server")
    parser.add_argument("--plans", action="store_true", help="print the plans and stop")
    parser.add_argument("--nested", action="store_true", help="measure nested queries instead")
    arguments = parser.parse_args()
    numbers = [int(number) for number in arguments.only.split(",")] if arguments.only else list(tpch.QUERIES)
    with kept(arguments.keep) as folder:
        if arguments.nested:
            server = Bulkwire(
                arguments.binaries.resolve(), folder / "server-nested", arguments.server.split()
            )
            try:
                compare_nested(server, arguments.threads, arguments.rounds)
            finally:
                server.close()
            return
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        files = tpch.generate(arguments.scale, folder / f"rows-{arguments.scale}", generator)
        server = Bulkwire(
            arguments.binaries.resolve(), folder / f"server-{arguments.scale}", arguments.server.split()
        )
        try:
            server.load(files)
            if arguments.plans:
                for number in numbers:
                    print(f"Q{number}\n{server.plan(tpch.tsql(number, arguments.scale))}\n")
                return
            duck = DuckDb(folder / f"duckdb-{arguments.scale}", arguments.threads)
            fusion = DataFusion(arguments.threads)
            duck.load(files)
            fusion.load(files)
            print(
                f"scale {arguments.scale}, {arguments.threads} threads, median of {arguments.rounds} rounds"
            )
            print(
                f"{'':4}{'bulkwire':>9}{'DuckDB':>9}{'DataFus.':>9}{'ratio':>8}".ljust(60)
                + f"{'CPU ms':>9}{'plan ms':>8}"
            )
            ratios = [
                ratio for number in numbers if (ratio := compare(number, arguments, [server, duck, fusion]))
            ]
            if ratios:
                print(f"{len(ratios)} of {len(numbers)}; geometric mean of the ratios to DuckDB:", end=" ")
                print(f"{statistics.geometric_mean(own for own, _ in ratios):.2f}", end=", DataFusion's ")
                print(f"{statistics.geometric_mean(fusion for _, fusion in ratios):.2f}")
        finally:
            server.close()


if __name__ == "__main__":
    main()
