"""The engines that say what is right, and the server that is judged."""

from __future__ import annotations

import decimal
import os
import re
import sqlite3
import threading
from collections.abc import Iterable
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pymssql

from nested.tables import LIMIT, QUERIES, SIZES, VIEWS, Tables
from nested.tree import POSTGRES, SQLITE, TSQL

Row = tuple[str | None, ...]


class RefusedError(Exception):
    """A judge refused a statement."""


def plain(rows: Iterable[tuple[Any, ...]]) -> list[Row]:
    """Returns rows whose values look alike whatever engine they come from."""
    return [tuple(plain_value(value) for value in row) for row in rows]


def plain_value(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    return format(decimal.Decimal(value).normalize(), "f")


def state(target: str) -> str:
    """Returns the query of a table's rows."""
    return f"SELECT id, x, y, s FROM {target} WHERE id < {LIMIT}"


class Postgres:
    """PostgreSQL's answers."""

    language = POSTGRES

    def __init__(self, url: str) -> None:
        self.connection = adbc_driver_postgresql.dbapi.connect(url)
        self.cursor = self.connection.cursor()

    def make(self, tables: Tables) -> None:
        """Makes the tables of a round."""
        # Compiling what runs once takes longer than running it.
        for setting in ("statement_timeout = '2s'", "jit = off", "max_parallel_workers_per_gather = 0"):
            self.cursor.execute(f"SET {setting}")
        # In a schema of its own, since several may compare at once.
        schema = f"nested_{os.getpid()}"
        for statement in (
            f"DROP SCHEMA IF EXISTS {schema} CASCADE",
            f"CREATE SCHEMA {schema}",
            f"SET search_path = {schema}",
            *tables.postgres(),
        ):
            self.cursor.execute(statement)
        self.connection.commit()

    def rows(self, text: str) -> list[Row]:
        """Returns the rows of a query; raises `RefusedError`."""
        try:
            self.cursor.execute(text)
            return plain(self.cursor.fetchall())
        except adbc_driver_postgresql.dbapi.Error as error:
            raise RefusedError(str(error)) from error
        finally:
            self.connection.rollback()

    def changed(self, text: str, target: str, gives_rows: bool) -> tuple[list[Row], list[Row]]:
        """Returns what a statement gives and the rows of its table behind it, and undoes it.

        Raises `RefusedError`.
        """
        try:
            self.cursor.execute(text)
            given = plain(self.cursor.fetchall()) if gives_rows else []
            self.cursor.execute(state(target))
            return given, plain(self.cursor.fetchall())
        except adbc_driver_postgresql.dbapi.Error as error:
            raise RefusedError(str(error)) from error
        finally:
            self.connection.rollback()


class SQLite:
    """SQLite's answers."""

    language = SQLITE

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)

    def make(self, tables: Tables) -> None:
        """Makes the tables of a round."""
        self.connection.close()
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for name in SIZES:
            key = "PRIMARY KEY" if tables.layouts[name] == "primary" else "NOT NULL"
            self.connection.execute(f"CREATE TABLE {name} (id int {key}, x int, y int, s text)")
            if tables.rows[name]:
                self.connection.execute(f"INSERT INTO {name} VALUES {tables.values(name)}")
        for name in VIEWS:
            self.connection.execute(f"CREATE VIEW {name} AS {QUERIES[name].format(limit=LIMIT)}")

    def rows(self, text: str) -> list[Row]:
        """Returns the rows of a query; raises `RefusedError`."""
        try:
            return plain(self.connection.execute(text).fetchall())
        except sqlite3.Error as error:
            raise RefusedError(str(error)) from error

    def changed(self, text: str, target: str, _: bool) -> tuple[list[Row], list[Row]]:
        """Returns nothing and the rows of a table behind a statement, and undoes it.

        Raises `RefusedError`.
        """
        self.connection.execute("BEGIN")
        try:
            self.connection.execute(text)
            return [], plain(self.connection.execute(state(target)).fetchall())
        except sqlite3.Error as error:
            raise RefusedError(str(error)) from error
        finally:
            self.connection.execute("ROLLBACK")


class DuckDB:
    """DuckDB's answers to PostgreSQL's text; it refuses what it does not know.

    It is not asked where it is no judge: its MERGE changes a row twice, and DISTINCT in aggregates counts
    too much over grouping sets.
    """

    language = POSTGRES

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")

    def make(self, tables: Tables) -> None:
        """Makes the tables of a round."""
        self.connection.close()
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        # Whole numbers are divided as elsewhere.
        self.connection.execute("SET integer_division = true")
        for statement in tables.duckdb():
            self.connection.execute(statement)
        self.layouts = tables.layouts

    def fetched(self, text: str) -> list[tuple[Any, ...]]:
        """Returns the rows of a statement; raises `RefusedError`, also for one of more than two seconds."""
        sets = re.search(r"ROLLUP|CUBE|GROUPING SETS", text)
        if "MERGE INTO" in text or (sets and "DISTINCT" in text):
            raise RefusedError("DuckDB is no judge of it")
        timer = threading.Timer(2, self.connection.interrupt)
        timer.start()
        try:
            return self.connection.execute(text).fetchall()
        except (duckdb.Error, RuntimeError) as error:
            raise RefusedError(str(error)) from error
        finally:
            timer.cancel()

    def rows(self, text: str) -> list[Row]:
        """Returns the rows of a query; raises `RefusedError`."""
        return plain(self.fetched(text))

    def changed(self, text: str, target: str, gives_rows: bool) -> tuple[list[Row], list[Row]]:
        """Returns what a statement gives and the rows of its table behind it, and undoes it.

        Raises `RefusedError`.
        """
        self.connection.execute("BEGIN")
        try:
            given = self.fetched(text.replace("ctid", "rowid"))
            rows = self.rows(state(target))
            if self.layouts[target] == "primary" and len({row[0] for row in rows}) < len(rows):
                raise RefusedError("a key would refuse it")
            return plain(given) if gives_rows else [], rows
        finally:
            self.connection.execute("ROLLBACK")


class Judged:
    """The server's answers."""

    language = TSQL

    def __init__(self, server: Any) -> None:
        self.server = server
        # Rows up to which the tables are padded; they stay when the connection does not.
        self.size = 0
        self.connect()

    def connect(self) -> None:
        self.connection = pymssql.connect(
            server=self.server.host,
            port=str(self.server.port),
            user=self.server.user,
            password=self.server.password,
            autocommit=True,
            timeout=20,
        )
        self.cursor = self.connection.cursor()

    def make(self, tables: Tables) -> None:
        """Makes the tables of a round, without padding."""
        for statement in tables.tsql():
            self.cursor.execute(statement)
        self.tables, self.size = tables, max(SIZES.values())

    def pad(self, size: int) -> None:
        """Fills the tables up to about `size` rows that no condition meets."""
        for statement in self.tables.padding(size, self.size):
            self.cursor.execute(statement)
        self.size = size

    def rows(self, text: str) -> list[Row]:
        """Returns the rows of a query; raises `RefusedError`."""
        try:
            self.cursor.execute(text)
            return plain(self.cursor.fetchall())
        except pymssql.Error as error:
            raise RefusedError(str(error)) from error

    def changed(self, text: str, target: str, gives_rows: bool) -> tuple[list[Row], list[Row]]:
        """Returns what a statement gives and the rows of its table behind it, and undoes it.

        Raises `RefusedError`.
        """
        try:
            self.cursor.execute(f"SET XACT_ABORT ON; BEGIN TRAN; {text}")
            given = plain(self.cursor.fetchall()) if gives_rows else []
            return given, self.rows(state(target))
        except pymssql.Error as error:
            raise RefusedError(str(error)) from error
        finally:
            self.cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK")


def is_internal(message: str) -> bool:
    """Returns true for an error that no statement may cause."""
    return bool(
        re.search(r"\(596,|internal|DBPROCESS is dead|not connected|panicked", message, re.IGNORECASE)
    )
