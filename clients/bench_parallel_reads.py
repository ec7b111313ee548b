"""Exports over one connection and over several, on a link with a delay and a window, all in one run.

    python clients/bench_parallel_reads.py --binaries target/release [--rows 200000] [--delay-ms 10]

The embedded server delays each direction of its connections (`--faults`), and nothing computes meanwhile.
All exports must write the same bytes. The median of each number of readers is printed, and its ratio to the
first. Rounds alternate: a busy moment hits all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import secrets
import statistics
import subprocess
import tempfile
import time

PASSWORD = secrets.token_urlsafe(12) + "Aa1"
COLUMNS = (
    "id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, "
    "amount decimal(9, 2) NOT NULL, note char(400) NOT NULL"
)
ROWS = (
    "INSERT INTO t SELECT value, CONCAT(N'customer ', value % 9973), value % 1000 / 4.0, "
    "CONCAT('note ', value) FROM GENERATE_SERIES(1, {rows})"
)


def command(binaries: pathlib.Path, url: str, *arguments: str) -> str:
    """Runs the command and returns what it said on standard error."""
    ran = subprocess.run(
        [binaries / "bulkwire", *arguments],
        env={**os.environ, "BULKWIRE_URL": url, "BULKWIRE_PASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise SystemExit(f"{arguments}: {ran.stdout}{ran.stderr}")
    return ran.stderr


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
    parser.add_argument("--readers", default="1,2,4,8,auto")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        faults = folder / "faults.json"
        link = {
            "fault": "link",
            "application": "measured",
            "delay_ms": arguments.delay_ms,
            "window_bytes": arguments.window,
        }
        rules = [link] if arguments.delay_ms > 0 else []
        faults.write_text(json.dumps({"seed": 1, "rules": rules}))
        server = subprocess.Popen(
            [arguments.binaries / "bulkwire-server", "--port", "0", "--in-memory", "--faults", faults],
            env={**os.environ, "BULKWIRE_SERVER_PASSWORD": PASSWORD},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split("@")[1].split("/")[0]
            url = f"mssql://sa@{address}/master?Encrypt=Off"
            command(arguments.binaries, url, "query", f"CREATE TABLE t ({COLUMNS})")
            command(arguments.binaries, url, "query", ROWS.format(rows=arguments.rows))
            url += "&Application Name=measured".replace(" ", "%20")
            measure(arguments, url, folder)
        finally:
            server.terminate()
            server.wait()


def measure(arguments: argparse.Namespace, url: str, folder: pathlib.Path) -> None:
    """Exports by each number of readers in turn, and prints the medians."""
    ways = arguments.readers.split(",")
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    told: dict[str, dict[str, object]] = {}
    expected = None
    for _ in range(arguments.rounds):
        for way in ways:
            file = folder / "t.arrow"
            begin = time.perf_counter()
            flags = ["--readers", way, "--ranges", "64", "--json"]
            said = command(arguments.binaries, url, "export", "t", str(file), *flags)
            seconds[way].append(time.perf_counter() - begin)
            told[way] = json.loads(said.strip().splitlines()[-1])
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            expected = expected or digest
            if digest != expected or told[way]["rows"] != arguments.rows:
                raise SystemExit(f"{way} readers wrote other rows: {told[way]}")
    one = statistics.median(seconds[ways[0]])
    for way in ways:
        median = statistics.median(seconds[way])
        limit, used = told[way]["limit"], told[way]["readers"]
        print(f"readers {way:>4}: {median:7.3f} s, {one / median:5.2f} x, {used} at work, limit: {limit}")


if __name__ == "__main__":
    main()
