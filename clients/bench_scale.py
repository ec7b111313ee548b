"""What limits a load, by a formula, and by loads that are held back in these ways: the tables of
docs/scale.md.

    python clients/bench_scale.py --binaries target/release [--rounds 3]

The embedded server limits the rows of each session, or the line of each connection. Each case is loaded
over 1, 2, 4, 8 and 16 connections, and over as many as `--writers auto` finds. Its rate is compared
with what the formula says beforehand. Count and sums of the table are compared with the file's. What a
row costs is measured without a limit: bytes on the wire, processor time of both ends, and log. From
these follow the times of large loads.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from held_back_server import MEASURED, PASSWORD, command, measured, serve
from processor_time import ProcessorTime

from race.eleven import BATCH_ROWS, batch, create_table

SESSIONS = (1, 2, 4, 8, 16)
#: Seconds that a session's share takes.
SECONDS = 6.0
#: Requests of a batch that wait for an answer: its transaction, the statement, the rows, the commit.
ROUND_TRIPS = 5


@dataclasses.dataclass(frozen=True)
class Row:
    """What a row costs, as measured without a limit."""

    wire_bytes: float
    client_seconds: float
    server_seconds: float
    log_bytes: float


@dataclasses.dataclass(frozen=True)
class Limits:
    """What holds a load back; 0 does not.

    Attributes:
        session_rows: rows a second of a session.
        session_bytes: bytes a second of a session, or of its connection.
        window_bytes: bytes under way at most, on a connection.
        round_trip: seconds there and back.
        link_bytes: bytes a second of all connections together.
        log_bytes: bytes a second of the log.
        client_cores: cores of the client.
        server_cores: cores of the server.
    """

    session_rows: float = 0
    session_bytes: float = 0
    window_bytes: float = 0
    round_trip: float = 0
    link_bytes: float = 0
    log_bytes: float = 0
    client_cores: float = 0
    server_cores: float = 0

    def session_rate(self, row: Row, batch_rows: float = 0) -> float:
        """Rows a second of one session, in batches of so many rows; 0: what a batch costs does not count."""
        rates = [1 / row.client_seconds, self.session_rows, self.session_bytes / row.wire_bytes]
        if self.window_bytes and self.round_trip:
            rates.append(self.window_bytes / self.round_trip / row.wire_bytes)
        seconds = 1 / min(rate for rate in rates if rate > 0)
        return 1 / (seconds + (ROUND_TRIPS * self.round_trip / batch_rows if batch_rows else 0))

    def total_rates(self, row: Row) -> dict[str, float]:
        """Rows a second that no number of sessions passes, by what says so."""
        log = self.log_bytes / row.log_bytes if row.log_bytes else 0.0
        rates = {
            "link": self.link_bytes / row.wire_bytes,
            "log": log,
            "client's cores": self.client_cores / row.client_seconds,
            "server's cores": self.server_cores / row.server_seconds,
        }
        return {name: rate for name, rate in rates.items() if rate > 0}

    def rate(self, row: Row, sessions: int, batch_rows: float = 0) -> float:
        """Rows a second of so many sessions."""
        return min([sessions * self.session_rate(row, batch_rows), *self.total_rates(row).values()])

    def sessions(self, row: Row, most: int = 512) -> int:
        """The fewest sessions that reach the limit of all together."""
        totals = self.total_rates(row)
        enough = -(-min(totals.values()) // self.session_rate(row)) if totals else most
        return int(min(most, max(1, enough)))


class Source:
    """A file of the 11-column table."""

    def __init__(self, folder: pathlib.Path, rows: int) -> None:
        self.path = folder / f"{rows}.parquet"
        parts = [batch(first, min(BATCH_ROWS, rows - first)) for first in range(0, rows, BATCH_ROWS)]
        whole = pa.Table.from_batches(parts)
        pq.write_table(whole, self.path, row_group_size=BATCH_ROWS)
        self.rows = rows
        self.sums = f"{rows},{pc.sum(whole['id']).as_py()},{pc.sum(whole['col_decimal']).as_py()}"


def load(binaries: pathlib.Path, url: str, source: Source, *flags: str) -> dict[str, object]:
    """Loads once into an empty heap, and returns the report."""
    command(binaries, url, "query", f"DROP TABLE IF EXISTS eleven; {create_table('eleven')}")
    ran = command(binaries, measured(url), "load", "eleven", str(source.path), *flags, "--json", "--quiet")
    sums = "SELECT COUNT_BIG(*), SUM(CAST(id AS bigint)), SUM(col_decimal) FROM eleven"
    found = command(binaries, url, "query", sums, "-o", "csv").stdout.splitlines()[1]
    if found != source.sums:
        raise SystemExit(f"the table has {found} where {source.sums} was loaded")
    return json.loads(ran.stdout.strip().splitlines()[-1])


def cost_of_a_row(binaries: pathlib.Path, folder: pathlib.Path, rounds: int) -> Row:
    """Loads without a limit, on disk."""
    source = Source(folder, 1_000_000)
    seen: list[Row] = []
    with serve(binaries, folder, [], "--data", str(folder / "data")) as url:
        for round_ in range(rounds + 1):
            command(binaries, url, "query", f"DROP TABLE IF EXISTS eleven; {create_table('eleven')}")
            environment = {**os.environ, "BULKWIRE_URL": measured(url), "BULKWIRE_PASSWORD": PASSWORD}
            words = [binaries / "bulkwire", "load", "eleven", source.path, "--json", "--quiet"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            with ProcessorTime(lambda line: "server" if "bulkwire serve" in line else "client") as used:
                ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            report = json.loads(ran.stdout.strip().splitlines()[-1])
            client = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            costs = [report["bytes_on_wire"], client, used.seconds["server"], report["server_log_bytes"] or 0]
            if round_:
                seen.append(Row(*(cost / source.rows for cost in costs)))
    fields = [field.name for field in dataclasses.fields(Row)]
    return Row(*(statistics.median(getattr(row, name) for row in seen) for name in fields))


def simulate(binaries: pathlib.Path, folder: pathlib.Path, row: Row, rounds: int) -> None:
    """Loads that are held back, beside the formula."""
    capped = {"fault": "cap", "application": MEASURED, "rows_per_second": 10_000}
    narrow = {"fault": "link", "application": MEASURED, "delay_ms": 1, "bytes_per_second": 1_000_000}
    far = {"fault": "link", "application": MEASURED, "delay_ms": 40, "window_bytes": 65_536}
    # The server's line frees its window when bytes arrive, as if the receiver's answer took no time.
    cases = [
        ("10,000 rows/s a session", capped, Limits(session_rows=10_000)),
        ("a line of 1 MB/s each, 1 ms", narrow, Limits(session_bytes=1e6, round_trip=0.002)),
        ("a line of 40 ms each, window 64 KiB", far, Limits(session_bytes=65_536 / 0.040, round_trip=0.080)),
    ]
    print(
        "| Held back by | Sessions | Rows a batch | Formula, rows/s | Measured, rows/s | Measured : formula |"
    )
    print("|---|---|---|---|---|---|")
    for name, rule, limits in cases:
        with serve(binaries, folder, [rule], "--in-memory") as url:
            for sessions in SESSIONS:
                source = Source(folder, int(limits.rate(row, sessions) * SECONDS))
                reports = [load(binaries, url, source, "--writers", str(sessions)) for _ in range(rounds)]
                rates = [source.rows / float(report["seconds"]) for report in reports]
                batch_rows = source.rows / statistics.median(int(report["batches"]) for report in reports)
                expected = limits.rate(row, sessions, batch_rows)
                middle = statistics.median(rates)
                spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
                figures = f"{batch_rows:,.0f} | {expected:,.0f} | {middle:,.0f} ({spread})"
                print(f"| {name} | {sessions} | {figures} | {middle / expected:.2f} |", flush=True)
                source.path.unlink()
            source = Source(folder, int(limits.rate(row, 16) * SECONDS * 2))
            report = load(binaries, url, source, "--writers", "auto")
            rate = source.rows / float(report["seconds"])
            print(f"| {name} | `auto`: {report['writers']} | | | {rate:,.0f} | |", flush=True)
            source.path.unlink()


#: Places to load into, and what is known of them beforehand.
PLACES = [
    ("1 Gb/s, 4 + 4 cores", Limits(link_bytes=117e6, client_cores=4, server_cores=4)),
    ("10 Gb/s, 16 + 16 cores", Limits(link_bytes=1.17e9, client_cores=16, server_cores=16)),
    ("25 Gb/s, 16 + 64 cores", Limits(link_bytes=2.9e9, client_cores=16, server_cores=64)),
    (
        "log of 100 MB/s, 10 Gb/s",
        Limits(log_bytes=100e6, link_bytes=1.17e9, client_cores=16, server_cores=16),
    ),
    (
        "100,000 rows/s a session, 10 Gb/s",
        Limits(session_rows=100_000, link_bytes=1.17e9, client_cores=16, server_cores=16),
    ),
    (
        "20 ms, window 4 MiB, 10 Gb/s",
        Limits(window_bytes=4 << 20, round_trip=0.020, link_bytes=1.17e9, client_cores=16, server_cores=16),
    ),
]


def extrapolate(row: Row) -> None:
    """Times of large loads."""
    print("| Place | Sessions | Rows/s | Limit | 10⁹ rows | 10¹² rows |")
    print("|---|---|---|---|---|---|")
    for name, limits in PLACES:
        # Rows in full are logged where a log is the limit; elsewhere the load locks an empty heap.
        costs = row
        if limits.log_bytes:
            costs = dataclasses.replace(row, log_bytes=row.wire_bytes)
        sessions = limits.sessions(costs)
        rate = limits.rate(costs, sessions)
        totals = limits.total_rates(costs)
        limit = min(totals, key=totals.__getitem__)
        print(f"| {name} | {sessions} | {rate:,.0f} | {limit} | {_time(1e9 / rate)} | {_time(1e12 / rate)} |")


def _time(seconds: float) -> str:
    for length, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.0f} s"


def main() -> None:
    """Measures and prints."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        row = cost_of_a_row(arguments.binaries, folder, arguments.rounds)
        print(
            f"A row: {row.wire_bytes:.0f} bytes on the wire, {row.client_seconds * 1e9:.0f} ns of "
            f"the client, {row.server_seconds * 1e9:.0f} ns of the server, {row.log_bytes:.2f} bytes of log\n"
        )
        extrapolate(row)
        print()
        simulate(arguments.binaries, folder, row, arguments.rounds)


if __name__ == "__main__":
    main()
