"""Nested queries by chance: SQLite says what is right.

Each runs as it would, row by row wherever that is possible, and planned.

NESTED_QUERIES is how many there are, NESTED_SEED with which one they begin.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter

import nested_queries
import pymssql
import pytest

from conftest import serve

COUNT = int(os.environ.get("NESTED_QUERIES", "300"))
SEED = int(os.environ.get("NESTED_SEED", "1"))
# Queries after which there are other tables.
ROUND = 100


class Compared:
    """The tables of a round on both sides."""

    def __init__(self, connection: pymssql.Connection, seed: int) -> None:
        self.cursor = connection.cursor()
        self.tables = nested_queries.rows_of_tables(random.Random(seed))
        self.judge = nested_queries.judge(self.tables)
        for name in nested_queries.TABLES:
            self.cursor.execute(f"DROP TABLE IF EXISTS {name}")
        self.cursor.execute("\n".join(nested_queries.statements_of_tables(self.tables)))

    def wanted(self, text: str) -> Counter:
        """SQLite's rows."""
        return Counter(self.judge.execute(text).fetchall())

    def asked(self, text: str) -> Counter:
        """The server's rows."""
        self.cursor.execute(text)
        return Counter(tuple(row) for row in self.cursor.fetchall())

    def query(self, writer: nested_queries.Writer) -> str | None:
        """Compares a SELECT; what differs."""
        text = writer.statement()
        return self.difference(text, text.tsql)

    def change(self, writer: nested_queries.Writer) -> str | None:
        """Compares a DELETE or UPDATE, which is undone."""
        kind, name, statement, met = writer.change()
        try:
            rows = self.judge.execute(met.sqlite).fetchall()
        except sqlite3.Error as error:
            return f"the judge: {error}\n{met.sqlite}"
        if kind == "DELETE":
            gone = {row[0] for row in rows}
            wanted = Counter(row for row in self.tables[name] if row[0] not in gone)
        else:
            new = dict(rows)
            wanted = Counter((row[0], new.get(row[0], row[1]), *row[2:]) for row in self.tables[name])
        try:
            self.cursor.execute(f"BEGIN TRAN; {statement}")
            actual = self.asked(f"SELECT * FROM {name}")
        except pymssql.Error as error:
            return f"{statement}\n  {error}"
        finally:
            self.cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK")
        return None if actual == wanted else shown(statement, met.sqlite, wanted, actual)

    def difference(self, text: nested_queries.Text, statement: str) -> str | None:
        """Compares a SELECT."""
        try:
            wanted = self.wanted(text.sqlite)
        except sqlite3.Error as error:
            return f"the judge: {error}\n{text.sqlite}"
        try:
            actual = self.asked(statement)
        except pymssql.Error as error:
            return f"{statement}\n  {error}"
        return None if actual == wanted else shown(statement, text.sqlite, wanted, actual)


def shown(statement: str, sqlite: str, wanted: Counter, actual: Counter) -> str:
    """A difference in words."""
    difference = f"missing {dict(wanted - actual)}, too many {dict(actual - wanted)}"
    return f"{statement}\n  SQLite: {sqlite}\n  {difference}"


@pytest.mark.parametrize("path", ["", "rows", "plans"])
def test_nested_queries_give_what_sqlite_gives(path, binaries, tmp_path, monkeypatch):
    monkeypatch.setenv("BULKWIRE_QUERY_PATH", path)
    differences = []
    with (
        serve(binaries, tmp_path) as server,
        pymssql.connect(
            server=server.host,
            port=str(server.port),
            user=server.user,
            password=server.password,
            autocommit=True,
        ) as connection,
    ):
        compared = None
        for number in range(SEED, SEED + COUNT):
            if compared is None or number % ROUND == 0:
                compared = Compared(connection, number // ROUND)
            writer = nested_queries.Writer(random.Random(number))
            found = compared.change(writer) if number % 4 == 0 else compared.query(writer)
            if found:
                differences.append(f"{number}: {found}")
    assert not differences, f"{len(differences)} of {COUNT} differ:\n" + "\n\n".join(differences[:20])
