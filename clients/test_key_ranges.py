"""Random queries by ranges and orders of clustered keys, each compared with the same query over a heap.

`BULKWIRE_RANDOM_SEEDS=200` runs more of them. A difference names its seed and both statements.
"""

from __future__ import annotations

import os
import random

import pymssql
import pytest

ROWS = 12_000
QUERIES = 60
SEEDS = int(os.environ.get("BULKWIRE_RANDOM_SEEDS", "6"))

#: Types of keys: how a value is written, from a number of the table's range, and how it is converted.
TYPES = {
    "int": lambda n: str(n - 6000),
    "smallint": lambda n: str(n - 6000),
    "bigint": lambda n: str((n - 6000) * 3_000_000_000),
    "tinyint": lambda n: str(n % 256),
    "decimal(9, 2)": lambda n: f"{(n - 6000) / 4:.2f}",
    "decimal(20, 0)": lambda n: str((n - 6000) * 10**15),
    "date": lambda n: f"DATEADD(day, {n - 6000}, CAST('2001-03-01' AS date))",
    "datetime": lambda n: f"DATEADD(minute, {n}, CAST('2001-03-01' AS datetime))",
    "datetime2(3)": lambda n: f"DATEADD(millisecond, {n}, CAST('2001-03-01T12:00:00' AS datetime2(3)))",
    "varchar(20)": lambda n: f"'k{n % 1000:03} {n}'",
    "uniqueidentifier": lambda n: f"CAST(CAST({n} AS binary(16)) AS uniqueidentifier)",
}
#: What gives these values from a column `n`.
COLUMNS = {
    "int": "n - 6000",
    "smallint": "n - 6000",
    "bigint": "CAST(n - 6000 AS bigint) * 3000000000",
    "tinyint": "n % 256",
    "decimal(9, 2)": "CAST((n - 6000) / 4.0 AS decimal(9, 2))",
    "decimal(20, 0)": "CAST(n - 6000 AS decimal(20, 0)) * 1000000000000000",
    "date": "DATEADD(day, n - 6000, CAST('2001-03-01' AS date))",
    "datetime": "DATEADD(minute, n, CAST('2001-03-01' AS datetime))",
    "datetime2(3)": "DATEADD(millisecond, n, CAST('2001-03-01T12:00:00' AS datetime2(3)))",
    "varchar(20)": "CONCAT('k', FORMAT(n % 1000, '000'), ' ', n)",
    "uniqueidentifier": "CAST(CAST(n AS binary(16)) AS uniqueidentifier)",
}
WIDER = {"int": "bigint", "smallint": "int", "tinyint": "decimal(9, 2)", "decimal(9, 2)": "decimal(12, 3)"}


class Shape:
    """A key of two columns, one of them perhaps descending or NULL, and the rows of its tables."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.first = random_.choice(list(TYPES))
        self.nullable = random_.random() < 0.4
        self.descends = [random_.random() < 0.3, random_.random() < 0.3]
        self.columns = random_.choice([1, 2])
        self.modulus = random_.choice([1, 7, 400])
        self.compression = random_.choice(["NONE", "NONE", "ROW", "PAGE"])

    def statements(self) -> list[str]:
        """Makes and fills the tables `keyed` and `heap` with the same rows."""
        null = "NULL" if self.nullable else "NOT NULL"
        body = (
            f"a {self.first} {null}, b smallint NOT NULL, c int NULL, v varchar(30) NULL, w nvarchar(20) NULL"
        )
        words = [f"{name}{' DESC' if down else ''}" for name, down in zip("ab", self.descends, strict=True)]
        key = ", ".join(words[: self.columns])
        value = COLUMNS[self.first]
        first = f"CASE WHEN n % 50 = 3 THEN NULL ELSE {value} END" if self.nullable else value
        rows = (
            f"SELECT {first}, n % {self.modulus}, NULLIF(n % 9, 4), CONCAT('v', n), REPLICATE(N'ü', n % 5) "
            f"FROM (SELECT CAST(value AS int) * 7919 % {ROWS} AS n FROM GENERATE_SERIES(0, {ROWS - 1})) AS s"
        )
        return [
            f"CREATE TABLE heap ({body})",
            f"CREATE TABLE keyed ({body})",
            f"CREATE CLUSTERED INDEX k ON keyed ({key}) WITH (DATA_COMPRESSION = {self.compression})",
            f"INSERT heap {rows}",
            f"INSERT keyed {rows}",
        ]

    def value(self) -> str:
        """A constant of the key's first column, sometimes of another type or NULL."""
        number = self.random.choice([0, 1, ROWS // 2, ROWS - 1, self.random.randrange(-50, ROWS + 50)])
        if self.first == "smallint":
            number = max(number, -20_000)
        text = TYPES[self.first](number)
        kind = self.random.random()
        if kind < 0.15 and self.first in WIDER:
            extra = ".5" if self.random.random() < 0.4 and "." not in text else ""
            return f"CAST({text}{extra} AS {WIDER[self.first]})"
        if kind < 0.2:
            return "NULL"
        return text if kind < 0.6 else f"CAST({text} AS {self.first})"

    def condition(self) -> str:
        """One to three comparisons, mostly of the key."""
        parts = []
        for _ in range(self.random.choice([1, 1, 2, 2, 3])):
            kind = self.random.random()
            operator = self.random.choice(["<", "<=", ">", ">=", "="])
            if kind < 0.5:
                parts.append(f"a {operator} {self.value()}")
            elif kind < 0.6:
                parts.append(f"{self.value()} {operator} a")
            elif kind < 0.7:
                parts.append(f"a BETWEEN {self.value()} AND {self.value()}")
            elif kind < 0.9:
                parts.append(f"b {operator} {self.random.randrange(-1, self.modulus + 1)}")
            else:
                parts.append(self.random.choice(["c = 3", "a IS NOT NULL", "a IS NULL", "NOT c > 2"]))
        return " AND ".join(parts)

    def query(self) -> tuple[str, bool]:
        """A query over {t}, and whether its rows have an order."""
        where = f" WHERE {self.condition()}" if self.random.random() < 0.7 else ""
        down = [self.random.choice(["", " DESC"]) for _ in range(3)]
        order = f"ORDER BY a{down[0]}, b{down[1]}, v{down[2]}"
        by_key = f"ORDER BY a{down[0]}, b{down[1]}"
        top = self.random.choice([1, 2, 100, 9000])
        return self.random.choice(
            [
                (f"SELECT a, b, c, v, w FROM {{t}}{where}", False),
                (f"SELECT v, a FROM {{t}} AS x{where}", False),
                # The order of rows with the same key is not defined, that of keys is.
                (f"SELECT a, b FROM {{t}}{where} {by_key}", True),
                (f"SELECT a FROM {{t}}{where} ORDER BY a{down[0]}", True),
                (f"SELECT TOP ({top}) a, b FROM {{t}}{where} {by_key}", True),
                (f"SELECT TOP ({top}) a FROM {{t}}{where} ORDER BY a{down[0]}", True),
                (f"SELECT TOP ({top}) v FROM {{t}}{where} {order}", True),
                (f"SELECT a, b FROM {{t}}{where} {by_key} OFFSET {top} ROWS FETCH NEXT 5 ROWS ONLY", True),
                (f"SELECT TOP (3) WITH TIES a FROM {{t}}{where} ORDER BY a{down[0]}", True),
                (f"SELECT MIN(a), MAX(a) FROM {{t}}{where}", True),
                (f"SELECT MAX(a) AS m, MAX(a) AS n FROM {{t}}{where}", True),
                (f"SELECT MIN(a), COUNT(*), MAX(b) FROM {{t}}{where}", True),
                (f"SELECT c, MIN(a), MAX(a) FROM {{t}}{where} GROUP BY c", False),
                (f"SELECT COUNT(*) FROM {{t}} WHERE a = (SELECT MAX(a) FROM {{t}}{where})", True),
                (f"SELECT x.v FROM (SELECT TOP (5) * FROM {{t}}{where} {order}) AS x", False),
                (f"SELECT COUNT(*), COUNT(a), SUM(CAST(b AS int)) FROM {{t}}{where}", True),
            ]
        )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_rows_by_a_key_are_those_of_a_heap(server, seed):
    shape = Shape(random.Random(seed))
    database = f"keys_{seed}"
    where = {
        "server": server.host,
        "port": str(server.port),
        "user": server.user,
        "password": server.password,
    }
    with pymssql.connect(**where, autocommit=True, database="master") as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {database}")
        cursor.execute(f"USE {database}")
        for statement in shape.statements():
            cursor.execute(statement)
        if shape.random.random() < 0.5:
            # What an open transaction has changed is read the same way.
            cursor.execute("BEGIN TRANSACTION")
        for table in ("heap", "keyed"):
            cursor.execute(
                f"DELETE {table} WHERE v LIKE 'v%77'; UPDATE {table} SET b = b + 1 WHERE v LIKE '%5'"
            )
        for _ in range(QUERIES):
            text, ordered = shape.query()
            found = []
            for table in ("heap", "keyed"):
                cursor.execute(text.format(t=table))
                rows = cursor.fetchall()
                found.append(rows if ordered else sorted(rows, key=repr))
            assert found[0] == found[1], f"seed {seed}: {shape.statements()[2]}: {text}"
        cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK; USE master")
        cursor.execute(f"DROP DATABASE {database}")
