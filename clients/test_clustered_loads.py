"""Ten loads of one clustered table at a time, by ours and other clients: none is a deadlock's victim."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import clustered_loader
from clustered_loader import CLIENTS, ROWS, TABLE
from conftest import Endpoint

LOADERS = 10
TIMEOUT_SECONDS = 180
DEFINITION = f"""CREATE TABLE {TABLE} (id int NOT NULL PRIMARY KEY, name varchar(40) NOT NULL);
CREATE INDEX by_name ON {TABLE} (name)"""


def shares(keys: str) -> list[tuple[int, int]]:
    """The first key and the step of each loader."""
    if keys == "interleaved":
        return [(loader, LOADERS) for loader in range(LOADERS)]
    return [(loader * ROWS, 1) for loader in range(LOADERS)]


def load_together(server: Endpoint, clients: list[str], keys: str) -> None:
    """Runs ten loaders and compares the table with what they had."""
    made = server.bulkwire("query", f"DROP TABLE IF EXISTS {TABLE}; {DEFINITION}")
    assert made.returncode == 0, made.stderr
    environment = {
        **os.environ,
        "LOADER_PASSWORD": server.password,
        "LOADER_BULKWIRE": str(pathlib.Path(server.binaries).resolve() / "bulkwire"),
    }
    loaders = [
        subprocess.Popen(
            [sys.executable, clustered_loader.__file__, clients[number % len(clients)]]
            + [server.host, str(server.port), server.user, str(first), str(step)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number, (first, step) in enumerate(shares(keys))
    ]
    said = [loader.communicate(timeout=TIMEOUT_SECONDS)[0] for loader in loaders]
    failed = [(loader.args[2], text) for loader, text in zip(loaders, said, strict=True) if loader.returncode]
    assert not failed, failed
    total = LOADERS * ROWS
    counted = server.bulkwire(
        "query",
        f"SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)) FROM {TABLE}",
        "--format",
        "csv",
    )
    assert counted.stdout.splitlines()[1] == f"{total},{total},{total * (total - 1) // 2}", counted.stdout
    names = server.bulkwire(
        "query", f"SELECT COUNT(*) FROM {TABLE} WITH (INDEX (by_name)) WHERE name > ''", "--format", "csv"
    )
    assert names.stdout.splitlines()[1] == str(total), names.stdout


@pytest.mark.parametrize("keys", ["interleaved", "disjoint"])
@pytest.mark.parametrize("client", CLIENTS)
def test_ten_of_one_client(server: Endpoint, client: str, keys: str) -> None:
    load_together(server, [client], keys)


@pytest.mark.parametrize("keys", ["interleaved", "disjoint"])
def test_two_of_each_client(server: Endpoint, keys: str) -> None:
    load_together(server, list(CLIENTS), keys)
