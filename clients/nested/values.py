"""Writes values, conditions and queries of one row by chance."""

from __future__ import annotations

import dataclasses
import random

from nested.tables import COLUMNS, LIMIT, SIZES
from nested.tree import Node, same, spelled

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
NOTHING = same("optional", "")


@dataclasses.dataclass(frozen=True)
class Column:
    """A column as a query calls it: `alias.name`."""

    name: str
    kind: str = "value"

    @property
    def node(self) -> Node:
        return same(self.kind, self.name)


Scopes = list[list[Column]]


@dataclasses.dataclass(frozen=True)
class Source:
    """What follows FROM."""

    node: Node
    columns: list[Column]
    # Conditions without which padding would be met.
    guards: tuple[str, ...] = ()
    # A column without duplicates and NULLs.
    key: Column | None = None


class Values:
    """Writes values and conditions by chance; sources and queries of many rows are those of `Writer`."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.aliases = 0
        # Common tables of the statement.
        self.common: dict[str, tuple[tuple[str, str], ...]] = {}

    def chance(self, share: float) -> bool:
        """Returns true for that share of the calls."""
        return self.random.random() < share

    def alias(self) -> str:
        """Returns a name that has not been used."""
        self.aliases += 1
        return f"t{self.aliases}"

    # Values. Scopes are lists of columns, the innermost last.

    def column(self, scopes: Scopes, kind: str = "value") -> Node | None:
        """Returns a column of a kind: mostly of the query itself, else of one around it."""
        inner = [[column for column in scope if column.kind == kind] for scope in scopes]
        inner = [scope for scope in inner if scope]
        if not inner:
            return None
        scope = inner[-1] if len(inner) == 1 or self.chance(0.6) else self.random.choice(inner[:-1])
        return self.random.choice(scope).node

    def plain(self, scopes: Scopes) -> Node:
        """Returns a number without a query."""
        column = self.column(scopes)
        kind = self.random.random()
        if kind < 0.17 or column is None:
            return same("value", str(self.random.randint(0, 4)))
        if kind < 0.19:
            return same("value", "CAST(NULL AS int)")
        if kind < 0.28:
            return same("value", "({} + {})", column, str(self.random.randint(0, 2)))
        if kind < 0.33:
            return same("value", "COALESCE({}, {})", column, str(self.random.randint(0, 3)))
        if kind < 0.36:
            # Twelve is divided where there is something to divide by.
            return same("value", "CASE WHEN {0} <> 0 THEN 12 / {0} ELSE -1 END", column)
        return column

    def value(self, scopes: Scopes, depth: int) -> Node:
        """Returns a number, perhaps a query's."""
        kind = self.random.random()
        if depth == 0 or kind < 0.45:
            return self.plain(scopes)
        if kind < 0.7:
            return same("value", "({})", self.single(scopes, depth - 1))
        if kind < 0.8:
            condition, other = self.condition(scopes, depth), self.value(scopes, depth - 1)
            then = self.value(scopes, depth - 1)
            case = "CASE WHEN {} THEN {} ELSE {} END"
            return spelled(
                "value", "IIF({}, {}, {})" if self.chance(0.3) else case, case, case, condition, then, other
            )
        if kind < 0.84:
            return self.guarded(scopes, depth)
        if kind < 0.87:
            parts = self.value(scopes, depth - 1), self.value(scopes, depth - 1)
            first = self.random.choice(("ISNULL", "COALESCE"))
            return spelled("value", first + "({}, {})", "COALESCE({}, {})", "COALESCE({}, {})", *parts)
        if kind < 0.9:
            return same("value", "NULLIF({}, {})", self.value(scopes, depth - 1), self.plain(scopes))
        if kind < 0.93:
            return same("value", "ABS({} - {})", self.value(scopes, depth - 1), self.value(scopes, depth - 1))
        if kind < 0.97:
            return same("value", "({} + {})", self.value(scopes, depth - 1), self.value(scopes, depth - 1))
        return spelled("value", "LEN({})", "LENGTH({})", "LENGTH({})", self.word(scopes, depth - 1))

    def guarded(self, scopes: Scopes, depth: int) -> Node:
        """Returns the value of a query that is asked only where it has one row."""
        source = self.source(scopes, depth - 1)
        inside = [*scopes, source.columns]
        where = self.where(source, inside, depth - 1)
        item = self.plain([source.columns])
        text = "CASE WHEN (SELECT COUNT(*) FROM {0}{1}) = 1 THEN (SELECT {2} FROM {0}{1}) ELSE 7 END"
        return same("value", text, source.node, where, item)

    def word(self, scopes: Scopes, depth: int) -> Node:
        """Returns a text, perhaps a query's."""
        column = self.column(scopes, "word")
        kind = self.random.random()
        if column is None or kind < 0.15:
            return same("word", self.random.choice(("'a'", "'ab'", "'c'")))
        if depth > 0 and kind < 0.4:
            return same("word", "({})", self.words(scopes, depth - 1))
        if kind < 0.5:
            return same("word", "CONCAT({}, '-')", column)
        return column

    def words(self, scopes: Scopes, depth: int) -> Node:
        """Returns a query of one row with a text."""
        name, alias, columns, guard = self.table()
        inside = [*scopes, columns]
        source = Source(same("source", f"{name} AS {alias}"), columns, (guard,), columns[0])
        where = self.where(source, inside, depth)
        kind = self.random.random()
        if kind < 0.4:
            function = self.random.choice(("MIN", "MAX"))
            return same("single", f"SELECT {function}({alias}.s) FROM {{}}{{}}", source.node, where)
        item = self.random.choice(("id", "x"))
        return spelled(
            "single",
            f"SELECT STRING_AGG(CAST({alias}.{item} AS varchar(9)), ',')"
            f" WITHIN GROUP (ORDER BY {alias}.id) FROM {{}}{{}}",
            f"SELECT STRING_AGG({alias}.{item}::text, ',' ORDER BY {alias}.id) FROM {{}}{{}}",
            None,
            source.node,
            where,
        )

    # Conditions.

    def condition(self, scopes: Scopes, depth: int) -> Node:
        """Returns a condition, perhaps with queries."""
        kind = self.random.random()
        if depth > 0:
            if kind < 0.17:
                width = self.random.randint(1, 2)
                text = self.negation() + "EXISTS ({})"
                return same("condition", text, self.rows(scopes, depth - 1, width))
            if kind < 0.38:
                return self.membership(scopes, depth)
            if kind < 0.41:
                operator = self.random.choice(("EXCEPT", "INTERSECT"))
                text = self.negation() + "EXISTS (SELECT {} " + operator + " SELECT {})"
                return same("condition", text, self.plain(scopes), self.value(scopes, depth - 1))
        if 0.41 <= kind < 0.54:
            operator = " OR " if self.chance(0.5) else " AND "
            left, right = self.condition(scopes, depth), self.condition(scopes, max(depth - 1, 0))
            return same("condition", "({}" + operator + "{})", left, right)
        if 0.54 <= kind < 0.6:
            return same("condition", "NOT ({})", self.condition(scopes, depth))
        if 0.6 <= kind < 0.67:
            negation = self.random.choice(("", "NOT "))
            return same("condition", "{} IS " + negation + "NULL", self.value(scopes, max(depth - 1, 0)))
        if 0.67 <= kind < 0.73:
            return self.of_words(scopes, depth)
        if 0.73 <= kind < 0.77:
            values = self.value(scopes, max(depth - 1, 0)), self.plain(scopes), self.plain(scopes)
            return same("condition", "{} " + self.negation() + "BETWEEN {} AND {}", *values)
        if 0.8 <= kind < 0.83:
            values = self.value(scopes, max(depth - 1, 0)), self.plain(scopes)
            return same("condition", "{} IS " + self.negation() + "DISTINCT FROM {}", *values)
        if 0.77 <= kind < 0.8 and (column := self.column(scopes)):
            return same("condition", "({0} <> 0 AND 12 / {0} > 5)", column)
        operator = self.random.choice(OPERATORS)
        left, right = self.value(scopes, depth), self.plain(scopes)
        if self.chance(0.2):
            left, right = right, left
        return same("condition", "{} " + operator + " {}", left, right)

    def negation(self) -> str:
        return "NOT " if self.chance(0.45) else ""

    def of_words(self, scopes: Scopes, depth: int) -> Node:
        """Returns a condition on texts."""
        left = self.word(scopes, depth)
        if self.chance(0.3):
            return same("condition", "{} LIKE 'a%'", left)
        return same(
            "condition",
            "{} " + self.random.choice(OPERATORS) + " {}",
            left,
            self.word(scopes, max(depth - 1, 0)),
        )

    def membership(self, scopes: Scopes, depth: int) -> Node:
        """Returns IN, NOT IN, or a comparison with ANY or ALL."""
        value = self.value(scopes, depth - 1) if self.chance(0.25) else self.plain(scopes)
        kind = self.random.random()
        if kind < 0.08:
            items = self.value(scopes, depth - 1), self.value(scopes, depth - 1)
            return same("condition", "{} " + self.negation() + "IN ({}, 3, {})", value, *items)
        query = self.rows(scopes, depth - 1, 1)
        if kind < 0.6:
            text = "{} " + self.negation() + "IN ({})"
            return same("condition", text, value, query)
        quantifier = self.random.choice(("ANY", "ALL", "SOME"))
        operator = self.random.choice(OPERATORS)
        text = f"{{}} {operator} {quantifier} ({{}})"
        equal = {("=", "ANY"): "{} IN ({})", ("<>", "ALL"): "{} NOT IN ({})"}.get((operator, quantifier))
        return spelled("condition", text, text, equal, value, query)

    # Queries of one value.

    def single(self, scopes: Scopes, depth: int) -> Node:
        """Returns a query of one column that gives one row or none."""
        kind = self.random.random()
        if kind < 0.68:
            source = self.source(scopes, depth)
            inside = [*scopes, source.columns]
            where = self.where(source, inside, depth)
            aggregate = self.aggregate(source.columns)
            having = (
                same("optional", " HAVING {}", self.having(scopes, source.columns, depth))
                if self.chance(0.2)
                else NOTHING
            )
            return same("single", "SELECT {} FROM {}{}{}", aggregate, source.node, where, having)
        if kind < 0.73:
            return same("single", "SELECT {}", self.value(scopes, depth))
        name, alias, columns, guard = self.table()
        source = Source(same("source", f"{name} AS {alias}"), columns, (guard,), columns[0])
        inside = [*scopes, columns]
        where = self.where(source, inside, depth)
        order = self.order([source], scopes, depth)
        item = self.value(inside, depth) if self.chance(0.3) else columns[self.random.randrange(3)].node
        last = "SELECT {0} FROM {1}{2} ORDER BY {3} LIMIT 1"
        return spelled(
            "single",
            "SELECT TOP (1) {0} FROM {1}{2} ORDER BY {3}",
            last,
            last,
            item,
            source.node,
            where,
            order,
        )

    def order(self, sources: list[Source], scopes: Scopes, depth: int) -> Node:
        """Returns an order that leaves no choice: its last column is a key."""
        own = sources[0]
        inside = [*scopes, own.columns]
        first = self.value(inside, depth) if depth > 0 and self.chance(0.2) else self.column([own.columns])
        # A number alone would be the place of a column, and a column may stand in an order once.
        if first.text(0)[0].isdigit() or first.text(0) == own.key.name:
            first = same("value", "({} % 3)", first)
        if self.chance(0.5):
            text = ("{} DESC, {}", "{} DESC NULLS LAST, {}", "{} DESC, {}")
        else:
            text = ("{}, {}", "{} NULLS FIRST, {}", "{}, {}")
        return spelled("text", *text, first, own.key.node)

    def aggregate(self, own: list[Column]) -> Node:
        """Returns an aggregate of the query's own columns."""
        names = (
            "COUNT(*)",
            "COUNT(*)",
            "COUNT({})",
            "SUM({})",
            "MIN({})",
            "MAX({})",
            "COUNT(DISTINCT {})",
            "SUM(DISTINCT {})",
        )
        name = self.random.choice(names)
        if name == "COUNT(*)":
            return same("value", name)
        column = self.column([own])
        if column is None:
            return same("value", "COUNT(*)")
        if self.chance(0.12):
            condition = self.condition([own], 0)
            column = same("value", "CASE WHEN {} THEN {} END", condition, column)
        return same("value", name, column)

    def having(self, scopes: Scopes, own: list[Column], depth: int) -> Node:
        """Returns a condition on groups."""
        right = (
            same("value", "({})", self.single(scopes, depth - 1))
            if depth > 0 and self.chance(0.4)
            else self.plain(scopes if self.chance(0.4) else [])
        )
        return same("condition", "{} " + self.random.choice(OPERATORS) + " {}", self.aggregate(own), right)

    def where(self, source: Source, scopes: Scopes, depth: int) -> Node:
        """Returns the condition of a query, its source's guards among it."""
        guards = " AND ".join(source.guards)
        if self.chance(0.15):
            return same("text", f" WHERE {guards}" if guards else "")
        condition = self.condition(scopes, depth)
        if not guards:
            return same("optional", " WHERE {}", condition)
        return same(
            "text", " WHERE {} AND {}" if self.chance(0.5) else " WHERE {1} AND {0}", guards, condition
        )

    def table(self) -> tuple[str, str, list[Column], str]:
        """Returns a table: its name, its alias, its columns, and the condition of its rows."""
        name = self.random.choices(list(SIZES), weights=(4, 4, 4, 1))[0]
        alias = self.alias()
        columns = [Column(f"{alias}.{column}", kind) for column, kind in COLUMNS]
        return name, alias, columns, f"{alias}.id < {LIMIT}"
