#!/usr/bin/env python3
"""Measures how fast backups and packages are read and written: rows and megabytes a second of user time.

scripts/measure_database_files.py BULKWIRE FOLDER [--rows 2000000] [--megabytes 1024]
    [--backup northwind.bak]

BULKWIRE is a release build. FOLDER takes the input, about three gigabytes. Needs pyarrow. With --backup, a
full backup of Northwind from SQL Server 2000 to 2008 R2, the pages of its table Orders are repeated until the
backup has that many megabytes. User time is that of all threads together, so that the number of cores does
not matter; each command runs three times, and the best run counts.
"""

import argparse
import os
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

PAGE = 8192
EXTENT = 8 * PAGE
EXTENTS_PER_MAP = 63904
PAGES_PER_PFS = 8088
# Bytes of the fixed part of a row of Orders, by which its pages are found.
ORDERS_FIXED = 58


def lines(path, rows):
    """Writes a Parquet file of 11 columns: integers, floats, dates, short and longer text, NULLs."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    comments = pa.array([f"comment number {i} of many" for i in range(100000)])
    table = pa.table(
        {
            "orderkey": pa.array(np.arange(rows) // 4, pa.int32()),
            "partkey": pa.array(rng.integers(1, 200000, rows), pa.int32()),
            "suppkey": pa.array(rng.integers(1, 10000, rows), pa.int32()),
            "linenumber": pa.array(np.arange(rows) % 4, pa.int32()),
            "quantity": pa.array(rng.integers(1, 50, rows).astype("float64")),
            "price": pa.array(rng.integers(100, 9999999, rows) / 100.0),
            "flag": pa.array(["A", "N", "R"]).take(pa.array(rng.integers(0, 3, rows))),
            "ship": pa.array(rng.integers(8000, 12000, rows).astype("int32"), pa.date32()),
            "mode": pa.array(["AIR", "TRUCK", "MAIL", "SHIP"]).take(pa.array(rng.integers(0, 4, rows))),
            "comment": comments.take(pa.array(rng.integers(0, 100000, rows))),
            "extra": pa.array(np.arange(rows), pa.int64(), mask=np.arange(rows) % 3 == 0),
        }
    )
    pq.write_table(table, path)


def enlarged(backup, path, megabytes):
    """Repeats the pages of Orders in a backup. Returns the rows of the table."""
    data = bytearray(Path(backup).read_bytes())
    at = data.index(b"MQDA")
    length = struct.unpack_from("<Q", data, at + 8)[0] - 2
    begin = at + 24
    frames = memoryview(data)[begin : begin + length]
    pages = [frames[i : i + PAGE] for i in range(0, length, PAGE)]
    of_orders = [p for p in pages if p[1] == 1 and struct.unpack_from("<H", p, 14)[0] == ORDERS_FIXED]
    owners = [owner(p) for p in of_orders]
    wanted = max(set(owners), key=owners.count)
    of_orders = [p for p in of_orders if owner(p) == wanted]
    template = bytearray(max(of_orders, key=lambda p: struct.unpack_from("<H", p, 22)[0]))
    restore_torn(template)
    maps = [p for p in pages if p[1] == 10 and owner(p) == wanted]
    iam = next(p for p in maps if struct.unpack_from("<I", p, 96 + 40)[0] == 0 and any(p[96 + 46 : 96 + 94]))
    file = data.index(b"SFIN")
    first = struct.unpack_from("<Q", data, file + 40)[0] // EXTENT
    last = min(first + megabytes * (1 << 20) // EXTENT, EXTENTS_PER_MAP)
    restore_torn(pages[1])
    restore_torn(pages[2])
    for extent in range(first, last):
        pages[2][194 + extent // 8] &= ~(1 << extent % 8) & 255
    restore_torn(iam)
    added = 0
    for extent in range(first, last):
        iam[194 + extent // 8] |= 1 << extent % 8
    for number in range(first * 8, min(last * 8, PAGES_PER_PFS)):
        pages[1][100 + number] = 0x40
    struct.pack_into("<Q", data, at + 8, length + (last - first) * EXTENT + 2)
    sums = 0
    for word in range(10):
        sums ^= struct.unpack_from("<H", data, at + 2 * word)[0]
    struct.pack_into("<H", data, at + 20, sums)
    struct.pack_into("<I", data, file + 24, struct.unpack_from("<I", data, file + 24)[0] + (last - first) * 8)
    with open(path, "wb") as out:
        out.write(data[: begin + length])
        for extent in range(first, last):
            for number in range(extent * 8, extent * 8 + 8):
                page = bytearray(template)
                if number % PAGES_PER_PFS == 0:
                    page = bytearray(PAGE)
                    page[0:2] = b"\x01\x0b"
                    page[100 : 100 + PAGES_PER_PFS] = b"\x40" * PAGES_PER_PFS
                else:
                    added += struct.unpack_from("<H", template, 22)[0]
                page[4:6] = b"\x00\x00"
                struct.pack_into("<IH", page, 32, number, 1)
                out.write(page)
        out.write(data[begin + length :])
    return added


def owner(page):
    """Returns the number in a page's header that its table has."""
    return struct.unpack_from("<I", page, 24)[0]


def restore_torn(page):
    """Puts the bits back that the pattern of a written page has taken, and drops its flag."""
    if struct.unpack_from("<H", page, 4)[0] & 0x100:
        bits = struct.unpack_from("<I", page, 60)[0]
        for sector in range(1, 16):
            at = 512 * sector + 511
            page[at] = page[at] & 0xFC | bits >> 2 * sector & 3
    page[4:6] = b"\x00\x00"


def best(command):
    """Returns the seconds of user time of a command, and those by the clock: the best of three runs."""
    found = []
    for _ in range(3):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        # The catalogue counts the rows of Orders as they were before their pages were repeated.
        if done.returncode and "the catalogue counts" not in done.stdout + done.stderr:
            sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
        after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        found.append((after.ru_utime - before.ru_utime, end - start))
    return min(found)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bulkwire")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--backup")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    program, folder, rows = options.bulkwire, options.folder, options.rows
    parquet, package = folder / "lines.parquet", folder / "lines.bacpac"
    if not parquet.exists():
        lines(parquet, rows)
    print(f"{rows:,} rows of 11 columns")
    user, wall = best([program, "copy", parquet, f"{package}#dbo.lines", "--quiet"])
    print(f"Parquet to package: {rows / user / 1e6:.2f} M rows/s of user time, {wall:.2f} s by the clock")
    user, wall = best([program, "describe", package, "--verify"])
    print(f"package, all rows decoded: {rows / user / 1e6:.2f} M rows/s of user time, {wall:.2f} s")
    if options.backup:
        large = folder / "large.bak"
        added = enlarged(options.backup, large, options.megabytes)
        size = os.path.getsize(large)
        start = time.monotonic()
        with open(large, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
        plain = time.monotonic() - start
        print(
            f"{size / 1e6:,.0f} MB of backup, {added:,} rows of 14 columns;"
            f" plain read {size / plain / 1e6:,.0f} MB/s"
        )
        user, wall = best([program, "describe", large, "--verify"])
        print(
            f"backup, all rows decoded: {added / user / 1e6:.2f} M rows/s"
            f" and {size / user / 1e6:,.0f} MB/s of user time, {size / wall / 1e6:,.0f} MB/s by the clock"
        )


if __name__ == "__main__":
    main()
