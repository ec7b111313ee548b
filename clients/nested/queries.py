"""Writes nested queries by chance.

They have one to three levels, in every place where a query may stand.
"""

from __future__ import annotations

from nested.tables import COLUMNS, FUNCTIONS, LIMIT, VIEWS
from nested.tree import Node, listed, same, spelled
from nested.values import NOTHING, Column, Scopes, Source, Values


class Writer(Values):
    """Writes queries by chance."""

    def base(self) -> Source:
        """Returns a table, view or common table."""
        alias = self.alias()
        if self.common and self.chance(0.4):
            name = self.random.choice(list(self.common))
            columns = [Column(f"{alias}.{column}", kind) for column, kind in self.common[name]]
            return Source(same("source", f"{name} AS {alias}"), columns)
        if self.chance(0.08):
            name = self.random.choice(list(VIEWS))
            columns = [Column(f"{alias}.{column}", kind) for column, kind in VIEWS[name]]
            return Source(same("source", f"{name} AS {alias}"), columns)
        if self.chance(0.06):
            rows = [
                f"({self.random.randint(0, 4)}, {self.random.choice(('NULL', '1', '2'))})" for _ in range(2)
            ]
            text = f"(VALUES (1, 2), {', '.join(rows)}) AS {alias}(v0, v1)"
            return Source(spelled("source", text, text, None), [Column(f"{alias}.v0"), Column(f"{alias}.v1")])
        name, alias, columns, guard = self.table()
        if self.chance(0.3):
            names = ", ".join(column for column, _ in COLUMNS)
            text = f"(SELECT {names} FROM {name} WHERE id < {LIMIT}) AS {alias}"
            return Source(same("source", text), columns, (), columns[0])
        return Source(same("source", f"{name} AS {alias}"), columns, (guard,), columns[0])

    def source(self, scopes: Scopes, depth: int) -> Source:
        """Returns FROM and its columns."""
        kind = self.random.random()
        if depth > 0 and kind < 0.14:
            return self.derived(self.rows([], depth - 1, 2, named=True), 2)
        if depth > 0 and kind < 0.32:
            return self.join(scopes, depth)
        if depth > 0 and kind < 0.44:
            return self.applied(scopes, depth)
        if kind < 0.49:
            left, right = self.base(), self.base()
            return Source(
                same("sources", "{}, {}", left.node, right.node),
                left.columns + right.columns,
                left.guards + right.guards,
            )
        return self.base()

    def derived(self, query: Node, width: int) -> Source:
        alias = self.alias()
        columns = [Column(f"{alias}.v{index}") for index in range(width)]
        return Source(same("source", "({}) AS " + alias, query), columns)

    def join(self, scopes: Scopes, depth: int) -> Source:
        """Returns a join; its conditions may have queries."""
        left = self.source(scopes, 0)
        right = self.source(scopes, depth - 1) if self.chance(0.3) else self.base()
        both = left.columns + right.columns
        join = self.random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        # A comma binds looser than a join, and APPLY needs no ON.
        left, right = (self.all_of(side) if side.node.kind == "sources" else side for side in (left, right))
        if join in ("RIGHT JOIN", "FULL JOIN") and left.guards:
            left = self.all_of(left)
        if join in ("LEFT JOIN", "FULL JOIN") and right.guards:
            right = self.all_of(right)
        both = left.columns + right.columns
        inside = [*scopes, both] if join in ("JOIN", "LEFT JOIN") else [both]
        # An outer join of both sides needs a condition that PostgreSQL can hash.
        condition = self.condition(inside, 0 if join == "FULL JOIN" and self.chance(0.7) else depth - 1)
        lefts = [column for column in left.columns if column.kind == "value"]
        rights = [column for column in right.columns if column.kind == "value"]
        if self.chance(0.7):
            equal = f"{self.random.choice(lefts).name} = {self.random.choice(rights).name}"
            condition = same("condition", "{} AND {}", equal, condition)
        node = same("source", "{} " + join + " {} ON {}", left.node, right.node, condition)
        return Source(node, both, left.guards + right.guards)

    def all_of(self, source: Source) -> Source:
        """Returns a source as a derived table, within which its guards stand."""
        alias = self.alias()
        names = [f"v{index}" for index in range(len(source.columns))]
        items = ", ".join(
            f"{column.name} AS {name}" for column, name in zip(source.columns, names, strict=True)
        )
        guards = f" WHERE {' AND '.join(source.guards)}" if source.guards else ""
        node = same("source", f"(SELECT {items} FROM {{}}{guards}) AS {alias}", source.node)
        columns = [
            Column(f"{alias}.{name}", column.kind) for column, name in zip(source.columns, names, strict=True)
        ]
        key = columns[source.columns.index(source.key)] if source.key in source.columns else None
        return Source(node, columns, (), key)

    def applied(self, scopes: Scopes, depth: int) -> Source:
        """Returns a source with what APPLY puts beside each of its rows."""
        left = self.base()
        inside = [*scopes, left.columns]
        is_outer = self.chance(0.4)
        kind = self.random.random()
        alias = self.alias()
        if kind < 0.12:
            name = self.random.choice(list(FUNCTIONS))
            columns = [Column(f"{alias}.{column}") for column, _ in FUNCTIONS[name]]
            text = name + "({}) AS " + alias
            right = spelled("source", text, name + "(CAST({} AS int)) AS " + alias, None, self.plain(inside))
        elif kind < 0.25:
            columns = [Column(f"{alias}.v0")]
            values = [self.value(inside, depth - 1) for _ in range(self.random.randint(1, 3))]
            rows = ", ".join("({})" for _ in values)
            right = spelled(
                "source",
                f"(SELECT v0 FROM (VALUES {rows}) AS {alias}v(v0)) AS {alias}",
                f"(SELECT v0 FROM (VALUES {rows}) AS {alias}v(v0)) AS {alias}",
                None,
                *values,
            )
        else:
            columns = [Column(f"{alias}.v0"), Column(f"{alias}.v1")]
            right = same("source", "({}) AS " + alias, self.rows(inside, depth - 1, 2, named=True))
        node = spelled(
            "sources",
            "{} OUTER APPLY {}" if is_outer else "{} CROSS APPLY {}",
            "{} LEFT JOIN LATERAL {} ON TRUE" if is_outer else "{} CROSS JOIN LATERAL {}",
            None,
            left.node,
            right,
        )
        return Source(node, left.columns + columns, left.guards)

    # Queries of many rows.

    def rows(
        self, scopes: Scopes, depth: int, width: int, *, named: bool = False, paged: bool = True
    ) -> Node:
        """Returns a query of some columns of numbers, and of any number of rows."""
        kind = self.random.random()
        query = f"rows{width}{'n' if named else ''}"
        if kind < 0.1 and depth > 0:
            left, right = (self.rows(scopes, depth - 1, width, named=True, paged=False) for _ in range(2))
            operator = self.random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
            if self.chance(0.15):
                third = self.rows(scopes, depth - 1, width, named=True, paged=False)
                return same(
                    query,
                    "{} " + operator + " {} UNION ALL {}"
                    if operator != "INTERSECT"
                    else "{} UNION {} UNION ALL {}",
                    left,
                    right,
                    third,
                )
            return same(query, "{} " + operator + " {}", left, right)
        if kind < 0.13 and paged:
            return self.some(scopes, depth, width, named=named)
        if kind < 0.25 and paged:
            return self.page(scopes, depth, width, named=named)
        source = self.source(scopes, depth)
        inside = [*scopes, source.columns]
        where = self.where(source, inside, depth)
        if kind < 0.4:
            items = [self.aggregate(source.columns) for _ in range(width)]
            having = (
                same("optional", " HAVING {}", self.having(scopes, source.columns, depth))
                if self.chance(0.3)
                else NOTHING
            )
            return same(query, "SELECT {} FROM {}{}{}", self.items(items, named), source.node, where, having)
        if kind < 0.52:
            return self.groups(query, source, where, scopes, depth, width, named=named)
        if kind < 0.58:
            return self.grouping_sets(query, source, where, scopes, depth, width, named=named)
        if kind < 0.7:
            windows = [self.window(source, scopes, depth) for _ in range(width)]
            return same(query, "SELECT {} FROM {}{}", self.items(windows, named), source.node, where)
        items = [self.value(inside, max(depth - 1, 0)) for _ in range(width)]
        distinct = "DISTINCT " if self.chance(0.2) else ""
        return same(
            query, "SELECT " + distinct + "{} FROM {}{}", self.items(items, named), source.node, where
        )

    def groups(
        self, query: str, source: Source, where: Node, scopes: Scopes, depth: int, width: int, *, named: bool
    ) -> Node:
        """Returns a query with groups, whose key queries may look at."""
        key = self.random.choice([column for column in source.columns if column.kind == "value"])
        inside = [*scopes, [key]]
        items = [key.node]
        for _ in range(width - 1):
            is_query = depth > 0 and self.chance(0.3)
            items.append(self.value(inside, depth) if is_query else self.aggregate(source.columns))
        having = NOTHING
        if self.chance(0.4):
            condition = (
                self.condition(inside, depth)
                if depth > 0 and self.chance(0.5)
                else self.having(inside, source.columns, depth)
            )
            having = same("optional", " HAVING {}", condition)
        text = "SELECT {} FROM {}{} GROUP BY " + key.name + "{}"
        return same(query, text, self.items(items, named), source.node, where, having)

    def grouping_sets(
        self, query: str, source: Source, where: Node, scopes: Scopes, depth: int, width: int, *, named: bool
    ) -> Node:
        """Returns a query with several sets of groups."""
        numbers = [column for column in source.columns if column.kind == "value"]
        keys = self.random.sample(numbers, 2) if len(numbers) > 1 else numbers * 2
        first, second = (key.name for key in keys)
        sets = self.random.choice(
            (
                f"ROLLUP({first}, {second})",
                f"CUBE({first}, {second})",
                f"GROUPING SETS (({first}), ({second}), ())",
                f"GROUPING SETS (({first}, {second}), ({second}))",
                f"ROLLUP({first})",
            )
        )
        if first == second:
            sets = f"ROLLUP({first})"
        grouped = keys[:1] if sets == f"ROLLUP({first})" else keys
        items = []
        for _ in range(width):
            kind = self.random.random()
            if kind < 0.4:
                items.append(self.random.choice(grouped).node)
            elif kind < 0.55:
                items.append(same("value", f"GROUPING({self.random.choice(grouped).name})"))
            else:
                items.append(self.aggregate(source.columns))
        having = (
            same("optional", " HAVING {}", self.having(scopes, source.columns, depth))
            if self.chance(0.3)
            else NOTHING
        )
        text = "SELECT {} FROM {}{} GROUP BY " + sets + "{}"
        return spelled(query, text, text, None, self.items(items, named), source.node, where, having)

    def some(self, scopes: Scopes, depth: int, width: int, *, named: bool) -> Node:
        """Returns a query of some rows without an order, which are all alike."""
        source = self.source(scopes, depth)
        where = self.where(source, [*scopes, source.columns], depth)
        items = self.items([self.plain([]) for _ in range(width)], named)
        count, skip = self.random.randint(0, 4), self.random.randint(0, 2)
        query = f"rows{width}{'n' if named else ''}"
        if self.chance(0.6):
            last = f"SELECT {{}} FROM {{}}{{}} LIMIT {count}"
            return spelled(
                query, f"SELECT TOP ({count}) {{}} FROM {{}}{{}}", last, last, items, source.node, where
            )
        last = f"SELECT {{}} FROM {{}}{{}} LIMIT {count + 1} OFFSET {skip}"
        return spelled(
            query,
            "SELECT {} FROM {}{} ORDER BY (SELECT NULL)"
            f" OFFSET {skip} ROWS FETCH NEXT {count + 1} ROWS ONLY",
            last,
            last,
            items,
            source.node,
            where,
        )

    def page(self, scopes: Scopes, depth: int, width: int, *, named: bool) -> Node:
        """Returns the first rows in an order that leaves no choice, a page of them, or those with ties."""
        name, alias, columns, guard = self.table()
        source = Source(same("source", f"{name} AS {alias}"), columns, (guard,), columns[0])
        if self.chance(0.3):
            source = self.all_of(source)
            alias, columns = source.columns[0].name.split(".")[0], source.columns
        inside = [*scopes, columns]
        where = self.where(source, inside, depth)
        numbers = [column for column in columns if column.kind == "value"]
        made = [
            self.value(inside, depth) if depth > 0 and self.chance(0.2) else self.random.choice(numbers).node
            for _ in range(width)
        ]
        items = self.items(made, named)
        count = self.random.randint(1, 4)
        query = f"rows{width}{'n' if named else ''}"
        if self.chance(0.12):
            tied = self.random.choice(numbers).name
            return spelled(
                query,
                f"SELECT TOP ({count}) WITH TIES {{}} FROM {{}}{{}} ORDER BY {tied}",
                f"SELECT {{}} FROM {{}}{{}} ORDER BY {tied} NULLS FIRST FETCH FIRST {count} ROWS WITH TIES",
                None,
                items,
                source.node,
                where,
            )
        order = self.order([source], scopes, depth)
        parts = (items, source.node, where, order)
        if self.chance(0.5):
            last = f"SELECT {{}} FROM {{}}{{}} ORDER BY {{}} LIMIT {count}"
            return spelled(
                query, f"SELECT TOP ({count}) {{}} FROM {{}}{{}} ORDER BY {{}}", last, last, *parts
            )
        skip = self.random.randint(0, 3)
        last = f"SELECT {{}} FROM {{}}{{}} ORDER BY {{}} LIMIT {count} OFFSET {skip}"
        text = f"SELECT {{}} FROM {{}}{{}} ORDER BY {{}} OFFSET {skip} ROWS FETCH NEXT {count} ROWS ONLY"
        return spelled(query, text, last, last, *parts)

    def window(self, source: Source, scopes: Scopes, depth: int) -> Node:
        """Returns a window function whose value does not depend on an order among equals."""
        numbers = [column for column in source.columns if column.kind == "value"]
        partition = f"PARTITION BY {self.random.choice(numbers).name} " if self.chance(0.5) else ""
        column = self.random.choice(numbers).name
        if source.key is not None and self.chance(0.35):
            key = source.key.name
            order = f"ORDER BY {key}"
            text = self.random.choice(
                (
                    f"ROW_NUMBER() OVER ({partition}ORDER BY {key} DESC)",
                    f"LAG({column}) OVER ({partition}ORDER BY {key})",
                    f"LEAD({column}, 2, 0) OVER ({partition}ORDER BY {key})",
                    f"FIRST_VALUE({column}) OVER ({partition}ORDER BY {key})",
                    f"NTILE(3) OVER ({partition}ORDER BY {key})",
                    f"SUM({column}) OVER ({partition}{order} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
                    f"MIN({column}) OVER ({partition}{order} ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)",
                )
            )
            return same("value", text)
        function = self.random.choice(("RANK()", "DENSE_RANK()", "COUNT(*)", "SUM", "MAX", "running"))
        if function == "running":
            return spelled(
                "value",
                f"SUM({column}) OVER ({partition}ORDER BY {column})",
                f"SUM({column}) OVER ({partition}ORDER BY {column} NULLS FIRST)",
                f"SUM({column}) OVER ({partition}ORDER BY {column})",
            )
        if function in ("RANK()", "DENSE_RANK()"):
            inside = [*scopes, source.columns]
            by = self.value(inside, depth) if depth > 0 and self.chance(0.15) else same("value", column)
            if by.text(0)[0].isdigit():
                by = same("value", "({} + 0)", by)
            return spelled(
                "value",
                f"{function} OVER ({partition}ORDER BY {{}})",
                f"{function} OVER ({partition}ORDER BY {{}} NULLS FIRST)",
                f"{function} OVER ({partition}ORDER BY {{}})",
                by,
            )
        call = function if function == "COUNT(*)" else f"{function}({column})"
        return same("value", f"{call} OVER ({partition.strip()})")

    def items(self, items: list[Node], named: bool) -> Node:
        """Returns a select list; with names, `v0`, `v1`."""
        if named:
            items = [same("item", "{} AS v" + str(index), item) for index, item in enumerate(items)]
        return listed(items)

    # Whole statements.

    def with_common(self) -> Node:
        """Returns the common tables of a statement, or nothing."""
        if self.chance(0.75):
            return NOTHING
        if self.chance(0.5):
            depth = self.random.randint(0, 1)
            query = self.rows([], depth, 2, named=True)
            self.common["q1"] = (("v0", "value"), ("v1", "value"))
            return same("text", "WITH q1 AS ({}) ", query)
        first, step = self.random.sample(("a", "b", "c"), 2)
        column, link = self.random.choice(("x", "y")), self.random.choice(("x", "y"))
        anchor = self.condition(
            [[Column("r0.id"), Column("r0.x"), Column("r0.y")]], self.random.randint(0, 1)
        )
        text = (
            f"r AS (SELECT r0.id AS v0, r0.{column} AS v1, 0 AS v2 FROM {first} AS r0"
            f" WHERE r0.id < {LIMIT} AND {{}} UNION ALL"
            f" SELECT r1.id, r1.{column}, r.v2 + 1 FROM {step} AS r1 JOIN r ON r1.{link} = r.v0"
            f" WHERE r.v2 < 2 AND r1.id < {LIMIT}) "
        )
        self.common["r"] = (("v0", "value"), ("v1", "value"), ("v2", "value"))
        return spelled("text", "WITH " + text, "WITH RECURSIVE " + text, "WITH RECURSIVE " + text, anchor)

    def statement(self) -> Node:
        """Returns a whole SELECT."""
        common = self.with_common()
        depth = self.random.randint(1, 3)
        if self.chance(0.3):
            return same("text", "{}{}", common, self.rows([], depth, 2, named=True))
        source = self.source([], depth)
        own = source.columns
        items = [self.column([own]), *(self.value([own], depth) for _ in range(self.random.randint(0, 2)))]
        if self.chance(0.2):
            items.append(self.word([own], depth))
        where = self.where(source, [own], depth)
        if source.key is not None and self.chance(0.25):
            order = self.order([source], [], depth)
            return same(
                "ordered",
                "{}SELECT {} FROM {}{} ORDER BY {}",
                common,
                self.items(items, named=True),
                source.node,
                where,
                order,
            )
        return same(
            "text", "{}SELECT {} FROM {}{}", common, self.items(items, named=True), source.node, where
        )
