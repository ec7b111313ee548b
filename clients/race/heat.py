"""One run of one contestant: a fresh server, the contestant's process, the verification of what it moved."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import mssql_python
import pyarrow
import pyarrow.ipc

import odbc
from race import builds, eleven
from race.embedded import Server, started
from race.registry import Contestant

# A pool would keep connections to servers that are gone.
mssql_python.pooling(enabled=False)
TABLE = "dbo.eleven"
RUN_TIMEOUT_SECONDS = 240
CLIENTS = pathlib.Path(__file__).resolve().parent.parent


class Case(enum.StrEnum):
    """What is moved where."""

    # Into a server that finds and counts the rows, and drops them: the client without the server's cost.
    SINK = "sink"
    # Into a server that keeps the rows in memory.
    MEMORY = "memory"
    # All rows, from memory.
    READ = "read"

    @staticmethod
    def of(contestant: Contestant) -> list[Case]:
        """Those in which a contestant takes part; the sink keeps what INSERT brings."""
        cases = [case for case in Case if case.mode in contestant.modes]
        return [case for case in cases if contestant.bulk or case is not Case.SINK]

    @property
    def mode(self) -> str:
        """The mode of the contestants that take part."""
        return "read" if self is Case.READ else "load"


@dataclasses.dataclass(frozen=True)
class Run:
    """What a verified run cost, or why it failed."""

    case: Case
    contestant: str
    round: int
    rows: int
    error: str = ""
    # False: it failed because it cannot be built or installed here.
    built: bool = True
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    start_bytes: int = 0
    server_cpu_seconds: float = 0.0
    server_peak_bytes: int = 0
    client: str = ""
    source: str = ""
    # The contestant's whole process, with its start, its login and the preparation of its source.
    whole_seconds: float = 0.0

    @property
    def rows_per_second(self) -> float:
        """Rows a second of the transfer."""
        return self.rows / self.seconds


class Failed(Exception):
    """A run does not count; the text says why."""


@dataclasses.dataclass
class Track:
    """What all runs share: programs, sources, settings."""

    binaries: pathlib.Path
    folder: pathlib.Path
    batch_rows: int
    encrypt: bool = False

    @property
    def certificate(self) -> pathlib.Path:
        """The server's, for clients that always check it."""
        return self.folder / "server.pem"

    def source(self, rows: int) -> pathlib.Path:
        """The Arrow file with so many rows; made when it is first asked for."""
        path = self.folder / f"eleven-{rows}.arrow"
        if not path.exists():
            eleven.write(path, rows)
        return path

    @functools.cache  # noqa: B019 a track lives as long as the program
    def table(self, rows: int) -> pyarrow.Table:
        """The same, in memory."""
        with pyarrow.ipc.open_file(pyarrow.memory_map(str(self.source(rows)))) as file:
            return file.read_all()

    __hash__ = object.__hash__

    def run(self, contestant: Contestant, case: Case, number: int, rows: int) -> Run:
        """Runs a contestant once; a failure is a Run, too."""
        run = Run(case, contestant.id, number, rows)
        try:
            command = [*getattr(builds, contestant.build)(), *contestant.arguments]
        except builds.NotBuilt as error:
            return dataclasses.replace(run, error=str(error), built=False)
        try:
            flags = ["--certificate-out", str(self.certificate)] + ["--discard"] * (case is Case.SINK)
            with started(self.binaries, *flags) as server:
                self._prepare(server, case, rows)
                return dataclasses.replace(run, **self._transfer(server, contestant, command, case, rows))
        except (Failed, RuntimeError) as error:
            return dataclasses.replace(run, error=str(error))

    def _prepare(self, server: Server, case: Case, rows: int) -> None:
        with _session(server) as connection:
            connection.cursor().execute(eleven.create_table(TABLE))
        if case is Case.READ:
            loaded = self._bulkwire(server, "load", TABLE, str(self.source(rows)), "--quiet")
            if loaded.returncode != 0:
                raise Failed(f"the table could not be filled: {loaded.stderr}")
            self._verify(server, rows, by_bulkwire=True)

    def _transfer(
        self, server: Server, contestant: Contestant, command: list[str], case: Case, rows: int
    ) -> dict[str, object]:
        arguments = {
            "--host": server.host,
            "--port": server.port,
            "--user": server.user,
            "--database": "master",
            "--encrypt": "on" if self.encrypt else "off",
            "--table": TABLE,
            "--rows": rows,
            "--batch-rows": self.batch_rows,
        }
        if case is not Case.READ:
            arguments["--source"] = self.source(rows)
        words = [case.mode, *(str(word) for pair in arguments.items() for word in pair)]
        before, start = server.cpu_seconds(), time.perf_counter()
        printed = self._contestant([*command, *words], server.password)
        whole, used = time.perf_counter() - start, server.cpu_seconds() - before
        costs = {"server_cpu_seconds": used, "server_peak_bytes": server.peak_bytes(), "whole_seconds": whole}
        if printed["rows"] != rows:
            raise Failed(f"it says that it moved {printed['rows']} rows instead of {rows}")
        if case is Case.MEMORY:
            self._verify(server, rows, by_bulkwire=not contestant.ours)
        if case is Case.READ:
            expected = eleven.checksum(self.table(rows))
            if printed.get("checksum") != expected:
                raise Failed(f"it read other values: {printed.get('checksum')} instead of {expected}")
        names = ("seconds", "cpu_seconds", "peak_bytes", "start_bytes", "client")
        return {**costs, **{name: printed[name] for name in names}, "source": printed.get("source", "")}

    def _contestant(self, command: list[str], password: str) -> dict:
        environment = {
            "RACE_PASSWORD": password,
            "RACE_BINARIES": str(self.binaries),
            "RACE_CERTIFICATE": str(self.certificate),
            "LC_ALL": "C.UTF-8",
            # Temporary files of contestants are beside the sources.
            "TMPDIR": str(self.folder),
        }
        with tempfile.TemporaryFile("w+", errors="replace") as words:
            child = subprocess.Popen(
                command,
                cwd=CLIENTS,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                start_new_session=True,
            )
            try:
                output, _ = child.communicate(timeout=RUN_TIMEOUT_SECONDS)
            except BaseException as error:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise Failed(f"it took longer than {RUN_TIMEOUT_SECONDS} s") from None
                raise
            words.seek(0)
            told = f"{words.read()}\n{output}".strip()
        if child.returncode != 0:
            raise Failed(f"status {child.returncode}: {told[-1500:]}")
        try:
            return json.loads(output.splitlines()[-1])
        except (ValueError, IndexError):
            raise Failed(f"it printed no result: {told[-1500:]}") from None

    def _verify(self, server: Server, rows: int, *, by_bulkwire: bool) -> None:
        """Reads the table back, by another client than the one that loaded it, and compares every value."""
        with _session(server) as connection:
            counted = connection.cursor().execute(f"SELECT COUNT_BIG(*) FROM {TABLE}").fetchval()
            if counted != rows:
                raise Failed(f"the table has {counted} rows instead of {rows}")
            if not by_bulkwire:
                read = connection.cursor().execute(f"SELECT * FROM {TABLE}").arrow(batch_size=50_000)
        if by_bulkwire:
            path = self.folder / "read-back.arrow"
            exported = self._bulkwire(server, "export", TABLE, str(path), "--quiet")
            if exported.returncode != 0:
                raise Failed(f"the table cannot be read back: {exported.stderr}")
            with pyarrow.ipc.open_file(path) as file:
                read = file.read_all()
            path.unlink()
        difference = eleven.difference(read, self.table(rows))
        if difference:
            raise Failed(difference)

    def _bulkwire(self, server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.binaries / "bulkwire", *arguments],
            env={**os.environ, "BULKWIRE_URL": server.url},
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_SECONDS,
            check=False,
        )


def _session(server: Server) -> mssql_python.Connection:
    """A connection for preparing and verifying, closed as a context manager."""
    return mssql_python.connect(odbc.server_options(server, Encrypt="no"), autocommit=True)
