"""Writes statements by chance that change rows, with queries wherever they may stand."""

from __future__ import annotations

import dataclasses

from nested.queries import Writer
from nested.tables import COLUMNS, LIMIT
from nested.tree import Node, listed, same, spelled
from nested.values import NOTHING, Column, Source

TARGETS = ("a", "b", "c")
NAMES = [name for name, _ in COLUMNS]


@dataclasses.dataclass(frozen=True)
class Change:
    """A statement, the table that it writes, and the columns of its OUTPUT."""

    node: Node
    target: str
    gives_rows: bool = False


def change(writer: Writer) -> Change:
    """Returns a statement of chance."""
    depth = writer.random.randint(1, 3)
    target = writer.random.choice(TARGETS)
    kinds = (delete, update, insert, merge, joined_delete, applied_update, numbered)
    return writer.random.choices(kinds, weights=(4, 6, 5, 4, 2, 2, 1))[0](writer, target, depth)


def aliased(writer: Writer, target: str) -> Source:
    """Returns a table that is written, under an alias."""
    alias = writer.alias()
    columns = [Column(f"{alias}.{name}", kind) for name, kind in COLUMNS]
    return Source(same("text", f"{target} AS {alias}"), columns, (f"{alias}.id < {LIMIT}",), columns[0])


def alias_of(source: Source) -> str:
    return source.columns[0].name.split(".")[0]


def output(writer: Writer, pseudo: str, alias: str) -> tuple[Node, Node, bool]:
    """Returns OUTPUT and RETURNING of some columns, which most statements do without."""
    if writer.chance(0.75):
        return NOTHING, NOTHING, False
    names = writer.random.sample(NAMES, 2)
    clause = f" OUTPUT {', '.join(f'{pseudo}.{name}' for name in names)}"
    returning = f" RETURNING {', '.join(f'{alias}.{name}' for name in names)}"
    return same("text", clause), same("text", returning), True


def delete(writer: Writer, target: str, depth: int) -> Change:
    """Returns DELETE with a condition."""
    source = aliased(writer, target)
    where = writer.where(source, [source.columns], depth)
    clause, returning, gives = output(writer, "deleted", alias_of(source))
    node = spelled(
        "text",
        f"DELETE {alias_of(source)}{{2}} FROM {{0}}{{1}}",
        "DELETE FROM {0}{1}{3}",
        None if gives else "DELETE FROM {0}{1}",
        source.node,
        where,
        clause,
        returning,
    )
    return Change(node, target, gives)


def assignments(writer: Writer, source: Source, depth: int) -> Node:
    """Returns what SET says."""
    own = [source.columns]
    names = writer.random.sample(("x", "y", "id", "s"), writer.random.randint(1, 2))
    items = []
    for name in names:
        if name == "s":
            items.append(same("item", "s = {}", text_of(writer.word(own, depth))))
        elif name == "id":
            # Moves the row within the key.
            items.append(
                same("item", f"id = {alias_of(source)}.id + " + writer.random.choice(("1", "3", "100")))
            )
        else:
            items.append(same("item", name + " = {}", writer.value(own, depth)))
    return listed(items)


def text_of(word: Node) -> Node:
    """Returns a text that fits its column."""
    return spelled("word", "LEFT({}, 9)", "LEFT({}, 9)", "SUBSTR({}, 1, 9)", word)


def update(writer: Writer, target: str, depth: int) -> Change:
    """Returns UPDATE with queries in SET and WHERE."""
    source = aliased(writer, target)
    alias = alias_of(source)
    sets = assignments(writer, source, depth)
    where = writer.where(source, [source.columns], depth if writer.chance(0.6) else 0)
    clause, returning, gives = output(writer, "inserted", alias)
    node = spelled(
        "text",
        f"UPDATE {alias} SET {{1}}{{3}} FROM {{0}}{{2}}",
        "UPDATE {0} SET {1}{2}{4}",
        # SQLite's queries in SET see what the statement has written.
        None,
        source.node,
        sets,
        where,
        clause,
        returning,
    )
    return Change(node, target, gives)


def insert(writer: Writer, target: str, depth: int) -> Change:
    """Returns INSERT … SELECT, often from the target itself."""
    clause, returning, gives = output(writer, "inserted", target)
    kind = writer.random.random()
    if kind < 0.35:
        # What doubles a table.
        source = aliased(writer, target)
        own = [source.columns]
        value = writer.value(own, depth)
        where = writer.where(source, own, depth)
        alias = alias_of(source)
        query = same(
            "text",
            f"SELECT {alias}.id + 100, {{}}, {alias}.y, {alias}.s FROM {{}}{{}}",
            value,
            source.node,
            where,
        )
        common = NOTHING
    elif kind < 0.75:
        common = writer.with_common()
        rows = writer.rows([], depth, 2, named=True)
        alias = writer.alias()
        columns = [Column(f"{alias}.v0"), Column(f"{alias}.v1")]
        third = writer.value([columns], depth - 1)
        query = same(
            "text",
            f"SELECT COALESCE({alias}.v0, 0) + 200, {alias}.v1, {{1}}, 'c' FROM ({{0}}) AS {alias}",
            rows,
            third,
        )
    else:
        common = NOTHING
        values = [writer.value([], depth) for _ in range(3)]
        query = same("text", "VALUES (300 + COALESCE({}, 0), {}, 5, 'b'), (700, 1, {}, 'a')", *values)
    node = spelled(
        "text",
        f"{{0}}INSERT {target} (id, x, y, s){{2}} {{1}}",
        f"{{0}}INSERT INTO {target} (id, x, y, s) {{1}}{{3}}",
        None if gives else f"{{0}}INSERT INTO {target} (id, x, y, s) {{1}}",
        common,
        query,
        clause,
        returning,
    )
    return Change(node, target, gives)


def merge(writer: Writer, target: str, depth: int) -> Change:
    """Returns MERGE whose source, condition and actions have queries."""
    source = aliased(writer, target)
    alias = writer.alias()
    columns = [Column(f"{alias}.v0"), Column(f"{alias}.v1")]
    if writer.chance(0.5):
        inner = writer.source([], depth)
        numbers = [column for column in inner.columns if column.kind == "value"]
        key = writer.random.choice(numbers)
        where = writer.where(inner, [inner.columns], depth)
        text = f"SELECT {key.name} AS v0, {{}} AS v1 FROM {{}}{{}} GROUP BY {key.name}"
        using = same("text", text, writer.aggregate(inner.columns), inner.node, where)
    else:
        using = writer.rows([], depth, 2, named=True)
    # PostgreSQL's MERGE cannot ask queries in its actions' conditions.
    both, other = [source.columns, columns], [columns]
    target_alias = alias_of(source)
    on = f"{target_alias}.{writer.random.choice(('id', 'id', 'x'))} = {alias}.v0 AND {source.guards[0]}"
    actions = []
    if writer.chance(0.5):
        condition = writer.condition(both, depth if writer.chance(0.5) else 0)
        actions.append(same("optional", " WHEN MATCHED AND {} THEN DELETE", condition))
    if writer.chance(0.85):
        value = writer.value(both, depth)
        name = writer.random.choice(("x", "y"))
        actions.append(same("optional", f" WHEN MATCHED THEN UPDATE SET {name} = {{}}", value))
    if writer.chance(0.6) or not actions:
        values = [writer.value(other, depth if writer.chance(0.6) else 0) for _ in range(2)]
        insert_text = f"(id, x, y, s) VALUES (500 + COALESCE({alias}.v0, 0), {{}}, {{}}, 'b')"
        condition = (
            same("optional", " AND {}", writer.condition(other, depth)) if writer.chance(0.4) else NOTHING
        )
        actions.append(same("optional", " WHEN NOT MATCHED{} THEN INSERT " + insert_text, condition, *values))
    all_actions = same("list", "{}" * len(actions), *actions)
    text = f"MERGE INTO {{}} USING ({{}}) AS {alias} ON {on}{{}}"
    node = spelled("text", text + ";", text, None, source.node, using, all_actions)
    return Change(node, target)


def joined_delete(writer: Writer, target: str, depth: int) -> Change:
    """Returns DELETE of the rows that a join or APPLY finds, perhaps several times."""
    source = aliased(writer, target)
    alias = alias_of(source)
    other = writer.base()
    both = [source.columns + other.columns]
    on = writer.condition(both, depth)
    joined = Source(NOTHING, source.columns + other.columns, source.guards + other.guards, source.key)
    where = writer.where(joined, both, depth - 1)
    node = spelled(
        "text",
        f"DELETE {alias} FROM {{}} JOIN {{}} ON {{}}{{}}",
        f"DELETE FROM {target} WHERE ctid IN (SELECT {alias}.ctid FROM {{}} JOIN {{}} ON {{}}{{}})",
        f"DELETE FROM {target} WHERE rowid IN (SELECT {alias}.rowid FROM {{}} JOIN {{}} ON {{}}{{}})",
        source.node,
        other.node,
        on,
        where,
    )
    return Change(node, target)


def applied_update(writer: Writer, target: str, depth: int) -> Change:
    """Returns UPDATE by what APPLY finds for each row."""
    source = aliased(writer, target)
    alias, right = alias_of(source), writer.alias()
    own = [source.columns]
    query = writer.single(own, depth - 1)
    columns = source.columns + [Column(f"{right}.v0")]
    where = writer.where(Source(NOTHING, columns, source.guards), [columns], depth - 1)
    value = writer.value([columns], 0) if writer.chance(0.3) else same("value", f"{right}.v0")
    is_outer = writer.chance(0.4)
    apply = "OUTER APPLY" if is_outer else "CROSS APPLY"
    lateral, on = ("LEFT JOIN LATERAL", " ON TRUE") if is_outer else ("CROSS JOIN LATERAL", "")
    node = spelled(
        "text",
        f"UPDATE {alias} SET x = {{1}} FROM {{0}} {apply} ({{2}}) AS {right}(v0){{3}}",
        f"UPDATE {target} AS w SET x = z.v FROM (SELECT {alias}.ctid AS place, {{1}} AS v FROM {{0}}"
        f" {lateral} ({{2}}) AS {right}(v0){on}{{3}}) AS z WHERE w.ctid = z.place",
        None,
        source.node,
        value,
        query,
        where,
    )
    return Change(node, target)


def numbered(writer: Writer, target: str, depth: int) -> Change:
    """Returns DELETE or UPDATE through a common table that numbers its rows."""
    source = aliased(writer, target)
    alias = alias_of(source)
    own = [source.columns]
    where = writer.where(source, own, depth)
    partition = writer.random.choice(("x", "y", "s"))
    window = f"ROW_NUMBER() OVER (PARTITION BY {alias}.{partition} ORDER BY {alias}.id)"
    inner = f"SELECT {alias}.id, {alias}.x, {window} AS n FROM {{0}}{{1}}"
    placed = f"SELECT {alias}.ctid AS place, {window} AS n FROM {{0}}{{1}}"
    if writer.chance(0.5):
        node = spelled(
            "text",
            f"WITH w AS ({inner}) DELETE w WHERE n > 1",
            f"DELETE FROM {target} WHERE ctid IN (SELECT place FROM ({placed}) AS w WHERE n > 1)",
            f"DELETE FROM {target} WHERE rowid IN"
            f" (SELECT place FROM ({placed.replace('ctid', 'rowid')}) AS w WHERE n > 1)",
            source.node,
            where,
        )
    else:
        node = spelled(
            "text",
            f"WITH w AS ({inner}) UPDATE w SET x = n WHERE n < 3",
            f"UPDATE {target} AS u SET x = w.n FROM ({placed}) AS w WHERE n < 3 AND u.ctid = w.place",
            None,
            source.node,
            where,
        )
    return Change(node, target)
