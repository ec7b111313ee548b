"""What a transformation costs: the 11-column table copied with and without UPPER and CAST, in turn.

    python clients/bench_transform.py --programs DIRECTORY [--rows 1000000] [--rounds 5]

Every copy reads a Parquet file and fills an empty heap of a server of its own. Counts, sums and transformed
values are compared with what pyarrow computes of the same file. The smallest time of the rounds is printed,
wall clock and CPU time of the client.
"""

from __future__ import annotations

import argparse
import decimal
import os
import pathlib
import resource
import secrets
import subprocess
import tempfile
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pymssql

COLUMNS = (
    "id INT NOT NULL, col_int INT NULL, col_bigint BIGINT NULL, col_float FLOAT NULL, col_bit BIT NULL, "
    "col_date DATE NULL, col_datetime2 DATETIME2(6) NULL, col_decimal DECIMAL(18,4) NULL, "
    "col_str1 NVARCHAR(100) NULL, col_str2 VARCHAR(100) NULL, col_str3 NVARCHAR(100) NULL"
)
KEPT = "id, col_int, col_bigint, col_float, col_bit, col_date, col_datetime2"
TRANSFORMED = (
    f"{KEPT}, CAST(col_decimal AS decimal(18,2)) AS col_decimal, UPPER(col_str1) AS col_str1, "
    "col_str2, col_str3"
)
CASES = {
    "as it is": [],
    "all columns through the engine": ["--where", "1 = 1"],
    "UPPER and CAST": ["--select", TRANSFORMED],
    "UPPER and CAST from text": [
        "--select",
        TRANSFORMED.replace("CAST(col_decimal", "CAST(CAST(col_decimal AS nvarchar(30))"),
    ],
}


def table(rows: int) -> pa.Table:
    """The source: the shapes of the 11-column case."""
    ids = pa.array(range(rows), pa.int32())
    wide = pc.cast(ids, pa.int64())
    text = pc.binary_join_element_wise("some words ", pc.cast(pc.multiply(wide, 7919), pa.string()), "")
    cents = pc.cast(pc.multiply(wide, 100_003), pa.decimal128(19, 0))
    columns = {
        "id": ids,
        "col_int": pc.if_else(pc.equal(pc.bit_wise_and(wide, 63), 0), None, ids),
        "col_bigint": pc.multiply(wide, 1_000_003),
        "col_float": pc.divide(pc.cast(wide, pa.float64()), 7.0),
        "col_bit": pc.equal(pc.bit_wise_and(wide, 1), 1),
        "col_date": pc.cast(pc.cast(pc.bit_wise_and(wide, 8191), pa.int32()), pa.date32()),
        "col_datetime2": pc.cast(pc.multiply(wide, 1_234_567), pa.timestamp("us")),
        "col_decimal": pc.cast(
            pc.multiply(cents, pa.scalar(decimal.Decimal("0.0001"))), pa.decimal128(18, 4), safe=False
        ),
        "col_str1": text,
        "col_str2": text,
        "col_str3": text,
    }
    return pa.table(columns)


class Server:
    """A server of its own."""

    def __init__(self, programs: pathlib.Path):
        self.password = secrets.token_urlsafe(12) + "Aa1"
        self.process = subprocess.Popen(
            [programs / "bulkwire", "serve", "--port", "0", "--in-memory"],
            env={**os.environ, "BULKWIRE_SERVER_PASSWORD": self.password},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self.process.stdout.readline().strip().rsplit("@", 1)[1].split("/")[0]
        host, port = self.address.rsplit(":", 1)
        self.connection = pymssql.connect(
            server=host, port=port, user="sa", password=self.password, database="master", autocommit=True
        )
        self.cursor = self.connection.cursor()

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def client_seconds() -> float:
    """CPU time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(
    server: Server, programs: pathlib.Path, source: pathlib.Path, options: list[str]
) -> tuple[float, float]:
    """Wall-clock and CPU seconds of one copy into an empty heap."""
    server.cursor.execute(f"DROP TABLE IF EXISTS eleven; CREATE TABLE eleven ({COLUMNS})")
    words = [programs / "bulkwire", "copy", source, "mssql:dbo.eleven", "--quiet", *options]
    url = f"mssql://sa@{server.address}/master?encrypt=true&trustServerCertificate=true"
    environment = {**os.environ, "BULKWIRE_URL": url, "BULKWIRE_PASSWORD": server.password}
    cpu, begin = client_seconds(), time.perf_counter()
    subprocess.run(words, check=True, env=environment)
    return time.perf_counter() - begin, client_seconds() - cpu


def verify(server: Server, expected: pa.Table, options: list[str]) -> None:
    """Compares what arrived with what pyarrow computes."""
    server.cursor.execute(
        "SELECT COUNT_BIG(*), SUM(CAST(id AS bigint)), SUM(col_decimal), SUM(CAST(LEN(col_str1) AS bigint)), "
        "SUM(CASE WHEN col_str1 = UPPER(col_str1) COLLATE Latin1_General_BIN2 THEN 1 ELSE 0 END) FROM eleven"
    )
    count, ids, decimals, lengths, upper = server.cursor.fetchone()
    column = expected["col_decimal"]
    transforms = "--select" in options
    rounded = pc.round(column, 2, round_mode="half_towards_infinity") if transforms else column
    wanted = (
        expected.num_rows,
        pc.sum(expected["id"]).as_py(),
        pc.sum(rounded).as_py(),
        pc.sum(pc.utf8_length(expected["col_str1"])).as_py(),
        expected.num_rows if transforms else 0,
    )
    if (count, ids, decimals, lengths, upper) != wanted:
        raise SystemExit(f"{options}: {(count, ids, decimals, lengths, upper)} instead of {wanted}")


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    best: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "eleven.parquet"
        rows = table(arguments.rows)
        pq.write_table(rows, source, row_group_size=65_536)
        server = Server(arguments.programs)
        try:
            for _ in range(arguments.rounds):
                for name, options in CASES.items():
                    wall, cpu = run(server, arguments.programs, source, options)
                    verify(server, rows, options)
                    before = best.get(name, (wall, cpu))
                    best[name] = (min(before[0], wall), min(before[1], cpu))
        finally:
            server.close()
    base = best["as it is"]
    for name, (wall, cpu) in best.items():
        ratios = f"x{wall / base[0]:.2f} of the time, x{cpu / base[1]:.2f} of the client's CPU"
        print(f"{name:32} {wall:6.2f} s, client {cpu:6.2f} s of CPU: {ratios}")


if __name__ == "__main__":
    main()
