"""The embedded server as a process of its own, with the operating system's account of what it used."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import secrets
import subprocess
from collections.abc import Iterator

READY = re.compile(r"listening on mssql://(?P<user>[^@]+)@(?P<host>[^:]+):(?P<port>\d+)/")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Server:
    """Where it listens, who may log in, and its process."""

    host: str
    port: int
    user: str
    password: str
    process: int

    @property
    def url(self) -> str:
        """The connection URL of bulkwire's own client, without TLS."""
        return f"mssql://{self.user}:{self.password}@{self.host}:{self.port}/master?Encrypt=Off"

    def cpu_seconds(self) -> float:
        """User and system time so far, in steps of a hundredth of a second."""
        # The second field is the program's name in parentheses and may hold blanks.
        fields = self._account("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND

    def peak_bytes(self) -> int:
        """The largest resident set so far."""
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", self._account("status"), re.MULTILINE)[1]) * 1024

    def _account(self, name: str) -> str:
        return pathlib.Path(f"/proc/{self.process}/{name}").read_text(encoding="utf-8", errors="replace")


@contextlib.contextmanager
def started(binaries: pathlib.Path, *flags: str) -> Iterator[Server]:
    """An in-memory server on a free port of the loopback interface; RuntimeError if it fails."""
    password = secrets.token_urlsafe(12) + "Aa1"
    process = subprocess.Popen(
        [binaries / "bulkwire", "serve", "--port", "0", "--in-memory", *flags],
        env={**os.environ, "BULKWIRE_SERVER_PASSWORD": password},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        ready = READY.match(line)
        if not ready:
            raise RuntimeError(f"the server did not start: {line!r}")
        yield Server(ready["host"], int(ready["port"]), ready["user"], password, process.pid)
        if process.poll() is not None:
            raise RuntimeError("the server died")
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()
