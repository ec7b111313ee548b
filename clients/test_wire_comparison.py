"""The bytes of a bulk load beside those of Microsoft's clients; docs/wire-comparison.md says what differs."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import subprocess
from collections.abc import Iterator

import mssql_python
import pyarrow
import pytest

import cells
import native_cells
import odbc
import python_cells
import test_mssql_jdbc
import test_mssql_tds
import wire_cells
from bulk_shapes import Difference, differences, obsolete, shape, unexplained
from bulk_stream import BulkLoad, bulk_loads
from relay import Relay, relayed
from test_odbc_bcp import program  # noqa: F401 (a fixture)
from test_pyodbc import connect
from wire_differences import EXPLAINED

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "wire-comparison.md"


@dataclasses.dataclass(frozen=True)
class Load:
    """What a client sent for the rows of a table, whose columns have these declarations."""

    columns: tuple[cells.Column, ...]
    nullable: bool
    stream: BulkLoad

    @property
    def declarations(self) -> dict[str, str]:
        """By the columns' names, in the table's order."""
        named = {column.name: wire_cells.declaration(column, self.nullable) for column in self.columns}
        return {"id": "int NOT NULL", **named}

    @property
    def first_id(self) -> int:
        """Clients count from 0 or from 1; the column is the first one."""
        _, value = shape(self.stream.columns[0], self.stream.rows[0][0])
        return int.from_bytes(value, "little")


def rows(nullable: bool) -> range:
    """The last row is NULL."""
    return range(cells.ROW_COUNT if nullable else cells.ROW_COUNT - 1)


def fresh(server, name: str, columns: tuple[cells.Column, ...], nullable: bool) -> None:
    """An empty table."""
    with contextlib.closing(connect(server)) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(wire_cells.create_table(name, columns, nullable))


def only_stream(relay: Relay) -> BulkLoad:
    """The one bulk load of all connections."""
    (found,) = streams(relay)
    return found


def streams(relay: Relay) -> list[BulkLoad]:
    """The bulk loads of all connections."""
    return [load for file in sorted(relay.folder.iterdir()) for load in bulk_loads(file.read_bytes())]


@pytest.fixture(scope="module")
def ours(server, tmp_path_factory):
    """`ours(columns, nullable, first_id)`: what bulkwire sends for these rows, which it reads as texts."""
    file = tmp_path_factory.mktemp("wire") / "rows.arrow"

    @functools.cache
    def ours(columns: tuple[cells.Column, ...], nullable: bool, first_id: int) -> BulkLoad:
        fresh(server, "wire_ours", columns, nullable)
        table = wire_cells.as_arrow(columns, rows(nullable), first_id)
        with pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        with relayed(server) as (endpoint, relay):
            url = endpoint.url + "&Encrypt=Optional"
            loaded = endpoint.bulkwire("load", "wire_ours", str(file), "--keep-nulls", "--url", url)
            assert loaded.returncode == 0, loaded.stderr
            return only_stream(relay)

    return ours


@pytest.fixture(scope="module")
def odbc_bcp(server, program, tmp_path_factory) -> list[Load]:  # noqa: F811
    """bcp_sendrow of every table, nullable and not."""
    file = tmp_path_factory.mktemp("wire") / "cells"
    loads = []
    for columns in map(tuple, wire_cells.TABLES.values()):
        for nullable in (True, False):
            fresh(server, "wire_odbc", columns, nullable)
            native_cells.write(file, columns, rows(nullable))
            with relayed(server) as (endpoint, relay):
                text = odbc.connection_string(endpoint, Encrypt="no")
                sent = subprocess.run(
                    [program, "send", "wire_odbc", file, "keep_nulls=1"],
                    env={**os.environ, "ODBC_CONNECTION": text, "LC_ALL": "C.UTF-8"},
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                )
                assert sent.returncode == 0, sent.stdout + sent.stderr
                loads.append(Load(columns, nullable, only_stream(relay)))
    return loads


def by_a_program(module, checks: dict[str, bool], server, plain) -> list[Load]:
    """The bulk loads of a program's checks, each with whether its table is nullable."""
    loads = []
    for check, nullable in checks.items():
        with relayed(server) as (endpoint, relay):
            (outcome,) = module.PROGRAM.run(endpoint, plain, [check]).values()
            assert outcome["outcome"] == "passed", outcome["detail"]
            loads += [loaded_by(stream, nullable) for stream in streams(relay)]
    return loads


def loaded_by(stream: BulkLoad, nullable: bool) -> Load:
    """A load of some of the columns of every type."""
    sent = {column.name for column in stream.columns}
    return Load(tuple(column for column in cells.COLUMNS if column.name in sent), nullable, stream)


@pytest.fixture(scope="module")
def mssql_tds(server, tls_modes) -> list[Load]:
    """Microsoft's Rust client."""
    return by_a_program(
        test_mssql_tds, {"bulk_every_type": True, "bulk_not_null": False}, server, tls_modes("off")
    )


@pytest.fixture(scope="module")
def mssql_jdbc(server, tls_modes) -> list[Load]:
    """Microsoft's JDBC driver, its temporal values sent as such."""
    checks = {"bulk_temporal_types_as_themselves": True, "bulk_not_null": False}
    return by_a_program(test_mssql_jdbc, checks, server, tls_modes("off"))


@pytest.fixture(scope="module")
def mssql_python_arrow(server) -> list[Load]:
    """mssql-python's bulkcopy_arrow, with what it read itself."""
    mssql_python.pooling(enabled=False)
    columns = tuple(python_cells.columns())
    with mssql_python.connect(odbc.server_options(server), autocommit=True) as connection:
        cursor = connection.cursor()
        for name in ("wire_source", "wire_arrow"):
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
            cursor.execute(python_cells.create_table(name, columns))
        for statement in python_cells.inserts("wire_source", columns):
            cursor.execute(statement)
        source = cursor.execute("SELECT * FROM wire_source ORDER BY id").arrow()
    with relayed(server) as (endpoint, relay):
        with mssql_python.connect(odbc.server_options(endpoint, Encrypt="no"), autocommit=True) as connection:
            connection.cursor().bulkcopy_arrow("wire_arrow", source, keep_nulls=True)
        return [loaded_by(only_stream(relay), True)]


@pytest.fixture(scope="module")
def found(request, ours) -> Iterator[set[Difference]]:
    """All differences between bulkwire and the client of the test."""
    return {
        difference
        for load in request.getfixturevalue(request.param)
        for difference in differences(
            ours(load.columns, load.nullable, load.first_id), load.stream, load.declarations
        )
    }


every_client = pytest.mark.parametrize("found", EXPLAINED, indirect=True, scope="module")


@every_client
def test_every_difference_is_explained(found, request):
    assert unexplained(found, EXPLAINED[request.node.callspec.params["found"]]) == []


@every_client
def test_every_explanation_is_of_a_difference(found, request):
    assert obsolete(found, EXPLAINED[request.node.callspec.params["found"]]) == []


def test_the_page_has_every_explanation():
    topics = {line.removeprefix("### ") for line in PAGE.read_text().splitlines() if line.startswith("### ")}
    assert topics == {kind.topic for kinds in EXPLAINED.values() for kind in kinds}
