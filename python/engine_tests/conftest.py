"""What the tests of engines share: a server, a database of a test's own, a Spark session."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest
from processes import adopt_orphans, descendants, end_all_but

# Workers are started by their engines, and run what this process runs.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
# Functions and classes of these tests travel to workers by name.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH")]))
adopt_orphans()

pytest_plugins = ["bulkwire.pytest_plugin"] if "bulkwire.pytest_plugin" not in sys.modules else []


class Place:
    """A database of a test's own."""

    def __init__(self, db, url: str) -> None:
        self.db, self.url = db, url

    def value(self, sql: str):
        return self.db.fetch(sql)[0][0]

    def stages(self) -> list[str]:
        return [row[0] for row in self.db.fetch("SELECT name FROM sys.tables WHERE name LIKE '%[_][_]bulkwire%'")]

    def count_and_sum(self, table: str) -> tuple[int, int, int]:
        return self.db.fetch(f"SELECT COUNT(*), COUNT(DISTINCT id), SUM(CAST(id AS bigint)) FROM {table}")[0]


@pytest.fixture
def place(bulkwire_server, bulkwire_db) -> Place:
    return Place(bulkwire_db, bulkwire_server.url_of(bulkwire_db.fetch("SELECT DB_NAME()")[0][0]))


@pytest.fixture(scope="module", autouse=True)
def no_process_stays():
    before = set(descendants(os.getpid()))
    yield
    left = end_all_but(before)
    assert not left, left


#: Lines for the end of the run.
SUMMARY = pytest.StashKey[list]()


def pytest_configure(config) -> None:
    config.stash[SUMMARY] = []


@pytest.fixture
def summary(request) -> list:
    return request.config.stash[SUMMARY]


def pytest_terminal_summary(terminalreporter, config) -> None:
    for line in config.stash[SUMMARY]:
        terminalreporter.write_line(str(line))
