"""Fixtures for pytest; the package registers them, so a test only has to name them.

Example:
    def test_load(bulkwire_db):
        bulkwire_db.execute("CREATE TABLE t (id int)")
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from ._connection import Connection
from ._server import Server


@pytest.fixture(scope="session")
def bulkwire_server() -> Iterator[Server]:
    """An embedded server in memory, one for the whole test session."""
    with Server() as server:
        yield server


@pytest.fixture
def bulkwire_db(bulkwire_server: Server) -> Iterator[Connection]:
    """A connection to a database of the test's own, which is dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    with bulkwire_server.connect() as admin:
        admin.execute(f"CREATE DATABASE {name}")
    try:
        with bulkwire_server.connect(name) as db:
            yield db
    finally:
        with bulkwire_server.connect() as admin:
            admin.execute(f"DROP DATABASE {name}")
