"""Loads of an object by ranges beside one plain stream and beside a file on disk, in turn, verified.

    python clients/bench_object_stores.py --binaries target/release [--rows 2500000] [--rounds 5]
    python clients/bench_object_stores.py --binaries target/release --lines 0:0,30:90,100:20

A web server on this machine lets each answer wait, and sends each connection no more than a rate, as object
stores do: `--lines` has milliseconds and megabytes a second; 0 stands for no limit. The embedded server, in
memory, takes the rows. The ways of a round follow one another: the file on disk, the object by ranges, the
object from a server that knows no ranges, and `curl | bulkwire load -`. Count, distinct keys, sums and a
checksum of the text are compared with the file's after each load. Printed are medians with the smallest and
the largest, and ratios within rounds.
"""

from __future__ import annotations

import argparse
import decimal
import hashlib
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from held_back_server import PASSWORD, command, serve
from slow_file_server import serve_slowly

PIECE_ROWS = 250_000
DEFINITION = "id bigint NOT NULL, amount decimal(9, 2) NOT NULL, payload varchar(64) NOT NULL"
SUMS = (
    "SELECT COUNT_BIG(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)), SUM(amount), "
    "CHECKSUM_AGG(CHECKSUM(payload)) FROM t"
)


def make(folder: pathlib.Path, rows: int, group: int) -> None:
    """Writes the same rows as CSV and as Parquet; their text does not become shorter by itself."""
    fields = [("id", pa.int64()), ("amount", pa.decimal128(9, 2)), ("payload", pa.string())]
    schema = pa.schema(fields)
    with (
        pa.csv.CSVWriter(folder / "rows.csv", schema) as text,
        pq.ParquetWriter(
            folder / "rows.parquet", schema, use_dictionary=False, compression="none"
        ) as columns,
    ):
        for start in range(0, rows, PIECE_ROWS):
            ids = range(start, min(start + PIECE_ROWS, rows))
            amounts = [decimal.Decimal(n % 100_000).scaleb(-2) for n in ids]
            payloads = [hashlib.blake2b(n.to_bytes(8), digest_size=32).hexdigest() for n in ids]
            piece = pa.table([list(ids), amounts, payloads], schema=schema)
            text.write_table(piece)
            columns.write_table(piece, row_group_size=group)


def check(binaries: pathlib.Path, url: str, expected: str | None) -> str:
    """What the table holds, which is compared with what it should; empties it."""
    seen = command(binaries, url, "query", SUMS, "-o", "csv").stdout.splitlines()[1]
    if expected is not None and seen != expected:
        raise SystemExit(f"the table has {seen} where {expected} was loaded")
    command(binaries, url, "query", "TRUNCATE TABLE t")
    return seen


def piped(binaries: pathlib.Path, url: str, source: str) -> None:
    """One plain stream by another program."""
    curl = subprocess.Popen(["curl", "--silent", "--fail", source], stdout=subprocess.PIPE)
    ran = subprocess.run(
        [binaries / "bulkwire", "load", "t", "-", "--format", "csv", "--quiet"],
        env={**os.environ, "BULKWIRE_URL": url, "BULKWIRE_PASSWORD": PASSWORD},
        stdin=curl.stdout,
        capture_output=True,
        text=True,
    )
    assert curl.stdout is not None
    curl.stdout.close()
    if curl.wait() != 0 or ran.returncode != 0:
        raise SystemExit(f"curl | bulkwire load: {ran.stdout}{ran.stderr}")


def measure(
    arguments: argparse.Namespace, url: str, folder: pathlib.Path, file: str, expected: str, line: str
) -> None:
    """Loads a file in each way, round by round, and prints what came of it."""
    latency, rate = (float(part) for part in line.split(":"))
    binaries = arguments.binaries

    def load(source: str) -> None:
        command(binaries, url, "load", "t", source, "--quiet")

    with serve_slowly(folder, latency / 1000, rate * 1e6) as web:
        ways: dict[str, Callable[[], None]] = {
            "file on disk": lambda: load(str(folder / file)),
            "object, by ranges": lambda: load(web.url(file)),
            "object, one stream": lambda: load(web.url(f"stream/{file}")),
        }
        if file.endswith(".csv"):
            ways["curl | bulkwire load"] = lambda: piped(binaries, url, web.url(file))
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(arguments.rounds):
            for way, run in ways.items():
                begin = time.perf_counter()
                run()
                seconds[way].append(time.perf_counter() - begin)
                check(binaries, url, expected)
    size = (folder / file).stat().st_size / 1e6
    limits = f"{latency:g} ms, {f'{rate:g} MB/s' if rate else 'no limit'} a connection"
    print(f"\n{file}, {size:,.0f} MB, {arguments.rows:,} rows; {limits}")
    ranged = seconds["object, by ranges"]
    for way, seen in seconds.items():
        ratios = sorted(other / one for other, one in zip(seen, ranged, strict=True))
        print(
            f"  {way:21} {statistics.median(seen):6.2f} s ({min(seen):.2f} to {max(seen):.2f}), "
            f"{size / statistics.median(seen):5.0f} MB/s, {statistics.median(ratios):5.2f} x the time by "
            f"ranges ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


def main() -> None:
    """Measures and prints."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=2_500_000)
    parser.add_argument("--row-group", type=int, default=250_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", default="0:0,30:90,100:20", help="milliseconds:megabytes a second, ...")
    parser.add_argument("--files", default="rows.csv,rows.parquet")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(folder, arguments.rows, arguments.row_group)
        with serve(arguments.binaries, folder, [], "--in-memory") as url:
            command(arguments.binaries, url, "query", f"CREATE TABLE t ({DEFINITION})")
            for file in arguments.files.split(","):
                command(arguments.binaries, url, "load", "t", str(folder / file), "--quiet")
                expected = check(arguments.binaries, url, None)
                count = expected.split(",")[:3]
                total = arguments.rows * (arguments.rows - 1) // 2
                assert count == [str(arguments.rows), str(arguments.rows), str(total)], expected
                for line in arguments.lines.split(","):
                    measure(arguments, url, folder, file, expected, line)


if __name__ == "__main__":
    main()
