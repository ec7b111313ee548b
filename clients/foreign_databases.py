"""PostgreSQL, SQLite and DuckDB for the tests of `bulkwire copy`, and the command itself."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import adbc_driver_manager.dbapi
import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi

# Debian's server does not run as root: it has a user of its own.
SERVER_USER = "postgres"


@dataclasses.dataclass
class PostgreSQL:
    """A server in a folder of its own."""

    folder: pathlib.Path
    port: int
    password: str
    process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"postgresql://bulk:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts the server and waits until it takes connections."""
        self.process = subprocess.Popen(
            [program("postgres"), "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder]
            + ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            **as_unprivileged(),
        )
        for _ in range(600):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            with contextlib.suppress(Exception), adbc_driver_postgresql.dbapi.connect(self.url):
                return
            time.sleep(0.1)
        raise AssertionError("PostgreSQL does not take connections")

    def kill(self) -> None:
        """Ends it as a crash does."""
        self.process.send_signal(3)
        self.process.wait(timeout=60)

    def execute(self, *statements: str) -> None:
        with adbc_driver_postgresql.dbapi.connect(self.url, autocommit=True) as connection:
            run(connection, statements)

    def rows(self, query: str) -> list[tuple]:
        with adbc_driver_postgresql.dbapi.connect(self.url) as connection:
            return fetched(connection, query)


@dataclasses.dataclass
class File:
    """A database in a file."""

    scheme: str
    path: pathlib.Path

    @property
    def url(self) -> str:
        return f"{self.scheme}:{self.path}"

    def connect(self):
        if self.scheme == "sqlite":
            return adbc_driver_sqlite.dbapi.connect(str(self.path), autocommit=True)
        return adbc_driver_manager.dbapi.connect(
            driver=str(libduckdb()),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": str(self.path)},
            autocommit=True,
        )

    def execute(self, *statements: str) -> None:
        with self.connect() as connection:
            run(connection, statements)

    def rows(self, query: str) -> list[tuple]:
        with self.connect() as connection:
            return fetched(connection, query)


def libduckdb() -> pathlib.Path:
    """DuckDB's library, as scripts/install_clients has put it there."""
    cache = os.environ.get("BULKWIRE_CLIENT_CACHE", os.path.expanduser("~/.cache/bulkwire/clients"))
    found = list(pathlib.Path(cache).glob("duckdb/node_modules/@duckdb/*/libduckdb.so"))
    assert len(found) == 1, f"one library: {found}"
    return found[0]


def run(connection, statements) -> None:
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(statement)


def fetched(connection, query: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def program(name: str) -> str:
    """A program of the newest PostgreSQL that is installed."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    found += [path for path in [shutil.which(name)] if path]
    assert found, f"{name} of PostgreSQL is not installed"
    return found[-1]


def as_unprivileged() -> dict[str, object]:
    """Arguments of a subprocess that make it run as somebody who is not root."""
    return {"user": SERVER_USER, "group": SERVER_USER, "extra_groups": []} if os.getuid() == 0 else {}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def postgresql(folder: pathlib.Path) -> Iterator[PostgreSQL]:
    """A running server with an empty database."""
    # The folders of pytest are closed to others.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    if os.getuid() == 0:
        shutil.chown(folder, SERVER_USER, SERVER_USER)
    server = PostgreSQL(folder, free_port(), secrets.token_hex(8))
    (folder / "password").write_text(server.password)
    (folder / "password").chmod(0o644)
    subprocess.run(
        [program("initdb"), "-D", folder / "data", "-U", "bulk", "-A", "scram-sha-256"]
        + ["--pwfile", folder / "password", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        **as_unprivileged(),
    )
    server.start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def environment(binaries: pathlib.Path) -> dict[str, str]:
    """Where the command finds its drivers: the wheels of these tests, and the library that was built."""
    return {
        **os.environ,
        "VIRTUAL_ENV": sys.prefix,
        "ADBC_DRIVER_PATH": str(libduckdb().parent),
        "BULKWIRE_ODBC_LIBRARY": str(binaries / "deps" / "libadbc_driver_bulkwire_odbc.so"),
    }


def copy(
    binaries: pathlib.Path, *arguments: str, env: dict[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Runs `bulkwire copy`."""
    return subprocess.run(
        [binaries / "bulkwire", "copy", *arguments],
        env=env or environment(binaries),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def copied(binaries: pathlib.Path, *arguments: str) -> str:
    """Runs `bulkwire copy`, which must succeed. What it says."""
    done = copy(binaries, *arguments)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stderr


def sql_server(server, table: str) -> str:
    """The endpoint of a table of the embedded server."""
    credentials = f"{server.user}:{server.password}"
    place = f"{server.host}:{server.port}/master/{table}"
    return f"mssql://{credentials}@{place}?TrustServerCertificate=true"
