"""Exports over one connection and over several, on a link with a delay and a window, all in one run.

    python clients/bench_parallel_reads.py --binaries target/release [--rows 200000] [--delay-ms 10]
    python clients/bench_parallel_reads.py --binaries target/release --delay-ms 0 --rate 2000000
    python clients/bench_parallel_reads.py --binaries target/release --delay-ms 0 --readers 1,auto

The embedded server delays each direction of its connections, or lets each session have `--rate` bytes a
second (`--faults`); nothing computes meanwhile. Exports are CSV, and all must write the same bytes. The
median of each number of readers is printed, its ratio to the first, and the processor time of the client.
Rounds alternate: a busy moment hits all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import resource
import statistics
import tempfile
import time

from held_back_server import command, link, measured, serve

COLUMNS = (
    "id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, "
    "amount decimal(9, 2) NOT NULL, note char(400) NOT NULL"
)
ROWS = (
    "INSERT INTO t SELECT value, CONCAT(N'customer ', value % 9973), value % 1000 / 4.0, "
    "CONCAT('note ', value) FROM GENERATE_SERIES(1, {rows})"
)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--delay-ms", type=float, default=10, help="one way; 0: no link at all")
    parser.add_argument(
        "--window", type=int, default=65_536, help="bytes under way at most, for each connection"
    )
    parser.add_argument("--rate", type=int, default=0, help="bytes a second for each session; 0: no limit")
    parser.add_argument("--ranges", type=int, default=0, help="0: as the plan has it")
    parser.add_argument("--readers", default="1,2,4,8,auto")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rules = link(arguments.delay_ms, arguments.window, arguments.rate)
        with serve(arguments.binaries, folder, rules, "--in-memory") as url:
            command(arguments.binaries, url, "query", f"CREATE TABLE t ({COLUMNS})")
            command(arguments.binaries, url, "query", ROWS.format(rows=arguments.rows))
            measure(arguments, measured(url), folder)


def measure(arguments: argparse.Namespace, url: str, folder: pathlib.Path) -> None:
    """Exports by each number of readers in turn, and prints the medians."""
    ways = arguments.readers.split(",")
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    told: dict[str, dict[str, object]] = {}
    expected = None
    for _ in range(arguments.rounds):
        for way in ways:
            file = folder / "t.csv"
            begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            flags = ["--readers", way, "--json"]
            if arguments.ranges > 0:
                flags += ["--ranges", str(arguments.ranges)]
            ran = command(arguments.binaries, url, "export", "t", str(file), *flags)
            seconds[way].append(time.perf_counter() - begin)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[way].append(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime)
            told[way] = json.loads(ran.stderr.strip().splitlines()[-1])
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            expected = expected or digest
            if digest != expected or told[way]["rows"] != arguments.rows:
                raise SystemExit(f"{way} readers wrote other rows: {told[way]}")
    one = statistics.median(seconds[ways[0]])
    for way in ways:
        median = statistics.median(seconds[way])
        limit, used = told[way].get("limit", "-"), told[way].get("readers", 1)
        spread = f"{min(seconds[way]):.3f}-{max(seconds[way]):.3f}"
        print(
            f"readers {way:>4}: {median:7.3f} s ({spread}), {one / median:5.2f} x, "
            f"client {statistics.median(cpu[way]):.2f} s of CPU, {used} at work, limit: {limit}"
        )


if __name__ == "__main__":
    main()
