"""Loads over one connection and over several, into a server that holds each session back, all in one run.

    python clients/bench_parallel_loads.py --binaries target/release [--rows 1600000] [--cap 20000]
    python clients/bench_parallel_loads.py --binaries target/release --cap 0 --delay-ms 10 --window 65536
    python clients/bench_parallel_loads.py --binaries target/release --cap 0 --resume --writers 1

The embedded server sleeps (`--faults`): `--cap` rows a second for each session, or a link with a delay and a
window. After each load the table's count, distinct keys and sum are compared with the file's. The first way
loads `--share` of the rows, so that one session does not take all day; rates are compared, not times. With
`--resume` each way runs without and with the ledger in turn, and the ratio of the two is printed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import tempfile
import time

from held_back_server import MEASURED, command, link, measured, serve


def rules_of(arguments: argparse.Namespace) -> list[dict[str, object]]:
    """What holds the sessions back."""
    cap = {"fault": "cap", "application": MEASURED, "rows_per_second": arguments.cap}
    return ([cap] if arguments.cap > 0 else []) + link(arguments.delay_ms, arguments.window)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=1_600_000)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--cap", type=int, default=20_000, help="rows a second for each session; 0: no limit")
    parser.add_argument("--delay-ms", type=float, default=0, help="one way; 0: no link at all")
    parser.add_argument("--window", type=int, default=65_536, help="bytes under way at most")
    parser.add_argument("--writers", default="1,8,16,auto")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--disk", action="store_true", help="on disk instead of in memory")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, rows in [("few.csv", int(arguments.rows * arguments.share)), ("all.csv", arguments.rows)]:
            lines = (f"{n},customer {n % 9973},{n % 1000}.25\n" for n in range(rows))
            with (folder / file).open("w") as out:
                out.write("id,name,amount\n")
                out.writelines(lines)
        where = ["--data", str(folder / "data")] if arguments.disk else ["--in-memory"]
        with serve(arguments.binaries, folder, rules_of(arguments), *where) as url:
            definition = "id int NOT NULL, name varchar(40) NOT NULL, amount decimal(9, 2) NOT NULL"
            command(arguments.binaries, url, "query", f"CREATE TABLE t ({definition})")
            measure(arguments, url, folder)


def measure(arguments: argparse.Namespace, url: str, folder: pathlib.Path) -> None:
    """Loads by each number of writers in turn, and prints the medians of their rates."""
    ways = arguments.writers.split(",")
    ledgers = [False, True] if arguments.resume else [False]
    rates: dict[tuple[str, bool], list[float]] = {}
    said: dict[tuple[str, bool], dict[str, object]] = {}
    for round_ in range(arguments.rounds):
        for way in ways:
            is_few = way == ways[0] and len(ways) > 1
            rows = int(arguments.rows * arguments.share) if is_few else arguments.rows
            file = folder / ("few.csv" if is_few else "all.csv")
            for ledger in ledgers:
                flags = ["--writers", way, "--json", "--quiet"]
                if ledger:
                    flags += ["--load-id", f"{way}-{round_}"]
                begin = time.perf_counter()
                ran = command(arguments.binaries, measured(url), "load", "t", str(file), *flags)
                rates.setdefault((way, ledger), []).append(rows / (time.perf_counter() - begin))
                said[way, ledger] = json.loads(ran.stdout.strip().splitlines()[-1])
                check(arguments.binaries, url, rows)
    one = statistics.median(rates[ways[0], False])
    for (way, ledger), seen in rates.items():
        median = statistics.median(seen)
        used, limit = said[way, ledger]["writers"], said[way, ledger]["limited_by"]
        noted = " with a ledger" if ledger else ""
        spread = f"{min(seen):,.0f} to {max(seen):,.0f}"
        print(
            f"writers {way:>4}{noted}: {median:,.0f} rows/s ({spread}), {median / one:.2f} x, "
            f"{used} at work, limit: {limit}"
        )


def check(binaries: pathlib.Path, url: str, rows: int) -> None:
    """Compares the table with the file, and empties it."""
    sums = "COUNT_BIG(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)), SUM(amount)"
    ran = command(binaries, url, "query", f"SELECT {sums} FROM t", "-o", "csv")
    seen = ran.stdout.splitlines()[1]
    amounts = sum(n % 1000 * 100 + 25 for n in range(rows))
    expected = f"{rows},{rows},{rows * (rows - 1) // 2},{amounts // 100}.{amounts % 100:02}"
    if seen != expected:
        raise SystemExit(f"the table has {seen} where {expected} was loaded")
    command(binaries, url, "query", "TRUNCATE TABLE t")


if __name__ == "__main__":
    main()
