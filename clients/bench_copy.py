"""`bulkwire copy` beside its parts and beside other movers, in turn, verified.

    python clients/bench_copy.py --programs DIRECTORY [--rows 1000000] [--rounds 3]
    python clients/bench_copy.py --programs DIRECTORY --movers PYTHON [--ingestr PROGRAM] --rows 200000

The first form copies the 11-column table from one SQL Server to another, exports it to an Arrow file, and
loads that file: a copy should reach 0.8 of the slower of both. The second copies the table from PostgreSQL to
SQL Server, by `bulkwire copy` and by dlt, pandas and Polars, which PYTHON has (pip install
"dlt[mssql,sql_database]" pandas polars connectorx psycopg2-binary pyodbc mssql-python-odbc), and ingestr.
Counts and sums at the destination are compared with those of the source. Wall clock and CPU time of the mover
are the smallest of the rounds.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow.parquet as pq
from bench_transform import COLUMNS, Server, client_seconds, table

SUMS = (
    "SELECT COUNT_BIG(*), SUM(CAST(id AS bigint)), SUM(CAST(col_bigint AS decimal(38,0))), SUM(col_decimal), "
)
SUMS += "SUM(CAST(LEN(col_str1) AS bigint)) FROM "
MOVERS = ("pandas", "polars", "dlt", "ingestr")


def timed(words: list[object], environment: dict[str, str]) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a program."""
    cpu, begin = client_seconds(), time.perf_counter()
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[:3]}: {done.stdout[:300]}{done.stderr[:200]} ... {done.stderr[-900:]}")
    return time.perf_counter() - begin, client_seconds() - cpu


def url(server: Server, table: str = "") -> str:
    return f"mssql://sa@{server.address}/master{table}?encrypt=true&trustServerCertificate=true"


def sums(server: Server, table: str) -> tuple[object, ...]:
    server.cursor.execute(SUMS + table)
    return server.cursor.fetchone()


def best(rounds: int, cases: dict[str, Callable[[], tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """The smallest times of each case; a case that fails is said and left out."""
    found: dict[str, tuple[float, float]] = {}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        for name, case in cases.items():
            if name in failed:
                continue
            try:
                wall, cpu = case()
            except (RuntimeError, AssertionError) as error:
                failed[name] = str(error)
                print(f"{name}: {error}")
                continue
            before = found.get(name, (wall, cpu))
            found[name] = (min(before[0], wall), min(before[1], cpu))
    return {name: times for name, times in found.items() if name not in failed}


def between_servers(programs: pathlib.Path, rows: int, rounds: int, folder: pathlib.Path) -> None:
    parquet, arrow = folder / "eleven.parquet", folder / "eleven.arrow"
    pq.write_table(table(rows), parquet, row_group_size=65_536)
    source, target = Server(programs), Server(programs)
    bulkwire = programs / "bulkwire"
    # Each server has a password of its own.
    passwords = {"SOURCE_PASSWORD": source.password, "TARGET_PASSWORD": target.password}
    at_source = url(source).replace("sa@", "sa:${env:SOURCE_PASSWORD}@")
    at_target = url(target).replace("sa@", "sa:${env:TARGET_PASSWORD}@")

    def place(whole: str, name: str) -> str:
        return whole.replace("/master?", f"/master/dbo.{name}?")

    try:
        source.cursor.execute(f"CREATE TABLE eleven ({COLUMNS})")
        timed([bulkwire, "copy", parquet, place(at_source, "eleven"), "--quiet"], passwords)
        wanted = sums(source, "eleven")
        assert wanted[0] == rows

        def into_target(words: list[object]) -> tuple[float, float]:
            target.cursor.execute(f"DROP TABLE IF EXISTS eleven; CREATE TABLE eleven ({COLUMNS})")
            times = timed([bulkwire, *words, "--quiet"], passwords)
            assert sums(target, "eleven") == wanted, "the rows are not those of the source"
            return times

        def export() -> tuple[float, float]:
            arrow.unlink(missing_ok=True)
            return timed([bulkwire, "export", "dbo.eleven", arrow, "--url", at_source, "--quiet"], passwords)

        found = best(
            rounds,
            {
                "export to Arrow": export,
                "load from Arrow": lambda: into_target(["load", "dbo.eleven", arrow, "--url", at_target]),
                "copy": lambda: into_target(["copy", place(at_source, "eleven"), place(at_target, "eleven")]),
            },
        )
    finally:
        source.close()
        target.close()
    for name, (wall, cpu) in found.items():
        print(f"{name:16} {wall:6.2f} s, {rows / wall:>10,.0f} rows/s, program {cpu:6.2f} s of CPU")
    slower = max(found["export to Arrow"][0], found["load from Arrow"][0])
    together = found["export to Arrow"][1] + found["load from Arrow"][1]
    print(f"rate of the copy / the slower of export and load: {slower / found['copy'][0]:.2f}")
    print(f"CPU of the copy / export and load together: {found['copy'][1] / together:.2f}")


def from_postgresql(
    programs: pathlib.Path,
    python: pathlib.Path,
    ingestr: pathlib.Path | None,
    rows: int,
    rounds: int,
    folder: pathlib.Path,
) -> None:
    import foreign_databases

    target = Server(programs)
    parquet = folder / "eleven.parquet"
    pq.write_table(table(rows), parquet, row_group_size=65_536)
    host, port = target.address.rsplit(":", 1)
    with foreign_databases.postgresql(folder / "postgresql") as postgresql:
        environment = {
            "BULKWIRE_PASSWORD": target.password,
            "MOVER_SOURCE": postgresql.url,
            "MOVER_HOST": host,
            "MOVER_PORT": port,
            "MOVER_PASSWORD": target.password,
            "ODBCSYSINI": str(folder),
            # Where the ADBC driver of PostgreSQL is.
            "VIRTUAL_ENV": sys.prefix,
        }
        try:
            timed(
                [programs / "bulkwire", "copy", parquet, f"{postgresql.url}#eleven", "--quiet"], environment
            )
            [(count, ids)] = postgresql.rows("SELECT COUNT(*), SUM(id) FROM eleven")

            def moved(words: list[object]) -> tuple[float, float]:
                # dlt has tables of its own, which say that the others are there.
                own = "_dlt_version, _dlt_loads, _dlt_pipeline_state"
                target.cursor.execute(f"DROP TABLE IF EXISTS eleven, {own}")
                times = timed(words, environment)
                got = sums(target, "eleven")
                assert (got[0], got[1]) == (count, int(ids)), f"{got[:2]} instead of {(count, ids)}"
                return times

            script = pathlib.Path(__file__).parent / "movers.py"
            cases: dict[str, Callable[[], tuple[float, float]]] = {
                "bulkwire copy": lambda: moved(
                    [programs / "bulkwire", "copy", f"{postgresql.url}#eleven", url(target, "/dbo.eleven")]
                    + ["--quiet"]
                )
            }
            if ingestr is not None:
                environment["MOVER_INGESTR"] = str(ingestr)
            for name in MOVERS:
                if name == "ingestr" and ingestr is None:
                    continue
                cases[name] = lambda name=name: moved([python, script, name])
            found = best(rounds, cases)
        finally:
            target.close()
    base = found["bulkwire copy"]
    for name, (wall, cpu) in found.items():
        print(
            f"{name:16} {wall:7.2f} s, {rows / wall:>9,.0f} rows/s, CPU {cpu:7.2f} s; "
            f"{wall / base[0]:5.1f} times the time, {cpu / base[1]:5.1f} times the CPU"
        )


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--movers", type=pathlib.Path, help="a Python that has the other movers")
    parser.add_argument("--ingestr", type=pathlib.Path, help="the program of that name, below version 1")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # PostgreSQL runs as somebody else.
        os.chmod(folder, 0o755)
        if arguments.movers is None:
            between_servers(arguments.programs, arguments.rows, arguments.rounds, pathlib.Path(folder))
        else:
            from_postgresql(
                arguments.programs,
                arguments.movers,
                arguments.ingestr,
                arguments.rows,
                arguments.rounds,
                pathlib.Path(folder),
            )


if __name__ == "__main__":
    main()
