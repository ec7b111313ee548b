"""Nested statements by chance: SQLite says what is right of those that it can say.

Each runs as it would, row by row wherever that is possible, and planned.

NESTED_QUERIES is how many there are, NESTED_SEED with which one they begin.
"""

from __future__ import annotations

import os

import pytest
from nested.comparison import ROUND, compared
from nested.judges import Judged, SQLite

from conftest import serve

COUNT = int(os.environ.get("NESTED_QUERIES", "200"))
SEED = int(os.environ.get("NESTED_SEED", "0")) // ROUND * ROUND


@pytest.mark.parametrize("path", ["", "rows", "plans"])
def test_nested_queries_give_what_sqlite_gives(path, binaries, tmp_path, monkeypatch):
    monkeypatch.setenv("BULKWIRE_QUERY_PATH", path)
    with serve(binaries, tmp_path) as server:
        tally = compared(
            SQLite(), Judged(server), SEED, lambda tally: tally.statements < COUNT, path or "as it would"
        )
    assert not tally.differences, f"{tally}:\n" + "\n\n".join(tally.differences[:20])
