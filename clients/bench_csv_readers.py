"""One CSV file read to Arrow by pyarrow, Polars and DuckDB, and read and encoded by this project, in turn.

    cargo bench -p bulkwire-formats --bench csv_in -- /tmp/t.csv    # writes the file
    python clients/bench_csv_readers.py /tmp/t.csv --ours target/release/deps/csv_in-... [--rounds 5]

All readers know the columns' types. Each run is a process that reads the file once, and times the reading
alone. The count of rows and the sum of a column are compared. Medians are printed: seconds by the clock,
and on processors.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

READERS = ("pyarrow", "polars", "duckdb")


def pyarrow_reader(path: str, threads: int) -> Callable[[], object]:
    """Reads by pyarrow.csv."""
    import pyarrow
    from pyarrow import csv

    pyarrow.set_cpu_count(threads)
    types = {
        "id": pyarrow.int32(),
        "quantity": pyarrow.int64(),
        "price": pyarrow.decimal128(15, 2),
        "day": pyarrow.date32(),
        "changed": pyarrow.timestamp("us"),
        "name": pyarrow.string(),
        "city": pyarrow.string(),
        "comment": pyarrow.string(),
    }
    convert = csv.ConvertOptions(column_types=types)
    read = csv.ReadOptions(use_threads=threads > 1)
    return lambda: csv.read_csv(path, read_options=read, convert_options=convert)


def polars_reader(path: str, threads: int) -> Callable[[], object]:
    """Reads by polars.read_csv; the environment has limited its threads before it was imported."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars

    schema = {
        "id": polars.Int32,
        "quantity": polars.Int64,
        "price": polars.Decimal(15, 2),
        "day": polars.Date,
        "changed": polars.Datetime("us"),
        "name": polars.String,
        "city": polars.String,
        "comment": polars.String,
    }
    return lambda: polars.read_csv(path, schema=schema).to_arrow()


def duckdb_reader(path: str, threads: int) -> Callable[[], object]:
    """Reads by DuckDB's read_csv."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    types = (
        "{'id': 'INTEGER', 'quantity': 'BIGINT', 'price': 'DECIMAL(15, 2)', 'day': 'DATE', "
        "'changed': 'TIMESTAMP', 'name': 'VARCHAR', 'city': 'VARCHAR', 'comment': 'VARCHAR'}"
    )
    query = f"SELECT * FROM read_csv('{path}', header = true, columns = {types})"
    return lambda: connection.execute(query).to_arrow_table()


def read_once(reader: str, path: str, threads: int) -> None:
    """Reads the file once and prints what it took, the number of rows and a sum."""
    makers = {"pyarrow": pyarrow_reader, "polars": polars_reader, "duckdb": duckdb_reader}
    run = makers[reader](path, threads)
    begin, cpu = time.perf_counter(), time.process_time()
    table = run()
    elapsed, cpu = time.perf_counter() - begin, time.process_time() - cpu
    import pyarrow.compute

    total = pyarrow.compute.sum(table.column("quantity")).as_py()  # type: ignore[attr-defined]
    print(f"{elapsed:.3f} {cpu:.2f} {table.num_rows} {total}")  # type: ignore[attr-defined]


def main() -> None:
    """Runs all readers in turn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--ours", type=pathlib.Path, help="the program of the benchmark csv_in")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--once", choices=READERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        read_once(arguments.once, str(arguments.file), int(arguments.threads))
        return
    path = str(arguments.file)
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    sums = set()
    for _ in range(arguments.rounds):
        for threads in arguments.threads.split(","):
            ways = {
                name: [sys.executable, __file__, path, "--once", name, "--threads", threads]
                for name in READERS
            }
            if arguments.ours:
                ways |= {
                    f"bulkwire, {what}": [str(arguments.ours), path, what, threads]
                    for what in ("read", "wire")
                }
            for name, command in ways.items():
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                taken.setdefault((threads, name), []).append((float(said[0]), float(said[1])))
                sums |= {tuple(said[2:])} - {()}
    if len(sums) != 1:
        raise SystemExit(f"the readers do not agree: {sums}")
    for (threads, name), runs in taken.items():
        elapsed, cpu = (statistics.median(run[index] for run in runs) for index in (0, 1))
        least = min(run[0] for run in runs)
        print(f"{threads} threads {name:16} {elapsed:6.3f} s (least {least:.3f}), CPU {cpu:5.2f} s")


if __name__ == "__main__":
    main()
