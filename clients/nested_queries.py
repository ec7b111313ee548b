"""Writes nested queries in T-SQL and in SQLite's SQL at once.

They have one to three levels, in every place where a query may stand.
"""

from __future__ import annotations

import dataclasses
import random
import sqlite3

# Each table: its columns, and its definition in T-SQL. The first column has no duplicates and is never NULL.
TABLES = {
    "a": (("id", "x", "y"), "id int NOT NULL, x int NULL, y int NULL"),
    "b": (("id", "x", "y"), "id int NOT NULL PRIMARY KEY, x int NULL, y int NOT NULL"),
    "c": (("id", "x", "y"), "id int NOT NULL, x int NULL, y int NULL"),
    "e": (("id", "x", "y"), "id int NOT NULL, x int NULL, y int NULL"),
}
SIZES = {"a": 9, "b": 7, "c": 12, "e": 0}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


def rows_of_tables(random_: random.Random) -> dict[str, list[tuple[int | None, ...]]]:
    """Rows with duplicates and NULLs; one table has none."""
    tables = {}
    for name, size in SIZES.items():
        rows = []
        for number in range(size):
            x = random_.choice([None, 0, 1, 2, 3, 4])
            y = random_.choice([0, 1, 2, 3] if name == "b" else [None, 1, 2, 3])
            rows.append((number, x, y))
        tables[name] = rows
    return tables


def judge(tables: dict[str, list[tuple[int | None, ...]]]) -> sqlite3.Connection:
    """The tables in SQLite."""
    connection = sqlite3.connect(":memory:")
    for name, (columns, _) in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        marks = ", ".join("?" for _ in columns)
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", tables[name])
    return connection


def statements_of_tables(tables: dict[str, list[tuple[int | None, ...]]]) -> list[str]:
    """The tables in T-SQL."""
    statements = []
    for name, (_, definition) in TABLES.items():
        statements.append(f"CREATE TABLE {name} ({definition})")
        statements.extend(
            f"INSERT {name} VALUES ({', '.join('NULL' if value is None else str(value) for value in row)})"
            for row in tables[name]
        )
    return [*statements, "CREATE INDEX c_x ON c (x)"]


@dataclasses.dataclass(frozen=True)
class Text:
    """The same in both languages."""

    tsql: str
    sqlite: str

    def __format__(self, _: str) -> str:
        raise TypeError("texts are joined by `joined`")


def same(text: str) -> Text:
    """What both languages write alike."""
    return Text(text, text)


def joined(template: str, *parts: Text | str) -> Text:
    """A template with texts in the place of `{}`."""
    texts = [part if isinstance(part, Text) else same(part) for part in parts]
    return Text(
        template.format(*(part.tsql for part in texts)), template.format(*(part.sqlite for part in texts))
    )


class Writer:
    """Writes queries by chance."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.aliases = 0

    def chance(self, share: float) -> bool:
        """True for that share of the calls."""
        return self.random.random() < share

    def alias(self) -> str:
        """A name that has not been used."""
        self.aliases += 1
        return f"t{self.aliases}"

    # Scopes are lists of columns, each "alias.column", the innermost last.

    def column(self, scopes: list[list[str]]) -> str:
        """A column: mostly of the query itself, else of one around it."""
        inner = [scope for scope in scopes if scope]
        scope = inner[-1] if len(inner) == 1 or self.chance(0.6) else self.random.choice(inner[:-1])
        return self.random.choice(scope)

    def plain(self, scopes: list[list[str]]) -> Text:
        """A value without a query."""
        kind = self.random.random()
        if kind < 0.2 or not any(scopes):
            return same(str(self.random.randint(0, 4)))
        if kind < 0.3:
            return same(f"({self.column(scopes)} + {self.random.randint(0, 2)})")
        if kind < 0.35:
            return same(f"COALESCE({self.column(scopes)}, {self.random.randint(0, 3)})")
        return same(self.column(scopes))

    def value(self, scopes: list[list[str]], depth: int) -> Text:
        """A value, perhaps a query's."""
        kind = self.random.random()
        if depth > 0 and kind < 0.3:
            return joined("({})", self.single(scopes, depth - 1))
        if depth > 0 and kind < 0.4:
            return joined(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.condition(scopes, depth),
                self.plain(scopes),
                self.value(scopes, depth - 1),
            )
        return self.plain(scopes)

    def condition(self, scopes: list[list[str]], depth: int) -> Text:
        """A condition, perhaps with queries."""
        kind = self.random.random()
        if depth > 0:
            if kind < 0.2:
                return joined(
                    "{}EXISTS ({})", self.negation(), self.rows(scopes, depth - 1, self.random.randint(1, 2))
                )
            if kind < 0.42:
                return self.membership(scopes, depth)
        if 0.42 <= kind < 0.55:
            operator = " OR " if self.chance(0.5) else " AND "
            left, right = self.condition(scopes, depth), self.condition(scopes, max(depth - 1, 0))
            return joined("({}" + operator + "{})", left, right)
        if 0.55 <= kind < 0.62:
            return joined("NOT ({})", self.condition(scopes, depth))
        if 0.62 <= kind < 0.7:
            return joined(
                "{} IS " + self.random.choice(("", "NOT ")) + "NULL", self.value(scopes, max(depth - 1, 0))
            )
        return joined(
            "{} " + self.random.choice(OPERATORS) + " {}", self.value(scopes, depth), self.plain(scopes)
        )

    def negation(self) -> str:
        return "NOT " if self.chance(0.45) else ""

    def membership(self, scopes: list[list[str]], depth: int) -> Text:
        """IN, NOT IN and their other spellings."""
        value, query = self.plain(scopes), self.rows(scopes, depth - 1, 1)
        negated = self.chance(0.5)
        text = joined("{} " + ("NOT IN" if negated else "IN") + " ({})", value, query)
        if self.chance(0.3):
            quantified = joined("{} " + ("<> ALL" if negated else "= ANY") + " ({})", value, query)
            return Text(quantified.tsql, text.sqlite)
        return text

    def single(self, scopes: list[list[str]], depth: int) -> Text:
        """A query of one column that gives one row or none."""
        if self.chance(0.75):
            source, own = self.source(scopes, depth)
            inside = [*scopes, own]
            text = joined("SELECT {} FROM {}{}", self.aggregate(own), source, self.where(inside, depth))
            if self.chance(0.2):
                text = joined("{} HAVING {}", text, self.having(scopes, own, depth))
            return text
        table, alias, own = self.table()
        inside = [*scopes, own]
        order = f"{self.random.choice(own[1:])}, {own[0]}"
        filtered = joined("FROM {}{} ORDER BY {}", f"{table} {alias}", self.where(inside, depth), order)
        item = same(self.random.choice(own))
        return Text(
            joined("SELECT TOP (1) {} {}", item, filtered).tsql,
            joined("SELECT {} {} LIMIT 1", item, filtered).sqlite,
        )

    def aggregate(self, own: list[str]) -> Text:
        """An aggregate of the query's own columns."""
        name = self.random.choice(("COUNT(*)", "COUNT", "SUM", "MIN", "MAX", "COUNT(DISTINCT"))
        column = self.random.choice(own)
        if name == "COUNT(*)":
            return same(name)
        return same(f"{name} {column})" if name.endswith("DISTINCT") else f"{name}({column})")

    def having(self, scopes: list[list[str]], own: list[str], depth: int) -> Text:
        """A condition on groups."""
        right = (
            joined("({})", self.single(scopes, depth - 1))
            if depth > 0 and self.chance(0.4)
            else self.plain([[]])
        )
        return joined("{} " + self.random.choice(OPERATORS) + " {}", self.aggregate(own), right)

    def where(self, scopes: list[list[str]], depth: int) -> Text:
        if self.chance(0.15):
            return same("")
        return joined(" WHERE {}", self.condition(scopes, depth))

    def table(self) -> tuple[str, str, list[str]]:
        name = self.random.choices(list(TABLES), weights=(4, 4, 4, 1))[0]
        alias = self.alias()
        return name, alias, [f"{alias}.{column}" for column in TABLES[name][0]]

    def source(self, scopes: list[list[str]], depth: int) -> tuple[Text, list[str]]:
        """FROM, and its columns."""
        kind = self.random.random()
        if depth > 0 and kind < 0.15:
            alias, width = self.alias(), self.random.randint(1, 2)
            query = self.rows([], depth - 1, width, named=True)
            return joined("({}) {}", query, alias), [f"{alias}.v{index}" for index in range(width)]
        if depth > 0 and kind < 0.35:
            left, left_columns = self.source(scopes, 0)
            right, right_columns = self.source(scopes, depth - 1 if self.chance(0.3) else 0)
            if " ON " in right.tsql and not right.tsql.startswith("("):
                right = joined("({})", right)
            both = left_columns + right_columns
            join = self.random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
            inside = [*scopes, both] if join in ("JOIN", "LEFT JOIN") else [both]
            condition = self.condition(inside, depth - 1)
            if self.chance(0.7):
                condition = joined(
                    "{} AND {}",
                    f"{self.random.choice(left_columns)} = {self.random.choice(right_columns)}",
                    condition,
                )
            return joined("{} " + join + " {} ON {}", left, right, condition), both
        table, alias, own = self.table()
        return same(f"{table} {alias}"), own

    def rows(
        self, scopes: list[list[str]], depth: int, width: int, *, named: bool = False, paged: bool = True
    ) -> Text:
        """A query of some columns, and of any number of rows."""
        kind = self.random.random()
        if kind < 0.12 and depth > 0:
            left, right = (self.rows(scopes, depth - 1, width, named=True, paged=False) for _ in range(2))
            operator = self.random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
            return joined("{} " + operator + " {}", left, right)
        source, own = self.source(scopes, depth)
        inside = [*scopes, own]
        where = self.where(inside, depth)
        if kind < 0.3:
            items = [self.aggregate(own) for _ in range(width)]
            text = joined("SELECT {} FROM {}{}", self.items(items, named), source, where)
            if self.chance(0.3):
                text = joined("{} HAVING {}", text, self.having(scopes, own, depth))
            return text
        if kind < 0.42:
            key = self.random.choice(own)
            items = [same(key), *(self.aggregate(own) for _ in range(width - 1))]
            text = joined("SELECT {} FROM {}{} GROUP BY " + key, self.items(items, named), source, where)
            if self.chance(0.4):
                text = joined("{} HAVING {}", text, self.having(scopes, own, depth))
            return text
        if kind < 0.54:
            windows = [same(self.window(own)) for _ in range(width)]
            return joined("SELECT {} FROM {}{}", self.items(windows, named), source, where)
        if kind < 0.66 and paged:
            return self.page(scopes, depth, width, named=named)
        items = [self.value(inside, max(depth - 1, 0)) for _ in range(width)]
        distinct = "DISTINCT " if self.chance(0.2) else ""
        return joined("SELECT " + distinct + "{} FROM {}{}", self.items(items, named), source, where)

    def page(self, scopes: list[list[str]], depth: int, width: int, *, named: bool) -> Text:
        """The first rows in an order that leaves no choice, or a page of them."""
        table, alias, own = self.table()
        inside = [*scopes, own]
        order = f"{self.random.choice(own[1:])} {self.random.choice(('ASC', 'DESC'))}, {own[0]}"
        items = self.items([same(self.random.choice(own)) for _ in range(width)], named)
        rest = joined("{} FROM {}{} ORDER BY " + order, items, f"{table} {alias}", self.where(inside, depth))
        count = self.random.randint(1, 4)
        if self.chance(0.5):
            return Text(f"SELECT TOP ({count}) {rest.tsql}", f"SELECT {rest.sqlite} LIMIT {count}")
        skip = self.random.randint(0, 3)
        return Text(
            f"SELECT {rest.tsql} OFFSET {skip} ROWS FETCH NEXT {count} ROWS ONLY",
            f"SELECT {rest.sqlite} LIMIT {count} OFFSET {skip}",
        )

    def window(self, own: list[str]) -> str:
        """A window function whose value does not depend on an order among equals."""
        partition = f"PARTITION BY {self.random.choice(own)} " if self.chance(0.5) else ""
        function = self.random.choice(("RANK()", "DENSE_RANK()", "COUNT(*)", "SUM", "MAX"))
        if function in ("RANK()", "DENSE_RANK()"):
            return f"{function} OVER ({partition}ORDER BY {self.random.choice(own)})"
        call = function if function == "COUNT(*)" else f"{function}({self.random.choice(own)})"
        return f"{call} OVER ({partition.strip()})"

    def items(self, items: list[Text], named: bool) -> Text:
        """A select list; with names, `v0`, `v1`."""
        if named:
            items = [joined("{} AS v" + str(index), item) for index, item in enumerate(items)]
        return joined(", ".join("{}" for _ in items), *items)

    def statement(self) -> Text:
        """A whole SELECT."""
        depth = self.random.randint(1, 3)
        source, own = self.source([], depth)
        items = [
            same(self.random.choice(own)),
            *(self.value([own], depth) for _ in range(self.random.randint(0, 2))),
        ]
        return joined("SELECT {} FROM {}{}", self.items(items, named=False), source, self.where([own], depth))

    def change(self) -> tuple[str, str, str, Text]:
        """Returns a DELETE or UPDATE: its kind, its table, the T-SQL, and a SELECT of what it meets.

        The SELECT gives the ids of the rows and the new values of x.
        """
        depth = self.random.randint(1, 3)
        name = self.random.choice(("a", "b", "c"))
        alias = self.alias()
        own = [f"{alias}.{column}" for column in TABLES[name][0]]
        where = self.where([own], depth)
        if self.chance(0.5):
            met = joined("SELECT {} FROM {}{}", own[0], f"{name} {alias}", where)
            return "DELETE", name, f"DELETE {alias} FROM {name} {alias}{where.tsql}", met
        value = self.value([own], depth)
        met = joined("SELECT {}, {} FROM {}{}", own[0], value, f"{name} {alias}", where)
        return "UPDATE", name, f"UPDATE {alias} SET x = {value.tsql} FROM {name} {alias}{where.tsql}", met
