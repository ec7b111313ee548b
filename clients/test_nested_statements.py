"""Nested statements by chance: PostgreSQL says what is right, and DuckDB of statements that it knows.

Each runs as it would, row by row wherever that is possible, and planned; over a few rows, and padded.

NESTED_STATEMENTS is how many there are, NESTED_SEED with which one they begin. NESTED_SECONDS, if set, is how
long each way takes instead.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
import time

import pytest
from foreign_databases import postgresql
from nested.comparison import ROUND, compared
from nested.judges import DuckDB, Judged, Postgres

from conftest import serve

COUNT = int(os.environ.get("NESTED_STATEMENTS", "1000"))
SECONDS = float(os.environ.get("NESTED_SECONDS", "0"))
SEED = int(os.environ.get("NESTED_SEED", "0")) // ROUND * ROUND


@pytest.fixture(scope="module")
def postgres():
    # The folders of pytest are closed to the user that runs PostgreSQL.
    with postgresql(pathlib.Path(tempfile.gettempdir()) / f"bulkwire-nested-{os.getpid()}") as server:
        yield server


@pytest.mark.parametrize("path", ["", "rows", "plans"])
def test_nested_statements_give_what_postgresql_gives(path, postgres, binaries, tmp_path, monkeypatch):
    monkeypatch.setenv("BULKWIRE_QUERY_PATH", path)
    end = time.monotonic() + SECONDS
    with serve(binaries, tmp_path) as server:
        tally = compared(
            Postgres(postgres.url),
            Judged(server),
            SEED,
            lambda tally: time.monotonic() < end if SECONDS else tally.statements < COUNT,
            path or "as it would",
        )
    print(f"\n{path or 'as it would'}: {tally}")
    assert not tally.differences, f"{tally}:\n" + "\n\n".join(tally.differences[:20])


def test_nested_statements_give_what_duckdb_gives(binaries, tmp_path):
    end = time.monotonic() + SECONDS
    # Not those again that PostgreSQL has judged.
    first = SEED + 500 * ROUND
    with serve(binaries, tmp_path) as server:
        tally = compared(
            DuckDB(),
            Judged(server),
            first,
            lambda tally: time.monotonic() < end if SECONDS else tally.statements < COUNT,
            "as it would",
        )
    print(f"\n{tally}")
    assert not tally.differences, f"{tally}:\n" + "\n\n".join(tally.differences[:20])
