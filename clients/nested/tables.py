"""The tables, views and functions that nested statements read and write."""

from __future__ import annotations

import dataclasses
import random

from nested.tree import POSTGRES, TSQL

# Rows with smaller ids are those that conditions meet; further ones are padding.
LIMIT = 1_000_000
SIZES = {"a": 9, "b": 7, "c": 12, "e": 0}
WORDS = ("a", "b", "ab", "c", "")
COLUMNS = (("id", "value"), ("x", "value"), ("y", "value"), ("s", "word"))
LAYOUTS = ("heap", "clustered", "primary", "identity", "guid")
# How a table begins and ends in T-SQL, in each layout.
SHAPES = {
    "heap": ("id int NOT NULL", ""),
    "clustered": ("id int NOT NULL", "CREATE CLUSTERED INDEX {0}_id ON {0} (id)"),
    "primary": ("id int NOT NULL PRIMARY KEY", ""),
    "identity": ("k int IDENTITY PRIMARY KEY, id int NOT NULL", ""),
    "guid": ("k uniqueidentifier NOT NULL DEFAULT NEWID() PRIMARY KEY, id int NOT NULL", ""),
}
# Views and inline functions: the columns and, for functions, what they take.
VIEWS = {
    "pairs": (("v0", "value"), ("v1", "value")),
    "totals": (("v0", "value"), ("v1", "value")),
    "either": (("v0", "value"),),
}
FUNCTIONS = {"below": (("v0", "value"), ("v1", "value")), "number": (("v0", "value"),)}
QUERIES = {
    "pairs": "SELECT a.id AS v0, b.x AS v1 FROM a LEFT JOIN b ON b.x = a.x AND b.id < {limit} "
    "WHERE a.id < {limit}",
    "totals": "SELECT x AS v0, COUNT(*) AS v1 FROM c WHERE id < {limit} GROUP BY x",
    "either": "SELECT x AS v0 FROM a WHERE id < {limit} UNION SELECT y FROM b WHERE id < {limit} "
    "AND EXISTS (SELECT 1 FROM c WHERE c.x = b.x AND c.id < {limit})",
    # The rows that a row of `c` leads to, in steps.
    "below": "WITH {recursive}r AS (SELECT id, x, 0 AS n FROM c WHERE x = {p} AND id < {limit} UNION ALL "
    "SELECT c.id, c.x, r.n + 1 FROM c JOIN r ON c.x = r.id WHERE r.n < 2 AND c.id < {limit}) "
    "SELECT id AS v0, n AS v1 FROM r",
    "number": "SELECT COUNT(*) AS v0 FROM b WHERE b.x = {p} AND id < {limit}",
}


@dataclasses.dataclass(frozen=True)
class Tables:
    """Rows with duplicates and NULLs, one table without any, and how each is kept."""

    rows: dict[str, list[tuple[int | str | None, ...]]]
    layouts: dict[str, str]

    @classmethod
    def by_chance(cls, seed: int) -> Tables:
        """Returns the tables of a seed."""
        random_ = random.Random(seed)
        rows = {name: [row_of(random_, number) for number in range(size)] for name, size in SIZES.items()}
        return cls(rows, {name: random_.choice(LAYOUTS) for name in SIZES})

    def tsql(self) -> list[str]:
        """Returns the statements that make them, each a batch of its own."""
        statements = []
        for kind, names in (("VIEW", VIEWS), ("FUNCTION", FUNCTIONS)):
            statements.extend(f"DROP {kind} IF EXISTS {name}" for name in names)
        for name in SIZES:
            first, further = SHAPES[self.layouts[name]]
            statements.append(f"DROP TABLE IF EXISTS {name}")
            statements.append(
                f"CREATE TABLE {name} ({first}, x int NULL, y int NULL, s varchar(9) NULL) {further}".format(
                    name
                )
            )
            if self.rows[name]:
                statements.append(f"INSERT {name} (id, x, y, s) VALUES {self.values(name)}")
        statements.append("CREATE INDEX c_x ON c (x)")
        for name in VIEWS:
            statements.append(f"CREATE VIEW {name} AS {QUERIES[name].format(limit=LIMIT)}")
        for name in FUNCTIONS:
            query = QUERIES[name].format(limit=LIMIT, recursive="", p="@p")
            statements.append(f"CREATE FUNCTION {name} (@p int) RETURNS TABLE AS RETURN {query}")
        return statements

    def padding(self, size: int, before: int) -> list[str]:
        """Returns the T-SQL that fills tables of `before` rows up with rows that no condition meets."""
        return [
            f"INSERT {name} (id, x, y, s) SELECT {LIMIT} + value, value % 5, NULLIF(value % 4, 0), "
            f"CHOOSE(value % 4, 'a', 'b', 'c') FROM GENERATE_SERIES({before + 1}, {size})"
            for name in SIZES
        ]

    def postgres(self) -> list[str]:
        """Returns PostgreSQL's statements that make them."""
        statements = []
        for name in SIZES:
            # Keys are looked at when a statement ends, as in T-SQL.
            key = "PRIMARY KEY DEFERRABLE" if self.layouts[name] == "primary" else "NOT NULL"
            statements.append(f"CREATE TABLE {name} (id int {key}, x int, y int, s varchar(9))")
            if self.rows[name]:
                statements.append(f"INSERT INTO {name} VALUES {self.values(name)}")
        for name in VIEWS:
            statements.append(f"CREATE VIEW {name} AS {QUERIES[name].format(limit=LIMIT)}")
        for name, columns in FUNCTIONS.items():
            query = QUERIES[name].format(limit=LIMIT, recursive="RECURSIVE ", p="p")
            if name == "number":
                query = query.replace("COUNT(*)", "COUNT(*)::int")
            shape = ", ".join(f"{column} int" for column, _ in columns)
            statements.append(
                f"CREATE FUNCTION {name} (p int) RETURNS TABLE ({shape}) LANGUAGE sql STABLE AS $$ {query} $$"
            )
        return statements

    def duckdb(self) -> list[str]:
        """Returns DuckDB's statements that make them, without keys, which it looks at row by row."""
        statements = []
        for name in SIZES:
            statements.append(f"CREATE TABLE {name} (id int NOT NULL, x int, y int, s varchar)")
            if self.rows[name]:
                statements.append(f"INSERT INTO {name} VALUES {self.values(name)}")
        for name in VIEWS:
            statements.append(f"CREATE VIEW {name} AS {QUERIES[name].format(limit=LIMIT)}")
        for name in FUNCTIONS:
            query = QUERIES[name].format(limit=LIMIT, recursive="RECURSIVE ", p="p")
            statements.append(f"CREATE MACRO {name} (p) AS TABLE {query}")
        return statements

    def values(self, name: str) -> str:
        """Returns the rows of a table as a list for VALUES."""
        return ", ".join("(" + ", ".join(literal(value) for value in row) + ")" for row in self.rows[name])

    def all(self, language: int) -> list[str]:
        """Returns the statements that make them."""
        return {TSQL: self.tsql, POSTGRES: self.postgres}[language]()


def row_of(random_: random.Random, number: int) -> tuple[int | str | None, ...]:
    """Returns a row of chance."""
    x = random_.choice([None, 0, 1, 2, 3, 4])
    y = random_.choice([None, 1, 2, 3])
    return number, x, y, random_.choice([None, *WORDS])


def literal(value: int | str | None) -> str:
    """Returns a value as every language writes it."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else f"'{value}'"
