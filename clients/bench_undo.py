"""What it costs to undo: ROLLBACK, and recovery after a kill, beside doing the same work.

    python clients/bench_undo.py --program BULKWIRE [--rows 1700000] [--directory DIR]

Each figure is the ratio of undoing to doing in one run. After each the rows are counted and summed: nothing
of what was undone may be left.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import secrets
import signal
import subprocess
import tempfile
import time

import pymssql

# How long recovery may take before this program gives up.
PATIENCE_SECONDS = 600


class Server:
    """A server of its own over a directory; it can be killed and started again."""

    def __init__(self, program: pathlib.Path, directory: str):
        self.password = secrets.token_urlsafe(12) + "Aa1"
        self.command = [program, "serve", "--port", "0", "--data", directory]
        self.start()

    def start(self) -> None:
        """Starts the program, which says its address when its databases are open."""
        self.process = subprocess.Popen(
            self.command,
            env={**os.environ, "BULKWIRE_SERVER_PASSWORD": self.password},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        address = self.process.stdout.readline().strip().rsplit("@", 1)[1].split("/")[0]
        self.host, self.port = address.rsplit(":", 1)

    def connect(self) -> pymssql.Connection:
        """Logs in, as soon as the databases are open."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return pymssql.connect(
                    server=self.host,
                    port=self.port,
                    user="sa",
                    password=self.password,
                    database="master",
                    autocommit=True,
                )
            except pymssql.Error:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def content(cursor: pymssql.Cursor) -> tuple:
    """Count and sums of the table's rows."""
    cursor.execute("SELECT COUNT(*), SUM(CAST(id AS bigint)), SUM(CAST(v AS bigint)) FROM u")
    return cursor.fetchone()


def timed(cursor: pymssql.Cursor, statement: str) -> float:
    """Seconds of a statement."""
    begin = time.perf_counter()
    cursor.execute(statement)
    return time.perf_counter() - begin


def measure(server: Server, rows: int) -> None:
    """Prints a line for each statement that is undone."""
    cursor = server.connect().cursor()
    cursor.execute("CREATE TABLE u (id int NOT NULL PRIMARY KEY, v int NOT NULL, s varchar(40) NOT NULL)")
    cursor.execute(f"INSERT u SELECT value, 0, 'some text of a row' FROM GENERATE_SERIES(1, {rows})")
    cursor.execute("CREATE INDEX i ON u (v)")
    before = content(cursor)
    update = "UPDATE u SET v = id % 1000"
    insert = f"INSERT u SELECT value + {rows}, value % 77, 'x' FROM GENERATE_SERIES(1, {rows})"
    for statement in (update, "DELETE u", insert):
        cursor.execute("BEGIN TRAN")
        doing = timed(cursor, statement)
        undoing = timed(cursor, "ROLLBACK")
        assert content(cursor) == before, statement
        print(
            f"{statement.split()[0]:8} of {rows:,} rows: doing {doing:6.2f} s, undoing {undoing:6.2f} s, "
            f"ratio {undoing / doing:.2f}"
        )
    cursor.execute("BEGIN TRAN")
    doing = timed(cursor, update)
    # What is not committed has reached the disk, so that recovery has to undo it there.
    server.connect().cursor().execute("CHECKPOINT")
    server.kill()
    begin = time.perf_counter()
    server.start()
    cursor = server.connect().cursor()
    recovered = time.perf_counter() - begin
    assert content(cursor) == before, "recovery"
    print(
        f"kill and recovery: doing {doing:6.2f} s, recovered {recovered:6.2f} s, "
        f"ratio {recovered / doing:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=1_700_000)
    parser.add_argument(
        "--directory", help="where the data directory is made; the system's default without it"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        server = Server(arguments.program, directory)
        try:
            measure(server, arguments.rows)
        finally:
            server.close()


if __name__ == "__main__":
    main()
