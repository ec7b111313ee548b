"""A server on a data directory that is killed and started again, and connections to it."""

from __future__ import annotations

import os
import pathlib
import re
import secrets
import subprocess
import threading
import time

import pymssql
from pymssql import _mssql

READY = re.compile(r"listening on mssql://(?P<user>[^@]+)@(?P<host>[^:]+):(?P<port>\d+)/")
START_TIMEOUT_SECONDS = 120
# What a server answers to a transaction that it has rolled back.
ROLLED_BACK = {1205, 1222, 3960}


class Service:
    """The server; a kill takes the process away, whatever it is doing."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path) -> None:
        self._binaries, self._folder = binaries, folder
        self._password = secrets.token_urlsafe(12) + "Aa1"
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._ready: re.Match[str] | None = None
        self.kills = 0
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self._binaries / "bulkwire", "serve", "--port", "0", "--data", self._folder / "data"]
            + ["--encryption", "optional", "--certificate-out", self._folder / "server.pem"],
            env={**os.environ, "BULKWIRE_SERVER_PASSWORD": self._password},
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self._process.stdout.readline()
        self._ready = READY.match(line)
        assert self._ready, f"the server did not start: {line!r}"

    def kill(self) -> None:
        """Kills the process and starts another one on the same directory."""
        with self._lock:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self.kills += 1
            self._start()

    def stop(self) -> None:
        """Stops it in order; it must still live."""
        with self._lock:
            assert self._process.poll() is None, "the server died during the test"
            self._process.terminate()
            self._process.wait(timeout=60)
            self._process.stdout.close()

    def connect(self) -> pymssql.Connection:
        """A connection without a transaction; waits while the server starts."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            with self._lock:
                ready = self._ready
            try:
                return pymssql.connect(
                    server=ready["host"],
                    port=ready["port"],
                    user=ready["user"],
                    password=self._password,
                    database="master",
                    autocommit=True,
                    login_timeout=20,
                    timeout=120,
                )
            # The driver's own error comes if the server dies between the login and the setting of a time-out.
            except (pymssql.Error, _mssql.MSSQLDatabaseException):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def results(connection: pymssql.Connection, text: str) -> list[list[tuple]]:
    """The rows of each result of a batch."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(text)
            found = []
            while True:
                if cursor.description is not None:
                    found.append(cursor.fetchall())
                if not cursor.nextset():
                    return found
    except _mssql.MSSQLDatabaseException as error:
        # The library's inner part tells some failures itself.
        raise pymssql.OperationalError(error.number, error.text) from error


def number_of(error: pymssql.Error) -> int:
    """The server's number of an error; the library's own ones are above 20000."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 20000


def is_lost(error: pymssql.Error) -> bool:
    """Whether it means that the connection is gone."""
    return number_of(error) >= 20000
