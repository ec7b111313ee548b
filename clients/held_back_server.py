"""The command against an embedded server that holds sessions back by rules of faults, for measurements."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
import subprocess
from collections.abc import Iterator, Sequence

PASSWORD = secrets.token_urlsafe(12) + "Aa1"
#: The application whose sessions the rules are about.
MEASURED = "measured"


def link(delay_ms: float, window: int, rate: int = 0) -> list[dict[str, object]]:
    """The rule of a line: a delay one way, bytes under way at most, bytes a second; 0 stands for no limit."""
    rule: dict[str, object] = {"fault": "link", "application": MEASURED}
    if delay_ms > 0:
        rule |= {"delay_ms": delay_ms, "window_bytes": window}
    if rate > 0:
        rule |= {"bytes_per_second": rate}
    return [rule] if delay_ms > 0 or rate > 0 else []


@contextlib.contextmanager
def serve(
    binaries: pathlib.Path, folder: pathlib.Path, rules: Sequence[dict[str, object]], *where: str
) -> Iterator[str]:
    """Runs a server with the rules, and gives the URL of a session that they are not about."""
    faults = folder / "faults.json"
    faults.write_text(json.dumps({"seed": 1, "rules": list(rules)}))
    server = subprocess.Popen(
        [binaries / "bulkwire", "serve", "--port", "0", *where, "--faults", faults],
        env={**os.environ, "BULKWIRE_SERVER_PASSWORD": PASSWORD},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split("@")[1].split("/")[0]
        yield f"mssql://sa@{address}/master?Encrypt=Off"
    finally:
        server.terminate()
        server.wait()


def measured(url: str) -> str:
    """The URL of a session that the rules are about."""
    return f"{url}&Application%20Name={MEASURED}"


def command(binaries: pathlib.Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command; ends the program if it fails."""
    ran = subprocess.run(
        [binaries / "bulkwire", *arguments],
        env={**os.environ, "BULKWIRE_URL": url, "BULKWIRE_PASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise SystemExit(f"{arguments}: {ran.stdout}{ran.stderr}")
    return ran
