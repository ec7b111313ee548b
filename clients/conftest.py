"""Starts the embedded server for other people's clients."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping

import pytest

READY = re.compile(r"listening on mssql://(?P<user>[^@]+)@(?P<host>[^:]+):(?P<port>\d+)/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--binaries", required=True, help="folder of the built bulkwire programs")


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Where a server listens and who may log in."""

    host: str
    port: int
    user: str
    password: str
    binaries: pathlib.Path
    certificate: pathlib.Path
    # Ends the server as a crash does.
    kill: Callable[[], None] = dataclasses.field(default=lambda: None, compare=False, repr=False)

    @property
    def url(self) -> str:
        """The connection URL of bulkwire's own client."""
        return (
            f"mssql://{self.user}:{self.password}@{self.host}:{self.port}/master?TrustServerCertificate=true"
        )

    def bulkwire(
        self, *arguments: str, stdin: str | None = None, env: Mapping[str, str] = os.environ
    ) -> subprocess.CompletedProcess[str]:
        """Runs bulkwire's own command against the server."""
        return subprocess.run(
            [self.binaries / "bulkwire", *arguments],
            env={**env, "BULKWIRE_URL": self.url},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@contextlib.contextmanager
def serve(
    binaries: pathlib.Path,
    folder: pathlib.Path,
    encryption: str = "optional",
    *flags: str,
    is_killed: bool = False,
) -> Iterator[Endpoint]:
    """An in-memory server on a free port; it must still live at the end, unless the test kills it."""
    certificate = folder / f"server-{encryption}.pem"
    password = secrets.token_urlsafe(12) + "Aa1"
    process = subprocess.Popen(
        [binaries / "bulkwire", "serve", "--in-memory", "--encryption", encryption]
        + ["--certificate-out", certificate, *(flags if "--port" in flags else ("--port", "0", *flags))],
        env={**os.environ, "BULKWIRE_SERVER_PASSWORD": password},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        ready = READY.match(line)
        assert ready, f"the server did not start: {line!r}"
        login = (ready["user"], password)
        yield Endpoint(ready["host"], int(ready["port"]), *login, binaries, certificate, process.kill)
        assert is_killed or process.poll() is None, "the server died during the tests"
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def binaries(request: pytest.FixtureRequest) -> pathlib.Path:
    """The folder of the built programs."""
    return pathlib.Path(request.config.getoption("--binaries")).resolve()


@pytest.fixture(scope="session")
def server(binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One server for the whole run, which lets its clients choose their encryption."""
    with serve(binaries, tmp_path_factory.mktemp("server")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def tls_modes(
    binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Endpoint]]:
    """`tls_modes(encryption)` is a server with that `--encryption`, started when it is first asked for."""
    with contextlib.ExitStack() as servers:

        @functools.cache
        def started(encryption: str) -> Endpoint:
            return servers.enter_context(serve(binaries, tmp_path_factory.mktemp("server"), encryption))

        yield started
