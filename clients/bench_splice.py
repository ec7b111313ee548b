"""`bulkwire copy` from server to server with rows spliced and decoded, beside its halves, in turn, verified.

    python clients/bench_splice.py --programs DIRECTORY [--rows 1000000] [--rounds 5] [--encrypt] [--nulls]

Each round exports the 11-column table to an Arrow file, loads that file, and copies the table from one server
to another: with rows spliced, and with rows decoded (`--max-errors` needs their values). The table shows for
each the processor time of the program, of both servers, and the wall clock: the least and the greatest of the
rounds. Count and checksum of all columns at the destination must be the source's.

Processor times hold on a busy machine, rates do not.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pyarrow.parquet as pq
from bench_transform import COLUMNS, Server, client_seconds, table

CHECKSUM = "SELECT COUNT_BIG(*), CHECKSUM_AGG(BINARY_CHECKSUM(*)), SUM(CAST(id AS bigint)) FROM dbo.eleven"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one run took, in seconds."""

    program: float
    servers: float
    wall: float


def server_seconds(server: Server) -> float:
    """User and system time of a server so far."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument(
        "--server-programs", type=pathlib.Path, help="where the servers' program is, if elsewhere"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--encrypt", action="store_true", help="by TLS, as connections are unless told otherwise"
    )
    parser.add_argument(
        "--nulls", action="store_true", help="a third of the values of nullable columns are NULL"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments, pathlib.Path(folder))


def measure(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    """Runs the rounds and prints the table."""
    parquet, arrow = folder / "eleven.parquet", folder / "eleven.arrow"
    pq.write_table(table(arguments.rows), parquet, row_group_size=65_536)
    programs = arguments.server_programs or arguments.programs
    source, target = Server(programs), Server(programs)
    bulkwire = arguments.programs / "bulkwire"
    # Each server has a password of its own.
    passwords = {"SOURCE_PASSWORD": source.password, "TARGET_PASSWORD": target.password}
    encrypt = "true" if arguments.encrypt else "disable"

    def url(server: Server, user: str) -> str:
        options = f"encrypt={encrypt}&trustServerCertificate=true"
        return f"mssql://sa:${{env:{user}_PASSWORD}}@{server.address}/master?{options}"

    def place(whole: str) -> str:
        return whole.replace("/master?", "/master/dbo.eleven?")

    def cost(words: list[object]) -> Cost:
        both = (source, target)
        before = client_seconds(), sum(map(server_seconds, both)), time.perf_counter()
        done = subprocess.run(
            [bulkwire, *words, "--quiet"], env={**os.environ, **passwords}, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]}: {done.stdout[:300]}{done.stderr[-900:]}")
        after = client_seconds(), sum(map(server_seconds, both)), time.perf_counter()
        return Cost(*(last - first for first, last in zip(before, after, strict=True)))

    def checksum(server: Server) -> tuple[object, ...]:
        server.cursor.execute(CHECKSUM)
        return server.cursor.fetchone()

    try:
        source.cursor.execute(f"CREATE TABLE dbo.eleven ({COLUMNS})")
        cost(["copy", parquet, place(url(source, "SOURCE"))])
        if arguments.nulls:
            columns = [column.split()[0] for column in COLUMNS.split(", ")[1:]]
            changes = [
                f"{name} = CASE WHEN id % 3 = {at % 3} THEN NULL ELSE {name} END"
                for at, name in enumerate(columns)
            ]
            source.cursor.execute(f"UPDATE dbo.eleven SET {', '.join(changes)}")
        wanted = checksum(source)
        assert wanted[0] == arguments.rows

        def into_target(words: list[object]) -> Cost:
            target.cursor.execute(f"DROP TABLE IF EXISTS dbo.eleven; CREATE TABLE dbo.eleven ({COLUMNS})")
            spent = cost(words)
            assert checksum(target) == wanted, "the rows are not those of the source"
            return spent

        def export() -> Cost:
            arrow.unlink(missing_ok=True)
            return cost(["export", "dbo.eleven", arrow, "--url", url(source, "SOURCE")])

        ends = [place(url(source, "SOURCE")), place(url(target, "TARGET"))]
        target.cursor.execute(f"CREATE TABLE dbo.eleven ({COLUMNS})")
        plan = subprocess.run(
            [bulkwire, "copy", *ends, "--dry-run"],
            env={**os.environ, **passwords},
            capture_output=True,
            text=True,
        )
        said = [line for line in (plan.stdout + plan.stderr).splitlines() if line.startswith("rows ")]
        print("\n".join(said) or "the plan says nothing of spliced rows")
        cases = {
            "export to Arrow": export,
            "load from Arrow": lambda: into_target(
                ["load", "dbo.eleven", arrow, "--url", url(target, "TARGET")]
            ),
            "copy, decoded": lambda: into_target(["copy", *ends, "--max-errors", "1"]),
            "copy, spliced": lambda: into_target(["copy", *ends]),
        }
        spent: dict[str, list[Cost]] = {name: [] for name in cases}
        for _ in range(arguments.rounds):
            for name, case in cases.items():
                spent[name].append(case())
    finally:
        source.close()
        target.close()
    report(spent, arguments.rows)


def report(spent: dict[str, list[Cost]], rows: int) -> None:
    """Prints the costs and their ratios."""
    print(f"{rows:,} rows; least to greatest of {len(next(iter(spent.values())))} rounds, seconds")
    for name, costs in spent.items():
        shown = []
        for of in ("program", "servers", "wall"):
            values = [getattr(cost, of) for cost in costs]
            shown.append(f"{of} {min(values):6.3f} to {max(values):6.3f}")
        rate = rows / min(cost.wall for cost in costs)
        print(f"{name:16} {'; '.join(shown)}; {rate:>11,.0f} rows/s")

    def least(name: str, of: str) -> float:
        return min(getattr(cost, of) for cost in spent[name])

    spliced, decoded = least("copy, spliced", "program"), least("copy, decoded", "program")
    slower = max(least("export to Arrow", "wall"), least("load from Arrow", "wall"))
    print(f"program, spliced / decoded: {spliced / decoded:.2f}")
    ratio = slower / least("copy, spliced", "wall")
    print(f"rate of the spliced copy / the slower of export and load: {ratio:.2f}")


if __name__ == "__main__":
    sys.exit(main())
